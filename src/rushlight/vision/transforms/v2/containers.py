"""Transforms made of transforms, for samples of any form."""

from __future__ import annotations

from rushlight.ops.table import functions

from .. import containers
from .joint import Joint, second_version

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]


def in_turn(transforms, inputs):
    """The transforms one after the other; several inputs stay several."""
    several = len(inputs) > 1
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = outputs if several else (outputs,)
    return inputs if several else inputs[0]


class Compose(containers.Compose):
    __doc__ = containers.Compose.__doc__

    on_arrays = vars(containers.Compose)["on_arrays"]
    batch = vars(containers.Compose)["batch"]

    def __init__(self, transforms):
        if not isinstance(transforms, (list, tuple)):
            raise TypeError("Argument transforms should be a sequence of callables")
        if not transforms:
            raise ValueError("Pass at least one transform")
        super().__init__(transforms)

    def __call__(self, *inputs):
        return in_turn(self.transforms, inputs)


class Applying(Joint):
    """All of a list, or none."""

    def forward(self, *inputs):
        if functions.rand(1) >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return in_turn(self.transforms, inputs)


RandomApply = second_version(containers.RandomApply, Applying)


class RandomChoice(Joint):
    """One transform of a list, with the weights `p` (None: all alike)."""

    def __init__(self, transforms, p=None):
        super().__init__()
        if p is not None and len(p) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(p)} != {len(transforms)}")
        weights = [1] * len(transforms) if p is None else p
        self.transforms = transforms
        self.p = [weight / sum(weights) for weight in weights]

    def forward(self, *inputs):
        """The sample, changed by one of them."""
        return self.transforms[int(functions.multinomial(functions.tensor(self.p), 1))](*inputs)


class RandomOrder(Joint):
    """All transforms of a list, in a drawn order."""

    def __init__(self, transforms):
        super().__init__()
        self.transforms = transforms

    def forward(self, *inputs):
        """The sample, changed by all of them."""
        order = functions.randperm(len(self.transforms)).tolist()
        return in_turn([self.transforms[index] for index in order], inputs)
