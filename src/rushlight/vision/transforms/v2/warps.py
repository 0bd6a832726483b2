"""Rotations, affine and perspective maps, elastic moves of samples: pixels, masks, and boxes around their moved corners."""

from __future__ import annotations

import numpy as np

from rushlight.base import dtypes
from rushlight.ops.table import functions

from ... import tv_tensors
from ...images import is_tensor
from .. import elastic as first_elastic
from .. import functional, on_tensor, random_geometry
from ..draws import chance
from ..forms import operation
from ..interpolation import InterpolationMode
from .boxes import XYXY, as_image, clamped, converted, numbers_of
from .geometry import of_kind
from .joint import Joint, second_version, size_of

__all__ = ["ElasticTransform", "RandomAffine", "RandomPerspective", "RandomRotation"]

NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def moved_boxes(boxes, move, canvas_size=None):
    """The boxes that hold what `move`, a function of points (N x 2), makes of the corners."""
    if boxes.numel() == 0:
        return boxes
    canvas_size = boxes.canvas_size if canvas_size is None else canvas_size
    numbers = numbers_of(boxes)
    corners = converted(numbers if numbers.is_floating_point() else numbers.float(), boxes.format, XYXY)
    points = move(corners[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 2)).reshape(-1, 4, 2)
    around = functions.cat([points.amin(1), points.amax(1)], 1)
    around = converted(clamped(around, XYXY, canvas_size, boxes.clamping_mode), XYXY, boxes.format)
    return tv_tensors.wrap(around.to(boxes.dtype), like=boxes, canvas_size=canvas_size)


def projected(points, matrix):
    """Points (N x 2) under a projective map, a 3 x 3 array."""
    matrix = functions.from_numpy(matrix.T).to(points.dtype)
    whole = points @ matrix[:2] + matrix[2]
    return whole[:, :2] / whole[:, 2:]


def affine_map(canvas_size, angle, translate, scale, shear, center):
    """The map of an affine transform, 3 x 3, and that back as six numbers, in pixels from the top left."""
    height, width = canvas_size
    middle = [width * 0.5, height * 0.5] if center is None else center
    back = functional.inverse_affine_matrix(middle, angle, translate, scale, shear)
    return np.linalg.inv(np.array([*back, 0.0, 0.0, 1.0]).reshape(3, 3)), back


def rotate(inpt, angle, interpolation=NEAREST, expand=False, center=None, fill=None):
    """An image, a mask or boxes turned counter-clockwise by `angle` degrees; see ``transforms.functional.rotate``."""

    def image(img, interpolation=interpolation):
        return functional.rotate(img, angle, interpolation, expand, center, fill)

    def boxes(each):
        forth, back = affine_map(each.canvas_size, -angle, [0.0, 0.0], 1.0, [0.0, 0.0], center)
        if not expand:
            return moved_boxes(each, lambda points: projected(points, forth))
        height, width = each.canvas_size
        ends = functions.tensor([[0.0, 0.0], [0.0, height], [width, height], [width, 0.0]])
        corner = projected(ends, forth).amin(0)
        size = on_tensor.expanded_size(back, height, width)
        return moved_boxes(each, lambda points: projected(points, forth) - corner, size)

    return of_kind(inpt, image, boxes, lambda mask: as_image(mask, lambda img: image(img, NEAREST)))


def affine(inpt, angle, translate, scale, shear, interpolation=NEAREST, fill=None, center=None):
    """An image, a mask or boxes sheared, scaled, turned and moved; see ``transforms.functional.affine``."""

    def image(img, interpolation=interpolation):
        return functional.affine(img, angle, translate, scale, shear, interpolation, fill, center)

    def boxes(each):
        both = functional.checked_affine(angle, translate, scale, shear, center)
        forth, _ = affine_map(each.canvas_size, angle, translate, scale, both, center)
        return moved_boxes(each, lambda points: projected(points, forth))

    return of_kind(inpt, image, boxes, lambda mask: as_image(mask, lambda img: image(img, NEAREST)))


