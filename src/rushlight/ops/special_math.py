"""Special functions on NumPy arrays: the error functions and their inverses, exact to a few units in the last place.

Everything is computed in float64 and rounded to the dtype of the argument; `erf` has a float32 form of its own, since
activations are made of it. The polynomials are Chebyshev interpolants of the functions, made with 40 digits.
"""

import math

import numpy as np

_BLOCK = 32768  # elements computed at a time, so that intermediate arrays stay in the cache
_FEW = 24  # as many elements are sooner computed one by one
_ROOT2 = math.sqrt(2)
_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

# erf(x) / x, for |x| <= 1, as a polynomial in 2 x**2 - 1.
_ERF = (
    0.9654687386698673, -0.1405360890227171, 0.019852496688984218, -0.0022854855611440855, 0.00021751715603563488,
    -1.75371694412802e-05, 1.2233827638093572e-06, -7.51156925108609e-08, 4.115751500265885e-09,
    -2.035231956483527e-10, 9.21125018742823e-12, -3.80659122412214e-13,
)  # fmt: skip

# (1 + 2x) exp(x**2) erfc(x), for x >= 0, as a polynomial in (x - 3.75) / (x + 3.75).
_ERFCX = (
    1.2375126308378275, -0.14024059858554702, 0.003585415485463656, 0.08227673849015103, -0.10880393014170556,
    0.09230432116019804, -0.05869339859058929, 0.028362277421519668, -0.009746579547145438, 0.0017556258323895534,
    0.000293713591593492, -0.0002901539791322486, 5.1649421745236465e-05, 2.2383911531916976e-05,
    -1.144508983794941e-05, -9.728484952656482e-07, 1.7535246298697825e-06, -5.826439766695699e-08,
    -2.6125820988901525e-07, 2.429131177189471e-08, 4.107398937332565e-08, -4.390251943140879e-09,
    -6.606829477916605e-09, 5.460657473630792e-10, 9.234867707529155e-10, -3.7587308035623257e-11,
    -7.666209795998097e-11,
)  # fmt: skip

# -log(erfc(x)) / x for 0 <= x <= 3.95, to the accuracy of float32; as arrays, which NumPy takes faster than numbers.
_ERF_FLOAT32_END = np.array(3.95, np.float32)
_SIGN_BIT = np.array(-(1 << 31), np.int32)
_ERF_FLOAT32 = [np.array(value, np.float32) for value in (
    1.1283791716098892, 0.6366193820127402, 0.10277783010856018, -0.01915306245038701, -0.00016039873890305505,
    0.0016670301432135904, -0.0006328383354066606, 0.00011764169128720304, -9.256312807153876e-06,
)]  # fmt: skip


def polynomial(coefficients, x):
    """The value at ``x`` of a polynomial whose coefficients are listed from the constant upward."""
    found = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        found *= x
        found += coefficient
    return found


def in_float64(function):
    """``function`` of float64 arrays as one of arrays of any real dtype: computed in blocks, rounded to that dtype."""

    def call(x, *rest):
        x = np.asarray(x)
        flat = x.ravel()
        found = np.empty(flat.shape, x.dtype)
        for start in range(0, flat.size, _BLOCK):
            found[start : start + _BLOCK] = function(flat[start : start + _BLOCK].astype(np.float64), *rest)
        return found.reshape(x.shape)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


def piecewise(x, condition, inside, outside):
    """``inside(x)`` where the condition holds, ``outside(x)`` elsewhere: each is computed only where it is needed."""
    if condition.all():
        return inside(x)
    if not condition.any():
        return outside(x)
    found = np.empty_like(x)
    found[condition] = inside(x[condition])
    other = ~condition
    found[other] = outside(x[other])
    return found


def _erf_near_zero(x):
    return x * polynomial(_ERF, 2 * x * x - 1)


def _erfcx_right(x):
    """``exp(x**2) erfc(x)`` for x >= 0."""
    found = polynomial(_ERFCX, 1 - 7.5 / (x + 3.75)) / (2 * x + 1)
    return np.where(x == np.inf, 0.0, found)


def _gaussian(x):
    """``exp(-x**2)`` without the error that rounding the square would bring in: x is split in two."""
    high = x.astype(np.float32).astype(np.float64)
    found = np.exp(-high * high) * np.exp((high - x) * (high + x))
    return np.where(np.abs(x) > 28, 0.0, found)


