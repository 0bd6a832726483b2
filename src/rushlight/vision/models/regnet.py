"""RegNet X and Y."""

from __future__ import annotations

import math

from rushlight.ops.table import functions

from ... import flatten, nn
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._utils import _make_divisible
from .registry import define
from .weights import attribute_of

__all__ = ["RegNet"]

# name: (depth, w_0, w_a, w_m, group width); the Y ones have squeeze-and-excitation
MODELS = {
    "regnet_y_400mf": (16, 48, 27.89, 2.09, 8),
    "regnet_y_800mf": (14, 56, 38.84, 2.4, 16),
    "regnet_y_1_6gf": (27, 48, 20.71, 2.65, 24),
    "regnet_y_3_2gf": (21, 80, 42.63, 2.66, 24),
    "regnet_y_8gf": (17, 192, 76.82, 2.19, 56),
    "regnet_y_16gf": (18, 200, 106.23, 2.48, 112),
    "regnet_y_32gf": (20, 232, 115.89, 2.53, 232),
    "regnet_y_128gf": (27, 456, 160.83, 2.52, 264),
    "regnet_x_400mf": (22, 24, 24.48, 2.54, 16),
    "regnet_x_800mf": (16, 56, 35.73, 2.28, 16),
    "regnet_x_1_6gf": (18, 80, 34.01, 2.25, 24),
    "regnet_x_3_2gf": (25, 88, 26.31, 2.25, 48),
    "regnet_x_8gf": (23, 80, 49.56, 2.88, 120),
    "regnet_x_16gf": (22, 216, 55.59, 2.1, 128),
    "regnet_x_32gf": (23, 320, 69.86, 2.0, 168),
}


class SimpleStemIN(Conv2dNormActivation):
    """A 3x3 convolution of stride 2."""

    def __init__(self, width_in, width_out, norm_layer, activation_layer):
        super().__init__(width_in, width_out, 3, 2, norm_layer=norm_layer, activation_layer=activation_layer)


class BottleneckTransform(nn.Sequential):
    """1x1, grouped 3x3, squeeze-and-excitation where asked for, 1x1."""

    def __init__(
        self,
        width_in,
        width_out,
        stride,
        norm_layer,
        activation_layer,
        group_width,
        bottleneck_multiplier,
        se_ratio,
    ):
        super().__init__()
        width = round(width_out * bottleneck_multiplier)
        options = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        self.a = Conv2dNormActivation(width_in, width, 1, **options)
        self.b = Conv2dNormActivation(width, width, 3, stride, groups=width // group_width, **options)
        if se_ratio:
            self.se = SqueezeExcitation(width, round(se_ratio * width_in), activation=activation_layer)
        self.c = Conv2dNormActivation(width, width_out, 1, norm_layer=norm_layer, activation_layer=None)


class ResBottleneckBlock(nn.Module):
    """A bottleneck beside a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(
        self,
        width_in,
        width_out,
        stride,
        norm_layer,
        activation_layer,
        group_width=1,
        bottleneck_multiplier=1.0,
        se_ratio=None,
    ):
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(
                width_in, width_out, 1, stride, norm_layer=norm_layer, activation_layer=None
            )
        numbers = (group_width, bottleneck_multiplier, se_ratio)
        self.f = BottleneckTransform(width_in, width_out, stride, norm_layer, activation_layer, *numbers)
        self.activation = activation_layer(inplace=True)

    def forward(self, x):
        shortcut = x if self.proj is None else self.proj(x)
        return self.activation(shortcut + self.f(x))


class AnyStage(nn.Sequential):
    """Blocks of one width; the first has the stride."""

    def __init__(
        self,
        width_in,
        width_out,
        stride,
        depth,
        block_constructor,
        norm_layer,
        activation_layer,
        group_width,
        bottleneck_multiplier,
        se_ratio=None,
        stage_index=0,
    ):
        super().__init__()
        for index in range(depth):
            entering, step = (width_in, stride) if index == 0 else (width_out, 1)
            numbers = (group_width, bottleneck_multiplier, se_ratio)
            block = block_constructor(entering, width_out, step, norm_layer, activation_layer, *numbers)
            self.add_module(f"block{stage_index}-{index}", block)


class BlockParams:
    """Depths, widths, group widths, bottleneck multipliers and strides of the stages."""

    def __init__(self, depths, widths, group_widths, bottleneck_multipliers, strides, se_ratio=None):
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(cls, depth, w_0, w_a, w_m, group_width, bottleneck_multiplier=1.0, se_ratio=None, **kwargs):
        """The stages of the paper's parametrisation: widths on a line, rounded to powers of `w_m` and multiples of 8."""
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        line = functions.arange(depth) * w_a + w_0
        exponents = functions.round(functions.log(line / w_0) / math.log(w_m))
        rounded = functions.round(w_0 * functions.pow(w_m, exponents) / 8) * 8
        blocks = [int(width) for width in rounded.tolist()]
        starts = [index for index in range(depth) if index == 0 or blocks[index] != blocks[index - 1]]
        depths = [end - start for start, end in zip(starts, (*starts[1:], depth))]
        widths, groups = [], []
        for start in starts:
            inner = int(blocks[start] * bottleneck_multiplier)
            groups.append(min(group_width, inner))
            widths.append(int(_make_divisible(inner, groups[-1]) / bottleneck_multiplier))
        count = len(depths)
        return cls(depths, widths, groups, [bottleneck_multiplier] * count, [2] * count, se_ratio)


class RegNet(nn.Module):
    """Stages whose widths grow by a rule (Radosavovic and others, "Designing Network Design Spaces", 2020)."""

    def __init__(
        self,
        block_params,
        num_classes=1000,
        stem_width=32,
        stem_type=None,
        block_type=None,
        norm_layer=None,
        activation=None,
    ):
        super().__init__()
        norm_layer = nn.BatchNorm2d if norm_layer is None else norm_layer
        block_type = ResBottleneckBlock if block_type is None else block_type
        activation = nn.ReLU if activation is None else activation
        self.stem = (SimpleStemIN if stem_type is None else stem_type)(3, stem_width, norm_layer, activation)
        params, width, stages = block_params, stem_width, {}
        numbers = (params.widths, params.strides, params.depths, params.group_widths, params.bottleneck_multipliers)
        for index, (outputs, stride, depth, group, multiplier) in enumerate(zip(*numbers), 1):
            around = (block_type, norm_layer, activation, group, multiplier, params.se_ratio, index)
            stages[f"block{index}"] = AnyStage(width, outputs, stride, depth, *around)
            width = outputs
        self.trunk_output = nn.Sequential()
        for name, stage in stages.items():
            self.trunk_output.add_module(name, stage)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels
                nn.init.normal_(module.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, mean=0.0, std=0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.fc(flatten(self.avgpool(self.trunk_output(self.stem(x))), start_dim=1))


def constructor(name):
    numbers = MODELS[name]
    se_ratio = 0.25 if name.startswith("regnet_y") else None

    def construct(**kwargs):
        return RegNet(BlockParams.from_init_params(*numbers, se_ratio=se_ratio), **kwargs)

    return define(name, construct, "Radosavovic and others, 2020", __name__)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
