"""Feature pyramid network: maps of several sizes that all know what the smallest one knows."""

from __future__ import annotations

from collections import OrderedDict

from ... import nn
from .misc import Conv2dNormActivation

__all__ = ["FeaturePyramidNetwork"]


class ExtraFPNBlock(nn.Module):
    """What makes further levels of the pyramid; its call gets and returns results and names."""

    def forward(self, results, x, names):
        raise NotImplementedError("a subclass says which levels it adds")


class FeaturePyramidNetwork(nn.Module):
    """Each map plus the enlarged next smaller one (Lin and others, 2016); takes and returns a dict of maps, largest first.

    >>> import rushlight as torch
    >>> from rushlight.vision.ops import FeaturePyramidNetwork
    >>> maps = {"large": torch.ones(1, 4, 8, 8), "small": torch.ones(1, 6, 4, 4)}
    >>> {name: tuple(level.shape) for name, level in FeaturePyramidNetwork([4, 6], 5)(maps).items()}
    {'large': (1, 5, 8, 8), 'small': (1, 5, 4, 4)}
    """

    _version = 2  # version 1 had bare convolutions in its lists

    def __init__(self, in_channels_list, out_channels, extra_blocks=None, norm_layer=None):
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        options = {"norm_layer": norm_layer, "activation_layer": None}
        for in_channels in in_channels_list:
            if in_channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            self.inner_blocks.append(Conv2dNormActivation(in_channels, out_channels, 1, padding=0, **options))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **options))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        if (local_metadata.get("version") or 1) < 2:
            for block in ("inner_blocks", "layer_blocks"):
                for index in range(len(self.inner_blocks)):
                    for kind in ("weight", "bias"):
                        old = f"{prefix}{block}.{index}.{kind}"
                        if old in state_dict:
                            state_dict[f"{prefix}{block}.{index}.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def forward(self, x):
        names, maps = list(x.keys()), list(x.values())
        results, above = [], None
        for index in range(len(maps) - 1, -1, -1):
            inner = self.inner_blocks[index](maps[index])
            if above is not None:
                inner = inner + nn.functional.interpolate(above, size=inner.shape[-2:], mode="nearest")
            above = inner
            results.insert(0, self.layer_blocks[index](inner))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results))


class LastLevelMaxPool(ExtraFPNBlock):
    """One more level, every second value of the smallest."""

    def forward(self, x, y, names):
        pooled = nn.functional.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0)
        return [*x, pooled], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Two more levels by convolutions of stride 2 (Lin and others, "Focal Loss for Dense Object Detection", 2017)."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            nn.init.zeros_(module.bias)
        self.use_P5 = in_channels == out_channels

    def forward(self, p, c, names):
        sixth = self.p6(p[-1] if self.use_P5 else c[-1])
        return [*p, sixth, self.p7(nn.functional.relu(sixth))], [*names, "p6", "p7"]
