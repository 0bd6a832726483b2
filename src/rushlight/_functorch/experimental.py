"""``functorch.experimental``: what was new there once."""

from ..func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from ..func.vmap import chunk_vmap
