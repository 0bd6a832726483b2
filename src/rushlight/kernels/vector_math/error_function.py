"""erf and erfc."""

from __future__ import annotations

from .coefficients import ERF, ERFC_ROOT, ERFCX, ERFCX_SHORT
from .exponential import exp, short_exp
from .formats import coefficients_for, in_double_to_its_own_accuracy, polynomial, with_sign

_LIMIT = {"f32": 3.95, "f64": 27.3}  # beyond, erf is 1
_ERFC_LIMIT = {"f32": 10.1, "f64": 27.3}  # beyond, erfc is 0


def erf(builder, x):
    """A polynomial where ``|x| < 0.9``; beyond, in float32 ``1 - q**4`` with a polynomial q, which takes no exp and no
    division, and in float64 ``1 - erfc(a)``.
    """
    a = abs(x)
    near = _small_erf(builder, x)
    bounded = builder.minimum(coefficients_for(x, _LIMIT), a)
    if x.type.scalar == "f32":
        square = polynomial(builder, bounded, ERFC_ROOT["f32"])
        square = square * square
        far = builder.fma(-square, square, 1.0)
    else:
        far = 1.0 - _great_erfc(builder, bounded)
    return builder.select(a < 0.9, near, with_sign(builder, far, x))


def _small_erf(builder, x):
    return builder.fma(polynomial(builder, x * x, coefficients_for(x, ERF)), x, x)


def _great_erfc(builder, a, scalar="f64"):
    """``exp(-a * a)`` times a polynomial in ``(a - 4) / (a + 4)`` over ``1 + 2 * a``, for ``0.5 <= a <= 27.3`` (10.1 for
    float32, which has one division for both)."""
    square = a * a
    if scalar == "f32":
        shifted, scale = a + 4.0, builder.fma(a, 2.0, 1.0)
        inverse = 1.0 / (shifted * scale)
        t = (a - 4.0) * scale * inverse
        return short_exp(builder, -square) * (polynomial(builder, t, ERFCX_SHORT["f32"]) * (shifted * inverse))
    below = builder.fma(a, a, -square)
    power = exp(builder, -square)
    power = builder.fma(-power, below, power)
    t = (a - 4.0) / (a + 4.0)
    return power * (polynomial(builder, t, ERFCX["f64"]) / builder.fma(a, 2.0, 1.0))


@in_double_to_its_own_accuracy
def erfc(builder, x, scalar):
    a = abs(x)
    great = _great_erfc(builder, builder.minimum(_ERFC_LIMIT[scalar], a), scalar)
    great = builder.select(x < 0.0, 2.0 - great, great)
    small = builder.fma(polynomial(builder, x * x, ERF[scalar]), x, x)
    return builder.select(a < 0.5, 1.0 - small, great)
