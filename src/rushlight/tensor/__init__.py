"""Tensors: the class, dispatch, the binding of the op table, creation, indexing, printing, conversion."""

from ..base.memory import keep_freed_memory
from ..kernels.routing import random_kernels
from ..ops import families
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
    legacy,
    memory,
    queries,
    storage,
)
from .base import Tensor, wrap
from .binding import NAMESPACES
from .legacy import TYPED

binding.bind_all()
keep_freed_memory()
bulk.use(random_kernels)
