"""DenseNet."""

from __future__ import annotations

import re

from rushlight.ops.table import functions

from ... import flatten, nn
from ...utils.checkpoint import checkpoint
from .registry import define
from .weights import attribute_of

__all__ = ["DenseNet"]

# name: (growth rate, layers a block, channels of the first convolution)
MODELS = {
    "densenet121": (32, (6, 12, 24, 16), 64),
    "densenet161": (48, (6, 12, 36, 24), 96),
    "densenet169": (32, (6, 12, 32, 32), 64),
    "densenet201": (32, (6, 12, 48, 32), 64),
}
OLD_KEY = re.compile(r"(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\.\w+)")


class _DenseLayer(nn.Module):
    """A 1x1 and a 3x3 convolution of all that the block has made so far."""

    def __init__(self, num_input_features, growth_rate, bn_size, drop_rate, memory_efficient=False):
        super().__init__()
        width = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, width, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, growth_rate, kernel_size=3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def bottleneck(self, *inputs):
        return self.conv1(self.relu1(self.norm1(functions.cat([*inputs], 1))))

    def forward(self, input):
        features = input if isinstance(input, (list, tuple)) else [input]
        if self.memory_efficient and any(feature.requires_grad for feature in features):
            narrow = checkpoint(self.bottleneck, *features, use_reentrant=False)
        else:
            narrow = self.bottleneck(*features)
        made = self.conv2(self.relu2(self.norm2(narrow)))
        if self.drop_rate > 0:
            made = nn.functional.dropout(made, p=self.drop_rate, training=self.training)
        return made


class _DenseBlock(nn.ModuleDict):
    """Layers that each see the outputs of all before them."""

    _version = 2

    def __init__(self, num_layers, num_input_features, bn_size, growth_rate, drop_rate, memory_efficient=False):
        super().__init__()
        for index in range(num_layers):
            width = num_input_features + index * growth_rate
            layer = _DenseLayer(width, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{index + 1}", layer)

    def forward(self, init_features):
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return functions.cat(features, 1)


class _Transition(nn.Sequential):
    """Fewer channels and half the size, between two blocks."""

    def __init__(self, num_input_features, num_output_features):
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Blocks in which every layer sees all earlier ones (Huang and others, 2016)."""

    def __init__(
        self,
        growth_rate=32,
        block_config=(6, 12, 24, 16),
        num_init_features=64,
        bn_size=4,
        drop_rate=0,
        num_classes=1000,
        memory_efficient=False,
    ):
        super().__init__()
        features, width = nn.Sequential(), num_init_features
        features.add_module("conv0", nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False))
        features.add_module("norm0", nn.BatchNorm2d(width))
        features.add_module("relu0", nn.ReLU(inplace=True))
        features.add_module("pool0", nn.MaxPool2d(kernel_size=3, stride=2, padding=1))
        for index, layers in enumerate(block_config, 1):
            block = _DenseBlock(layers, width, bn_size, growth_rate, drop_rate, memory_efficient)
            features.add_module(f"denseblock{index}", block)
            width += layers * growth_rate
            if index < len(block_config):
                features.add_module(f"transition{index}", _Transition(width, width // 2))
                width //= 2
        features.add_module("norm5", nn.BatchNorm2d(width))
        self.features = features
        self.classifier = nn.Linear(width, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(self, x):
        out = nn.functional.relu(self.features(x), inplace=True)
        out = nn.functional.adaptive_avg_pool2d(out, (1, 1))
        return self.classifier(flatten(out, 1))


def renamed(state):
    """A published state under today's names: `denselayer1.norm.1.weight` was the old form of `denselayer1.norm1.weight`."""
    return {OLD_KEY.sub(r"\1\2", name): value for name, value in state.items()}


def constructor(name):
    growth_rate, block_config, width = MODELS[name]

    def construct(**kwargs):
        return DenseNet(growth_rate, block_config, width, **kwargs)

    return define(name, construct, "Huang and others, 2016", __name__, convert=renamed)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
