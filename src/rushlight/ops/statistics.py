"""Variances, standard deviations and covariances."""

import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.user_code import to_user
from .reduce import add_up, axes_of, count_along, count_of, lined_up, spread, zero_where_zero
from .table import composite, conj, functions, is_half, op


def _variance(name, array, dim, correction, keepdim):
    """(variance, mean) over ``dim``, computed in double precision: squares of large deviations overflow in no other."""
    if array.dtype.kind not in "fc" and not is_half(array.dtype):
        raise RuntimeError(
            hinted(
                f"{name if name.endswith('_mean') else 'std and var'} only support floating point and complex dtypes",
                "convert the tensor first: x.float()",
            )
        )
    axes = axes_of(dim, array.ndim)
    wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)
    count = count_along(array.shape, axes)
    mean = add_up(wide, axes, True) / np.float64(count)
    centred = wide - mean
    if wide.dtype.kind == "c":
        squares = centred.real**2 + centred.imag**2
    else:
        squares = np.multiply(centred, centred, out=centred if centred.ndim else None)
    divisor = count - correction
    if divisor <= 0:
        warnings.warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
            "numel divided by output numel).",
            stacklevel=to_user(),
        )
    found = np.asarray(add_up(squares, axes, keepdim) / np.float64(max(divisor, 0)))
    return found, np.asarray(mean if keepdim else mean.reshape(found.shape))


def _settled(array, source):
    """A real statistic of ``source`` in its dtype, or the real part's."""
    with np.errstate(over="ignore"):
        return array.astype(source.real.dtype if source.dtype.kind == "c" else source.dtype, copy=False)


def _variance_gradient(grad, self, dim, correction, keepdim, power=2.0):
    """The gradient of ``variance ** (power / 2)``, whose ``grad`` was divided by the deviation where the power is 1."""
    count = count_of(self.shape, dim)
    if count == 0:
        return functions.zeros_like(self)
    divisor = count - correction
    factor = power / divisor if divisor > 0 else math.inf
    mean = functions.var_mean_corrected(self, dim, 0, True)[1]  # `mean` may be off by more than one rounding
    return lined_up(grad, dim, keepdim, self.ndim) * factor * (self - mean)


def _deviation_gradient(grad, result, self, dim, correction, keepdim):
    return _variance_gradient(zero_where_zero(grad / result, result), self, dim, correction, keepdim, 1.0)


_SIGNATURE = "(Tensor self, int[]? dim, Scalar correction, bool keepdim)"


@op(f"var{_SIGNATURE} -> Tensor", names=(), node="VarBackward0")
class var_corrected:
    """The variance over ``dim``: squared deviations summed, divided by the count less ``correction``."""

    by_rows = True

    def forward(self, dim, correction, keepdim):
        return _settled(_variance("var", self, dim, correction, keepdim)[0], self)

    def d_self(grad, self, dim, correction, keepdim):
        return _variance_gradient(grad, self, dim, correction, keepdim)


@op(f"std{_SIGNATURE} -> Tensor", names=(), node="StdBackward0")
class std_corrected:
    """The standard deviation over ``dim``."""

    by_rows = True

    def forward(self, dim, correction, keepdim):
        return _settled(np.asarray(np.sqrt(_variance("std", self, dim, correction, keepdim)[0])), self)

    def d_self(grad, self, dim, correction, keepdim, result):
        return _deviation_gradient(grad, result, self, dim, correction, keepdim)


@op(f"var_mean{_SIGNATURE} -> Tensor[]", names=(), node="VarMeanBackward0")
class var_mean_corrected:
    """The variance and the mean over ``dim``."""

    by_rows = True

    def forward(self, dim, correction, keepdim):
        variance, mean = _variance("var_mean", self, dim, correction, keepdim)
        return _settled(variance, self), mean.astype(self.dtype, copy=False)

    def d_self(grads, self, dim, correction, keepdim):
        through_variance = grads[0] is not None and _variance_gradient(grads[0], self, dim, correction, keepdim)
        return _with_mean_gradient(through_variance, grads[1], self, dim, keepdim)


@op(f"std_mean{_SIGNATURE} -> Tensor[]", names=(), node="StdMeanBackward0")
class std_mean_corrected:
    """The standard deviation and the mean over ``dim``."""

    by_rows = True

    def forward(self, dim, correction, keepdim):
        variance, mean = _variance("std_mean", self, dim, correction, keepdim)
        return _settled(np.asarray(np.sqrt(variance)), self), mean.astype(self.dtype, copy=False)

    def d_self(grads, self, dim, correction, keepdim, result0):
        through_deviation = grads[0] is not None and _deviation_gradient(
            grads[0], result0, self, dim, correction, keepdim
        )
        return _with_mean_gradient(through_deviation, grads[1], self, dim, keepdim)


