"""Softmin, Softmax, Softmax2d, LogSoftmax: numbers to distributions along a dimension."""

from __future__ import annotations

from ...base.errors import hinted
from ...tensor import Tensor
from .. import functional as F
from .activation import _Activation
from .module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class Softmin(_Activation):
    """Softmax of ``-x`` along ``dim``. Follows ``torch.nn.Softmin``.

    >>> import rushlight as torch
    >>> torch.nn.Softmin(dim=0)(torch.tensor([1.0, 2.0]))
    tensor([0.7311, 0.2689])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_Activation):
    """``exp(x)`` divided by its sum along ``dim``: positive numbers that sum to 1. Follows ``torch.nn.Softmax``.

    >>> import rushlight as torch
    >>> torch.nn.Softmax(dim=0)(torch.tensor([1.0, 2.0]))
    tensor([0.2689, 0.7311])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """`Softmax` over the channels of (N, C, H, W) or (C, H, W). Follows ``torch.nn.Softmax2d``.

    >>> import rushlight as torch
    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            message = f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            raise ValueError(hinted(message, f"the input has shape {tuple(input.shape)}"))
        return F.softmax(input, -3)


class LogSoftmax(_Activation):
    """The logarithm of `Softmax`, computed in one step that cannot overflow. Follows ``torch.nn.LogSoftmax``.

    >>> import rushlight as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.tensor([1.0, 2.0]))
    tensor([-1.3133, -0.3133])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)
