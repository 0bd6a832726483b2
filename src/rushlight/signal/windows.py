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
from collections.abc import Sequence
from typing import Any

from ..base import dtypes
from ..base.device import DeviceLike, strided
from ..base.dtypes import DType
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def _check(name, M, dtype, layout):
    if M < 0:
        raise ValueError(hinted(f"{name} requires non-negative window length, got M={M}", "a length is 0 or more"))
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(
            hinted(f"{name} expects float32 or float64 dtypes, got: {dtype!r}", "convert the window afterwards")
        )


def _steps(M, sym):
    """How many steps a window takes until it comes back to its first value."""
    return M - 1 if sym or M < 2 else M


def _line(M, first, step, dtype, device, requires_grad):
    """``first * step``, ``(first + 1) * step``, ...: M numbers; windows are computed in their dtype, as in PyTorch."""
    return functions.linspace(
        first * step, (first + (M - 1)) * step, M, dtype=dtype, device=device, requires_grad=requires_grad
    )


def _ones(M, dtype, device, requires_grad):
    """The window of no value or of one."""
    return functions.ones(M, dtype=dtype, device=device, requires_grad=requires_grad)


def _exp(t):
    """The exponential, rounded once: PyTorch's in float32 is nearly always that."""
    return t.double().exp().to(t.dtype)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|t - center| / tau)``; the center is the middle, and can be given only where ``sym`` is False."""
    _check("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    center = _steps(M, sym) / 2 if center is None else center
    return _exp(-_line(M, -center, 1 / tau, dtype, device, requires_grad).abs())


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """One half wave of a sine, sampled between its zeros."""
    _check("cosine", M, dtype, layout)
    return _line(M, 0.5, math.pi / (_steps(max(M, 1), sym) + 1), dtype, device, requires_grad).sin()


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """The bell curve of standard deviation ``std`` around the middle."""
    _check("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    t = _line(M, -_steps(M, sym) / 2, 1 / (std * math.sqrt(2)), dtype, device, requires_grad)
    return _exp(-(t**2))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Kaiser's window: a larger ``beta`` makes it narrower."""
    _check("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _ones(M, dtype, device, requires_grad)
    width = functions.full((), beta, dtype=dtype or dtypes.get_default_dtype())
    step = 2.0 * width / _steps(M, sym)
    last = functions.minimum(width, (M - 1) * step - width)  # not beyond: rounding could take it there
    t = functions.linspace(
        -width.item(), last.item(), M, dtype=dtype, device=device, requires_grad=requires_grad
    )  # fmt: skip
    return (width * width - t**2).sqrt().i0() / width.i0()


def general_cosine(
    M: Any,
    *,
    a: Sequence[float],
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of ``(-1) ** i * a[i] * cos(i * angle)`` over one turn of the angle."""
    _check("general_cosine", M, dtype, layout)
    if M < 2:
        return _ones(M, dtype, device, requires_grad)
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    angle = _line(M, 0, 2 * math.pi / _steps(M, sym), dtype, device, requires_grad)
    window: Any = a[0]
    sign = -1
    for i, coefficient in enumerate(a[1:], 1):
        window = window + (angle if i == 1 else i * angle).cos() * (sign * coefficient)
        sign = -sign
    return window if len(a) > 1 else angle * 0 + window


def general_hamming(
    M: Any,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) * cos``."""
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hamming's window: 0.54 - 0.46 cos."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Hann's window: one wave of a raised cosine."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Blackman's window: 0.42 - 0.5 cos + 0.08 cos of twice the angle."""
    _check("blackman", M, dtype, layout)
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's minimal four-term window."""
    coefficients = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(
        M, a=coefficients, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: Any = strided,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle from 0 to 1 and back."""
    _check("bartlett", M, dtype, layout)
    if M < 2:
        return _ones(M, dtype, device, requires_grad)
    step = 2 / _steps(M, sym)
    t = functions.linspace(-1, (M - 1) * step - 1, M, dtype=dtype, device=device, requires_grad=requires_grad)
    return 1 - t.abs()
