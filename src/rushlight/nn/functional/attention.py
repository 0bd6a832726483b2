"""Attention as functions: scaled dot-product attention, and the multi-head form with its projections and masks."""

from __future__ import annotations

import math
import warnings

from ...amp.state import state as autocast
from ...base import dtypes
from ...base.errors import hinted
from ...base.scalars import c_name
from ...ops.attention import attention_formula, repeat_heads
from ...ops.table import functions

_MASK_NEEDED = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)


# ---------------------------------------------------------------- scaled dot-product attention


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """softmax(query key' * scale + mask) value, for (..., L, E), (..., S, E) and (..., S, V) to (..., L, V).

    Args:
        attn_mask: None, or broadcast to (..., L, S): bool, True where a query may look, or floating, added to the
        scores.
            A query that may look nowhere gets zeros.
        dropout_p: the probability with which a weight is dropped, also in evaluation.
        is_causal: let query i look at keys 0 to i only; not together with ``attn_mask``.
        scale: None for 1 / sqrt(E).
        enable_gqa: repeat the heads (dimension -3) of key and value to the number of the query's.

    Raises RuntimeError for fewer than two dimensions, mixed dtypes, or a mask of another kind. After Vaswani et al.,
    "Attention Is All You Need" (2017). Follows ``torch.nn.functional.scaled_dot_product_attention``.

    >>> import rushlight as torch
    >>> q, k, v = torch.randn(2, 8, 5, 16), torch.randn(2, 8, 7, 16), torch.randn(2, 8, 7, 32)
    >>> torch.nn.functional.scaled_dot_product_attention(q, k, v).shape
    torch.Size([2, 8, 5, 32])
    """
    _check_attention(query, key, value, attn_mask, is_causal)
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    mask = None if attn_mask is None else _added_mask(attn_mask, query.dtype)
    if dropout_p == 0.0 and _is_one_operation(query, key, value, mask, enable_gqa):
        return functions.attention(query, key, value, mask, is_causal, scale)[0]
    if enable_gqa:
        key, value = repeat_heads(query, key), repeat_heads(query, value)
    return attention_formula(query, key, value, mask, is_causal, scale, dropout_p)


functions.scaled_dot_product_attention = scaled_dot_product_attention


def _added_mask(mask, dtype):
    """The mask as numbers to add to the scores: minus infinity where a bool one is False."""
    if mask.dtype is dtypes.bool_:
        return functions.zeros_like(mask, dtype=dtype).masked_fill(mask.logical_not(), -math.inf)
    return mask if mask.dtype is dtype else mask.to(dtype)


def _is_one_operation(query, key, value, mask, grouped):
    """Whether the operation takes these: batches of heads that match, and a mask that needs no gradient."""
    shape, of_key, of_value = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    if not len(shape) == len(of_key) == len(of_value) == 4 or not query.is_floating_point():
        return False
    if mask is not None and mask.requires_grad:
        return False
    fit = of_key[1] > 0 and shape[1] % of_key[1] == 0 if grouped else shape[1] == of_key[1]
    same = shape[0] == of_key[0] and shape[3] == of_key[3] and of_key[:3] == of_value[:3]
    return fit and same and 0 not in shape + of_key + of_value


def _check_attention(query, key, value, attn_mask, is_causal):
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got "
            f"query.dim: {query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got "
            f"query.dtype: {c_name(query.dtype)} key.dtype: {c_name(key.dtype)} "
            f"and value.dtype: {c_name(value.dtype)} instead."
        )
    if attn_mask is None:
        return
    if is_causal:
        raise RuntimeError(
            hinted(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True",
                "is_causal=True makes its own mask: leave attn_mask out, or put the causal part into it",
            )
        )
    if attn_mask.dtype is not query.dtype and attn_mask.dtype not in (dtypes.bool_, dtypes.float32):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {c_name(attn_mask.dtype)} and  query.dtype: {c_name(query.dtype)} instead."
        )


# ---------------------------------------------------------------- multi-head attention


