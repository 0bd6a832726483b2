"""Operations that take positions: embedding, gathering, scattering, indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import INT64, Builder, Value
from .elementwise import operand
from .registry import result_dtype, translation, wrapped


@translation("embedding")
def _embedding(b: Builder, weight: Value, indices: Value, *options: Any) -> Value:
    return b.add("Gather", weight, indices)


@translation("index_select")
def _index_select(b: Builder, value: Value, dim: int, index: Value) -> Value:
    index = index if index.rank else b.unsqueeze(index, 0)
    return b.add("Gather", value, index, axis=wrapped(dim, value.rank))


@translation("gather")
def _gather(b: Builder, value: Value, dim: int, index: Value, sparse_grad: bool = False) -> Value:
    return b.add("GatherElements", value, index, axis=wrapped(dim, value.rank))


@translation("scatter_src")
def _scatter(b: Builder, value: Value, dim: int, index: Value, source: Value) -> Value:
    return _scattered(b, value, dim, index, source)


@translation("scatter_value")
def _scatter_value(b: Builder, value: Value, dim: int, index: Value, number: Any) -> Value:
    return _scattered(b, value, dim, index, b.filled(b.shape_of(index), number, value.dtype))


@translation("scatter_add")
def _scatter_add(b: Builder, value: Value, dim: int, index: Value, source: Value) -> Value:
    return _scattered(b, value, dim, index, source, reduction="add")


def _scattered(b: Builder, value: Value, dim: int, index: Value, source: Value, **options: Any) -> Value:
    if source.shape is not None and source.shape != index.shape:
        raise b.unsupported("the index has to have the shape of what is scattered")
    return b.add("ScatterElements", value, index, source, axis=wrapped(dim, value.rank), **options)


_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}


@translation("scatter_reduce")
def _scatter_reduce(
    b: Builder, value: Value, dim: int, index: Value, source: Value, reduce: str, include_self: bool
) -> Value:
    if reduce not in _REDUCTIONS or not include_self:
        raise b.unsupported("it can be said where include_self is True and reduce is not 'mean'")
    return _scattered(b, value, dim, index, source, reduction=_REDUCTIONS[reduce])


@translation("index_add")
def _index_add(b: Builder, value: Value, dim: int, index: Value, source: Value, alpha: Any) -> Value:
    return _at_rows(b, value, dim, index, source if alpha == 1 else source * alpha, reduction="add")


@translation("index_copy")
def _index_copy(b: Builder, value: Value, dim: int, index: Value, source: Value) -> Value:
    return _at_rows(b, value, dim, index, source)


def _at_rows(b: Builder, value: Value, dim: int, index: Value, source: Value, **options: Any) -> Value:
    """``source`` written at positions of a dimension."""
    axis = wrapped(dim, value.rank)
    others = [each for each in range(value.rank) if each != axis]
    spread = b.add("Expand", b.unsqueeze(index, *others) if others else index, b.shape_of(source))
    return b.add("ScatterElements", value, spread, source, axis=axis, **options)


@translation("search_positions")
def _search(b: Builder, among: Value, value: Value, out_int32: bool, right: bool) -> Value:
    rows = among if among.rank == 1 else b.unsqueeze(among, among.rank - 1)
    numbers = b.unsqueeze(value, value.rank)
    before = rows <= numbers if right else rows < numbers
    kind = np.dtype(np.int32 if out_int32 else np.int64)
    return b.reduce("ReduceSum", b.cast(before, kind), [-1], False)


@translation("is_among")
def _is_among(b: Builder, value: Value, among: Value, invert: bool) -> Value:
    same = b.unsqueeze(value, value.rank) == b.reshape(among, [-1])
    found = b.reduce("ReduceSum", b.cast(same, INT64), [-1], False) > 0
    return ~found if invert else found


@translation("index")
def _index(b: Builder, value: Value, indices: Any) -> Value:
    places = [place for place, index in enumerate(indices) if index is not None]
    if len(places) == 1:
        return b.add("Gather", value, indices[places[0]], axis=places[0])
    rest = [dim for dim in range(value.rank) if dim not in places]
    moved = b.transpose(value, [*places, *rest])
    found = b.add("GatherND", moved, _points(b, [indices[place] for place in places]))
    if places != [*range(places[0], places[-1] + 1)] or not places[0]:
        return found  # the dimensions of the positions come first
    width = max(indices[place].rank for place in places)
    total = width + len(rest)
    order = [*range(width, width + places[0]), *range(width), *range(width + places[0], total)]
    return b.add("Transpose", found, perm=order)


def _points(b: Builder, indices: list[Value]) -> Value:
    """Positions of several dimensions, broadcast against each other, side by side along a new last dimension."""
    whole = indices[0]
    for index in indices[1:]:
        whole = whole + index
    shape = b.shape_of(whole)
    width = max(index.rank for index in indices)
    return b.add("Concat", *(b.unsqueeze(b.add("Expand", index, shape), width) for index in indices), axis=width)


@translation("index_put_arrays")
def _index_put(b: Builder, value: Value, indices: Any, values: Value, accumulate: bool) -> Value:
    places = [place for place, index in enumerate(indices) if index is not None]
    if places != [*range(len(places))]:
        raise b.unsupported("positions of other dimensions than the first ones cannot be written")
    points = _points(b, [indices[place] for place in places])
    rest = b.slice(b.shape_of(value), 0, len(places), value.rank)
    shape = b.add("Concat", b.slice(b.shape_of(points), 0, 0, -1), rest, axis=0)
    spread = b.add("Expand", b.cast(values, value.dtype), shape)
    return b.add("ScatterND", value, points, spread, reduction="add" if accumulate else None)


@translation("one_hot_rows")
def _one_hot(b: Builder, value: Value, count: int) -> Value:
    return b.add("OneHot", value, b.constant(count, INT64), b.constant([0, 1], INT64), dtype=INT64)


@translation("take")
def _take(b: Builder, value: Value, index: Value) -> Value:
    return b.add("Gather", b.reshape(value, [-1]), index)


@translation("index_fill")
def _index_fill(b: Builder, value: Value, dim: int, index: Value, number: Any) -> Value:
    axis = wrapped(dim, value.rank)
    length = b.scalar(b.dim(value, axis))
    numbers = b.add("Range", b.constant(0, INT64), length, b.constant(1, INT64))
    inside = b.unsqueeze(numbers, 1) == b.unsqueeze(index, 0)
    chosen = b.cast(b.reduce("ReduceMax", b.cast(inside, np.int32), [1], False), np.bool_)
    shaped = b.unsqueeze(chosen, *(each for each in range(value.rank) if each != axis)) if value.rank > 1 else chosen
    return b.add("Where", shaped, operand(b, number, result_dtype(b)), value, dtype=value.dtype)


@translation("pooled_rows")
def _pooled_rows(
    b: Builder, weight: Value, rows: Value, starts: Value, ends: Value, factors: Any, mode: str, *options: Any
) -> Any:
    """Bags as rows of a matrix that says which positions are in them."""
    count = b.scalar(b.dim(rows, 0))
    places = b.unsqueeze(b.add("Range", b.constant(0, INT64), count, b.constant(1, INT64)), 0)
    begins, stops = (b.unsqueeze(b.cast(each, INT64), 1) for each in (starts, ends))
    inside = (places >= begins) & (places < stops)
    taken = b.add("Gather", weight, rows)
    taken = taken if factors is None else taken * b.unsqueeze(factors, 1)
    if mode == "max":
        lowest = b.where(b.unsqueeze(inside, 2), b.unsqueeze(taken, 0), float("-inf"))
        largest = b.reduce("ReduceMax", lowest, [1], False)
        return b.where(b.add("IsInf", largest, dtype=np.bool_), 0, largest), None  # bags without rows
    chosen = b.cast(inside, weight.dtype)
    total = b.add("MatMul", chosen, taken)
    if mode == "sum":
        return total, None
    sizes = b.add("Max", b.reduce("ReduceSum", chosen, [1], True), b.constant(1, weight.dtype))
    return total / sizes, None
