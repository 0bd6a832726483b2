"""Bessel and Airy functions on NumPy arrays."""

import math

import numpy as np

from . import bessel_polynomials as polynomials
from .special_math import in_float64, piecewise, polynomial

_TWO_OVER_PI = 2 / math.pi


def _i0e_right(x):
    return piecewise(
        x,
        ~(x > 8),
        lambda y: polynomial(polynomials.I0_SMALL, y / 4 - 1),
        lambda y: polynomial(polynomials.I0_LARGE, 16 / y - 1) / np.sqrt(y),
    )


def _i1e_right(x):
    return piecewise(
        x,
        ~(x > 8),
        lambda y: y * polynomial(polynomials.I1_SMALL, y / 4 - 1),
        lambda y: polynomial(polynomials.I1_LARGE, 16 / y - 1) / np.sqrt(y),
    )


def _grown(size, scaled):
    """``exp(size) * scaled`` where the power alone would be infinite, too."""
    root = np.exp(size / 2)
    return root * scaled * root


def _mirrored(found, x):
    """An odd function's values from those on the right; PyTorch's have 0 at -0."""
    return np.where(x < 0, -found, found)


@in_float64
def i0e(x):
    """``exp(-|x|)`` times the modified Bessel function of order 0."""
    return _i0e_right(np.abs(x))


@in_float64
def i0(x):
    """The modified Bessel function of the first kind, order 0."""
    size = np.abs(x)
    return np.where(size == np.inf, np.inf, _grown(size, _i0e_right(size)))


@in_float64
def i1e(x):
    """``exp(-|x|)`` times the modified Bessel function of order 1."""
    return _mirrored(_i1e_right(np.abs(x)), x)


@in_float64
def i1(x):
    """The modified Bessel function of the first kind, order 1."""
    size = np.abs(x)
    return _mirrored(np.where(size == np.inf, np.inf, _grown(size, _i1e_right(size))), x)


def _waves(x, order):
    """The cosine's and the sine's amplitude and the phase of J and Y of large x."""
    t = 128 / (x * x) - 1
    cosine, sine = (
        (polynomial(polynomials.P0, t), polynomial(polynomials.Q0, t))
        if order == 0
        else (polynomial(polynomials.P1, t), polynomial(polynomials.Q1, t))
    )
    # cos and sin of x - pi/4 (order 0) or x - 3 pi/4 (order 1), without rounding the difference.
    c, s, root = np.cos(x), np.sin(x), math.sqrt(0.5)
    phase = (root * (c + s), root * (s - c)) if order == 0 else (root * (s - c), -root * (s + c))
    scale = np.sqrt(_TWO_OVER_PI / x)
    return cosine * scale, sine * scale / x, *phase


def _first_kind(x, order):
    cosine, sine, c, s = _waves(x, order)
    return np.where(np.isinf(x), 0.0, cosine * c - sine * s)


def _second_kind(x, order):
    cosine, sine, c, s = _waves(x, order)
    return np.where(np.isinf(x), 0.0, cosine * s + sine * c)


def _j0_small(x):
    square = x * x
    tiny = 1 - square * (1 / 4 - square / 64)  # and 1 at 0
    return np.where(square < 2**-16, tiny, polynomial(polynomials.J0, square / 32 - 1))


def _j1_small(x):
    return x * polynomial(polynomials.J1, x * x / 32 - 1)


@in_float64
def bessel_j0(x):
    """The Bessel function of the first kind, order 0."""
    size = np.abs(x)
    return piecewise(size, ~(size > 8), _j0_small, lambda y: _first_kind(y, 0))


@in_float64
def bessel_j1(x):
    """The Bessel function of the first kind, order 1."""
    size = np.abs(x)
    return np.copysign(1.0, x) * piecewise(size, ~(size > 8), _j1_small, lambda y: _first_kind(y, 1))


def _of_positive(x, found, at_zero):
    """``found`` for x > 0; the limit at zero; nan below."""
    return np.where(x == 0, at_zero, np.where(x < 0, np.nan, found))


