"""Values combined at positions along one dimension: scatter_reduce and index_reduce."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.notes import warn_once
from .gather import scatter_place
from .index import checked_rows, refuse_positions, rows_of
from .table import composite, conj, functions, widened
from .writing import writes

_UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _identity(reduce, dtype):
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if reduce == "amax" else info.max
    return -np.inf if reduce == "amax" else np.inf


# By the letters of NumPy's dtypes: complex numbers have no order, bools no mean.
_UNKNOWN_TO_KERNEL = {"amax": "c", "amin": "c", "mean": "b"}


def _refuse_dtype(kernel, dtype):
    name = dtypes.from_numpy(dtype).legacy_name
    raise NotImplementedError(
        hinted(f"\"{kernel}\" not implemented for '{name}'", "convert the tensors to a floating-point dtype first")
    )


def _combine(target, key, values, reduce, include_self):
    """Reduce ``values`` into ``target[key]``, whose old values count too if ``include_self``; means as sums."""
    if not include_self:
        target[key] = _identity(reduce, target.dtype)
    _UFUNCS[reduce].at(target, key, values)


def _divide(target, key, include_self):
    """Make means of the sums at ``key``."""
    counts = np.ones(target.shape, np.int64)
    if not include_self:
        counts[key] = 0
    np.add.at(counts, key, 1)
    np.maximum(counts, 1, out=counts)
    if target.dtype.kind in "iu":
        np.floor_divide(target, counts, out=target, casting="unsafe")
    else:
        np.divide(target, counts.astype(target.dtype), out=target)


@writes(
    "scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor"
)
class scatter_reduce:
    """A copy of the tensor in which ``src`` at ``index`` along ``dim`` is combined by sum, prod, mean, amax or amin.

    Args:
        reduce: how values for one place are combined.
        include_self: whether the old value takes part; else places that ``index`` names start anew.

    >>> import rushlight as torch
    >>> x, i = torch.tensor([1.0, 2.0]), torch.tensor([0, 0, 1])
    >>> x.scatter_reduce(0, i, torch.tensor([3.0, 5.0, 7.0]), "amax")
    tensor([5., 7.])
    """

    by_rows, unshown = True, ("index",)

    def write(self, dim, index, src, reduce, include_self):
        if reduce not in _UFUNCS:
            raise RuntimeError(
                hinted(
                    f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}",
                    "these are the reductions that scatter_reduce() knows",
                )
            )
        place = scatter_place(self, dim, index, src, "scatter")
        if place is not None and self.dtype.kind in _UNKNOWN_TO_KERNEL.get(reduce, ""):
            _refuse_dtype(f"scatter_gather_tensor_cpu_reduce_{reduce}", self.dtype)
        if place is not None:
            target, key, values = place
            wide = widened(target)  # half precision is rounded once, slices' in `index_reduce` at every step
            _combine(wide, key, values, reduce, include_self)
            if wide is not target:
                target[...] = wide
            if reduce == "mean":
                _divide(target, key, include_self)

    def gradients(grad, self, dim, index, src, reduce, include_self, result):
        own, of_source = functions.scatter_reduce_gradients(grad, self, dim, index, src, reduce, include_self, result)
        return own, None, of_source


@writes(
    "index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor"
)
class index_reduce:
    """A copy of the tensor with slices of ``source`` combined, at ``index`` of ``dim``, by prod, mean, amax or amin.

    Args:
        reduce: how slices for one position are combined.
        include_self: whether the old slice takes part; else positions that ``index`` names start anew.
    """

    by_rows, unshown = True, ("index",)

    def write(self, dim, index, source, reduce, include_self):
        if reduce not in _UFUNCS or reduce == "sum":
            raise RuntimeError(
                hinted(
                    f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.",
                    "index_add() sums",
                )
            )
        if not include_self and self.dtype.kind in "bc" and self.dtype == source.dtype:
            _refuse_dtype("index_reduce_func_exclude_input_init", self.dtype)
        if reduce in ("amax", "amin") and self.dtype.kind in "bc" and self.dtype == source.dtype:
            if self.ndim < 2:
                _refuse_dtype("index_func_", self.dtype)
            elif self.dtype.kind == "c":  # slices are compared as tensors
                _refuse_dtype("maximum_cpu" if reduce == "amax" else "minimum_cpu", self.dtype)
        axis = checked_rows(self, dim, index, source, "index_reduce_", refuse_positions)
        warn_once("index_reduce() is in beta and the API may change at any time.")
        rows, key = rows_of(self, axis), index.reshape(-1)
        _combine(rows, key, rows_of(source, axis), reduce, include_self)
        if reduce == "mean":
            _divide(rows, key, include_self)

    def gradients(grad, self, dim, index, source, reduce, include_self, result):
        # The same as scattering with an index that repeats each position over a whole slice.
        if not source.ndim:
            spread = index.reshape(())
        else:
            spread = index.reshape([-1 if d == dim % source.ndim else 1 for d in range(source.ndim)]).expand_as(source)
        own, of_source = functions.scatter_reduce_gradients(
            grad, self, dim, spread.long(), source, reduce, include_self, result
        )
        return own, None, of_source


@composite(names=())
def scatter_reduce_gradients(grad, self, dim, index, src, reduce, include_self, result):
    """The gradients of `scatter_reduce` with respect to (self, src), in differentiable operations."""
    rule = _RULES[reduce]
    own, of_source = rule(grad, self, dim, index, src, include_self, result)
    return own if include_self else functions.scatter_value(own, dim, index, 0), of_source


def _sum_gradients(grad, self, dim, index, src, include_self, result):
    return grad, grad.gather(dim, index)


def _mean_gradients(grad, self, dim, index, src, include_self, result):
    counts = functions.ones_like(self.real)
    counts = counts if include_self else functions.scatter_value(counts, dim, index, 0)
    counts = counts.scatter_add(dim, index, functions.ones_like(src.real)).clamp(min=1)
    scaled = grad / counts
    return scaled, scaled.gather(dim, index)


def _prod_gradients(grad, self, dim, index, src, include_self, result):
    masked = self.masked_fill(self == 0, 1)
    product = masked.scatter_reduce(dim, index, src, "prod", include_self=include_self)
    own = grad * conj(product) / conj(masked)
    # A single zero among the factors leaves the product of the others; of two, each leaves the zero that the result is.
    is_zero = src == 0
    count = functions.zeros_like(self.real).scatter_add(dim, index, is_zero.to(src.real.dtype)).gather(dim, index)
    is_single = is_zero & (count == 1)
    rest = self.scatter_reduce(dim, index, src.masked_fill(is_single, 1), "prod", include_self=include_self)
    others = (grad * conj(result)).gather(dim, index) / conj(src.masked_fill(is_zero, 1))
    found = functions.where(is_single, (grad * conj(rest)).gather(dim, index), others)
    return own, found


def _extreme_gradients(grad, self, dim, index, src, include_self, result):
    """Shared by all elements that equal the result, an old one that takes no part among them; where none does, NaN."""
    hit = (src == result.gather(dim, index)).to(src.dtype)
    own_hit = (self == result).to(self.dtype)
    shared = grad / own_hit.scatter_add(dim, index, hit)
    return own_hit * shared, hit * shared.gather(dim, index)


_RULES = {
    "sum": _sum_gradients, "mean": _mean_gradients, "prod": _prod_gradients, "amax": _extreme_gradients,
    "amin": _extreme_gradients,
}  # fmt: skip
