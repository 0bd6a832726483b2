"""SqueezeNet 1.0 and 1.1."""

from __future__ import annotations

from functools import partial

from rushlight.ops.table import functions

from ... import flatten, nn
from .registry import define
from .weights import attribute_of

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# version: (channels and kernel of the first convolution, squeezed widths with None for a pooling)
VERSIONS = {
    "1_0": (96, 7, [None, 16, 16, 32, None, 32, 48, 48, 64, None, 64]),
    "1_1": (64, 3, [None, 16, 16, None, 32, 32, None, 48, 48, 64, 64]),
}


class Fire(nn.Module):
    """A 1x1 convolution to few channels, then 1x1 and 3x3 ones side by side."""

    def __init__(self, inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze_activation(self.squeeze(x))
        return functions.cat(
            [self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1
        )


class SqueezeNet(nn.Module):
    """Eight Fire modules and a convolution as classifier (Iandola and others, 2016)."""

    def __init__(self, version="1_0", num_classes=1000, dropout=0.5):
        super().__init__()
        self.num_classes = num_classes
        if version not in VERSIONS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        width, kernel, squeezed = VERSIONS[version]
        layers = [nn.Conv2d(3, width, kernel_size=kernel, stride=2), nn.ReLU(inplace=True)]
        for planes in squeezed:
            if planes is None:
                layers.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
            else:
                layers.append(Fire(width, planes, 4 * planes, 4 * planes))
                width = 8 * planes
        self.features = nn.Sequential(*layers)
        final = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), final, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is final:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return flatten(self.classifier(self.features(x)), 1)


squeezenet1_0 = define("squeezenet1_0", partial(SqueezeNet, "1_0"), "Iandola and others, 2016", __name__)
squeezenet1_1 = define("squeezenet1_1", partial(SqueezeNet, "1_1"), "Iandola and others, 2016", __name__)

__getattr__ = attribute_of(__name__)
