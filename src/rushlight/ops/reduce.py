"""Reductions: sums, products, means, variances and truth, over all or some dimensions."""

import math

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dims
from .table import composite, conj, functions, is_half, op


def axes_of(dim, ndim):
    """The axes that ``dim`` (None, an int tuple, maybe empty) means, counted from the front; all for None and ()."""
    if not ndim:
        wrap_dims(dim or (), ndim)
        return ()
    return tuple(range(ndim)) if dim is None or dim == () else wrap_dims(dim, ndim)


def spread(value, dim, keepdim, shape):
    """A reduced ``value`` expanded back to ``shape``."""
    if not keepdim and dim is not None and shape:
        for axis in sorted(axes_of(dim, len(shape))):
            value = value.unsqueeze(axis)
    return value.expand(shape)


def count_of(shape, dim):
    """How many elements of ``shape`` each result of a reduction over ``dim`` combines."""
    return math.prod(shape[axis] for axis in axes_of(dim, len(shape)))


def _accumulator(dtype):
    """The NumPy dtype in which values of ``dtype`` are added up."""
    return np.float32 if is_half(dtype) else dtype


def reduce_sum(array, axes, keepdim, dtype):
    """The sum over ``axes`` in a NumPy dtype; half precision is added up in float32."""
    if dtype.kind == "b":
        return np.asarray(np.logical_or.reduce(array != 0, axis=axes, keepdims=keepdim))
    wide = _accumulator(dtype)
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    found = np.asarray(np.add.reduce(array.astype(wide) if is_half(array.dtype) else array, axis=axes, dtype=wide, keepdims=keepdim))
    return found if wide is dtype else found.astype(dtype, copy=False)


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


