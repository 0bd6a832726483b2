"""What PyTorch asks of jagged tensors before an operation: dimensions that may be meant, and tensors without holes."""

from __future__ import annotations

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .jagged import is_jagged


def inner_dim(ndim, dim, ragged):
    """The dimension of the values for one of the nested tensor; of the batch the one in which it is packed."""
    return ragged - 1 if dim == 0 else dim - 1


def dim_inside(tensor, dim, name, *, ndim=None, ragged_too=False):
    """The dimension of the values that ``dim`` means; RuntimeError for the batch, and, but for ``ragged_too``, the ragged one."""
    ndim, ragged = ndim or tensor.ndim, tensor._array.structure.ragged
    wrapped = wrap_dim(dim, ndim)
    if wrapped == ragged and not ragged_too:
        raise RuntimeError(
            hinted(f"{name}(): not supported for NestedTensor on ragged dim", "unbind() has the elements of the batch")
        )
    if wrapped == 0:
        raise RuntimeError(hinted(f"{name}(): not supported for NestedTensor on dim=0", "unbind() has the elements"))
    return inner_dim(ndim, wrapped, ragged)


def expect_plain(value, signature, name):
    """Refuse what is no jagged tensor whose ragged dimension is the first one after the batch, without holes between elements."""
    if not (is_jagged(value) and value._array.structure.is_contiguous):
        raise ValueError(
            hinted(
                f"NestedTensor {signature}: expected {name} to be a contiguous jagged layout NestedTensor",
                "its ragged dimension has to be 1, and its elements without holes: contiguous(), or transpose it back",
            )
        )


def expect_dense(value, signature, name, optional=False):
    """Refuse a nested tensor where a dense one is meant."""
    if is_jagged(value):
        kind = "optional tensor" if optional else "tensor"
        raise ValueError(
            hinted(f"NestedTensor {signature}: expected {name} to be a {kind}", "weights and biases are dense")
        )


def number_of(key):
    """A key that picks one place, as an int: a number, or an integer tensor without dimensions; None for others."""
    if hasattr(key, "_edge"):
        whole = key.ndim == 0 and not (key.is_floating_point() or key.is_complex() or key.dtype is dtypes.bool_)
        return int(key) if whole else None
    return None if key.__class__ is bool or not hasattr(key, "__index__") else key.__index__()
