"""nn.init without PyTorch: bounds, moments, stored numbers, errors."""

import math

import pytest

import rushlight as rl
from rushlight import nn


def test_numbers_of_torch():
    rl.manual_seed(0)
    assert nn.init.uniform_(rl.empty(3)).tolist() == pytest.approx([0.49625659, 0.76822180, 0.08847743], abs=1e-7)


@pytest.mark.parametrize("fill", [nn.init.xavier_uniform_, nn.init.kaiming_uniform_])
def test_bounds(fill):
    weight = fill(rl.empty(50, 30))
    bound = math.sqrt(6 / 80) if fill is nn.init.xavier_uniform_ else math.sqrt(6 / 30)
    assert 0.9 * bound < weight.abs().max().item() <= bound


@pytest.mark.parametrize(
    "fill, deviation", [(nn.init.xavier_normal_, math.sqrt(2 / 80)), (nn.init.kaiming_normal_, math.sqrt(2 / 30))]
)
def test_deviations(fill, deviation):
    rl.manual_seed(1)
    assert fill(rl.empty(50, 30)).std().item() == pytest.approx(deviation, rel=0.1)


@pytest.mark.parametrize("mean, a, b", [(0.0, -1.0, 1.0), (1.0, -3.0, 0.1), (0.0, 0.5, 0.6)])
def test_truncated_normal_stays_inside(mean, a, b):
    numbers = nn.init.trunc_normal_(rl.empty(2000), mean, 0.5, a, b)
    assert a <= numbers.min().item() and numbers.max().item() <= b


def test_identities():
    assert nn.init.eye_(rl.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    weight = nn.init.dirac_(rl.empty(2, 2, 3))
    assert weight[0, 0].tolist() == [0.0, 1.0, 0.0] and weight.sum().item() == 2.0


def test_parameters_stay_leaves():
    weight = nn.Parameter(rl.empty(2, 2))
    nn.init.ones_(weight)
    assert weight.is_leaf and weight.requires_grad and weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_sparse_columns():
    zeros = (nn.init.sparse_(rl.empty(10, 4), 0.25) == 0).sum(0)
    assert zeros.tolist() == [3, 3, 3, 3]


def test_errors_say_the_shape():
    with pytest.raises(ValueError, match=r"(?s)Fan in and fan out can not be computed.*hint: its shape is \(3,\)"):
        nn.init.xavier_uniform_(rl.empty(3))
    with pytest.raises(ValueError, match="Unsupported nonlinearity swish"):
        nn.init.calculate_gain("swish")
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        nn.init.kaiming_uniform_(rl.empty(0, 3))
