"""Random sizes and crops of samples, as trainings of detectors use them."""

from __future__ import annotations

from rushlight.ops.table import functions

from ... import tv_tensors
from ...images import is_pillow
from ...ops.boxes import box_iou
from ...tv_tensors import BoundingBoxes, Image
from ..draws import chance, integer
from ..interpolation import InterpolationMode, as_mode
from ..random_geometry import check_sequence
from .boxes import XYXY, converted, numbers_of, plain
from .geometry import crop, pad, resize
from .joint import Transform, is_pure_tensor, size_of

__all__ = ["RandomIoUCrop", "RandomResize", "RandomShortestSize", "RandomZoomOut", "ScaleJitter"]

BILINEAR = InterpolationMode.BILINEAR


def share():
    """A draw between 0 and 1."""
    return functions.rand(1).item()


class Sized(Transform):
    """What the classes that resize share; `make_params` draws a size."""

    def __init__(self, interpolation, antialias):
        super().__init__()
        self.interpolation = (
            InterpolationMode(interpolation) if isinstance(interpolation, str) else as_mode(interpolation)
        )
        self.antialias = antialias

    def transform(self, inpt, params):
        return resize(inpt, params["size"], self.interpolation, antialias=self.antialias)


class ScaleJitter(Sized):
    """A sample at a random scale, between `scale_range` of what fits into `target_size` (Ghiasi and others, 2020).

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import v2
    >>> v2.ScaleJitter((20, 20), scale_range=(0.5, 0.5))(torch.zeros(3, 40, 40)).shape
    torch.Size([3, 10, 10])
    """

    def __init__(self, target_size, scale_range=(0.1, 2.0), interpolation=BILINEAR, antialias=True):
        super().__init__(interpolation, antialias)
        self.target_size = target_size
        self.scale_range = scale_range

    def make_params(self, flat_inputs):
        height, width = size_of(flat_inputs)
        low, high = self.scale_range
        fitting = min(self.target_size[1] / height, self.target_size[0] / width)
        factor = fitting * (low + functions.rand(1) * (high - low))
        return {"size": (int(height * factor), int(width * factor))}


class RandomShortestSize(Sized):
    """A sample whose shorter edge is one of `min_size`, and whose longer one is `max_size` at most."""

    def __init__(self, min_size, max_size=None, interpolation=BILINEAR, antialias=True):
        super().__init__(interpolation, antialias)
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size

    def make_params(self, flat_inputs):
        height, width = size_of(flat_inputs)
        factor = self.min_size[integer(len(self.min_size))] / min(height, width)
        if self.max_size is not None:
            factor = min(factor, self.max_size / max(height, width))
        return {"size": (int(height * factor), int(width * factor))}


class RandomResize(Sized):
    """A sample whose shorter edge is drawn from `min_size` to `max_size` - 1."""

    def __init__(self, min_size, max_size, interpolation=BILINEAR, antialias=True):
        super().__init__(interpolation, antialias)
        self.min_size = min_size
        self.max_size = max_size

    def make_params(self, flat_inputs):
        return {"size": [self.min_size + integer(self.max_size - self.min_size)]}


class RandomZoomOut(Transform):
    """A sample at a random place of a canvas `side_range` times as large, with probability `p` (Liu and others, "SSD", 2015)."""

    def __init__(self, fill=0, side_range=(1.0, 4.0), p=0.5):
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        super().__init__()
        self.p = p
        self.fill = fill
        check_sequence(side_range, "side_range", (2,))
        self.side_range = side_range
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")

    def make_params(self, flat_inputs):
        if not chance(self.p):
            return {"padding": None}
        height, width = size_of(flat_inputs)
        low, high = self.side_range
        factor = low + functions.rand(1) * (high - low)
        wide, tall = int(width * factor), int(height * factor)
        across, down = functions.rand(2)
        left, top = int((wide - width) * across), int((tall - height) * down)
        return {"padding": [left, top, wide - (left + width), tall - (top + height)]}

    def transform(self, inpt, params):
        return inpt if params["padding"] is None else pad(inpt, params["padding"], self.fill)


class RandomIoUCrop(Transform):
    """A random part of a sample that holds the middle of a box, and enough of one (Liu and others, "SSD", 2015).

    How much is drawn from `sampler_options`, 1.0 meaning the whole sample; after `trials` parts that do not fit it is
    drawn anew. Boxes whose middle is outside become zeros, which ``SanitizeBoundingBoxes`` removes.
    """

    def __init__(
        self,
        min_scale=0.3,
        max_scale=1.0,
        min_aspect_ratio=0.5,
        max_aspect_ratio=2.0,
        sampler_options=None,
        trials=40,
    ):
        super().__init__()
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.min_aspect_ratio = min_aspect_ratio
        self.max_aspect_ratio = max_aspect_ratio
        self.options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] if sampler_options is None else sampler_options
        self.trials = trials

    def check_inputs(self, flat_inputs):
        boxes = any(isinstance(leaf, BoundingBoxes) for leaf in flat_inputs)
        images = any(isinstance(leaf, Image) or is_pillow(leaf) or is_pure_tensor(leaf) for leaf in flat_inputs)
        if not (boxes and images):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images and bounding boxes. "
                "Sample can also contain masks."
            )

    def make_params(self, flat_inputs):
        size = size_of(flat_inputs)
        boxes = next(leaf for leaf in flat_inputs if isinstance(leaf, BoundingBoxes))
        corners = converted(numbers_of(boxes), boxes.format, XYXY)
        while True:
            overlap = self.options[integer(len(self.options))]
            if overlap >= 1.0:
                return {}
            for _ in range(self.trials):
                part = self._part(*size)
                if part is None:
                    continue
                inside = middles_within(corners, part)
                if (
                    inside.any()
                    and box_iou(corners[inside], functions.tensor([part]).to(corners.dtype)).max() >= overlap
                ):
                    left, top, right, bottom = part
                    return {"box": (top, left, bottom - top, right - left), "inside": inside}

    def _part(self, height, width):
        """A random part (left, top, right, bottom), or None where its shape does not fit."""
        wide, tall = (
            int(size * (self.min_scale + (self.max_scale - self.min_scale) * draw))
            for size, draw in zip((width, height), functions.rand(2))
        )
        if not self.min_aspect_ratio <= wide / tall <= self.max_aspect_ratio:
            return None
        across, down = functions.rand(2)
        left, top = int((width - wide) * across), int((height - tall) * down)
        return (left, top, left + wide, top + tall) if wide and tall else None

    def transform(self, inpt, params):
        if not params:
            return inpt
        part = crop(inpt, *params["box"])
        if isinstance(part, BoundingBoxes):
            numbers = plain(part)
            numbers[~params["inside"]] = 0
            return tv_tensors.wrap(numbers, like=part)
        return part


def middles_within(corners, part):
    """Which boxes (N x 4, two corners each) have their middle inside of a part."""
    left, top, right, bottom = part
    across, down = (0.5 * (corners[:, way] + corners[:, way + 2]) for way in (0, 1))
    return (left < across) & (across < right) & (top < down) & (down < bottom)
