"""Trained weights of the models: ``weights=`` enums with what is known of each, and the download of their states.

What is known stands in ``data/weights.json``; an enum is made of it when it is first asked for.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ..transforms import _presets
from ..transforms.interpolation import InterpolationMode

DATA = Path(__file__).parent.parent / "data"


@dataclass
class Weights:
    """One set of trained weights: where its state lies, the transform of its images, and what is known of it."""

    url: str
    transforms: Callable
    meta: dict[str, Any]

    def __eq__(self, other):
        if not isinstance(other, Weights):
            return NotImplemented
        return (self.url, self.meta, parts(self.transforms)) == (other.url, other.meta, parts(other.transforms))


def parts(transforms):
    """What two transforms are compared by: `partial` objects by what they hold."""
    if isinstance(transforms, functools.partial):
        return transforms.func, transforms.args, transforms.keywords
    return transforms


class WeightsEnum(Enum):
    """The sets of weights of a model, each a `Weights`; ``DEFAULT`` is the best of them."""

    @classmethod
    def verify(cls, obj):
        """The member that `obj` is or names (with or without the name of the class); None stays None."""
        if obj is None or isinstance(obj, cls):
            return obj
        if type(obj) is str:
            return cls[obj.replace(cls.__name__ + ".", "")]
        raise TypeError(
            f"Invalid Weight class provided; expected {cls.__name__} but received {obj.__class__.__name__}."
        )

    @classmethod
    def legacy(cls):
        """What ``pretrained=True`` stood for, or None."""
        name = catalogue()[cls.__name__]["legacy"]
        return None if name is None else cls[name]

    def get_state_dict(self, *args, **kwargs):
        """The state, by ``hub.load_state_dict_from_url``, whose further arguments are taken."""
        return importlib.import_module("rushlight.hub").load_state_dict_from_url(self.url, *args, **kwargs)

    def __reduce_ex__(self, protocol):
        return getattr, (type(self), self._name_)  # by name: what is known may hold a NaN, which equals nothing

    def __repr__(self):
        return f"{type(self).__name__}.{self._name_}"

    @property
    def url(self):
        """Where the state lies; the name of the file ends in the first digits of its SHA-256."""
        return self.value.url

    @property
    def transforms(self):
        """Makes, when called, the transform that images need."""
        return self.value.transforms

    @property
    def meta(self):
        """What is known: number of parameters, categories, accuracy, least size, ..."""
        return self.value.meta


@functools.cache
def catalogue():
    """What the file says, by the name of the enum."""
    return json.loads((DATA / "weights.json").read_text(encoding="utf-8"))


@functools.cache
def categories(name):
    """The names of a data set's categories, in order."""
    return (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()


@functools.cache
def enum_named(name):
    """The enum of that name; KeyError where there is none."""
    entry = catalogue()[name]
    members = [(each, made(facts)) for each, facts in entry["weights"].items()]
    members.append(("DEFAULT", dict(members)[entry["default"]]))
    return WeightsEnum(name, members, module=__name__.rpartition(".")[0])


def made(facts):
    """The `Weights` of one entry of the file."""
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in facts["transforms"].items()}
    if "interpolation" in options:
        options["interpolation"] = InterpolationMode(options["interpolation"])
    meta = dict(facts["meta"])
    if isinstance(meta.get("categories"), str):
        meta["categories"] = categories(meta["categories"])
    if "min_size" in meta:
        meta["min_size"] = tuple(meta["min_size"])
    preset = getattr(_presets, facts.get("preset", "ImageClassification"))
    return Weights(facts["url"], functools.partial(preset, **options), meta)


def enum_of_model(model):
    """The enum of the model of that name."""
    for name, entry in catalogue().items():
        if entry["model"] == model:
            return enum_named(name)
    raise ValueError(f"No weights available for model {model}")


def get_weight(name):
    """A set of weights by its full name.

    >>> from rushlight.vision import models
    >>> models.get_weight("ResNet50_Weights.IMAGENET1K_V2").meta["num_params"]
    25557032
    """
    try:
        enum, member = name.split(".")
    except ValueError:
        raise ValueError(f"Invalid weight name provided: '{name}'.") from None
    if enum not in catalogue():
        raise ValueError(f"The weight enum '{enum}' for the specific method couldn't be retrieved.")
    return enum_named(enum)[member]


def get_model_weights(name):
    """The enum of a model's weights, by the model's name or its constructor.

    >>> from rushlight.vision import models
    >>> list(models.get_model_weights("resnet18"))
    [ResNet18_Weights.IMAGENET1K_V1]
    """
    return enum_of_model(name.lower() if isinstance(name, str) else name.__name__)


def attribute_of(module):
    """A module's ``__getattr__`` under which the enums of weights are found."""

    def __getattr__(name):
        if name.endswith("_Weights") and name in catalogue():
            return enum_named(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__
