"""Operations whose results have a size that depends on elements: entries would differ, so vmap refuses them."""

from __future__ import annotations

from ...base.errors import hinted
from ...base.shapes import broadcast_shapes
from .call import aligned, rule
from .one_by_one import ONE_BY_ONE

_ISSUES = "https://github.com/pytorch/pytorch/issues"
_NAMES = {"nonzero_rows": "nonzero", "unique_parts": "_unique2"}


def _refuse(first):
    raise RuntimeError(
        hinted(first, "torch.where() and masked_fill() keep the shape: use them in place of a selection")
    )


@rule(*_NAMES)
def of_unknown_size(call):
    """Refused."""
    name = _NAMES[call.op.name]
    if name == "_unique2" and call.given("consecutive"):
        name = "unique_consecutive"
    _refuse(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"aten::{name}. Please file an issue at {_ISSUES} if you need this feature."
    )


@rule("masked_select")
def masked_select(call):
    """A mask that all entries share selects the same number from each."""
    if call.is_batched("mask"):
        _refuse(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch "
            f"this would return a differently shaped Tensor. Please file an issue at {_ISSUES} if you need this feature."
        )
    ndim = max(call.given("self").dim(), call.given("mask").dim())
    mask = call.given("mask")
    values = aligned(call.batched("self"), ndim)
    shape = broadcast_shapes(tuple(values.shape[1:]), tuple(mask.shape))
    rows = values.expand(call.size, *shape).reshape(call.size, -1)
    return rows[:, mask.expand(shape).reshape(-1)]


ONE_BY_ONE.update({
    "bincount": "the number of bins depends on the elements: entries must agree",
    "nonzero_static": "rare",
    "histc": "its bounds may come from the elements of each entry",
    "histogram_edges": "its bounds may come from the elements of each entry",
    "histogram_counts": "edges may differ between entries",
    "fake_quantize_by_channels": "each entry may have its own scales",
    "masked_scatter": "each entry takes from the start of its own source",
    "ctc_loss_parts": "lengths are plain numbers that all entries share; rare",
    "ctc_loss_gradient": "as ctc_loss_parts",
    "view_dtype": "looks at bytes, outside of the graph",
})  # fmt: skip
