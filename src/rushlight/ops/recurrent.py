"""Whole recurrent layers as single operations: the loop over time steps of an LSTM, a simple RNN and a GRU."""

from types import SimpleNamespace

import numpy as np

from ..base.dtypes import bfloat16, float32
from .blockwise import larger
from .recording import is_recorded
from .table import conj, functions, op, widened

# The layers get the input's part of all gates for all steps at once, and add the hidden state's part step by step.
#
# Each gradient is one formula that runs on arrays, as an operation of its own, or, where the gradient is itself to be
# differentiated, on Tensors. ``m`` holds the few functions that it needs besides operators.

_ARRAYS = SimpleNamespace(
    cat=np.concatenate, stack=np.stack, tanh=np.tanh, zeros_like=np.zeros_like, rows=lambda array: array
)
TENSORS = SimpleNamespace(
    cat=lambda parts, dim: functions.cat(parts, dim),
    stack=lambda parts, dim: functions.stack(parts, dim),
    tanh=lambda tensor: functions.tanh(tensor),
    zeros_like=lambda tensor: functions.zeros_like(tensor),
    rows=lambda tensor: None if tensor is None else tensor.unbind(0),
)


def conjugates(gradients):
    """The complex conjugates of some gradients; of real ones, they themselves.

    The formulas have no conjugates. Cells are holomorphic, so that the gradients of complex ones are the conjugates of
    what the formulas make of conjugates.
    """
    for gradient in gradients:
        if gradient is not None:
            if conj(gradient) is gradient:
                return gradients
            return tuple([None if gradient is None else conj(gradient) for gradient in gradients])
    return gradients


def _steps(count, reverse):
    return range(count - 1, -1, -1) if reverse else range(count)


def _states_before(m, states, first, reverse):
    """The state before each step, given the states after each, (steps, N, size), and the ``first``, zeros if None."""
    first = m.zeros_like(states[:1]) if first is None else first[None]
    return m.cat([states[1:], first] if reverse else [first, states[:-1]], 0)


def parts(row, count):
    """The ``count`` gates of a row, side by side."""
    size = row.shape[1] // count
    return [row[:, k * size : (k + 1) * size] for k in range(count)]


def weight_gradient(d_gates, before):
    """The gradient of a weight that multiplied the state before every step on its way to the gates."""
    return d_gates.reshape(-1, d_gates.shape[2]).T @ before.reshape(-1, before.shape[2])


def on_arrays(formula, *arrays_and_flags):
    """Run a gradient's formula on arrays, in float32 where they are half precision."""
    wide = [widened(a) if isinstance(a, np.ndarray) else a for a in arrays_and_flags]
    dtype = next(a.dtype for a in arrays_and_flags if isinstance(a, np.ndarray))
    return tuple(found.astype(dtype, copy=False) for found in formula(_ARRAYS, *wide))


# ---------------------------------------------------------------- LSTM


def lstm_node(input, *others):
    """The node's name: PyTorch computes other dtypes than these step by step."""
    return "MkldnnRnnLayerBackward0" if input.dtype in (float32, bfloat16) else "StackBackward0"


