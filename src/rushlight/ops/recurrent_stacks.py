"""Recurrent networks written with other operations: stacks of layers over sequences."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from ..base.errors import hinted
from .recurrent_cells import TORCH, gru_step, lstm_step
from .table import composite, functions

# ---------------------------------------------------------------- one layer in one direction
#
# A layer takes its input for all steps at once: (steps, N, size), or packed rows (sum of batch_sizes, size). The
# input's part of all gates is one matrix product; a block, (steps, N, gates), is then run step by step with the
# hidden state's part.


def _lstm_block(gates, state, weights, reverse):
    outputs, cells, _ = functions.lstm_layer(gates, *state, weights[1], reverse)
    return outputs, (_last(outputs, reverse), _last(cells, reverse))


def _gru_block(gates, state, weights, reverse):
    outputs, _, _ = functions.gru_layer(gates, state[0], weights[1], weights[3], reverse)
    return outputs, (_last(outputs, reverse),)


def _tanh_block(gates, state, weights, reverse):
    outputs = functions.rnn_layer(gates, state[0], weights[1], False, reverse)
    return outputs, (_last(outputs, reverse),)


def _relu_block(gates, state, weights, reverse):
    outputs = functions.rnn_layer(gates, state[0], weights[1], True, reverse)
    return outputs, (_last(outputs, reverse),)


def _last(states, reverse):
    return states.select(0, 0 if reverse else -1)


def _lstm_sequence(input, state, weights, reverse):
    outputs, *last, _, _ = functions.lstm_sequence(input, *state, *weights, reverse)
    return outputs, last


def _gru_sequence(input, state, weights, reverse):
    outputs, last, _, _ = functions.gru_sequence(input, *state, *weights, reverse)
    return outputs, (last,)


def _tanh_sequence(input, state, weights, reverse):
    outputs, last = functions.rnn_sequence(input, *state, *weights, False, reverse)
    return outputs, (last,)


def _relu_sequence(input, state, weights, reverse):
    outputs, last = functions.rnn_sequence(input, *state, *weights, True, reverse)
    return outputs, (last,)


def _lstm_step(row, sums, state):
    return lstm_step(row, sums, state[1])


def _gru_step(row, sums, state):
    return (gru_step(row, sums, state[0]),)


def _tanh_step(row, sums, state):
    return (functions.tanh(row + sums),)


def _relu_step(row, sums, state):
    return (functions.relu(row + sums),)


class _Kind(NamedTuple):
    """A kind of layer: its numbers of gates and states, how it runs from the input on, from blocks of gates on, and by steps."""

    gates: int
    states: int
    sequence: object
    block: object
    step: object

    def steps(self, gates, state, weights, reverse):
        """A block, step by step: layers with projections, and whatever does not fit together, which operations on tensors
        broadcast or refuse. The bias of the hidden state's part is not in the gates."""
        w_hh, b_hh, w_hr = weights[1], weights[3], weights[4]
        outputs = []
        rows = gates.unbind(0)
        for row in reversed(rows) if reverse else rows:
            hidden, *others = self.step(row, functions.linear(state[0], w_hh, b_hh), state)
            state = (hidden if w_hr is None else functions.linear(hidden, w_hr), *others)
            outputs.append(state[0])
        return functions.stack(outputs[::-1] if reverse else outputs), state


_KINDS = {
    "lstm": _Kind(4, 2, _lstm_sequence, _lstm_block, _lstm_step),
    "gru": _Kind(3, 1, _gru_sequence, _gru_block, _gru_step),
    "rnn_tanh": _Kind(1, 1, _tanh_sequence, _tanh_block, _tanh_step),
    "rnn_relu": _Kind(1, 1, _relu_sequence, _relu_block, _relu_step),
}


def _run_layer(kind, input, batch_sizes, state, weights, reverse):
    """The hidden states of every step in their order, and the last state of every sequence, (1, N, size) each.

    A ``state`` of None is zeros.
    """
    batch = input.shape[1] if batch_sizes is None else batch_sizes[0]
    fit = _belong_together(kind.gates, input, batch, state, *weights)
    if fit and batch_sizes is None and weights[4] is None:
        return kind.sequence(input, (None,) * kind.states if state is None else state, weights[:4], reverse)
    if state is None:
        state = _zero_state(kind, input, batch, *weights)
    outputs, state = _run_in_blocks(kind, input, batch_sizes, state, weights, reverse, fit and weights[4] is None)
    return outputs, [functions.stack((part,)) for part in state]


def _zero_state(kind, input, batch, w_ih, w_hh, b_ih, b_hh, w_hr):
    """The state that a layer begins with where none is given."""
    size = w_ih.shape[0] // kind.gates if w_ih.shape else 0
    sizes = (size if w_hr is None else w_hr.shape[0], size)[: kind.states]
    return tuple([functions.zeros(batch, size, dtype=input.dtype, device=input.device) for size in sizes])


