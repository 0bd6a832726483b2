"""The plug at the waist: which function an operation with a sparse tensor among its arguments runs, and the error where none does."""

from __future__ import annotations

from ..base.device import sparse_coo, strided
from ..base.errors import hinted
from ..base.sparse_array import NOT_DENSE
from ..ops.table import functions
from ..tensor.layout_calls import LayoutCalls
from .tensors import SparseOp, SparseTensor

_TABLE = LayoutCalls(SparseTensor)
takes, writes, holds_sparse = _TABLE.takes, _TABLE.writes, _TABLE.among

BACKENDS = {True: "SparseCPU", False: "SparseCsrCPU"}  # by whether the layout is COO
LEGACY_NAMES = {
    "torch.sparse_coo": "Sparse", "torch.sparse_csr": "SparseCsr", "torch.sparse_csc": "SparseCsc", "torch.sparse_bsr": "SparseBsr",
    "torch.sparse_bsc": "SparseBsc", "torch.strided": "Strided",
}  # fmt: skip


def layout_name(tensor):
    """PyTorch's inner name of a tensor's layout, such as ``SparseCsr``."""
    return LEGACY_NAMES[tensor.layout.name]


def sparse_call(op, values):
    """What an operation gives for arguments with a sparse tensor among them; NotImplemented where there is none."""
    if op.__class__ is SparseOp or not holds_sparse(values):
        return NotImplemented
    function = _TABLE.calls.get(op.name)
    if function is None:
        raise not_run(op.name, values)
    return function(*values)


def sparse_write(op, name, values):
    """As `sparse_call`, of an operation that writes into its first argument."""
    if not holds_sparse(values):
        return NotImplemented
    function = _TABLE.in_place.get(name)
    if function is None:
        raise not_run(name, values)
    return function(*values)


_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
# PyTorch's names of what operations of the table are parts of.
_NAMES = {
    "where_select": "where.self", "fill_number": "fill_.Scalar", "nonzero_rows": "nonzero", "max_all": "max", "min_all": "min",
    "softmax": "_softmax", "log_softmax": "_log_softmax", "dropout_pair": "bernoulli_.float", "view_shape": "view", "vector_norm_parts": "linalg_vector_norm",
    "mean": "mean.dim",
}  # fmt: skip


def not_run(name, values):
    """PyTorch's error for an operation that a layout among the values does not have."""
    name = _NAMES.get(name, name)
    if name in _COMPARISONS:
        name += ".Tensor" if hasattr(values[1], "_edge") else ".Scalar"
    found = next(value for value in _flattened(values) if value.__class__ is SparseTensor)
    return unavailable(name, BACKENDS[found.layout is sparse_coo])


def _flattened(values):
    for value in values:
        if value.__class__ in (list, tuple):
            yield from _flattened(value)
        else:
            yield value


def unavailable(name, backend):
    """PyTorch's error for an operation that a backend, a kind of layout, does not have."""
    return NotImplementedError(
        hinted(
            f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be because the operator doesn't "
            "exist for this backend, or was omitted during the selective/custom build process (if using custom build). If you are "
            "a Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions.",
            NOT_DENSE,
        )
    )


def is_sparse(value):
    """Whether a value is a sparse tensor, of any layout."""
    return value.__class__ is SparseTensor


def is_dense(value):
    """Whether a value is a tensor with all elements in memory."""
    return hasattr(value, "_edge") and value.layout is strided


functions.sparse_unavailable = not_run
