"""Bessel functions: those of the first and second kind, and the modified ones, of orders 0 and 1.

Up to 8 (the modified ones of the second kind: up to 2) they are polynomials, and beyond an exponential or a wave times
polynomials in ``1 / x``; few vectors have numbers on both sides, and what no lane needs is skipped. float64 has the
polynomials of `ops.bessel_polynomials`; float32 has shorter ones, and float64 for the steps where numbers cancel.
"""

from __future__ import annotations

import math

from ...ops import bessel_polynomials as full
from . import bessel_coefficients as short
from .exponential import exp, scaled_exp
from .formats import coefficients_for, in_double, in_double_to_its_own_accuracy, polynomial
from .logarithm import log, log_in_double
from .trigonometry import cos, sin

_TWO_OVER_PI = 2 / math.pi
_GROWTH_LIMIT = {"f32": 92.5, "f64": 715.0}  # from here on i0 and i1 are infinite


def _where_far(builder, is_far, far, near):
    """``far()`` in the lanes where that holds, which most vectors have none of."""
    return builder.choose(builder.reduce(is_far, "or"), lambda: [builder.select(is_far, far(), near)], lambda: [near])[
        0
    ]


# ---------------------------------------------------------------- modified, of the first kind


def _near_growing(builder, a, order, scaled):
    """I(a), times ``exp(-a)`` if ``scaled``, for ``0 <= a <= 8``."""
    if a.type.scalar == "f64":
        found = polynomial(builder, a * 0.25 - 1.0, (full.I0_SMALL, full.I1_SMALL)[order])
        found = found * a if order else found
        return found if scaled else found * exp(builder, a)
    series = _series(builder, a * 0.5, (short.I0_NEAR, short.I1_NEAR)[order]["f32"])
    found = builder.fma(series, a * 0.5, a * 0.5) if order else series + 1.0
    return found * exp(builder, -a) if scaled else found


def _series(builder, half, coefficients):
    """The polynomial times its argument, the square of ``half``: with what rounding the square loses, times the slope."""
    square = half * half
    below = builder.fma(half, half, -square)
    *rest, highest = coefficients
    value, slope = builder.constant(highest, half.type), builder.constant(0.0, half.type)
    for coefficient in reversed(rest):
        value, slope = builder.fma(value, square, coefficient), builder.fma(slope, square, value)
    return builder.fma(below, builder.fma(slope, square, value), value * square)


def _far_growing(builder, a, order, scaled):
    """The same for ``a >= 8``."""
    if not scaled:
        a = builder.minimum(coefficients_for(a, _GROWTH_LIMIT), a)
    short_table, full_table = ((short.I0_FAR, full.I0_LARGE), (short.I1_FAR, full.I1_LARGE))[order]
    table = full_table if a.type.scalar == "f64" else short_table["f32"]
    found = polynomial(builder, 16.0 / a - 1.0, table) / builder.unary("sqrt", a)
    return found if scaled else found * scaled_exp(builder, a, -16) * 65536.0


def _growing(builder, x, order, scaled):
    a = abs(x)
    near = _near_growing(builder, a, order, scaled)
    found = _where_far(builder, a > 8.0, lambda: _far_growing(builder, a, order, scaled), near)
    return builder.select(x < 0.0, -found, found) if order else found  # PyTorch's is 0 at -0


def i0(builder, x):
    return _growing(builder, x, 0, False)


def i0e(builder, x):
    return _growing(builder, x, 0, True)


def i1(builder, x):
    return _growing(builder, x, 1, False)


def i1e(builder, x):
    return _growing(builder, x, 1, True)


# ---------------------------------------------------------------- modified, of the second kind


def _near_falling(builder, x, order, scalar):
    """K(x) for ``0 < x <= 2``: I has few terms there."""
    square = x * x
    quarter = square * 0.25
    terms = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(14 if scalar == "f64" else 9)]
    growing, logarithm = polynomial(builder, quarter, terms), log_in_double(builder, x * 0.5, scalar)
    rest = polynomial(builder, square * 0.5 - 1.0, (full.K0_SMALL, full.K1_SMALL)[order])
    if order == 0:
        return builder.fma(-logarithm, growing, rest)
    return builder.fma(builder.fma(logarithm * 0.5, growing, rest), x, 1.0 / x)


def _falling(builder, x, scalar, order, scaled):
    near = _near_falling(builder, x, order, scalar)
    near = near * exp(builder, x) if scaled else near

    def far():
        short_table, full_table = ((short.K0_FAR, full.K0_LARGE), (short.K1_FAR, full.K1_LARGE))[order]
        table = full_table if scalar == "f64" else short_table["f32"]
        found = polynomial(builder, 4.0 / x - 1.0, table) / builder.unary("sqrt", x)
        return found if scaled else found * exp(builder, -x)

    return _of_positive(builder, x, _where_far(builder, x > 2.0, far, near), math.inf)


