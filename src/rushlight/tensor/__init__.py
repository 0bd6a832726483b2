"""Tensors: the class, dispatch, the binding of the op table, creation, indexing, printing, conversion."""

from ..base.dtypes import promote_types
from ..base.memory import keep_freed_memory
from ..kernels.routing import random_kernels
from ..ops.table import functions
from ..random import bulk
from . import (
    base,
    binding,
    conversion,
    creation,
    indexing,
    inference,
    inplace_views,
    internals,
    layout_names,
    legacy,
    memory,
    queries,
    refusals,
    storage,
)
from .base import Tensor, wrap
from .legacy import TYPED
from .names import NAMESPACES

binding.bind_all()
refusals.guard(NAMESPACES["torch"], "torch", "index_put", "index_put_", "resize_as_", "is_same_size", "is_distributed")
refusals.guard(
    Tensor, "Tensor", "index_put", "index_put_", "as_strided_", "swapaxes_", "swapdims_", "transpose_", "squeeze_", "unsqueeze_",
    "t_", "resize_", "resize_as_", "is_pinned", "pin_memory", "is_same_size", "type_as", "is_set_to", "chalf",
)  # fmt: skip
NAMESPACES["torch"].update(
    (made.__name__, made)
    for made in (creation.tensor, creation.as_tensor, creation.asarray, creation.frombuffer, promote_types)
)
refusals.guard(
    NAMESPACES["torch"], "torch", "tensor", "as_tensor", "asarray", "frombuffer", "promote_types", how=refusals.judged
)
refusals.guard(
    Tensor,
    "Tensor",
    "requires_grad_",
    "apply_",
    "detach_",
    "retain_grad",
    "sparse_dim",
    "dense_dim",
    how=refusals.judged,
)
keep_freed_memory()
bulk.use(random_kernels)