@op(
    "lstm_layer(Tensor gates, Tensor hidden, Tensor cell, Tensor weight, bool reverse=False) "
    "-> (Tensor, Tensor, Tensor)",
    names=(),
    node=lstm_node,
)
class lstm_layer:
    """One LSTM layer over a padded sequence, in one direction.

    ``gates`` (steps, N, 4 * size) is the input's part of the gates i, f, g, o, biases included; ``hidden`` and
    ``cell`` (N, size) the states before; ``weight`` (4 * size, size) multiplies the hidden state. Returns the hidden
    states and the cell states after every step, (steps, N, size), and the gates' values, which the derivative uses.
    """

    def forward(gates, hidden, cell, weight, reverse):
        dtype, size = gates.dtype, hidden.shape[1]
        gates, hidden, cell, weight = (widened(array) for array in (gates, hidden, cell, weight))
        # A sigmoid is half a tanh of half its argument, so that one tanh makes all gates of a step:
        # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2. Halving is exact, so it is done to the sums' terms beforehand.
        half = np.full(4 * size, 0.5, gates.dtype)
        half[2 * size : 3 * size] = 1
        shift = np.where(half == 1, 0, half)
        weight = (weight * half[:, None]).T
        values = np.multiply(gates, half, order="C")
        outputs = np.empty((*gates.shape[:2], size), gates.dtype)
        cells = np.empty_like(outputs)
        product, scratch = np.empty_like(values[0]), np.empty_like(outputs[0])
        for step in _steps(len(values), reverse):
            row, after, output = values[step], cells[step], outputs[step]
            np.matmul(hidden, weight, out=product)
            row += product
            np.tanh(row, out=row)
            row *= half
            row += shift
            enter, forget, candidate, leave = parts(row, 4)
            np.multiply(forget, cell, out=after)
            np.multiply(enter, candidate, out=scratch)
            after += scratch
            np.tanh(after, out=scratch)
            np.multiply(leave, scratch, out=output)
            hidden, cell = output, after
        return tuple(array.astype(dtype, copy=False) for array in (outputs, cells, values))

    def gradients(grads, hidden, cell, weight, reverse, result0, result1, result2):
        known = (hidden, cell, weight, result0, result1, result2, reverse)
        grads = conjugates(grads)
        if is_recorded(result0, *grads):
            return conjugates(lstm_gradients(TENSORS, *grads, *known))
        return conjugates(functions.lstm_layer_backward(*grads, *known))

    def samples():
        draw = np.random.default_rng(0).standard_normal
        for reverse in (False, True):
            yield (draw((4, 2, 12)), draw((2, 3)), draw((2, 3)), draw((12, 3)), reverse), {}


def lstm_gradients(m, d_outputs, d_cells, d_values, hidden, cell, weight, outputs, cells, values, reverse):
    before, cells_before = (_states_before(m, *x, reverse) for x in ((outputs, hidden), (cells, cell)))
    d_outputs, d_cells, d_values = m.rows(d_outputs), m.rows(d_cells), m.rows(d_values)
    cells, cells_before, values = m.rows(cells), m.rows(cells_before), m.rows(values)
    d_hidden, d_cell = m.zeros_like(outputs[0]), m.zeros_like(outputs[0])
    d_gates = [None] * len(values)
    for step in reversed(_steps(len(values), reverse)):
        row = values[step]
        squashed = m.tanh(cells[step])
        enter, forget, candidate, leave = parts(row, 4)
        if d_outputs is not None:
            d_hidden = d_hidden + d_outputs[step]
        d_cell = d_cell + d_hidden * leave * (1 - squashed * squashed)
        if d_cells is not None:
            d_cell = d_cell + d_cells[step]
        d_row = m.cat([d_cell * candidate, d_cell * cells_before[step], d_cell * enter, d_hidden * squashed], 1)
        if d_values is not None:
            d_row = d_row + d_values[step]
        slope_in, slope_out = row * (1 - row), 1 - candidate * candidate
        size = slope_out.shape[1]
        d_row = d_row * m.cat([slope_in[:, : 2 * size], slope_out, slope_in[:, 3 * size :]], 1)
        d_gates[step] = d_row
        d_hidden = d_row @ weight
        d_cell = d_cell * forget
    d_gates = m.stack(d_gates, 0)
    return d_gates, d_hidden, d_cell, weight_gradient(d_gates, before)


@op(
    "lstm_layer_backward(Tensor? grad_outputs, Tensor? grad_cells, Tensor? grad_values, Tensor hidden, Tensor cell, "
    "Tensor weight, Tensor outputs, Tensor cells, Tensor values, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)",
    names=(),
)
class lstm_layer_backward:
    """The gradients of an LSTM layer's four tensors, from those of its results."""

    def forward(*arguments):
        return on_arrays(lstm_gradients, *arguments)


