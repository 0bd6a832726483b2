"""DropBlock: squares of a feature map dropped while training."""

from __future__ import annotations

from rushlight.ops.table import functions

from ... import fx, nn

__all__ = ["drop_block2d", "DropBlock2d", "drop_block3d", "DropBlock3d"]


def without_blocks(input, p, block_size, inplace, eps, training, pooling, rank):
    """`input` with blocks of `block_size` positions a side zeroed, the rest scaled to keep the mean."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != rank:
        raise ValueError(f"input should be {rank} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    sizes = input.size()[2:]
    block_size = min(block_size, *sizes)
    if block_size % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block_size} which is even.")
    inner = [size - block_size + 1 for size in sizes]
    whole, places = 1, 1
    for size, place in zip(sizes, inner):
        whole, places = whole * size, places * place
    chance = p * whole / (block_size ** len(sizes) * places)
    centres = functions.empty((*input.size()[:2], *inner), dtype=input.dtype, device=input.device).bernoulli_(chance)
    around = block_size // 2
    centres = nn.functional.pad(centres, [around] * (2 * len(sizes)), value=0)
    kept = 1 - pooling(centres, kernel_size=block_size, stride=1, padding=around)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


@fx.wrap
def drop_block2d(input, p, block_size, inplace=False, eps=1e-6, training=True):
    """`input`, NxCxHxW, with squares zeroed so that a share of `p` is dropped (Ghiasi and others, "DropBlock", 2018)."""
    return without_blocks(input, p, block_size, inplace, eps, training, nn.functional.max_pool2d, 4)


@fx.wrap
def drop_block3d(input, p, block_size, inplace=False, eps=1e-6, training=True):
    """`drop_block2d` of volumes, NxCxDxHxW."""
    return without_blocks(input, p, block_size, inplace, eps, training, nn.functional.max_pool3d, 5)


class DropBlock2d(nn.Module):
    """`drop_block2d` as a layer."""

    def __init__(self, p, block_size, inplace=False, eps=1e-6):
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input):
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


class DropBlock3d(DropBlock2d):
    """`drop_block3d` as a layer."""

    def forward(self, input):
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)
