"""VGG, with and without batch normalization."""

from __future__ import annotations

from ... import flatten, nn
from .registry import define
from .weights import attribute_of

__all__ = ["VGG"]

WIDTHS = (64, 128, 256, 512, 512)
DEPTHS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}  # convolutions a stage
SIZES = {11: "A", 13: "B", 16: "D", 19: "E"}  # the paper's names
cfgs = {
    SIZES[size]: [item for width, depth in zip(WIDTHS, depths, strict=True) for item in [width] * depth + ["M"]]
    for size, depths in DEPTHS.items()
}


class VGG(nn.Module):
    """Stages of 3x3 convolutions and three linear layers (Simonyan and Zisserman, 2014)."""

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                    nn.init.zeros_(module.bias)
                elif isinstance(module, nn.Linear):
                    nn.init.normal_(module.weight, 0, 0.01)
                    nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


def make_layers(cfg, batch_norm=False):
    """Convolutions of the widths in ``cfg``; "M" halves the image."""
    layers, width = [], 3
    for channels in cfg:
        if channels == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(width, channels, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(channels))
        layers.append(nn.ReLU(inplace=True))
        width = channels
    return nn.Sequential(*layers)


def constructor(size, normalized):
    def construct(**kwargs):
        return VGG(make_layers(cfgs[SIZES[size]], normalized), **kwargs)

    name = f"vgg{size}" + "_bn" * normalized
    return define(name, construct, "Simonyan and Zisserman, 2014", __name__, adjust=uninitialized)


def uninitialized(kwargs, weights):
    kwargs["init_weights"] = False


for _size in DEPTHS:
    for _normalized in (False, True):
        _build = constructor(_size, _normalized)
        globals()[_build.__name__] = _build
        __all__.append(_build.__name__)

__getattr__ = attribute_of(__name__)
