"""Blocks that many image models share: convolution with norm and activation, squeeze-and-excitation, MLP."""

from __future__ import annotations

import warnings

from rushlight.ops.table import functions

from ... import nn

__all__ = [
    "FrozenBatchNorm2d",
    "ConvNormActivation",
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "SqueezeExcitation",
    "MLP",
    "Permute",
]


def half_of(kernel, dilation):
    """The padding at which a convolution of stride 1 keeps the size of its input."""
    if isinstance(kernel, int) and isinstance(dilation, int):
        return (kernel - 1) // 2 * dilation
    rank = len(dilation if isinstance(kernel, int) else kernel)
    kernels = (kernel,) * rank if isinstance(kernel, int) else kernel
    dilations = (dilation,) * rank if isinstance(dilation, int) else dilation
    return tuple((size - 1) // 2 * step for size, step in zip(kernels, dilations, strict=True))


class FrozenBatchNorm2d(nn.Module):
    """Batch norm whose statistics and affine numbers are buffers: nothing of it is trained or updated.

    >>> import rushlight as torch
    >>> from rushlight.vision.ops import FrozenBatchNorm2d
    >>> FrozenBatchNorm2d(4)
    FrozenBatchNorm2d(4, eps=1e-05)
    """

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        for name, fill in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1)):
            self.register_buffer(name, functions.full((num_features,), float(fill)))

    def _load_from_state_dict(self, state_dict, prefix, *others):
        state_dict.pop(prefix + "num_batches_tracked", None)  # of the BatchNorm2d that the state came from
        super()._load_from_state_dict(state_dict, prefix, *others)

    def forward(self, x):
        weight, bias, variance, mean = (
            buffer.reshape(1, -1, 1, 1) for buffer in (self.weight, self.bias, self.running_var, self.running_mean)
        )
        scale = weight * (variance + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)

    def __repr__(self):
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """A convolution, a norm and an activation; what the two- and three-dimensional ones share."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size=3,
        stride=1,
        padding=None,
        groups=1,
        norm_layer=nn.BatchNorm2d,
        activation_layer=nn.ReLU,
        dilation=1,
        inplace=True,
        bias=None,
        conv_layer=nn.Conv2d,
    ):
        padding = half_of(kernel_size, dilation) if padding is None else padding
        bias = norm_layer is None if bias is None else bias
        layers = [
            conv_layer(in_channels, out_channels, kernel_size, stride, padding, dilation, groups=groups, bias=bias)
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer() if inplace is None else activation_layer(inplace=inplace))
        super().__init__(*layers)
        self.out_channels = out_channels
        if type(self) is ConvNormActivation:
            warnings.warn(
                "Don't use ConvNormActivation directly, please use Conv2dNormActivation and Conv3dNormActivation instead.",
                stacklevel=2,
            )


class Conv2dNormActivation(ConvNormActivation):
    """A 2-d convolution, a norm and an activation, each of the last two left out where its class is None.

    `padding` None keeps the size (at stride 1); `bias` None: only without a norm.

    >>> from rushlight.vision.ops import Conv2dNormActivation
    >>> [type(layer).__name__ for layer in Conv2dNormActivation(3, 8)]
    ['Conv2d', 'BatchNorm2d', 'ReLU']
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size=3,
        stride=1,
        padding=None,
        groups=1,
        norm_layer=nn.BatchNorm2d,
        activation_layer=nn.ReLU,
        dilation=1,
        inplace=True,
        bias=None,
    ):
        around = (norm_layer, activation_layer, dilation, inplace, bias, nn.Conv2d)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, *around)


class Conv3dNormActivation(ConvNormActivation):
    """A 3-d convolution, a norm and an activation; see `Conv2dNormActivation`."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size=3,
        stride=1,
        padding=None,
        groups=1,
        norm_layer=nn.BatchNorm3d,
        activation_layer=nn.ReLU,
        dilation=1,
        inplace=True,
        bias=None,
    ):
        around = (norm_layer, activation_layer, dilation, inplace, bias, nn.Conv3d)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, *around)


class SqueezeExcitation(nn.Module):
    """Channels weighted by a small network of their means (Hu and others, "Squeeze-and-Excitation Networks", 2017)."""

    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input):
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(squeezed)) * input


class MLP(nn.Sequential):
    """Linear layers, each with a norm (where one is given), activation and dropout behind it; the last with dropout only."""

    def __init__(
        self,
        in_channels,
        hidden_channels,
        norm_layer=None,
        activation_layer=nn.ReLU,
        inplace=None,
        bias=True,
        dropout=0.0,
    ):
        options = {} if inplace is None else {"inplace": inplace}
        layers, width = [], in_channels
        for index, hidden in enumerate(hidden_channels):
            layers.append(nn.Linear(width, hidden, bias=bias))
            if index < len(hidden_channels) - 1:
                if norm_layer is not None:
                    layers.append(norm_layer(hidden))
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            width = hidden
        super().__init__(*layers)


class Permute(nn.Module):
    """The dimensions of a tensor in another order."""

    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return functions.permute(x, self.dims)
