"""The cells of recurrent layers: what becomes of the sums of a step, and the derivative, for one vector of hidden units.

A cell reads and writes its arrays through ``units``, which knows their places: ``units.load(name, gate)`` and
``units.store(value, name, gate)``. ``name in units`` tells whether the caller gave an array that may be left out.
"""

from __future__ import annotations

from typing import NamedTuple


class Array(NamedTuple):
    """An array of a cell.

    Attributes:
        gates: how many numbers a row holds for each hidden unit; those of one gate are neighbours.
        place: "step" (a row for each step and sample), "sample" (a row for each sample) or "all" (one row). Arrays
            that are "before" are not passed: they are ``source`` one step earlier, or ``initial`` at the first step.
        strided: whether the caller says how far apart steps and rows are; else the array is contiguous.
    """

    gates: int = 1
    place: str = "step"
    strided: bool = False
    source: str = ""
    initial: str = ""


class Cell(NamedTuple):
    """One kind of recurrent layer: its arrays by name and its arithmetic, forward and backward.

    ``forward(builder, sums, units)`` gets the hidden state's part of every gate, and writes "outputs".
    ``backward(builder, gradient, units)`` gets what flowed into the hidden state by way of the weight, and writes the
    gradients of the gates' sums to "sums". "carry" keeps what flows to the state before by other ways, from step to step.
    ``carries_hidden`` says that this is a part of the hidden state's gradient (and not the cell state's).
    """

    gates: int
    forward_arrays: dict
    forward: object
    backward_arrays: dict
    backward: object
    carries_hidden: bool = False


def _with_given(units, gradient, name):
    """The gradient plus what the caller gave for this step, if anything."""
    return gradient + units.load(name) if name in units else gradient


def _lstm(builder, sums, units):
    for given in ("gates", "bias"):
        if given in units:
            sums = [value + units.load(given, gate) for gate, value in enumerate(sums)]
    enter, forget, leave = (builder.math("sigmoid", sums[gate]) for gate in (0, 1, 3))
    candidate = builder.math("tanh", sums[2])
    cell = builder.fma(forget, units.load("cells_before"), enter * candidate)
    units.store(cell, "cells")
    squashed = builder.math("tanh", cell)
    units.store(leave * squashed, "outputs")
    if "squashed" in units:
        units.store(squashed, "squashed")
    for gate, value in enumerate((enter, forget, candidate, leave)):
        units.store(value, "values", gate)


def _lstm_backward(builder, gradient, units):
    enter, forget, candidate, leave = (units.load("values", gate) for gate in range(4))
    squashed = units.load("squashed") if "squashed" in units else builder.math("tanh", units.load("cells"))
    d_hidden = _with_given(units, gradient, "d_outputs")
    d_cell = units.load("carry") + d_hidden * leave * (1.0 - squashed * squashed)
    d_cell = _with_given(units, d_cell, "d_cells")
    units.store(d_cell * candidate * (enter * (1.0 - enter)), "sums", 0)
    units.store(d_cell * units.load("cells_before") * (forget * (1.0 - forget)), "sums", 1)
    units.store(d_cell * enter * (1.0 - candidate * candidate), "sums", 2)
    units.store(d_hidden * squashed * (leave * (1.0 - leave)), "sums", 3)
    units.store(d_cell * forget, "carry")


def _gru(builder, sums, units):
    if "bias" in units:
        sums = [value + units.load("bias", gate) for gate, value in enumerate(sums)]
    reset, update = (builder.math("sigmoid", sums[gate] + units.load("gates", gate)) for gate in (0, 1))
    candidate = builder.math("tanh", builder.fma(reset, sums[2], units.load("gates", 2)))
    units.store(sums[2], "inner")
    gap = units.load("outputs_before") - candidate
    if "gap" in units:
        units.store(gap, "gap")
    units.store(builder.fma(gap, update, candidate), "outputs")
    for gate, value in enumerate((reset, update, candidate)):
        units.store(value, "values", gate)


