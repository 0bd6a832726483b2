"""Tensors: the class, dispatch, the binding of the op table, creation, indexing, printing, conversion."""

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
keep_freed_memory()
bulk.use(random_kernels)
