"""What happens to images before a detector sees them, and to its results afterwards: sizes, normalisation, one batch."""

from __future__ import annotations

import math

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from .image_list import ImageList
from .roi_masks import paste_masks_in_image


def _resize_image_and_masks(image, self_min_size, self_max_size, target=None, fixed_size=None):
    """The image, and the masks of its target, scaled: the shorter side to one length unless the longer one got too long."""
    options = {"size": None, "scale_factor": None, "recompute_scale_factor": None}
    if fixed_size is not None:
        options["size"] = [fixed_size[1], fixed_size[0]]
    else:
        sides = image.shape[-2:]
        options["scale_factor"] = min(self_min_size / min(sides), self_max_size / max(sides))
        options["recompute_scale_factor"] = True
    image = nn.functional.interpolate(image[None], mode="bilinear", align_corners=False, **options)[0]
    if target is not None and "masks" in target:
        masks = nn.functional.interpolate(target["masks"][:, None].float(), **options)
        target["masks"] = masks[:, 0].byte()
    return image, target


class GeneralizedRCNNTransform(nn.Module):
    """Normalises images, scales them, and pads them to one batch; brings results back to the sizes of the images given.

    Args:
        min_size: length of the shorter side; of several one is drawn for each image in training, the last is taken otherwise.
        max_size: what the longer side may be.
        image_mean, image_std: of each channel.
        size_divisible: sides of the batch are a multiple of it.
        fixed_size: (width, height) of all images, instead.
    """

    def __init__(self, min_size, max_size, image_mean, image_std, size_divisible=32, fixed_size=None, **kwargs):
        super().__init__()
        self.min_size = min_size if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(self, images, targets=None):
        images, targets = list(images), None if targets is None else [dict(each) for each in targets]
        for place, image in enumerate(images):
            if image.dim() != 3:
                raise ValueError(f"images is expected to be a list of 3d tensors of shape [C, H, W], got {image.shape}")
            target = None if targets is None else targets[place]
            images[place], target = self.resize(self.normalize(image), target)
            if targets is not None:
                targets[place] = target
        sizes = [tuple(image.shape[-2:]) for image in images]
        return ImageList(self.batch_images(images, size_divisible=self.size_divisible), sizes), targets

    def normalize(self, image):
        """The image less the means, in units of the deviations."""
        if not image.is_floating_point():
            raise TypeError(
                f"Expected input images to be of floating type (in range [0, 1]), but found type {image.dtype} instead"
            )
        mean, deviation = (functions.tensor(each, dtype=image.dtype) for each in (self.image_mean, self.image_std))
        return (image - mean[:, None, None]) / deviation[:, None, None]

    def torch_choice(self, k):
        """One of several, drawn."""
        return k[int(functions.empty(1).uniform_(0.0, float(len(k))).item())]

    def resize(self, image, target=None):
        """The image and its target, scaled."""
        before = tuple(image.shape[-2:])
        if self.training and self._skip_resize:
            return image, target
        size = self.torch_choice(self.min_size) if self.training else self.min_size[-1]
        image, target = _resize_image_and_masks(image, size, self.max_size, target, self.fixed_size)
        if target is not None:
            after = tuple(image.shape[-2:])
            target["boxes"] = resize_boxes(target["boxes"], before, after)
            if "keypoints" in target:
                target["keypoints"] = resize_keypoints(target["keypoints"], before, after)
        return image, target

    def max_by_axis(self, the_list):
        """The largest of each column."""
        return [max(column) for column in zip(*the_list)]

    def batch_images(self, images, size_divisible=32):
        """The images in one tensor, zeros around them."""
        channels, *sides = self.max_by_axis([list(image.shape) for image in images])
        sides = [math.ceil(side / size_divisible) * size_divisible for side in sides]
        batch = images[0].new_full((len(images), channels, *sides), 0)
        for place, image in zip(batch, images):
            place[: image.shape[0], : image.shape[1], : image.shape[2]].copy_(image)
        return batch

    def postprocess(self, result, image_shapes, original_image_sizes):
        """Results in the coordinates of the images that were given; in training there are none."""
        if self.training:
            return result
        for found, size, original in zip(result, image_shapes, original_image_sizes):
            found["boxes"] = resize_boxes(found["boxes"], size, original)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], found["boxes"], original)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], size, original)
        return result

    def __repr__(self):
        return (
            f"{type(self).__name__}(\n    Normalize(mean={self.image_mean}, std={self.image_std})\n    "
            f"Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )


def ratios(original_size, new_size):
    """How much higher and wider, as float32 scalars."""
    pairs = zip(new_size, original_size)
    return [
        functions.tensor(new, dtype=dtypes.float32) / functions.tensor(old, dtype=dtypes.float32) for new, old in pairs
    ]


def resize_keypoints(keypoints, original_size, new_size):
    """Points (x, y, visible) of an image that has got another size."""
    higher, wider = ratios(original_size, new_size)
    return functions.stack((keypoints[..., 0] * wider, keypoints[..., 1] * higher, keypoints[..., 2]), dim=-1)


def resize_boxes(boxes, original_size, new_size):
    """Boxes of an image that has got another size."""
    higher, wider = ratios(original_size, new_size)
    left, top, right, bottom = boxes.unbind(1)
    return functions.stack((left * wider, top * higher, right * wider, bottom * higher), dim=1)
