"""Activations of neural networks, as operations with derivatives of their own.

The gradient of each is one operation too (`activation_gradient`), so that backward is few passes over memory.
"""

import math

import numpy as np

from ...base.dtypes import BOOL as BOOLEANS
from ...base.dtypes import COMPLEX as COMPLEX_NUMBERS
from ...base.dtypes import float64, int64
from ...base.errors import hinted
from ...base.scalars import check_fits, fitted, largest_float, number_array, number_in
from ..blockwise import FEW, bounded, larger, select
from ..table import ELEMENTWISE, FLOAT, OWN, UNARY, WIDE, composite, functions, is_half, op
from .checks import BOOL, COMPLEX, NOT_FLOATING, is_bool, refuse_complex

SQRT_HALF = math.sqrt(0.5)
GELU_SCALE = math.sqrt(2 / math.pi)

_no_complex = refuse_complex("clamp is not supported for complex types", NotImplementedError)


def _check_relu(self):
    if is_bool(self):
        raise RuntimeError(hinted("Boolean inputs not supported for relu", "convert the tensor with .float() first"))
    _no_complex(self)


_zeros = {}


def _rectified(array):
    if array.size > FEW:
        return bounded(array, 0)
    zero = _zeros.get(array.dtype)
    if zero is None:
        zero = np.zeros((), array.dtype)
        if array.dtype.char == "e":
            return larger(array, zero)
        _zeros[array.dtype] = zero
    return np.maximum(zero, array)  # in this order -0 stays what it is