@in_float64
def bessel_y0(x):
    """The Bessel function of the second kind, order 0: -inf at 0, nan below."""

    def small(y):
        return polynomial(polynomials.Y0, y * y / 32 - 1) + _TWO_OVER_PI * np.log(y) * _j0_small(y)

    return _of_positive(x, piecewise(np.abs(x), ~(np.abs(x) > 8), small, lambda y: _second_kind(y, 0)), -np.inf)


@in_float64
def bessel_y1(x):
    """The Bessel function of the second kind, order 1: -inf at 0, nan below."""

    def small(y):
        return y * polynomial(polynomials.Y1, y * y / 32 - 1) + _TWO_OVER_PI * (np.log(y) * _j1_small(y) - 1 / y)

    return _of_positive(x, piecewise(np.abs(x), ~(np.abs(x) > 8), small, lambda y: _second_kind(y, 1)), -np.inf)


def _k_scaled(x, order):
    """``exp(x) K(x)`` for x > 0."""
    if order == 0:
        small = lambda y: (
            np.exp(y) * (polynomial(polynomials.K0_SMALL, y * y / 2 - 1) - np.log(y / 2) * np.exp(y) * _i0e_right(y))
        )
        large = polynomials.K0_LARGE
    else:
        small = lambda y: (
            np.exp(y)
            * (y * polynomial(polynomials.K1_SMALL, y * y / 2 - 1) + np.log(y / 2) * np.exp(y) * _i1e_right(y) + 1 / y)
        )
        large = polynomials.K1_LARGE
    return piecewise(x, ~(x > 2), small, lambda y: polynomial(large, 4 / y - 1) / np.sqrt(y))


@in_float64
def modified_bessel_k0(x):
    """The modified Bessel function of the second kind, order 0: inf at 0, nan below."""
    return _of_positive(x, np.exp(-x) * _k_scaled(np.abs(x), 0), np.inf)


@in_float64
def modified_bessel_k1(x):
    """The modified Bessel function of the second kind, order 1: inf at 0, nan below."""
    return _of_positive(x, np.exp(-x) * _k_scaled(np.abs(x), 1), np.inf)


@in_float64
def scaled_modified_bessel_k0(x):
    """``exp(x)`` times the modified Bessel function of the second kind, order 0."""
    return _of_positive(x, _k_scaled(np.abs(x), 0), np.inf)


@in_float64
def scaled_modified_bessel_k1(x):
    """``exp(x)`` times the modified Bessel function of the second kind, order 1."""
    return _of_positive(x, _k_scaled(np.abs(x), 1), np.inf)


@in_float64
def spherical_bessel_j0(x):
    """``sin(x) / x``, 1 at zero."""
    return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)))


def _airy_right(x):
    z = x * np.sqrt(x) * (2 / 3)
    limit = 2 / 3 * 2**1.5  # z at x = 2
    found = (
        np.exp(-z)
        * polynomial(polynomials.AIRY_LARGE, 2 * limit / z - 1)
        / (2 * math.sqrt(math.pi) * np.sqrt(np.sqrt(x)))
    )
    return np.where(np.isinf(x), 0.0, found)


def _airy_left(x):
    x = -x
    z = x * np.sqrt(x) * (2 / 3)
    limit = 2 / 3 * 4**1.5  # z at x = 4
    t = 2 * (limit / z) ** 2 - 1
    angle = z + math.pi / 4
    found = np.sin(angle) * polynomial(polynomials.AIRY_P, t) - np.cos(angle) * polynomial(polynomials.AIRY_Q, t) / z
    return np.where(np.isinf(x), np.nan, found / (math.sqrt(math.pi) * np.sqrt(np.sqrt(x))))


@in_float64
def airy_ai(x):
    """The Airy function Ai."""
    return piecewise(
        x,
        x >= 2,
        _airy_right,
        lambda y: piecewise(y, ~(y < -4), lambda v: polynomial(polynomials.AIRY_MIDDLE, v / 4), _airy_left),
    )
