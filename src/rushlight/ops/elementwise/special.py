"""Special functions: error functions, gamma's family, modified Bessel functions, the normal distribution."""

import math

import numpy as np

from ...base.errors import hinted
from ...base.limits import no_memory
from .. import special_gamma
from ..table import ELEMENTWISE, FLOAT, FUSED, OWN, UNARY, composite, functions, op
from .checks import BOOL, COMPLEX, INTEGERS, unknown_derivative
from .exponential import by_operands

_NOT_NATIVE = ("float16", "bfloat16", *COMPLEX)
_ROOT_PI = math.sqrt(math.pi)


@op("erf_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class erf_backward:
    """The gradient of `erf`."""

    def element(m, gradient, self):
        return gradient * (m.exp(self * self * -1) * (2 / _ROOT_PI))


@op(
    "erf(Tensor self) -> Tensor",
    kind=UNARY,
    dtype=FLOAT,
    inplace=True,
    refuse=COMPLEX,
    names=("torch", "Tensor", "special"),
)
class erf:
    """The error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."""

    kernel = "erf_vml_cpu"

    def element(m, self):
        return m.erf(self)

    def d_self(grad, self):
        return functions.erf_backward(grad, self)


@op(
    "erfc(Tensor self) -> Tensor",
    kind=UNARY,
    dtype=FLOAT,
    inplace=True,
    refuse=COMPLEX,
    names=("torch", "Tensor", "special"),
)
class erfc:
    """``1 - erf(x)``, without cancellation."""

    kernel = "erfc_vml_cpu"

    def element(m, self):
        return m.erfc(self)

    def d_self(grad, self):
        return grad * ((self * self * -1).exp() * (-2 / _ROOT_PI))


@op("erfinv(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    names=("torch", "Tensor", "special"))  # fmt: skip
class erfinv:
    """The inverse of `erf`: inf at 1, nan outside [-1, 1]."""

    kernel = "erfinv_vml_cpu"

    def element(m, self):
        return m.erfinv(self)

    def d_self(grad, self):
        result = self.erfinv()
        return grad * ((result * result).exp() * (_ROOT_PI / 2))


@op("special_erfcx(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, refuse=_NOT_NATIVE, names=("special:erfcx",))
class special_erfcx:
    """``exp(x**2) * erfc(x)``."""

    kernel = "erfcx_cpu"

    def element(m, self):
        return m.erfcx(self)

    def d_self(grad, self, result):
        return grad * (2 * self * result - 2 / _ROOT_PI)


@op("logit(Tensor self, float? eps=None) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    names=("torch", "Tensor", "special"))  # fmt: skip
class logit:
    """``log(x / (1 - x))``, the inverse of `sigmoid`; x is kept between ``eps`` and ``1 - eps`` where eps is given."""

    numbers = {"eps": OWN}

    def element(m, self, eps=None):
        if eps is None or eps < 0:
            x = self
        else:
            x = m.where(self < eps, eps, m.where(self > 1 - eps, 1 - eps, self))
        return m.log(x / (1 - x))

    def d_self(grad, self, eps):
        slope = grad / (self * (1 - self))
        if eps is None:
            return slope.masked_fill((self < 0) | (self > 1), float("nan"))
        return slope.masked_fill((self < eps) | (self > 1 - eps), 0)


# ---------------------------------------------------------------- gamma


@op("lgamma(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    names=("torch", "Tensor", "special:gammaln"))  # fmt: skip
class lgamma:
    """The logarithm of the absolute value of the gamma function."""

    kernel = "lgamma_vml_cpu"

    def element(m, self):
        return m.lgamma(self)

    def d_self(grad, self):
        return grad * self.digamma()


@op("digamma(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    names=("torch", "Tensor", "special", "special:psi"))  # fmt: skip
class digamma:
    """The derivative of `lgamma`."""

    kernel = "digamma"

    def element(m, self):
        return m.digamma(self)

    def d_self(grad, self):
        return grad * functions.polygamma_of(self, 1)


@op("polygamma_of(Tensor self, int n) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, inplace=True, refuse=COMPLEX, names=(),
    node="PolygammaBackward0")  # fmt: skip
class polygamma_of:
    """The n-th derivative of `digamma`."""

    inplace_node = "PolygammaBackward1"

    def check(self, n):
        if n < 0:
            raise RuntimeError(
                hinted("polygamma(n, x) does not support negative n.", f"n is the order of a derivative, not {n}")
            )

    def numpy(self, n):
        return special_gamma.polygamma(n, self)

    def element(m, self, n):
        return m.digamma(self) if n == 0 else m.trigamma(self) if n == 1 else NotImplemented

    def d_self(grad, self, n):
        return grad * functions.polygamma_of(self, n + 1)


@composite(names=("Tensor:polygamma",))
def polygamma_method(input, n):
    """The n-th derivative of `digamma`."""
    return functions.polygamma_of(input, n)


@composite(names=("Tensor:polygamma_",))
def polygamma_method_(input, n):
    """In-place form of `polygamma`."""
    return functions.polygamma_of_(input, n)


@composite(names=("torch", "special"))
def polygamma(n, input, *, out=None):
    """The n-th derivative of `digamma` at ``input``."""
    options = {} if out is None else {"out": out}
    return functions.polygamma_of(input, n, **options)


_MOST_DIMENSIONS = 1 << 24


@op("mvlgamma(Tensor self, int p) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    names=("torch", "Tensor", "special:multigammaln"))  # fmt: skip
class mvlgamma:
    """The logarithm of the multivariate gamma function of dimension p."""

    def patterns(self):
        return ()

    kernel = "arange_cpu"  # where PyTorch's composition of it first meets a dtype that it lacks

    def check(self, p):
        if self._array.dtype.kind == "b":
            raise RuntimeError(
                hinted("The input tensor may not be a boolean tensor.", "convert the mask with .float() first")
            )
        if p < 1:
            raise RuntimeError(hinted("p has to be greater than or equal to 1", f"it is the dimension, not {p}"))
        if p > _MOST_DIMENSIONS:  # PyTorch makes as many numbers of each
            raise no_memory(p * self.numel() * self.element_size())

    def numpy(self, p):
        wide = self.astype(np.float64)
        found = sum(special_gamma.lgamma(wide - i / 2) for i in range(p)) + p * (p - 1) / 4 * math.log(math.pi)
        return found.astype(self.dtype)

    def d_self(grad, self, p):
        slope = (self + 0.0).digamma()  # at -0 as at 0
        for i in range(1, p):
            slope = slope + (self - i / 2).digamma()
        return grad * slope


@op("igamma(Tensor self, Tensor other) -> Tensor", kind=ELEMENTWISE, inplace=True,
    refuse=(*BOOL, *INTEGERS, *COMPLEX), names=("torch", "Tensor", "special:gammainc"))  # fmt: skip
class igamma:
    """The regularised lower incomplete gamma function ``P(self, other)``."""

    def numpy(self, other):
        return special_gamma.incomplete_gamma(self, other, upper=False)

    d_self = unknown_derivative("igamma: input")

    def d_other(grad, self, other):
        return grad * ((self - 1) * other.log() - other - self.lgamma()).exp()


@op("igammac(Tensor self, Tensor other) -> Tensor", kind=ELEMENTWISE, inplace=True,
    refuse=(*BOOL, *INTEGERS, *COMPLEX), names=("torch", "Tensor", "special:gammaincc"))  # fmt: skip
class igammac:
    """The regularised upper incomplete gamma function ``Q(self, other)``."""

    def numpy(self, other):
        return special_gamma.incomplete_gamma(self, other, upper=True)

    d_self = unknown_derivative("igammac: input")

    def d_other(grad, self, other):
        return -grad * ((self - 1) * other.log() - other - self.lgamma()).exp()


@op("special_zeta(Operand self, Operand other) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, refuse=_NOT_NATIVE,
    names=("special:zeta",), node=by_operands("SpecialZeta"))  # fmt: skip
class special_zeta:
    """Hurwitz zeta: the sum of ``(k + other)**-self`` over k = 0, 1, 2, ..."""

    kernel = "zeta_cpu"

    def numpy(self, other):
        return special_gamma.zeta(self, other)

    d_self = unknown_derivative("zeta")

    def d_other(grad, self, other):
        return grad * (-self * functions.special_zeta(self + 1, other))


# ---------------------------------------------------------------- modified Bessel functions


@op(
    "i0(Tensor self) -> Tensor",
    kind=UNARY,
    dtype=FLOAT,
    inplace=True,
    refuse=COMPLEX,
    names=("torch", "Tensor", "special"),
)
class i0:
    """The modified Bessel function of the first kind, order 0."""

    kernel = "i0_vml_cpu"

    def element(m, self):
        return m.i0(self)

    def d_self(grad, self):
        return grad * functions.special_i1(self)


@op("special_i0e(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, refuse=COMPLEX, names=("special:i0e",))
class special_i0e:
    """``exp(-|x|) * i0(x)``."""

    kernel = "i0e_cpu"

    def element(m, self):
        return m.i0e(self)

    def d_self(grad, self, result):
        return grad * (functions.special_i1e(self) - self.sgn() * result)


@op("special_i1(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, refuse=COMPLEX, names=("special:i1",))
class special_i1:
    """The modified Bessel function of the first kind, order 1."""

    kernel = "i1_cpu"

    def element(m, self):
        return m.i1(self)

    def d_self(grad, self, result):
        return grad * (functions.i0(self) - _ratio(result, self))


@op("special_i1e(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, refuse=COMPLEX, names=("special:i1e",))
class special_i1e:
    """``exp(-|x|) * i1(x)``."""

    kernel = "i1e_cpu"

    def element(m, self):
        return m.i1e(self)

    def d_self(grad, self, result):
        return grad * (functions.special_i0e(self) - self.sgn() * result - _ratio(result, self))


_NEAR_ZERO = {2: 1e-3, 4: 1e-7, 8: 1e-16}  # by an element's bytes: 1/2 less the ratio is a sixteenth of the square


def _ratio(result, x):
    """``result / x``, and its limit 1/2 near 0, where the result may have lost its digits, in a form whose derivative is not NaN there."""
    at_zero = x.abs() <= _NEAR_ZERO[x.dtype.itemsize]
    return (result / x.masked_fill(at_zero, 1)).masked_fill(at_zero, 0.5)


# ---------------------------------------------------------------- the normal distribution


@composite(names=("special",), out=True)
def ndtr(input):
    """The standard normal distribution function."""
    return (functions.erf(input * math.sqrt(0.5)) + 1) * 0.5


@op("special_ndtri(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, refuse=_NOT_NATIVE, names=("special:ndtri",))
class special_ndtri:
    """The quantile function of the standard normal distribution, the inverse of `ndtr`."""

    kernel = "ndtri_cpu"

    def element(m, self):
        return m.ndtri(self)

    def d_self(grad, result):
        return grad * ((result * result / 2).exp() * math.sqrt(2 * math.pi))


@op("special_log_ndtr(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, refuse=_NOT_NATIVE, names=("special:log_ndtr",))
class special_log_ndtr:
    """The logarithm of `ndtr`."""

    kernel = "log_ndtr_cpu"

    def element(m, self):
        z = self * math.sqrt(0.5)
        return m.where(self < -1, m.log(m.erfcx(-z) * 0.5) - z * z, m.log1p(m.erfc(z) * -0.5))

    keeps = ("result",)

    def d_self(grad, self):
        return grad / functions.special_erfcx(self * -math.sqrt(0.5)) * math.sqrt(2 / math.pi)


@op("special_entr(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, refuse=COMPLEX, names=("special:entr",))
class special_entr:
    """``-x log(x)``, 0 at zero, minus infinity below."""

    kernel = "entr_cpu"

    def element(m, self):
        return m.where(self > 0, -self * m.log(self), m.where(self < 0, -math.inf, abs(self)))

    def d_self(grad, self):
        return grad * (-1 - self.log())
