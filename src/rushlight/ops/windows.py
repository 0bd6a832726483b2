"""Window functions: weights that fade a stretch of a signal in and out."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .table import CREATE, op


def _window(name, length, periodic, dtype, formula):
    """``formula(t, steps)`` at the integers t; a periodic window is the symmetric one of one more value, without the
    last."""
    if length < 0:
        raise RuntimeError(
            hinted(f"{name} requires non-negative window_length, got window_length={length}", "a length is 0 or more")
        )
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if kind.category < dtypes.FLOATING:
        raise RuntimeError(hinted(f"{name} expects floating point dtypes, got: {kind!r}", "windows are fractions"))
    if length < 2:
        return np.ones(length, kind.numpy)
    steps = length if periodic else length - 1
    return np.asarray(formula(np.arange(length, dtype=np.float64), steps)).astype(kind.numpy)


def cosines(coefficients):
    """The formula of a sum of cosines with alternating signs."""

    def formula(t, steps):
        angle = 2 * np.pi * t / steps
        return sum((-1) ** i * c * np.cos(i * angle) for i, c in enumerate(coefficients))

    return formula


def kaiser(beta):
    """The formula of Kaiser's window: the Bessel function I0 of a half circle."""
    return lambda t, steps: np.i0(beta * np.sqrt(np.maximum(1 - np.square(2 * t / steps - 1), 0))) / np.i0(beta)


def half_sine(t, steps):
    """One half wave, sampled between its zeros."""
    return np.sin(np.pi * (t + 0.5) / (steps + 1))


def _triangle(t, steps):
    return 1 - np.abs(2 * t / steps - 1)


@op(
    "bartlett_window(int window_length, bool periodic=True, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch",),
)
class bartlett_window:
    """A triangle from 0 to 1 and back; with ``periodic`` (the default) to be repeated, else symmetric."""

    def forward(window_length, periodic, dtype):
        return _window("bartlett_window", window_length, periodic, dtype, _triangle)


@op("hann_window(int window_length, bool periodic=True, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=("torch",))
class hann_window:
    """Hann's window: one wave of a raised cosine.

    >>> import rushlight as torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def forward(window_length, periodic, dtype):
        return _window("hann_window", window_length, periodic, dtype, cosines((0.5, 0.5)))


@op(
    "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, dtype? dtype=None) "
    "-> Tensor",
    kind=CREATE,
    names=("torch",),
)
class hamming_window:
    """Hamming's window: ``alpha - beta * cos``."""

    def forward(window_length, periodic, alpha, beta, dtype):
        return _window("hamming_window", window_length, periodic, dtype, cosines((alpha, beta)))


@op(
    "blackman_window(int window_length, bool periodic=True, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch",),
)
class blackman_window:
    """Blackman's window: 0.42 - 0.5 cos + 0.08 cos of twice the angle."""

    def forward(window_length, periodic, dtype):
        return _window("blackman_window", window_length, periodic, dtype, cosines((0.42, 0.5, 0.08)))


@op(
    "kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch",),
)
class kaiser_window:
    """Kaiser's window; a larger ``beta`` makes it narrower."""

    def forward(window_length, periodic, beta, dtype):
        return _window("kaiser_window", window_length, periodic, dtype, kaiser(beta))


@op("signal_window(int M, any formula, bool sym, *, dtype? dtype=None) -> Tensor", kind=CREATE, names=())
class signal_window:
    """The window of any ``formula(t, steps)``, for `torch.signal.windows`."""

    def forward(M, formula, sym, dtype):
        return _window("window", M, not sym, dtype, formula)
