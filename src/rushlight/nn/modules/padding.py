"""Padding layers: zeros or a constant, reflection, replication and wrap-around, over one to three dimensions."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module
from .own_methods import OwnMethods, own
from .utils import _ntuple


class _PadNd(OwnMethods, Module):
    """Padding by an amount for each side of the last ``_dims`` dimensions, in the order of ``F.pad``."""

    __constants__ = ["padding"]
    _own = ("__init__",)
    _dims: int
    _mode: str

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


own(_ReflectionPadNd, "forward")


class ReflectionPad1d(_ReflectionPadNd):
    """Mirror (N, C, W) or (C, W) at its ends, without repeating the edge. Follows ``torch.nn.ReflectionPad1d``.

    >>> import rushlight as torch
    >>> torch.nn.ReflectionPad1d(2)(torch.arange(4.0).view(1, 4))
    tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirror (N, C, H, W) or (C, H, W) at its edges: ``padding`` is one int or (left, right, top, bottom).

    Follows ``torch.nn.ReflectionPad2d``.
    """

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirror (N, C, D, H, W) or (C, D, H, W): one int or (left, right, top, bottom, front, back).

    Follows ``torch.nn.ReflectionPad3d``.
    """

    _dims = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


own(_ReplicationPadNd, "forward")


class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the end values of (N, C, W) or (C, W). Follows ``torch.nn.ReplicationPad1d``.

    >>> import rushlight as torch
    >>> torch.nn.ReplicationPad1d((1, 2))(torch.arange(3.0).view(1, 3))
    tensor([[0., 0., 1., 2., 2., 2.]])
    """

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the edges of (N, C, H, W) or (C, H, W). Follows ``torch.nn.ReplicationPad2d``."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the faces of (N, C, D, H, W) or (C, D, H, W). Follows ``torch.nn.ReplicationPad3d``."""

    _dims = 3


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input):
        unbatched = self._dims + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise ValueError(f"expected {unbatched}D or {unbatched + 1}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class CircularPad1d(_CircularPadNd):
    """Continue (N, C, W) or (C, W) with its other end. Follows ``torch.nn.CircularPad1d``.

    >>> import rushlight as torch
    >>> torch.nn.CircularPad1d(1)(torch.arange(3.0).view(1, 3))
    tensor([[2., 0., 1., 2., 0.]])
    """

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Continue (N, C, H, W) or (C, H, W) as on a torus. Follows ``torch.nn.CircularPad2d``."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Continue (N, C, D, H, W) or (C, D, H, W) as on a torus. Follows ``torch.nn.CircularPad3d``."""

    _dims = 3


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Put ``value`` around the last dimension; a negative amount crops. Follows ``torch.nn.ConstantPad1d``.

    >>> import rushlight as torch
    >>> torch.nn.ConstantPad1d((1, -1), 9.0)(torch.arange(3.0).view(1, 3))
    tensor([[9., 0., 1.]])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Put ``value`` around the last two dimensions. Follows ``torch.nn.ConstantPad2d``."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Put ``value`` around the last three dimensions. Follows ``torch.nn.ConstantPad3d``."""

    _dims = 3


class _ZeroPad:
    """The form of a constant padding whose value is always 0 and goes unsaid."""

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Put zeros around the last dimension. Follows ``torch.nn.ZeroPad1d``.

    >>> import rushlight as torch
    >>> torch.nn.ZeroPad1d(1)(torch.ones(1, 2))
    tensor([[0., 1., 1., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Put zeros around the last two dimensions: (left, right, top, bottom). Follows ``torch.nn.ZeroPad2d``."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Put zeros around the last three dimensions. Follows ``torch.nn.ZeroPad3d``."""
