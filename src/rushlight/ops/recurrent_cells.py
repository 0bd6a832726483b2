"""Recurrent cells: one step of an LSTM, a GRU or a simple RNN. The gates of a step are one operation, from their sums on."""

from __future__ import annotations

import numpy as np

from ..base.errors import hinted, kind_name
from ..base.shapes import broadcast_shapes, require_room
from .matmul import NATIVE_FLOATS
from .recording import is_recorded
from .recurrent import TENSORS, on_arrays, parts
from .table import UNARY, composite, functions, op, widened

TORCH = ("torch",)

# ---------------------------------------------------------------- the gates of an LSTM


def _squash(row, count):
    """Make sigmoids of the first ``count`` columns, in place: half a tanh of half the number, and 1 / 2."""
    gates = row[:, :count]
    gates *= 0.5
    np.tanh(gates, out=gates)
    gates *= 0.5
    gates += 0.5


@op(
    "lstm_gates(Tensor from_input, Tensor from_hidden, Tensor cell) -> (Tensor, Tensor, Tensor)",
    names=(),
    node="MulBackward0",
)
class lstm_gates:
    """The hidden and the cell state after a step of an LSTM, and the numbers that the derivative uses.

    ``from_input`` and ``from_hidden``, (N, 4 * size), add up to the sums of the gates i, f, g, o; ``cell`` (N, size) is the
    state before. The numbers, (N, 5 * size), are the gates' values and the tanh of the cell state.
    """

    def forward(from_input, from_hidden, cell):
        dtype, size = cell.dtype, cell.shape[1]
        from_input, from_hidden, cell = widened(from_input), widened(from_hidden), widened(cell)
        values = np.empty((len(cell), 5 * size), cell.dtype)
        row = values[:, : 4 * size]
        np.add(from_input, from_hidden, out=row)
        enter, forget, candidate, leave, squashed = parts(values, 5)
        np.tanh(candidate, out=squashed)
        _squash(row, 4 * size)
        candidate[...] = squashed
        after = forget * cell
        after += enter * candidate
        np.tanh(after, out=squashed)
        return tuple(array.astype(dtype, copy=False) for array in (leave * squashed, after, values))

    def gradients(grads, cell, result2):
        if is_recorded(result2, *grads):
            d_sums, d_cell = _lstm_gates_gradients(TENSORS, *grads, cell, result2)
        else:
            d_sums, d_cell = functions.lstm_gates_backward(*grads, cell, result2)
        return d_sums, d_sums, d_cell

    def samples():
        draw = np.random.default_rng(0).standard_normal
        yield (draw((4, 12)), draw((4, 12)), draw((4, 3))), {}


def _lstm_gates_gradients(m, d_hidden, d_after, d_values, cell, values):
    enter, forget, candidate, leave, squashed = parts(values, 5)
    d_parts = (0, 0, 0, 0, 0) if d_values is None else parts(d_values, 5)
    d_hidden, d_after = (m.zeros_like(cell) if grad is None else grad for grad in (d_hidden, d_after))
    d_after = d_after + (d_hidden * leave + d_parts[4]) * (1 - squashed * squashed)
    found = (d_after * candidate, d_after * cell, d_after * enter, d_hidden * squashed)
    slopes = (*(gate * (1 - gate) for gate in (enter, forget)), 1 - candidate * candidate, leave * (1 - leave))
    d_sums = m.cat([(gradient + more) * slope for gradient, more, slope in zip(found, d_parts, slopes)], 1)
    return d_sums, d_after * forget


@op(
    "lstm_gates_backward(Tensor? grad_hidden, Tensor? grad_after, Tensor? grad_values, Tensor cell, Tensor values) "
    "-> (Tensor, Tensor)",
    names=(),
)
class lstm_gates_backward:
    """The gradients of the gates' sums and of the cell state before."""

    def forward(*arguments):
        return on_arrays(_lstm_gates_gradients, *arguments)


@op("cell_state(Tensor self) -> Tensor", kind=UNARY, names=(), node="AddBackward0")
class cell_state:
    """The cell state itself, under a node of its own: PyTorch's graph makes it by a sum, the hidden state by a product."""

    def element(m, self):
        return self

    def d_self(grad):
        return grad


# ---------------------------------------------------------------- the gates of a GRU


