"""Functions of complex numbers as formulas of their real and imaginary parts.

A formula gets the parts of its operands (0.0 for the imaginary part of a real one) and returns those of its result, or its
only part, and last where it holds: for numbers that are not finite and those that overflow on the way, where C's
rules have a table of their own, NumPy computes. None stands for everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

_TINY, _HUGE = 1e-100, 1e100  # sizes whose squares, and quotients of them, are far from underflow and overflow
_LARGE = 700.0  # what can be exponentiated
_LARGE_TANGENT = 300.0  # what can be exponentiated and squared
_TURNS = 1e9  # angles whose sines are as good as those of small ones


def _larger(m, a, b):
    return m.maximum(m.abs(a), m.abs(b))


def _ordinary(size):
    return (size > _TINY) & (size < _HUGE)


def _ordinary_or_zero(size):
    return (size == 0) | _ordinary(size)


def _finite(m, x):
    return m.abs(x) < math.inf


# ---------------------------------------------------------------- in the precision of the operands, everywhere


def _sum(m, a, b, c, d):
    return a + c, b + d, None


def _difference(m, a, b, c, d):
    return a - c, b - d, None


def _reversed_difference(m, a, b, c, d):
    return c - a, d - b, None


def _product(m, a, b, c, d):
    return a * c - b * d, a * d + b * c, None


def _product_with_conjugate(m, a, b, c, d):
    return a * c + b * d, b * c - a * d, None


def _square(m, a, b):
    return _product(m, a, b, a, b)


def _cube(m, a, b):
    return _product(m, *_square(m, a, b)[:2], a, b)


def _conjugate(m, a, b):
    return a, -b, None


def _same(m, a, b):
    return a, b, None


def _selected(m, condition, a, b, c, d):
    return m.where(condition, a, c), m.where(condition, b, d), None


def _equal(m, a, b, c, d):
    return (a == c) & (b == d), None


def _unequal(m, a, b, c, d):
    return (a != c) | (b != d), None


def _angle(m, a, b):
    return m.arctan2(b, a), None


def _quotient(m, a, b, c, d):
    """By the larger part of the divisor, as NumPy and PyTorch divide: zeros and infinities come out as theirs."""
    by_real = m.abs(c) >= m.abs(d)
    larger, smaller = m.where(by_real, c, d), m.where(by_real, d, c)
    first, second = m.where(by_real, a, b), m.where(by_real, b, a)
    ratio = smaller / larger
    scale = 1 / (larger + smaller * ratio)
    across = m.where(by_real, second - first * ratio, first * ratio - second)
    by_zero = (c == 0) & (d == 0)
    real = m.where(by_zero, a * math.inf, (first + second * ratio) * scale)
    return real, m.where(by_zero, b * math.inf, across * scale), None


def _quotient_slope(m, g, h, a, b, c, d):
    """The gradient of a quotient for its divisor: ``-grad * conj(self / other / other)``."""
    real, imaginary, _ = _quotient(m, *_quotient(m, a, b, c, d)[:2], c, d)
    return _product(m, -g, -h, real, -imaginary)


def _reciprocal(m, a, b):
    return _quotient(m, 1.0, 0.0, a, b)


def _inverse_square(m, a, b):
    return _reciprocal(m, *_square(m, a, b)[:2])


# ---------------------------------------------------------------- in double precision, where they hold


def _size(m, a, b):
    return m.sqrt(a * a + b * b), _ordinary_or_zero(_larger(m, a, b))


def _sign(m, a, b):
    size, holds = _size(m, a, b)
    return m.where(size == 0, 0.0, a / size), m.where(size == 0, 0.0, b / size), holds


def _size_slope(m, g, h, a, b):
    real, imaginary, holds = _sign(m, a, b)
    return g * real, g * imaginary, holds & _finite(m, g)


def _exp(m, a, b):
    size = m.exp(a)
    return size * m.cos(b), size * m.sin(b), (m.abs(a) < _LARGE) & (m.abs(b) < _TURNS)


def _log(m, a, b):
    larger, smaller = _larger(m, a, b), m.minimum(m.abs(a), m.abs(b))
    high, low = larger * larger, smaller * smaller
    square = high + low
    # What rounding took from the square, which is all of the logarithm where the size is near 1.
    lost = high - square + low + _rounded_off(m, larger, high) + _rounded_off(m, smaller, low)
    lost = m.where(larger == 0, 0.0, lost / square)
    return (m.log(square) + lost) * 0.5, m.arctan2(b, a), _ordinary_or_zero(larger)


def _rounded_off(m, x, square):
    """``x * x - square``, exactly."""
    x = m.lifted(x, m.type)
    return m.element(m.builder.fma(x, x, m.lifted(-square, m.type)))


def _log_by(base):
    def formula(m, a, b):
        real, imaginary, holds = _log(m, a, b)
        return real / math.log(base), imaginary / math.log(base), holds

    return formula


def _power(m, a, b, c, d):
    size, angle, holds = _log(m, a, b)
    real, imaginary, near = _exp(m, c * size - d * angle, c * angle + d * size)
    return real, imaginary, holds & near


def _sqrt(m, a, b):
    size, holds = _size(m, a, b)
    root = m.sqrt((size + m.abs(a)) * 0.5)
    other = m.where(root == 0, b, b / (root * 2))
    return m.where(a >= 0, root, m.abs(other)), m.where(a >= 0, other, m.copysign(root, b)), holds


def _rsqrt(m, a, b):
    real, imaginary, holds = _sqrt(m, a, b)
    return *_reciprocal(m, real, imaginary)[:2], holds


def _sin(m, a, b):
    holds = (m.abs(a) < _TURNS) & (m.abs(b) < _LARGE)
    return m.sin(a) * m.cosh(b), m.cos(a) * m.sinh(b), holds


def _cos(m, a, b):
    holds = (m.abs(a) < _TURNS) & (m.abs(b) < _LARGE)
    return m.cos(a) * m.cosh(b), -(m.sin(a) * m.sinh(b)), holds


def _sinh(m, a, b):
    imaginary, real, holds = _sin(m, b, a)
    return real, imaginary, holds


def _cosh(m, a, b):
    holds = (m.abs(b) < _TURNS) & (m.abs(a) < _LARGE)
    return m.cosh(a) * m.cos(b), m.sinh(a) * m.sin(b), holds


def _tanh(m, a, b):
    sinh, cos = m.sinh(a), m.cos(b)
    whole = sinh * sinh + cos * cos
    return sinh * m.cosh(a) / whole, m.sin(b) * cos / whole, (m.abs(a) < _LARGE_TANGENT) & (m.abs(b) < _TURNS)


def _tan(m, a, b):
    imaginary, real, holds = _tanh(m, b, a)
    return real, imaginary, holds


def _sigmoid(m, a, b):
    real, imaginary, holds = _exp(m, -a, -b)
    return *_reciprocal(m, real + 1, imaginary)[:2], holds


class Formula(NamedTuple):
    """A function by parts; ``result`` is "complex", "real" or "bool". A ``light`` one is computed in the precision that its
    operands have; one that is not ``checked`` holds everywhere."""

    parts: object
    result: str = "complex"
    light: bool = False
    checked: bool = False


def _light(parts, result="complex"):
    return Formula(parts, result, light=True)


def _checked(parts, result="complex"):
    return Formula(parts, result, checked=True)


FORMULAS = {
    "add": _light(_sum),
    "sub": _light(_difference),
    "rsub": _light(_reversed_difference),
    "mul": _light(_product),
    "mul_conjugate": _light(_product_with_conjugate),
    "square": _light(_square),
    "cube": _light(_cube),
    "conjugate": _light(_conjugate),
    "conj_physical_complex": _light(_conjugate),
    "copied": _light(_same),
    "where_select": _light(_selected),
    "eq": _light(_equal, "bool"),
    "ne": _light(_unequal, "bool"),
    "angle": _light(_angle, "real"),
    "abs": _checked(_size, "real"),
    "abs_backward": _checked(_size_slope),
    "div": _light(_quotient),
    "div_other_backward": _light(_quotient_slope),
    "pow": _checked(_power),
    "inverse_square": _light(_inverse_square),
    "reciprocal": _light(_reciprocal),
    "sgn": _checked(_sign),
    "exp": _checked(_exp),
    "log": _checked(_log),
    "log2": _checked(_log_by(2)),
    "log10": _checked(_log_by(10)),
    "sqrt": _checked(_sqrt),
    "rsqrt": _checked(_rsqrt),
    "sin": _checked(_sin),
    "cos": _checked(_cos),
    "tan": _checked(_tan),
    "sinh": _checked(_sinh),
    "cosh": _checked(_cosh),
    "tanh": _checked(_tanh),
    "sigmoid": _checked(_sigmoid),
}
POWERS = {2: "square", 3: "cube", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal", -2: "inverse_square"}
