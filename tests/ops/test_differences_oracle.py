"""torch.gradient and questions about dtypes, against PyTorch."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

SQUARES = "m.arange(12.).reshape(3, 4) ** 2"
CALLS = [
    f"m.gradient({SQUARES})",
    f"m.gradient({SQUARES}, dim=1)",
    f"m.gradient({SQUARES}, dim=(1, 0), edge_order=2)",
    f"m.gradient({SQUARES}, dim=())",
    f"m.gradient({SQUARES}, spacing=2.0)",
    f"m.gradient({SQUARES}, spacing=m.tensor(2.0))",
    f"m.gradient({SQUARES}, spacing=(2, 3))",
    f"m.gradient({SQUARES}, spacing=(m.tensor([1., 2, 5]), m.tensor([0., 1, 3, 7])))",
    f"m.gradient({SQUARES}, spacing=(m.tensor([1., 2, 5]), m.tensor([0., 1, 3, 7])), edge_order=2)",
    "m.gradient(m.arange(5) ** 2)",
    "m.gradient(m.arange(5) ** 2, edge_order=2)",
    "m.gradient(m.arange(5) ** 2, spacing=[m.tensor([0, 1, 3, 4, 8])])",
    "m.gradient(m.tensor([7, -9, 3, 200]), spacing=[m.tensor([251, 5, 2, 0], dtype=m.uint8)], edge_order=2)",
    "m.gradient(m.tensor([7.0, -9, 3, 200]), spacing=[m.tensor([2, 7, 9, 200], dtype=m.uint8)], edge_order=2)",
    "m.gradient(m.tensor([166, 224, 64], dtype=m.bfloat16), spacing=[m.tensor([8, 4, -6])], edge_order=2)",
    "m.gradient(m.tensor([274, 289, 131]), spacing=[m.tensor([7, -9, 6], dtype=m.bfloat16)], edge_order=2)",
    "m.gradient(m.tensor([True, False, True]), spacing=[m.tensor([1.0, 4, 6])], edge_order=2)",
    "m.gradient(m.tensor([True, False, True]), spacing=[m.tensor([1.0, 4, 6])])",
    "m.gradient(m.tensor([True, False, True]), edge_order=2)",
    "m.gradient(m.tensor(1.0))",
    "m.gradient(m.ones(3, dtype=m.float16))",
    "m.gradient(m.ones(3, dtype=m.bool))",
    "m.gradient(m.ones(3, dtype=m.uint8))",
    f"m.gradient({SQUARES}, spacing=[1.0])",
    f"m.gradient({SQUARES}, spacing=[1.0, 2.0], dim=0)",
    f"m.gradient({SQUARES}, dim=(0, 0))",
    f"m.gradient({SQUARES}, dim=3)",
    f"m.gradient({SQUARES}, edge_order=3)",
    f"m.gradient({SQUARES}, spacing=(m.ones(3, 1), m.arange(4.)))",
    "m.gradient(m.ones(2), edge_order=2)",
    "m.result_type(1, 2.5)",
    "m.result_type(True, False)",
    "m.result_type(m.ones(2, dtype=m.int8), 3.0)",
    "m.result_type(m.ones(2, dtype=m.int8), 300)",
    "m.result_type(m.tensor(1.0, dtype=m.float64), m.ones(2, dtype=m.float16))",
    "m.result_type(m.ones(2), 1j)",
    "m.can_cast(m.double, m.int), m.can_cast(m.int, m.uint8), m.can_cast(m.int, m.bool)",
    "m.can_cast(m.complex64, m.float32), m.can_cast(m.bool, m.int8)",
    "m.can_cast(1, m.int8)",
    "m.is_tensor(m.ones(1)), m.is_tensor(1.0)",
    "m.is_nonzero(m.ones(1)), m.tensor([0j]).is_nonzero()",
    "m.ones(2).is_nonzero()",
    "m.ones(0).is_nonzero()",
    "m.nn.functional.hardshrink(m.tensor([0.1, 0.3, -0.3, 1.0], dtype=m.bfloat16), 0.3)",
    "m.nn.functional.hardshrink(m.ones(2, dtype=m.float16), 1e5)",
    "m.nn.functional.softshrink(m.ones(2), float('nan'))",
    "m.nn.functional.softshrink(m.ones(2, dtype=m.float64), -1)",
    "m.nn.functional.softshrink(m.ones(2, dtype=m.int32), -1)",
]


def outcome(module, call):
    try:
        return str(eval(call, {"m": module}))
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.parametrize("call", CALLS)
def test_like_pytorch(call):
    assert outcome(rl, call) == outcome(torch, call)


def test_gradient_is_differentiable():
    grads = []
    for m in (torch, rl):
        x = m.arange(6.0).reshape(2, 3).requires_grad_()
        sum((part**2).sum() for part in m.gradient(x**2)).backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


INF, NAN = float("inf"), float("nan")
VALUES = [complex(a, b) for a in (INF, -INF, 1.0, NAN) for b in (0.0, 1.0, INF, NAN)]


def test_logaddexp_of_complex_infinities():
    found = []
    for m in (torch, rl):
        x, y = m.tensor(VALUES).repeat(len(VALUES)), m.tensor(VALUES).repeat_interleave(len(VALUES))
        found.append(m.logaddexp(x, y).numpy())
    assert str(found[0].round(4).tolist()) == str(found[1].round(4).tolist())


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax_draws_alike(hard):
    found = []
    for m in (torch, rl):
        m.manual_seed(0)
        x = m.ones(3, 5, requires_grad=True)
        y = m.nn.functional.gumbel_softmax(x, 0.5, hard)
        (y * m.arange(5.0)).sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for mine, theirs in zip(found[1], found[0]):
        assert abs(mine - theirs).max() < 1e-5
