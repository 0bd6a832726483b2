"""Normalization layers and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import BOOL, Builder, Value
from .reductions import moments
from .registry import translation


def _channels(b: Builder, value: Value, number: float) -> Value:
    """One number for each channel."""
    count = b.dim(value, 1)
    if isinstance(count, Value):
        return b.filled(count, number, value.dtype)
    return b.constant(np.full(count, number), value.dtype)


def _scaled(b: Builder, value: Value, weight: Any, bias: Any, rank: int) -> Value:
    """Weight and bias of the channels, which are dimension 1."""
    dims = [0, *range(2, rank)]
    value = value if weight is None else value * b.unsqueeze(weight, *dims)
    return value if bias is None else value + b.unsqueeze(bias, *dims)


@translation("batch_norm_parts")
def _batch_norm(
    b: Builder,
    value: Value,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    if training:
        dims = [0, *range(2, value.rank)]
        found, middle = moments(b, value, dims, True)
        apart = (value - middle) / b.add("Sqrt", found + eps)
        return _scaled(b, apart, weight, bias, value.rank), None, None
    weight = _channels(b, value, 1) if weight is None else weight
    bias = _channels(b, value, 0) if bias is None else bias
    return b.add("BatchNormalization", value, weight, bias, mean, variance, epsilon=eps), None, None


@translation("layer_norm_parts")
def _layer_norm(b: Builder, value: Value, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    weight = b.constant(np.ones(shape), value.dtype) if weight is None else weight
    found = b.add("LayerNormalization", value, weight, bias, axis=-len(shape), epsilon=eps)
    return found, None, None


@translation("rms_norm_parts")
def _rms_norm(b: Builder, value: Value, shape: Any, weight: Any, eps: float) -> Any:
    dims = [*range(value.rank - len(shape), value.rank)]
    square = b.reduce("ReduceMean", value * value, dims, True)
    found = value / b.add("Sqrt", square + eps)
    return found if weight is None else found * weight, None


@translation("group_norm_parts")
def _group_norm(b: Builder, value: Value, weight: Any, bias: Any, groups: int, eps: float) -> Any:
    apart = b.reshape(value, [b.dim(value, 0), groups, -1])
    ones, zeros = b.constant(np.ones(groups), value.dtype), b.constant(np.zeros(groups), value.dtype)
    found = b.add("InstanceNormalization", apart, ones, zeros, epsilon=eps)
    whole = b.add("Reshape", found, b.shape_of(value))
    return _scaled(b, whole, weight, bias, value.rank), None, None


@translation("dropout_pair")
def _dropout(b: Builder, value: Value, p: float, train: bool) -> Any:
    if not train:
        return value, None
    found = b.add("Dropout", value, b.constant(p, np.float32), b.constant(True, BOOL))
    return found, None
