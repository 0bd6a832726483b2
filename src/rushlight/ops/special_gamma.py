"""The gamma function's family on NumPy arrays: log-gamma, digamma, Hurwitz zeta, incomplete gamma functions."""

import functools
import math

import numpy as np

from .special_math import erfc, in_float64, piecewise, polynomial

# lgamma(2 + z) / z, for |z| <= 0.5, as a polynomial in 2 z.
_LGAMMA = (
    0.42278433509846713, 0.1612335167120566, -0.016838075263299536, 0.0025726010534730713, -0.0004615969392917596,
    9.032844783558553e-05, -1.863677987501598e-05, 3.981793163166481e-06, -8.716982450984518e-07,
    1.942529474587772e-07, -4.387338974983724e-08, 1.0013314167996967e-08, -2.3043112100202176e-09,
    5.339813130999916e-10, -1.2481202067269968e-10, 2.923176066319201e-11, -6.566709534240663e-12,
    1.5491338158886129e-12, -5.116584685713687e-13, 1.2167067542304562e-13,
)  # fmt: skip

# Bernoulli numbers B(2k), k = 1, 2, ...: the coefficients of every asymptotic series here.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
_STIRLING = tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1))
_DIGAMMA = tuple(-b / (2 * k) for k, b in enumerate(_BERNOULLI, 1))
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def sine_of_pi(x):
    """``sin(pi x)``, exactly 0 at integers."""
    rest = x - 2 * np.rint(x / 2)
    rest = np.where(rest > 0.5, 1 - rest, np.where(rest < -0.5, -1 - rest, rest))
    return np.sin(math.pi * rest)


def _lgamma_small(x):
    """For 0 < x < 9: stepped down to [1.5, 2.5], or up from below."""
    z, product = x.copy(), np.ones_like(x)
    for _ in range(7):
        high = z > 2.5
        if not high.any():
            break
        z -= high
        product = np.where(high, product * z, product)
    shift = z < 0.5
    z = np.where(shift, z + 2, z)  # lgamma(x) = lgamma(x + 2) - log(x) - log1p(x)
    low = z < 1.5
    w = np.where(low, z - 1, z - 2)  # lgamma(1 + w) = lgamma(2 + w) - log1p(w)
    found = w * polynomial(_LGAMMA, 2 * w) - np.where(low, np.log1p(w), 0) + np.log(product)
    return np.where(shift, found - np.log(x) - np.log1p(x), found)


def _lgamma_large(x):
    inverse = 1 / x
    found = (
        (x - 0.5) * (np.log(x) - 1) - 0.5 + _HALF_LOG_TWO_PI + inverse * polynomial(_STIRLING[:8], inverse * inverse)
    )
    return np.where(x == np.inf, np.inf, found)


def _lgamma_right(x):
    return piecewise(x, x < 9, _lgamma_small, _lgamma_large)


def _lgamma64(x):
    def left(y):
        found = np.where(y > -1e-300, -np.log(-y), np.log(math.pi / np.abs(sine_of_pi(y)))) - _lgamma_right(1 - y)
        return np.where(y == np.floor(y), np.inf, found)

    return piecewise(x, ~(x <= 0), _lgamma_right, left)


lgamma = in_float64(_lgamma64)
lgamma.__doc__ = "The logarithm of the absolute value of the gamma function; inf at 0, -1, -2, ..."


def _digamma_right(x):
    """For x > 0: stepped up to 10, then the asymptotic series."""
    z, found = x.copy(), np.zeros_like(x)
    for _ in range(10):
        low = z < 10
        if not low.any():
            break
        found -= np.where(low, 1 / z, 0)
        z += low
    inverse = 1 / z
    square = inverse * inverse
    return found + np.log(z) - 0.5 * inverse + square * polynomial(_DIGAMMA[:8], square)


@in_float64
def digamma(x):
    """The derivative of log-gamma; nan at -1, -2, ..., minus infinity at 0."""

    def left(y):
        rest = y - np.rint(y)
        found = _digamma_right(1 - y) - math.pi / np.tan(math.pi * rest)
        return np.where(y == 0, np.copysign(np.inf, -y), np.where(rest == 0, np.nan, found))

    return piecewise(x, ~(x <= 0), _digamma_right, left)


