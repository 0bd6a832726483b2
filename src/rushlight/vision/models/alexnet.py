"""AlexNet."""

from __future__ import annotations

from ... import flatten, nn
from .registry import define
from .weights import attribute_of

__all__ = ["AlexNet", "alexnet"]

# (channels, kernel, stride, padding, whether pooling follows)
CONVOLUTIONS = [
    (64, 11, 4, 2, True),
    (192, 5, 1, 2, True),
    (384, 3, 1, 1, False),
    (256, 3, 1, 1, False),
    (256, 3, 1, 1, True),
]


class AlexNet(nn.Module):
    """Five convolutions and three linear layers (Krizhevsky, 2014)."""

    def __init__(self, num_classes=1000, dropout=0.5):
        super().__init__()
        layers, width = [], 3
        for channels, kernel, stride, padding, pooled in CONVOLUTIONS:
            layers += [nn.Conv2d(width, channels, kernel, stride, padding), nn.ReLU(inplace=True)]
            if pooled:
                layers.append(nn.MaxPool2d(kernel_size=3, stride=2))
            width = channels
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(width * 36, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x):
        return self.classifier(flatten(self.avgpool(self.features(x)), 1))


alexnet = define("alexnet", AlexNet, "Krizhevsky, 2014", __name__)

__getattr__ = attribute_of(__name__)
