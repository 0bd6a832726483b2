"""DeepLab v3."""

from __future__ import annotations

from rushlight.ops.table import functions

from .... import nn
from ..weights import attribute_of
from ._shared import _SimpleSegmentationModel, enlarged, segmenter

__all__ = ["DeepLabV3", "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "deeplabv3_resnet101"]


class DeepLabV3(_SimpleSegmentationModel):
    """Dilated convolutions side by side (Chen and others, "Rethinking Atrous Convolution", 2017)."""


def convolution(inputs, outputs, kernel=1, dilation=1):
    padding = dilation if kernel == 3 else 0
    conv = nn.Conv2d(inputs, outputs, kernel, padding=padding, dilation=dilation, bias=False)
    return [conv, nn.BatchNorm2d(outputs), nn.ReLU()]


class ASPPConv(nn.Sequential):
    """A dilated 3x3 convolution."""

    def __init__(self, in_channels, out_channels, dilation):
        super().__init__(*convolution(in_channels, out_channels, 3, dilation))


class ASPPPooling(nn.Sequential):
    """The mean of the whole map, everywhere."""

    def __init__(self, in_channels, out_channels):
        super().__init__(nn.AdaptiveAvgPool2d(1), *convolution(in_channels, out_channels))

    def forward(self, x):
        return enlarged(super().forward(x), x.shape[-2:])


class ASPP(nn.Module):
    """Convolutions of several dilations side by side."""

    def __init__(self, in_channels, atrous_rates, out_channels=256):
        super().__init__()
        branches = [nn.Sequential(*convolution(in_channels, out_channels))]
        branches += [ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates]
        branches.append(ASPPPooling(in_channels, out_channels))
        self.convs = nn.ModuleList(branches)
        self.project = nn.Sequential(*convolution(len(branches) * out_channels, out_channels), nn.Dropout(0.5))

    def forward(self, x):
        return self.project(functions.cat([branch(x) for branch in self.convs], dim=1))


class DeepLabHead(nn.Sequential):
    """`ASPP` and two convolutions."""

    def __init__(self, in_channels, num_classes, atrous_rates=(12, 24, 36)):
        pyramid = ASPP(in_channels, atrous_rates)
        super().__init__(pyramid, *convolution(256, 256, 3), nn.Conv2d(256, num_classes, 1))


deeplabv3_resnet50 = segmenter("deeplabv3_resnet50", DeepLabV3, DeepLabHead, "Chen and others, 2017", __name__)
deeplabv3_resnet101 = segmenter("deeplabv3_resnet101", DeepLabV3, DeepLabHead, "Chen and others, 2017", __name__)
deeplabv3_mobilenet_v3_large = segmenter(
    "deeplabv3_mobilenet_v3_large", DeepLabV3, DeepLabHead, "Chen and others, 2017", __name__
)

__getattr__ = attribute_of(__name__)
