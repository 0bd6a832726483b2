"""``torch.nn.attention.flex_attention``: attention whose scores and mask are functions of the positions.

It is computed as it is written: all scores at once, each function mapped over batch, head, query and key positions.
"""

from __future__ import annotations

import inspect
import math
from typing import NamedTuple

from ...base.dtypes import bool_, float32, float64, int32, promote_types
from ...base.errors import hinted
from ...func.vmap import vmap
from ...tensor import NAMESPACES, Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]
_torch = NAMESPACES["torch"]
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What `flex_attention` gives beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What `flex_attention` has given beside its result: None for what was not asked for."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch, head, token_q, token_kv):
    """A mask that hides nothing."""
    return batch.new_ones(size=(), dtype=bool_)


def and_masks(*mask_mods):
    """A mask that shows what all of these show."""
    return _combined(mask_mods, lambda one, other: one & other, True)


def or_masks(*mask_mods):
    """A mask that shows what any of these shows."""
    return _combined(mask_mods, lambda one, other: one | other, False)


def _combined(mask_mods, combine, first):
    if not all(callable(mask) for mask in mask_mods):
        raise RuntimeError(
            hinted(f"All inputs should be callable mask_mods: {mask_mods}", "f(batch, head, query, key)")
        )

    def mask(b, h, q_idx, kv_idx):
        found = b.new_full((), first, dtype=bool_)
        for each in mask_mods:
            found = combine(found, each(b, h, q_idx, kv_idx))
        return found

    return mask


def _mapped(function, leading):
    """The function over tensors of all positions; ``leading`` says whether a score of each place comes first."""
    first = (0,) if leading else ()
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        function = vmap(function, in_dims=first + dims)
    return function


def _positions(*lengths):
    return tuple(_torch["arange"](length) for length in lengths)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """The mask of all positions, ``[B, H, Q_LEN, KV_LEN]``; of a function of scores, the scores that it makes of zeros.

    >>> from rushlight.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, kv: q >= kv, 1, 1, 2, 2)[0, 0]
    tensor([[ True, False],
            [ True,  True]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    positional = [p for p in inspect.signature(mod_fn).parameters.values() if p.default is p.empty]
    if len(positional) == 5:
        return _mapped(mod_fn, True)(_torch["zeros"](shape), *_positions(*shape))
    return _mapped(mod_fn, False)(*_positions(*shape)).expand(shape)


class BlockMask:
    """A mask with what is known of it by blocks: which are shown in part, and which as a whole."""

    def __init__(
        self,
        seq_lengths,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks,
        full_kv_indices,
        q_num_blocks=None,
        q_indices=None,
        full_q_num_blocks=None,
        full_q_indices=None,
        BLOCK_SIZE=(_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod=noop_mask,
    ):
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
    ):
        """A mask of its blocks by query."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        turned = []
        for number, indices in ((kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices)):
            known = compute_q_blocks and number is not None
            turned += _ordered(_dense(number, indices).transpose(-2, -1)) if known else (None, None)
        kv = kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices
        return cls(seq_lengths, *kv, *turned, size, mask_mod or noop_mask)

    @property
    def shape(self):
        """Batches, heads, queries and keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """How many places there are."""
        return math.prod(self.shape)

    def sparsity(self):
        """The share of places that no block covers, in per cent."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - blocks * math.prod(self.BLOCK_SIZE) / self.numel())

    def to_dense(self):
        """1 for each block of which something is shown."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        return (
            found if self.full_kv_num_blocks is None else found | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        )

    def to(self, device):
        """The mask on a device."""
        self.kv_num_blocks.to(device)
        return self

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _ordered(dense):
    """``(number, indices)`` of the blocks in each row, those that are there first."""
    indices = _torch["argsort"](dense.to(int32), dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(int32), indices.to(int32).contiguous()


def _dense(number, indices):
    """1 for each block of the lists."""
    there = (_torch["arange"](indices.shape[-1]) < number.unsqueeze(-1)).to(int32)
    return _torch["zeros_like"](indices).scatter(-1, indices.long(), there)


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=True,
):
    """The `BlockMask` of a function ``mask_mod(batch, head, query, key)`` of positions."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = (-(-length // step) for length, step in zip((Q_LEN, KV_LEN), size))
    padded = mask.new_zeros((*mask.shape[:2], rows * size[0], columns * size[1]))
    padded[:, :, :Q_LEN, :KV_LEN] = mask
    shown = padded.view(*mask.shape[:2], rows, size[0], columns, size[1]).to(int32).sum((3, 5))
    full = shown == math.prod(size) if separate_full_blocks else _torch["zeros_like"](shown, dtype=bool_)
    partly = _ordered((shown > 0) & ~full)
    wholly = _ordered(full) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(*partly, *wholly, size, mask_mod, (Q_LEN, KV_LEN))


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """Attention with scores that ``score_mod(score, batch, head, query, key)`` has changed, where ``block_mask`` shows them."""
    heads = query.shape[1]
    if key.shape[1] != heads:
        if not enable_gqa:
            raise ValueError(
                hinted(
                    f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={key.shape[1]}. "
                    "Try setting enable_gqa=True for GQA.",
                    "dimension 1 holds the heads",
                )
            )
        key, value = (each.repeat_interleave(heads // each.shape[1], 1) for each in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    precise = query.dtype if query.dtype is float64 else promote_types(query.dtype, float32)
    scores = (query.to(precise) @ key.to(precise).transpose(-2, -1)) * factor
    places = _positions(*scores.shape)
    if score_mod is not None:
        scores = _mapped(score_mod, True)(scores, *places)
    if block_mask is not None:
        shown = _mapped(block_mask.mask_mod, False)(*places)
        scores = _torch["where"](shown, scores, -math.inf)
    lse = scores.logsumexp(-1)
    hidden = (scores == -math.inf).all(-1, True)
    weights = scores.softmax(-1).masked_fill(hidden, 0)
    result = (weights @ value.to(precise)).to(query.dtype)
    if return_aux is not None:
        greatest = scores.amax(-1) if return_aux.max_scores else None
        return result, AuxOutput(lse if return_aux.lse else None, greatest)
    return (result, lse) if return_lse else result
