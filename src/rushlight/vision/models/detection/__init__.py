"""Models that find objects, under torchvision's names."""

from __future__ import annotations

from ..weights import attribute_of
from . import faster_rcnn as _faster_rcnn, fcos as _fcos, keypoint_rcnn as _keypoint_rcnn, mask_rcnn as _mask_rcnn
from . import retinanet as _retinanet, ssd as _ssd, ssdlite as _ssdlite
from .faster_rcnn import *
from .fcos import *
from .keypoint_rcnn import *
from .mask_rcnn import *
from .retinanet import *
from .ssd import *
from .ssdlite import *

__all__ = [
    *_faster_rcnn.__all__,
    *_fcos.__all__,
    *_keypoint_rcnn.__all__,
    *_mask_rcnn.__all__,
    *_retinanet.__all__,
    *_ssd.__all__,
    *_ssdlite.__all__,
]

__getattr__ = attribute_of(__name__)
