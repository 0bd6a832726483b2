"""Products of matrices, linear layers, attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import BOOL, INT64, Builder, Value
from .registry import translation


@translation("linear_rows")
def _linear(b: Builder, value: Value, weight: Value, bias: Any) -> Value:
    if value.rank == 2:
        return b.add("Gemm", value, weight, bias, transB=1)
    found = b.add("MatMul", value, b.transpose(weight, [1, 0]))
    return found if bias is None else found + bias


@translation("mm", "bmm", "batched_product", "mv", "dot", "vdot", "transposed_mm")
def _matmul(b: Builder, first: Value, second: Value) -> Value:
    return b.add("MatMul", first, second)


@translation("linalg_det")
def _det(b: Builder, value: Value) -> Value:
    return b.add("Det", value)


@translation("outer_product")
def _outer(b: Builder, first: Value, second: Value) -> Value:
    return b.unsqueeze(first, 1) * b.unsqueeze(second, 0)


@translation("vector_products")
def _vector_products(b: Builder, first: Value, second: Value) -> Value:
    return b.reduce("ReduceSum", first * second, [first.rank - 1], False)


@translation("addmm", "baddbmm", "addmv")
def _addmm(b: Builder, value: Value, first: Value, second: Value, beta: Any, alpha: Any) -> Value:
    product = b.add("MatMul", first, second)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (value if beta == 1 else value * beta)


@translation("scaled_scores")
def _scores(b: Builder, query: Value, key: Value, scale: float) -> Value:
    return b.add("MatMul", query, b.transpose(key, [0, 2, 1])) * scale


@translation("split_heads")
def _split_heads(b: Builder, value: Value, batch: Any, count: int, heads: int) -> Any:
    size = b.fixed(value, [1])[0] // (count * heads)
    apart = b.reshape(value, [-1, batch, count, heads, size])
    moved = b.add("Transpose", apart, perm=[2, 1, 3, 0, 4])
    found = [b.add("Gather", moved, b.scalar(place), axis=0) for place in range(count)]
    steps = b.slice(b.shape_of(moved), 0, 3, 4)
    return tuple(b.reshape(each, [batch * heads, steps, size]) for each in found)


@translation("merge_heads")
def _merge_heads(b: Builder, value: Value, batch: Any, heads: int) -> Value:
    size = b.fixed(value, [2])[0]
    steps = b.dim(value, 1)
    apart = b.reshape(value, [-1, batch, heads, steps, size])
    moved = b.add("Transpose", apart, perm=[3, 1, 0, 2, 4])
    return b.reshape(moved, [-1, b.step.meta["val"].shape[1]])


@translation("attention")
def _attention(b: Builder, query: Value, key: Value, value: Value, mask: Any, is_causal: bool, scale: float) -> Any:
    rank, heads, groups = key.rank, query.shape[1], key.shape[1]
    if heads != groups:  # a head of the keys for several of the queries
        places = b.constant(np.repeat(np.arange(groups), heads // groups), INT64)
        key, value = (
            Value(b, b.add("Gather", each, places, axis=1).name, each.dtype, each.shape, each.sizes)
            for each in (key, value)
        )
    turned = b.transpose(key, [*range(rank - 2), rank - 1, rank - 2])
    scores = b.add("MatMul", query * scale, turned)
    if is_causal:
        sizes = b.ints([b.dim(query, rank - 2), b.dim(key, rank - 2)])
        mask = b.add("Trilu", b.filled(sizes, True, BOOL), upper=0)
    if mask is None:
        return b.add("MatMul", b.add("Softmax", scores, axis=-1), value), None
    scores = b.where(mask, scores, float("-inf")) if mask.dtype == BOOL else scores + mask
    blind = b.reduce("ReduceMax", scores, [rank - 1], True) == float("-inf")  # queries that may look nowhere give zeros
    return b.add("MatMul", b.where(blind, 0, b.add("Softmax", scores, axis=-1)), value), None