def _zeta_right(s, q):
    """Hurwitz zeta for s > 1 and q > 0: Euler and Maclaurin's formula from the tenth term on, then the terms before, the largest last."""
    edge = q + 10
    found = edge ** (1 - s) / (s - 1) + 0.5 * edge**-s
    factor = s * edge ** (-s - 1)
    factorial = 2.0
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        found = found + bernoulli / factorial * factor
        factor = factor * (s + 2 * k - 1) * (s + 2 * k) / (edge * edge)
        factorial *= (2 * k + 1) * (2 * k + 2)
    found = np.where(np.isinf(edge), 0, found)
    for k in range(9, -1, -1):
        found += (q + k) ** -s
    return found


def zeta64(s, q):
    """Hurwitz zeta, the sum of ``(q + k)**-s`` over k = 0, 1, ..., of float64 arrays that broadcast."""
    s, q = np.broadcast_arrays(s, q)
    safe = np.where(s > 1, s, 2.0)
    floor = np.floor(q)
    offset = np.where(np.isinf(q), 0, q - floor)  # -infinity is a pole, as whole numbers are
    positive = np.where(q > 0, q, np.where(offset > 0, offset, 1.0))
    found = _zeta_right(safe, positive)
    left = (q < 0) & (offset > 0)
    if left.any():
        # The terms with a negative base are those of two other zeta functions, mirrored.
        mirrored = _zeta_right(safe, np.where(left, np.ceil(q) - q, 1.0)) - _zeta_right(
            safe, np.where(left, 1 - q, 1.0)
        )
        sign = np.where(np.floor(safe / 2) * 2 == safe, 1.0, -1.0)
        found = np.where(left, found + sign * mirrored, found)
        found = np.where(left & (safe != np.floor(safe)), np.nan, found)
    found = np.where(np.isnan(s) | np.isnan(q) | (q == np.inf), np.nan, found)
    found = np.where((q <= 0) & (offset == 0), np.inf, found)  # a pole of every order, NaN too
    found = np.where(s == np.inf, np.where(q == 1, 1.0, np.where(q < 1, np.inf, np.nan)), found)
    return np.where(s == 1, np.inf, np.where(s < 1, np.nan, found))


def zeta(s, q):
    """Hurwitz zeta in the dtype of its arguments."""
    s, q = np.asarray(s), np.asarray(q)
    return zeta64(s.astype(np.float64), q.astype(np.float64)).astype(s.dtype)


@in_float64
def trigamma(x):
    """The derivative of digamma; below 0.5 by reflection."""
    flipped = x < 0.5
    z = np.where(flipped, 1 - x, x)
    found = np.where(z == np.inf, 0, zeta64(np.full_like(z, 2.0), z))
    sine = np.where(flipped, sine_of_pi(x), 1.0)
    return np.where(flipped, (math.pi / sine) ** 2 - found, found)


def polygamma(n, x):
    """The n-th derivative of digamma."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return trigamma(x)
    wide = np.asarray(x).astype(np.float64)
    factor = math.gamma(n + 1) if n <= 170 else math.inf
    factor = factor if n % 2 else -factor
    return (factor * zeta64(np.full_like(wide, n + 1.0), wide)).astype(np.asarray(x).dtype)


def _gamma_front(a, x):
    """``x**a exp(-x) / gamma(1 + a)``, for larger a by Stirling's series: exponents of hundreds have no digits to lose, so they
    are computed with those of a long double, where the machine has one."""
    wide, inverse = x.astype(np.longdouble), 1 / np.maximum(a, 8)
    apart = (wide - a) / np.maximum(a, 8)
    series = inverse * polynomial(_STIRLING[:8], inverse * inverse)
    large = np.exp(a * (np.log1p(apart) - apart) - series) * np.sqrt(inverse / (2 * math.pi))
    return np.where(a < 8, np.exp(a * np.log(wide) - wide - _lgamma64(1 + a)), large).astype(np.float64)


def _lower_series(a, x):
    term = total = np.ones_like(a)
    for k in range(1, 2000):
        term = term * (x / (a + k))
        total = total + term
        if not (np.abs(term) > np.abs(total) * 1e-17).any():
            break
    return total * _gamma_front(a, x)


def _upper_fraction(a, x):
    """Lentz's evaluation of the continued fraction."""
    tiny = 1e-300
    b = x + 1 - a
    c = np.full_like(x, 1 / tiny)
    d = 1 / np.where(b == 0, tiny, b)
    found, moving = d, np.ones(x.shape, bool)
    for k in range(1, 2000):
        weight = -k * (k - a)
        b = b + 2
        d = weight * d + b
        c = b + weight / c
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = np.where(np.abs(c) < tiny, tiny, c)
        change = d * c
        found = np.where(moving, found * change, found)  # no further: every product rounds
        moving = moving & (np.abs(change - 1) > 4e-16)
        if not moving.any():
            break
    return found * a * _gamma_front(a, x)


