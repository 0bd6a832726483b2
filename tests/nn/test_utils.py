"""nn.utils without PyTorch."""

import math

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn import utils
from rushlight.nn.utils import parametrize, rnn


def parameter_with_gradient(*numbers):
    parameter = nn.Parameter(rl.zeros(len(numbers)))
    parameter.grad = rl.tensor(numbers)
    return parameter


def test_clipping_by_norm():
    first, second = parameter_with_gradient(3.0), parameter_with_gradient(0.0, 4.0)
    assert utils.clip_grad_norm_([first, second], 1.0).item() == 5.0
    assert second.grad.tolist() == pytest.approx([0.0, 0.8], abs=1e-5)
    assert utils.clip_grad_norm_([first, second], 10.0).item() == pytest.approx(1.0, abs=1e-5)
    assert utils.clip_grad_norm_([first, second], 10.0, math.inf).item() == pytest.approx(0.8, abs=1e-5)


def test_infinite_norm_can_be_an_error():
    with pytest.raises(RuntimeError, match="for gradients from `parameters` is non-finite"):
        utils.clip_grad_norm_([parameter_with_gradient(math.inf)], 1.0, error_if_nonfinite=True)


def test_clipping_by_value():
    parameter = parameter_with_gradient(-3.0, 0.5)
    utils.clip_grad_value_(parameter, 1.0)
    assert parameter.grad.tolist() == [-1.0, 0.5]


def test_vectors():
    layer = nn.Linear(2, 1)
    utils.vector_to_parameters(rl.tensor([1.0, 2.0, 3.0]), layer.parameters())
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.bias.tolist() == [3.0]
    assert utils.parameters_to_vector(layer.parameters()).tolist() == [1.0, 2.0, 3.0]


def test_packing_and_back():
    sequences = [rl.tensor([1.0]), rl.tensor([2.0, 3.0, 4.0]), rl.tensor([5.0, 6.0])]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    assert packed.data.tolist() == [2.0, 5.0, 1.0, 3.0, 6.0, 4.0]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert [sequence.tolist() for sequence in rnn.unpack_sequence(packed)] == [s.tolist() for s in sequences]


def test_padding_has_no_gradient():
    x = rl.ones(3, 2, requires_grad=True)
    padded, lengths = rnn.pad_packed_sequence(rnn.pack_padded_sequence(x, [3, 1]))
    padded.sum().backward()
    assert lengths.tolist() == [3, 1]
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]


def test_lengths_are_checked():
    with pytest.raises(RuntimeError, match="is more than the 2 steps"):
        rnn.pack_padded_sequence(rl.zeros(2, 1), [3])
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order when `enforce_sorted` is True"):
        rnn.pack_padded_sequence(rl.zeros(2, 2), [1, 2])


def test_skip_init_draws_nothing():
    rl.manual_seed(0)
    expected = rl.rand(1).item()
    rl.manual_seed(0)
    layer = utils.skip_init(nn.Linear, 2, 3)
    assert layer.weight.shape == (3, 2)
    assert rl.rand(1).item() == expected


def test_parametrized_weight():
    class Positive(nn.Module):
        def forward(self, x):
            return x.exp()

        def right_inverse(self, value):
            return value.log()

    layer = nn.Linear(2, 2)
    layer.weight.data.fill_(1.0)
    original = layer.weight
    parametrize.register_parametrization(layer, "weight", Positive())
    assert layer.parametrizations.weight.original is original
    layer.weight = rl.full((2, 2), math.e)
    assert original.flatten().tolist() == pytest.approx([1.0] * 4)
    layer(rl.ones(2)).sum().backward()
    assert original.grad is not None
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight.flatten().tolist() == pytest.approx([math.e] * 4)


def test_weight_norm_splits_magnitude_and_direction():
    layer = nn.Linear(2, 1)
    layer.weight.data = rl.tensor([[3.0, 4.0]])
    utils.parametrizations.weight_norm(layer)
    assert layer.parametrizations.weight.original0.tolist() == [[5.0]]
    assert layer.weight.flatten().tolist() == pytest.approx([3.0, 4.0])


def test_spectral_norm_bounds_the_largest_singular_value():
    layer = nn.Linear(2, 2)
    layer.weight.data = rl.tensor([[3.0, 0.0], [0.0, 1.0]])
    utils.parametrizations.spectral_norm(layer, n_power_iterations=5)
    assert layer.weight[0, 0].item() == pytest.approx(1.0, abs=1e-3)
