"""Models of segmentation under torchvision's names."""

from __future__ import annotations

from ..weights import attribute_of
from .deeplabv3 import *
from .deeplabv3 import __all__ as _deeplabv3
from .fcn import *
from .fcn import __all__ as _fcn
from .lraspp import *
from .lraspp import __all__ as _lraspp

__all__ = [*_deeplabv3, *_fcn, *_lraspp]

__getattr__ = attribute_of(__name__)
