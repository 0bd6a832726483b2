"""How gamma and Dirichlet numbers follow their parameters: derivatives at a fixed value of the distribution function.

A number x of distribution function F(x; a) and density f moves with its parameter by ``-(dF/da) / f``, as if it were drawn by
inverting F. dF/da is an integral of ``f(t) (log t - m)`` over all t below x, or less that over all t above it; m is the mean of
``log t``. On the side where log t stays on one side of m, nothing cancels. In the logarithm of t (gamma) or its log-odds
(beta), ``f(t) dt`` is the exponential of a concave function: it is summed by Gauss and Legendre's rule up to where it has
fallen by exp(-RANGE). Near 0, and near 1 for beta numbers, power series take its place. After Figurnov et al., "Implicit
reparameterization gradients" (2018); results are right to about 1e-6.
"""

import numpy as np

from .special_gamma import digamma

RANGE = 26.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


def _integral(parts, slope, length):
    """The integral from 0 to infinity of ``exp(-fall) factor``, where ``parts(u)`` gives both at u.

    ``fall`` is convex, 0 at 0, of derivative ``slope``, and at ``length`` at least RANGE; Newton's method comes closer to
    that from there, without passing it. The logarithms in both change over lengths of about 1 next to the start, and may go on
    for much longer: panels grow by a factor.
    """
    for _ in range(4):
        length = length - np.maximum(parts(length)[0] - RANGE, 0) / slope(length)
    found, start, size = np.zeros_like(length), np.zeros_like(length), 6.0
    while True:
        width = np.minimum(length, size) - start
        for node, weight in zip(_NODES, _WEIGHTS):
            fall, factor = parts(start + node * width)
            found += weight * width * np.exp(-fall) * factor
        if (length <= size).all():
            return found
        start, size = np.minimum(length, size), 8 * size


def _prepared(*parameters):
    """The shape of the result, NaN for its elements, and the parameters in float64, all flat."""
    parameters = np.broadcast_arrays(*parameters)
    flat = [np.ravel(part).astype(np.float64, copy=False) for part in parameters]
    return parameters[0].shape, np.full(flat[0].shape, np.nan), flat


# ---------------------------------------------------------------- gamma


def _gamma_series(a, x):
    """For small x: the terms of ``F / f = x / a (1 + x / (a + 1) (1 + ...))``, each by its own mean of the logarithm."""
    log, term, psi = np.log(x), x / a, digamma(a + 1)
    found = np.zeros_like(x)
    for n in range(1, 24):
        found += term * (psi - log)
        psi = psi + 1 / (a + n)
        term = term * x / (a + n)
    return found


def _gamma_below(a, x):
    """From the numbers below x, which lies below the mean of the logarithm: t = x exp(-u)."""
    apart = digamma(a) - np.log(x)
    with np.errstate(all="ignore"):
        length = np.fmin((RANGE + x) / a, np.where(x > 3 * RANGE, np.sqrt(3 * RANGE / x), np.inf))
    return x * _integral(lambda u: (a * u + x * np.expm1(-u), apart + u), lambda u: a - x * np.exp(-u), length)


def _gamma_above(a, x):
    """From the numbers above: t = x exp(u)."""
    apart = np.log(x) - digamma(a)
    length = (1 + np.sqrt(1 + 2 * RANGE * x)) / x
    return x * _integral(lambda u: (x * np.expm1(u) - a * u, apart + u), lambda u: x * np.exp(u) - a, length)


def standard_gamma_grad(alpha, value):
    """The derivative by ``alpha`` of gamma numbers ``value`` of this shape and scale 1, in float64."""
    shape, found, (alpha, value) = _prepared(alpha, value)
    valid = (alpha > 0) & (value >= 0) & np.isfinite(alpha) & np.isfinite(value)
    small = valid & (value < 0.8)
    below = valid & ~small
    below[below] = np.log(value[below]) < digamma(alpha[below])
    above = valid & ~small & ~below
    found[valid & (value == 0)] = 0
    for place, formula in ((small & (value > 0), _gamma_series), (below, _gamma_below), (above, _gamma_above)):
        if place.any():
            found[place] = formula(alpha[place], value[place])
    return found.reshape(shape)


