"""``torch.signal.windows``: window functions of length M, symmetric unless ``sym`` is False.

All take ``dtype`` (float32 or float64; the default dtype where None), ``device`` and ``requires_grad``. With
``sym=False`` the
window is one period of a repeating one, as spectral analysis uses it.

>>> import rushlight as torch
>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math

from ..base import dtypes
from ..base.device import strided
from ..base.errors import hinted
from ..ops.table import functions
from ..ops.windows import cosines, half_sine
from ..ops.windows import kaiser as kaiser_formula

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _make(name, M, formula, sym, dtype, layout, device, requires_grad):
    if M < 0:
        raise ValueError(hinted(f"{name} requires non-negative window length, got M={M}", "a length is 0 or more"))
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(
            hinted(f"{name} expects float32 or float64 dtypes, got: {dtype!r}", "convert the window afterwards")
        )
    return functions.signal_window(M, formula, sym, dtype=dtype, device=device, requires_grad=requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """``exp(-|t - center| / tau)``; the center is the middle, and can be given only where ``sym`` is False."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def formula(t, steps):
        middle = steps / 2 if center is None else center
        return math.e ** (-abs(t - middle) / tau)

    return _make("exponential", M, formula, sym, dtype, layout, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """One half wave of a sine, sampled between its zeros."""
    return _make("cosine", M, half_sine, sym, dtype, layout, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The bell curve of standard deviation ``std`` around the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def formula(t, steps):
        return math.e ** (-(((t - steps / 2) / std) ** 2) / 2)

    return _make("gaussian", M, formula, sym, dtype, layout, device, requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Kaiser's window: a larger ``beta`` makes it narrower."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _make("kaiser", M, kaiser_formula(beta), sym, dtype, layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """The sum of ``(-1) ** i * a[i] * cos(i * angle)`` over one turn of the angle."""
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _make("general_cosine", M, cosines([float(c) for c in a]), sym, dtype, layout, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """``alpha - (1 - alpha) * cos``."""
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hamming(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Hamming's window: 0.54 - 0.46 cos."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Hann's window: one wave of a raised cosine."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Blackman's window: 0.42 - 0.5 cos + 0.08 cos of twice the angle."""
    return _make("blackman", M, cosines((0.42, 0.5, 0.08)), sym, dtype, layout, device, requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Nuttall's minimal four-term window."""
    coefficients = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(
        M, a=coefficients, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def bartlett(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A triangle from 0 to 1 and back."""
    return _make("bartlett", M, lambda t, steps: 1 - abs(2 * t / steps - 1), sym, dtype, layout, device, requires_grad)
