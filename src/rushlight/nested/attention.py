"""Attention within each element of a nested batch: nothing is padded, and no element looks at another."""

from __future__ import annotations

import math

from ..base import dtypes
from ..base.errors import hinted
from ..ops.table import functions
from .jagged import is_jagged, jagged, packed
from .strided import Elements, elements_of, from_parts, put_buffer


def _refuse(query, key, value, attn_mask):
    """PyTorch's refusals of jagged operands."""
    named = {"query": query, "key": key, "value": value}
    shown = ", ".join(f"{name}.is_nested: {each.is_nested}" for name, each in list(named.items())[:2])
    for wrong, message in (
        (
            not all(map(is_jagged, named.values())),
            f"Expected query, key, and value to be nested tensors, but got {shown}, and value.is_nested: {value.is_nested} instead.",
        ),
        (
            not query.dtype is key.dtype is value.dtype,
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, "
            f"and value.dtype: {value.dtype} instead.",
        ),
        (
            min(query.ndim, key.ndim, value.ndim) < 3,
            f"Expected query, key, and value to all be at least 3 dimensional, but got query.dim: {query.ndim}, key.dim: "
            f"{key.ndim} and value.dim: {value.ndim} instead.",
        ),
    ):
        if wrong:
            raise ValueError(hinted(message, "all three are jagged tensors (batch, heads, length, size) of one dtype"))
    ragged = [each._array.structure.ragged for each in named.values()]
    if len(set(ragged)) > 1:
        message = (
            "Expected query, key, and value to all be ragged on the same dimension, but got ragged dims "
            f"{ragged[0]}, {ragged[1]}, and {ragged[2]}, respectively."
        )
        raise ValueError(hinted(message, "transpose(1, 2) puts the length behind the heads"))
    if attn_mask is not None:
        raise ValueError(hinted("Masks are not yet supported!", "is_causal=True is, and elements never see each other"))


def _jagged_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    _refuse(query, key, value, attn_mask)
    structure = query._array.structure
    options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
    if structure.ragged == 1 and min(query.ndim, key.ndim, value.ndim) > 3:
        found = functions.scaled_dot_product_attention(packed(query), packed(key), packed(value), **options)
        return jagged(structure, found)
    if structure.ragged != 2 or not query.ndim == key.ndim == value.ndim == 4:
        message = (
            "attention on jagged tensors takes (batch, heads, length, size), the length being the ragged dimension"
        )
        raise NotImplementedError(hinted(message, "transpose(1, 2) puts the length behind the heads"))
    parts = [_by_elements(each) for each in (query, key, value)]
    found = attend(*parts, dropout_p, is_causal, scale, enable_gqa)
    # In memory the heads of a position lie side by side, as the operands do.
    rows = functions.cat([each.transpose(0, 1) for each in found], 0)
    return jagged(structure, rows.transpose(0, 1), "TransposeBackward0")


functions.jagged_attention = _jagged_attention


def _by_elements(tensor):
    """The elements (heads, length, size) of a jagged tensor (batch, heads, length, size)."""
    structure = tensor._array.structure
    if structure.lengths is not None:
        return functions.unbind(tensor, 0)
    return functions.split_with_sizes(packed(tensor), structure.counts().tolist(), 1)


def attend(queries, keys, values, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Attention of each query (heads, length, size) to the key and value at its place in the lists."""
    if dropout_p > 0.0:
        return _with_dropout(queries, keys, values, dropout_p, is_causal, scale)
    return [
        functions.scaled_dot_product_attention(
            query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0),
            is_causal=is_causal, scale=scale, enable_gqa=enable_gqa,
        ).squeeze(0)
        for query, key, value in zip(queries, keys, values)
    ]  # fmt: skip


def _with_dropout(queries, keys, values, dropout_p, is_causal, scale):
    """As `attend`, with weights dropped: one draw for those of all elements, as PyTorch's."""
    weights = []
    for query, key in zip(queries, keys):
        scores = (query * (scale or 1 / math.sqrt(query.shape[-1]))) @ key.transpose(1, 2)
        if is_causal:
            later = functions.ones(scores.shape[-2:], dtype=dtypes.bool_).triu(1)
            scores = scores.masked_fill(later, -math.inf)
        weights.append(scores.softmax(-1))
    drawn = functions.dropout(functions.cat([each.reshape(-1) for each in weights], 0), dropout_p, True)
    dropped = functions.split_with_sizes(drawn, [each.numel() for each in weights], 0)
    return [part.reshape(each.shape) @ value for part, each, value in zip(dropped, weights, values)]


def _self_attention(module, x, need_weights, average):
    """What ``nn.MultiheadAttention`` gives for a strided nested tensor (batch, length, size): (output, weights or None).

    The weights, of rectangles (batch, length, length), are zeros where an element is shorter.
    """
    heads, elements = module.num_heads, x._array.elements
    rows = functions.linear(elements_of(x).reshape(-1, x.size(2)), module.in_proj_weight, module.in_proj_bias)
    lengths = elements.shapes[:, 0].tolist()
    queries, keys, values = zip(
        *[part.reshape(part.shape[0], 3, heads, -1).permute(1, 2, 0, 3).unbind(0) for part in rows.split(lengths)]
    )
    found = [each.transpose(0, 1).reshape(each.shape[1], -1) for each in attend(queries, keys, values)]
    output = functions.linear(functions.cat(found, 0), module.out_proj.weight, module.out_proj.bias)
    output = put_buffer(Elements(elements.shapes), output.reshape(-1))
    return output, _weights(queries, keys, average) if need_weights else None


def _weights(queries, keys, average):
    found = []
    for query, key in zip(queries, keys):
        each = (query * query.shape[-1] ** -0.5 @ key.transpose(1, 2)).softmax(-1)
        found.append(each.mean(0) if average else each)
    return functions.strided_padded(from_parts(found), 0.0)


functions.nested_self_attention = _self_attention
