"""Upsample: a larger (or smaller) image by interpolation."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module


class Upsample(Module):
    """Resize the spatial dimensions of (N, C, W), (N, C, H, W) or (N, C, D, H, W) by interpolation.

    Give ``size``, or ``scale_factor``, as one number or one a dimension. ``mode`` is 'nearest', 'linear', 'bilinear',
    'bicubic' or 'trilinear'; ``align_corners`` (None, as False) lays the corner pixels' centres on each other;
    ``recompute_scale_factor`` takes the scale from the rounded output size. Follows ``torch.nn.Upsample``.

    >>> import rushlight as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor: float | tuple[float, ...] | None
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor}, mode={self.mode!r}"
        return f"size={self.size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """:class:`Upsample` of images by the nearest pixel. Follows ``torch.nn.UpsamplingNearest2d``.

    >>> import rushlight as torch
    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.randn(1, 3, 4, 5)).shape
    torch.Size([1, 3, 8, 10])
    """

    def __init__(
        self, size: int | tuple[int, ...] | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """:class:`Upsample` of images, bilinear with aligned corners. Follows ``torch.nn.UpsamplingBilinear2d``.

    >>> import rushlight as torch
    >>> torch.nn.UpsamplingBilinear2d(size=(3, 3))(torch.tensor([[[[0.0, 2.0], [2.0, 4.0]]]]))
    tensor([[[[0., 1., 2.],
              [1., 2., 3.],
              [2., 3., 4.]]]])
    """

    def __init__(
        self, size: int | tuple[int, ...] | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
