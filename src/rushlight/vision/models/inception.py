"""Inception v3."""

from __future__ import annotations

from collections import namedtuple

from rushlight.ops.table import functions

from ... import flatten, nn
from .googlenet import BasicConv2d, as_trained, as_trained_in_tensorflow, warn_of_initialization
from .registry import define
from .weights import attribute_of

__all__ = ["Inception3", "InceptionOutputs", "_InceptionOutputs", "inception_v3"]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
_InceptionOutputs = InceptionOutputs

THREE = {"kernel_size": 3, "padding": 1}
SHRINKING = {"kernel_size": 3, "stride": 2}
FLAT = {"kernel_size": (1, 7), "padding": (0, 3)}
TALL = {"kernel_size": (7, 1), "padding": (3, 0)}


class Branches(nn.Module):
    """What the blocks share: named convolutions, called one after the other in each branch."""

    def __init__(self, conv_block):
        super().__init__()
        self._block = BasicConv2d if conv_block is None else conv_block

    def convolution(self, name, inputs, outputs, **options):
        self.add_module(name, self._block(inputs, outputs, **(options or {"kernel_size": 1})))

    def chain(self, prefix, first, last, x):
        """`x` through the convolutions `prefix_first` ... `prefix_last`."""
        for index in range(first, last + 1):
            x = getattr(self, f"{prefix}_{index}")(x)
        return x


def pooled(x):
    return nn.functional.avg_pool2d(x, kernel_size=3, stride=1, padding=1)


class InceptionA(Branches):
    """1x1, 5x5, two 3x3, and pooling."""

    def __init__(self, in_channels, pool_features, conv_block=None):
        super().__init__(conv_block)
        self.convolution("branch1x1", in_channels, 64)
        self.convolution("branch5x5_1", in_channels, 48)
        self.convolution("branch5x5_2", 48, 64, kernel_size=5, padding=2)
        self.convolution("branch3x3dbl_1", in_channels, 64)
        self.convolution("branch3x3dbl_2", 64, 96, **THREE)
        self.convolution("branch3x3dbl_3", 96, 96, **THREE)
        self.convolution("branch_pool", in_channels, pool_features)

    def forward(self, x):
        single = self.branch1x1(x)
        five = self.chain("branch5x5", 1, 2, x)
        double = self.chain("branch3x3dbl", 1, 3, x)
        return functions.cat([single, five, double, self.branch_pool(pooled(x))], 1)


