"""The constructors of models by name."""

from __future__ import annotations

from fnmatch import fnmatch

BUILDERS = {}


def register_model(builder):
    """Enter a constructor under its own name."""
    BUILDERS[builder.__name__] = builder
    return builder


def refuse_weights(weights):
    """Only untrained models can be made so far; say how a checkpoint is loaded instead."""
    if weights is not None:
        raise NotImplementedError(
            "Rushlight has no trained weights to download for its models\n"
            "hint: make the model with weights=None and load torchvision's checkpoint file with load_state_dict"
        )


def get_model_builder(name):
    """The constructor of a model.

    >>> from rushlight.vision import models
    >>> models.get_model_builder("resnet18") is models.resnet18
    True
    """
    try:
        return BUILDERS[name.lower()]
    except KeyError:
        raise ValueError(f"Unknown model {name}\nhint: list_models() names those that exist") from None


def get_model(name, **config):
    """A model by its name, made with the constructor's arguments."""
    return get_model_builder(name)(**config)


def list_models(module=None, include=None, exclude=None):
    """The names of the models, in order; ``include`` and ``exclude`` are shell patterns or lists of them."""
    names = {
        name
        for name, made in BUILDERS.items()
        if module is None or made.__module__.rsplit(".", 1)[0] == module.__name__
    }
    if include:
        names = {name for name in names if matches(name, include)}
    if exclude:
        names = {name for name in names if not matches(name, exclude)}
    return sorted(names)


def matches(name, patterns):
    return any(fnmatch(name, pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns))
