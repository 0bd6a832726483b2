"""Fully convolutional networks."""

from __future__ import annotations

from ..weights import attribute_of
from ._shared import FCNHead, _SimpleSegmentationModel, segmenter

__all__ = ["FCN", "fcn_resnet50", "fcn_resnet101"]


class FCN(_SimpleSegmentationModel):
    """A classifier of each position (Long and others, "Fully Convolutional Networks for Semantic Segmentation", 2014)."""


fcn_resnet50 = segmenter("fcn_resnet50", FCN, FCNHead, "Long and others, 2014", __name__)
fcn_resnet101 = segmenter("fcn_resnet101", FCN, FCNHead, "Long and others, 2014", __name__)

__getattr__ = attribute_of(__name__)