def _upper_series(a, x):
    """Q(a, x) for small x, exact also where P is almost 1: from ``sum((-x)**n / (n! (a + n)))``."""
    total, power = np.zeros_like(x), np.ones_like(x)
    for n in range(1, 24):
        power = power * (-x / n)
        total = total + power / (a + n)
    # lgamma(1 + a) = lgamma(2 + a) - log1p(a)
    small = a * polynomial(_LGAMMA, 2 * np.minimum(a, 0.5)) - np.log1p(a)
    exponent = a * np.log(x) - np.where(a < 0.5, small, _lgamma64(1 + a))
    return -np.expm1(exponent) - a * np.exp(exponent) * total


@functools.cache
def _temme():
    """The coefficients of Temme's expansion: for each power of 1 / a a polynomial in eta (DLMF 8.12.10 to 8.12.13)."""
    orders, degrees = 12, 24
    count = degrees + 2 * orders + 2
    alpha = [0.0, 1.0]
    for k in range(2, count + 2):
        known = sum(j * alpha[j] * alpha[k - j + 1] for j in range(2, k))
        alpha.append((alpha[k - 1] - known) / (k + 1))
    first = [-1 / 3, *((k + 2) * alpha[k + 2] for k in range(1, count))]
    # The gamma function's coefficients in Stirling's series, from those of its logarithm.
    logs = [_STIRLING[n // 2] if n % 2 else 0.0 for n in range(orders + 1)]
    stirling = [1.0]
    for n in range(1, orders + 1):
        stirling.append(sum(k * logs[k] * stirling[n - k] for k in range(1, n + 1)) / n)
    rows = [first]
    for n in range(1, orders + 1):
        last, factor = rows[-1], (-1) ** n * stirling[n]
        rows.append([factor * first[k] + (k + 2) * last[k + 2] for k in range(len(last) - 2)])
    return [tuple(row[:degrees]) for row in rows]


def _uniform(a, x, upper):
    """Both functions for large a and x near it: half an error function, and what is left of it by powers of 1 / a."""
    apart = (x.astype(np.longdouble) - a) / a
    gap = np.maximum(apart - np.log1p(apart), 0).astype(np.float64)
    eta = np.copysign(np.sqrt(2 * gap), x - a)
    rest = polynomial([polynomial(row, eta) for row in _temme()], 1 / a)
    rest = rest * np.exp(-a * gap) / np.sqrt(2 * math.pi * a)
    sign = 1 if upper else -1
    return 0.5 * erfc(sign * eta * np.sqrt(a / 2)) + sign * rest


def incomplete_gamma(a, x, upper):
    """The regularised incomplete gamma functions: the lower one P(a, x), or the upper one Q(a, x) = 1 - P(a, x)."""
    dtype = np.asarray(a).dtype
    a, x = np.broadcast_arrays(np.asarray(a).astype(np.float64), np.asarray(x).astype(np.float64))
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    near = inside & (a > 20) & (np.abs(x - a) < 0.3 * a)
    # Where P is nearer to 1 than to 0, about.
    small = inside & (x <= 1.1) & (a < np.where(x < 0.5, -0.4 / np.log(np.minimum(x, 0.5)), 1.1 * x)) & upper
    lower = inside & ~near & ~small & (x < a + 1)
    outer = inside & ~near & ~small & ~lower
    found = np.full(a.shape, np.nan)
    found[near] = _uniform(a[near], x[near], upper)
    found[small] = _upper_series(a[small], x[small])
    if lower.any():
        part = _lower_series(a[lower], x[lower])
        found[lower] = 1 - part if upper else part
    if outer.any():
        part = _upper_fraction(a[outer], x[outer])
        found[outer] = part if upper else 1 - part
    # At the ends, where one of the numbers may be NaN.
    positive = ~(a <= 0)
    at_one = ((a == 0) & (x > 0)) | (positive & (a != np.inf) & (x == np.inf))  # where P is 1
    at_zero = (positive & (x == 0)) | ((a == np.inf) & ~(x < 0) & (x != np.inf))
    found = np.where(at_one, 0.0 if upper else 1.0, np.where(at_zero, 1.0 if upper else 0.0, found))
    return found.astype(dtype)
