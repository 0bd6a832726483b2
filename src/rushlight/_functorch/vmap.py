"""``vmap`` under its old module name."""

from ..func.vmap import restore_vmap, vmap
