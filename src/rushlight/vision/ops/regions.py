"""Regions of feature maps brought to one size: RoIAlign, RoIPool and their position-sensitive forms.

Averages of bilinear samples are products of two small matrices with the window that a region covers, one for each axis;
so are their gradients. Boxes themselves get no gradient, in torchvision neither.
"""

from __future__ import annotations

import math

import numpy as np

from rushlight.autograd import Function
from rushlight.autograd.function import once_differentiable
from rushlight.ops.table import functions

from ... import fx, nn
from ...fx._symbolic_trace import _assert

__all__ = ["roi_align", "RoIAlign", "roi_pool", "RoIPool", "ps_roi_align", "PSRoIAlign", "ps_roi_pool", "PSRoIPool"]


def pair(size):
    return (size, size) if isinstance(size, int) else tuple(size)


def regions_of(boxes):
    """Boxes as one Kx5 tensor: the number of the image, x1, y1, x2, y2."""
    if isinstance(boxes, (list, tuple)):
        for each in boxes:
            _assert(each.size(1) == 4, "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
        numbers = [functions.full_like(each[:, :1], index) for index, each in enumerate(boxes)]
        return functions.cat([functions.cat(numbers, dim=0), functions.cat(list(boxes), dim=0)], dim=1)
    _assert(boxes.size(1) == 5, "The boxes tensor shape is not correct as Tensor[K, 5]")
    return boxes


def sampling(start, end, bins, ratio, size, least):
    """A bins x window matrix that averages the samples of each bin, and where the window begins; None without samples."""
    kind = type(start)
    length = end - start if least is None else max(end - start, kind(least))
    bin_size = length / kind(bins)
    grid = ratio if ratio > 0 else math.ceil(bin_size)
    if grid <= 0:
        return None
    steps = (np.arange(grid, dtype=kind) + kind(0.5)) * bin_size / kind(grid)
    places = start + np.arange(bins, dtype=kind)[:, None] * bin_size + steps
    inside = (places >= -1) & (places <= size)
    places = np.maximum(places, 0)
    low = np.minimum(places.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    upper = np.where(low == size - 1, 0, places - low)
    first = int(low.min())
    matrix = np.zeros((bins, int(high.max()) + 1 - first), kind)
    rows = np.arange(bins)[:, None]
    np.add.at(matrix, (rows, low - first), inside * (1 - upper) / kind(grid))
    np.add.at(matrix, (rows, high - first), inside * upper / kind(grid))
    return matrix, first


def windows(shape, rois, sizes, scale, ratio, offset, least):
    """For each region that has samples: its number, its image, the window's place, and a matrix for each axis."""
    for number, (image, left, top, right, bottom) in enumerate(rois):
        kind = type(left)
        left, top, right, bottom = (side * kind(scale) - kind(offset) for side in (left, top, right, bottom))
        down = sampling(top, bottom, sizes[0], ratio, shape[2], least)
        across = sampling(left, right, sizes[1], ratio, shape[3], least)
        if down is not None and across is not None:
            rows = slice(down[1], down[1] + down[0].shape[1])
            columns = slice(across[1], across[1] + across[0].shape[1])
            yield number, int(image), rows, columns, down[0], across[0]


class RoIAlignFunction(Function):
    """Each region averaged over bins."""

    @staticmethod
    def forward(ctx, input, rois, sizes, scale, ratio, aligned):
        images = input.detach().numpy()
        regions = rois.detach().numpy().astype(images.dtype)
        settings = (sizes, scale, ratio, 0.5 if aligned else 0.0, None if aligned else 1.0)
        ctx.shape, ctx.regions, ctx.settings = images.shape, regions, settings
        made = np.zeros((len(regions), images.shape[1], *sizes), images.dtype)
        for number, image, rows, columns, down, across in windows(images.shape, regions, *settings):
            made[number] = down @ (images[image, :, rows, columns] @ across.T)
        return functions.from_numpy(made)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        given = grad.detach().numpy()
        result = np.zeros(ctx.shape, given.dtype)
        for number, image, rows, columns, down, across in windows(ctx.shape, ctx.regions, *ctx.settings):
            result[image, :, rows, columns] += down.T @ given[number] @ across
        return functions.from_numpy(result), None, None, None, None, None


class PSRoIAlignFunction(Function):
    """Each region averaged over bins, every bin from channels of its own."""

    @staticmethod
    def forward(ctx, input, rois, sizes, scale, ratio):
        images = input.detach().numpy()
        regions = rois.detach().numpy().astype(images.dtype)
        ctx.shape, ctx.regions, ctx.settings = images.shape, regions, (sizes, scale, ratio, 0.5, None)
        channels = images.shape[1] // (sizes[0] * sizes[1])
        made = np.zeros((len(regions), channels, *sizes), images.dtype)
        for number, image, rows, columns, down, across in windows(images.shape, regions, *ctx.settings):
            window = images[image].reshape(channels, *sizes, *images.shape[2:])[..., rows, columns]
            made[number] = np.einsum("cijhw,ih,jw->cij", window, down, across, optimize=True)
        return functions.from_numpy(made)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        given = grad.detach().numpy()
        result = np.zeros(ctx.shape, given.dtype)
        parts = result.reshape(ctx.shape[0], given.shape[1], *ctx.settings[0], *ctx.shape[2:])
        for number, image, rows, columns, down, across in windows(ctx.shape, ctx.regions, *ctx.settings):
            parts[image][..., rows, columns] += np.einsum("cij,ih,jw->cijhw", given[number], down, across)
        return functions.from_numpy(result), None, None, None, None


def whole_bins(start, length, bins, last):
    """Where each bin begins and ends in whole pixels, between 0 and `last`."""
    size = length / bins
    starts = np.floor(np.arange(bins) * size).astype(np.int64) + start
    ends = np.ceil(np.arange(1, bins + 1) * size).astype(np.int64) + start
    return np.clip(starts, 0, last), np.clip(ends, 0, last)


def pixels(regions, scale, kind):
    """The regions' sides in whole pixels: image, left, top, right, bottom; halves are rounded away from zero."""
    scaled = regions[:, 1:] * kind(scale)
    whole = (np.sign(scaled) * np.floor(np.abs(scaled) + kind(0.5))).astype(np.int64)
    return np.concatenate((regions[:, :1].astype(np.int64), whole), 1)


class RoIPoolFunction(Function):
    """The greatest value of each bin."""

    @staticmethod
    def forward(ctx, input, rois, sizes, scale):
        images = input.detach().numpy()
        regions = rois.detach().numpy().astype(images.dtype)
        _count, channels, height, width = images.shape
        made = np.zeros((len(regions), channels, *sizes), images.dtype)
        chosen = np.full(made.shape, -1)
        for number, (image, left, top, right, bottom) in enumerate(pixels(regions, scale, images.dtype.type)):
            downs = whole_bins(top, images.dtype.type(max(bottom - top + 1, 1)), sizes[0], height)
            acrosses = whole_bins(left, images.dtype.type(max(right - left + 1, 1)), sizes[1], width)
            for i, (above, below) in enumerate(zip(*downs)):
                for j, (first, last) in enumerate(zip(*acrosses)):
                    if below > above and last > first:
                        window = images[image, :, above:below, first:last].reshape(channels, -1)
                        place = window.argmax(1)
                        made[number, :, i, j] = window[np.arange(channels), place]
                        rows, columns = np.divmod(place, last - first)
                        chosen[number, :, i, j] = (above + rows) * width + first + columns
        ctx.shape, ctx.images, ctx.chosen = images.shape, regions[:, 0].astype(np.int64), chosen
        return functions.from_numpy(made)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        given = grad.detach().numpy()
        result = np.zeros(ctx.shape, given.dtype)
        flat = result.reshape(*ctx.shape[:2], -1)
        number, channel, down, across = np.nonzero(ctx.chosen >= 0)
        places = ctx.chosen[number, channel, down, across]
        np.add.at(flat, (ctx.images[number], channel, places), given[number, channel, down, across])
        return functions.from_numpy(result), None, None, None


class PSRoIPoolFunction(Function):
    """The mean of each bin, every bin from channels of its own."""

    @staticmethod
    def bins(ctx, beyond):
        """For each bin that has pixels: the region, its image, the bin, and its rows and columns.

        torchvision's values leave out the last row and column of a map (`beyond` 1), its gradients do not (0).
        """
        for number, (image, left, top, right, bottom) in enumerate(ctx.pixels):
            downs = whole_bins(top, ctx.kind(max(bottom - top, 1)), ctx.sizes[0], ctx.shape[2] - beyond)
            acrosses = whole_bins(left, ctx.kind(max(right - left, 1)), ctx.sizes[1], ctx.shape[3] - beyond)
            for i, (above, below) in enumerate(zip(*downs)):
                for j, (first, last) in enumerate(zip(*acrosses)):
                    if below > above and last > first:
                        yield number, image, i, j, slice(above, below), slice(first, last)

    @staticmethod
    def forward(ctx, input, rois, sizes, scale):
        images = input.detach().numpy()
        ctx.kind, ctx.shape, ctx.sizes = images.dtype.type, images.shape, sizes
        regions = rois.detach().numpy().astype(images.dtype)
        ctx.pixels = pixels(regions, scale, ctx.kind)
        channels = images.shape[1] // (sizes[0] * sizes[1])
        parts = images.reshape(images.shape[0], channels, *sizes, *images.shape[2:])
        made = np.zeros((len(regions), channels, *sizes), images.dtype)
        for number, image, i, j, rows, columns in PSRoIPoolFunction.bins(ctx, 1):
            made[number, :, i, j] = parts[image, :, i, j, rows, columns].mean((1, 2))
        return functions.from_numpy(made)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        given = grad.detach().numpy()
        result = np.zeros(ctx.shape, given.dtype)
        parts = result.reshape(ctx.shape[0], given.shape[1], *ctx.sizes, *ctx.shape[2:])
        for number, image, i, j, rows, columns in PSRoIPoolFunction.bins(ctx, 0):
            window = parts[image, :, i, j, rows, columns]
            window += given[number, :, i, j, None, None] / (window.shape[1] * window.shape[2])
        return functions.from_numpy(result), None, None, None


@fx.wrap
def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    """The regions `boxes` of NxCxHxW maps as KxCxhxw, each bin an average of bilinear samples (He and others, 2017).

    `boxes` is Kx5 (number of the image, x1, y1, x2, y2) or a list of Lx4, one for each image; `spatial_scale` brings their
    numbers to those of the map. A bin has `sampling_ratio` samples a side, or as many as it has pixels; `aligned` moves
    the boxes by half a pixel, so that pixel centres are where they should be.
    """
    rois = regions_of(boxes)
    return RoIAlignFunction.apply(input, rois, pair(output_size), spatial_scale, sampling_ratio, aligned)


@fx.wrap
def roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """The regions `boxes` as KxCxhxw, each bin the maximum of its pixels (Girshick, "Fast R-CNN", 2015)."""
    return RoIPoolFunction.apply(input, regions_of(boxes), pair(output_size), spatial_scale)


def divisible(input, sizes):
    if input.size(1) % (sizes[0] * sizes[1]) != 0:
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")
    return sizes


@fx.wrap
def ps_roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1):
    """`roi_align` in which each bin has channels of its own (Li and others, "Light-Head R-CNN", 2017)."""
    sizes = divisible(input, pair(output_size))
    return PSRoIAlignFunction.apply(input, regions_of(boxes), sizes, spatial_scale, sampling_ratio)


@fx.wrap
def ps_roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """Means of bins in which each bin has channels of its own (Dai and others, "R-FCN", 2016)."""
    sizes = divisible(input, pair(output_size))
    return PSRoIPoolFunction.apply(input, regions_of(boxes), sizes, spatial_scale)


class RegionLayer(nn.Module):
    """What the layers share: their arguments, handed to a function of this file."""

    def __init__(self, **arguments):
        super().__init__()
        self._names = tuple(arguments)
        vars(self).update(arguments)

    def forward(self, input, rois):
        return self.function(input, rois, *(getattr(self, name) for name in self._names))

    def __repr__(self):
        given = ", ".join(f"{name}={getattr(self, name)}" for name in self._names)
        return f"{type(self).__name__}({given})"


class RoIAlign(RegionLayer):
    """`roi_align` as a layer."""

    function = staticmethod(roi_align)

    def __init__(self, output_size, spatial_scale, sampling_ratio, aligned=False):
        super().__init__(
            output_size=output_size, spatial_scale=spatial_scale, sampling_ratio=sampling_ratio, aligned=aligned
        )


class RoIPool(RegionLayer):
    """`roi_pool` as a layer."""

    function = staticmethod(roi_pool)

    def __init__(self, output_size, spatial_scale):
        super().__init__(output_size=output_size, spatial_scale=spatial_scale)


class PSRoIAlign(RegionLayer):
    """`ps_roi_align` as a layer."""

    function = staticmethod(ps_roi_align)

    def __init__(self, output_size, spatial_scale, sampling_ratio):
        super().__init__(output_size=output_size, spatial_scale=spatial_scale, sampling_ratio=sampling_ratio)


class PSRoIPool(RegionLayer):
    """`ps_roi_pool` as a layer."""

    function = staticmethod(ps_roi_pool)

    def __init__(self, output_size, spatial_scale):
        super().__init__(output_size=output_size, spatial_scale=spatial_scale)
