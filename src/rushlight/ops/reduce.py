"""Reductions: sums, products, means, variances and truth, over all or some dimensions."""

import math

import numpy as np

from ..base import dtypes
from ..base.arrays import count_nonzero, narrowed
from ..base.errors import hinted
from ..base.shapes import wrap_dim, wrap_dims
from .recording import is_recorded
from .table import composite, conj, functions, is_half, op

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_NATIVE = frozenset((_FLOAT32, _FLOAT64))
_FOLD_FROM, _FOLD_LENGTH = 2048, 32  # elements, and additions one after another, from which folding pays


def axes_of(dim, ndim):
    """The axes that ``dim`` (None, an int tuple, maybe empty) means, counted from the front; all for None and ()."""
    if not ndim:
        wrap_dims(dim or (), ndim)
        return ()
    return tuple(range(ndim)) if dim is None or dim == () else wrap_dims(dim, ndim)


def refuse_empty_dims(shape, dims, name):
    """Refuse to reduce a dimension without elements by what has no identity; dimensions are called as they were given."""
    for dim in dims:
        if shape[wrap_dim(dim, len(shape))] == 0:
            raise IndexError(
                hinted(f"{name}: Expected reduction dim {dim} to have non-zero size.", f"the shape is {list(shape)}")
            )


def lined_up(value, dim, keepdim, ndim):
    """A reduced ``value`` with dimensions of length 1 for those that were reduced."""
    if not keepdim and dim is not None and ndim:
        for axis in sorted(axes_of(dim, ndim)):
            value = value.unsqueeze(axis)
    return value


def spread(value, dim, keepdim, shape):
    """A reduced ``value`` expanded back to ``shape``."""
    return lined_up(value, dim, keepdim, len(shape)).expand(shape)


def _few_added(array, dim, keepdim, dtype):
    """The sums over ``dim`` of a few numbers by one call of NumPy's; None where the general way has to look closer."""
    if dtype is not None or array.size >= _FOLD_FROM or array.dtype not in _NATIVE or not dim or not array.ndim:
        return None
    try:
        found = np.add.reduce(array, dim, None, None, keepdim)
        return found if found.ndim and found.flags.c_contiguous else np.asarray(found, None, "C")
    except ValueError:  # the general way says what is wrong
        return None


def zero_where_zero(value, other):
    """``value``, which has been divided by ``other``, with 0 where that is 0."""
    divisors = functions.elements_of(other)
    known = divisors.__class__ is np.ndarray and count_nonzero(divisors) == divisors.size
    return value if known else value.masked_fill(other == 0, 0)


def count_of(shape, dim):
    """How many elements of ``shape`` each result of a reduction over ``dim`` combines."""
    return count_along(shape, axes_of(dim, len(shape)))


def count_along(shape, axes):
    """How many elements of ``shape`` lie along ``axes``, counted from the front."""
    return shape[axes[0]] if len(axes) == 1 else math.prod([shape[axis] for axis in axes])


def accumulator(dtype):
    """The NumPy dtype in which values of ``dtype`` are added up."""
    return _FLOAT32 if is_half(dtype) else dtype


def add_up(array, axes=None, keepdims=False, dtype=None):
    """``np.add.reduce`` whose rounding errors stay small.

    NumPy adds pairwise only along the innermost axis in memory, and one by one along any other. A long one of those is
    folded: its halves, quarters, ... are added to each other as whole blocks, which is also faster than row by row.
    """
    if array.size < _FOLD_FROM:
        return np.add.reduce(array, axes, dtype, None, keepdims)
    ndim = array.ndim
    reduced = range(ndim) if axes is None else (axes,) if axes.__class__ is int else axes
    if len(reduced) == ndim and array.flags.c_contiguous:
        return _add_flat(array.reshape(-1), dtype, (1,) * ndim if keepdims else ())
    shape, strides = array.shape, array.strides
    innermost = min((d for d in range(ndim) if shape[d] > 1), key=lambda d: abs(strides[d]), default=0)
    if innermost in reduced:
        return np.add.reduce(array, axes, dtype, None, keepdims)
    return _add_folded(array, tuple(reduced), keepdims, dtype)


def _add_flat(flat, dtype, shape):
    """The sum of all elements of a vector; a long one as blocks first, since vectors add faster than their elements."""
    if flat.size < 65536:
        return np.add.reduce(flat, 0, dtype).reshape(shape)
    each = flat.size // 16
    blocks = np.add.reduce(flat[: 16 * each].reshape(16, each), 0, dtype)
    return (_add_flat(blocks, dtype, shape) + np.add.reduce(flat[16 * each :], 0, dtype)).reshape(shape)