@op("sum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
class sum:
    """Sum over ``dim`` (all dimensions by default); integers and bools are summed in int64.

    >>> import rushlight as torch
    >>> torch.ones(2, 3).sum(dim=1)
    tensor([3., 3.])
    """

    def forward(self, dim, keepdim, dtype):
        kind = dtypes.from_numpy(self.dtype) if dtype is None else dtype
        if dtype is None and kind.category <= dtypes.SIGNED:
            kind = dtypes.int64
        return reduce_sum(self, None if dim is None else axes_of(dim, self.ndim), keepdim, kind.numpy)

    def d_self(grad, self, dim, keepdim):
        return spread(grad, dim, keepdim, self.shape)


@op("mean(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
class mean:
    """The mean over ``dim`` (all dimensions by default).

    >>> import rushlight as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 6.0]]).mean(0)
    tensor([2., 4.])
    """

    def forward(self, dim, keepdim, dtype):
        kind = require_floating("mean", self, dtype)
        axes = axes_of(dim, self.ndim)
        wide = np.dtype(_accumulator(kind))
        total = reduce_sum(self, axes, keepdim, wide)
        return (total / wide.type(count_of(self.shape, axes or None))).astype(kind, copy=False)

    def d_self(grad, self, dim, keepdim):
        return spread(grad, dim, keepdim, self.shape) / count_of(self.shape, dim)


@op("nansum(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor")
class nansum:
    """The sum over ``dim``, counting NaN as zero."""

    def forward(self, dim, keepdim, dtype):
        if self.dtype.kind == "c":
            raise RuntimeError("nansum on CPU does not support complex inputs")
        kind = dtypes.from_numpy(self.dtype) if dtype is None else dtype
        if dtype is None and kind.category <= dtypes.SIGNED:
            kind = dtypes.int64
        return reduce_sum(np.where(np.isnan(self), self.dtype.type(0), self), axes_of(dim, self.ndim), keepdim, kind.numpy)

    def d_self(grad, self, dim, keepdim):
        return spread(grad, dim, keepdim, self.shape) * self.isnan().logical_not()


@composite
def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean over ``dim`` of the elements that are not NaN."""
    count = input.isnan().logical_not().sum(dim, keepdim)
    return functions.nansum(input, dim, keepdim, dtype=dtype) / count


# ---------------------------------------------------------------- products


@op("prod(Tensor self, *, dtype? dtype=None) -> Tensor", names=(), node="ProdBackward0")
class prod_all:
    """The product of all elements."""

    def forward(self, dtype):
        return _product(self, None, False, dtype)

    def d_self(grad, self, result):
        if (self == 0).any():
            flat = self.reshape(-1)
            return (grad * conj(_products_of_others(flat, 0))).reshape(self.shape)
        return grad * conj(result / self)


@op("prod(Tensor self, int dim, bool keepdim=False, *, dtype? dtype=None) -> Tensor", names=(), node="ProdBackward1")
class prod_dim:
    """The product along one dimension."""

    def forward(self, dim, keepdim, dtype):
        return _product(self, axes_of((dim,), self.ndim), keepdim, dtype)

    def d_self(grad, self, dim, keepdim, result):
        if not keepdim and self.ndim:
            grad, result = grad.unsqueeze(dim), result.unsqueeze(dim)
        if self.ndim and (self == 0).any():
            return grad * conj(_products_of_others(self, dim))
        return grad * conj(result / self) if self.ndim else grad


def _product(array, axes, keepdim, dtype):
    kind = dtypes.from_numpy(array.dtype) if dtype is None else dtype
    if dtype is None and kind.category <= dtypes.SIGNED:
        kind = dtypes.int64
    wide = _accumulator(kind.numpy)
    found = np.multiply.reduce(array.astype(wide, copy=False), axis=axes if array.ndim else None, keepdims=keepdim)
    return np.asarray(found).astype(kind.numpy, copy=False)


def _products_of_others(tensor, dim):
    """Along ``dim``, for each element the product of all others: the products before it times those after it."""
    ones = functions.ones_like(tensor.narrow(dim, 0, 1))
    length = tensor.shape[dim]
    before = functions.cat([ones, tensor.narrow(dim, 0, length - 1)], dim).cumprod(dim)
    after = functions.cat([ones, tensor.narrow(dim, 1, length - 1).flip(dim)], dim).cumprod(dim).flip(dim)
    return before * after


@composite
def prod(input, dim=None, keepdim=False, *, dtype=None):
    """The product of all elements, or along one dimension.

    >>> import rushlight as torch
    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).prod(1)
    tensor([ 2., 12.])
    """
    if dim is None:
        return functions.prod_all(input, dtype=dtype)
    return functions.prod_dim(input, dim, keepdim, dtype=dtype)


# ---------------------------------------------------------------- variances


def _correction(args, unbiased, correction):
    """(dim, correction) from the call forms var(unbiased), var(dim, unbiased) and var(dim, correction=)."""
    dim = None
    for value in args:
        if isinstance(value, bool):
            unbiased = value
        else:
            dim = value
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return (dim,) if isinstance(dim, int) else dim, correction


@op("var(Tensor self, int[]? dim, Scalar correction, bool keepdim) -> Tensor", names=())
class var_corrected:
    """The variance over ``dim``, divided by the count less ``correction``."""

    def forward(self, dim, correction, keepdim):
        return _variance(self, dim, correction, keepdim)

    def d_self(grad, self, dim, correction, keepdim):
        return _variance_gradient(grad, self, dim, correction, keepdim)


def _variance(array, dim, correction, keepdim):
    if array.dtype.kind not in "fc" and not is_half(array.dtype):
        raise RuntimeError(hinted("std and var only support floating point and complex dtypes", "convert the tensor first: x.float()"))
    axes = axes_of(dim, array.ndim)
    wide = array.astype(np.float32) if is_half(array.dtype) else array
    count = count_of(array.shape, axes or None)
    real = np.real(np.zeros(0, wide.dtype)).dtype
    total = np.add.reduce(wide, axis=axes, keepdims=True)
    centred = wide - total / real.type(count)
    squares = np.real(centred * np.conj(centred)) if wide.dtype.kind == "c" else np.multiply(centred, centred, out=centred)
    found = np.add.reduce(squares, axis=axes, keepdims=keepdim) / real.type(max(count - correction, 0))
    return np.asarray(found).astype(array.dtype if array.dtype.kind != "c" else real, copy=False)


def _variance_gradient(grad, self, dim, correction, keepdim):
    count = count_of(self.shape, dim)
    if count == 0:
        return functions.zeros_like(self)
    divisor = count - correction
    factor = 2.0 / divisor if divisor > 0 else math.inf if divisor == 0 else 2.0 / divisor
    centred = self - self.mean(dim, True)
    return spread(grad, dim, keepdim, self.shape) * factor * centred


@op("std(Tensor self, int[]? dim, Scalar correction, bool keepdim) -> Tensor", names=())
class std_corrected:
    """The standard deviation over ``dim``."""

    def forward(self, dim, correction, keepdim):
        if is_half(self.dtype):
            return np.sqrt(_variance(self.astype(np.float32), dim, correction, keepdim)).astype(self.dtype)
        return np.asarray(np.sqrt(_variance(self, dim, correction, keepdim)))

    def d_self(grad, self, dim, correction, keepdim, result):
        scaled = (grad / (result * 2)).masked_fill(result == 0, 0)
        return _variance_gradient(scaled, self, dim, correction, keepdim)


def _spread_statistic(name, kernel, doc):
    def statistic(input, *args, dim=None, unbiased=None, keepdim=False, correction=None):
        if len(args) == 3 or (len(args) == 2 and not isinstance(args[0], bool) and unbiased is not None):
            args, keepdim = args[:-1], args[-1]
        found, correction = _correction(args, unbiased, correction)
        dim = found if found is not None else (dim,) if isinstance(dim, int) else dim
        return getattr(functions, kernel)(input, dim, correction, keepdim)

    statistic.__name__ = statistic.__qualname__ = name
    statistic.__doc__ = doc
    return composite(statistic)


var = _spread_statistic(
    "var",
    "var_corrected",
    """The variance, over ``dim`` or all: squared deviations summed, divided by the count less ``correction`` (1 by default).

    >>> import rushlight as torch
    >>> torch.tensor([1.0, 2.0, 3.0]).var()
    tensor(1.)
    """,
)
std = _spread_statistic("std", "std_corrected", "The standard deviation: the square root of `var`.")


@composite(names=("torch",))
def var_mean(input, *args, **options):
    """``(variance, mean)`` over ``dim`` or all."""
    return _with_mean(functions.var, input, args, options)


@composite(names=("torch",))
def std_mean(input, *args, **options):
    """``(standard deviation, mean)`` over ``dim`` or all."""
    return _with_mean(functions.std, input, args, options)


def _with_mean(statistic, input, args, options):
    dim = options.get("dim", next((a for a in args if not isinstance(a, bool)), None))
    keepdim = options.get("keepdim", args[2] if len(args) == 3 else False)
    return statistic(input, *args, **options), input.mean(dim, keepdim)


# ---------------------------------------------------------------- truth


def _truth(name, ufunc, doc):
    class record:
        def forward(self, dim, keepdim):
            dims = dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)
            axes = tuple(range(self.ndim)) if dims is None else wrap_dims(tuple(dims), self.ndim)
            if not self.ndim:
                axes = None
            found = np.asarray(ufunc.reduce(self != 0 if self.dtype.kind != "b" else self, axis=axes, keepdims=keepdim))
            return found.astype(np.uint8) if self.dtype == np.uint8 else found

    record.__name__, record.__doc__ = name, doc
    return op(f"{name}(Tensor self, any dim=None, bool keepdim=False) -> Tensor")(record)


any = _truth("any", np.logical_or, "Whether some element is true (not zero), in all or along ``dim``.")
all = _truth("all", np.logical_and, "Whether every element is true (not zero), in all or along ``dim``.")


# ---------------------------------------------------------------- logsumexp


@op("logsumexp(Tensor self, int[] dim, bool keepdim=False) -> Tensor", names=("torch", "Tensor", "special"))
class logsumexp:
    """``log(sum(exp(x)))`` over ``dim``, without overflow.

    >>> import rushlight as torch
    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6931)
    """

    def forward(self, dim, keepdim):
        if self.dtype.kind in "iub":
            self = self.astype(dtypes.get_default_dtype().numpy)
        wide = self.astype(np.float32) if is_half(self.dtype) else self
        axes = axes_of(dim, self.ndim)
        if not wide.size:
            top = np.zeros((), wide.dtype)
        else:
            top = np.real(wide).max(axis=axes, keepdims=True)
            top = np.where(np.isfinite(top), top, 0).astype(top.dtype)
        found = np.log(np.add.reduce(np.exp(wide - top), axis=axes, keepdims=True)) + top
        if not keepdim:
            found = found.reshape([n for d, n in enumerate(found.shape) if d not in axes])
        return np.asarray(found).astype(self.dtype, copy=False)

    def d_self(grad, self, dim, keepdim, result):
        shape = self.shape
        return spread(grad, dim, keepdim, shape) * conj((self - spread(result, dim, keepdim, shape)).exp())
