"""Losses, from the operations that they consist of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import BOOL, INT64, Builder, Value
from .registry import translation


def _reduced(b: Builder, value: Value, reduction: str) -> Value:
    if reduction == "none":
        return value
    return b.reduce("ReduceMean" if reduction == "mean" else "ReduceSum", value, (), False)


@translation("mse_loss_pair")
def _mse(b: Builder, value: Value, target: Value, reduction: str, parameter: float) -> Value:
    apart = value - target
    return _reduced(b, apart * apart, reduction)


@translation("smooth_l1_loss_pair")
def _smooth_l1(b: Builder, value: Value, target: Value, reduction: str, beta: float) -> Value:
    size = b.add("Abs", value - target)
    if beta == 0:
        return _reduced(b, size, reduction)
    return _reduced(b, b.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta), reduction)


@translation("huber_loss_pair")
def _huber(b: Builder, value: Value, target: Value, reduction: str, delta: float) -> Value:
    size = b.add("Abs", value - target)
    return _reduced(b, b.where(size <= delta, size * size * 0.5, (size - 0.5 * delta) * delta), reduction)


@translation("nll_loss_parts")
def _nll(b: Builder, value: Value, target: Value, weight: Any, reduction: str, ignore_index: int) -> Any:
    return _of_classes(b, "NegativeLogLikelihoodLoss", value, target, weight, reduction, ignore_index), None


def _of_classes(
    b: Builder, op: str, value: Value, target: Value, weight: Any, reduction: str, ignore_index: int
) -> Value:
    """ONNX's losses of classes, which want a batch."""
    options: dict[str, Any] = {"reduction": reduction, "ignore_index": ignore_index}
    if value.rank > 1:
        return b.add(op, value, target, weight, **options)
    found = b.add(op, b.unsqueeze(value, 0), b.unsqueeze(target, 0), weight, **options)
    return b.squeeze(found, 0) if reduction == "none" else found


@translation("cross_entropy_parts")
def _cross_entropy(
    b: Builder,
    value: Value,
    target: Value,
    weight: Any,
    reduction: str,
    ignore_index: int,
    smoothing: float,
    keep: bool,
) -> Any:
    if smoothing:
        raise b.unsupported("label_smoothing has no counterpart")
    found = _of_classes(b, "SoftmaxCrossEntropyLoss", value, target, weight, reduction, ignore_index)
    return found, None, None


@translation("binary_cross_entropy_pair")
def _bce(b: Builder, value: Value, target: Value, weight: Any, reduction: str) -> Value:
    logs = b.add("Max", b.add("Log", value), b.constant(-100, value.dtype))
    others = b.add("Max", b.add("Log", 1 - value), b.constant(-100, value.dtype))
    loss = -(target * logs + (1 - target) * others)
    return _reduced(b, loss if weight is None else loss * weight, reduction)


@translation("binary_cross_entropy_with_logits_pair")
def _bce_with_logits(b: Builder, value: Value, target: Value, weight: Any, pos_weight: Any, reduction: str) -> Value:
    below = b.add("Softplus", -value)  # -log(sigmoid(x))
    loss = (1 - target) * value + (below if pos_weight is None else below * (1 + (pos_weight - 1) * target))
    return _reduced(b, loss if weight is None else loss * weight, reduction)


@translation("soft_margin_loss_pair")
def _soft_margin(b: Builder, value: Value, target: Value, reduction: str) -> Value:
    return _reduced(b, b.add("Softplus", -target * value), reduction)


@translation("multi_margin_loss_parts")
def _multi_margin(b: Builder, value: Value, target: Value, p: int, margin: float, weight: Any, reduction: str) -> Any:
    rows, labels = (value, target) if value.rank == 2 else (b.reshape(value, [1, -1]), b.reshape(target, [1]))
    classes = _classes(b, value)
    places = b.unsqueeze(labels, 1)
    gap = _above_0(b, rows - b.add("GatherElements", rows, places, axis=1) + margin)
    others = b.constant(np.arange(classes), INT64) != places
    loss = b.cast(others, value.dtype) * (gap if p == 1 else gap * gap)
    if weight is not None:
        loss = loss * b.unsqueeze(b.add("Gather", weight, labels), 1)
    return _of_rows(b, value, b.reduce("ReduceSum", loss / classes, [1], False), reduction), None


@translation("multilabel_margin_loss_parts")
def _multilabel_margin(b: Builder, value: Value, target: Value, reduction: str) -> Any:
    rows, labels = (value, target) if value.rank == 2 else (b.reshape(value, [1, -1]), b.reshape(target, [1, -1]))
    classes = _classes(b, value)
    ended = b.add("CumSum", b.cast(labels < 0, INT64), b.constant(1, INT64))  # a row's labels end at its first -1
    live = b.unsqueeze(ended == 0, 2)
    safe = b.add("Max", labels, b.constant(0, INT64))
    named = (b.unsqueeze(safe, 2) == b.constant(np.arange(classes), INT64)) & live
    targets = b.cast(b.reduce("ReduceMax", b.cast(named, np.int32), [1], True), BOOL)
    gap = _above_0(b, b.unsqueeze(rows, 1) - b.unsqueeze(b.add("GatherElements", rows, safe, axis=1), 2) + 1)
    loss = b.where(live & ~targets, gap, 0)
    return _of_rows(b, value, b.reduce("ReduceSum", loss / classes, [1, 2], False), reduction), None


def _classes(b: Builder, value: Value) -> int:
    """How many classes have a score; a number is the score of one."""
    return b.fixed(value, [value.rank - 1])[0] if value.rank else 1


def _above_0(b: Builder, value: Value) -> Value:
    return b.add("Max", value, b.constant(0, value.dtype))


def _of_rows(b: Builder, value: Value, losses: Value, reduction: str) -> Value:
    """The loss of scores, from that of each row; scores without a batch are one row."""
    return _reduced(b, losses if value.rank == 2 else b.squeeze(losses, 0), reduction)
