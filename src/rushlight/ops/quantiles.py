"""Order statistics: median, kthvalue, mode and quantiles."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .extrema import at_positions, refuse, take_positions
from .results import named_result
from .sort import FEW_OF_NAN, order_by_insertion
from .table import composite, functions, is_half, op, widened


def _with_dimension(values, positions, axis, keepdim, ndim):
    if keepdim and ndim:
        return np.expand_dims(values, axis), np.expand_dims(positions, axis)
    return values, positions


def _checked_axis(name, array, dim):
    axis = wrap_dim(dim, array.ndim)
    if array.ndim and array.shape[axis] == 0:
        raise IndexError(
            hinted(
                f"{name}(): Expected reduction dim {axis} to have non-zero size.",
                f"the shape {list(array.shape)} has no elements along dimension {axis}",
            )
        )
    return axis


# ---------------------------------------------------------------- medians


def _middle(array, axis, ignore_nan):
    """The lower median along ``axis`` and its position; a NaN is the median unless ignored."""
    if array.ndim == 0:
        return array.copy(), np.zeros((), np.int64)
    wide = widened(array)
    length = array.shape[axis]
    if not _has_nan(wide):
        cut = (length - 1) // 2
        positions = np.argpartition(wide, cut, axis).take(cut, axis)
        return np.asarray(take_positions(array, positions, axis)), np.asarray(positions)
    nan = np.isnan(wide)
    if ignore_nan:
        order = np.argsort(wide, axis=axis, kind="stable")  # NaN sorts last
        middle = np.maximum(length - nan.sum(axis=axis, keepdims=True) - 1, 0) // 2
        positions = np.take_along_axis(order, middle, axis).squeeze(axis)
    else:
        cut = (length - 1) // 2
        positions = np.argpartition(wide, cut, axis).take(cut, axis)
        positions = np.where(nan.any(axis=axis), np.argmax(nan, axis=axis), positions)
    return np.asarray(take_positions(array, positions, axis)), np.asarray(positions)


def _has_nan(array):
    """Whether an element is NaN: then the sum of squares is, which nothing else makes so."""
    if array.dtype.kind != "f":
        return False
    flat = array.reshape(-1)
    total = flat.dot(flat)
    return bool(total != total)


def _middle_value(flat, ignore_nan):
    """The lower median of all elements of a vector, as a 0-dim array."""
    wide = widened(flat)
    if _has_nan(wide):
        return _middle(flat, 0, ignore_nan)[0]
    cut = (wide.size - 1) // 2
    ordered = wide.copy()
    ordered.partition(cut)
    return np.asarray(ordered.take(cut), flat.dtype)


def _median(name, ignore_nan):
    class along:
        def forward(self, dim, keepdim):
            refuse(self, "median_out", "cb")
            axis = _checked_axis("median", self, dim)
            return _with_dimension(*_middle(self, axis, ignore_nan), axis, keepdim, self.ndim)

        def d_self(grad, shape, dim, result1):
            return at_positions(grad, shape, dim, result1)

    along.__name__, along.__doc__ = f"{name}_dim", f"The {name} along one dimension, and where it is."
    op(
        f"{name}(Tensor self, int dim, bool keepdim=False) -> Tensor[]",
        names=(),
        node=f"{name.capitalize()}Backward1",
    )(along)

    class whole:
        def forward(self):
            refuse(self, "median_cpu", "cb")
            if self.size == 0:
                floating = self.dtype.kind == "f" or is_half(self.dtype)
                return np.full((), np.nan if floating else np.iinfo(self.dtype).min, self.dtype)
            return _middle_value(self.reshape(-1), ignore_nan)

        def d_self(grad, self, result):
            hit = (self == result) | (self.isnan() & result.isnan())
            return functions.where(hit, grad / hit.sum(), functions.zeros((), dtype=grad.dtype, device=grad.device))

    whole.__name__, whole.__doc__ = f"{name}_all", f"The {name} of all elements."
    op(f"{name}(Tensor self) -> Tensor", names=(), node=f"{name.capitalize()}Backward0")(whole)
    result = named_result(name, "values indices")

    def call(input, dim=None, keepdim=False):
        if dim is None:
            return getattr(functions, f"{name}_all")(input)
        return result(*getattr(functions, f"{name}_dim")(input, dim, keepdim))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "The middle element (the lower of two); with ``dim`` also where it is." + (
        " NaN is ignored." if ignore_nan else ""
    )
    return composite(out=True, short=f"{name}_all")(call)


median, nanmedian = _median("median", False), _median("nanmedian", True)


# ---------------------------------------------------------------- k-th smallest and most frequent


@op("kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> Tensor[]", names=(), node="KthvalueBackward0")
class kthvalue_pair:
    """The k-th smallest element along one dimension (k counts from 1), and where it is."""

    def forward(self, k, dim, keepdim):
        if self.ndim:
            refuse(self, "kthvalue_cpu", "cb")
        axis = _checked_axis("kthvalue", self, dim)
        length = self.shape[axis] if self.ndim else 1
        if not 1 <= k <= length:
            raise RuntimeError(
                hinted(
                    f"kthvalue(): selected number k out of range for dimension {axis}",
                    f"k is {k}, the dimension has {length} elements",
                )
            )
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        positions = np.argpartition(widened(self), k - 1, axis).take(k - 1, axis)
        return _with_dimension(take_positions(self, positions, axis), positions, axis, keepdim, self.ndim)

    def d_self(grad, shape, dim, result1):
        return at_positions(grad, shape, dim, result1)


@composite(out=True)
def kthvalue(input, k, dim=-1, keepdim=False):
    """The k-th smallest element along ``dim`` and where it is."""
    found = named_result("kthvalue", "values indices")(*functions.kthvalue_pair(input, k, dim, keepdim))
    return found


@op("mode(Tensor self, int dim=-1, bool keepdim=False) -> Tensor[]", names=(), node="ModeBackward0")
class mode_pair:
    """The most frequent element along one dimension (the smallest of equals), and its last position."""

    def forward(self, dim, keepdim):
        if self.ndim and self.size:  # PyTorch starts no kernel for fewer
            refuse(self, "mode_cpu")
        axis = _checked_axis("mode", self, dim)
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        wide = widened(self)
        order = np.argsort(wide, axis=axis, kind="stable")
        if self.shape[axis] <= FEW_OF_NAN and _has_nan(wide):
            order = np.apply_along_axis(lambda row: order_by_insertion(row[:, None].tolist()), axis, wide)
        ordered = np.moveaxis(np.take_along_axis(self, order, axis), axis, -1)
        places = np.arange(ordered.shape[-1])
        starts = np.zeros(ordered.shape, np.int64)  # where the run of equal elements began that each one is in
        starts[..., 1:] = np.where(ordered[..., 1:] != ordered[..., :-1], places[1:], 0)
        longest = (places - np.maximum.accumulate(starts, axis=-1)).argmax(axis=-1)
        positions = np.take_along_axis(np.moveaxis(order, axis, -1), longest[..., None], -1)[..., 0]
        return _with_dimension(take_positions(self, positions, axis), positions, axis, keepdim, self.ndim)

    def d_self(grad, shape, dim, result1):
        return at_positions(grad, shape, dim, result1)


@composite(out=True)
def mode(input, dim=-1, keepdim=False):
    """The most frequent element along ``dim`` and where it is."""
    found = named_result("mode", "values indices")(*functions.mode_pair(input, dim, keepdim))
    return found


# ---------------------------------------------------------------- quantiles


def _quantile(name, ignore_nan):
    def call(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        _check_quantile("quantile", input, q, interpolation)  # PyTorch calls both so
        q = q if hasattr(q, "_edge") else functions.tensor(q, dtype=input.dtype, device=input.device)
        flat = input.reshape(-1) if dim is None else input
        axis = wrap_dim(0 if dim is None else dim, flat.ndim)
        flat = flat if flat.ndim else flat.reshape(1)
        ordered = functions.sort_pair(flat, axis, False, True)[0].movedim(axis, -1)
        found = _interpolated(ordered, q.reshape(-1), interpolation, ignore_nan).movedim(-1, 0)
        if keepdim and (input.ndim or dim is None):
            found = found.reshape((q.numel(), *((1,) * input.ndim))) if dim is None else found.unsqueeze(axis + 1)
        return found if q.ndim else found.squeeze(0)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "The ``q``-quantiles over ``dim`` or all, between neighbours by ``interpolation``." + (
        " NaN is ignored." if ignore_nan else ""
    )
    return composite(call, out=True)


def _check_quantile(name, input, q, interpolation):
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not hasattr(q, "_edge") and not 0 <= q <= 1:
        raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(
            hinted(f"{name}() input tensor must be either float or double dtype", "convert the tensor first: x.float()")
        )
    if hasattr(q, "_edge"):
        if q.ndim > 1:
            raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
        if q.dtype is not input.dtype:
            raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
        if functions.elements_of((q < 0) | (q > 1)).any():
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")


def _interpolated(ordered, q, interpolation, ignore_nan):
    """Quantiles of the last dimension of a sorted tensor in its place: one beside the other, as PyTorch writes them."""
    nan = ordered.isnan()
    if ignore_nan:
        last = (ordered.shape[-1] - 1 - nan.sum(-1, True)).clamp(min=0).to(q.dtype)
    else:
        last = ordered.shape[-1] - 1
    rank = (q * last).expand((*ordered.shape[:-1], q.numel()))
    if interpolation == "lower":
        rank = rank.floor()
    elif interpolation == "higher":
        rank = rank.ceil()
    elif interpolation == "nearest":
        rank = rank.round()
    below = rank.floor()
    weight = functions.full_like(rank, 0.5) * (rank != below) if interpolation == "midpoint" else rank - below
    found = ordered.gather(-1, below.long()).lerp(ordered.gather(-1, rank.ceil().long()), weight)
    return found if ignore_nan else found.masked_fill(nan.any(-1, True), float("nan"))


quantile, nanquantile = _quantile("quantile", False), _quantile("nanquantile", True)