# ---------------------------------------------------------------- beta, as one share of a Dirichlet vector; all over 1 - x


_LIMIT, _TERMS = 0.5, 44  # series run where their ratio stays below the first


def _beta_low_series(x, a, b):
    """For small x: ``F = x^a / B (1 / a + (1 - b) x / (a + 1) + ...)`` and its derivative, term by term."""
    total, moved, coefficient = np.zeros_like(x), np.zeros_like(x), np.ones_like(x)
    for n in range(_TERMS):
        total += coefficient / (a + n)
        moved += coefficient / (a + n) ** 2
        coefficient = coefficient * (n + 1 - b) * x / (n + 1)
    apart = np.log(x) - digamma(a) + digamma(a + b)
    return x * np.exp(-b * np.log1p(-x)) * (moved - total * apart)


def _beta_high_series(x, a, b):
    """For x near 1: the same of ``1 - F`` in powers of ``1 - x``, whose coefficients depend on a."""
    rest, total, moved = 1 - x, np.zeros_like(x), np.zeros_like(x)
    coefficient, slope = np.ones_like(x), np.zeros_like(x)
    for n in range(_TERMS):
        total += coefficient / (b + n)
        moved += slope / (b + n)
        slope = (slope * (n + 1 - a) - coefficient) * rest / (n + 1)
        coefficient = coefficient * (n + 1 - a) * rest / (n + 1)
    mean = digamma(a) - digamma(a + b)
    return np.exp((1 - a) * np.log(x)) * (moved - total * mean)


def _beta_side(x, a, b, sign):
    """From the numbers on one side, in steps u of the log-odds: ``sign`` is 1 above and -1 below."""
    log, log_rest, mean = np.log(x), np.log1p(-x), digamma(a) - digamma(a + b)
    start = log - log_rest

    def parts(u):
        odds = start + sign * u
        log_share = np.minimum(odds, 0) - np.log1p(np.exp(-np.abs(odds)))
        return a * (log - log_share) + b * (log_rest - log_share + odds), sign * (log_share - mean)

    def slope(u):
        rest = 1 / (1 + np.exp(np.minimum(start + sign * u, 700)))
        return sign * (b - (a + b) * rest)

    length = np.full_like(x, 1.0)
    while (short := parts(length)[0] < RANGE).any():
        length = np.where(short, 4 * length, length)
    return x * _integral(parts, slope, length)


def dirichlet_grad(value, alpha, total):
    """How a share ``value`` moves with its concentration ``alpha`` when the others stay, over ``1 - value``, in float64.

    ``total`` is the sum of all concentrations: the share by itself is a beta number of ``alpha`` and ``total - alpha``.
    """
    shape, found, (x, a, total) = _prepared(value, alpha, total)
    b = total - a
    found[x == 0] = 0
    valid = (x > 0) & (x <= 1) & (a > 0) & (b > 0) & np.isfinite(total)
    low = valid & (x * np.maximum(b, 1) <= _LIMIT)
    high = valid & ~low & ((1 - x) * np.maximum(a, 1) <= _LIMIT)
    middle = valid & ~low & ~high
    below = middle.copy()
    below[middle] = np.log(x[middle]) < digamma(a[middle]) - digamma(total[middle])
    for place, formula in (
        (low, _beta_low_series),
        (high, _beta_high_series),
        (below, lambda *parts: _beta_side(*parts, -1.0)),
        (middle & ~below, lambda *parts: _beta_side(*parts, 1.0)),
    ):
        if place.any():
            found[place] = formula(x[place], a[place], b[place])
    return found.reshape(shape)
