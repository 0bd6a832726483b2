"""Recurrent layers from their input on, as single operations: the gradients of all parameters come from one place.

What is said of the layers in `recurrent` holds here, too. ``input`` is (steps, N, input size), ``w_ih`` its weight; states
may be None for zeros. After the hidden states of every step comes the last state, (1, N, size).
"""

import numpy as np

from .recording import is_recorded
from .recurrent import (
    TENSORS,
    conjugates,
    gru_gradients,
    gru_layer,
    lstm_gradients,
    lstm_layer,
    lstm_node,
    on_arrays,
    rnn_gradients,
    rnn_layer,
    weight_gradient,
)
from .table import functions, op, widened


def _projected(input, weight, *biases):
    """The input's part of all gates, (steps, N, gates), in the input's dtype."""
    gates = widened(input) @ widened(weight).T
    for bias in biases:
        if bias is not None:
            gates += widened(bias)
    return gates.astype(input.dtype, copy=False)


def _or_zeros(state, gates, weight):
    return np.zeros((gates.shape[1], weight.shape[1]), gates.dtype) if state is None else state


def _last(states, reverse):
    """The state after the last step that is taken, in memory of its own."""
    return states[:1].copy() if reverse else states[-1:].copy()


def _with_last(gradient, d_last, states, reverse):
    """The gradient of all states, given that of their copy in `_last`, too; either may be None."""
    if d_last is None:
        return gradient
    found = functions.select_gradient(d_last[0], states.shape, 0, 0 if reverse else -1)
    return found if gradient is None else gradient + found


def _projection_gradients(d_gates, input):
    """The gradients of the weight that multiplied the input, and of its bias."""
    return weight_gradient(d_gates, input), d_gates.reshape(-1, d_gates.shape[2]).sum(0)


def _in_order(d_gates, d_states, d_weights, d_biases, w_ih, needs):
    """The gradients of all arguments, those of the states where they are wanted."""
    d_input = d_gates @ w_ih if needs[0] else None
    d_states = d_states or (None,) * (len(needs) - 5)
    d_biases = [d_bias if needed else None for d_bias, needed in zip(d_biases, needs[-2:])]
    if d_biases[0] is d_biases[1] is not None:  # leaves keep gradients that nobody else holds
        d_biases[1] = functions.clone(d_biases[1])
    return conjugates((d_input, *d_states, *d_weights, *d_biases))


def _samples(gates, states, *flags):
    draw = np.random.default_rng(0).standard_normal
    for reverse in (False, True):
        weights = draw((gates * 3, 5)), draw((gates * 3, 3))
        given = [draw((2, 3)) for _ in range(states)]
        yield (draw((4, 2, 5)), *given, *weights, draw(gates * 3), draw(gates * 3), *flags, reverse), {}
    yield (draw((4, 2, 5)), *[None] * states, *weights), {}


# ---------------------------------------------------------------- LSTM


@op(
    "lstm_sequence(Tensor input, Tensor? hidden, Tensor? cell, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
    "Tensor? b_hh=None, bool reverse=False) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    names=(),
    node=lstm_node,
)
class lstm_sequence:
    """One LSTM layer: hidden states, the last one, the last cell state, all cell states, and the gates' values."""

    def forward(input, hidden, cell, w_ih, w_hh, b_ih, b_hh, reverse):
        gates = _projected(input, w_ih, b_ih, b_hh)
        hidden, cell = (_or_zeros(state, gates, w_hh) for state in (hidden, cell))
        outputs, cells, values = lstm_layer.forward(gates, hidden, cell, w_hh, reverse)
        return outputs, _last(outputs, reverse), _last(cells, reverse), cells, values

    def gradients(grads, input, hidden, cell, w_ih, w_hh, reverse, result0, result3, result4, needs):
        known = (hidden, cell, w_hh, result0, result3, result4, reverse, input)
        d_outputs, d_hidden, d_cell, d_cells, d_values = conjugates(grads)
        d_outputs = _with_last(d_outputs, d_hidden, result0, reverse)
        grads = d_outputs, _with_last(d_cells, d_cell, result3, reverse), d_values
        if is_recorded(result0, *grads):
            found = _lstm_sequence_gradients(TENSORS, *grads, *known, True)
        else:
            found = functions.lstm_sequence_backward(*grads, *known, needs[1] or needs[2])
        d_gates, d_w_ih, d_w_hh, d_bias, *d_states = found
        return _in_order(d_gates, d_states, (d_w_ih, d_w_hh), (d_bias, d_bias), w_ih, needs)

    def samples():
        return _samples(4, 2)


def _lstm_sequence_gradients(m, *arguments):
    *arguments, input, states = arguments
    d_gates, *d_states, d_w_hh = lstm_gradients(m, *arguments)
    d_w_ih, d_bias = _projection_gradients(d_gates, input)
    return d_gates, d_w_ih, d_w_hh, d_bias, *(d_states if states else ())


