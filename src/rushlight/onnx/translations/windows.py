"""Convolutions, pooling, resizing, windows as columns, sampling on grids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..builder import INT64, Builder, Value
from .registry import translation


@translation("convolution")
def _convolution(
    b: Builder, value: Value, weight: Value, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    return b.add(
        "Conv", value, weight, bias, kernel_shape=list(weight.shape[2:]), strides=list(stride), pads=[*padding, *padding],
        dilations=list(dilation), group=groups,
    )  # fmt: skip


@translation("transposed_convolution")
def _transposed(
    b: Builder, value: Value, weight: Value, bias: Any, size: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Value:
    kernel = weight.shape[2:]
    more = {
        tuple(
            w - ((n - 1) * s - 2 * p + d * (k - 1) + 1)
            for w, n, s, p, d, k in zip(found[2:], given[2:], stride, padding, dilation, kernel)
        )
        for given, found in _shapes(b)
    }
    if len(more) > 1:
        raise b.unsupported("what is added to the output's size depends on sizes that vary: leave output_size out")
    (added,) = more
    if any(end >= step for end, step in zip(added, stride)):
        raise b.unsupported("ONNX Runtime takes no output_padding that is not smaller than the stride")
    return b.add(
        "ConvTranspose", value, weight, bias, kernel_shape=list(kernel), strides=list(stride), pads=[*padding, *padding],
        dilations=list(dilation), group=groups, output_padding=list(added),
    )  # fmt: skip


def _shapes(b: Builder) -> list[tuple[Any, Any]]:
    """What the first operand and the first result of the step at hand looked like in all recordings."""
    step = b.step
    result = step if "val" in step.meta else next(user for user in step.users if user.args[1] == 0)
    return [*zip(step.args[0].meta["shapes"], result.meta["shapes"], strict=True)]


def _ceil_mode(b: Builder, kernel: Any, stride: Any, padding: Any, dilation: Any) -> int:
    """Whether the last window may reach over the end: what the results tell."""
    count = len(kernel)
    for given, found in _shapes(b):
        windows = zip(given[-count:], kernel, stride, padding, dilation)
        if found[-count:] != tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in windows):
            return 1
    return 0


def _pool(
    b: Builder, op: str, value: Value, kernel: Any, stride: Any, padding: Any, dilation: Any = None, **options: Any
) -> Any:
    ceil = _ceil_mode(b, kernel, stride, padding, dilation or [1] * len(kernel))
    missing = len(kernel) + 2 - value.rank  # a batch of its own
    given = b.unsqueeze(value, *range(missing)) if missing else value
    found = b.add(
        op, given, kernel_shape=list(kernel), strides=list(stride), pads=[*padding, *padding], ceil_mode=ceil,
        dilations=None if dilation is None else list(dilation), **options,
    )  # fmt: skip
    if not missing:
        return found
    return (
        tuple(b.squeeze(each, *range(missing)) for each in found)
        if isinstance(found, tuple)
        else b.squeeze(found, *range(missing))
    )


@translation("max_pool_values")
def _max_pool(b: Builder, value: Value, kernel: Any, stride: Any, padding: Any, dilation: Any, out: Any) -> Value:
    return _pool(b, "MaxPool", value, kernel, stride, padding, dilation)


@translation("max_pool_places")
def _max_pool_places(b: Builder, value: Value, kernel: Any, stride: Any, padding: Any, dilation: Any, out: Any) -> Any:
    found, places = _pool(b, "MaxPool", value, kernel, stride, padding, dilation, outputs=2, dtype=(value.dtype, INT64))
    lengths = b.ints([b.dim(value, dim) for dim in range(value.rank - len(kernel), value.rank)])
    area = b.reduce("ReduceProd", lengths, (), False)
    return found, b.add("Mod", places, area)  # ONNX counts through all channels


@translation("avg_pool")
def _avg_pool(
    b: Builder, value: Value, kernel: Any, stride: Any, padding: Any, out: Any, count_include_pad: bool, divisor: Any
) -> Value:
    if divisor is None:
        return _pool(b, "AveragePool", value, kernel, stride, padding, count_include_pad=int(count_include_pad))
    if _ceil_mode(b, kernel, stride, padding, [1] * len(kernel)):
        raise b.unsupported("ceil_mode together with divisor_override has no counterpart")
    found = _pool(b, "AveragePool", value, kernel, stride, padding, count_include_pad=1)
    return found * (math.prod(kernel) / divisor)


def _adaptive(b: Builder, op: str, value: Value, out: Any) -> Value:
    """Windows of unequal lengths, dimension by dimension."""
    first = value.rank - len(out)
    lengths = b.fixed(value, range(first, value.rank))
    for place, (length, count) in enumerate(zip(lengths, out)):
        dim = first + place
        parts = []
        for number in range(count):
            begin, end = number * length // count, -(-(number + 1) * length // count)
            parts.append(b.reduce(op, b.slice(value, dim, begin, end), [dim], True))
        value = b.add("Concat", *parts, axis=dim) if len(parts) > 1 else parts[0]
    return value


@translation("adaptive_avg_pool")
def _adaptive_avg(b: Builder, value: Value, out: Any) -> Value:
    return _adaptive(b, "ReduceMean", value, out)


@translation("adaptive_max_pool")
def _adaptive_max(b: Builder, value: Value, out: Any) -> Any:
    wanted = any(user.args[1] == 1 for user in b.step.users)
    return _adaptive(b, "ReduceMax", value, out), _adaptive_places(b, value, out) if wanted else None


def _adaptive_places(b: Builder, value: Value, out: Any) -> Value:
    """Where among the places of the last dimensions the first maximum of each window is."""
    first = value.rank - len(out)
    lead, lengths = [b.dim(value, dim) for dim in range(first)], b.fixed(value, range(first, value.rank))
    table = np.zeros(len(out) * (1, 1), np.int64)  # the places of each window: windows first, then what is in one
    for dim, (length, count) in enumerate(zip(lengths, out)):
        begins = np.arange(count) * length // count
        widths = -(-(np.arange(count) + 1) * length // count) - begins
        along = begins[:, None] + np.minimum(
            np.arange(widths.max()), widths[:, None] - 1
        )  # short ones repeat their last
        shape = [1] * table.ndim
        shape[dim], shape[len(out) + dim] = along.shape
        table = table + along.reshape(shape) * math.prod(lengths[dim + 1 :])
    table = table.reshape(math.prod(out), -1)
    windows = b.add("Gather", b.reshape(value, [*lead, -1]), b.constant(table, INT64), axis=first)
    chosen = b.add("ArgMax", windows, dtype=INT64, axis=first + 1, keepdims=0)
    cells = chosen + b.constant(np.arange(len(table)) * table.shape[1], INT64)
    return b.reshape(b.add("Gather", b.constant(table.reshape(-1), INT64), cells), [*lead, *out])


_MODES = {"bilinear": "linear", "trilinear": "linear", "linear": "linear", "bicubic": "cubic"}


@translation("interpolate_parts")
def _resize(b: Builder, value: Value, out: Any, scales: Any, mode: str, align_corners: bool, antialias: bool) -> Value:
    options: dict[str, Any] = {"mode": _MODES.get(mode, "nearest")}
    if mode == "nearest":
        options |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    elif mode == "nearest-exact":
        options |= {"coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_ceil"}
    else:
        options["coordinate_transformation_mode"] = "align_corners" if align_corners else "half_pixel"
        if mode == "bicubic":
            options["cubic_coeff_a"] = -0.75
        if antialias:
            options |= {"antialias": 1, "exclude_outside": 1}
    if scales and all(scale is not None for scale in scales):
        factors = b.constant([1.0] * (value.rank - len(scales)) + [float(scale) for scale in scales], "float32")
        return b.add("Resize", value, None, factors, **options)
    sizes = b.ints([*(b.dim(value, dim) for dim in range(value.rank - len(out))), *out])
    return b.add("Resize", value, None, None, sizes, **options)


@translation("im2col")
def _im2col(b: Builder, value: Value, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    channels, *lengths = b.fixed(value, [1, 2, 3])
    padded = b.add("Pad", value, b.ints([0, 0, *padding, 0, 0, *padding]), mode="constant")
    counts = []
    for place, (length, k, d, p, s) in enumerate(zip(lengths, kernel, dilation, padding, stride)):
        count = (length + 2 * p - d * (k - 1) - 1) // s + 1
        rows = [[at * d + number * s for number in range(count)] for at in range(k)]
        padded = b.add("Gather", padded, b.constant(rows, INT64), axis=2 + 2 * place)
        counts.append(count)
    moved = b.add("Transpose", padded, perm=[0, 1, 2, 4, 3, 5])
    return b.reshape(moved, [b.dim(value, 0), channels * math.prod(kernel), math.prod(counts)])


@translation("col2im")
def _col2im(b: Builder, value: Value, lengths: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Value:
    return b.add(
        "Col2Im", value, b.ints(lengths), b.ints(kernel), dilations=list(dilation), pads=[*padding, *padding],
        strides=list(stride), since=18,
    )  # fmt: skip


@translation("unfold_dim")
def _unfold(b: Builder, value: Value, dim: int, size: int, step: int) -> Value:
    rank = value.rank
    axis = dim % rank
    (length,) = b.fixed(value, [axis])
    rows = [[start + at for at in range(size)] for start in range(0, length - size + 1, step)]
    taken = b.add("Gather", value, b.constant(rows, INT64), axis=axis)
    order = [each for each in range(rank + 1) if each != axis + 1]
    return b.add("Transpose", taken, perm=[*order, axis + 1])


@translation("grid_samples")
def _grid_sample(b: Builder, value: Value, grid: Value, mode: str, padding_mode: str, align_corners: bool) -> Value:
    names = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    return b.add(
        "GridSample",
        value,
        grid,
        mode=names[mode],
        padding_mode=padding_mode,
        align_corners=int(align_corners),
        since=20,
    )


@translation("affine_points")
def _affine_grid(b: Builder, theta: Value, size: Any, align_corners: bool) -> Value:
    return b.add("AffineGrid", theta, b.ints(size), align_corners=int(align_corners), since=20)


@translation("max_unpool_places")
def _max_unpool(b: Builder, value: Value, places: Value, lengths: Any) -> Value:
    dims = len(lengths)
    lead = [b.dim(value, dim) for dim in range(value.rank - dims)]
    area = b.reduce("ReduceProd", b.ints(lengths), (), True)
    zeros = b.filled(b.ints([*lead, area]), 0, value.dtype)
    flat, where = b.reshape(value, [*lead, -1]), b.reshape(places, [*lead, -1])
    found = b.add("ScatterElements", zeros, where, flat, axis=value.rank - dims)
    return b.reshape(found, [*lead, *lengths])
