"""ConvNeXt."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rushlight.ops.table import functions

from ... import nn
from ..ops.misc import Conv2dNormActivation, Permute
from ..ops.stochastic_depth import StochasticDepth
from .registry import define
from .weights import attribute_of

__all__ = ["ConvNeXt"]

# name: (channels of the four stages, blocks of each, stochastic depth)
MODELS = {
    "convnext_tiny": ((96, 192, 384, 768), (3, 3, 9, 3), 0.1),
    "convnext_small": ((96, 192, 384, 768), (3, 3, 27, 3), 0.4),
    "convnext_base": ((128, 256, 512, 1024), (3, 3, 27, 3), 0.5),
    "convnext_large": ((192, 384, 768, 1536), (3, 3, 27, 3), 0.5),
}


class LayerNorm2d(nn.LayerNorm):
    """Layer norm over the channels of an image."""

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """A 7x7 depthwise convolution and a two-layer network of each position, scaled, beside a shortcut."""

    def __init__(self, dim, layer_scale, stochastic_depth_prob, norm_layer=None):
        super().__init__()
        norm_layer = partial(nn.LayerNorm, eps=1e-6) if norm_layer is None else norm_layer
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim),
            Permute([0, 2, 3, 1]),
            norm_layer(dim),
            nn.Linear(dim, 4 * dim),
            nn.GELU(),
            nn.Linear(4 * dim, dim),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(functions.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input):
        result = self.stochastic_depth(self.layer_scale * self.block(input))
        result += input
        return result


class CNBlockConfig:
    """A stage: its channels, those of the next one (None for the last), and how many blocks."""

    def __init__(self, input_channels, out_channels, num_layers):
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers

    def __repr__(self):
        numbers = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({numbers})"


class ConvNeXt(nn.Module):
    """A convolutional network with the proportions of a transformer (Liu and others, "A ConvNet for the 2020s", 2022)."""

    def __init__(
        self,
        block_setting,
        stochastic_depth_prob=0.0,
        layer_scale=1e-6,
        num_classes=1000,
        block=None,
        norm_layer=None,
        **kwargs,
    ):
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        if not (
            isinstance(block_setting, Sequence) and all(isinstance(stage, CNBlockConfig) for stage in block_setting)
        ):
            raise TypeError("The block_setting should be List[CNBlockConfig]")
        block = CNBlock if block is None else block
        norm_layer = partial(LayerNorm2d, eps=1e-6) if norm_layer is None else norm_layer
        first = block_setting[0].input_channels
        options = {"norm_layer": norm_layer, "activation_layer": None, "bias": True}
        layers = [Conv2dNormActivation(3, first, kernel_size=4, stride=4, padding=0, **options)]
        total, made = sum(stage.num_layers for stage in block_setting), 0
        for stage in block_setting:
            dropped = [stochastic_depth_prob * (made + index) / (total - 1.0) for index in range(stage.num_layers)]
            layers.append(nn.Sequential(*(block(stage.input_channels, layer_scale, each) for each in dropped)))
            made += stage.num_layers
            if stage.out_channels is not None:
                smaller = nn.Conv2d(stage.input_channels, stage.out_channels, kernel_size=2, stride=2)
                layers.append(nn.Sequential(norm_layer(stage.input_channels), smaller))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1].out_channels
        width = block_setting[-1].input_channels if last is None else last
        self.classifier = nn.Sequential(norm_layer(width), nn.Flatten(1), nn.Linear(width, num_classes))
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)))


def constructor(name):
    channels, depths, dropped = MODELS[name]

    def construct(stochastic_depth_prob=dropped, **kwargs):
        stages = [CNBlockConfig(*numbers) for numbers in zip(channels, (*channels[1:], None), depths)]
        return ConvNeXt(stages, stochastic_depth_prob=stochastic_depth_prob, **kwargs)

    return define(name, construct, "Liu and others, 2022", __name__)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
