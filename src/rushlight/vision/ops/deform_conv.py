"""Deformable convolution: a convolution whose samples lie where offsets say."""

from __future__ import annotations

import math

from rushlight.base.errors import hinted
from rushlight.ops.table import functions

from ... import nn

__all__ = ["deform_conv2d", "DeformConv2d"]


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def sampled(maps, y, x):
    """Bilinear samples of maps NxGxCxHxW at y and x, NxGxP: NxGxCxP; outside lie zeros."""
    count, groups, channels, height, width = maps.shape
    flat = maps.reshape(count, groups, channels, height * width)
    top, left = y.detach().floor(), x.detach().floor()
    total = None
    for down in (0, 1):
        for across in (0, 1):
            row, column = top + down, left + across
            weight = (1 - (y - row).abs()) * (1 - (x - column).abs())
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long()
            values = flat.gather(3, place.unsqueeze(2).expand(-1, -1, channels, -1))
            part = values * functions.where(inside, weight, functions.zeros_like(weight)).unsqueeze(2)
            total = part if total is None else total + part
    return total


def positions(offset, kernel, outputs, stride, padding, dilation):
    """Where each tap of the kernel samples, for each output: y and x, NxGx(taps * outputs)."""
    count, taps = offset.shape[0], kernel[0] * kernel[1]
    moved = offset.reshape(count, -1, taps, 2, *outputs)
    found = []
    for axis in (0, 1):
        tap = functions.arange(kernel[axis], dtype=offset.dtype) * dilation[axis]
        tap = tap.repeat_interleave(kernel[1]) if axis == 0 else tap.repeat(kernel[0])
        place = functions.arange(outputs[axis], dtype=offset.dtype) * stride[axis] - padding[axis]
        base = tap[:, None, None] + (place[None, :, None] if axis == 0 else place[None, None, :])
        found.append((moved[:, :, :, axis] + base).reshape(count, moved.shape[1], -1))
    return found


def deform_conv2d(input, offset, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), mask=None):
    """A convolution whose taps are moved by `offset` and scaled by `mask` (Dai and others, 2017; Zhu and others, 2018).

    `offset` is Nx(2 * groups * taps)xhxw, y before x; `mask` Nx(groups * taps)xhxw; the groups share the channels evenly.
    """
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    kernel = tuple(weight.shape[-2:])
    taps = kernel[0] * kernel[1]
    groups = offset.shape[1] // (2 * taps)
    if groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of 2 * weight.size[2] * "
            f"weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * weight.size[3]={2 * taps}"
        )
    count, channels, *sizes = input.shape
    outputs = tuple(
        (size + 2 * pad - step * (side - 1) - 1) // jump + 1
        for size, pad, step, side, jump in zip(sizes, padding, dilation, kernel, stride)
    )
    if tuple(offset.shape[2:]) != outputs:
        found = tuple(offset.shape[2:])
        raise RuntimeError(
            hinted(
                f"offset output dims: ({found[0]}, {found[1]}) - computed output dims: ({outputs[0]}, {outputs[1]})",
                "an offset has the height and width of the convolution's result",
            )
        )
    y, x = positions(offset, kernel, outputs, stride, padding, dilation)
    columns = sampled(input.reshape(count, groups, channels // groups, *sizes), y, x)
    columns = columns.reshape(count, groups, channels // groups, taps, -1)
    if mask is not None:
        columns = columns * mask.reshape(count, groups, 1, taps, -1)
    parts = channels // weight.shape[1]
    columns = columns.reshape(count, parts, weight.shape[1] * taps, -1)
    filters = weight.reshape(parts, weight.shape[0] // parts, -1)
    result = functions.matmul(filters, columns).reshape(count, weight.shape[0], *outputs)
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


class DeformConv2d(nn.Module):
    """`deform_conv2d` with its weight and bias as parameters."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.padding = pair(padding)
        self.dilation = pair(dilation)
        self.groups = groups
        self.weight = nn.Parameter(functions.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.register_parameter("bias", nn.Parameter(functions.empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """First values, as an ordinary convolution has them."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, input, offset, mask=None):
        places = {"stride": self.stride, "padding": self.padding, "dilation": self.dilation}
        return deform_conv2d(input, offset, self.weight, self.bias, mask=mask, **places)

    def __repr__(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0, 0) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1, 1) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += ", bias=False" if self.bias is None else ""
        return f"{type(self).__name__}({text})"
