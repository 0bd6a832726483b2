"""The constructors of models by name."""

from __future__ import annotations

import functools
import inspect
import warnings
from fnmatch import fnmatch

from ._utils import _ovewrite_named_param
from .weights import WeightsEnum, enum_of_model

BUILDERS = {}


def register_model(name=None):
    """A decorator that enters a constructor under `name`, or its own; ``ValueError`` where there is one already."""

    def enter(builder):
        key = builder.__name__ if name is None else name
        if key in BUILDERS:
            raise ValueError(f"An entry is already registered under the name '{key}'.")
        BUILDERS[key] = builder
        return builder

    return enter


def define(name, construct, paper, module, adjust=None, convert=None, finish=None):
    """The public constructor of the model `name`, entered in the registry.

    ``construct(**kwargs)`` makes the untrained model. With ``weights=`` the arguments that the weights decide are set
    (``adjust(kwargs, weights)`` knows further ones), the state is loaded (after ``convert(state)``), and
    ``finish(model, kwargs as given)`` comes last.
    """

    def build(*, weights=None, progress=True, **kwargs):
        enum = enum_of_model(name)
        weights = weights if weights is None else enum.verify(weights)
        if weights is None:
            return construct(**kwargs)
        asked = dict(kwargs)
        if adjust is not None:
            adjust(kwargs, weights)
        if weights.meta["categories"] is not None:
            _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
        model = construct(**kwargs)
        state = weights.get_state_dict(progress=progress, check_hash=True)
        model.load_state_dict(state if convert is None else convert(state))
        if finish is not None:
            finish(model, asked)
        return model

    build.__doc__ = (
        f"The model {name} ({paper}), untrained or with the trained `weights` of ``get_model_weights({name!r})``."
    )
    return register_model()(taking_old_arguments(build, name, module))


def taking_old_arguments(build, name, module):
    """`build`, also called as before torchvision 0.13: ``pretrained=``, and both arguments by position."""

    @functools.wraps(build)
    def builder(*args, **kwargs):
        if args:
            names = ("weights", "progress")[: len(args)]
            if len(args) > 2:
                raise TypeError(f"{name}() takes from 0 to 2 positional arguments but {len(args)} were given")
            warnings.warn(
                f"Using {' and '.join(repr(each) for each in names)} as positional parameter(s) is deprecated since 0.13 "
                "and may be removed in the future. Please use keyword parameter(s) instead.",
                stacklevel=2,
            )
            kwargs.update(zip(names, args))
        given = kwargs.get("weights")
        if "pretrained" in kwargs or not (given is None or isinstance(given, (str, WeightsEnum))):
            kwargs["weights"] = weights_of_old_arguments(name, kwargs)
        return build(**kwargs)

    builder.__name__ = builder.__qualname__ = name
    builder.__module__ = module
    builder.__signature__ = inspect.signature(build)
    return builder


def weights_of_old_arguments(name, kwargs):
    """What ``pretrained=`` (taken out of `kwargs`) or a truth value for ``weights`` stands for, with its warnings."""
    if "pretrained" in kwargs:
        asked = kwargs.pop("pretrained")
        warnings.warn(
            "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, please use 'weights' "
            "instead.",
            stacklevel=3,
        )
    else:
        asked = kwargs["weights"]
    enum = enum_of_model(name)
    weights = enum.legacy() if asked else None
    if asked and weights is None:
        raise ValueError(f"No weights available for model {name}")
    message = (
        "Arguments other than a weight enum or `None` for 'weights' are deprecated since 0.13 and may be removed in the "
        f"future. The current behavior is equivalent to passing `weights={weights}`."
    )
    if asked:
        message += f" You can also use `weights={enum.__name__}.DEFAULT` to get the most up-to-date weights."
    warnings.warn(message, stacklevel=3)
    return weights


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