def _run_in_blocks(kind, input, batch_sizes, state, weights, reverse, fit):
    """As `_run_layer`, the input's part of all gates first; ``fit`` says that arrays may run in one go."""
    w_ih, _, b_ih, b_hh, _ = weights
    block = kind.block if fit else kind.steps
    bias = b_ih + b_hh if fit and b_ih is not None and kind.block is not _gru_block else b_ih
    gates = functions.linear(input, w_ih, bias)
    if batch_sizes is None:
        return block(gates, state, weights, reverse)
    runs = [(size, len(list(steps))) for size, steps in groupby(batch_sizes)]
    pieces = gates.split([size * steps for size, steps in runs])
    pieces = [piece.view(steps, size, -1) for piece, (size, steps) in zip(pieces, runs)]
    outputs, state = (_backward_packed if reverse else _forward_packed)(block, pieces, state, weights)
    return functions.cat([output.flatten(0, 1) for output in outputs]), state


def _belong_together(gates, input, batch, state, w_ih, w_hh, b_ih, b_hh, w_hr):
    """Whether an input, a layer's parameters and its state, if given, have one dtype and fitting sizes."""
    shape, dtype = input.shape, input.dtype
    if len(w_hh.shape) != 2 or (w_hr is not None and len(w_hr.shape) != 2) or not 2 <= len(shape) <= 3:
        return False
    out = w_hh.shape[1]
    size = out if w_hr is None else w_hr.shape[1]
    width = gates * size
    expected = (width, shape[-1]), (width, out), (width,), (width,), (out, size)
    for tensor, fitting in zip((w_ih, w_hh, b_ih, b_hh, w_hr), expected):
        if tensor is not None and not (tensor.dtype is dtype and tensor.shape == fitting):
            return False
    for part, columns in zip(state or (), (out, size)):
        if not (part.dtype is dtype and part.shape == (batch, columns)):
            return False
    return True


def _forward_packed(block, pieces, state, weights):
    """Longest sequences first: the batch shrinks from piece to piece, and what drops out has its final state."""
    outputs, finished = [], []
    for piece in pieces:
        size = piece.shape[1]
        if size < state[0].shape[0]:
            finished.append([part[size:] for part in state])
            state = tuple(part[:size] for part in state)
        output, state = block(piece, state, weights, False)
        outputs.append(output)
    finished.append(state)
    finished.reverse()
    return outputs, tuple(functions.cat(parts) for parts in zip(*finished))


def _backward_packed(block, pieces, state, weights):
    """From the last piece to the first the batch grows; a sequence joins with its initial state."""
    outputs, initial = [], state
    state = tuple(part[:0] for part in initial)
    for piece in reversed(pieces):
        running, size = state[0].shape[0], piece.shape[1]
        if running < size:
            state = tuple(functions.cat((part, start[running:size])) for part, start in zip(state, initial))
        output, state = block(piece, state, weights, True)
        outputs.append(output)
    outputs.reverse()
    return outputs, state


# ---------------------------------------------------------------- stacks of layers


def _group_weights(params, has_biases, projected):
    """The flat list of parameters as (w_ih, w_hh, b_ih, b_hh, w_hr), one group a layer and direction."""
    size = (4 if has_biases else 2) + projected
    if len(params) % size != 0:
        raise RuntimeError("got an incorrect number of RNN parameters")
    groups = []
    for start in range(0, len(params), size):
        group = list(params[start : start + size])
        w_hr = group.pop() if projected else None
        groups.append((*group, w_hr) if has_biases else (*group, None, None, w_hr))
    return groups


def _run_stack(kind, input, batch_sizes, states, groups, num_layers, dropout, train, bidirectional):
    """Run every layer on the outputs of the one below; return the top's outputs and all final states, stacked.

    ``states`` of None are zeros.
    """
    directions = 2 if bidirectional else 1
    if bidirectional and len(groups) % 2:
        raise RuntimeError("Odd number of params or hiddens given to a bidirectional RNN")
    count = num_layers * directions
    if states is None:
        starts = [None] * count
    elif any(len(state) != count for state in states):
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    else:
        starts = list(zip(*(state.unbind(0) for state in states)))
    if len(groups) != count:
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    finals = []
    for level in range(num_layers):
        outputs = []
        for direction in range(directions):
            at = level * directions + direction
            output, final = _run_layer(kind, input, batch_sizes, starts[at], groups[at], direction == 1)
            outputs.append(output)
            finals.append(final)
        input = functions.cat(outputs, -1) if bidirectional else outputs[0]
        if dropout != 0 and train and level < num_layers - 1:
            input = functions.dropout(input, dropout, True)
    if count == 1:
        return input, finals[0]
    return input, [functions.stack([part.squeeze(0) for part in parts]) for parts in zip(*finals)]


_PADDED = (
    "input", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional", "batch_first",
)  # fmt: skip
_PACKED = (
    "data", "batch_sizes", "hx", "params", "has_biases", "num_layers", "dropout", "train", "bidirectional",
)  # fmt: skip


