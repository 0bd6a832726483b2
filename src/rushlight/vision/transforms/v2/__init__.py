"""The names of ``torchvision.transforms.v2`` for plain images: those of the first version, and a few new ones."""

from __future__ import annotations

from ..transforms import *
from ..transforms import __all__ as _first_version
from . import functional
from .conversion import Identity, ToDtype, ToImage, ToPureTensor

__all__ = [*_first_version, "Identity", "ToDtype", "ToImage", "ToPureTensor", "functional"]
