"""Layers of numbers without PyTorch: stored values, gradients by hand, options."""

import pytest

import rushlight as rl
from rushlight import nn


def test_linear_is_an_affine_map():
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": rl.tensor([[2.0, 3.0]]), "bias": rl.tensor([1.0])})
    x = rl.tensor([[1.0, 10.0]], requires_grad=True)
    output = layer(x)
    output.sum().backward()
    assert output.tolist() == [[33.0]]
    assert x.grad.tolist() == [[2.0, 3.0]]
    assert layer.weight.grad.tolist() == [[1.0, 10.0]]
    assert layer.bias.grad.tolist() == [1.0]


def test_first_weights_are_those_of_torch():
    rl.manual_seed(0)
    weight = nn.Linear(2, 2).weight
    expected = [-0.00529, 0.37932, -0.58198, -0.52039]  # PyTorch 2.13's
    assert weight.flatten().tolist() == pytest.approx(expected, abs=1e-5)


def test_without_bias():
    layer = nn.Linear(2, 3, bias=False)
    assert layer.bias is None
    assert list(layer.state_dict()) == ["weight"]


def test_shapes():
    x = rl.ones(2, 3, 4)
    assert nn.Flatten()(x).shape == (2, 12)
    assert nn.Unflatten(2, (2, -1))(x).shape == (2, 3, 2, 2)
    assert nn.Bilinear(4, 4, 5)(x, x).shape == (2, 3, 5)
    assert nn.Identity("anything")(x) is x
    assert nn.GLU()(x).shape == (2, 3, 2)


def test_dropout_only_in_training():
    layer = nn.Dropout(0.5)
    x = rl.ones(1000)
    dropped = layer(x)
    assert set(dropped.tolist()) == {0.0, 2.0}
    assert layer.eval()(x).tolist() == x.tolist()
    with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got 2"):
        nn.Dropout(2)


def test_embedding_rows():
    layer = nn.Embedding(4, 2, padding_idx=0)
    assert layer.weight[0].tolist() == [0.0, 0.0]
    layer(rl.tensor([0, 1, 1])).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]


def test_pretrained_embedding_is_frozen():
    layer = nn.Embedding.from_pretrained(rl.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert layer(rl.tensor([1])).tolist() == [[3.0, 4.0]]
    assert not layer.weight.requires_grad


def test_softmax_sums_to_one():
    x = rl.tensor([[1.0, 2.0, 3.0]])
    assert nn.Softmax(1)(x).sum().item() == pytest.approx(1.0)
    assert nn.LogSoftmax(1)(x).exp().sum().item() == pytest.approx(1.0)


def test_prelu_learns_its_slope():
    layer = nn.PReLU()
    layer(rl.tensor([-2.0, 3.0])).sum().backward()
    assert layer.weight.grad.tolist() == [-2.0]


def test_distances():
    a, b = rl.tensor([[0.0, 0.0]]), rl.tensor([[3.0, 4.0]])
    assert nn.PairwiseDistance()(a, b).item() == pytest.approx(5.0, abs=1e-4)
    assert nn.CosineSimilarity()(b, b).item() == pytest.approx(1.0)
