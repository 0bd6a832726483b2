"""Operations that make tensors, and those that write one value everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import Builder, Value
from .elementwise import operand
from .registry import result_dtype, translation


def _filled(b: Builder, size: Any, number: Any) -> Value:
    dtype = result_dtype(b)
    if any(isinstance(each, Value) for each in size):
        return b.filled(b.ints(size), number, dtype)
    return b.constant(np.full(tuple(size), number), dtype)


@translation("zeros", "empty")
def _zeros(b: Builder, size: Any, dtype: Any = None) -> Value:
    return _filled(b, size, 0)


@translation("ones")
def _ones(b: Builder, size: Any, dtype: Any = None) -> Value:
    return _filled(b, size, 1)


@translation("full")
def _full(b: Builder, size: Any, number: Any, dtype: Any = None) -> Value:
    if isinstance(number, Value):
        return b.add("Expand", b.cast(b.scalar(number), result_dtype(b)), b.ints(size))
    return _filled(b, size, number)


@translation("arange_values")
def _arange(b: Builder, start: Any, end: Any, step: Any, dtype: Any = None) -> Value:
    kind = result_dtype(b)
    if not any(isinstance(each, Value) for each in (start, end, step)):
        return b.constant(np.arange(start, end, step), kind)
    bounds = [
        b.cast(b.scalar(each), kind) if isinstance(each, Value) else b.constant(each, kind)
        for each in (start, end, step)
    ]
    return b.add("Range", *bounds)


@translation("eye")
def _eye(b: Builder, n: Any, m: Any = None, dtype: Any = None) -> Value:
    if isinstance(n, Value) or isinstance(m, Value):
        raise b.unsupported("a matrix with ones on its diagonal has to have sizes that stay")
    return b.constant(np.eye(n, m), result_dtype(b))


@translation("linspace")
def _linspace(b: Builder, start: Any, end: Any, steps: Any, dtype: Any = None) -> Value:
    if any(isinstance(each, Value) for each in (start, end, steps)):
        raise b.unsupported("its numbers have to be the same for all inputs")
    return b.constant(np.linspace(start, end, steps), result_dtype(b))


@translation("fill", "fill_number", "fill_tensor")
def _fill(b: Builder, value: Value, number: Any) -> Value:
    return b.add("Expand", operand(b, number, value.dtype), b.shape_of(value))


@translation("zero_")
def _zero(b: Builder, value: Value) -> Value:
    return b.filled(b.shape_of(value), 0, value.dtype)


@translation("copy_from")
def _copy(b: Builder, value: Value, source: Value, non_blocking: bool = False) -> Value:
    return b.add("Expand", b.cast(source, value.dtype), b.shape_of(value))


@translation("random_target")
def _same(b: Builder, value: Value) -> Value:
    return value


@translation("rand", "randn")
def _random(b: Builder, size: Any, generator: Any = None, dtype: Any = None) -> Value:
    like = b.filled(b.ints(size), 0, result_dtype(b))
    return b.add("RandomUniformLike" if b.step_name == "rand" else "RandomNormalLike", like)


@translation("uniform_")
def _uniform(b: Builder, value: Value, low: float, high: float, generator: Any = None) -> Value:
    return b.add("RandomUniformLike", value, low=float(low), high=float(high))


@translation("normal_")
def _normal(b: Builder, value: Value, mean: float, std: float, generator: Any = None) -> Value:
    return b.add("RandomNormalLike", value, mean=float(mean), scale=float(std))


@translation("normal_of_size")
def _normal_of_size(b: Builder, size: Any, mean: float, std: float, generator: Any = None, dtype: Any = None) -> Value:
    like = b.filled(b.ints(size), 0, result_dtype(b))
    return b.add("RandomNormalLike", like, mean=float(mean), scale=float(std))
