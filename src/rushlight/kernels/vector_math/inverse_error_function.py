"""erfinv, ndtri and erfcx, computed in float64."""

from __future__ import annotations

import math

from .coefficients import ERFCX_RIGHT, ERFINV_FAR, ERFINV_LAST, ERFINV_MIDDLE, ERFINV_NEAR
from .exponential import exp
from .formats import in_double_to_its_own_accuracy, polynomial, with_sign
from .logarithm import log_in_double


def _ratio(builder, w, scalar):
    """``erfinv(x) / x`` where ``w = -log(1 - x * x)``: a polynomial in w, beyond 5 others in its root."""
    near = polynomial(builder, w - 2.5, ERFINV_NEAR[scalar])
    pieces = [(5.0, 3.125, ERFINV_MIDDLE), (16.0, 7.0, ERFINV_FAR)]
    if scalar == "f64":  # such numbers are 0 in float32
        pieces.append((110.0, 19.0, ERFINV_LAST))

    def beyond(found, pieces):
        """``found``, replaced from where the first piece begins."""
        if not pieces:
            return found
        (start, centre, table), *others = pieces
        here = w > start

        def replaced():
            value = polynomial(builder, builder.unary("sqrt", w) - centre, table[scalar])
            return [builder.select(here, beyond(value, others), found)]

        return builder.choose(builder.reduce(here, "or"), replaced, lambda: [found])[0]

    return beyond(near, pieces)


@in_double_to_its_own_accuracy
def erfinv(builder, x, scalar):
    a = abs(x)
    found = x * _ratio(builder, -log_in_double(builder, (1.0 - a) * (1.0 + a), scalar), scalar)
    return builder.select(a.equals(1.0), with_sign(builder, builder.constant(math.inf, x.type), x), found)


@in_double_to_its_own_accuracy
def ndtri(builder, p, scalar):
    """``sqrt(2) * erfinv(2 * p - 1)``, of which small p are not lost."""
    x = builder.fma(p, 2.0, -1.0)
    found = x * (_ratio(builder, -log_in_double(builder, 4.0 * p * (1.0 - p), scalar), scalar) * math.sqrt(2))
    edge = p.equals(0) | p.equals(1.0)
    return builder.select(edge, with_sign(builder, builder.constant(math.inf, x.type), x), found)


@in_double_to_its_own_accuracy
def erfcx(builder, x, scalar):
    """A polynomial in ``(a - 4) / (a + 4)`` over ``1 + 2 * a``; left of 0 that is taken from ``2 * exp(x * x)``."""
    a = abs(x)
    t = 1.0 - 8.0 / (a + 4.0)
    right = polynomial(builder, t, ERFCX_RIGHT[scalar]) / builder.fma(a, 2.0, 1.0)

    def left():
        bounded = builder.minimum(30.0, a)
        square = bounded * bounded
        power = exp(builder, square)
        power = builder.fma(power, builder.fma(bounded, bounded, -square), power)
        power = builder.select(square > 710.0, math.inf, power)
        return [builder.select(x < 0.0, power + power - right, right)]

    return builder.choose(builder.reduce(x < 0.0, "or"), left, lambda: [right])[0]