def _bind(name, args, kwargs):
    """The arguments of either form of call as one dict; packed where ``batch_sizes`` is given."""
    packed = "batch_sizes" in kwargs or (len(args) > 3 and isinstance(args[3], (list, tuple)))
    names = _PACKED if packed else _PADDED
    values = dict(zip(names, args), **kwargs)
    if len(args) > len(names) or set(values) != set(names):
        raise TypeError(
            hinted(
                f"{name}() received an invalid combination of arguments",
                f"it takes ({', '.join(_PADDED)}) or ({', '.join(_PACKED)})",
            )
        )
    values.setdefault("batch_sizes", None)
    values.setdefault("batch_first", False)
    if packed:
        values["input"] = values["data"]
        values["batch_sizes"] = values["batch_sizes"].tolist()
    return values


def recurrent(
    name, input, batch_sizes, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first,
    projected,
):  # fmt: skip
    """What the functions ``lstm``, ``gru``, ``rnn_tanh`` and ``rnn_relu`` do; ``name`` says which.

    ``states`` is a tuple of the initial states, or None for zeros; ``projected`` whether there are ``weight_hr``.
    """
    if batch_first:
        input = input.transpose(0, 1)
    if len(input) == 0:
        shape = tuple((input.transpose(0, 1) if batch_first else input).shape)
        raise RuntimeError(
            hinted(
                "Expected sequence length to be larger than 0 in RNN",
                f"the input's shape is {shape}: it has no time steps",
            )
        )
    groups = _group_weights(params, has_biases, projected)
    output, finals = _run_stack(
        _KINDS[name], input, batch_sizes, states, groups, num_layers, dropout, train, bidirectional
    )
    return (output.transpose(0, 1) if batch_first else output, *finals)


def _run(name, states, projected, call):
    names = "num_layers", "dropout", "train", "bidirectional", "batch_first"
    settings = [call[setting] for setting in names]
    return recurrent(
        name, call["input"], call["batch_sizes"], states, call["params"], call["has_biases"], *settings, projected
    )


@composite(names=TORCH)
def lstm(*args, **kwargs):
    """A stack of LSTM layers: (output, final hidden states, final cell states).

    Called as ``lstm(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)`` with an
    input of (steps, N, size), or (N, steps, size) with ``batch_first``; or for packed sequences as ``lstm(data,
    batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``. ``hx`` is (hidden, cell), each
    (num_layers * directions, N, hidden_size); ``params`` are the weights in the order of ``nn.LSTM``'s parameters.
    Follows ``torch.lstm``.

    >>> import rushlight as torch
    >>> weights = [torch.randn(12, 5), torch.randn(12, 3)]
    >>> state = (torch.zeros(1, 2, 3), torch.zeros(1, 2, 3))
    >>> output, hidden, cell = torch.lstm(torch.randn(7, 2, 5), state, weights, False, 1, 0.0, False, False, False)
    >>> output.shape, cell.shape
    (torch.Size([7, 2, 3]), torch.Size([1, 2, 3]))
    """
    call = _bind("lstm", args, kwargs)
    hx = call["hx"]
    if len(hx) != 2:
        raise RuntimeError(hinted("lstm expects two hidden states", f"hx holds {len(hx)}; give (hidden, cell)"))
    return _run("lstm", tuple(hx), hx[0].shape[2] != hx[1].shape[2], call)


@composite(names=TORCH)
def gru(*args, **kwargs):
    """A stack of GRU layers: (output, final hidden states). Arguments as for ``lstm``, ``hx`` a single tensor.

    Follows ``torch.gru``.

    >>> import rushlight as torch
    >>> weights, state = [torch.randn(9, 5), torch.randn(9, 3)], torch.zeros(1, 2, 3)
    >>> output, hidden = torch.gru(torch.randn(7, 2, 5), state, weights, False, 1, 0.0, False, False, False)
    >>> output.shape, hidden.shape
    (torch.Size([7, 2, 3]), torch.Size([1, 2, 3]))
    """
    call = _bind("gru", args, kwargs)
    return _run("gru", (call["hx"],), False, call)


@composite(names=TORCH)
def rnn_tanh(*args, **kwargs):
    """A stack of simple recurrent layers with tanh: (output, final hidden states). Arguments as for ``gru``.

    Follows ``torch.rnn_tanh``.
    """
    call = _bind("rnn_tanh", args, kwargs)
    return _run("rnn_tanh", (call["hx"],), False, call)


@composite(names=TORCH)
def rnn_relu(*args, **kwargs):
    """A stack of simple recurrent layers with relu: (output, final hidden states). Arguments as for ``gru``.

    Follows ``torch.rnn_relu``.
    """
    call = _bind("rnn_relu", args, kwargs)
    return _run("rnn_relu", (call["hx"],), False, call)