@op("relu(Tensor self) -> Tensor", kind=UNARY, inplace=True)
class relu:
    """Each element, but at least 0.

    >>> import rushlight as torch
    >>> torch.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    numpy = ufunc = _rectified
    check = _check_relu
    gate = True

    def element(m, self):
        return m.maximum(self, 0)

    def d_self(grad, result):
        return functions.threshold_backward(grad, result, 0)


@op("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", kind=ELEMENTWISE, inplace=True,
    refuse=(*BOOL, *COMPLEX), names=("torch",))  # fmt: skip
class threshold:
    """Each element above ``threshold``; ``value`` for the others."""

    inplace_node = "ThresholdBackward1"
    numbers = {"threshold": WIDE, "value": OWN}

    def numpy(self, threshold, value):
        dtype = self.dtype
        return select(self <= number_array(dtype, threshold), number_array(dtype, value), self)

    def element(m, self, threshold, value):
        return m.where(self <= threshold, value, self)

    def d_self(grad, self, threshold):
        return functions.threshold_backward(grad, self, threshold)


@op("sigmoid(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=("torch", "Tensor", "special:expit"))
class sigmoid:
    """``1 / (1 + exp(-x))``: any number to one between 0 and 1.

    >>> import rushlight as torch
    >>> torch.sigmoid(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """

    def element(m, self):
        return m.sigmoid(self)

    def d_self(grad, result):
        return functions.sigmoid_backward(grad, result)


def _check_approximate(self, approximate):
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            hinted(
                "approximate argument must be either none or tanh.",
                f"it is {approximate!r}; none is the exact form with erf",
            )
        )


@op("gelu(Tensor self, *, str approximate='none') -> Tensor", kind=UNARY, refuse=NOT_FLOATING, names=("nn.functional",))
class gelu:
    """``x`` times the normal distribution function at ``x`` (Hendrycks and Gimpel, 2016).

    ``approximate="tanh"`` takes a formula with tanh in place of the exact one with erf.
    """

    kernel = "GeluKernelImpl"
    check = _check_approximate

    def element(m, self, approximate="none"):
        if approximate == "none":
            share = m.erf(self * SQRT_HALF)
        else:
            share = m.tanh((self * self * 0.044715 + 1) * self * GELU_SCALE)
        return (share + 1) * 0.5 * self

    def d_self(grad, self, approximate):
        return functions.gelu_backward(grad, self, approximate)


@op("silu(Tensor self) -> Tensor", kind=UNARY, inplace=True, names=(), refuse=NOT_FLOATING[:-2])
class silu:
    """``x * sigmoid(x)``, also called swish."""

    def element(m, self):
        return self * m.sigmoid(self)

    def d_self(grad, self):
        return functions.silu_backward(grad, self)


@op("mish(Tensor self) -> Tensor", kind=UNARY, inplace=True, names=(), refuse=NOT_FLOATING)
class mish:
    """``x * tanh(softplus(x))`` (Misra, 2019)."""

    def element(m, self):
        return self * tanh_of_softplus(m, self)

    def d_self(grad, self):
        return functions.mish_backward(grad, self)


def tanh_of_softplus(m, x):
    """``tanh(log(1 + exp(x)))`` with one exponential: with ``e = exp(x)`` it is ``(e² + 2e) / (e² + 2e + 2)``."""
    e = m.exp(m.clamp(x, None, 20))
    e = e * (e + 2)
    return e / (e + 2)


@op("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", kind=ELEMENTWISE, refuse=NOT_FLOATING,
    names=("nn.functional",))  # fmt: skip
class softplus:
    """``log(1 + exp(beta * x)) / beta``, a smooth `relu`; ``x`` itself where ``beta * x`` exceeds ``threshold``."""

    numbers = {"beta": WIDE, "threshold": WIDE}

    def element(m, self, beta=1, threshold=20):
        scaled = self * beta
        return m.where(scaled > threshold, self, m.log1p(m.exp(scaled)) / beta)

    def d_self(grad, self, beta, threshold):
        return functions.softplus_backward(grad, self, beta, threshold)


@op("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", kind=ELEMENTWISE, inplace=True,
    names=(), refuse=NOT_FLOATING)  # fmt: skip
class elu:
    """``scale * x`` where positive, else ``scale * alpha * (exp(input_scale * x) - 1)`` (Clevert et al., 2015)."""

    inplace_node = "EluBackward1"
    numbers = {"alpha": WIDE, "scale": WIDE, "input_scale": WIDE}

    def element(m, self, alpha=1, scale=1, input_scale=1):
        def below():
            return m.expm1(m.clamp(self, None, 0) * input_scale) * (alpha * scale)

        return m.where_any(self < 0, below, self * scale)

    def d_self(grad, self, alpha, scale, input_scale):
        return functions.elu_backward(grad, self, alpha, scale, input_scale)


def _check_celu(self, alpha):
    check_fits(float64.numpy, alpha)
    if alpha == 0:
        raise RuntimeError(hinted("ZeroDivisionError: alpha cannot be 0 for CELU", "give an alpha other than 0"))


@op(
    "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
    kind=ELEMENTWISE,
    inplace=True,
    names=("torch",),
    refuse=NOT_FLOATING,
)
class celu:
    """``x`` for positive elements, ``alpha * (exp(x / alpha) - 1)`` for the others (Barron, 2017)."""

    inplace_node = "CeluBackward1"
    kernel = "elu_cpu"
    check = _check_celu
    numbers = {"alpha": WIDE}

    def element(m, self, alpha=1.0):
        return m.where_any(self < 0, lambda: m.expm1(m.clamp(self, None, 0) * (1 / alpha)) * alpha, self)

    def d_self(grad, self, alpha):
        return functions.elu_backward(grad, self, alpha, 1, 1 / alpha)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@composite(names=("torch",))
def selu(input):
    """`elu` with the constants that keep mean 0 and variance 1 from layer to layer (Klambauer et al., 2017)."""
    return functions.elu(input, SELU_ALPHA, SELU_SCALE)


@composite(names=("torch",))
def selu_(input):
    """In-place form of `selu`."""
    return functions.elu_(input, SELU_ALPHA, SELU_SCALE)


def _check_hardtanh(self, min_val, max_val):
    dtype = self.dtype
    if dtype.is_floating_point:
        for bound in (min_val, max_val):
            if bound.__class__ is complex:
                check_fits(float64.numpy, bound)
        return
    if dtype.category == COMPLEX_NUMBERS:
        raise NotImplementedError(hinted("clamp is not supported for complex types", "complex numbers have no order"))
    if dtype.category == BOOLEANS:
        raise RuntimeError(hinted("Bool inputs not supported for hardtanh", "convert the mask with .float()"))
    for bound in (min_val, max_val):
        check_fits(int64.numpy, bound)
    if not dtype.is_signed and (int(min_val) < 0 or int(max_val) < 0):
        raise RuntimeError(
            hinted("cannot do hardtanh on an unsigned type with negative limits", f"{dtype!r} has no negative numbers")
        )


@op("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", kind=ELEMENTWISE, inplace=True, names=(),
    refuse=(*BOOL, *COMPLEX))  # fmt: skip
class hardtanh:
    """Each element, but at least ``min_val`` and at most ``max_val``."""

    beside = ("self",)

    kernel = "hardtanh"
    check = _check_hardtanh
    numbers = {"min_val": OWN, "max_val": OWN}

    def numpy(self, min_val=-1, max_val=1):
        return bounded(self, number_array(self.dtype, min_val), number_array(self.dtype, max_val))

    def element(m, self, min_val=-1, max_val=1):
        return m.clamp(self, min_val, max_val)

    def d_self(grad, self, min_val, max_val):
        return functions.hardtanh_backward(grad, self, min_val, max_val)


@op("hardsigmoid(Tensor self) -> Tensor", kind=UNARY, inplace=True, names=(), refuse=NOT_FLOATING)
class hardsigmoid:
    """``(x + 3) / 6`` between 0 and 1: a `sigmoid` of straight lines."""

    beside = ("self",)

    def element(m, self):
        return m.clamp(self + 3, 0, 6) / 6

    def d_self(grad, self):
        return functions.hardsigmoid_backward(grad, self)


@op("hardswish(Tensor self) -> Tensor", kind=UNARY, inplace=True, names=(), refuse=NOT_FLOATING)
class hardswish:
    """``x * hardsigmoid(x)`` (Howard et al., 2019)."""

    def element(m, self):
        return self * m.clamp(self + 3, 0, 6) / 6

    def d_self(grad, self):
        return functions.hardswish_backward(grad, self)


def _as_in(tensor, number):
    """``number`` as half precision tensors hold it, where ``tensor`` is one."""
    return float(fitted(tensor.dtype.numpy, number)) if is_half(tensor.dtype.numpy) else number


@op("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", kind=ELEMENTWISE, names=("torch", "Tensor", "nn.functional"),
    refuse=NOT_FLOATING)  # fmt: skip
class hardshrink:
    """Each element farther than ``lambd`` from zero; 0 for the others."""

    beside = ("self",)

    numbers = {"lambd": OWN}

    def numpy(self, lambd=0.5):
        return select(
            np.abs(self) <= number_array(self.dtype, lambd), self.dtype.type(0), self
        )  # lambd is rounded as self is

    def element(m, self, lambd=0.5):
        return m.where(m.abs(self) <= lambd, 0, self)

    def d_self(grad, self, lambd):
        return functions.hardshrink_backward(grad, self, _as_in(self, lambd))


def _check_lambda(self, lambd):
    lambd = number_in(float64.numpy, lambd)
    if not self.is_floating_point():
        return  # refused by its dtype
    largest = largest_float(self.dtype)
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            hinted(
                f"lambda must be in range [0, {largest:g}] for input dtype {self.dtype.legacy_name}, but found {lambd:g}",
                "the width of the gap around zero must be a number that the dtype can hold",
            )
        )


@op(
    "softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
    kind=ELEMENTWISE,
    names=("nn.functional",),
    refuse=NOT_FLOATING,
)
class softshrink:
    """Each element moved by ``lambd`` toward zero; 0 for those nearer than that."""

    beside = ("self",)

    kernel = "softshrink_check"
    check = _check_lambda
    numbers = {"lambd": OWN}

    def element(m, self, lambd=0.5):
        return m.where(self > lambd, self - lambd, m.where(self < -lambd, self + lambd, self * 0))

    def d_self(grad, self, lambd):
        return functions.hardshrink_backward(grad, self, _as_in(self, lambd))


@op(
    "logsigmoid(Tensor self) -> Tensor",
    kind=UNARY,
    names=("nn.functional",),
    refuse=NOT_FLOATING,
    node="LogSigmoidBackward0",
)
class logsigmoid:
    """``log(sigmoid(x))`` without overflow."""

    kernel = "log_sigmoid_cpu"

    def patterns(self):
        return ()

    def element(m, self):
        return m.clamp(self, None, 0) - m.log1p(m.exp(-m.abs(self)))

    def d_self(grad, self):
        return functions.logsigmoid_backward(grad, self)


@composite(names=("nn.functional",))
def softsign(input):
    """``x / (1 + |x|)``."""
    return input / (input.abs() + 1)


@composite(names=("nn.functional",))
def tanhshrink(input):
    """``x - tanh(x)``."""
    return input - input.tanh()
