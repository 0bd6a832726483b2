"""MobileNet v2."""

from __future__ import annotations

from ... import flatten, nn
from ..ops.misc import Conv2dNormActivation
from ._utils import _make_divisible
from .registry import define
from .weights import attribute_of

__all__ = ["MobileNetV2", "mobilenet_v2"]

# (expansion, channels, blocks, stride of the first)
SETTING = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


def convolution(inputs, outputs, norm_layer, kernel=3, stride=1, groups=1):
    options = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    return Conv2dNormActivation(inputs, outputs, kernel, stride, groups=groups, **options)


class InvertedResidual(nn.Module):
    """A depthwise convolution between a widening and a narrowing one."""

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=None):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm_layer = norm_layer or nn.BatchNorm2d
        hidden = round(inp * expand_ratio)
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        layers = [] if expand_ratio == 1 else [convolution(inp, hidden, norm_layer, kernel=1)]
        layers.append(convolution(hidden, hidden, norm_layer, stride=stride, groups=hidden))
        layers += [nn.Conv2d(hidden, oup, 1, bias=False), norm_layer(oup)]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """Inverted residual blocks (Sandler and others, 2018)."""

    def __init__(
        self,
        num_classes=1000,
        width_mult=1.0,
        inverted_residual_setting=None,
        round_nearest=8,
        block=None,
        norm_layer=None,
        dropout=0.2,
    ):
        super().__init__()
        block, norm_layer = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        setting = SETTING if inverted_residual_setting is None else inverted_residual_setting
        if len(setting) == 0 or len(setting[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}"
            )
        width = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        layers = [convolution(3, width, norm_layer, stride=2)]
        for expansion, channels, blocks, first_stride in setting:
            outputs = _make_divisible(channels * width_mult, round_nearest)
            for index in range(blocks):
                stride = first_stride if index == 0 else 1
                layers.append(block(width, outputs, stride, expand_ratio=expansion, norm_layer=norm_layer))
                width = outputs
        layers.append(convolution(width, self.last_channel, norm_layer, kernel=1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(flatten(nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1)), 1))


mobilenet_v2 = define("mobilenet_v2", MobileNetV2, "Sandler and others, 2018", __name__)

__getattr__ = attribute_of(__name__)