def _gru_backward(builder, gradient, units):
    reset, update, candidate = (units.load("values", gate) for gate in range(3))
    d_hidden = _with_given(units, gradient + units.load("carry"), "d_outputs")
    gap = units.load("gap") if "gap" in units else units.load("outputs_before") - candidate
    d_update = d_hidden * gap * (update * (1.0 - update))
    d_candidate = d_hidden * (1.0 - update) * (1.0 - candidate * candidate)
    d_reset = d_candidate * units.load("inner") * (reset * (1.0 - reset))
    for name, last in (("d_gates", d_candidate), ("sums", d_candidate * reset)):
        for gate, value in enumerate((d_reset, d_update, last)):
            units.store(value, name, gate)
    units.store(d_hidden * update, "carry")


def _tanh(builder, sums, units):
    units.store(builder.math("tanh", sums[0] + units.load("gates")), "outputs")


def _relu(builder, sums, units):
    total = sums[0] + units.load("gates")
    units.store(builder.maximum(builder.value(0, total.type), total), "outputs")  # in this order NaN stays NaN


def _tanh_backward(builder, gradient, units):
    output = units.load("outputs")
    units.store(_with_given(units, gradient, "d_outputs") * (1.0 - output * output), "sums")


def _relu_backward(builder, gradient, units):
    slope = builder.convert(units.load("outputs") > 0.0, gradient.type.scalar)
    units.store(_with_given(units, gradient, "d_outputs") * slope, "sums")


_STRIDED, _CARRY = Array(strided=True), Array(place="sample")
_CELLS_BEFORE = Array(source="cells", initial="cell")
_OUTPUTS_BEFORE = Array(source="outputs", initial="hidden")
_SIMPLE = {"gates": _STRIDED, "outputs": Array()}
_SIMPLE_BACKWARD = {"outputs": Array(), "d_outputs": _STRIDED, "sums": _STRIDED}

_LSTM = {"gates": Array(4, strided=True), "outputs": Array(), "cells": Array(), "values": Array(4)}
_LSTM_BACKWARD = {
    "d_outputs": _STRIDED, "d_cells": _STRIDED, "cells": Array(), "values": Array(4),
    "sums": Array(4, strided=True), "carry": _CARRY,
}  # fmt: skip
_LSTM_SEQUENCE = {
    "input": _STRIDED, "w_ih": Array(place="all"), "bias": Array(4, place="all"),
    **{name: array for name, array in _LSTM.items() if name != "gates"},
}  # fmt: skip
_GRU = {
    "gates": Array(3, strided=True), "bias": Array(3, place="all"), "outputs": Array(), "values": Array(3),
    "inner": Array(),
}  # fmt: skip
_GRU_BACKWARD = {
    "d_outputs": _STRIDED, "outputs": Array(), "values": Array(3), "inner": Array(), "d_gates": Array(3, strided=True),
    "sums": Array(3, strided=True), "carry": _CARRY,
}  # fmt: skip

CELLS = {
    "lstm": Cell(
        4,
        {**_LSTM, "cells_before": _CELLS_BEFORE},
        _lstm,
        {**_LSTM_BACKWARD, "cells_before": _CELLS_BEFORE},
        _lstm_backward,
    ),
    # Its sums hold the input's part of the gates, too: programs of it are forward only, and not those of `tiles`.
    "lstm_sequence": Cell(4, {**_LSTM_SEQUENCE, "cells_before": _CELLS_BEFORE}, _lstm, {}, None),
    "gru": Cell(
        3,
        {**_GRU, "outputs_before": _OUTPUTS_BEFORE},
        _gru,
        {**_GRU_BACKWARD, "outputs_before": _OUTPUTS_BEFORE},
        _gru_backward,
        carries_hidden=True,
    ),
    "tanh": Cell(1, _SIMPLE, _tanh, _SIMPLE_BACKWARD, _tanh_backward),
    "relu": Cell(1, _SIMPLE, _relu, _SIMPLE_BACKWARD, _relu_backward),
}
