"""Extrema: max, min, amax, amin, argmax, argmin, median, mode, kthvalue, quantiles."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim, wrap_dims
from .reduce import axes_of, spread
from .results import named_result
from .table import composite, functions, op


def _refuse_complex(array, name):
    if array.dtype.kind == "c":
        raise RuntimeError(f"\"{name}\" not implemented for '{dtypes.from_numpy(array.dtype).legacy_name}'")


def _refuse_empty(array, name):
    if array.size == 0:
        raise RuntimeError(
            hinted(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.",
                "an empty tensor has no largest or smallest element",
            )
        )


def _take(array, positions, axis):
    """The elements at ``positions`` (reduced along ``axis``), in the reduced shape."""
    if array.ndim == 0:
        return array.copy()
    return np.take_along_axis(array, np.expand_dims(positions, axis), axis).squeeze(axis)


def _arg(array, axis, largest):
    """The position of the extreme along ``axis``; the first NaN wins."""
    return np.argmax(array, axis=axis) if largest else np.argmin(array, axis=axis)


def _extreme_all(name, ufunc):
    class record:
        def forward(self):
            _refuse_complex(self, name)
            if self.size == 0:
                _refuse_empty(self, name)
            return np.asarray(ufunc.reduce(self, axis=None))

        def d_self(grad, self, result):
            hit = (self == result) | (self.isnan() & result.isnan())
            return functions.where(hit, grad / hit.sum(), functions.zeros((), dtype=grad.dtype))

    record.__name__, record.__doc__ = f"{name}_all", f"The {name} of all elements."
    return op(f"{name}(Tensor self) -> Tensor", names=(), node=f"{name.capitalize()}Backward1")(record)


def _extreme_dim(name, largest):
    class record:
        def forward(self, dim, keepdim):
            _refuse_complex(self, name)
            axis = wrap_dim(dim, self.ndim)
            if self.ndim and self.shape[axis] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
            positions = np.asarray(_arg(self, axis if self.ndim else None, largest))
            values = np.asarray(_take(self, positions, axis))
            if keepdim and self.ndim:
                values, positions = np.expand_dims(values, axis), np.expand_dims(positions, axis)
            return values, positions.astype(np.int64, copy=False)

        def d_self(grad, self, dim, keepdim, result1):
            return _at_positions(grad, self, dim, keepdim, result1)

    record.__name__, record.__doc__ = f"{name}_dim", f"The {name} along one dimension, and where it is."
    return op(
        f"{name}(Tensor self, int dim, bool keepdim=False) -> Tensor[]", names=(), node=f"{name.capitalize()}Backward0"
    )(record)


def _at_positions(grad, self, dim, keepdim, positions):
    """A gradient of the chosen elements, zero elsewhere."""
    if not self.ndim:
        return grad
    if not keepdim:
        grad, positions = grad.unsqueeze(dim), positions.unsqueeze(dim)
    return grad.new_zeros(self.shape).scatter(dim, positions, grad)


max_all, min_all = _extreme_all("max", np.maximum), _extreme_all("min", np.minimum)
max_dim, min_dim = _extreme_dim("max", True), _extreme_dim("min", False)
_MAX, _MIN = named_result("max", "values indices"), named_result("min", "values indices")


def _overloaded(name, result, elementwise, doc):
    def call(input, dim=None, keepdim=False, *, other=None, out=None):
        if other is not None or hasattr(dim, "_edge"):
            found = getattr(functions, elementwise)(input, dim if other is None else other)
        elif dim is None:
            found = getattr(functions, f"{name}_all")(input)
        else:
            found = result(*getattr(functions, f"{name}_dim")(input, dim, keepdim))
        return found if out is None else functions.write_outputs(found, out, name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return composite(call)


max = _overloaded(
    "max",
    _MAX,
    "maximum",
    """The largest element; with ``dim`` also where it is; with another tensor the larger of each pair.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 5], [7, 3]]).max(dim=1).indices
    tensor([1, 0])
    """,
)
min = _overloaded(
    "min",
    _MIN,
    "minimum",
    "The smallest element; with ``dim`` also where it is; with another tensor the smaller of each pair.",
)


def _many(name, ufunc, doc):
    class record:
        def forward(self, dim, keepdim):
            _refuse_complex(self, name)
            axes = axes_of(dim, self.ndim)
            for axis in axes:
                if self.shape[axis] == 0:
                    if not dim:
                        _refuse_empty(self, name)
                    raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
            return np.asarray(ufunc.reduce(self, axis=axes if self.ndim else None, keepdims=keepdim))

        def d_self(grad, self, dim, keepdim, result):
            shape = self.shape
            hit = self == spread(result, dim or None, keepdim, shape)
            count = hit.sum(dim or None, True)
            return hit * (spread(grad, dim or None, keepdim, shape) / count)

    record.__name__, record.__doc__ = name, doc
    return op(f"{name}(Tensor self, int[] dim=(), bool keepdim=False) -> Tensor")(record)


amax = _many(
    "amax", np.maximum, "The largest element over ``dim`` or all; a gradient is shared equally by equal elements."
)
amin = _many(
    "amin", np.minimum, "The smallest element over ``dim`` or all; a gradient is shared equally by equal elements."
)


@composite
def aminmax(input, *, dim=None, keepdim=False):
    """``(min, max)`` in all or along ``dim``."""
    dims = () if dim is None else (dim,)
    return named_result("aminmax", "min max")(input.amin(dims, keepdim), input.amax(dims, keepdim))


def _position(name, largest):
    class record:
        def forward(self, dim, keepdim):
            if self.dtype.kind in "cb":
                raise NotImplementedError(
                    f"\"{name}_cpu\" not implemented for '{dtypes.from_numpy(self.dtype).legacy_name}'"
                )
            if dim is None:
                if self.size == 0:
                    raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
                found = np.asarray(_arg(self.reshape(-1), 0, largest))
                return found.reshape((1,) * self.ndim) if keepdim else found
            axis = wrap_dim(dim, self.ndim)
            if not self.ndim:
                return np.zeros((), np.int64)
            if self.shape[axis] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
            found = np.asarray(_arg(self, axis, largest))
            return np.expand_dims(found, axis) if keepdim else found

    record.__name__ = name
    record.__doc__ = f"Where the {'largest' if largest else 'smallest'} element is: its flat position, or its position along ``dim``."
    return op(f"{name}(Tensor self, int? dim=None, bool keepdim=False) -> Tensor")(record)


argmax, argmin = _position("argmax", True), _position("argmin", False)


# ---------------------------------------------------------------- order statistics


def _order_statistic(array, axis, pick):
    """The element that ``pick(sorted positions)`` chooses along ``axis``, and its position."""
    if array.ndim == 0:
        return array.copy(), np.zeros((), np.int64)
    order = np.argsort(array, axis=axis, kind="stable")
    positions = pick(order)
    return np.asarray(_take(array, positions, axis)), np.asarray(positions)


def _middle(array, axis, ignore_nan):
    """The lower median along ``axis`` and its position; a NaN is the median unless ignored."""
    if array.ndim == 0:
        return array.copy(), np.zeros((), np.int64)
    length = array.shape[axis]
    order = np.argsort(array, axis=axis, kind="stable")  # NaN sorts last
    nan = np.isnan(array) if array.dtype.kind == "f" else np.zeros(array.shape, bool)
    valid = length - nan.sum(axis=axis, keepdims=True)
    middle = np.maximum((valid if ignore_nan else np.full_like(valid, length)) - 1, 0) // 2
    positions = np.take_along_axis(order, middle, axis).squeeze(axis)
    if not ignore_nan:
        positions = np.where(nan.any(axis=axis), np.argmax(nan, axis=axis), positions)
    return np.asarray(_take(array, positions, axis)), np.asarray(positions)


def _median(name, ignore_nan):
    class along:
        def forward(self, dim, keepdim):
            axis = wrap_dim(dim, self.ndim)
            if self.ndim and self.shape[axis] == 0:
                raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
            values, positions = _middle(self, axis, ignore_nan)
            if keepdim and self.ndim:
                values, positions = np.expand_dims(values, axis), np.expand_dims(positions, axis)
            return values, positions

        def d_self(grad, self, dim, keepdim, result1):
            return _at_positions(grad, self, dim, keepdim, result1)

    along.__name__, along.__doc__ = f"{name}_dim", f"The {name} along one dimension, and where it is."
    op(f"{name}(Tensor self, int dim, bool keepdim=False) -> Tensor[]", names=(), node=f"{name.capitalize()}Backward1")(
        along
    )

    class whole:
        def forward(self):
            if self.size == 0:
                return np.full((), np.nan if self.dtype.kind == "f" else np.iinfo(self.dtype).min, self.dtype)
            return _middle(self.reshape(-1), 0, ignore_nan)[0]

        def d_self(grad, self, result):
            hit = (self == result) | (self.isnan() & result.isnan())
            return functions.where(hit, grad / hit.sum(), functions.zeros((), dtype=grad.dtype))

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
    return composite(call)


median, nanmedian = _median("median", False), _median("nanmedian", True)


@op("kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> Tensor[]", names=(), node="KthvalueBackward0")
class kthvalue_pair:
    """The k-th smallest element along one dimension (k counts from 1), and where it is."""

    def forward(self, k, dim, keepdim):
        axis = wrap_dim(dim, self.ndim)
        length = self.shape[axis] if self.ndim else 1
        if length == 0:
            raise IndexError(f"kthvalue(): Expected reduction dim {axis} to have non-zero size.")
        if not 1 <= k <= length:
            raise RuntimeError(
                hinted(
                    f"kthvalue(): selected number k out of range for dimension {axis}",
                    f"k is {k}, the dimension has {length} elements",
                )
            )
        values, positions = _order_statistic(self, axis, lambda order: np.take(order, k - 1, axis=axis))
        if keepdim and self.ndim:
            values, positions = np.expand_dims(values, axis), np.expand_dims(positions, axis)
        return values, positions

    def d_self(grad, self, dim, keepdim, result1):
        return _at_positions(grad, self, dim, keepdim, result1)


@composite
def kthvalue(input, k, dim=-1, keepdim=False):
    """The k-th smallest element along ``dim`` and where it is."""
    return named_result("kthvalue", "values indices")(*functions.kthvalue_pair(input, k, dim, keepdim))


@op("mode(Tensor self, int dim=-1, bool keepdim=False) -> Tensor[]", names=(), node="ModeBackward0")
class mode_pair:
    """The most frequent element along one dimension (the smallest of equals), and its last position."""

    def forward(self, dim, keepdim):
        axis = wrap_dim(dim, self.ndim)
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        rows = np.moveaxis(self, axis, -1)
        flat = rows.reshape(-1, rows.shape[-1])
        values = np.empty(flat.shape[0], self.dtype)
        positions = np.empty(flat.shape[0], np.int64)
        for number, row in enumerate(flat):
            found, counts = np.unique(row, return_counts=True)
            values[number] = found[np.argmax(counts)]
            positions[number] = np.flatnonzero(row == values[number])[-1] if values[number] == values[number] else 0
        shape = rows.shape[:-1]
        values, positions = values.reshape(shape), positions.reshape(shape)
        if keepdim:
            values, positions = np.expand_dims(values, axis), np.expand_dims(positions, axis)
        return values, positions

    def d_self(grad, self, dim, keepdim, result1):
        return _at_positions(grad, self, dim, keepdim, result1)


@composite
def mode(input, dim=-1, keepdim=False):
    """The most frequent element along ``dim`` and where it is."""
    return named_result("mode", "values indices")(*functions.mode_pair(input, dim, keepdim))


def _quantile(name, ignore_nan):
    def call(input, q, dim=None, keepdim=False, *, interpolation="linear"):
        if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
            raise RuntimeError(
                f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
            )
        if input.numel() == 0:
            raise RuntimeError(f"{name}() input tensor must be non-empty")
        if input.dtype not in (dtypes.float32, dtypes.float64):
            raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
        q = q.to(input.dtype) if hasattr(q, "_edge") else functions.tensor(q, dtype=input.dtype)
        if ((q < 0) | (q > 1)).any():
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
        flat = input.reshape(-1) if dim is None else input
        axis = wrap_dim(0 if dim is None else dim, flat.ndim)
        ordered = functions.sort_pair(flat, axis, False, True)[0].movedim(axis, -1) if flat.ndim else flat.reshape(1)
        found = _interpolated(ordered, q.reshape(-1), interpolation, ignore_nan)
        if keepdim:
            found = found.reshape((q.numel(), *((1,) * input.ndim))) if dim is None else found.unsqueeze(axis + 1)
        return found if q.ndim else found.squeeze(0)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "The ``q``-quantiles over ``dim`` or all, between neighbours by ``interpolation``." + (
        " NaN is ignored." if ignore_nan else ""
    )
    return composite(call)


def _interpolated(ordered, q, interpolation, ignore_nan):
    """Quantiles of the last dimension of a sorted tensor, stacked in a new first dimension."""
    length = ordered.shape[-1]
    nan = ordered.isnan()
    if ignore_nan:
        last = (length - 1 - nan.sum(-1)).clamp(min=0).to(q.dtype)
        rank = q.reshape((-1,) + (1,) * last.ndim) * last
        broken = None
    else:
        rank = (q * (length - 1)).reshape((-1,) + (1,) * (ordered.ndim - 1)).expand((q.numel(), *ordered.shape[:-1]))
        broken = nan.any(-1)
    if interpolation == "lower":
        rank = rank.floor()
    elif interpolation == "higher":
        rank = rank.ceil()
    elif interpolation == "nearest":
        rank = rank.round()
    below = rank.floor()
    weight = functions.full_like(rank, 0.5) * (rank != below) if interpolation == "midpoint" else rank - below
    low = ordered.unsqueeze(0).expand((q.numel(), *ordered.shape)).gather(-1, below.long().unsqueeze(-1)).squeeze(-1)
    high = (
        ordered.unsqueeze(0)
        .expand((q.numel(), *ordered.shape))
        .gather(-1, rank.ceil().long().unsqueeze(-1))
        .squeeze(-1)
    )
    found = low.lerp(high, weight)
    return found if broken is None else found.masked_fill(broken, float("nan"))


quantile, nanquantile = _quantile("quantile", False), _quantile("nanquantile", True)
