"""``replace_all_batch_norm_modules_`` under its old module name."""

from ..func.modules import replace_all_batch_norm_modules_
