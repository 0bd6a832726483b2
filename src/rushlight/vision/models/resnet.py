"""ResNet, ResNeXt and Wide ResNet."""

from __future__ import annotations

from ... import flatten, nn
from ._utils import _ovewrite_named_param
from .registry import define
from .weights import attribute_of

__all__ = ["ResNet"]


def conv3x3(in_planes, out_planes, stride=1, groups=1, dilation=1):
    """A 3x3 convolution without bias that keeps the size at stride 1."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, dilation, dilation, groups, bias=False)


def conv1x1(in_planes, out_planes, stride=1):
    """A 1x1 convolution without bias."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 3x3 convolution, which has the stride, between two of 1x1, beside a shortcut."""

    expansion = 4

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """Four stages of residual blocks (He and others, 2015)."""

    def __init__(
        self,
        block,
        layers,
        num_classes=1000,
        zero_init_residual=False,
        groups=1,
        width_per_group=64,
        replace_stride_with_dilation=None,
        norm_layer=None,
    ):
        super().__init__()
        dilated = [False] * 3 if replace_stride_with_dilation is None else replace_stride_with_dilation
        if len(dilated) != 3:
            raise ValueError(
                f"replace_stride_with_dilation should be None or a 3-element tuple, got {replace_stride_with_dilation}"
            )
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = 64, 1, groups, width_per_group
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], 2, dilated[0])
        self.layer3 = self._make_layer(block, 256, layers[2], 2, dilated[1])
        self.layer4 = self._make_layer(block, 512, layers[3], 2, dilated[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual):
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if zero_init_residual:  # each block starts as its shortcut
            for module in self.modules():
                if isinstance(module, (BasicBlock, Bottleneck)):
                    last = module.bn3 if isinstance(module, Bottleneck) else module.bn2
                    nn.init.zeros_(last.weight)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        before, outputs = self.dilation, planes * block.expansion
        if dilate:
            self.dilation *= stride
            stride = 1
        downsample = None
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(conv1x1(self.inplanes, outputs, stride), self._norm_layer(outputs))
        shared = (self.groups, self.base_width)
        made = [block(self.inplanes, planes, stride, downsample, *shared, before, self._norm_layer)]
        self.inplanes = outputs
        for _ in range(1, blocks):
            made.append(block(outputs, planes, 1, None, *shared, self.dilation, self._norm_layer))
        return nn.Sequential(*made)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(flatten(self.avgpool(x), 1))


# name: (block, blocks a stage, fixed arguments)
MODELS = {
    "resnet18": (BasicBlock, [2, 2, 2, 2], {}),
    "resnet34": (BasicBlock, [3, 4, 6, 3], {}),
    "resnet50": (Bottleneck, [3, 4, 6, 3], {}),
    "resnet101": (Bottleneck, [3, 4, 23, 3], {}),
    "resnet152": (Bottleneck, [3, 8, 36, 3], {}),
    "resnext50_32x4d": (Bottleneck, [3, 4, 6, 3], {"groups": 32, "width_per_group": 4}),
    "resnext101_32x8d": (Bottleneck, [3, 4, 23, 3], {"groups": 32, "width_per_group": 8}),
    "resnext101_64x4d": (Bottleneck, [3, 4, 23, 3], {"groups": 64, "width_per_group": 4}),
    "wide_resnet50_2": (Bottleneck, [3, 4, 6, 3], {"width_per_group": 128}),
    "wide_resnet101_2": (Bottleneck, [3, 4, 23, 3], {"width_per_group": 128}),
}


def constructor(name):
    block, layers, fixed = MODELS[name]

    def construct(**kwargs):
        for argument, value in fixed.items():
            _ovewrite_named_param(kwargs, argument, value)
        return ResNet(block, layers, **kwargs)

    papers = {"resnext": "Xie and others, 2016", "wide_": "Zagoruyko and Komodakis, 2016"}
    paper = next((papers[start] for start in papers if name.startswith(start)), "He and others, 2015")
    return define(name, construct, paper, __name__)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
