"""Pooling layers over one to three dimensions: max, average, power-average, fractional, adaptive, and max-unpooling."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .module import Module
from .own_methods import OwnMethods
from .utils import _ntuple


class _PoolNd(OwnMethods, Module):
    """A layer that calls the function ``_function`` of ``nn.functional``."""

    _dims: int
    _function: str

    def _pool(self, input, *args, **kwargs):
        return getattr(F, self._function)(input, *args, **kwargs)


class _MaxPoolNd(_PoolNd):
    _own = ("forward",)
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class MaxPool1d(_MaxPoolNd):
    """Largest value of each window of (N, C, L) or (C, L). Arguments as for :class:`MaxPool2d`.

    Follows ``torch.nn.MaxPool1d``.

    >>> import rushlight as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _dims, _function = 1, "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Largest value of each window of (N, C, H, W) or (C, H, W).

    ``kernel_size``, ``stride`` (the kernel's size), ``padding`` (0, with minus infinity, at most half a window) and
    ``dilation`` (1) are ints or one int a dimension; ``ceil_mode`` rounds the output size up; with ``return_indices``
    the flat position of each maximum comes second, for :class:`MaxUnpool2d`. Follows ``torch.nn.MaxPool2d``.

    >>> import rushlight as torch
    >>> torch.nn.MaxPool2d(3, stride=2)(torch.randn(1, 4, 9, 9)).shape
    torch.Size([1, 4, 4, 4])
    """

    _dims, _function = 2, "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """Largest value of each window of (N, C, D, H, W) or (C, D, H, W). Arguments as for :class:`MaxPool2d`.

    Follows ``torch.nn.MaxPool3d``.
    """

    _dims, _function = 3, "max_pool3d"


class _MaxUnpoolNd(_PoolNd):
    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
    ) -> None:
        super().__init__()
        sizes = _ntuple(self._dims)
        self.kernel_size = sizes(kernel_size)
        self.stride = sizes(kernel_size if stride is None else stride)
        self.padding = sizes(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: list[int] | None = None) -> Tensor:
        return self._pool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Put each maximum back where :class:`MaxPool1d` found it, zeros elsewhere. Follows ``torch.nn.MaxUnpool1d``.

    >>> import rushlight as torch
    >>> values, places = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    >>> torch.nn.MaxUnpool1d(2)(values, places)
    tensor([[[0., 3., 2., 0.]]])
    """

    _dims, _function = 1, "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Put each maximum back where :class:`MaxPool2d` found it; ``output_size`` chooses among possible sizes.

    Follows ``torch.nn.MaxUnpool2d``.
    """

    _dims, _function = 2, "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Put each maximum back where :class:`MaxPool3d` found it. Follows ``torch.nn.MaxUnpool3d``."""

    _dims, _function = 3, "max_unpool3d"


class _AvgPoolNd(_PoolNd):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Mean of each window of (N, C, L) or (C, L). Arguments as for :class:`AvgPool2d`, but no divisor.

    Follows ``torch.nn.AvgPool1d``.

    >>> import rushlight as torch
    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    _dims, _function = 1, "avg_pool1d"

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        single = _ntuple(1)
        self.kernel_size = single(kernel_size)
        self.stride = single(kernel_size if stride is None else stride)
        self.padding = single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
    """Mean of each window of (N, C, H, W) or (C, H, W).

    ``stride`` is the kernel's size unless given; ``padding`` (0) puts zeros around, which the mean counts unless
    ``count_include_pad`` is False; ``ceil_mode`` rounds the output size up; ``divisor_override`` divides by that number
    instead of the window's size. Follows ``torch.nn.AvgPool2d``.

    >>> import rushlight as torch
    >>> torch.nn.AvgPool2d(2)(torch.arange(4.0).view(1, 2, 2))
    tensor([[[1.5000]]])
    """

    _dims, _function = 2, "avg_pool2d"


class AvgPool3d(_AvgPoolWithDivisor):
    """Mean of each window of (N, C, D, H, W) or (C, D, H, W). Arguments as for :class:`AvgPool2d`.

    Follows ``torch.nn.AvgPool3d``.
    """

    _dims, _function = 3, "avg_pool3d"


class _FractionalMaxPoolNd(_PoolNd):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int, ...] | None = None,
        output_ratio: float | tuple[float, float] | None = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        sizes = _ntuple(self._dims)
        self.kernel_size = sizes(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else sizes(output_size)
        self.output_ratio = None if output_ratio is None else sizes(output_ratio)
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return self._pool(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling of (N, C, H, W) with windows at random steps, so that the output has any ``output_size``.

    Give ``output_size``, or ``output_ratio`` between 0 and 1. ValueError for both or neither. After Graham, "Fractional
    MaxPooling" (2014). Follows ``torch.nn.FractionalMaxPool2d``.

    >>> import rushlight as torch
    >>> torch.nn.FractionalMaxPool2d(2, output_size=(3, 4))(torch.randn(1, 2, 8, 8)).shape
    torch.Size([1, 2, 3, 4])
    """

    _dims, _function = 2, "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """:class:`FractionalMaxPool2d` of (N, C, D, H, W). Follows ``torch.nn.FractionalMaxPool3d``."""

    _dims, _function = 3, "fractional_max_pool3d"


class _LPPoolNd(_PoolNd):
    _own = ("forward",)
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return self._pool(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.__constants__)


class LPPool1d(_LPPoolNd):
    """The p-norm, ``norm_type`` p, of each window of (N, C, L) or (C, L). Follows ``torch.nn.LPPool1d``.

    >>> import rushlight as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0, 6.0, 8.0]]))
    tensor([[ 5., 10.]])
    """

    _dims, _function = 1, "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The p-norm of each window of (N, C, H, W) or (C, H, W). Follows ``torch.nn.LPPool2d``."""

    _dims, _function = 2, "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The p-norm of each window of (N, C, D, H, W) or (C, D, H, W). Follows ``torch.nn.LPPool3d``."""

    _dims, _function = 3, "lp_pool3d"


