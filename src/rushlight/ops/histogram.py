"""Histograms and counts: bincount, histc, histogram, histogramdd."""

import math

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.scalars import c_name, check_fits, number_in
from .moving import copied
from .results import named_result
from .table import TABLE, composite, functions, op, widened


@op("bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor")
class bincount:
    """How often each non-negative integer occurs, or the sum of the weights where it does.

    >>> import rushlight as torch
    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """

    no_derivative = RuntimeError, "derivative for aten::bincount is not implemented"

    def forward(self, weights, minlength):
        if self.dtype.kind not in "iu":
            name = dtypes.from_numpy(self.dtype).legacy_name
            raise NotImplementedError(
                hinted(f"\"bincount_cpu\" not implemented for '{name}'", "bincount counts integers")
            )
        if minlength < 0:
            raise RuntimeError("minlength should be >= 0")
        if self.shape == (0,):
            return np.zeros(minlength, np.int64)
        if self.ndim != 1 or (self.size and int(self.min()) < 0):
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        if weights is not None and weights.shape != self.shape:
            raise RuntimeError("weights should be 1-d and have the same length as input")
        found = np.bincount(self.astype(np.int64), None if weights is None else weights.astype(np.float64), minlength)
        if weights is None:
            return found.astype(np.int64)
        return found.astype(np.float32 if weights.dtype == np.float32 else np.float64)


@op("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")
class histc:
    """How many elements fall into each of ``bins`` equal intervals between ``min`` and ``max``; 0, 0 takes the data's own."""

    untracked = True

    def forward(self, bins, min, max):
        if bins <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
        values = self.reshape(-1)  # half precision stays: PyTorch rounds every step too
        low, high = (float(number_in(dtypes.float64.numpy, bound)) for bound in (min, max))
        if low == high and values.size and values.dtype.kind != "c":
            low, high = float(values.min()), float(values.max())
        if low == high:
            low, high = low - 1, high + 1
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError("torch.histc: max must be larger than min")
        for bound in (min, max):
            check_fits(self.dtype, bound)
        if self.dtype.kind in "iubc":
            name = dtypes.from_numpy(self.dtype).legacy_name
            own_bounds = self.dtype.kind == "c" and number_in(dtypes.float64.numpy, min) == number_in(
                dtypes.float64.numpy, max
            )
            kernel = (
                "linspace_cpu"
                if self.dtype.kind == "b"
                else "aminmax_cpu"
                if own_bounds and self.size
                else "histogram_cpu"
            )
            raise NotImplementedError(hinted(f"\"{kernel}\" not implemented for '{name}'", "use x.float()"))
        kind = values.dtype.type
        inside = values[(values >= low) & (values <= high)]
        places = ((inside - kind(low)) * kind(bins) / (kind(high) - kind(low))).astype(np.int64)
        return np.bincount(np.minimum(places, bins - 1), minlength=bins).astype(self.dtype)


def _edges_of(values, bins, bounds, dim):
    """The edges of ``bins`` equal intervals over the data, or over ``bounds``."""
    if bounds is not None:
        low, high = bounds
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
            )
    else:
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if bins < -1:
        raise RuntimeError(hinted("number of steps must be non-negative", f"dimension {dim} is to have {bins} bins"))
    if low == high:
        low, high = low - 0.5, high + 0.5
    return TABLE["linspace"].forward(low, high, bins + 1, dtypes.from_numpy(values.dtype))


def _no_derivative(*values):
    return RuntimeError, f"derivative for aten::{values[-1]} is not implemented"


@op("histogram_edges(Tensor self, int[] bins, any range, str name) -> Tensor[]", names=())
class histogram_edges:
    """The edges of equal intervals over each column of (rows, dimensions), or over a range; ``name`` is PyTorch's."""

    no_derivative = staticmethod(_no_derivative)

    def forward(self, bins, range, name):
        bounds = [None] * len(bins) if range is None else zip(range[::2], range[1::2])
        return tuple(_edges_of(*each, dim) for dim, each in enumerate(zip(self.T, bins, bounds)))


@op("histogramdd(Tensor self, Tensor[] edges, Tensor? weight, bool density, str name) -> Tensor[]", names=())
class histogram_counts:
    """How many rows of (rows, dimensions) fall into each cell between ``edges``, or their weights' sum; and the edges."""

    no_derivative = staticmethod(_no_derivative)

    def forward(self, edges, weight, density, name):
        kind, given = self.dtype, edges
        self, edges = widened(self), [widened(edge) for edge in edges]
        shape = tuple(edge.size - 1 for edge in edges)
        inside = np.ones(self.shape[0], bool)
        cells = np.zeros(self.shape[0], np.int64)
        for column, edge in zip(self.T, edges):
            place = np.searchsorted(edge, column, "right") - 1
            place[column == edge[-1]] -= 1  # the last interval has both its ends
            inside &= (column >= edge[0]) & (column <= edge[-1])
            cells = cells * (edge.size - 1) + place
        weights = None if weight is None else weight.reshape(-1)[inside].astype(np.float64)
        found = np.bincount(cells[inside], weights, math.prod(shape)).reshape(shape).astype(np.float64)
        if density:
            found /= found.sum()
            for axis, edge in enumerate(edges):
                found /= np.diff(edge).reshape((-1,) + (1,) * (len(shape) - 1 - axis))
        return found.astype(kind), *map(copied, given)


