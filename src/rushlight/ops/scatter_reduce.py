"""Values combined at positions along one dimension: scatter_reduce and index_reduce."""

import numpy as np

from .gather import padded, same_dtype, scatter_into
from .table import composite, functions, op


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@op(
    "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    inplace=True,
)
class scatter_reduce:
    """A copy of the tensor in which ``src`` at ``index`` along ``dim`` is combined by sum, prod, mean, amax or amin."""

    def forward(self, dim, index, src, reduce, include_self):
        if reduce not in _REDUCTIONS:
            raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
        same_dtype(self, src, "scatter")
        result, place, values = scatter_into(self, dim, index, src, "scatter_reduce")
        if place is None:
            return result
        flat, key = place
        if not include_self:
            flat[key] = _identity(reduce, self.dtype)
        ufunc = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
        ufunc.at(flat, key, values)
        if reduce == "mean":
            counts = np.ones(flat.shape, np.int64)
            if not include_self:
                counts[key] = 0
            np.add.at(counts, key, 1)
            np.maximum(counts, 1, out=counts)
            flat[...] = np.floor_divide(flat, counts) if self.dtype.kind in "iu" else flat / counts.astype(self.dtype)
        return result

    def gradients(grad, self, dim, index, src, reduce, include_self, result, needs):
        return functions.scatter_reduce_gradients(grad, self, dim, index, src, reduce, include_self, result)


def _identity(reduce, dtype):
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    info = np.iinfo(dtype)
    return info.min if reduce == "amax" else info.max


@composite(names=())
def scatter_reduce_gradients(grad, self, dim, index, src, reduce, include_self, result):
    """The gradients of `scatter_reduce` with respect to (self, src), in differentiable operations."""
    if reduce == "sum":
        return (grad if include_self else functions.scatter_value(grad, dim, index, 0)), padded(
            grad.gather(dim, index), src
        )
    ones_like = functions.ones_like
    if reduce == "mean":
        counts = ones_like(self) if include_self else functions.scatter_value(ones_like(self), dim, index, 0)
        counts = counts.scatter_add(dim, index, ones_like(src)).clamp(min=1)
        scaled = grad / counts
        own = scaled if include_self else functions.scatter_value(scaled, dim, index, 0)
        return own, padded(scaled.gather(dim, index), src)
    if reduce == "prod":
        own = grad * result / self
        masked = functions.where(self == 0, functions.ones_like(self), self)
        product = masked.scatter_reduce(dim, index, src, "prod", include_self=include_self)
        own = functions.where(self == 0, grad * product, own)
        own = own if include_self else functions.scatter_value(own, dim, index, 0)
        zeros = (src == 0).to(src.dtype)
        count = functions.zeros_like(self).scatter_add(dim, index, zeros).gather(dim, index)
        without_zero = functions.where(src == 0, functions.ones_like(src), src)
        start = self if include_self else functions.ones_like(self)
        rest = start.scatter_reduce(dim, index, without_zero, "prod", include_self=include_self).gather(dim, index)
        single = (src == 0) & (count == 1)
        found = functions.where(
            single, grad.gather(dim, index) * rest, (grad * result).gather(dim, index) / without_zero
        )
        return own, functions.where((src == 0) & (count > 1), functions.zeros_like(found), found)
    value = result.gather(dim, index)
    hit = (src == value).to(src.dtype)
    own_hit = (self == result).to(self.dtype)
    counts = own_hit if include_self else functions.scatter_value(own_hit, dim, index, 0)
    counts = counts.scatter_add(dim, index, hit).clamp(min=1)
    shared = grad / counts
    own = own_hit * shared
    own = own if include_self else functions.scatter_value(own, dim, index, 0)
    return own, hit * shared.gather(dim, index)
