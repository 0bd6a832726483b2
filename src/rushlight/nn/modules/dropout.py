"""Dropout and its relatives: in training, elements or whole channels are zeroed at random."""

from __future__ import annotations

from ...base.errors import hinted
from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """A dropout with probability ``p``, in place if ``inplace``."""

    __constants__ = ["p", "inplace"]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            message = f"dropout probability has to be between 0 and 1, but got {p}"
            raise ValueError(hinted(message, "p is the probability to drop, not to keep"))
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """In training, zeroes each element with probability ``p`` and scales the others by 1/(1 - p); else the identity.

    Srivastava et al. 2014; follows ``torch.nn.Dropout``.

    >>> import rushlight as torch
    >>> torch.nn.Dropout(0.2).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels: (N, C, L) or (C, L). Follows ``torch.nn.Dropout1d``.

    >>> import rushlight as torch
    >>> torch.nn.Dropout1d(0.2)(torch.randn(20, 16, 32)).shape
    torch.Size([20, 16, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels: (N, C, H, W) or (N, C, L). Follows ``torch.nn.Dropout2d``.

    >>> import rushlight as torch
    >>> torch.nn.Dropout2d(0.2)(torch.randn(20, 16, 32, 32)).shape
    torch.Size([20, 16, 32, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels: (N, C, D, H, W) or (C, D, H, W). Follows ``torch.nn.Dropout3d``.

    >>> import rushlight as torch
    >>> torch.nn.Dropout3d(0.2)(torch.randn(20, 16, 4, 32, 32)).shape
    torch.Size([20, 16, 4, 32, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1, for use after `SELU`. Klambauer et al. 2017; ``torch.nn.AlphaDropout``.

    >>> import rushlight as torch
    >>> torch.nn.AlphaDropout(0.2).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels: (N, C, ...). Follows ``torch.nn.FeatureAlphaDropout``.

    >>> import rushlight as torch
    >>> torch.nn.FeatureAlphaDropout(0.2)(torch.randn(20, 16, 4, 32, 32)).shape
    torch.Size([20, 16, 4, 32, 32])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
