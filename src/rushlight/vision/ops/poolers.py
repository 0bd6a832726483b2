"""RoIAlign over the levels of a feature pyramid."""

from __future__ import annotations

import math

from rushlight.base import dtypes
from rushlight.ops.table import functions

from ... import fx, nn
from .boxes import box_area
from .regions import pair, regions_of, roi_align

__all__ = ["MultiScaleRoIAlign"]


class LevelMapper:
    """Which level serves a box: the larger its area, the smaller the map (Lin and others, 2016, equation 1)."""

    def __init__(self, k_min, k_max, canonical_scale=224, canonical_level=4, eps=1e-6):
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists):
        side = functions.sqrt(functions.cat([box_area(boxes) for boxes in boxlists]))
        levels = functions.floor(self.lvl0 + functions.log2(side / self.s0) + self.eps)
        return levels.clamp(min=self.k_min, max=self.k_max).to(dtypes.int64) - self.k_min


@fx.wrap
def levels_of(maps, image_shapes, canonical_scale, canonical_level):
    """What brings the numbers of boxes to each map, a power of two, and the mapper."""
    if not image_shapes:
        raise ValueError("images list should not be empty")
    height = max(shape[0] for shape in image_shapes)
    exponents = [round(math.log2(each.shape[-2] / height)) for each in maps]
    mapper = LevelMapper(-exponents[0], -exponents[-1], canonical_scale, canonical_level)
    return [2.0**exponent for exponent in exponents], mapper


@fx.wrap
def pooled(maps, boxes, output_size, sampling_ratio, scales, mapper):
    """`roi_align` of each box on its level."""
    rois = regions_of(boxes)
    if len(maps) == 1:
        return roi_align(maps[0], rois, output_size, scales[0], sampling_ratio)
    levels = mapper(boxes)
    result = maps[0].new_zeros((len(rois), maps[0].shape[1], *output_size))
    for level, (each, scale) in enumerate(zip(maps, scales)):
        chosen = functions.where(levels == level)[0]
        result[chosen] = roi_align(each, rois[chosen], output_size, scale, sampling_ratio).to(result.dtype)
    return result


@fx.wrap
def chosen_maps(x, names):
    return [each for name, each in x.items() if name in names]


class MultiScaleRoIAlign(nn.Module):
    """`roi_align` of boxes over the maps of a pyramid, each box on the level that its size asks for.

    `featmap_names` says which maps of the dict count; their scales follow from the sizes of maps and images at the first call.
    """

    def __init__(self, featmap_names, output_size, sampling_ratio, *, canonical_scale=224, canonical_level=4):
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        self.output_size = pair(output_size)
        self.scales = None
        self.map_levels = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def forward(self, x, boxes, image_shapes):
        maps = chosen_maps(x, self.featmap_names)
        if self.scales is None or self.map_levels is None:
            canon = (self.canonical_scale, self.canonical_level)
            self.scales, self.map_levels = levels_of(maps, image_shapes, *canon)
        return pooled(maps, boxes, self.output_size, self.sampling_ratio, self.scales, self.map_levels)

    def __repr__(self):
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, output_size={self.output_size}, "
            f"sampling_ratio={self.sampling_ratio})"
        )
