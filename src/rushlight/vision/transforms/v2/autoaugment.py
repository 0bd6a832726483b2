"""Augmentations drawn from a list as the second version draws them: for the one image of a sample, of any dtype."""

from __future__ import annotations

from rushlight.ops.table import functions
from rushlight.utils import _pytree as pytree

from ...images import is_array, is_tensor
from ...tv_tensors import BoundingBoxes, Mask, Video
from .. import autoaugment
from ..draws import integer
from ..tensor_casting import full_range
from .colors import equalize, posterize
from .joint import Joint, Transform, is_image, on_image, second_version, to_change

__all__ = ["AugMix", "AutoAugment", "RandAugment", "TrivialAugmentWide"]


class OneImage(Joint):
    """A transform of the one image or video that a sample has."""

    _colors = autoaugment.COLORS | {
        "Posterize": lambda img, magnitude: posterize(img, int(magnitude)),
        "Equalize": lambda img, magnitude: equalize(img),
    }

    @staticmethod
    def _negative():
        return functions.rand(1).item() <= 0.5

    @staticmethod
    def _thresholds(img, bins):
        white = full_range(img.dtype) if is_tensor(img) else 255.0
        return [white * share for share in functions.linspace(1.0, 0.0, bins).tolist()]

    def forward(self, *inputs):
        """The sample with its image changed; boxes and masks are refused."""
        if len(inputs) == 1 and is_array(inputs[0]):
            return super().forward(inputs[0])
        leaves, structure = pytree.tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        for leaf in leaves:
            if isinstance(leaf, (BoundingBoxes, Mask)):
                raise TypeError(f"Inputs of type {type(leaf).__name__} are not supported by {type(self).__name__}()")
        places = [place for place, change in enumerate(to_change(leaves)) if change and is_image(leaves[place])]
        if not places:
            raise TypeError("Found no image in the sample.")
        if len(places) > 1:
            raise TypeError(
                "Auto augment transformations are only properly defined for a single image or video, "
                f"but found {len(places)}."
            )
        image = leaves[places[0]]
        if isinstance(image, Video) and image.ndim == 4:  # one video is one image: its frames get the same weights
            leaves[places[0]] = on_image(image, lambda video: self._first(video.unsqueeze(0))[0])
        else:
            leaves[places[0]] = on_image(image, self._first)
        return pytree.tree_unflatten(leaves, structure)

    def _first(self, img):
        """`img` changed by the first version's class, with the draws of this one."""
        return super(Transform, self).forward(img)


class FromPolicy(OneImage):
    """A pair of a policy; an operation's sign is drawn only where the operation is."""

    def _chosen(self):
        for name, probability, place in self.policies[integer(len(self.policies))]:
            if functions.rand(1).item() <= probability:
                yield name, place, name in autoaugment.SIGNED and self._negative()


AutoAugment = second_version(autoaugment.AutoAugment, FromPolicy)
RandAugment = second_version(autoaugment.RandAugment, OneImage)
TrivialAugmentWide = second_version(autoaugment.TrivialAugmentWide, OneImage)
AugMix = second_version(autoaugment.AugMix, OneImage)