def _of_positive(builder, x, found, at_zero):
    """``found`` for x > 0; the limit at zero; NaN below."""
    edge = builder.select(x.equals(0.0), builder.constant(at_zero, x.type), math.nan)
    return builder.select(x > 0.0, found, edge)


@in_double_to_its_own_accuracy
def modified_bessel_k0(builder, x, scalar):
    return _falling(builder, x, scalar, 0, False)


@in_double_to_its_own_accuracy
def modified_bessel_k1(builder, x, scalar):
    return _falling(builder, x, scalar, 1, False)


@in_double_to_its_own_accuracy
def scaled_modified_bessel_k0(builder, x, scalar):
    return _falling(builder, x, scalar, 0, True)


@in_double_to_its_own_accuracy
def scaled_modified_bessel_k1(builder, x, scalar):
    return _falling(builder, x, scalar, 1, True)


# ---------------------------------------------------------------- waves


def _waves(builder, a, order):
    """The cosine's and the sine's amplitude and the phase of J and Y, for ``a >= 8``."""
    t = 128.0 / (a * a) - 1.0
    cosine, sine = (polynomial(builder, t, table) for table in ((full.P0, full.Q0), (full.P1, full.Q1))[order])
    # cos and sin of a - pi / 4 (order 0) or a - 3 pi / 4 (order 1), without rounding the difference.
    c, s = cos(builder, a) * math.sqrt(0.5), sin(builder, a) * math.sqrt(0.5)
    phase = (c + s, s - c) if order == 0 else (s - c, -(s + c))
    scale = builder.unary("sqrt", _TWO_OVER_PI / a)
    return cosine * scale, sine * scale / a, *phase


def _near_first_kind(builder, x, order):
    """J(x) for ``|x| <= 8``, to a float64's size."""
    square = x * x
    found = polynomial(builder, builder.fma(square, 1 / 32, -1.0), (full.J0, full.J1)[order])
    if order:
        return found * x
    tiny = builder.fma(builder.fma(square, 1 / 64, -0.25), square, 1.0)  # and 1 at 0
    return builder.select(square < 2.0**-16, tiny, found)


def _first_kind(builder, x, scalar, order):
    a = abs(x)
    if scalar == "f64":
        near = _near_first_kind(builder, x, order)
    else:
        square = x * x
        near = polynomial(builder, builder.fma(square, 1 / 32, -1.0), (short.J0_NEAR, short.J1_NEAR)[order]["f32"])
        for zero in (short.J0_ZEROS, short.J1_ZEROS)[order]:
            near = near * (square - zero * zero)
        near = near * x if order else near

    def far():
        cosine, sine, c, s = _waves(builder, a, order)
        found = builder.fma(cosine, c, -(sine * s))
        found = builder.select(a < math.inf, found, 0.0)
        return builder.select(x < 0.0, -found, found) if order else found

    return _where_far(builder, a > 8.0, far, near)


def _second_kind(builder, x, order):
    a = abs(x)
    first = _near_first_kind(builder, a, order)
    near = polynomial(builder, builder.fma(a * a, 1 / 32, -1.0), (full.Y0, full.Y1)[order])
    if order == 0:
        near = builder.fma(log(builder, a) * _TWO_OVER_PI, first, near)
    else:
        near = builder.fma(near, a, builder.fma(log(builder, a), first, -1.0 / a) * _TWO_OVER_PI)

    def far():
        cosine, sine, c, s = _waves(builder, a, order)
        return builder.select(a < math.inf, builder.fma(cosine, s, sine * c), 0.0)

    return _of_positive(builder, x, _where_far(builder, a > 8.0, far, near), -math.inf)


@in_double_to_its_own_accuracy
def bessel_j0(builder, x, scalar):
    return _first_kind(builder, x, scalar, 0)


@in_double_to_its_own_accuracy
def bessel_j1(builder, x, scalar):
    return _first_kind(builder, x, scalar, 1)


@in_double
def bessel_y0(builder, x):
    return _second_kind(builder, x, 0)


@in_double
def bessel_y1(builder, x):
    return _second_kind(builder, x, 1)


@in_double
def spherical_bessel_j0(builder, x):
    """``sin(x) / x``."""
    found = builder.select(x.equals(0.0), 1.0, sin(builder, x) / x)
    return builder.select(abs(x).equals(math.inf), 0.0, found)