# ---------------------------------------------------------------- simple RNN


@op(
    "rnn_layer(Tensor gates, Tensor hidden, Tensor weight, bool rectified=False, bool reverse=False) -> Tensor",
    names=(),
    node="StackBackward0",
)
class rnn_layer:
    """One simple recurrent layer over a padded sequence, in one direction: tanh, or relu if ``rectified``.

    ``gates`` (steps, N, size) is the input's part of the sums, biases included; ``hidden`` (N, size) the state before;
    ``weight`` (size, size) multiplies it. Returns the hidden states after every step, (steps, N, size).
    """

    def forward(gates, hidden, weight, rectified, reverse):
        dtype = gates.dtype
        gates, hidden, weight = (widened(array) for array in (gates, hidden, weight))
        weight = weight.T
        outputs = np.empty(gates.shape, gates.dtype)
        for step in _steps(len(gates), reverse):
            output = outputs[step]
            np.matmul(hidden, weight, out=output)
            output += gates[step]
            if rectified:
                larger(output, 0, output)
            else:
                np.tanh(output, out=output)
            hidden = output
        return outputs.astype(dtype, copy=False)

    def gradients(grad, hidden, weight, rectified, reverse, result):
        known = (conj(grad), hidden, weight, result, rectified, reverse)
        if is_recorded(result, grad):
            return conjugates(rnn_gradients(TENSORS, *known))
        return conjugates(functions.rnn_layer_backward(*known))

    def samples():
        draw = np.random.default_rng(0).standard_normal
        for rectified in (False, True):
            yield (draw((4, 2, 3)), draw((2, 3)), draw((3, 3)), rectified, rectified), {}


def rnn_gradients(m, d_outputs, hidden, weight, outputs, rectified, reverse):
    before = _states_before(m, outputs, hidden, reverse)
    d_outputs, outputs = m.rows(d_outputs), m.rows(outputs)
    d_hidden = m.zeros_like(outputs[0])
    d_gates = [None] * len(outputs)
    for step in reversed(_steps(len(outputs), reverse)):
        output = outputs[step]
        d_gates[step] = (d_hidden + d_outputs[step]) * ((output > 0) if rectified else 1 - output * output)
        d_hidden = d_gates[step] @ weight
    d_gates = m.stack(d_gates, 0)
    return d_gates, d_hidden, weight_gradient(d_gates, before)


@op(
    "rnn_layer_backward(Tensor grad, Tensor hidden, Tensor weight, Tensor outputs, bool rectified, bool reverse) "
    "-> (Tensor, Tensor, Tensor)",
    names=(),
)
class rnn_layer_backward:
    """The gradients of a simple recurrent layer's three tensors, from that of its result."""

    def forward(*arguments):
        return on_arrays(rnn_gradients, *arguments)


# ---------------------------------------------------------------- GRU


