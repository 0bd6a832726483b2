"""Reductions over dimensions, order and cumulative sums, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import BOOL, INT64, Builder, Value
from .registry import dtype_of, result_dtype, translation, wrapped


def _dims(value: Value, dim: Any) -> list[int]:
    """The dimensions that a reduction names; none means all, of which a number has none."""
    if not value.rank:
        return []
    given = () if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return [wrapped(each, value.rank) for each in given]


@translation("sum", "mean")
def _sum(b: Builder, value: Value, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Value:
    return b.reduce(f"Reduce{b.step_name.capitalize()}", b.cast(value, result_dtype(b)), _dims(value, dim), keepdim)


@translation("prod_all")
def _prod_all(b: Builder, value: Value, dtype: Any = None) -> Value:
    return b.reduce("ReduceProd", b.cast(value, result_dtype(b)), (), False)


@translation("prod_dim")
def _prod_dim(b: Builder, value: Value, dim: int, keepdim: bool = False, dtype: Any = None) -> Value:
    return b.reduce("ReduceProd", b.cast(value, result_dtype(b)), _dims(value, dim), keepdim)


@translation("amax", "amin")
def _extreme(b: Builder, value: Value, dim: Any, keepdim: bool = False) -> Value:
    return b.reduce("ReduceMax" if b.step_name == "amax" else "ReduceMin", value, _dims(value, dim), keepdim)


@translation("max_all", "min_all")
def _extreme_of_all(b: Builder, value: Value) -> Value:
    return b.reduce("ReduceMax" if b.step_name == "max_all" else "ReduceMin", value, (), False)


@translation("max_dim", "min_dim")
def _extreme_and_place(b: Builder, value: Value, dim: int, keepdim: bool = False) -> Any:
    largest = b.step_name == "max_dim"
    places = b.add(
        "ArgMax" if largest else "ArgMin", value, dtype=INT64, axis=wrapped(dim, value.rank), keepdims=int(keepdim)
    )
    return b.reduce("ReduceMax" if largest else "ReduceMin", value, _dims(value, dim), keepdim), places


@translation("argmax", "argmin")
def _place(b: Builder, value: Value, dim: Any, keepdim: bool = False) -> Value:
    op = "ArgMax" if b.step_name == "argmax" else "ArgMin"
    if dim is None:
        return b.add(op, b.reshape(value, [-1]), dtype=INT64, axis=0, keepdims=0)
    return b.add(op, value, dtype=INT64, axis=wrapped(dim, value.rank), keepdims=int(keepdim))


@translation("any", "all")
def _any(b: Builder, value: Value, dim: Any = None, keepdim: bool = False) -> Value:
    ones = b.cast(b.cast(value, BOOL), np.int32)
    return b.cast(
        b.reduce("ReduceMax" if b.step_name == "any" else "ReduceMin", ones, _dims(value, dim), keepdim), BOOL
    )


@translation("count_nonzero")
def _count(b: Builder, value: Value, dim: Any = None) -> Value:
    return b.reduce("ReduceSum", b.cast(b.cast(value, BOOL), INT64), _dims(value, dim), False)


@translation("logsumexp")
def _logsumexp(b: Builder, value: Value, dim: Any, keepdim: bool = False) -> Value:
    return b.reduce("ReduceLogSumExp", b.cast(value, result_dtype(b)), _dims(value, dim), keepdim)


@translation("vector_norm_parts")
def _norm(b: Builder, value: Value, order: float, dim: Any, keepdim: bool, dtype: Any) -> Value:
    dims, value = _dims(value, dim), b.cast(value, result_dtype(b))
    if order in (1, 2):
        return b.reduce(f"ReduceL{int(order)}", value, dims, keepdim)
    size = b.add("Abs", value)
    if abs(order) == float("inf"):
        return b.reduce("ReduceMax" if order > 0 else "ReduceMin", size, dims, keepdim)
    if order == 0:
        return b.reduce("ReduceSum", b.cast(value != 0, value.dtype), dims, keepdim)
    return b.reduce("ReduceSum", size**order, dims, keepdim) ** (1 / order)


@translation("pdist_pairs")
def _pairs(b: Builder, value: Value, p: float) -> Value:
    firsts, seconds = np.triu_indices(b.fixed(value, [0])[0], 1)
    rows = [b.add("Gather", value, b.constant(places, INT64), axis=0) for places in (firsts, seconds)]
    apart = rows[0] - rows[1]
    apart.shape = (len(firsts), value.shape[1])
    return _norm(b, apart, p, 1, False, None)


def moments(b: Builder, value: Value, dims: list[int], keepdim: bool, correction: Any = 0) -> tuple[Value, Value]:
    """Variance and mean over dimensions."""
    dims = dims or [*range(value.rank)]
    mean = b.reduce("ReduceMean", value, dims, True)
    apart = value - mean
    variance = b.reduce("ReduceMean", apart * apart, dims, keepdim)
    if correction:
        sizes = [b.dim(value, dim) for dim in dims]
        count = b.cast(b.reduce("ReduceProd", b.ints(sizes), (), False), value.dtype)
        variance = variance * (count / (count - correction))
    return variance, mean if keepdim else b.squeeze(mean, *dims)


@translation("var_corrected")
def _var(b: Builder, value: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    return moments(b, value, _dims(value, dim), keepdim, correction)[0]


@translation("std_corrected")
def _std(b: Builder, value: Value, dim: Any, correction: Any, keepdim: bool) -> Value:
    return b.add("Sqrt", _var(b, value, dim, correction, keepdim))


@translation("var_mean_corrected")
def _var_mean(b: Builder, value: Value, dim: Any, correction: Any, keepdim: bool) -> Any:
    return moments(b, value, _dims(value, dim), keepdim, correction)


@translation("std_mean_corrected")
def _std_mean(b: Builder, value: Value, dim: Any, correction: Any, keepdim: bool) -> Any:
    variance, mean = moments(b, value, _dims(value, dim), keepdim, correction)
    return b.add("Sqrt", variance), mean


@translation("cumsum")
def _cumsum(b: Builder, value: Value, dim: int, dtype: Any = None) -> Value:
    return b.add("CumSum", b.cast(value, result_dtype(b)), b.constant(wrapped(dim, value.rank), INT64))


@translation("topk_pair")
def _topk(b: Builder, value: Value, k: Any, dim: int, largest: bool, ordered: bool) -> Any:
    return b.add(
        "TopK", value, b.ints([k]), outputs=2, dtype=(value.dtype, INT64), axis=wrapped(dim, value.rank),
        largest=int(largest), sorted=int(ordered),
    )  # fmt: skip


@translation("sort_pair")
def _sort(b: Builder, value: Value, dim: int, descending: bool, stable: bool) -> Any:
    return _topk(b, value, b.dim(value, dim), dim, descending, True)


@translation("softmax", "log_softmax")
def _softmax(b: Builder, value: Value, dim: int, dtype: Any = None) -> Value:
    op = "Softmax" if b.step_name == "softmax" else "LogSoftmax"
    if not value.rank:
        return b.squeeze(b.add(op, b.unsqueeze(b.cast(value, result_dtype(b)), 0), axis=0), 0)
    return b.add(op, b.cast(value, result_dtype(b)), axis=wrapped(dim, value.rank))


@translation("cdist_pairs")
def _cdist(b: Builder, first: Value, second: Value, p: float, expanded: bool) -> Value:
    rank = first.rank
    apart = b.add("Abs", b.unsqueeze(first, rank - 1) - b.unsqueeze(second, rank - 2))
    apart.shape = (*first.shape[:-1], second.shape[-2], first.shape[-1])
    return _norm(b, apart, p, (-1,), False, None) if dtype_of(b.step.meta).kind == "f" else apart
