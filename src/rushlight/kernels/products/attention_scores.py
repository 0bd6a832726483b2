"""The scores of attention whose weights are wanted, too: a batch of products, by the kernel of those."""

from __future__ import annotations

import numpy as np

from ..planning.registry import kernel_for
from .matmul import bmm


@kernel_for("scaled_scores")
def scaled_scores(query, key, scale):
    with np.errstate(all="ignore"):
        return bmm(query * query.dtype.type(scale), key.swapaxes(1, 2))
