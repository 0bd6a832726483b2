"""Operations and blocks of image models under ``torchvision.ops``'s names."""

from __future__ import annotations

from . import boxes as _boxes
from . import deform_conv as _deform_conv
from . import drop_block as _drop_block
from . import feature_pyramid_network as _feature_pyramid_network
from . import losses as _losses
from . import misc as _misc
from . import poolers as _poolers
from . import regions as _regions
from . import stochastic_depth as _stochastic_depth
from .boxes import *
from .deform_conv import *
from .drop_block import *
from .feature_pyramid_network import *
from .losses import *
from .misc import *
from .poolers import *
from .regions import *
from .stochastic_depth import *

__all__ = [
    *_boxes.__all__,
    *_deform_conv.__all__,
    *_drop_block.__all__,
    *_feature_pyramid_network.__all__,
    *_losses.__all__,
    *_misc.__all__,
    *_poolers.__all__,
    *_regions.__all__,
    *_stochastic_depth.__all__,
]