@op(
    "gru_gates(Tensor from_input, Tensor from_hidden, Tensor hidden) -> (Tensor, Tensor)",
    names=(),
    node="AddBackward0",
)
class gru_gates:
    """The hidden state after a step of a GRU, and the numbers that the derivative uses.

    ``from_input`` and ``from_hidden`` (N, 3 * size) are the two parts of the gates r, z and of the candidate n; ``hidden``
    (N, size) is the state before. The numbers, (N, 5 * size), are r, z, n, the hidden state's part of the candidate and the
    state before less the candidate.
    """

    def forward(from_input, from_hidden, hidden):
        dtype, size = hidden.dtype, hidden.shape[1]
        from_input, from_hidden, hidden = widened(from_input), widened(from_hidden), widened(hidden)
        values = np.empty((len(hidden), 5 * size), hidden.dtype)
        np.add(from_input[:, : 2 * size], from_hidden[:, : 2 * size], out=values[:, : 2 * size])
        _squash(values, 2 * size)
        reset, update, candidate, inner, gap = parts(values, 5)
        inner[...] = from_hidden[:, 2 * size :]
        np.multiply(reset, inner, out=candidate)
        candidate += from_input[:, 2 * size :]
        np.tanh(candidate, out=candidate)
        np.subtract(hidden, candidate, out=gap)
        after = gap * update
        after += candidate
        return tuple(array.astype(dtype, copy=False) for array in (after, values))

    def gradients(grads, result1):
        if is_recorded(result1, *grads):
            return _gru_gates_gradients(TENSORS, *grads, result1)
        return functions.gru_gates_backward(*grads, result1)

    def samples():
        draw = np.random.default_rng(0).standard_normal
        yield (draw((4, 9)), draw((4, 9)), draw((4, 3))), {}


def _gru_gates_gradients(m, d_after, d_values, values):
    reset, update, candidate, inner, gap = parts(values, 5)
    d_parts = (0, 0, 0, 0, 0) if d_values is None else parts(d_values, 5)
    d_after = m.zeros_like(gap) if d_after is None else d_after
    d_gap = d_after * update + d_parts[4]
    d_candidate = (d_after - d_gap + d_parts[2]) * (1 - candidate * candidate)
    d_reset = (d_candidate * inner + d_parts[0]) * (reset * (1 - reset))
    d_update = (d_after * gap + d_parts[1]) * (update * (1 - update))
    d_inner = d_candidate * reset + d_parts[3]
    return *(m.cat([d_reset, d_update, last], 1) for last in (d_candidate, d_inner)), d_gap


@op(
    "gru_gates_backward(Tensor? grad_after, Tensor? grad_values, Tensor values) -> (Tensor, Tensor, Tensor)",
    names=(),
)
class gru_gates_backward:
    """The gradients of both parts of the gates and of the hidden state before."""

    def forward(*arguments):
        return on_arrays(_gru_gates_gradients, *arguments)


# ---------------------------------------------------------------- steps


def _fit(state, *sums):
    """Whether the operations above take these: of one dtype and shape, of a number that is computed as it is."""
    shape, dtype = sums[0]._array.shape, state._array.dtype
    return dtype in NATIVE_FLOATS and all(x._array.dtype == dtype and x._array.shape == shape for x in sums)


def lstm_step(from_input, from_hidden, cell):
    """Hidden and cell state after a step, from the two parts of the four gates' sums and the cell state before."""
    if _fit(cell, from_input, from_hidden):
        hidden, after, _ = functions.lstm_gates(from_input, from_hidden, cell)
        return hidden, functions.cell_state(after)
    enter, forget, candidate, leave = (from_input + from_hidden).chunk(4, -1)
    cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
    return leave.sigmoid() * cell.tanh(), cell


def _parts_of_gates(from_input, from_hidden):
    """The sums of a GRU's three gates; RuntimeError where weights of other sizes than the layer's have made others."""
    of_input, of_hidden = from_input.chunk(3, -1), from_hidden.chunk(3, -1)
    hint = "weight_ih and weight_hh have 3 * hidden_size rows"
    first = of_hidden[0].shape
    require_room(first, broadcast_shapes(of_input[0].shape, first), hint)  # PyTorch adds up in place
    if len(of_input) != 3 or len(of_hidden) != 3:
        widths = f"{from_input.shape[-1]} and {from_hidden.shape[-1]}"
        raise RuntimeError(hinted(f"sums of {widths} columns are not those of three gates", hint))
    return of_input, of_hidden