def multi_head_attention_forward(
    query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn,
    dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True,
    attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None,
    static_k=None, static_v=None, average_attn_weights=True, is_causal=False,
):  # fmt: skip
    """Multi-head attention: project, attend in every head, join and project; (output, weights or None).

    ``query`` is (L, N, E) or (L, E), ``key`` (S, N, kdim) and ``value`` (S, N, vdim). Masks are bool, True where a
    query may *not* look, or floating, added to the scores: ``key_padding_mask`` (N, S), ``attn_mask`` (L, S) or (N *
    heads, L, S). ``is_causal`` only promises that ``attn_mask`` is causal. The weights, with ``need_weights``, are
    (N, L, S), or (N, heads, L, S) if not ``average_attn_weights``. The rest is what :class:`nn.MultiheadAttention`
    holds. AssertionError and RuntimeError for shapes that do not fit. Follows
    ``torch.nn.functional.multi_head_attention_forward``.
    """
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    target_length, batch, embed_dim = query._array.shape
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError(_MASK_NEEDED)
    is_causal = is_causal and key_padding_mask is None and not need_weights
    attn_mask = None if is_causal else canonical_mask(attn_mask, "attn_mask", None, "", query.dtype)
    _check_embedding(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)

    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    _check_batch(batch, num_heads, embed_dim // num_heads, key, value)
    projected = _project(query, key, value, in_proj_weight, separate, in_proj_bias)
    attn_mask = _batch_of_masks(attn_mask, target_length, key._array.shape[0], batch * num_heads)
    learned = _has_learned_pair(bias_k, bias_v, static_k, static_v)
    if learned:
        projected = _with_learned_pair(projected, bias_k, bias_v, batch)
    # Where a step makes the weights anyway, it makes them of whole matrices.
    dropout_p = dropout_p if training else 0.0
    masked = attn_mask is not None or key_padding_mask is not None or is_causal
    with_weights = need_weights or (dropout_p > 0.0 and not masked)
    heads = _split_heads(projected, batch, num_heads, embed_dim // num_heads, with_weights)
    query, key, value = _with_static(heads, static_k, static_v, add_zero_attn, batch, num_heads)
    mask = _merge_masks(attn_mask, key_padding_mask, learned + add_zero_attn, batch, key._array.shape[-2])
    attend = _attend_with_weights if with_weights else _attend_without_weights
    output, weights = attend(query, key, value, mask, dropout_p, is_causal, num_heads)
    output = functions.linear(output, out_proj_weight, out_proj_bias)
    output = functions.view_shape(output, (target_length, batch, embed_dim))
    weights = _by_sample(weights, num_heads) if need_weights else None
    if need_weights and average_attn_weights:
        weights = weights.mean((1,))
    return (output, weights) if batched else (output.squeeze(1), None if weights is None else weights.squeeze(0))


def _attend_with_weights(query, key, value, mask, dropout_p, is_causal, heads):
    """What rows see, (L * N, E), of heads that are (N * heads, L, E / heads); and the weights (N * heads, L, S)."""
    copies, _, size = query._array.shape
    scores = functions.scaled_scores(query, key, math.sqrt(1.0 / size))
    if mask is not None:
        if mask.dtype is not scores.dtype and autocast.casts_to is None:
            found, own = (c_name(each.dtype) for each in (mask, scores))
            message = f"Input dtypes must be the same, got: input {found}, batch1: {own}, batch2: {own}"
            raise RuntimeError(
                hinted(message, "the masks are added to the scores: convert them to the dtype of the query")
            )
        scores = (_by_sample(scores, heads) + mask.to(scores.dtype)).view(scores.shape)
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = functions.dropout(weights, dropout_p, True)
    return functions.merge_heads(functions.bmm(weights, value), copies // heads, heads), weights


def _attend_without_weights(query, key, value, mask, dropout_p, is_causal, heads):
    """What rows see, (L * N, E), of heads that are (N, heads, L, E / heads); and None."""
    batch, _, length, size = query._array.shape
    seen = scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal)
    return seen.permute(2, 0, 1, 3).reshape(length * batch, heads * size), None


def _by_sample(scores, heads):
    """(N * heads, L, S) as (N, heads, L, S)."""
    copies, length, source_length = scores._array.shape
    return functions.view_shape(scores, (copies // heads, heads, length, source_length))


# ---------------------------------------------------------------- its projections


def _project(query, key, value, weight, separate, bias):
    """The rows (steps * N, E) of queries, keys and values by one matrix (3 * E, E), or by ``separate`` ones."""
    same_keys, same = key is value, query is key
    query = _rows(query)
    key = query if same else _rows(key)
    value = key if same_keys else _rows(value)
    if separate is None:
        _require(weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        return _project_packed(query, key, value, weight, bias)
    _check_separate_weights(separate, query, key, value)
    return _project_separately(query, key, value, separate, bias)


def _rows(x):
    """(steps, N, E) as (steps * N, E)."""
    steps, batch, size = x._array.shape
    return functions.reshape(x, (steps * batch, size))


def _project_packed(query, key, value, weight, bias):
    """Queries, keys and values by one matrix (3 * E, E): one result for inputs that are the same tensor, side by side."""
    size = query._array.shape[-1]
    if key is value:
        if query is key:
            return [functions.linear(query, weight, bias)]
        bias_q, bias_kv = (None, None) if bias is None else bias.split([size, 2 * size])
        weight_q, weight_kv = weight.split([size, 2 * size])
        return [functions.linear(query, weight_q, bias_q), functions.linear(key, weight_kv, bias_kv)]
    return _project_separately(query, key, value, weight.chunk(3), bias)


def _project_separately(query, key, value, weights, bias):
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [functions.linear(x, weight, b) for x, weight, b in zip((query, key, value), weights, biases)]


def _with_learned_pair(projected, bias_k, bias_v, batch):
    """Queries, keys and values; the last two with one more step, which was learned."""
    query, key, value = (part for x in projected for part in x.split(bias_k._array.shape[-1], -1))
    return [
        query,
        *(functions.cat([x, bias.repeat(batch, 1, 1)[:, 0]]) for x, bias in ((key, bias_k), (value, bias_v))),
    ]


def _with_static(heads, static_k, static_v, with_zeros, batch, num_heads):
    """Queries, keys and values by heads; keys and values may be given ready made, and get zeros for a last step."""
    query, key, value = heads
    key = key if static_k is None else _checked_static(static_k, "static_k", query, batch, num_heads)
    value = value if static_v is None else _checked_static(static_v, "static_v", query, batch, num_heads)
    if with_zeros:
        key, value = (functions.cat([x, x.new_zeros(*x.shape[:-2], 1, x.shape[-1])], -2) for x in (key, value))
    return query, key, value


def _split_heads(projected, batch, num_heads, size, flat):
    """What (steps * N, count * E) hold, E = heads * size, each as (N, heads, steps, size), a view; if ``flat``, as a copy
    (N * heads, steps, size)."""
    heads = []
    for x in projected:
        rows, width = x._array.shape
        count = width // (num_heads * size)
        if flat:
            heads += functions.split_heads(x, batch, count, num_heads)
        else:
            apart = functions.view_shape(x, (rows // max(batch, 1), batch, count, num_heads, size))
            heads += apart.permute(2, 1, 3, 0, 4).unbind(0)
    return heads


# ---------------------------------------------------------------- its masks


def canonical_mask(mask, name, other, other_name, dtype, check_other=True):
    """A mask as numbers to add, minus infinity where a bool one is True; None stays None.

    AssertionError for other kinds; a warning where ``other`` is of another kind than ``mask``.
    """
    if mask is None:
        return None
    is_bool = mask.dtype is dtypes.bool_
    _require(is_bool or mask.is_floating_point(), f"only bool and floating types of {name} are supported")
    if check_other and other is not None and other.dtype is not mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    return functions.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf) if is_bool else mask


def _batch_of_masks(mask, target_length, source_length, copies):
    """``mask`` with three dimensions, the first of them 1 or ``copies``."""
    if mask is None:
        return None
    wanted = (target_length, source_length)
    if mask.dim() == 3:
        wanted = (copies, *wanted)
    elif mask.dim() != 2:
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _merge_masks(attn_mask, key_padding_mask, extra, batch, source_length):
    """Both masks in one that broadcasts to (N, heads, L, S); keys that were added (``extra``) are open to all."""
    if attn_mask is not None:
        lead = (1, 1) if attn_mask.shape[0] == 1 else (batch, -1)
        attn_mask = attn_mask.view(*lead, *attn_mask.shape[1:])
        attn_mask = functions.pad(attn_mask, (0, extra)) if extra else attn_mask
    if key_padding_mask is None:
        return attn_mask
    if extra:
        key_padding_mask = functions.pad(key_padding_mask, (0, extra))
    for dim, length in enumerate((batch, source_length)):
        _require(
            key_padding_mask.shape[dim] == length,
            f"Expected key_padded_mask.shape[{dim}] to be {length}, but got {key_padding_mask.shape[dim]}",
        )
    key_padding_mask = key_padding_mask.view(batch, 1, 1, source_length)
    return key_padding_mask if attn_mask is None else attn_mask + key_padding_mask


# ---------------------------------------------------------------- its checks


def _require(condition, message):
    """PyTorch raises AssertionError for these, whatever ``python -O`` says."""
    if not condition:
        raise AssertionError(message)


def _has_learned_pair(bias_k, bias_v, static_k, static_v):
    """Whether a learned key and value are appended; AssertionError for one alone, or together with static ones."""
    if bias_k is None or bias_v is None:
        _require(bias_k is None, "bias_k is set but bias_v is None")
        _require(bias_v is None, "bias_v is set but bias_k is None")
        return False
    _require(static_k is None, "bias cannot be added to static key.")
    _require(static_v is None, "bias cannot be added to static value.")
    return True


def _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether the inputs have a batch dimension; AssertionError where they disagree about it."""
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    if not key.dim() == value.dim() == dims:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {dims}-D "
            f"but found {key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.dim() == dims - 1,
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D "
            f"but found {key_padding_mask.dim()}-D tensor instead",
        )
    if attn_mask is not None:
        _require(
            attn_mask.dim() in (2, 3),
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D "
            f"but found {attn_mask.dim()}-D tensor instead",
        )
        if dims == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            _require(
                tuple(attn_mask.shape) == expected,
                f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}",
            )
    return dims == 3


def _check_embedding(query, key, value, embed_dim, num_heads, separate):
    present, of_key, of_value = query._array.shape[2], key._array.shape, value._array.shape
    if present != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {present}")
    if embed_dim % num_heads:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if separate and of_key[:2] != of_value[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and of_key != of_value:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _check_batch(batch, heads, size, *others):
    """RuntimeError where keys or values are of another number of sequences than the ``batch`` of queries."""
    for x in others:
        steps, present, _ = x._array.shape
        if present != batch:
            raise RuntimeError(
                hinted(
                    f"shape '[{steps}, {batch * heads}, {size}]' is invalid for input of size {steps * present * heads * size}",
                    f"the query has {batch} sequences, key or value {present}",
                )
            )


def _check_separate_weights(weights, query, key, value):
    for letter, weight in zip("qkv", weights):
        _require(weight is not None, f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    size = query.shape[-1]
    for word, weight, x in zip(("query", "key", "value"), weights, (query, key, value)):
        expected = (size, x.shape[-1])
        _require(
            tuple(weight.shape) == expected, f"expecting {word} weights shape of {expected}, but got {weight.shape}"
        )


def _checked_static(static, name, query, batch, heads):
    """Keys or values given ready made, (N * heads, S, E / heads), by head as the query; AssertionError for another shape."""
    for dim, expected in ((0, batch * heads), (2, query.shape[-1])):
        _require(
            static.shape[dim] == expected, f"expecting {name}.size({dim}) of {expected}, but got {static.shape[dim]}"
        )
    return static if query.dim() == 3 else static.view(batch, heads, *static.shape[1:])