def _add_folded(array, axes, keepdims, dtype):
    """The sum over ``axes``; while one of them is long, its sixteen parts are added to each other first."""
    longest = max(axes, key=array.shape.__getitem__, default=0)
    length = array.shape[longest] if axes else 0
    if length < _FOLD_LENGTH or array.size < _FOLD_LENGTH * _FOLD_LENGTH:
        if array.size < 65536 and (dtype or array.dtype) == _FLOAT32:  # little is left: double precision costs nothing
            return np.add.reduce(array, axes, _FLOAT64, None, keepdims).astype(_FLOAT32)
        for axis in axes:  # one by one: NumPy would add what lies along all of them in a row
            array = np.add.reduce(array, axis, dtype, None, True)
        return array if keepdims else array.squeeze(axes)
    each = length // 16
    before = (slice(None),) * longest
    parts = array[(*before, slice(0, 16 * each))]
    parts = parts.reshape(*parts.shape[:longest], 16, each, *parts.shape[longest + 1 :])
    total = _add_folded(np.add.reduce(parts, longest, dtype), axes, keepdims, dtype)
    rest = array[(*before, slice(16 * each, None))]
    return total + _add_folded(rest, axes, keepdims, dtype) if rest.size else total


def reduce_sum(array, axes, keepdim, dtype):
    """The sum over ``axes`` in a NumPy dtype, row by row; half precision is added up in float32."""
    if dtype.kind == "b":
        return np.asarray(np.logical_or.reduce(array != 0, axis=axes, keepdims=keepdim), order="C")
    wide = accumulator(dtype)
    if array.dtype.kind == "c":
        array = narrowed(array, dtype)
    found = add_up(array.astype(wide) if is_half(array.dtype) else array, axes, keepdim, wide)
    return np.asarray(found, dtype, "C")


def require_floating(op_name, array, dtype=None):
    """PyTorch's refusal of integers where a mean is asked for."""
    kind = dtypes.from_numpy(array.dtype) if dtype is None else dtype
    if kind.category < dtypes.FLOATING:
        raise RuntimeError(
            hinted(
                f"{op_name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
                f"{kind.legacy_name}",
                "convert the tensor first: x.float()",
            )
        )
    return kind.numpy


def _numbered(name):
    """Node names as PyTorch numbers its overloads: 0 for all dimensions, 1 for given ones."""
    return lambda self, dim, *options: f"{name}Backward{0 if dim is None else 1}"


@op("sum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", node=_numbered("Sum"))
class sum:
    """Sum over ``dim`` (all dimensions by default); integers and bools are summed in int64.

    >>> import rushlight as torch
    >>> torch.ones(2, 3).sum(dim=1)
    tensor([3., 3.])
    """

    def whole(array):
        return np.asarray(add_up(array))

    def whole_gradient(grad, shape):
        return grad.expand(shape)

    def forward(self, dim, keepdim, dtype):
        found = _few_added(self, dim, keepdim, dtype)
        if found is not None:
            return found
        kind = dtypes.from_numpy(self.dtype) if dtype is None else dtype
        if dtype is None and kind.category <= dtypes.SIGNED:
            kind = dtypes.int64
        return reduce_sum(self, None if dim is None else axes_of(dim, self.ndim), keepdim, kind.numpy)

    def d_self(grad, shape, dim, keepdim):
        return spread(grad, dim, keepdim, shape)