class _AdaptiveMaxPoolNd(_PoolNd):
    _own = ("forward",)
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: int | tuple[int | None, ...] | None, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return self._pool(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Max pooling of (N, C, L) or (C, L) to ``output_size``, whatever the input's size.

    Follows ``torch.nn.AdaptiveMaxPool1d``.

    >>> import rushlight as torch
    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 5.0, 2.0]]))
    tensor([[5., 5.]])
    """

    _dims, _function = 1, "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Max pooling of (N, C, H, W) or (C, H, W) to ``output_size``: an int or two, None keeping the input's.

    Follows ``torch.nn.AdaptiveMaxPool2d``.
    """

    _dims, _function = 2, "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Max pooling of (N, C, D, H, W) or (C, D, H, W) to ``output_size``. Follows ``torch.nn.AdaptiveMaxPool3d``."""

    _dims, _function = 3, "adaptive_max_pool3d"


class _AdaptiveAvgPoolNd(_PoolNd):
    _own = ("forward",)
    __constants__ = ["output_size"]

    def __init__(self, output_size: int | tuple[int | None, ...] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return self._pool(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average pooling of (N, C, L) or (C, L) to ``output_size``. Follows ``torch.nn.AdaptiveAvgPool1d``."""

    _dims, _function = 1, "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average pooling of (N, C, H, W) or (C, H, W) to ``output_size``: an int or two, None keeping the input's.

    Follows ``torch.nn.AdaptiveAvgPool2d``.

    >>> import rushlight as torch
    >>> torch.nn.AdaptiveAvgPool2d((None, 3))(torch.randn(1, 4, 5, 7)).shape
    torch.Size([1, 4, 5, 3])
    """

    _dims, _function = 2, "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average pooling of (N, C, D, H, W) or (C, D, H, W) to ``output_size``. Follows ``torch.nn.AdaptiveAvgPool3d``."""

    _dims, _function = 3, "adaptive_avg_pool3d"
