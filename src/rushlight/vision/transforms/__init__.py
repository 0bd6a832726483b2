"""Image transforms under torchvision's names: classes here, functions in ``functional``, newer names in ``v2``."""

from __future__ import annotations

from . import functional, v2
from .transforms import *
from .transforms import __all__
