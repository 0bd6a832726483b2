"""Recurrent layers: ONNX's LSTM, GRU and RNN, whose gates lie in another order, and the cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..builder import INT64, Builder, Value
from .registry import translation

# The gates in ONNX's order, by their places in ours.
_LSTM, _GRU, _RNN = (0, 3, 1, 2), (1, 0, 2), (0,)


def _sequence(
    b: Builder, op: str, order: Any, value: Value, states: Any, weights: Any, biases: Any, reverse: bool, **options: Any
) -> tuple[Any, ...]:
    """One layer in one direction: (steps, batch, features), and the last states (1, batch, features)."""
    size = weights[1].shape[1]
    rows = [place * size + row for place in order for row in range(size)]

    def ordered(weight: Value) -> Value:
        taken = weight if len(order) == 1 else b.add("Gather", weight, b.constant(rows, INT64), axis=0)
        return b.unsqueeze(taken, 0)

    bias = None
    if any(each is not None for each in biases):
        zeros = b.constant(np.zeros(len(rows)), value.dtype)
        bias = b.add("Concat", *(ordered(zeros if each is None else each) for each in biases), axis=1)
    given = [each if each is None or each.rank == 3 else b.unsqueeze(each, 0) for each in states]
    outputs = 1 + len(states)
    found = b.add(
        op, value, ordered(weights[0]), ordered(weights[1]), bias, None, *given, outputs=outputs, hidden_size=size,
        direction="reverse" if reverse else "forward", **options,
    )  # fmt: skip
    return b.squeeze(found[0], 1), *found[1:]


@translation("lstm_sequence")
def _lstm(
    b: Builder, value: Value, hidden: Any, cell: Any, w_ih: Value, w_hh: Value, b_ih: Any, b_hh: Any, reverse: bool
) -> Any:
    found = _sequence(b, "LSTM", _LSTM, value, [hidden, cell], (w_ih, w_hh), (b_ih, b_hh), reverse)
    return *found, None, None


@translation("gru_sequence")
def _gru(b: Builder, value: Value, hidden: Any, w_ih: Value, w_hh: Value, b_ih: Any, b_hh: Any, reverse: bool) -> Any:
    options = {"linear_before_reset": 1}
    return *_sequence(b, "GRU", _GRU, value, [hidden], (w_ih, w_hh), (b_ih, b_hh), reverse, **options), None, None


@translation("rnn_sequence")
def _rnn(
    b: Builder,
    value: Value,
    hidden: Any,
    w_ih: Value,
    w_hh: Value,
    b_ih: Any,
    b_hh: Any,
    rectified: bool,
    reverse: bool,
) -> Any:
    options = {"activations": ["Relu" if rectified else "Tanh"]}
    return _sequence(b, "RNN", _RNN, value, [hidden], (w_ih, w_hh), (b_ih, b_hh), reverse, **options)


def _gates(b: Builder, value: Value, count: int) -> list[Value]:
    size = b.fixed(value, [1])[0] // count
    return [b.slice(value, 1, place * size, (place + 1) * size) for place in range(count)]


@translation("lstm_gates")
def _lstm_cell(b: Builder, from_input: Value, from_hidden: Value, cell: Value) -> Any:
    total = from_input + from_hidden
    total.shape, total.sizes = from_input.shape, from_input.sizes
    gates = _gates(b, total, 4)
    enter, keep, leave = (b.add("Sigmoid", gates[place]) for place in (0, 1, 3))
    state = keep * cell + enter * b.add("Tanh", gates[2])
    return leave * b.add("Tanh", state), state, None


@translation("gru_gates")
def _gru_cell(b: Builder, from_input: Value, from_hidden: Value, hidden: Value) -> Any:
    ours, theirs = _gates(b, from_input, 3), _gates(b, from_hidden, 3)
    reset, update = (b.add("Sigmoid", ours[place] + theirs[place]) for place in (0, 1))
    new = b.add("Tanh", ours[2] + reset * theirs[2])
    return new + update * (hidden - new), None
