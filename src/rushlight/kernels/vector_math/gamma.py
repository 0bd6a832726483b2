"""lgamma, digamma and trigamma, computed in float64.

From 8 on they are logarithms or powers and a series in ``1 / x**2``. Numbers below 0 are reflected at 1/2.
"""

from __future__ import annotations

import math

from .coefficients import DIGAMMA_TAIL, LGAMMA_1, LGAMMA_2, LGAMMA_TAIL, SIN, TAN, TRIGAMMA_TAIL
from .formats import in_double_to_its_own_accuracy, odd_polynomial, polynomial, with_sign
from .logarithm import log_in_double


def _reflected(builder, x, right, combine):
    """A function of x from what ``right`` makes of x, or of ``1 - x`` where x is negative.

    ``combine(value, rest)`` gives the negative ones' from that, and from how far x is from an integer.
    """
    negative = x < 0.0
    value = right(builder.select(negative, 1.0 - x, x))

    def both():
        return [builder.select(negative, combine(value, x - builder.unary("round", x)), value)]

    return builder.choose(builder.reduce(negative, "or"), both, lambda: [value])[0]


def _sine_of_pi(builder, rest):
    """``sin(pi * rest)`` for ``|rest| <= 1/2``."""
    return odd_polynomial(builder, rest * math.pi, SIN["f64"])


@in_double_to_its_own_accuracy
def lgamma(builder, x, scalar):
    def combine(value, rest):
        is_tiny = abs(rest) < 1e-300  # the quotient would overflow
        quotient = builder.select(is_tiny, abs(rest), math.pi / abs(_sine_of_pi(builder, rest)))
        logarithm = log_in_double(builder, quotient, scalar)
        found = builder.select(is_tiny, -logarithm, logarithm) - value
        return builder.select(rest.equals(0) | x.equals(-math.inf), math.inf, found)

    return _reflected(builder, x, lambda y: _right_lgamma(builder, y, scalar), combine)


def _right_lgamma(builder, y, scalar):
    """Stepped down to 3/2 < z <= 5/2 by factors whose logarithm is added; polynomials that have the zeros at 1 and 2."""
    is_tail, is_low, is_one = y >= 8.0, y < 0.5, y < 1.5
    product = None
    for k in range(1, 7):
        factor = builder.select(y - float(k) > 1.5, y - float(k), builder.constant(1.0, y.type))
        product = factor if product is None else product * factor
    z = y - builder.maximum(0.0, builder.unary("ceil", y - 2.5))
    w = builder.select(is_one, builder.select(is_low, y, y - 1.0), z - 2.0)
    one, two = (polynomial(builder, w, table[scalar]) for table in (LGAMMA_1, LGAMMA_2))
    logarithm = log_in_double(builder, builder.select(is_tail | is_low, y, product), scalar)
    near = builder.fma(w, builder.select(is_one, one, two), builder.select(is_low, -logarithm, logarithm))
    inverse = 1.0 / y
    tail = builder.fma(y - 0.5, logarithm - 1.0, 0.5 * math.log(2 * math.pi) - 0.5)
    tail = builder.fma(inverse, polynomial(builder, inverse * inverse, LGAMMA_TAIL[scalar]), tail)
    return builder.select(is_tail, tail, near)


def _stepped_up(builder, y):
    """(which are less than 8, y, to which 8 is added there, its inverse, y * (y + 7))."""
    is_small = y < 8.0
    z = builder.select(is_small, y + 8.0, y)
    return is_small, z, 1.0 / z, y * (y + 7.0)


@in_double_to_its_own_accuracy
def digamma(builder, x, scalar):
    def combine(value, rest):
        size = abs(rest)
        slope = odd_polynomial(builder, builder.minimum(size, 0.5 - size) * math.pi, TAN["f64"])
        slope = builder.select(size > 0.25, slope, 1.0 / slope)  # the cotangent
        found = builder.fma(with_sign(builder, slope, rest), -math.pi, value)
        return builder.select(rest.equals(0), math.nan, found)

    found = _reflected(builder, x, lambda y: _right_digamma(builder, y, scalar), combine)
    return builder.select(x.equals(0), with_sign(builder, builder.constant(math.inf, x.type), -x), found)


def _right_digamma(builder, y, scalar):
    """The inverses of y, ..., y + 7 add up to the derivative of the logarithm of their product, which is a polynomial in
    ``u = y * (y + 7)``."""
    is_small, z, inverse, u = _stepped_up(builder, y)
    slope = polynomial(builder, u, (720.0, 504.0, 84.0, 4.0)) * builder.fma(y, 2.0, 7.0)
    product = u * (u + 6.0) * (u + 10.0) * (u + 12.0)
    steps = builder.select(is_small, slope / product, builder.constant(0.0, y.type))
    v = inverse * inverse
    tail = builder.fma(inverse, 0.5, v * polynomial(builder, v, DIGAMMA_TAIL[scalar]))
    return log_in_double(builder, z, scalar) - tail - steps


@in_double_to_its_own_accuracy
def trigamma(builder, x, scalar):
    def combine(value, rest):
        root = math.pi / _sine_of_pi(builder, rest)
        return builder.fma(root, root, -value)

    return _reflected(builder, x, lambda y: _right_trigamma(builder, y, scalar), combine)


def _right_trigamma(builder, y, scalar):
    """Of the inverse squares of y, ..., y + 7 each pair with the same sum has a simple one."""
    is_small, _, inverse, u = _stepped_up(builder, y)
    steps = None
    for gap in (0.0, 6.0, 10.0, 12.0):
        product = u + gap
        pair = builder.fma(u, 2.0, 49.0 - 2 * gap) / (product * product)
        steps = pair if steps is None else steps + pair
    v = inverse * inverse
    tail = polynomial(builder, v, TRIGAMMA_TAIL[scalar])
    found = builder.fma(v, builder.fma(tail, inverse, 0.5), inverse)
    return builder.select(is_small, found + steps, found)
