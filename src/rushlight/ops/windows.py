"""Window functions: weights that fade a stretch of a signal in and out."""

import math

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .moving import progression
from .table import CREATE, functions, op


def _window(name, length, periodic, dtype, formula):
    """The array of ``formula(t, steps)`` at t = 0, 1, ..., a Tensor that may be written into.

    As in PyTorch, the places are counted and all is computed in the window's own dtype. A periodic window is the
    symmetric one of one more value, without the last.
    """
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
    places = progression(np.empty(length, kind.numpy), 0, 1, np.float64)
    return formula(functions.wrap(places), steps)._array


def _raised_cosine(alpha, beta):
    return lambda t, steps: t.mul_(2 * math.pi / steps).cos_().mul_(-beta).add_(alpha)


def _two_cosines(t, steps):
    t = t.mul_(math.pi / steps)
    return t.mul(4).cos_().mul_(0.08).sub_(t.mul_(2).cos_().mul_(0.5)).add_(0.42)


def _triangle(t, steps):
    half = steps // 2 + 1
    t.mul_(2 / steps)[half:].mul_(-1).add_(2)
    return t


def _kaiser(beta):
    """The formula of Kaiser's window, the Bessel function I0 of a half circle: of half precision in float32, as a whole."""

    def formula(t, steps):
        kind = t.dtype
        t = t.float() if kind.itemsize == 2 else t
        middle, width = (functions.full((), number, dtype=t.dtype, device=t.device) for number in (steps / 2, beta))
        circle = t.sub_(middle).div_(middle).square_().neg_().add_(1).clamp_(0).sqrt_().mul_(width)
        return circle.i0_().div_(width.i0_()).to(kind)

    return formula


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
        return _window("hann_window", window_length, periodic, dtype, _raised_cosine(0.5, 0.5))


@op(
    "hamming_window(int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, dtype? dtype=None) "
    "-> Tensor",
    kind=CREATE,
    names=("torch",),
)
class hamming_window:
    """Hamming's window: ``alpha - beta * cos``."""

    def forward(window_length, periodic, alpha, beta, dtype):
        return _window("hamming_window", window_length, periodic, dtype, _raised_cosine(alpha, beta))


@op(
    "blackman_window(int window_length, bool periodic=True, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch",),
)
class blackman_window:
    """Blackman's window: 0.42 - 0.5 cos + 0.08 cos of twice the angle."""

    def forward(window_length, periodic, dtype):
        return _window("blackman_window", window_length, periodic, dtype, _two_cosines)


@op(
    "kaiser_window(int window_length, bool periodic=True, float beta=12.0, *, dtype? dtype=None) -> Tensor",
    kind=CREATE,
    names=("torch",),
)
class kaiser_window:
    """Kaiser's window; a larger ``beta`` makes it narrower."""

    def forward(window_length, periodic, beta, dtype):
        return _window("kaiser_window", window_length, periodic, dtype, _kaiser(beta))