def gru_step(from_input, from_hidden, hidden):
    """Hidden state after a step; the sums are (reset, update, candidate) side by side."""
    if _fit(hidden, from_input, from_hidden):
        return functions.gru_gates(from_input, from_hidden, hidden)[0]
    (reset_x, update_x, candidate_x), (reset_h, update_h, candidate_h) = _parts_of_gates(from_input, from_hidden)
    update = (update_x + update_h).sigmoid()
    candidate = (candidate_x + (reset_x + reset_h).sigmoid() * candidate_h).tanh()
    return (hidden - candidate) * update + candidate


# ---------------------------------------------------------------- cells


def _check_cell(input, hiddens, w_ih, w_hh, gates):
    """RuntimeError where the sizes of a cell's input, hidden states and weights do not belong together."""
    shape, (rows, columns), size = input._array.shape, w_ih._array.shape, w_hh._array.shape[1]
    if shape[1] != columns:
        raise RuntimeError(
            hinted(
                f"input has inconsistent input_size: got {shape[1]} expected {columns}",
                f"the last dimension of the input, {shape}, is what the cell was made for as input_size",
            )
        )
    for number, hidden in enumerate(hiddens):
        present = hidden._array.shape
        if shape[0] != present[0]:
            raise RuntimeError(f"Input batch size {shape[0]} doesn't match hidden{number} batch size {present[0]}")
        if present[1] != size:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {present[1]}, expected {size}")
    if rows != gates * size:
        raise RuntimeError(f"weight_ih first dim must be {gates} * hidden_size = {gates * size}, but got {rows}")


def _simple_cell(activation, input, hx, w_ih, w_hh, b_ih, b_hh):
    _check_cell(input, (hx,), w_ih, w_hh, 1)
    return activation(functions.linear(input, w_ih, b_ih) + functions.linear(hx, w_hh, b_hh))


@composite(names=TORCH)
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """tanh(input w_ih' + b_ih + hx w_hh' + b_hh) for (N, input_size) and (N, hidden_size).

    Follows ``torch.rnn_tanh_cell``.

    >>> import rushlight as torch
    >>> torch.rnn_tanh_cell(torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[0.7616]])
    """
    return _simple_cell(functions.tanh, input, hx, w_ih, w_hh, b_ih, b_hh)


@composite(names=TORCH)
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """relu(input w_ih' + b_ih + hx w_hh' + b_hh) for (N, input_size) and (N, hidden_size).

    Follows ``torch.rnn_relu_cell``.

    >>> import rushlight as torch
    >>> torch.rnn_relu_cell(torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1), torch.ones(1, 1))
    tensor([[2.]])
    """
    return _simple_cell(functions.relu, input, hx, w_ih, w_hh, b_ih, b_hh)


@composite(names=TORCH)
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One LSTM step: ``hx`` is (hidden, cell), both (N, hidden_size), and so is the result.

    The weights' 4 * hidden_size rows are the input, forget, candidate and output gates. Follows ``torch.lstm_cell``.

    >>> import rushlight as torch
    >>> zeros = torch.zeros(2, 3)
    >>> hidden, cell = torch.lstm_cell(torch.randn(2, 5), (zeros, zeros), torch.randn(12, 5), torch.randn(12, 3))
    >>> hidden.shape, cell.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    if not isinstance(hx, (tuple, list)):
        raise TypeError(
            hinted(
                f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {kind_name(hx)}",
                "an LSTM has two states: give (hidden, cell)",
            )
        )
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    hidden, cell = hx
    _check_cell(input, hx, w_ih, w_hh, 4)
    return lstm_step(functions.linear(input, w_ih, b_ih), functions.linear(hidden, w_hh, b_hh), cell)


@composite(names=TORCH)
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One GRU step for (N, input_size) and (N, hidden_size).

    The weights' 3 * hidden_size rows are the reset and update gates and the candidate. Follows ``torch.gru_cell``.

    >>> import rushlight as torch
    >>> torch.gru_cell(torch.randn(2, 5), torch.zeros(2, 3), torch.randn(9, 5), torch.randn(9, 3)).shape
    torch.Size([2, 3])
    """
    _check_cell(input, (hx,), w_ih, w_hh, 3)
    return gru_step(functions.linear(input, w_ih, b_ih), functions.linear(hx, w_hh, b_hh), hx)