class InceptionB(Branches):
    """Half the size: 3x3, two 3x3, and pooling."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__(conv_block)
        self.convolution("branch3x3", in_channels, 384, **SHRINKING)
        self.convolution("branch3x3dbl_1", in_channels, 64)
        self.convolution("branch3x3dbl_2", 64, 96, **THREE)
        self.convolution("branch3x3dbl_3", 96, 96, **SHRINKING)

    def forward(self, x):
        three = self.branch3x3(x)
        double = self.chain("branch3x3dbl", 1, 3, x)
        return functions.cat([three, double, nn.functional.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionC(Branches):
    """1x1, a 7x7 in two strips, two of them, and pooling."""

    def __init__(self, in_channels, channels_7x7, conv_block=None):
        super().__init__(conv_block)
        width = channels_7x7
        self.convolution("branch1x1", in_channels, 192)
        self.convolution("branch7x7_1", in_channels, width)
        self.convolution("branch7x7_2", width, width, **FLAT)
        self.convolution("branch7x7_3", width, 192, **TALL)
        self.convolution("branch7x7dbl_1", in_channels, width)
        self.convolution("branch7x7dbl_2", width, width, **TALL)
        self.convolution("branch7x7dbl_3", width, width, **FLAT)
        self.convolution("branch7x7dbl_4", width, width, **TALL)
        self.convolution("branch7x7dbl_5", width, 192, **FLAT)
        self.convolution("branch_pool", in_channels, 192)

    def forward(self, x):
        single = self.branch1x1(x)
        seven = self.chain("branch7x7", 1, 3, x)
        double = self.chain("branch7x7dbl", 1, 5, x)
        return functions.cat([single, seven, double, self.branch_pool(pooled(x))], 1)


class InceptionD(Branches):
    """Half the size: 3x3, a 7x7 in two strips and 3x3, and pooling."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__(conv_block)
        self.convolution("branch3x3_1", in_channels, 192)
        self.convolution("branch3x3_2", 192, 320, **SHRINKING)
        self.convolution("branch7x7x3_1", in_channels, 192)
        self.convolution("branch7x7x3_2", 192, 192, **FLAT)
        self.convolution("branch7x7x3_3", 192, 192, **TALL)
        self.convolution("branch7x7x3_4", 192, 192, **SHRINKING)

    def forward(self, x):
        three = self.chain("branch3x3", 1, 2, x)
        seven = self.chain("branch7x7x3", 1, 4, x)
        return functions.cat([three, seven, nn.functional.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionE(Branches):
    """1x1, two branches that end in both strips of a 3x3, and pooling."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__(conv_block)
        flat = {"kernel_size": (1, 3), "padding": (0, 1)}
        tall = {"kernel_size": (3, 1), "padding": (1, 0)}
        self.convolution("branch1x1", in_channels, 320)
        self.convolution("branch3x3_1", in_channels, 384)
        self.convolution("branch3x3_2a", 384, 384, **flat)
        self.convolution("branch3x3_2b", 384, 384, **tall)
        self.convolution("branch3x3dbl_1", in_channels, 448)
        self.convolution("branch3x3dbl_2", 448, 384, **THREE)
        self.convolution("branch3x3dbl_3a", 384, 384, **flat)
        self.convolution("branch3x3dbl_3b", 384, 384, **tall)
        self.convolution("branch_pool", in_channels, 192)

    def forward(self, x):
        single = self.branch1x1(x)
        three = self.branch3x3_1(x)
        three = functions.cat([self.branch3x3_2a(three), self.branch3x3_2b(three)], 1)
        double = self.chain("branch3x3dbl", 1, 2, x)
        double = functions.cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1)
        return functions.cat([single, three, double, self.branch_pool(pooled(x))], 1)


class InceptionAux(nn.Module):
    """A classifier halfway, for training."""

    def __init__(self, in_channels, num_classes, conv_block=None):
        super().__init__()
        conv_block = BasicConv2d if conv_block is None else conv_block
        self.conv0 = conv_block(in_channels, 128, kernel_size=1)
        self.conv1 = conv_block(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x):
        x = self.conv1(self.conv0(nn.functional.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(flatten(nn.functional.adaptive_avg_pool2d(x, (1, 1)), 1))


class Inception3(nn.Module):
    """Inception v3 (Szegedy and others, "Rethinking the Inception Architecture for Computer Vision", 2015).

    Images are 299x299, at least 75x75. While training with `aux_logits`, the result is an ``InceptionOutputs`` of two.
    """

    def __init__(
        self,
        num_classes=1000,
        aux_logits=True,
        transform_input=False,
        inception_blocks=None,
        init_weights=None,
        dropout=0.5,
    ):
        super().__init__()
        blocks = inception_blocks
        if blocks is None:
            blocks = [BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux]
        if init_weights is None:
            warn_of_initialization("inception_v3")
            init_weights = True
        if len(blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(blocks)}")
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self._add_features(blocks, num_classes)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights:
            for module in self.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    deviation = float(getattr(module, "stddev", 0.1))
                    nn.init.trunc_normal_(module.weight, mean=0.0, std=deviation, a=-2, b=2)

    def _add_features(self, blocks, num_classes):
        convolution, a, b, c, d, e, auxiliary = blocks
        self.Conv2d_1a_3x3 = convolution(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = convolution(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = convolution(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = convolution(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = convolution(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        for letter, width, features in (("b", 192, 32), ("c", 256, 64), ("d", 288, 64)):
            self.add_module(f"Mixed_5{letter}", a(width, pool_features=features))
        self.Mixed_6a = b(288)
        for letter, width in (("b", 128), ("c", 160), ("d", 160), ("e", 192)):
            self.add_module(f"Mixed_6{letter}", c(768, channels_7x7=width))
        self.AuxLogits = auxiliary(768, num_classes) if self.aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)

    def forward(self, x):
        if self.transform_input:
            x = as_trained_in_tensorflow(x)
        helped = self.training and self.aux_logits
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6e(self.Mixed_6d(self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))))
        auxiliary = self.AuxLogits(x) if self.training and self.AuxLogits is not None else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(flatten(self.dropout(self.avgpool(x)), 1))
        return InceptionOutputs(x, auxiliary) if helped else x


inception_v3 = define("inception_v3", Inception3, "Szegedy and others, 2015", __name__, adjust=as_trained)

__getattr__ = attribute_of(__name__)
