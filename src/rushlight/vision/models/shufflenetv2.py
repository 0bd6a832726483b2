"""ShuffleNet v2."""

from __future__ import annotations

from rushlight.ops.table import functions

from ... import nn
from .registry import define
from .weights import attribute_of

__all__ = ["ShuffleNetV2"]

# name: channels of the first convolution, the three stages and the last convolution
MODELS = {
    "shufflenet_v2_x0_5": (24, 48, 96, 192, 1024),
    "shufflenet_v2_x1_0": (24, 116, 232, 464, 1024),
    "shufflenet_v2_x1_5": (24, 176, 352, 704, 1024),
    "shufflenet_v2_x2_0": (24, 244, 488, 976, 2048),
}


def channel_shuffle(x, groups):
    """The channels of `groups` groups, interleaved."""
    batch, channels, height, width = x.size()
    x = x.view(batch, groups, channels // groups, height, width)
    return functions.transpose(x, 1, 2).contiguous().view(batch, channels, height, width)


def pointwise(inputs, outputs):
    return [nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]


def depthwise(channels, stride):
    return [nn.Conv2d(channels, channels, 3, stride, 1, bias=False, groups=channels), nn.BatchNorm2d(channels)]


class InvertedResidual(nn.Module):
    """Half the channels unchanged beside a depthwise branch (stride 1), or two branches of half the size."""

    def __init__(self, inp, oup, stride):
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        half = oup // 2
        if stride == 1 and inp != half * 2:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. If stride == 1 then inp should "
                "be equal to oup // 2 << 1."
            )
        self.stride = stride
        self.branch1 = nn.Sequential(*(depthwise(inp, stride) + pointwise(inp, half) if stride > 1 else []))
        entering = inp if stride > 1 else half
        self.branch2 = nn.Sequential(*pointwise(entering, half), *depthwise(half, stride), *pointwise(half, half))

    def forward(self, x):
        if self.stride == 1:
            kept, worked = x.chunk(2, dim=1)
            out = functions.cat((kept, self.branch2(worked)), dim=1)
        else:
            out = functions.cat((self.branch1(x), self.branch2(x)), dim=1)
        return channel_shuffle(out, 2)


class ShuffleNetV2(nn.Module):
    """Cheap blocks with shuffled channels (Ma and others, 2018)."""

    def __init__(self, stages_repeats, stages_out_channels, num_classes=1000, inverted_residual=InvertedResidual):
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        first, *stages, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        width = first
        for number, (repeats, channels) in enumerate(zip(stages_repeats, stages, strict=True), 2):
            blocks = [inverted_residual(width, channels, 2)]
            blocks += [inverted_residual(channels, channels, 1) for _ in range(repeats - 1)]
            self.add_module(f"stage{number}", nn.Sequential(*blocks))
            width = channels
        self.conv5 = nn.Sequential(*pointwise(width, last))
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x):
        x = self.maxpool(self.conv1(x))
        x = self.stage4(self.stage3(self.stage2(x)))
        return self.fc(self.conv5(x).mean([2, 3]))


def constructor(name):
    def construct(**kwargs):
        return ShuffleNetV2([4, 8, 4], list(MODELS[name]), **kwargs)

    return define(name, construct, "Ma and others, 2018", __name__)


for _name in MODELS:
    globals()[_name] = constructor(_name)
    __all__.append(_name)

__getattr__ = attribute_of(__name__)
