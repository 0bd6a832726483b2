"""Bounding boxes made fit: other formats, cut off at the borders, without those that are too small."""

from __future__ import annotations

from rushlight.utils import _pytree as pytree

from ... import tv_tensors
from ...ops.boxes import box_convert
from ...tv_tensors import BoundingBoxes, BoundingBoxFormat, Mask
from .boxes import clamp_bounding_boxes, convert_bounding_box_format, numbers_of
from .joint import Transform
from .mixing import getter

__all__ = ["ClampBoundingBoxes", "ConvertBoundingBoxFormat", "SanitizeBoundingBoxes"]


class ConvertBoundingBoxFormat(Transform):
    """The boxes of a sample in another format, a ``BoundingBoxFormat`` or its name."""

    def __init__(self, format):
        super().__init__()
        self.format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format

    def transform(self, inpt, params):
        if not isinstance(inpt, BoundingBoxes):
            return inpt
        return convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """The boxes of a sample cut off at the borders of the image."""

    def __init__(self, clamping_mode="auto"):
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt, params):
        if not isinstance(inpt, BoundingBoxes):
            return inpt
        return clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


def fit_boxes(boxes, min_size, min_area):
    """Which boxes are within the image and large enough."""
    corners = box_convert(numbers_of(boxes).float(), boxes.format.value.lower(), "xyxy")
    width, height = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    tall, wide = boxes.canvas_size
    inside = (
        (corners >= 0).all(dim=-1) & (corners[:, 0::2] <= wide).all(dim=-1) & (corners[:, 1::2] <= tall).all(dim=-1)
    )
    return (width >= min_size) & (height >= min_size) & (width * height >= min_area) & inside


class SanitizeBoundingBoxes(Transform):
    """A sample without the boxes that are too small or reach over the borders, and without their labels and masks."""

    def __init__(self, min_size=1.0, min_area=1.0, labels_getter="default"):
        super().__init__()
        if min_size < 1:
            raise ValueError(f"min_size must be >= 1, got {min_size}.")
        if min_area < 1:
            raise ValueError(f"min_area must be >= 1, got {min_area}.")
        self.min_size = min_size
        self.min_area = min_area
        self.labels_getter = labels_getter
        self._labels_getter = getter(labels_getter)

    def forward(self, *inputs):
        """The sample, cleaned."""
        sample = inputs if len(inputs) > 1 else inputs[0]
        labels = self._labels_getter(sample)
        labels = list(labels) if isinstance(labels, (tuple, list)) else [] if labels is None else [labels]
        leaves, structure = pytree.tree_flatten(sample)
        boxes = next((leaf for leaf in leaves if isinstance(leaf, BoundingBoxes)), None)
        if boxes is None:
            raise ValueError("No bounding boxes were found in the sample")
        for label in labels:
            if label.shape[0] != boxes.shape[0]:
                raise ValueError(
                    f"Number of boxes (shape={boxes.shape}) and must match the number of labels.Found labels with "
                    f"shape={label.shape})."
                )
        fit = fit_boxes(boxes, self.min_size, self.min_area)
        made = []
        for leaf in leaves:
            if isinstance(leaf, BoundingBoxes) or (isinstance(leaf, Mask) and leaf.shape[0] == fit.shape[0]):
                made.append(tv_tensors.wrap(leaf[fit], like=leaf))
            else:
                made.append(leaf[fit] if any(leaf is label for label in labels) else leaf)
        return pytree.tree_unflatten(made, structure)