@op(
    "gru_layer(Tensor gates, Tensor hidden, Tensor weight, Tensor? bias=None, bool reverse=False) "
    "-> (Tensor, Tensor, Tensor)",
    names=(),
    node="StackBackward0",
)
class gru_layer:
    """One GRU layer over a padded sequence, in one direction.

    ``gates`` (steps, N, 3 * size) is the input's part of the gates r, z and of the candidate n, its bias included;
    ``hidden`` (N, size) the state before; ``weight`` (3 * size, size) and ``bias`` (3 * size) the hidden state's part.
    Returns the hidden states after every step, (steps, N, size), and, for the derivative, the gates' values and the
    hidden state's part of the candidate.
    """

    def forward(gates, hidden, weight, bias, reverse):
        dtype, size = gates.dtype, hidden.shape[1]
        gates, hidden, weight = (widened(array) for array in (gates, hidden, weight))
        weight = weight.T
        values = gates.copy()
        outputs = np.empty((*gates.shape[:2], size), gates.dtype)
        inner = np.empty_like(outputs)
        product, scratch = np.empty_like(values[0]), np.empty_like(outputs[0])
        for step in _steps(len(values), reverse):
            row, part, output = values[step], inner[step], outputs[step]
            np.matmul(hidden, weight, out=product)
            if bias is not None:
                product += bias
            both = row[:, : 2 * size]
            both += product[:, : 2 * size]
            both *= 0.5
            np.tanh(both, out=both)
            both *= 0.5
            both += 0.5
            part[...] = product[:, 2 * size :]
            reset, update, candidate = parts(row, 3)
            np.multiply(reset, part, out=scratch)
            candidate += scratch
            np.tanh(candidate, out=candidate)
            np.subtract(hidden, candidate, out=scratch)
            scratch *= update
            np.add(candidate, scratch, out=output)
            hidden = output
        return tuple(array.astype(dtype, copy=False) for array in (outputs, values, inner))

    def gradients(grads, hidden, weight, bias, reverse, result0, result1, result2):
        known = (hidden, weight, result0, result1, result2, reverse)
        run = functions.gru_layer_backward
        if is_recorded(result0, *grads):
            run = lambda *arguments: gru_gradients(TENSORS, *arguments)
        *found, d_bias = conjugates(run(*conjugates(grads), *known))
        return *found, None if bias is None else d_bias

    def samples():
        draw = np.random.default_rng(0).standard_normal
        for reverse in (False, True):
            yield (draw((4, 2, 9)), draw((2, 3)), draw((9, 3)), draw(9), reverse), {}
        yield (draw((4, 2, 9)), draw((2, 3)), draw((9, 3))), {}


def gru_gradients(m, d_outputs, d_values, d_inner, hidden, weight, outputs, values, inner, reverse):
    before = _states_before(m, outputs, hidden, reverse)
    d_outputs, d_values, d_inner = m.rows(d_outputs), m.rows(d_values), m.rows(d_inner)
    states, values, inner = m.rows(before), m.rows(values), m.rows(inner)
    d_hidden = m.zeros_like(states[0])
    d_gates, d_sums = [None] * len(values), [None] * len(values)
    for step in reversed(_steps(len(values), reverse)):
        reset, update, candidate = parts(values[step], 3)
        if d_outputs is not None:
            d_hidden = d_hidden + d_outputs[step]
        d_reset, d_update, d_candidate = 0, d_hidden * (states[step] - candidate), d_hidden * (1 - update)
        if d_values is not None:
            d_reset, more_update, more_candidate = parts(d_values[step], 3)
            d_update, d_candidate = d_update + more_update, d_candidate + more_candidate
        d_candidate = d_candidate * (1 - candidate * candidate)
        d_reset = (d_reset + d_candidate * inner[step]) * (reset * (1 - reset))
        d_update = d_update * (update * (1 - update))
        d_part = d_candidate * reset
        if d_inner is not None:
            d_part = d_part + d_inner[step]
        d_gates[step] = m.cat([d_reset, d_update, d_candidate], 1)
        d_sums[step] = m.cat([d_reset, d_update, d_part], 1)
        d_hidden = d_hidden * update + d_sums[step] @ weight
    d_sums = m.stack(d_sums, 0)
    d_bias = d_sums.reshape(-1, d_sums.shape[2]).sum(0)
    return m.stack(d_gates, 0), d_hidden, weight_gradient(d_sums, before), d_bias


@op(
    "gru_layer_backward(Tensor? grad_outputs, Tensor? grad_values, Tensor? grad_inner, Tensor hidden, Tensor weight, "
    "Tensor outputs, Tensor values, Tensor inner, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)",
    names=(),
)
class gru_layer_backward:
    """The gradients of a GRU layer's three tensors and of its bias, from those of its results."""

    def forward(*arguments):
        return on_arrays(gru_gradients, *arguments)
