"""MobileNet v3, large and small."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ... import flatten, nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._utils import _make_divisible
from .registry import define
from .weights import attribute_of

__all__ = ["MobileNetV3"]

# (inputs, kernel, expanded, outputs, squeeze-and-excitation, activation, stride); the last three blocks are the tail
LARGE = [
    (16, 3, 16, 16, False, "RE", 1),
    (16, 3, 64, 24, False, "RE", 2),
    (24, 3, 72, 24, False, "RE", 1),
    (24, 5, 72, 40, True, "RE", 2),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 3, 240, 80, False, "HS", 2),
    (80, 3, 200, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 480, 112, True, "HS", 1),
    (112, 3, 672, 112, True, "HS", 1),
    (112, 5, 672, 160, True, "HS", 2),
    (160, 5, 960, 160, True, "HS", 1),
    (160, 5, 960, 160, True, "HS", 1),
]
SMALL = [
    (16, 3, 16, 16, True, "RE", 2),
    (16, 3, 72, 24, False, "RE", 2),
    (24, 3, 88, 24, False, "RE", 1),
    (24, 5, 96, 40, True, "HS", 2),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 120, 48, True, "HS", 1),
    (48, 5, 144, 48, True, "HS", 1),
    (48, 5, 288, 96, True, "HS", 2),
    (96, 5, 576, 96, True, "HS", 1),
    (96, 5, 576, 96, True, "HS", 1),
]
MODELS = {"mobilenet_v3_large": (LARGE, 1280), "mobilenet_v3_small": (SMALL, 1024)}


HardSqueezeExcitation = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidualConfig:
    """The numbers of one block, widths multiplied."""

    def __init__(
        self,
        input_channels,
        kernel,
        expanded_channels,
        out_channels,
        use_se,
        activation,
        stride,
        dilation,
        width_mult,
    ):
        widths = input_channels, expanded_channels, out_channels
        self.input_channels, self.expanded_channels, self.out_channels = (
            self.adjust_channels(width, width_mult) for width in widths
        )
        self.kernel, self.stride, self.dilation = kernel, stride, dilation
        self.use_se, self.use_hs = use_se, activation == "HS"

    @staticmethod
    def adjust_channels(channels, width_mult):
        """`channels` times the multiplier, as a multiple of eight."""
        return _make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """A depthwise convolution between a widening and a narrowing one, with squeeze-and-excitation where asked for."""

    def __init__(self, cnf, norm_layer, se_layer=HardSqueezeExcitation):
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        width = cnf.expanded_channels
        convolution = partial(
            Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.Hardswish if cnf.use_hs else nn.ReLU
        )
        layers = []
        if width != cnf.input_channels:
            layers.append(convolution(cnf.input_channels, width, kernel_size=1))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        layers.append(convolution(width, width, cnf.kernel, stride, groups=width, dilation=cnf.dilation))
        if cnf.use_se:
            layers.append(se_layer(width, _make_divisible(width // 4, 8)))
        layers.append(convolution(width, cnf.out_channels, kernel_size=1, activation_layer=None))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """Inverted residual blocks found by search (Howard and others, "Searching for MobileNetV3", 2019)."""

    def __init__(
        self,
        inverted_residual_setting,
        last_channel,
        num_classes=1000,
        block=None,
        norm_layer=None,
        dropout=0.2,
        **kwargs,
    ):
        super().__init__()
        setting = inverted_residual_setting
        if not setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (isinstance(setting, Sequence) and all(isinstance(part, InvertedResidualConfig) for part in setting)):
            raise TypeError("The inverted_residual_setting should be List[InvertedResidualConfig]")
        block = InvertedResidual if block is None else block
        norm_layer = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01) if norm_layer is None else norm_layer
        convolution = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.Hardswish)
        narrow = setting[-1].out_channels
        self.features = nn.Sequential(
            convolution(3, setting[0].input_channels, kernel_size=3, stride=2),
            *(block(part, norm_layer) for part in setting),
            convolution(narrow, 6 * narrow, kernel_size=1),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * narrow, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
            if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


def constructor(name):
    blocks, last = MODELS[name]

    def construct(width_mult=1.0, reduced_tail=False, dilated=False, **kwargs):
        divider, dilation = 2 if reduced_tail else 1, 2 if dilated else 1
        setting = []
        for index, (inputs, kernel, expanded, outputs, squeezed, activation, stride) in enumerate(blocks):
            behind = index - (len(blocks) - 3)  # how far into the tail
            if behind >= 0:
                outputs //= divider
            if behind > 0:
                inputs, expanded = inputs // divider, expanded // divider
            numbers = (inputs, kernel, expanded, outputs, squeezed, activation, stride)
            setting.append(InvertedResidualConfig(*numbers, dilation if behind >= 0 else 1, width_mult))
        width = InvertedResidualConfig.adjust_channels(last // divider, width_mult)
        return MobileNetV3(setting, width, **kwargs)

    return define(name, construct, "Howard and others, 2019", __name__)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
