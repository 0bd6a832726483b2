"""float64 functions whose last bit is the C library's, and a fused multiply-add: what PyTorch's scalar loops use."""

from __future__ import annotations

import math

import numpy as np

_SPLITTER = 134217729.0  # 2**27 + 1 cuts a float64 into two halves of 26 bits (Veltkamp)


def elementwise(function, values):
    """``function`` of the ``math`` module over a flat float64 array.

    NumPy's own log, log1p, exp and tan are vectorised and differ from the C library's in the last bit of a few per
    cent of arguments. Where a float64 result is promised, that bit counts; float32 results never show it.
    """
    return np.fromiter(map(function, values.tolist()), np.float64, values.size)


def sin_cos(angles):
    """Sine and cosine of a float64 array by the C library's complex exponential, whose bits NumPy's own do not have."""
    turns = np.zeros(angles.shape, np.complex128)
    turns.imag = angles
    np.exp(turns, turns)
    return turns.imag, turns.real


def scale_and_shift(values, scale, shift):
    """``values * scale + shift`` with one rounding, as a fused multiply-add; ``values`` a float or a float64 array.

    Products and sums are carried with their rounding errors (Dekker's product, Knuth's sum).
    """
    if shift == 0.0 or scale == 1.0:
        return values * scale + shift
    if not (abs(scale) < 1e150 and abs(shift) < 1e150):
        return values * scale + shift
    product = values * scale
    high, low = _halves(values)
    scale_high, scale_low = _halves(scale)
    product_error = ((high * scale_high - product) + high * scale_low + low * scale_high) + low * scale_low
    total = product + shift
    shift_part = total - product
    total_error = (product - (total - shift_part)) + (shift - shift_part)
    return total + (total_error + product_error)


def _halves(value):
    spread = value * _SPLITTER
    high = spread - (spread - value)
    return high, value - high


def minus_log_of_rest(uniforms, exact):
    """``log(1 - u)`` by log1p; ``exact`` asks for the C library's last bit, at 40 ns an element instead of one."""
    return elementwise(math.log1p, np.negative(uniforms)) if exact else np.log1p(np.negative(uniforms))
