"""Masks: elements chosen, replaced and filled where a bool tensor is True."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import broadcast_shapes
from .table import composite, functions, op


@op("masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor", inplace=True)
class masked_fill:
    """A copy of the tensor with ``value`` (a number or 0-dim tensor) where ``mask`` is True."""

    def forward(self, mask, value):
        if mask.dtype.kind != "b":
            raise RuntimeError(
                hinted(
                    f"masked_fill_ only supports boolean masks, but got mask with dtype {dtypes.from_numpy(mask.dtype).name}",
                    "compare, or call .bool()",
                )
            )
        if getattr(value, "ndim", 0):
            raise RuntimeError(
                f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            )
        if isinstance(value, complex) and self.dtype.kind != "c":
            raise RuntimeError("value cannot be converted to type float without overflow")
        shape = broadcast_shapes(self.shape, mask.shape)
        filler = np.asarray(value)
        if (
            filler.dtype.kind == "f"
            and self.dtype.kind in "iub"
            and not isinstance(value, np.ndarray)
            and self.dtype.kind != "b"
        ):
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        result = np.array(np.broadcast_to(self, shape), order="C", copy=True)
        np.copyto(result, filler.astype(self.dtype), where=np.broadcast_to(mask, shape))
        return result

    def d_self(grad, self, mask):
        return grad.masked_fill(mask, 0).sum_to_size(self.shape)

    def d_value(grad, mask):
        return functions.where(mask, grad, functions.zeros_like(grad)).sum()


@op("masked_select(Tensor self, Tensor mask) -> Tensor")
class masked_select:
    """The elements where ``mask`` (bool, broadcast) is True, as a 1-dim copy."""

    def forward(self, mask):
        if mask.dtype.kind != "b":
            raise RuntimeError("masked_select: expected BoolTensor for mask")
        shape = broadcast_shapes(self.shape, mask.shape)
        return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]

    def d_self(grad, self, mask):
        shape = broadcast_shapes(tuple(self.shape), tuple(mask.shape))
        return functions.masked_scatter(grad.new_zeros(shape), mask.expand(shape), grad).sum_to_size(self.shape)


@op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", inplace=True)
class masked_scatter:
    """A copy of the tensor with the elements of ``source``, in order, where ``mask`` is True."""

    def forward(self, mask, source):
        if self.dtype != source.dtype:
            raise RuntimeError(
                f"masked_scatter_: expected self and source to have same dtypes but got {dtypes.from_numpy(self.dtype).legacy_name} and {dtypes.from_numpy(source.dtype).legacy_name}"
            )
        if mask.dtype.kind != "b":
            raise RuntimeError(
                f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtypes.from_numpy(mask.dtype).legacy_name}"
            )
        shape = broadcast_shapes(self.shape, mask.shape)
        result = np.array(np.broadcast_to(self, shape), order="C", copy=True)
        where = np.broadcast_to(mask, shape)
        count = int(np.count_nonzero(where))
        if source.size < count:
            raise RuntimeError("Number of elements of source < number of ones in mask")
        result[where] = source.reshape(-1)[:count]
        return result

    def d_self(grad, self, mask):
        return grad.masked_fill(mask, 0).sum_to_size(self.shape)

    def d_source(grad, mask, source):
        taken = grad.masked_select(mask)
        rest = source.numel() - taken.numel()
        return functions.cat([taken, taken.new_zeros(rest)]).reshape(source.shape)
