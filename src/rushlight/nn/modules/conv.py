"""Convolution layers: Conv1d/2d/3d, their transposes, and lazy forms that take in_channels from the first input."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal

from ...base.device import DeviceLike
from ...base.dtypes import DType
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module, held
from .own_methods import OwnMethods
from .utils import _ntuple, _reverse_repeat_tuple

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(OwnMethods, Module):
    """What every convolution holds: its sizes, ``weight``, ``bias`` and how they are first drawn."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode",
        "output_padding", "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | int | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"],
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        _check_sizes(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._padding_for_pad()

        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(functions.empty((*channels, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(functions.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_for_pad(self):
        """The padding as ``F.pad`` takes it: last dimension first, both sides of each."""
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        if self.padding != "same":
            return _reverse_repeat_tuple(self.padding, 2)
        amounts = []
        for dilation, size in zip(reversed(self.dilation), reversed(self.kernel_size)):
            total = dilation * (size - 1)
            amounts += [total // 2, total - total // 2]
        return amounts

    def reset_parameters(self) -> None:
        """Draw ``weight`` and ``bias`` uniformly within 1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}",
        ]
        if self.padding != (0,) * len(self.padding):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * len(self.dilation):
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * len(self.output_padding):
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


def _check_sizes(in_channels, out_channels, stride, padding, groups, padding_mode):
    if groups <= 0:
        raise ValueError(hinted("groups must be a positive integer", f"it is {groups}"))
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups != 0:
            raise ValueError(hinted(f"{name} must be divisible by groups", f"{channels} is no multiple of {groups}"))
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError(
                hinted(
                    "padding='same' is not supported for strided convolutions",
                    f"stride is {stride}; give the padding as numbers",
                )
            )
    if padding_mode not in _PADDING_MODES:
        modes = "{" + ", ".join(map(repr, _PADDING_MODES)) + "}"
        raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")


class _Convolution(_ConvNd):
    """A convolution over ``_dims`` spatial dimensions by the function of that name."""

    _dims: int
    _function: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: str | int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        sizes = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            padding if isinstance(padding, str) else sizes(padding),
            sizes(dilation),
            False,
            sizes(0),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _conv_forward(self, input, weight, bias):
        convolve = getattr(F, self._function)
        if self.padding_mode == "zeros":
            return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return convolve(padded, weight, bias, self.stride, (0,) * self._dims, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, held(self, "weight"), held(self, "bias"))


class Conv1d(_Convolution):
    """Convolution over sequences: (N, C_in, L) or (C_in, L) to (N, C_out, L_out) or (C_out, L_out).

    Arguments as for :class:`Conv2d`, with one spatial dimension. Follows ``torch.nn.Conv1d``.

    >>> import rushlight as torch
    >>> torch.nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    _dims, _function = 1, "conv1d"


class Conv2d(_Convolution):
    """Convolution over images: (N, C_in, H, W) or (C_in, H, W) to (N, C_out, H_out, W_out) or (C_out, H_out, W_out).

    ``kernel_size``, ``stride`` (1), ``padding`` (0) and ``dilation`` (1) are ints or one int a spatial dimension;
    ``padding`` may be 'valid' (none) or 'same' (output as large as the input; stride 1 only). ``groups`` splits the
    channels into that many independent convolutions; ``padding_mode`` is 'zeros', 'reflect', 'replicate' or
    'circular'. ``weight`` is (C_out, C_in / groups, kH, kW), ``bias`` (C_out) or None. ValueError for sizes that do
    not fit together. Follows ``torch.nn.Conv2d``.

    >>> import rushlight as torch
    >>> layer = torch.nn.Conv2d(3, 8, kernel_size=3, padding=1)
    >>> layer(torch.randn(2, 3, 32, 32)).shape
    torch.Size([2, 8, 32, 32])
    """

    _dims, _function = 2, "conv2d"


class Conv3d(_Convolution):
    """Convolution over volumes: (N, C_in, D, H, W) or (C_in, D, H, W).

    Arguments as for :class:`Conv2d`, with three spatial dimensions. Follows ``torch.nn.Conv3d``.

    >>> import rushlight as torch
    >>> torch.nn.Conv3d(4, 6, 3)(torch.randn(1, 4, 5, 6, 7)).shape
    torch.Size([1, 6, 3, 4, 5])
    """

    _dims, _function = 3, "conv3d"


class _ConvTransposeNd(_ConvNd):
    """What every transposed convolution holds; only "zeros" may surround its input."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            bias,
            "zeros",
            device,
            dtype,
        )


class _TransposedConvolution(_ConvTransposeNd):
    """A transposed convolution over ``_dims`` spatial dimensions: the gradient of a convolution, run forwards."""

    _dims: int
    _function: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, ...] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | tuple[int, ...] = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        sizes = _ntuple(self._dims)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            sizes(padding),
            sizes(dilation),
            True,
            sizes(output_padding),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _output_padding(self, input, output_size):
        """The extra rows at the end of each dimension that make the result ``output_size`` large."""
        if output_size is None:
            return self.output_padding
        dims = self._dims
        batched = input.dim() == dims + 2
        if len(output_size) == (dims + 2 if batched else dims + 1):
            output_size = output_size[-dims:]
        if len(output_size) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} "
                f"or {dims + 2 if batched else dims + 1} elements (got {len(output_size)})"
            )
        lengths = input.shape[-dims:]
        smallest = [
            (lengths[d] - 1) * self.stride[d] - 2 * self.padding[d] + self.dilation[d] * (self.kernel_size[d] - 1) + 1
            for d in range(dims)
        ]
        largest = [low + step - 1 for low, step in zip(smallest, self.stride)]
        if any(not low <= size <= high for low, size, high in zip(smallest, output_size, largest)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range "
                f"from {smallest} to {largest} (for an input of {lengths})"
            )
        return tuple(size - low for size, low in zip(output_size, smallest))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return getattr(F, self._function)(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_TransposedConvolution):
    """Transposed convolution over sequences: (N, C_in, L) or (C_in, L).

    Arguments as for :class:`ConvTranspose2d`. Follows ``torch.nn.ConvTranspose1d``.

    >>> import rushlight as torch
    >>> torch.nn.ConvTranspose1d(4, 2, 3, stride=2)(torch.randn(1, 4, 5)).shape
    torch.Size([1, 2, 11])
    """

    _dims, _function = 1, "conv_transpose1d"


class ConvTranspose2d(_TransposedConvolution):
    """Transposed convolution over images: (N, C_in, H, W) or (C_in, H, W), growing by ``stride``.

    ``padding`` takes rows away at both ends, ``output_padding`` adds some at the end of the result; a call may name
    the result's ``output_size`` instead. ``weight`` is (C_in, C_out / groups, kH, kW). ValueError for an
    ``output_size`` that no output padding reaches. Follows ``torch.nn.ConvTranspose2d``.

    >>> import rushlight as torch
    >>> layer = torch.nn.ConvTranspose2d(4, 2, 3, stride=2)
    >>> layer(torch.randn(1, 4, 5, 5)).shape, layer(torch.randn(1, 4, 5, 5), output_size=(12, 12)).shape
    (torch.Size([1, 2, 11, 11]), torch.Size([1, 2, 12, 12]))
    """

    _dims, _function = 2, "conv_transpose2d"


class ConvTranspose3d(_TransposedConvolution):
    """Transposed convolution over volumes: (N, C_in, D, H, W) or (C_in, D, H, W).

    Arguments as for :class:`ConvTranspose2d`. Follows ``torch.nn.ConvTranspose3d``.

    >>> import rushlight as torch
    >>> torch.nn.ConvTranspose3d(4, 2, 2, stride=2)(torch.randn(1, 4, 3, 3, 3)).shape
    torch.Size([1, 2, 6, 6, 6])
    """

    _dims, _function = 3, "conv_transpose3d"


class _ConvTransposeMixin(_ConvTransposeNd):
    """Another name of the class above, deprecated, which libraries import."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class _LazyConvXdMixin(LazyModuleMixin):
    """A convolution whose ``in_channels`` is read from the first input; until then its parameters have no shape."""

    def _postpone(self, out_channels, bias, device, dtype):
        """Put shapeless parameters in place of those that the base class made for zero channels."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give ``weight`` and ``bias`` the shapes that ``input`` asks for, and draw them."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError(
                hinted(
                    "in_channels must be divisible by groups",
                    f"the input has {self.in_channels} channels, which is no multiple of {self.groups}",
                )
            )
        inner = self.in_channels, self.out_channels // self.groups
        outer = self.out_channels, self.in_channels // self.groups
        self.weight.materialize((*(inner if self.transposed else outer), *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input):
        unbatched = self._dims + 1
        if input.dim() not in (unbatched, unbatched + 1):
            raise RuntimeError(
                f"Expected {unbatched}D (unbatched) or {unbatched + 1}D (batched) input to {type(self).__name__}, "
                f"but got input of size: {input.shape}"
            )
        return input.shape[-unbatched]


class _LazyConvolution(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device=device, dtype=dtype
        )
        self._postpone(out_channels, bias, device, dtype)


class _LazyConvTranspose(_LazyConvXdMixin):
    def __init__(
        self,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, ...] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int = 1,
        padding_mode: Literal["zeros", "reflect", "replicate", "circular"] = "zeros",
        device: DeviceLike = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode,
            device=device, dtype=dtype,
        )  # fmt: skip
        self._postpone(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """:class:`Conv1d` that takes ``in_channels`` from its first input. Follows ``torch.nn.LazyConv1d``."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """:class:`Conv2d` that takes ``in_channels`` from its first input. Follows ``torch.nn.LazyConv2d``.

    >>> import rushlight as torch
    >>> layer = torch.nn.LazyConv2d(8, kernel_size=3)
    >>> layer(torch.randn(1, 3, 5, 5)).shape, layer.in_channels
    (torch.Size([1, 8, 3, 3]), 3)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """:class:`Conv3d` that takes ``in_channels`` from its first input. Follows ``torch.nn.LazyConv3d``."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """:class:`ConvTranspose1d` that takes ``in_channels`` from its first input (``torch.nn.LazyConvTranspose1d``)."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """:class:`ConvTranspose2d` that takes ``in_channels`` from its first input (``torch.nn.LazyConvTranspose2d``)."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """:class:`ConvTranspose3d` that takes ``in_channels`` from its first input (``torch.nn.LazyConvTranspose3d``)."""

    cls_to_become = ConvTranspose3d