@op(
    "lstm_sequence_backward(Tensor? grad_outputs, Tensor? grad_cells, Tensor? grad_values, Tensor? hidden, Tensor? cell, "
    "Tensor w_hh, Tensor outputs, Tensor cells, Tensor values, bool reverse, Tensor input, bool states) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    names=(),
)
class lstm_sequence_backward:
    """The gradients of the gates' sums, the two weights (the input's first), a bias and, if wanted, both ``states``."""

    def forward(*arguments):
        return on_arrays(_lstm_sequence_gradients, *arguments)


# ---------------------------------------------------------------- simple RNN


@op(
    "rnn_sequence(Tensor input, Tensor? hidden, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None, "
    "bool rectified=False, bool reverse=False) -> (Tensor, Tensor)",
    names=(),
    node="StackBackward0",
)
class rnn_sequence:
    """One simple recurrent layer: hidden states and the last one."""

    def forward(input, hidden, w_ih, w_hh, b_ih, b_hh, rectified, reverse):
        gates = _projected(input, w_ih, b_ih, b_hh)
        outputs = rnn_layer.forward(gates, _or_zeros(hidden, gates, w_hh), w_hh, rectified, reverse)
        return outputs, _last(outputs, reverse)

    def gradients(grads, input, hidden, w_ih, w_hh, rectified, reverse, result0, needs):
        d_outputs, d_hidden = conjugates(grads)
        d_outputs = _with_last(d_outputs, d_hidden, result0, reverse)
        known = (d_outputs, hidden, w_hh, result0, rectified, reverse, input)
        if is_recorded(result0, d_outputs):
            found = _rnn_sequence_gradients(TENSORS, *known, True)
        else:
            found = functions.rnn_sequence_backward(*known, needs[1])
        d_gates, d_w_ih, d_w_hh, d_bias, *d_states = found
        return _in_order(d_gates, d_states, (d_w_ih, d_w_hh), (d_bias, d_bias), w_ih, needs)

    def samples():
        for rectified in (False, True):
            yield from _samples(1, 1, rectified)


def _rnn_sequence_gradients(m, *arguments):
    *arguments, input, states = arguments
    d_gates, d_hidden, d_w_hh = rnn_gradients(m, *arguments)
    d_w_ih, d_bias = _projection_gradients(d_gates, input)
    return d_gates, d_w_ih, d_w_hh, d_bias, *((d_hidden,) if states else ())


@op(
    "rnn_sequence_backward(Tensor grad, Tensor? hidden, Tensor w_hh, Tensor outputs, bool rectified, bool reverse, "
    "Tensor input, bool states) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    names=(),
)
class rnn_sequence_backward:
    """The gradients of the sums, the two weights (the input's first), a bias and, if wanted, of the first state."""

    def forward(*arguments):
        return on_arrays(_rnn_sequence_gradients, *arguments)


# ---------------------------------------------------------------- GRU


@op(
    "gru_sequence(Tensor input, Tensor? hidden, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None, "
    "bool reverse=False) -> (Tensor, Tensor, Tensor, Tensor)",
    names=(),
    node="StackBackward0",
)
class gru_sequence:
    """One GRU layer: hidden states, the last one, the gates' values and the hidden state's part of the candidate."""

    def forward(input, hidden, w_ih, w_hh, b_ih, b_hh, reverse):
        gates = _projected(input, w_ih, b_ih)
        outputs, values, inner = gru_layer.forward(gates, _or_zeros(hidden, gates, w_hh), w_hh, b_hh, reverse)
        return outputs, _last(outputs, reverse), values, inner

    def gradients(grads, input, hidden, w_ih, w_hh, reverse, result0, result2, result3, needs):
        known = (hidden, w_hh, result0, result2, result3, reverse, input)
        d_outputs, d_hidden, d_values, d_inner = conjugates(grads)
        grads = _with_last(d_outputs, d_hidden, result0, reverse), d_values, d_inner
        if is_recorded(result0, *grads):
            found = _gru_sequence_gradients(TENSORS, *grads, *known, True)
        else:
            found = functions.gru_sequence_backward(*grads, *known, needs[1])
        d_gates, d_w_ih, d_w_hh, d_b_ih, d_b_hh, *d_states = found
        return _in_order(d_gates, d_states, (d_w_ih, d_w_hh), (d_b_ih, d_b_hh), w_ih, needs)

    def samples():
        return _samples(3, 1)


def _gru_sequence_gradients(m, *arguments):
    *arguments, input, states = arguments
    d_gates, d_hidden, d_w_hh, d_b_hh = gru_gradients(m, *arguments)
    d_w_ih, d_b_ih = _projection_gradients(d_gates, input)
    return d_gates, d_w_ih, d_w_hh, d_b_ih, d_b_hh, *((d_hidden,) if states else ())


@op(
    "gru_sequence_backward(Tensor? grad_outputs, Tensor? grad_values, Tensor? grad_inner, Tensor? hidden, Tensor w_hh, "
    "Tensor outputs, Tensor values, Tensor inner, bool reverse, Tensor input, bool states) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    names=(),
)
class gru_sequence_backward:
    """The gradients of the input's part, the two weights (the input's first), both biases (the input's first) and, if
    wanted, of the first state."""

    def forward(*arguments):
        return on_arrays(_gru_sequence_gradients, *arguments)