def _with_mean_gradient(first, grad_of_mean, self, dim, keepdim):
    if grad_of_mean is None:
        return first
    second = spread(grad_of_mean, dim, keepdim, self.shape) / count_of(self.shape, dim)
    return second if first is False else first + second


def _define(name, doc, places):
    kernel = f"{name}_corrected"

    def statistic(input, *args, dim=None, unbiased=None, keepdim=False, correction=None):
        if args:
            if args[0].__class__ is bool:
                unbiased = args[0]
            else:
                dim = args[0]
            if len(args) > 1:
                unbiased = args[1]
                if len(args) > 2:
                    keepdim = args[2]
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        return getattr(functions, kernel)(input, dim, correction, keepdim)

    statistic.__name__ = statistic.__qualname__ = name
    statistic.__doc__ = doc
    return composite(statistic, names=places, out=name in ("var", "std"))


_define(
    "var",
    """The variance, over ``dim`` or all: squared deviations summed, divided by the count less ``correction`` (1).

    Also called as ``var(unbiased)`` and ``var(dim, unbiased, keepdim)``: ``unbiased=False`` is ``correction=0``.

    >>> import rushlight as torch
    >>> torch.tensor([1.0, 2.0, 3.0]).var()
    tensor(1.)
    """,
    ("torch", "Tensor"),
)
_define("std", "The standard deviation: the square root of `var`.", ("torch", "Tensor"))
_define("var_mean", "``(variance, mean)`` over ``dim`` or all, with the arguments of `var`.", ("torch",))
_define("std_mean", "``(standard deviation, mean)`` over ``dim`` or all, with the arguments of `var`.", ("torch",))


# ---------------------------------------------------------------- covariances


_FEW_OBSERVATIONS = (
    "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
)


def _check_weights(fweights, aweights, count):
    for name, value in (("fweights", fweights), ("aweights", aweights)):
        if value is None:
            continue
        if value.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {value.ndim} dimensions"
            )
        if name == "fweights" and value.dtype.category not in (dtypes.UNSIGNED, dtypes.SIGNED):
            raise RuntimeError(
                f"cov(): expected fweights to have integral dtype but got fweights with {value.dtype.legacy_name} dtype"
            )
        if name == "aweights" and not value.is_floating_point():
            raise RuntimeError(
                f"cov(): expected aweights to have floating point dtype but got aweights with {value.dtype.legacy_name} dtype"
            )
        if value.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got {value.numel()} != {count}"
            )
        if (value < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")


@composite
def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of variables (rows) observed in columns; ``fweights`` repeats, ``aweights`` weighs observations.

    >>> import rushlight as torch
    >>> torch.cov(torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    count = rows.shape[1]
    _check_weights(fweights, aweights, count)
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    if weights is None:
        total, mean = count, rows.sum(1, True) / count
    else:
        total = weights.sum()
        if count and total == 0:
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        mean = (rows * weights).sum(1, True) / total
    if weights is not None and aweights is not None and correction:
        divisor = total - correction * (weights * aweights).sum() / total
    else:
        divisor = total - correction
    if hasattr(divisor, "_edge"):
        if divisor <= 0 and count:
            warnings.warn(_FEW_OBSERVATIONS, stacklevel=to_user())
        divisor = divisor.clamp(min=0)
    elif divisor <= 0:
        warnings.warn(_FEW_OBSERVATIONS, stacklevel=to_user())
        divisor = 0
    centred = rows - mean
    # Again, for the mean was rounded, which matters where it is large; but not where PyTorch's own rounding or wrapping shows.
    narrow = any(t is not None and is_half(t.dtype.numpy) for t in (rows, aweights))
    if count and not narrow and (rows.is_floating_point() or rows.is_complex()):
        centred = centred - (centred.sum(1, True) if weights is None else (centred * weights).sum(1, True)) / total
    weighted = centred if weights is None else centred * weights
    return functions.true_divide(centred @ conj(weighted.t()), divisor).squeeze()


@composite
def corrcoef(input):
    """The matrix of Pearson's correlation coefficients of variables (rows) observed in columns."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    covariance = cov(input)
    if covariance.ndim == 0:
        return covariance / covariance
    variance = covariance.diagonal()
    deviation = (variance.real if covariance.is_complex() else variance).sqrt()
    found = covariance / deviation.unsqueeze(1) / deviation
    if found.is_complex():
        return functions.complex(found.real.clip(-1, 1), found.imag.clip(-1, 1))
    return found.clip(-1, 1)
