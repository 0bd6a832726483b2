"""``vmap`` under its old module name, and the parts of it that libraries build on."""

from ..base.trees import (
    broadcast_prefix as _broadcast_to_and_flatten,
)
from ..base.trees import (
    flatten as tree_flatten,
)
from ..base.trees import (
    unflatten as tree_unflatten,
)
from ..compat.inside._C._functorch import _add_batch_dim, _remove_batch_dim, _running
from ..func.vmap import finished as _finished
from ..func.vmap import name_of as _get_name
from ..func.vmap import restore_vmap, vmap
from ..tensor import Tensor


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """What a mapped function has returned as it is outside of the level, with the batch at ``out_dim``; None: it has none."""
    return _finished(_running(vmap_level), name, batched_output, out_dim)
