"""make_fx: the graph of the native operations that a function makes, beside PyTorch's."""

import re

import pytest

import rushlight
from rushlight.fx.experimental.proxy_tensor import get_proxy_mode, make_fx

torch = pytest.importorskip("torch")
MAKERS = {rushlight: make_fx, torch: pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx}


def _written(m, x, y):
    a = x.clone()
    a.add_(1)
    values, places = a.max(1)
    return values + m.ones(2), places


CASES = {
    "a product": lambda m, x, y: (x * y + 1).sum(1),
    "several results": lambda m, x, y: (x @ y.t(), {"a": x.sum(), "b": 3}),
    "writes and pairs": _written,
    "views": lambda m, x, y: x.t()[1].unsqueeze(0).expand(3, 2),
    "functions": lambda m, x, y: m.nn.functional.layer_norm(m.nn.functional.gelu(x), (3,)).abs().sum(),
    "a linear layer": lambda m, x, y: m.nn.functional.linear(x, y, x[:, 0]).relu(),
    "a constant": lambda m, x, y: x + CONSTANT[m],
}
CONSTANT = {m: m.ones(3) for m in MAKERS}


def told(graph):
    """The lines of a graph's code, without ``detach`` and what PyTorch says of memory."""
    code = re.sub(r", memory_format = [\w.]+(?=\))|;  .*= None", "", graph.code)
    return [line for line in code.strip().splitlines() if "detach" not in line]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_graphs_are_pytorchs(case):
    found = []
    for m, make in MAKERS.items():
        x, y = m.arange(6.0).view(2, 3), m.arange(6.0, 12.0).view(2, 3)
        graph = make(lambda x, y: case(m, x, y))(x, y)
        found.append((told(graph), str(graph(x, y)), str(graph(x + 1, y))))
    assert found[0] == found[1]


def test_gradients_are_operations_of_the_graph():
    def step(x, w):
        return rushlight.autograd.grad(((x @ w).tanh() ** 2).sum(), w)[0]

    x, w = rushlight.rand(4, 3), rushlight.rand(3, 2, requires_grad=True)
    graph = make_fx(step)(x, w)
    other = rushlight.rand(3, 2, requires_grad=True)
    assert "aten.tanh_backward" in graph.code or "aten.mm" in graph.code
    assert rushlight.equal(graph(x + 1, other), step(x + 1, other))


def test_nests_parameters_and_what_is_refused():
    graph = make_fx(lambda d: d["a"] * 2)({"a": rushlight.ones(2)})
    assert graph({"a": rushlight.ones(2) * 3}).tolist() == [6, 6]
    layer = rushlight.nn.Linear(2, 3)
    graph = make_fx(layer)(rushlight.ones(2, 2))
    assert graph._param_constant0 is layer.weight and rushlight.equal(
        graph(rushlight.ones(1, 2)), layer(rushlight.ones(1, 2))
    )
    assert get_proxy_mode() is None
    with pytest.raises(NotImplementedError, match="decomposition_table"):
        make_fx(layer, {1: 2})
    with pytest.raises(AssertionError, match="tracing_mode must be one of"):
        make_fx(layer, tracing_mode="some")
