"""Recurrent layers by their definition: unrolled cells, packed against separate sequences, gradients, errors."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from rushlight.ops.table import TABLE, functions

KINDS = {"RNN": nn.RNNCell, "GRU": nn.GRUCell, "LSTM": nn.LSTMCell}


def unrolled(kind, layer, sequence):
    """The outputs of a one-layer network, computed with its cell step by step."""
    cell = KINDS[kind](layer.input_size, layer.hidden_size).double()
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in layer.state_dict().items()})
    state, outputs = None, []
    for step in sequence:
        state = cell(step, state)
        outputs.append(state[0] if kind == "LSTM" else state)
    return rl.stack(outputs)


@pytest.mark.parametrize("kind", KINDS)
def test_layer_is_its_cell_unrolled(kind):
    layer = getattr(nn, kind)(3, 4).double()
    sequence = rl.randn(5, 2, 3, dtype=rl.float64)
    assert rl.allclose(layer(sequence)[0], unrolled(kind, layer, sequence))


@pytest.mark.parametrize("kind", KINDS)
def test_backward_direction_is_forward_on_the_reversed_sequence(kind):
    both = getattr(nn, kind)(3, 4, bidirectional=True)
    forward = getattr(nn, kind)(3, 4)
    forward.load_state_dict(dict(zip(forward.state_dict(), list(both.state_dict().values())[4:])))
    sequence = rl.randn(5, 2, 3)
    expected = forward(sequence.flip(0))[0].flip(0)
    assert rl.allclose(both(sequence)[0][..., 4:], expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_are_run_as_if_alone(kind, bidirectional):
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=bidirectional)
    padded, lengths = rl.randn(6, 3, 3), [2, 6, 3]
    packed = pack_padded_sequence(padded, lengths, enforce_sorted=False)
    output, _ = layer(packed)
    output, _ = pad_packed_sequence(output)
    for number, length in enumerate(lengths):
        alone = layer(padded[:length, number])[0]
        assert rl.allclose(output[:length, number], alone, atol=1e-6)
        assert not output[length:, number].any()


@pytest.mark.parametrize(
    "name", [f"{kind}_{part}" for kind in ("lstm", "gru", "rnn") for part in ("layer", "sequence")]
)
def test_layer_operations_have_exact_derivatives(name):
    for args, _ in TABLE[name].samples():
        tensors = [rl.from_numpy(a).requires_grad_() if isinstance(a, np.ndarray) else a for a in args]
        assert rl.autograd.gradcheck(getattr(functions, name), tensors)


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_equal_those_of_elementary_operations(kind):
    layer = getattr(nn, kind)(3, 4).double()
    found = []
    for run in (lambda x: layer(x)[0], lambda x: unrolled(kind, layer, x)):
        sequence = rl.from_numpy(np.linspace(-1, 1, 24).reshape(4, 2, 3)).requires_grad_()
        (first,) = rl.autograd.grad((run(sequence) ** 2).sum(), sequence, create_graph=True)
        found.append(rl.autograd.grad((first**2).sum(), sequence)[0])
    assert rl.allclose(*found)


def test_half_precision_is_computed_in_float32():
    layer = nn.LSTM(3, 4).half()
    sequence = rl.randn(5, 2, 3).half()
    output = layer(sequence)[0]
    assert output.dtype is rl.float16
    assert rl.allclose(output.float(), layer.float()(sequence.float())[0], atol=2e-3)


def test_dropout_acts_between_layers_in_training_only():
    layer = nn.GRU(3, 4, num_layers=2, dropout=1.0)
    sequence = rl.randn(5, 2, 3)
    dropped = layer(sequence)[0]
    assert rl.equal(dropped, layer(rl.zeros(5, 2, 3))[0])
    layer.eval()
    assert not rl.allclose(dropped, layer(sequence)[0])


def test_all_weights_follow_the_parameters():
    layer = nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2)
    names = [name for group in layer._all_weights for name in group]
    assert names == list(layer.state_dict())
    assert [len(group) for group in layer.all_weights] == [5] * 4
    assert layer.all_weights[1][4] is layer.weight_hr_l0_reverse
    assert layer.flatten_parameters() is None


def test_wrong_sizes_are_named():
    with pytest.raises(RuntimeError, match=r"input.size\(-1\) must be equal to input_size. Expected 3, got 5\nhint:"):
        nn.LSTM(3, 4)(rl.randn(2, 3, 5))
    with pytest.raises(RuntimeError, match=r"Expected hidden\[1\] size \(1, 2, 4\), got \[1, 2, 5\]"):
        nn.LSTM(3, 4)(rl.randn(5, 2, 3), (rl.zeros(1, 2, 4), rl.zeros(1, 2, 5)))
    with pytest.raises(RuntimeError, match="input has inconsistent input_size: got 5 expected 3"):
        nn.GRUCell(3, 4)(rl.randn(2, 5))
    with pytest.raises(ValueError, match="dropout should be a number in range"):
        nn.GRU(3, 4, dropout=True)


def test_a_small_network_learns_to_remember():
    rl.manual_seed(0)
    layer, readout = nn.GRU(2, 8), nn.Linear(8, 2)
    optimizer = rl.optim.Adam([*layer.parameters(), *readout.parameters()], lr=0.03)
    sequences = rl.eye(2)[rl.randint(0, 2, (6, 32))]
    first = sequences[0].argmax(-1)
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(readout(layer(sequences)[1][0]), first)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
