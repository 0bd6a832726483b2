"""Transforms of whole samples: images with their boxes and masks, in any nest of tuples, lists and dicts.

A class of the first version, which changes one image, becomes one of the second by `Joint`: a plain image goes the old
way (arrays and batches of datasets too); anything else is taken apart, its parameters are drawn once, and each part is
changed as its kind asks. The first plain tensor counts as an image where the sample has no other; further ones stay.
"""

from __future__ import annotations

import inspect

from rushlight import random
from rushlight.base.errors import hinted
from rushlight.nn import Module
from rushlight.utils import _pytree as pytree

from ... import tv_tensors
from ...images import is_array, is_pillow, is_tensor
from ...tv_tensors import BoundingBoxes, Image, Mask, TVTensor, Video
from .. import functional
from ..interpolation import InterpolationMode
from .boxes import plain


def is_pure_tensor(inpt):
    """Whether `inpt` is a tensor that does not say what it is."""
    return is_tensor(inpt) and not isinstance(inpt, TVTensor)


def is_image(inpt):
    """Whether `inpt` is an image, of any form."""
    return isinstance(inpt, (Image, Video)) or is_pillow(inpt) or is_pure_tensor(inpt) or is_array(inpt)


def to_change(leaves):
    """For each part of a sample whether a transform looks at it."""
    free = not any(isinstance(leaf, (Image, Video)) or is_pillow(leaf) for leaf in leaves)
    chosen = []
    for leaf in leaves:
        if is_pure_tensor(leaf):
            chosen.append(free)
            free = False
        else:
            chosen.append(is_tensor(leaf) or is_pillow(leaf))
    return chosen


def size_of(leaves):
    """(height, width) of a sample, on which all its parts must agree."""
    sizes = set()
    for leaf in leaves:
        if isinstance(leaf, BoundingBoxes):
            sizes.add(tuple(leaf.canvas_size))
        elif isinstance(leaf, Mask):
            sizes.add(tuple(leaf.shape[-2:]))
        elif is_image(leaf):
            sizes.add(tuple(functional.get_dimensions(leaf)[1:]))
    if not sizes:
        raise TypeError("No image, video, mask, bounding box of keypoint was found in the sample")
    if len(sizes) > 1:
        raise ValueError(f"Found multiple HxW dimensions in the sample: {' and '.join(map(str, sorted(sizes)))}")
    return sizes.pop()


def on_image(inpt, function, *args, **kwargs):
    """`function` of an image; the result, or each of several, is of the image's class."""
    if not isinstance(inpt, TVTensor):
        return function(inpt, *args, **kwargs)
    made = function(plain(inpt), *args, **kwargs)
    if isinstance(made, tuple):
        return tuple(tv_tensors.wrap(each, like=inpt) for each in made)
    return tv_tensors.wrap(made, like=inpt)


class Transform(Module):
    """The base of transforms of samples: a subclass says `make_params(flat_inputs)` and `transform(inpt, params)`.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import v2
    >>> class Doubled(v2.Transform):
    ...     def transform(self, inpt, params):
    ...         return inpt * 2
    >>> Doubled()({"image": torch.ones(1, 2, 2), "label": 3})["image"].sum()
    tensor(8.)
    """

    def check_inputs(self, flat_inputs):
        """Refuse what cannot be transformed."""

    def make_params(self, flat_inputs):
        """What is drawn once for the parts of a sample."""
        return {}

    def transform(self, inpt, params):
        """A part of the sample, changed."""
        raise NotImplementedError

    def forward(self, *inputs):
        """The sample, changed."""
        return changed(self, inputs)

    def extra_repr(self):
        """The arguments that can be printed."""
        kinds = (bool, int, float, str, tuple, list)
        return ", ".join(
            f"{name}={value}"
            for name, value in vars(self).items()
            if not name.startswith("_") and name != "training" and isinstance(value, kinds)
        )


def changed(transform, inputs, choose=to_change):
    """A sample taken apart, changed and put together again."""
    leaves, structure = pytree.tree_flatten(inputs if len(inputs) > 1 else inputs[0])
    transform.check_inputs(leaves)
    chosen = choose(leaves)
    params = transform.make_params([leaf for leaf, change in zip(leaves, chosen) if change])
    made = [transform.transform(leaf, params) if change else leaf for leaf, change in zip(leaves, chosen)]
    return pytree.tree_unflatten(made, structure)


class Joint(Transform):
    """Mixed in before a class of the first version; names of interpolations are understood, too."""

    def __init__(self, *args, **kwargs):
        if isinstance(kwargs.get("interpolation"), str):
            kwargs["interpolation"] = InterpolationMode(kwargs["interpolation"])
        super().__init__(*args, **kwargs)

    def forward(self, *inputs):
        if len(inputs) == 1 and (is_array(inputs[0]) or is_pillow(inputs[0]) or is_pure_tensor(inputs[0])):
            return super(Transform, self).forward(inputs[0])
        return changed(self, inputs)

    def extra_repr(self):
        return super(Transform, self).extra_repr()


class ColorsOnly(Joint):
    """A transform that leaves boxes and masks as they are; several images of a sample get the same draws."""

    def make_params(self, flat_inputs):
        return {"state": random.get_rng_state()}

    def transform(self, inpt, params):
        if not is_image(inpt):
            return inpt
        random.set_rng_state(params["state"])
        return on_image(inpt, super(Transform, self).forward)


class ImagesOnly(ColorsOnly):
    """A transform that moves pixels and does not know how boxes and masks move: samples that have some are refused."""

    def check_inputs(self, flat_inputs):
        for leaf in flat_inputs:
            if isinstance(leaf, (BoundingBoxes, Mask)):
                raise NotImplementedError(
                    hinted(
                        f"{type(self).__name__} of {type(leaf).__name__} does not exist here",
                        "flips, crops, Resize and Pad move boxes and masks",
                    )
                )


def second_version(first, kind):
    """The class of the second version that a class of the first becomes; fast paths for arrays and batches stay."""
    kept = {name: vars(first)[name] for name in ("on_arrays", "batch") if name in vars(first)}
    kept["__signature__"] = inspect.signature(first)
    facts = {"__doc__": first.__doc__, "__module__": __name__.rpartition(".")[0], **kept}
    return type(first.__name__, (kind, first), facts)
