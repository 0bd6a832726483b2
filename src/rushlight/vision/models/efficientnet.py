"""EfficientNet and EfficientNet v2."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ... import flatten, nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ._utils import _make_divisible
from .registry import define
from .weights import attribute_of

__all__ = ["EfficientNet"]

# (expansion, kernel, stride, inputs, outputs, layers) of the stages of v1, before scaling
FIRST = [
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
]
SLOW_STATISTICS = {"eps": 0.001, "momentum": 0.01}
# name: (width and depth multiplier, dropout, options of the batch norm)
SCALED = {
    "efficientnet_b0": (1.0, 1.0, 0.2, None),
    "efficientnet_b1": (1.0, 1.1, 0.2, None),
    "efficientnet_b2": (1.1, 1.2, 0.3, None),
    "efficientnet_b3": (1.2, 1.4, 0.3, None),
    "efficientnet_b4": (1.4, 1.8, 0.4, None),
    "efficientnet_b5": (1.6, 2.2, 0.4, SLOW_STATISTICS),
    "efficientnet_b6": (1.8, 2.6, 0.5, SLOW_STATISTICS),
    "efficientnet_b7": (2.0, 3.1, 0.5, SLOW_STATISTICS),
}
# name: (dropout, fused stages, other stages)
SECOND = {
    "efficientnet_v2_s": (
        0.2,
        [(1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4)],
        [(4, 3, 2, 64, 128, 6), (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)],
    ),
    "efficientnet_v2_m": (
        0.3,
        [(1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5)],
        [(4, 3, 2, 80, 160, 7), (6, 3, 1, 160, 176, 14), (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)],
    ),
    "efficientnet_v2_l": (
        0.4,
        [(1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7)],
        [(4, 3, 2, 96, 192, 10), (6, 3, 1, 192, 224, 19), (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)],
    ),
}


@dataclass
class _MBConvConfig:
    """The numbers of a stage, and the class of its blocks."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Callable[..., nn.Module]

    @staticmethod
    def adjust_channels(channels, width_mult, min_value=None):
        """`channels` times the multiplier, as a multiple of eight."""
        return _make_divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """A stage of `MBConv` blocks, its widths and depth multiplied."""

    def __init__(
        self,
        expand_ratio,
        kernel,
        stride,
        input_channels,
        out_channels,
        num_layers,
        width_mult=1.0,
        depth_mult=1.0,
        block=None,
    ):
        inputs, outputs = (self.adjust_channels(width, width_mult) for width in (input_channels, out_channels))
        layers = self.adjust_depth(num_layers, depth_mult)
        super().__init__(expand_ratio, kernel, stride, inputs, outputs, layers, MBConv if block is None else block)

    @staticmethod
    def adjust_depth(num_layers, depth_mult):
        """How many layers a multiplied stage has."""
        return math.ceil(num_layers * depth_mult)


class FusedMBConvConfig(_MBConvConfig):
    """A stage of `FusedMBConv` blocks."""

    def __init__(self, expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block=None):
        numbers = (expand_ratio, kernel, stride, input_channels, out_channels, num_layers)
        super().__init__(*numbers, FusedMBConv if block is None else block)


class Residual(nn.Module):
    """What both kinds of blocks share: the shortcut where the shapes allow one, and stochastic depth."""

    def __init__(self, cnf, stochastic_depth_prob, layers):
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class MBConv(Residual):
    """A depthwise convolution with squeeze-and-excitation between a widening and a narrowing one."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer, se_layer=SqueezeExcitation):
        convolution = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        inputs, layers = cnf.input_channels, []
        width = cnf.adjust_channels(inputs, cnf.expand_ratio)
        if width != inputs:
            layers.append(convolution(inputs, width, kernel_size=1))
        layers.append(convolution(width, width, cnf.kernel, cnf.stride, groups=width))
        layers.append(se_layer(width, max(1, inputs // 4), activation=partial(nn.SiLU, inplace=True)))
        layers.append(convolution(width, cnf.out_channels, kernel_size=1, activation_layer=None))
        super().__init__(cnf, stochastic_depth_prob, layers)


class FusedMBConv(Residual):
    """A widening convolution that is not depthwise, and a narrowing one."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer):
        convolution = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        inputs, outputs = cnf.input_channels, cnf.out_channels
        width = cnf.adjust_channels(inputs, cnf.expand_ratio)
        if width == inputs:
            layers = [convolution(inputs, outputs, cnf.kernel, cnf.stride)]
        else:
            layers = [
                convolution(inputs, width, cnf.kernel, cnf.stride),
                convolution(width, outputs, kernel_size=1, activation_layer=None),
            ]
        super().__init__(cnf, stochastic_depth_prob, layers)


class EfficientNet(nn.Module):
    """Inverted residual stages, scaled together (Tan and Le, 2019; v2: Tan and Le, 2021)."""

    def __init__(
        self,
        inverted_residual_setting,
        dropout,
        stochastic_depth_prob=0.2,
        num_classes=1000,
        norm_layer=None,
        last_channel=None,
    ):
        super().__init__()
        setting = inverted_residual_setting
        if not setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (isinstance(setting, Sequence) and all(isinstance(stage, _MBConvConfig) for stage in setting)):
            raise TypeError("The inverted_residual_setting should be List[MBConvConfig]")
        norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        convolution = partial(Conv2dNormActivation, norm_layer=norm_layer, activation_layer=nn.SiLU)
        layers = [convolution(3, setting[0].input_channels, kernel_size=3, stride=2)]
        total, made = sum(stage.num_layers for stage in setting), 0
        for stage in setting:
            blocks = []
            for index in range(stage.num_layers):
                numbers = copy.copy(stage)
                if index > 0:
                    numbers.input_channels, numbers.stride = stage.out_channels, 1
                blocks.append(numbers.block(numbers, stochastic_depth_prob * float(made) / total, norm_layer))
                made += 1
            layers.append(nn.Sequential(*blocks))
        narrow = setting[-1].out_channels
        width = 4 * narrow if last_channel is None else last_channel
        layers.append(convolution(narrow, width, kernel_size=1))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(width, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                bound = 1.0 / math.sqrt(module.out_features)
                nn.init.uniform_(module.weight, -bound, bound)
            if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


def first_version(name):
    width, depth, dropped, statistics = SCALED[name]

    def construct(dropout=dropped, **kwargs):
        if statistics is not None:
            kwargs = {"norm_layer": partial(nn.BatchNorm2d, **statistics), **kwargs}
        stages = [MBConvConfig(*numbers, width_mult=width, depth_mult=depth) for numbers in FIRST]
        return EfficientNet(stages, dropout, **kwargs)

    return define(name, construct, "Tan and Le, 2019", __name__)


def second_version(name):
    dropped, fused, others = SECOND[name]

    def construct(dropout=dropped, **kwargs):
        stages = [FusedMBConvConfig(*numbers) for numbers in fused] + [MBConvConfig(*numbers) for numbers in others]
        options = {"norm_layer": partial(nn.BatchNorm2d, eps=0.001), **kwargs}
        return EfficientNet(stages, dropout, last_channel=1280, **options)

    return define(name, construct, "Tan and Le, 2021", __name__)


for _name in (*SCALED, *SECOND):
    globals()[_name] = first_version(_name) if _name in SCALED else second_version(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
