"""Operations that only arrange elements: views, copies, joining, cutting, padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import BOOL, LARGEST, Builder, Value
from .registry import result_dtype, translation, wrapped


@translation("view_shape", "reshape_alias", "unsafe_view", "reshape_copy")
def _reshape(b: Builder, value: Value, size: Any) -> Value:
    return b.reshape(value, size)


@translation("alias", "clone")
def _same(b: Builder, value: Value, memory_format: Any = None) -> Value:
    return value


@translation("to_copy")
def _to_copy(b: Builder, value: Value, dtype: Any, memory_format: Any = None) -> Value:
    return b.cast(value, result_dtype(b))


@translation("permute")
def _permute(b: Builder, value: Value, dims: Any) -> Value:
    return b.transpose(value, [wrapped(dim, value.rank) for dim in dims])


@translation("transpose")
def _transpose(b: Builder, value: Value, dim0: int, dim1: int) -> Value:
    order = list(range(value.rank))
    if order:
        first, second = wrapped(dim0, value.rank), wrapped(dim1, value.rank)
        order[first], order[second] = order[second], order[first]
    return b.transpose(value, order)


@translation("t")
def _t(b: Builder, value: Value) -> Value:
    return b.transpose(value, [*range(value.rank)][::-1])


@translation("unsqueeze")
def _unsqueeze(b: Builder, value: Value, dim: int) -> Value:
    return b.unsqueeze(value, wrapped(dim, value.rank + 1))


@translation("squeeze")
def _squeeze(b: Builder, value: Value, dim: Any = None) -> Value:
    dims = range(value.rank) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    gone = [each for each in dims if value.shape[each] == 1]
    return b.squeeze(value, *(wrapped(each, value.rank) for each in gone)) if gone else value


@translation("expand")
def _expand(b: Builder, value: Value, size: Any, implicit: bool = False) -> Value:
    wanted = [1 if not isinstance(each, Value) and each == -1 else each for each in size]
    return b.add("Expand", value, b.ints(wanted))


@translation("select")
def _select(b: Builder, value: Value, dim: int, index: Any) -> Value:
    return b.add("Gather", value, b.scalar(index), axis=wrapped(dim, value.rank))


@translation("slice_dim")
def _slice(b: Builder, value: Value, dim: int, start: Any, end: Any, step: int) -> Value:
    start, end = 0 if start is None else start, LARGEST if end is None else end
    return b.slice(value, wrapped(dim, value.rank), start, end, step)


@translation("unbind")
def _unbind(b: Builder, value: Value, dim: int) -> Any:
    (count,) = b.fixed(value, [dim])
    return tuple(_select(b, value, dim, place) for place in range(count))


@translation("split_even")
def _split_even(b: Builder, value: Value, split_size: Any, dim: int) -> Any:
    axis = wrapped(dim, value.rank)
    if not isinstance(split_size, Value):
        count = -(-b.fixed(value, [dim])[0] // split_size)
        return tuple(b.slice(value, axis, place * split_size, (place + 1) * split_size) for place in range(count))
    count = 1 + max(user.args[1] for user in b.step.users)
    return tuple(b.slice(value, axis, split_size * place, split_size * (place + 1)) for place in range(count))


@translation("split_with_sizes")
def _split_with_sizes(b: Builder, value: Value, split_sizes: Any, dim: int) -> Any:
    axis, start, found = wrapped(dim, value.rank), 0, []
    for size in split_sizes:
        end = start + size
        found.append(b.slice(value, axis, start, end))
        start = end
    return tuple(found)


@translation("cat")
def _cat(b: Builder, tensors: Any, dim: int) -> Value:
    dtype = result_dtype(b)
    present = [b.cast(each, dtype) for each in tensors if each.shape != (0,)] or [tensors[0]]
    return b.add("Concat", *present, axis=wrapped(dim, present[0].rank))


@translation("stack")
def _stack(b: Builder, tensors: Any, dim: int) -> Value:
    axis = wrapped(dim, tensors[0].rank + 1)
    return b.add("Concat", *(b.unsqueeze(b.cast(each, result_dtype(b)), axis) for each in tensors), axis=axis)


@translation("repeat")
def _repeat(b: Builder, value: Value, repeats: Any) -> Value:
    missing = len(repeats) - value.rank
    value = b.unsqueeze(value, *range(missing)) if missing else value
    return b.add("Tile", value, b.ints(repeats))


@translation("flip")
def _flip(b: Builder, value: Value, dims: Any) -> Value:
    for dim in dims:
        value = b.slice(value, wrapped(dim, len(b.step.meta["sizes"])), -1, -LARGEST, -1)
    return value


@translation("roll")
def _roll(b: Builder, value: Value, shifts: Any, dims: Any) -> Value:
    rank = value.rank
    if not dims:
        flat = b.reshape(value, [-1])
        return b.add("Reshape", _rolled(b, flat, shifts[0], 0), b.shape_of(value))
    for shift, dim in zip(shifts, dims):
        value = _rolled(b, value, shift, wrapped(dim, rank))
    return value


def _rolled(b: Builder, value: Value, shift: Any, dim: int) -> Value:
    if not isinstance(shift, Value) and shift == 0:
        return value
    return b.add("Concat", b.slice(value, dim, -shift, LARGEST), b.slice(value, dim, 0, -shift), axis=dim)


@translation("tril", "triu")
def _triangle(b: Builder, value: Value, diagonal: int) -> Value:
    return b.add("Trilu", value, b.scalar(diagonal), upper=int(b.step_name == "triu"))


@translation("constant_pad_nd")
def _constant_pad(b: Builder, value: Value, pad: Any, number: Any = 0) -> Value:
    return b.add("Pad", value, _sides(b, value, pad), b.constant(number, value.dtype), mode="constant")


@translation("pad_by_places")
def _pad_by_places(b: Builder, value: Value, pad: Any, mode: str) -> Value:
    names = {"reflect": "reflect", "replicate": "edge"}
    if mode == "circular":
        return _pad_in_circles(b, value, pad)
    return b.add("Pad", value, _sides(b, value, pad), mode=names[mode])


@translation("pad_in_circles")
def _pad_in_circles(b: Builder, value: Value, pad: Any) -> Value:
    rank = value.rank
    for place in range(len(pad) // 2):
        dim, before, after = rank - 1 - place, pad[2 * place], pad[2 * place + 1]
        parts = [b.slice(value, dim, -before, LARGEST)] if before else []
        parts += [value, *([b.slice(value, dim, 0, after)] if after else [])]
        value = b.add("Concat", *parts, axis=dim) if len(parts) > 1 else value
    return value


def _sides(b: Builder, value: Value, pad: Any) -> Value:
    """PyTorch's padding, last dimension first, in ONNX's order: all beginnings, then all ends."""
    missing = value.rank - len(pad) // 2
    before, after = [*pad[::2]][::-1], [*pad[1::2]][::-1]
    return b.ints([*[0] * missing, *before, *[0] * missing, *after])


@translation("pixel_shuffle")
def _pixel_shuffle(b: Builder, value: Value, factor: int) -> Value:
    return b.add("DepthToSpace", value, blocksize=factor, mode="CRD")


@translation("pixel_unshuffle")
def _pixel_unshuffle(b: Builder, value: Value, factor: int) -> Value:
    batch, channels, height, width = (b.dim(value, dim) for dim in range(4))
    height, width = _quotient(b, height, factor), _quotient(b, width, factor)
    apart = b.reshape(value, [batch, channels, height, factor, width, factor])
    moved = b.add("Transpose", apart, perm=[0, 1, 3, 5, 2, 4])
    return b.reshape(moved, [batch, channels * factor * factor, height, width])


def _quotient(b: Builder, size: Any, divisor: int) -> Any:
    return size / divisor if isinstance(size, Value) else size // divisor


@translation("channel_shuffle")
def _channel_shuffle(b: Builder, value: Value, groups: int) -> Value:
    (channels,) = b.fixed(value, [1])
    apart = b.reshape(value, [b.dim(value, 0), groups, channels // groups, -1])
    moved = b.add("Transpose", apart, perm=[0, 2, 1, 3])
    return b.add("Reshape", moved, b.shape_of(value))


@translation("diagonal")
def _diagonal(b: Builder, value: Value, offset: int, dim1: int, dim2: int) -> Value:
    rank = value.rank
    first, second = wrapped(dim1, rank), wrapped(dim2, rank)
    rows, columns = b.fixed(value, [first, second])
    moved = b.transpose(value, [dim for dim in range(rank) if dim not in (first, second)] + [first, second])
    flat = b.add("Flatten", moved, axis=rank - 2) if rank == 2 else b.reshape(moved, [0] * (rank - 2) + [-1])
    start = offset if offset >= 0 else -offset * columns
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    places = [start + place * (columns + 1) for place in range(length)]
    flat = b.reshape(flat, [-1]) if rank == 2 else flat
    return b.add("Gather", flat, b.ints(places), axis=rank - 2)


@translation("trace")
def _trace(b: Builder, value: Value) -> Value:
    return b.cast(b.reduce("ReduceSum", _diagonal(b, value, 0, 0, 1), (), False), result_dtype(b))


@translation("diag_embed")
def _diag_embed(b: Builder, value: Value, offset: int, dim1: int, dim2: int) -> Value:
    rank = value.rank + 1
    (length,) = b.fixed(value, [value.rank - 1])
    sides = [0] * (rank - 2) + [max(offset, 0)] + [0] * (rank - 2) + [max(-offset, 0)]
    rows = b.unsqueeze(b.add("Pad", value, b.ints(sides), mode="constant") if offset else value, rank - 2)
    found = b.where(b.constant(np.eye(length + abs(offset), k=offset), BOOL), rows, b.constant(0, value.dtype))
    first, second = wrapped(dim1, rank), wrapped(dim2, rank)
    order = [*range(rank - 2)]
    for dim, place in sorted(((first, rank - 2), (second, rank - 1))):
        order.insert(dim, place)
    return b.transpose(found, order)
