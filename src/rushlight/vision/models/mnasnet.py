"""MNASNet."""

from __future__ import annotations

import warnings

from ... import nn
from ._utils import _make_divisible
from .registry import define
from .weights import attribute_of

__all__ = ["MNASNet"]

MODELS = {"mnasnet0_5": 0.5, "mnasnet0_75": 0.75, "mnasnet1_0": 1.0, "mnasnet1_3": 1.3}  # name: width multiplier
MOMENTUM = 1 - 0.9997
DEPTHS = (32, 16, 24, 40, 80, 96, 192, 320)
# (kernel, stride, expansion, repeats) of the stages that follow the stem
STAGES = [(3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1)]


def convolution(inputs, outputs, kernel, stride=1, groups=1, momentum=MOMENTUM, activated=True):
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    layers = [conv, nn.BatchNorm2d(outputs, momentum=momentum)]
    return [*layers, nn.ReLU(inplace=True)] if activated else layers


class _InvertedResidual(nn.Module):
    """A depthwise convolution between a widening and a narrowing one."""

    def __init__(self, in_ch, out_ch, kernel_size, stride, expansion_factor, bn_momentum=0.1):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in (3, 5):
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        width = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            *convolution(in_ch, width, 1, momentum=bn_momentum),
            *convolution(width, width, kernel_size, stride, width, bn_momentum),
            *convolution(width, out_ch, 1, momentum=bn_momentum, activated=False),
        )

    def forward(self, input):
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def stage(inputs, outputs, kernel, stride, expansion, repeats):
    first = _InvertedResidual(inputs, outputs, kernel, stride, expansion, MOMENTUM)
    others = [_InvertedResidual(outputs, outputs, kernel, 1, expansion, MOMENTUM) for _ in range(repeats - 1)]
    return nn.Sequential(first, *others)


def stem(first, second):
    return [
        *convolution(3, first, 3, 2),
        *convolution(first, first, 3, groups=first),
        *convolution(first, second, 1, activated=False),
    ]


class MNASNet(nn.Module):
    """A mobile network found by search (Tan and others, 2018); `alpha` multiplies the widths."""

    _version = 2  # in version 1 the stem had the same widths for every alpha

    def __init__(self, alpha, num_classes=1000, dropout=0.2):
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        widths = [_make_divisible(depth * alpha, 8) for depth in DEPTHS]
        layers = stem(widths[0], widths[1])
        for inputs, outputs, setting in zip(widths[1:], widths[2:], STAGES):
            layers.append(stage(inputs, outputs, *setting))
        self.layers = nn.Sequential(*layers, *convolution(widths[-1], 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.kaiming_uniform_(module.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(self.layers(x).mean([2, 3]))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        version = local_metadata.get("version")
        if version not in (1, 2):
            raise ValueError(f"version should be set to 1 or 2 instead of {version}")
        if version == 1 and self.alpha != 1.0:
            width = _make_divisible(DEPTHS[2] * self.alpha, 8)
            for index, layer in enumerate([*stem(32, 16), stage(16, width, *STAGES[0])]):
                self.layers[index] = layer
            self._version = 1
            warnings.warn(
                "A new version of MNASNet model has been implemented. Your checkpoint was saved using the previous version. "
                "This checkpoint will load and work as before, but you may want to upgrade by training a newer model or "
                "transfer learning from an updated ImageNet checkpoint.",
                UserWarning,
                stacklevel=2,
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


def constructor(name):
    def construct(**kwargs):
        return MNASNet(MODELS[name], **kwargs)

    return define(name, construct, "Tan and others, 2018", __name__)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
