"""GoogLeNet."""

from __future__ import annotations

import warnings
from collections import namedtuple

from rushlight.ops.table import functions

from ... import flatten, nn
from ._utils import _ovewrite_named_param
from .registry import define
from .weights import attribute_of

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "_GoogLeNetOutputs", "googlenet"]

GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
_GoogLeNetOutputs = GoogLeNetOutputs

# name: (inputs, 1x1, before 3x3, 3x3, before the second 3x3, the second 3x3, after pooling)
WIDTHS = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class BasicConv2d(nn.Module):
    """Convolution, batch norm and ReLU, as Inception networks have them."""

    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return nn.functional.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches side by side."""

    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj, conv_block=BasicConv2d):
        super().__init__()
        conv_block = BasicConv2d if conv_block is None else conv_block
        self.branch1 = conv_block(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv_block(in_channels, ch3x3red, kernel_size=1), conv_block(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        self.branch3 = nn.Sequential(
            conv_block(in_channels, ch5x5red, kernel_size=1), conv_block(ch5x5red, ch5x5, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv_block(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x):
        return functions.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A classifier halfway, for training."""

    def __init__(self, in_channels, num_classes, conv_block=None, dropout=0.7):
        super().__init__()
        self.conv = (BasicConv2d if conv_block is None else conv_block)(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        x = self.conv(nn.functional.adaptive_avg_pool2d(x, (4, 4)))
        x = nn.functional.relu(self.fc1(flatten(x, 1)), inplace=True)
        return self.fc2(self.dropout(x))


def as_trained_in_tensorflow(x):
    """An image normalized for ImageNet, normalized with mean and deviation 0.5 instead."""
    channels = []
    for index, (mean, deviation) in enumerate(((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))):
        channels.append(functions.unsqueeze(x[:, index], 1) * (deviation / 0.5) + (mean - 0.5) / 0.5)
    return functions.cat(channels, 1)


def warn_of_initialization(title):
    warnings.warn(
        f"The default weight initialization of {title} will be changed in future releases of torchvision. If you wish to "
        "keep the old behavior (which leads to long initialization times due to scipy/scipy#11299), please set "
        "init_weights=True.",
        FutureWarning,
        stacklevel=3,
    )


class GoogLeNet(nn.Module):
    """Nine Inception blocks and two auxiliary classifiers (Szegedy and others, "Going deeper with convolutions", 2014).

    While training with `aux_logits`, the result is a ``GoogLeNetOutputs`` of three tensors.
    """

    __constants__ = ["aux_logits", "transform_input"]

    def __init__(
        self,
        num_classes=1000,
        aux_logits=True,
        transform_input=False,
        init_weights=None,
        blocks=None,
        dropout=0.2,
        dropout_aux=0.7,
    ):
        super().__init__()
        blocks = [BasicConv2d, Inception, InceptionAux] if blocks is None else blocks
        if init_weights is None:
            warn_of_initialization("GoogleNet")
            init_weights = True
        if len(blocks) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(blocks)}")
        convolution, inception, auxiliary = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = convolution(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = convolution(64, 64, kernel_size=1)
        self.conv3 = convolution(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self._add_stage(inception, "3")
        self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self._add_stage(inception, "4")
        self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self._add_stage(inception, "5")
        self.aux1 = auxiliary(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = auxiliary(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights:
            for module in self.modules():
                if isinstance(module, (nn.Conv2d, nn.Linear)):
                    nn.init.trunc_normal_(module.weight, mean=0.0, std=0.01, a=-2, b=2)

    def _add_stage(self, inception, stage):
        for name, widths in WIDTHS.items():
            if name.startswith(stage):
                self.add_module(f"inception{name}", inception(*widths))

    def forward(self, x):
        if self.transform_input:
            x = as_trained_in_tensorflow(x)
        helped = self.training and self.aux_logits
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        first = self.aux1(x) if self.training and self.aux1 is not None else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        second = self.aux2(x) if self.training and self.aux2 is not None else None
        x = self.maxpool4(self.inception4e(x))
        x = self.inception5b(self.inception5a(x))
        x = self.fc(self.dropout(flatten(self.avgpool(x), 1)))
        return GoogLeNetOutputs(x, second, first) if helped else x


def as_trained(kwargs, weights):
    """The arguments that published weights of Inception networks need."""
    kwargs.setdefault("transform_input", True)
    _ovewrite_named_param(kwargs, "aux_logits", True)
    _ovewrite_named_param(kwargs, "init_weights", False)


def without_unwanted_heads(model, asked):
    if asked.get("aux_logits", False):
        warnings.warn(
            "auxiliary heads in the pretrained googlenet model are NOT pretrained, so make sure to train them",
            stacklevel=3,
        )
    else:
        model.aux_logits, model.aux1, model.aux2 = False, None, None


googlenet = define(
    "googlenet", GoogLeNet, "Szegedy and others, 2014", __name__, adjust=as_trained, finish=without_unwanted_heads
)

__getattr__ = attribute_of(__name__)
