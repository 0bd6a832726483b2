"""nn.init against PyTorch: the numbers for a seed, gains, errors and warnings."""

import pytest
from layer_pairs import check_source

torch = pytest.importorskip("torch")

FILLED = """
uniform_(E(2, 3), -2, 3)
uniform_(E(20), -2, 3)
normal_(E(2, 3), 1, 2)
normal_(E(20), 1, 2)
trunc_normal_(E(2, 9))
trunc_normal_(E(100))
trunc_normal_(E(2, 3), 1.0, 0.5, -3, 0.1)
trunc_normal_(E(2, 3), 9.0, 0.5, -3, 0.1)
constant_(E(2), 3)
ones_(E(2))
zeros_(E(2))
eye_(E(2, 3))
dirac_(E(3, 2, 2))
dirac_(E(2, 3, 3, 3))
dirac_(E(4, 2, 1, 1, 1), 2)
xavier_uniform_(E(2, 3))
xavier_normal_(E(2, 3, 4), 2.0)
kaiming_uniform_(E(2, 3))
kaiming_uniform_(E(2, 3), mode='fan_out', nonlinearity='tanh')
kaiming_uniform_(E(0, 3))
kaiming_normal_(E(0, 3))
kaiming_normal_(E(2, 3, 2), 0.3, 'fan_out', 'relu')
orthogonal_(E(2, 3))
orthogonal_(E(3, 2))
orthogonal_(E(3, 2, 2), 2.0)
orthogonal_(E(0, 2))
sparse_(E(5, 3), 0.3)
"""

OTHERS = """
nn.init.eye_(E(2))
nn.init.dirac_(E(4, 2, 1), 3)
nn.init.dirac_(E(4, 2))
nn.init.xavier_uniform_(E(2))
nn.init.kaiming_normal_(E(2, 3), mode='x')
nn.init.kaiming_normal_(E(2, 3), nonlinearity='x')
nn.init.orthogonal_(E(3))
nn.init.sparse_(E(5), 0.3)
nn.init.uniform(E(2))
nn.init.kaiming_normal(E(2, 2))
nn.init.uniform.__name__
nn.init.calculate_gain('relu')
nn.init.calculate_gain('tanh')
nn.init.calculate_gain('selu')
nn.init.calculate_gain('conv_transpose2d')
nn.init.calculate_gain('leaky_relu')
nn.init.calculate_gain('leaky_relu', 0.2)
nn.init.calculate_gain('leaky_relu', 0)
nn.init.calculate_gain('leaky_relu', True)
nn.init.calculate_gain('leaky_relu', 'x')
nn.init.calculate_gain('x')
nn.init.uniform_(nn.Parameter(E(2))).requires_grad
nn.init._calculate_fan_in_and_fan_out(E(2, 3, 4, 5))
nn.init.normal_(E(3), generator=torch.Generator().manual_seed(5))
nn.init.trunc_normal_(E(30), generator=torch.Generator().manual_seed(5))
nn.init.orthogonal_(E(2, 2), generator=torch.Generator().manual_seed(5))
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("call", FILLED.strip().split("\n"))
def test_numbers_and_what_comes_after(call, dtype):
    source = call.replace("E(", "torch.empty(").replace(")", f", dtype=torch.{dtype})", 1)
    check_source(f"(nn.init.{source}, torch.rand(1))", torch, {"rtol": 1e-5, "atol": 1e-6})


@pytest.mark.parametrize("source", OTHERS.strip().split("\n"))
def test_errors_and_gains(source):
    check_source(source.replace("E(", "torch.empty("), torch)
