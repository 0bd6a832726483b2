"""Operations and blocks of image models under ``torchvision.ops``'s names."""

from __future__ import annotations

from . import misc as _misc
from . import stochastic_depth as _stochastic_depth
from .misc import *
from .stochastic_depth import *

__all__ = [*_misc.__all__, *_stochastic_depth.__all__]
