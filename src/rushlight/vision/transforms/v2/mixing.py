"""MixUp and CutMix: batches in which each image is mixed with its neighbour, and so are the labels."""

from __future__ import annotations

import math

from rushlight.base.errors import hinted
from rushlight.ops.table import functions
from rushlight.utils import _pytree as pytree

from ...images import is_pillow, is_tensor
from ...tv_tensors import BoundingBoxes, Image, Mask, Video
from .. import functional
from ..draws import integer
from .joint import Transform, is_pure_tensor, on_image, to_change

__all__ = ["MixUp", "CutMix"]


def labels_of(sample):
    """The labels of a sample: the second of a tuple, or what a dict calls labels."""
    if isinstance(sample, (tuple, list)):
        sample = sample[1]
    if is_pure_tensor(sample):
        return sample
    if not isinstance(sample, dict):
        raise ValueError(
            "When using the default labels_getter, the input passed to forward must be a dictionary or a two-tuple whose "
            f"second item is a dictionary or a tensor, but got {sample} instead."
        )
    for fits in (lambda key: key.lower() == "labels", lambda key: "label" in key.lower()):
        for key in sample:
            if fits(key):
                return sample[key]
    raise ValueError(
        "Could not infer where the labels are in the sample. Try passing a callable as the labels_getter parameter?If there "
        "are no labels in the sample by design, pass labels_getter=None."
    )


def getter(labels_getter):
    """The function that finds the labels of a sample."""
    if labels_getter == "default":
        return labels_of
    if callable(labels_getter):
        return labels_getter
    if labels_getter is None:
        return lambda sample: None
    raise ValueError(f"labels_getter should either be 'default', a callable, or None, but got {labels_getter}.")


class Mixing(Transform):
    """What both share: a share drawn from a Beta distribution, the checks, the mixed labels."""

    def __init__(self, *, alpha=1.0, num_classes=None, labels_getter="default"):
        super().__init__()
        self.alpha = float(alpha)
        self.num_classes = num_classes
        self._labels_getter = getter(labels_getter)

    def forward(self, *inputs):
        sample = inputs if len(inputs) > 1 else inputs[0]
        leaves, structure = pytree.tree_flatten(sample)
        if any(is_pillow(leaf) or isinstance(leaf, (BoundingBoxes, Mask)) for leaf in leaves):
            raise ValueError(
                f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints and masks."
            )
        labels = self._labels_getter(sample)
        self._check(labels)
        chosen = to_change(leaves)
        images = [leaf for leaf, change in zip(leaves, chosen) if change]
        params = {"labels": labels, **self.make_params(images)}
        made = [
            self.transform(leaf, params) if change or leaf is labels else leaf for leaf, change in zip(leaves, chosen)
        ]
        return pytree.tree_unflatten(made, structure)

    def _share(self):
        """A draw of Beta(alpha, alpha)."""
        return functions._sample_dirichlet(functions.tensor([[self.alpha, self.alpha]]))[0, 0].item()

    def _check(self, labels):
        if not is_tensor(labels):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) or probability based with shape (batch_size, "
                f"num_classes), but got a tensor of shape {labels.shape} instead."
            )
        if labels.ndim == 2 and self.num_classes is not None and labels.shape[-1] != self.num_classes:
            raise ValueError(
                "When passing 2D labels, the number of elements in last dimension must match num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}. You can Leave num_classes to None."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")

    def _check_batch(self, images, count):
        dimensions = 5 if isinstance(images, Video) else 4
        if images.ndim != dimensions:
            raise ValueError(
                hinted(
                    f"Expected a batched input with {dimensions} dims, but got {images.ndim} dimensions instead.",
                    "mix batches, behind the loader or in its collate_fn",
                )
            )
        if images.shape[0] != count:
            raise ValueError(
                "The batch size of the image or video does not match the batch size of the labels: "
                f"{images.shape[0]} != {count}."
            )

    def transform(self, inpt, params):
        labels = params["labels"]
        if inpt is labels:
            if labels.ndim == 1:
                labels = functions.one_hot(labels, self.num_classes)
            labels = labels if labels.is_floating_point() else labels.float()
            return mixed(labels, params["share"])
        if not (isinstance(inpt, (Image, Video)) or is_pure_tensor(inpt)):
            return inpt
        self._check_batch(inpt, labels.shape[0])
        return on_image(inpt, self.mix, params)


def mixed(tensor, share):
    """Each entry times `share` plus the one before it times the rest."""
    return tensor.roll(1, 0).mul_(1.0 - share).add_(tensor.mul(share))


class MixUp(Mixing):
    """Each image of a batch, and its label, mixed with the one before it (Zhang and others, "mixup", 2017).

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import v2
    >>> images, labels = v2.MixUp(num_classes=3)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))
    >>> images.shape, labels.shape
    (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]))
    """

    def make_params(self, flat_inputs):
        return {"share": self._share()}

    def mix(self, images, params):
        """The images mixed."""
        return mixed(images, params["share"])


class CutMix(Mixing):
    """Each image of a batch with a box of the one before it, labels by area (Yun and others, "CutMix", 2019)."""

    def make_params(self, flat_inputs):
        share = self._share()
        height, width = functional.get_dimensions(flat_inputs[0])[1:]
        middle_across, middle_down = integer(width), integer(height)
        reach = 0.5 * math.sqrt(1.0 - share)
        across, down = int(reach * width), int(reach * height)
        left, right = max(middle_across - across, 0), min(middle_across + across, width)
        top, bottom = max(middle_down - down, 0), min(middle_down + down, height)
        return {
            "box": (slice(top, bottom), slice(left, right)),
            "share": 1.0 - (right - left) * (bottom - top) / (width * height),
        }

    def mix(self, images, params):
        """The images with boxes of their neighbours."""
        rows, columns = params["box"]
        result = images.clone()
        result[..., rows, columns] = images.roll(1, 0)[..., rows, columns]
        return result
