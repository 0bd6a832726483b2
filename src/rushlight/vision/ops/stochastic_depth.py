"""Stochastic depth: whole residual branches dropped while training."""

from __future__ import annotations

from rushlight.ops.table import functions

from ... import fx, nn

__all__ = ["StochasticDepth", "stochastic_depth"]


@fx.wrap
def stochastic_depth(input, p, mode, training=True):
    """`input` with each sample (mode "row") or all of it ("batch") zeroed with probability `p`, the rest scaled up.

    Huang and others, "Deep Networks with Stochastic Depth", 2016.
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    kept = 1.0 - p
    rows = input.shape[0] if mode == "row" else 1
    noise = functions.empty([rows] + [1] * (input.ndim - 1), dtype=input.dtype, device=input.device).bernoulli_(kept)
    return input * (noise.div_(kept) if kept > 0.0 else noise)


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a layer."""

    def __init__(self, p, mode):
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input):
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
