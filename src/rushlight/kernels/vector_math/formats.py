"""What the functions share: how floating-point numbers lie in bits, polynomials, clamping, rounding."""

from __future__ import annotations

import functools
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A binary floating-point format.

    ``magic`` is 1.5 * 2**mantissa: a small number added to it is rounded to an integer, which its low bits then hold.
    """

    integer: str
    mantissa: int
    bias: int

    @property
    def magic(self):
        return 1.5 * 2.0**self.mantissa

    @property
    def sign_bit(self):
        """The number of the sign's bit."""
        return 31 if self.integer == "i32" else 63

    @property
    def smallest_normal(self):
        return 2.0 ** (1 - self.bias)


_FORMATS = {"f32": Format("i32", 23, 127), "f64": Format("i64", 52, 1023)}


def format_of(x):
    """The Format of a float value."""
    return _FORMATS[x.type.scalar]


def coefficients_for(x, table):
    """The entry of a table by scalar type."""
    return table[x.type.scalar]


def polynomial(builder, x, coefficients):
    """The polynomial in ``x`` with these coefficients, lowest first, by Horner's rule."""
    *rest, highest = coefficients
    result = builder.constant(highest, x.type)
    for coefficient in reversed(rest):
        result = builder.fma(result, x, coefficient)
    return result


def clamp(builder, x, low, high):
    """``x`` within the bounds; NaN stays NaN."""
    return builder.minimum(high, builder.maximum(low, x))


def odd_polynomial(builder, x, coefficients):
    """``x + x * z * p(z)`` with ``z = x * x`` and the polynomial p."""
    z = x * x
    return builder.fma(x * z, polynomial(builder, z, coefficients), x)


def in_double(function):
    """The function computed in float64 whatever the type: for those whose steps would cost float32 more than 2 ulp."""

    @functools.wraps(function)
    def expansion(builder, *operands):
        wide = (builder.convert(operand, "f64") for operand in operands)
        return builder.convert(function(builder, *wide), operands[0].type.scalar)

    return expansion


def in_double_to_its_own_accuracy(function):
    """The function of a float64 value and the scalar type whose accuracy is wanted, as one of values of either type."""

    @functools.wraps(function)
    def expansion(builder, x):
        scalar = x.type.scalar
        return builder.convert(function(builder, builder.convert(x, "f64"), scalar), scalar)

    return expansion


def bits(builder, x):
    """The bits of a float as a signed integer."""
    return builder.bitcast(x, format_of(x).integer)


def with_sign(builder, magnitude, x):
    """``magnitude`` with the sign of ``x``."""
    return builder.binary("copysign", magnitude, x)