@op("mean(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", node=_numbered("Mean"))
class mean:
    """The mean over ``dim`` (all dimensions by default).

    >>> import rushlight as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 6.0]]).mean(0)
    tensor([2., 4.])
    """

    def whole(array):
        return np.asarray(add_up(array) / array.size)

    def whole_gradient(grad, shape):
        return grad.expand(shape) / math.prod(shape)

    def forward(self, dim, keepdim, dtype):
        found = _few_added(self, dim, keepdim, dtype)
        if found is not None:
            return np.asarray(found / self.dtype.type(self.size // found.size if found.size else 0))
        kind = require_floating("mean", self, dtype)
        axes = axes_of(dim, self.ndim)
        wide = np.dtype(accumulator(kind))
        total = reduce_sum(self, axes, keepdim, wide)
        return (total / wide.type(count_along(self.shape, axes))).astype(kind, copy=False)

    def d_self(grad, shape, dim, keepdim):
        return spread(grad, dim, keepdim, shape) / count_of(shape, dim)


@op("nansum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
class nansum:
    """The sum over ``dim``, counting NaN as zero."""

    def forward(self, dim, keepdim, dtype):
        if self.dtype.kind == "c":
            raise RuntimeError("nansum on CPU does not support complex inputs")
        kind = dtypes.from_numpy(self.dtype) if dtype is None else dtype
        if dtype is None and kind.category <= dtypes.SIGNED:
            kind = dtypes.int64
        return reduce_sum(
            np.where(np.isnan(self), self.dtype.type(0), self), axes_of(dim, self.ndim), keepdim, kind.numpy
        )

    def d_self(grad, self, dim, keepdim):
        return spread(grad, dim, keepdim, self.shape) * self.isnan().logical_not()


@composite(out=True)
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean over ``dim`` of the elements that are not NaN."""
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            hinted(
                f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.legacy_name}",
                "convert it with .float()",
            )
        )
    count = input.isnan().logical_not().sum(dim, keepdim)
    return functions.nansum(input, dim, keepdim, dtype=dtype) / count


# ---------------------------------------------------------------- products


@op("prod(Tensor self, *, dtype? dtype=None) -> Tensor", names=(), node="ProdBackward0")
class prod_all:
    """The product of all elements."""

    def forward(self, dtype):
        return _product(self, None, False, dtype)

    def d_self(grad, self, result):
        if not self.ndim:
            return grad
        elements = functions.elements_of(self)
        if not elements.all():
            if elements.size - np.count_nonzero(elements) > 1 and not is_recorded(grad, self):
                return functions.zeros_like(self)  # also where the gradient is not finite
            flat = self.reshape(-1)
            return (grad * conj(_products_of_others(flat, 0))).reshape(self.shape)
        return grad * conj(result / self)


@op("prod(Tensor self, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor", names=(), node="ProdBackward1")
class prod_dim:
    """The product along one dimension."""

    by_rows = True

    def forward(self, dim, keepdim, dtype):
        return _product(self, axes_of((dim,), self.ndim), keepdim, dtype)

    def d_self(grad, self, dim, keepdim, result):
        if not keepdim and self.ndim:
            grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
        if self.ndim and not functions.elements_of(self).all():
            return grad * conj(_products_of_others(self, dim))
        return grad * conj(result / self) if self.ndim else grad


def _product(array, axes, keepdim, dtype):
    kind = dtypes.from_numpy(array.dtype) if dtype is None else dtype
    if dtype is None and kind.category <= dtypes.SIGNED:
        kind = dtypes.int64
    wide = accumulator(kind.numpy)
    if array.dtype is not wide:
        array = array.astype(wide)
    found = np.asarray(np.multiply.reduce(array, axes if array.ndim else None, wide, None, keepdim))
    return found if wide is kind.numpy else found.astype(kind.numpy)


def _products_of_others(tensor, dim):
    """Along ``dim``, for each element the product of all others: the products before it times those after it."""
    ones = functions.ones_like(tensor.narrow(dim, 0, 1))
    length = tensor.shape[dim]
    before = functions.cat([ones, tensor.narrow(dim, 0, length - 1)], dim).cumprod(dim)
    after = functions.cat([ones, tensor.narrow(dim, 1, length - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return before * after


@composite(out=True)
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dimension.

    >>> import rushlight as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).prod(1)
    tensor([ 2., 12.])
    """
    if dim is None:
        return functions.prod_all(input, dtype=dtype)
    return functions.prod_dim(input, dim, keepdim, dtype=dtype)


# ---------------------------------------------------------------- truth


def _truth(name, ufunc, holds, doc):
    """A record of a question about many elements; ``holds`` answers it by how many of them are true."""

    class record:
        def forward(self, dim, keepdim):
            if dim is None and not keepdim:
                found = np.array(holds(count_nonzero(self), self.size))
                return found.astype(np.uint8) if self.dtype == np.uint8 else found
            axes = None if dim is None else wrap_dims(dim, self.ndim)
            if not self.ndim:
                axes = None
            found = ufunc.reduce(self != 0 if self.dtype.kind != "b" else self, axis=axes, keepdims=keepdim)
            return np.asarray(found, np.uint8 if self.dtype == np.uint8 else np.bool_, "C")

    record.__name__, record.__doc__ = name, doc
    return op(f"{name}(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor")(record)


any = _truth(
    "any",
    np.logical_or,
    lambda found, size: found > 0,
    "Whether some element is true (not zero), in all or along ``dim``.",
)
all = _truth(
    "all",
    np.logical_and,
    lambda found, size: found == size,
    "Whether every element is true (not zero), in all or along ``dim``.",
)


# ---------------------------------------------------------------- logsumexp


@op("logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor", names=("torch", "Tensor", "special"))
class logsumexp:
    """``log(sum(exp(x)))`` over ``dim``, without overflow.

    >>> import rushlight as torch
    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """

    by_rows = True

    def forward(self, dim, keepdim):
        if self.dtype.kind in "iub":
            self = self.astype(dtypes.get_default_dtype().numpy)
        wide = self.astype(np.float32) if is_half(self.dtype) else self
        axes = axes_of(dim, self.ndim)
        if not wide.size:
            top = np.zeros((), wide.dtype)
        else:
            top = np.maximum.reduce(wide.real, axes, keepdims=True)
            finite = np.isfinite(top)
            if not np.logical_and.reduce(finite, None):
                top = np.where(finite, top, top.dtype.type(0))
        found = np.log(add_up(np.exp(wide - top), axes, True)) + top
        if not keepdim:
            found = found.squeeze(axes)
        return np.asarray(found).astype(self.dtype, copy=False)

    def d_self(grad, self, dim, keepdim, result):
        grad, result = (lined_up(value, dim, keepdim, self.ndim) for value in (grad, result))
        return grad * conj((self - result).exp())
