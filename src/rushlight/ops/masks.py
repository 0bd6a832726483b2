"""Masks: elements chosen, replaced and filled where a bool tensor is True."""

import math

import numpy as np

from ..base.arrays import copyto, count_nonzero, putmask
from ..base.errors import hinted
from ..base.scalars import c_name, fitted
from ..base.shapes import broadcast_shapes, require_room
from .index import type_name
from .table import functions, op
from .writing import SHARE, WARN, writes


def _broadcast_copy(self, mask, *rest):
    if mask.shape != self.shape:
        self = np.broadcast_to(self, broadcast_shapes(mask.shape, self.shape))
    return self.copy()


def _check_mask(mask, shape):
    """Refuse a mask that does not broadcast to the shape of what is written, which must not grow."""
    common = shape if mask.shape == shape else broadcast_shapes(mask.shape, shape)
    require_room(shape, common, "the mask may not make the tensor larger; use the out-of-place form")


def _masked_fill_node(self, mask, value):
    return "MaskedFillBackward1" if hasattr(value, "_edge") else "MaskedFillBackward0"


@writes(
    "masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor",
    node=_masked_fill_node,
    inplace_node=_masked_fill_node,
    memory=WARN,
)
class masked_fill:
    """A copy of the tensor with ``value`` (a number or 0-dim tensor) where ``mask`` is True.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, -2.0])
    >>> x.masked_fill(x < 0, 0.0)
    tensor([1., 0.])
    """

    start = _broadcast_copy

    def write(self, mask, value):
        if mask.dtype.kind != "b":
            raise RuntimeError(
                hinted(
                    f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask.dtype)}",
                    "compare, or .bool()",
                )
            )
        if getattr(value, "ndim", 0):
            raise RuntimeError(
                hinted(
                    "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                    f"{value.ndim} dimension(s).",
                    "torch.where() and masked_scatter() take values for each element",
                )
            )
        filler = fitted(self.dtype, value.item() if isinstance(value, np.ndarray) else value)
        if mask.shape == self.shape:
            putmask(self, mask, filler)
        else:
            _check_mask(mask, self.shape)
            copyto(self, filler, where=mask)

    def d_self(grad, shape, mask):
        return grad.masked_fill(mask, 0).sum_to_size(shape)

    def d_value(grad, mask):
        return functions.where(mask, grad, functions.zeros_like(grad)).sum()


@op("masked_select(Tensor self, Tensor mask) -> Tensor")
class masked_select:
    """The elements where ``mask`` (bool, broadcast) is True, as a 1-dim copy.

    >>> import rushlight as torch
    >>> x = torch.tensor([1, -2, 3])
    >>> x.masked_select(x > 0)
    tensor([1, 3])
    """

    keeps = ("self",)

    def forward(self, mask):
        if mask.dtype.kind != "b":
            raise RuntimeError(hinted("masked_select: expected BoolTensor for mask", f"it holds {type_name(mask)}"))
        if mask.shape == self.shape:
            return self[mask]
        shape = broadcast_shapes(mask.shape, self.shape)
        return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]

    def d_self(grad, shape, mask):
        whole = broadcast_shapes(shape, tuple(mask.shape))
        return functions.masked_scatter(grad.new_zeros(whole), mask.expand(whole), grad).sum_to_size(shape)


@writes("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", memory=SHARE)
class masked_scatter:
    """A copy of the tensor with the elements of ``source``, in order, where ``mask`` is True."""

    start = _broadcast_copy

    def write(self, mask, source):
        if self.dtype != source.dtype:
            raise RuntimeError(
                hinted(
                    "masked_scatter: expected self and source to have same dtypes but got"
                    f"{type_name(self)} and {type_name(source)}",
                    "convert the source with .to()",
                )
            )
        if mask.dtype.kind != "b":
            raise RuntimeError(
                hinted(
                    f"masked_scatter_ only supports boolean masks, but got mask with dtype {type_name(mask)}",
                    "compare, or call .bool()",
                )
            )
        _check_mask(mask, self.shape)
        where = np.broadcast_to(mask, self.shape)
        count = int(count_nonzero(where))
        if source.size < count:
            raise RuntimeError(
                hinted(
                    "Number of elements of source < number of ones in mask",
                    f"the mask names {count} places, the source has {source.size} elements",
                )
            )
        self[where] = source.reshape(-1)[:count]

    def d_self(grad, shape, mask):
        return grad.masked_fill(mask, 0).sum_to_size(shape)

    def d_source(grad, mask, source_shape):
        taken = grad.masked_select(mask)
        rest = math.prod(source_shape) - taken.numel()
        return functions.cat([taken, taken.new_zeros(rest)]).reshape(source_shape)