def _checked_edges(input, bins, bounds, weight, name):
    """The edges for each dimension of the rows in ``input``'s last dimension, after PyTorch's refusals."""
    dims = input.shape[-1]
    if bounds is not None and len(bounds) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd: for a {dims}-dimensional histogram range should have {2 * dims} elements, but got "
            f"{len(bounds)}"
        )
    given = bool(bins) and hasattr(bins[0], "_edge")
    if not given and bounds is None and input.numel():
        _check_real(input, "histogramdd")
    if given:
        edges = list(bins)
    else:
        if input.dtype is dtypes.bool_:
            raise _without_kernel("linspace_cpu", input)
        rows = input.reshape(math.prod(input.shape[:-1]), dims)
        edges = list(functions.histogram_edges(rows.detach() if name == "histogram" else rows, bins, bounds, name))
    _check_edges(input, edges)
    if weight is not None:
        _check_weight(input, weight)
    for dim, edge in enumerate(edges):
        if edge.numel() == 1:
            raise RuntimeError(
                hinted(f"torch.histogram(): bins must be > 0, but got 0 for dimension {dim}", "a bin has two edges")
            )
    if not input.dtype.is_floating_point:
        _check_real(input, "histogram_cpu")
    return edges


def _check_real(input, kernel):
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise _without_kernel(kernel, input)


def _without_kernel(kernel, input):
    """PyTorch's error where a kernel does not know a dtype."""
    return NotImplementedError(
        hinted(f"\"{kernel}\" not implemented for '{input.dtype.legacy_name}'", "convert the tensor: x.float()")
    )


def _check_edges(input, edges):
    """Refuse edges that are no vectors of the points' dtype, one for each of their dimensions."""
    dims = input.shape[-1]
    wrong = None
    if len(edges) != dims:
        wrong = f"expected {dims} sequences of bin edges for a {dims}-dimensional histogram but got {len(edges)}"
    for dim, edge in enumerate(edges):
        if wrong is not None:
            break
        if edge.dtype is not input.dtype:
            wrong = (
                f"input tensor and bins tensors should have the same dtype, but got input with dtype {c_name(input.dtype)} "
                f"and bins for dimension {dim} with dtype {c_name(edge.dtype)}"
            )
        elif edge.ndim != 1:
            wrong = f"bins tensor should have one dimension, but got {edge.ndim} dimensions in the bins tensor for dimension {dim}"
        elif not edge.numel():
            wrong = (
                f"bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension {dim}"
            )
    if wrong is not None:
        raise RuntimeError(hinted(f"torch.histogramdd: {wrong}", f"the input has the shape {list(input.shape)}"))


def _check_weight(input, weight):
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            hinted(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but "
                f"got input({c_name(input.dtype)}), and weight({c_name(weight.dtype)})",
                "convert one of them with .to(other.dtype)",
            )
        )
    if tuple(weight.shape) != tuple(input.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding "
            f"its innermost dimension, but got input with shape {list(input.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )


_HISTOGRAM, _HISTOGRAMDD = (named_result(name, "hist bin_edges") for name in ("histogram", "histogramdd"))


@composite(out=True)
def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """``(counts, edges)`` of a histogram with ``bins`` equal intervals, or with the given edges.

    >>> import rushlight as torch
    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 2.0)).hist
    tensor([0., 3.])
    """
    weight = None if weight is None else weight.reshape(-1)
    if not hasattr(bins, "_edge") and bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    rows = input.reshape(-1, 1)
    edges = _checked_edges(rows, [bins], range, weight, "histogram")
    return _HISTOGRAM(*functions.histogram_counts(rows, edges, weight, density, "histogram"))


@composite(names=("torch",))
def histogramdd(input, bins, range=None, weight=None, density=False):
    """``(counts, edges of each dimension)`` of points, whose coordinates lie along the last dimension."""
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    dims = input.shape[-1]
    if not isinstance(bins, (tuple, list)):
        bins = [bins] * dims
    if len(bins) != dims and not (bins and hasattr(bins[0], "_edge")):
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    edges = _checked_edges(input, bins, range, weight, "_histogramdd_bin_edges")
    name = "_histogramdd_from_bin_tensors" if bins and hasattr(bins[0], "_edge") else "_histogramdd_from_bin_cts"
    rows = input.reshape(math.prod(input.shape[:-1]), dims)
    counts = functions.histogram_counts(rows, edges, weight, density, name)[0]
    return _HISTOGRAMDD(counts, tuple(edges))