def perspective(inpt, startpoints, endpoints, interpolation=BILINEAR, fill=None, coefficients=None):
    """An image, a mask or boxes with four corners moved, or under the map whose way back is `coefficients`."""
    if coefficients is None:
        if startpoints is None or endpoints is None:
            raise ValueError("Either the startpoints/endpoints or the coefficients must have non `None` values.")
        coefficients = functional.perspective_coefficients(startpoints, endpoints)
    elif startpoints is not None and endpoints is not None:
        raise ValueError("The startpoints/endpoints and the coefficients shouldn't be defined concurrently.")
    elif len(coefficients) != 8:
        raise ValueError("Argument coefficients should have 8 float values")

    def image(img, interpolation=interpolation):
        return operation("perspective", img)(img, coefficients, interpolation, fill)

    def boxes(each):
        forth = np.linalg.inv(np.array([*coefficients, 1.0]).reshape(3, 3))
        return moved_boxes(each, lambda points: projected(points, forth))

    return of_kind(inpt, image, boxes, lambda mask: as_image(mask, lambda img: image(img, NEAREST)))


def elastic(inpt, displacement, interpolation=BILINEAR, fill=None):
    """An image, a mask or boxes with their pixels moved; see ``transforms.functional.elastic_transform``.

    A corner of a box moves against what the pixel under it is moved by.
    """

    def image(img, interpolation=interpolation):
        return first_elastic.elastic_transform(img, displacement, interpolation, fill)

    def boxes(each):
        height, width = each.canvas_size
        shape = (1, height, width, 2)
        if displacement.shape != shape:
            raise ValueError(f"Argument displacement shape should be {shape}, but given {displacement.shape}")
        places = (first_elastic.identity_grid(height, width) - displacement)[0]

        def move(points):
            across, down = points.ceil().to(dtypes.int64).unbind(1)
            found = places[down.clamp(0, height - 1), across.clamp(0, width - 1)]
            moved = (found + 1) * functions.tensor([0.5 * width, 0.5 * height]) - 0.5
            return moved if each.is_floating_point() else moved.trunc()

        return moved_boxes(each, move)

    if not is_tensor(displacement):
        raise TypeError("Argument displacement should be a Tensor")
    return of_kind(inpt, image, boxes, lambda mask: as_image(mask, lambda img: image(img, NEAREST)))


class Rotating(Joint):
    """A random angle."""

    def make_params(self, flat_inputs):
        return {"angle": self.get_params(self.degrees)}

    def transform(self, inpt, params):
        return rotate(inpt, params["angle"], self.interpolation, self.expand, self.center, self.fill)


class Affine(Joint):
    """A random affine map."""

    def make_params(self, flat_inputs):
        height, width = size_of(flat_inputs)
        return {"drawn": self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])}

    def transform(self, inpt, params):
        return affine(inpt, *params["drawn"], self.interpolation, self.fill, self.center)


class Perspective(Joint):
    """Random corners, by chance."""

    def make_params(self, flat_inputs):
        if not chance(self.p):
            return {"points": None}
        height, width = size_of(flat_inputs)
        return {"points": self.get_params(width, height, self.distortion_scale)}

    def transform(self, inpt, params):
        if params["points"] is None:
            return inpt
        return perspective(inpt, *params["points"], self.interpolation, self.fill)


class Elastic(Joint):
    """Smooth noise."""

    def make_params(self, flat_inputs):
        return {"displacement": self.get_params(self.alpha, self.sigma, list(size_of(flat_inputs)))}

    def transform(self, inpt, params):
        return elastic(inpt, params["displacement"], self.interpolation, self.fill)


RandomRotation = second_version(random_geometry.RandomRotation, Rotating)
RandomAffine = second_version(random_geometry.RandomAffine, Affine)
RandomPerspective = second_version(random_geometry.RandomPerspective, Perspective)
ElasticTransform = second_version(first_elastic.ElasticTransform, Elastic)
