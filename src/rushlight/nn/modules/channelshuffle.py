"""ChannelShuffle: the channels of all groups interleaved, as in ShuffleNet."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module


class ChannelShuffle(Module):
    """Interleave the channels of ``groups`` groups: (N, C, *) to (N, C, *). Follows ``torch.nn.ChannelShuffle``.

    >>> import rushlight as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).view(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
