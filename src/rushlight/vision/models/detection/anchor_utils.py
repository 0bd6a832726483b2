"""Anchors: the boxes of several sizes and forms that detectors look for objects at, at every place of a map."""

from __future__ import annotations

import math

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from ....fx._symbolic_trace import _assert

_UNMATCHED = (
    "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have different sizes and aspect ratios. There "
    "needs to be a match between the number of feature maps passed and the number of sizes / aspect ratios specified."
)


def crossed(down, across):
    """The pairs of coordinates of a grid, row by row: x, y."""
    y, x = functions.meshgrid(down, across, indexing="ij")
    return x.reshape(-1), y.reshape(-1)


class AnchorGenerator(nn.Module):
    """Anchors in pixels: for each map every combination of its sizes (square roots of areas) and ratios of height to width.

    >>> from rushlight.vision.models.detection.anchor_utils import AnchorGenerator
    >>> generator = AnchorGenerator(sizes=((32,), (64,)), aspect_ratios=((0.5, 1.0, 2.0),) * 2)
    >>> generator.num_anchors_per_location(), generator.cell_anchors[0][1]
    ([3, 3], tensor([-16., -16.,  16.,  16.]))
    """

    def __init__(self, sizes=((128, 256, 512),), aspect_ratios=((0.5, 1.0, 2.0),)):
        super().__init__()
        if not isinstance(sizes[0], (list, tuple)):
            sizes = tuple((size,) for size in sizes)
        if not isinstance(aspect_ratios[0], (list, tuple)):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [self.generate_anchors(*each) for each in zip(sizes, aspect_ratios)]

    def generate_anchors(self, scales, aspect_ratios, dtype=dtypes.float32, device="cpu"):
        """The anchors around one place, in whole pixels."""
        scales = functions.tensor(scales, dtype=dtype)
        heights = functions.sqrt(functions.tensor(aspect_ratios, dtype=dtype))
        width = ((1 / heights)[:, None] * scales).view(-1)
        height = (heights[:, None] * scales).view(-1)
        return (functions.stack([-width, -height, width, height], dim=1) / 2).round()

    def set_cell_anchors(self, dtype, device):
        """Let the anchors be of a dtype."""
        self.cell_anchors = [anchors.to(dtype=dtype, device=device) for anchors in self.cell_anchors]

    def num_anchors_per_location(self):
        """How many anchors a place of each map has."""
        return [len(sizes) * len(ratios) for sizes, ratios in zip(self.sizes, self.aspect_ratios)]

    def grid_anchors(self, grid_sizes, strides):
        """The anchors at all places of each map, of which there are `grid_sizes`, `strides` apart."""
        _assert(len(grid_sizes) == len(strides) == len(self.cell_anchors), _UNMATCHED)
        found = []
        for (height, width), (down, across), base in zip(grid_sizes, strides, self.cell_anchors):
            columns = functions.arange(width, dtype=dtypes.int32) * across
            x, y = crossed(functions.arange(height, dtype=dtypes.int32) * down, columns)
            shifts = functions.stack((x, y, x, y), dim=1)
            found.append((shifts.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4))
        return found

    def forward(self, image_list, feature_maps):
        height, width = image_list.tensors.shape[-2:]
        grids = [tuple(each.shape[-2:]) for each in feature_maps]
        self.set_cell_anchors(feature_maps[0].dtype, feature_maps[0].device)
        anchors = functions.cat(
            self.grid_anchors(grids, [(height // rows, width // columns) for rows, columns in grids])
        )
        return [anchors.clone() for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """Anchors in shares of the image's sides (Liu and others, "SSD", 2015): for each map a scale, and ratios beside 1.

    Without `scales` they go from `min_ratio` to `max_ratio` in even steps; `steps` are the pixels between the places of a map.
    """

    def __init__(self, aspect_ratios, min_ratio=0.15, max_ratio=0.9, scales=None, steps=None, clip=True):
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        count = len(aspect_ratios)
        if scales is None and count > 1:
            span = max_ratio - min_ratio
            scales = [*(min_ratio + span * place / (count - 1.0) for place in range(count)), 1.0]
        self.scales = [min_ratio, max_ratio] if scales is None else scales
        self._wh_pairs = self._generate_wh_pairs(count)

    def _generate_wh_pairs(self, num_outputs, dtype=dtypes.float32, device="cpu"):
        """Width and height of the boxes of a place, for each map."""
        found = []
        for place in range(num_outputs):
            scale, between = self.scales[place], math.sqrt(self.scales[place] * self.scales[place + 1])
            pairs = [[scale, scale], [between, between]]
            for ratio in map(math.sqrt, self.aspect_ratios[place]):
                pairs += [[scale * ratio, scale / ratio], [scale / ratio, scale * ratio]]
            found.append(functions.tensor(pairs, dtype=dtype))
        return found

    def num_anchors_per_location(self):
        """How many boxes a place of each map has: two of ratio 1, and two of each other."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def _grid_default_boxes(self, grid_sizes, image_size, dtype=dtypes.float32):
        """Middles and sides of all boxes of all maps."""
        found = []
        for place, (rows, columns) in enumerate(grid_sizes):
            down, across = rows, columns
            if self.steps is not None:
                down, across = image_size[0] / self.steps[place], image_size[1] / self.steps[place]
            vertical = ((functions.arange(0, rows) + 0.5) / down).to(dtype=dtype)
            x, y = crossed(vertical, ((functions.arange(0, columns) + 0.5) / across).to(dtype=dtype))
            pairs = self._wh_pairs[place]
            middles = functions.stack((x, y) * len(pairs), dim=-1).reshape(-1, 2)
            sides = (pairs.clamp(min=0, max=1) if self.clip else pairs).repeat(rows * columns, 1)
            found.append(functions.cat((middles, sides), dim=1))
        return functions.cat(found, dim=0)

    def __repr__(self):
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, scales={self.scales}, "
            f"steps={self.steps})"
        )

    def forward(self, image_list, feature_maps):
        grids = [tuple(each.shape[-2:]) for each in feature_maps]
        height, width = image_list.tensors.shape[-2:]
        boxes = self._grid_default_boxes(grids, (height, width), dtype=feature_maps[0].dtype)
        size = functions.tensor([width, height])
        middles, halves = boxes[:, :2], 0.5 * boxes[:, 2:]
        return [
            functions.cat([(middles - halves) * size, (middles + halves) * size], -1) for _ in image_list.image_sizes
        ]
