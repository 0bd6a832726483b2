"""Image transforms under torchvision's names: classes here, functions in ``functional``, newer names in ``v2``."""

from __future__ import annotations

import importlib

from . import functional
from .transforms import *
from .transforms import __all__


def __getattr__(name):
    if name == "v2":  # loaded when first asked for
        return importlib.import_module(".v2", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
