"""The transforms under their old module name."""

from ..func.reverse import grad, grad_and_value
from ..func.vmap import chunk_vmap, vmap