def _erfc_right(x):
    return _gaussian(x) * _erfcx_right(x)


def _erf64(x):
    return piecewise(x, ~(np.abs(x) > 1), _erf_near_zero, lambda y: np.copysign(1 - _erfc_right(np.abs(y)), y))


def _erfc64(x):
    def far(y):
        found = _erfc_right(np.abs(y))
        return np.where(y < 0, 2 - found, found)

    return piecewise(x, np.abs(x) < 0.5, lambda y: 1 - _erf_near_zero(y), far)


def _erf32(x, out):
    """``1 - exp(-|x| p(|x|))`` with the sign of x, where p is a polynomial: 2 to 3 units in the last place."""
    size = np.minimum(np.abs(x), _ERF_FLOAT32_END)
    power = np.multiply(size, _ERF_FLOAT32[-1])
    for coefficient in _ERF_FLOAT32[-2::-1]:
        np.add(power, coefficient, power)
        np.multiply(power, size, power)
    np.negative(power, out=power)
    np.expm1(power, out=out)
    sign = np.bitwise_and(np.invert(x.view(np.int32)), _SIGN_BIT)
    bits = out.view(np.int32)
    np.bitwise_xor(bits, sign, bits)  # expm1 is negative here: copysign, which is slow


def erf(x):
    """The error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."""
    x = np.asarray(x)
    if x.size <= _FEW:
        return np.array([math.erf(value) for value in x.ravel().tolist()], x.dtype).reshape(x.shape)
    if x.dtype != np.float32:
        return _erf_wide(x)
    if x.size <= _BLOCK:
        found = np.empty(x.shape, x.dtype)
        _erf32(x, found)
        return found
    flat = x.ravel()
    found = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        _erf32(flat[start : start + _BLOCK], found[start : start + _BLOCK])
    return found.reshape(x.shape)


_erf_wide = in_float64(_erf64)
erfc = in_float64(_erfc64)
erfc.__doc__ = "The complementary error function ``1 - erf(x)``, without cancellation."


@in_float64
def erfcx(x):
    """The scaled complementary error function ``exp(x**2) erfc(x)``."""
    return piecewise(
        x,
        ~(x < 0),
        _erfcx_right,
        lambda y: np.where(y < -27, np.inf, 2 / np.maximum(_gaussian(y), 1e-320) - _erfcx_right(-y)),
    )


def _erfinv_start(log_term):
    """Winitzki's approximation of the inverse, to three digits, from ``log(1 - y**2)``."""
    half = log_term / 2 + 2 / (math.pi * 0.147)
    return np.sqrt(-log_term / 0.147 / (np.sqrt(half * half - log_term / 0.147) + half))


def _erfinv_center(y):
    """The inverse for |y| <= 0.5, by Halley's method."""
    x = np.copysign(_erfinv_start(np.log1p(-y * y)), y)
    for _ in range(2):
        step = (_erf_near_zero(x) - y) / (_TWO_OVER_ROOT_PI * np.exp(-x * x))
        x = x - step / (1 + x * step)
    return np.where(np.abs(y) < 1e-8, y / _TWO_OVER_ROOT_PI, x)


def erfc_inverse(q):
    """The x >= 0 with ``erfc(x) = q``, for 0 <= q <= 1: Newton's method on the logarithm."""
    log_q = np.log(q)
    x = _erfinv_start(log_q + np.log(2 - q))
    for _ in range(4):
        scaled = _erfcx_right(x)
        x = x + (np.log(scaled) - x * x - log_q) * scaled / _TWO_OVER_ROOT_PI
    return np.where(q == 0, np.inf, x)


@in_float64
def erfinv(y):
    """The inverse of the error function: inf at 1, -inf at -1, nan outside."""
    return piecewise(y, np.abs(y) <= 0.5, _erfinv_center, lambda v: np.copysign(erfc_inverse(1 - np.abs(v)), v))


@in_float64
def ndtri(p):
    """The quantile of the standard normal distribution: the x below which lies the share p."""

    def tail(share):
        nearer = np.minimum(share, 1 - share)
        return np.copysign(_ROOT2 * erfc_inverse(2 * nearer), share - 0.5)

    return piecewise(p, np.abs(p - 0.5) <= 0.25, lambda v: _ROOT2 * _erfinv_center(2 * v - 1), tail)
