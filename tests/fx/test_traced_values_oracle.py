"""Creations that get traced values, named tuples and torchvision's functions are steps of a graph, as PyTorch records them."""

from collections import namedtuple

import pytest

import rushlight
from rushlight import fx, vision

torch = pytest.importorskip("torch")

Pair = namedtuple("Pair", "first second")
CREATIONS = """torch.zeros(x.shape)|torch.zeros((x.shape[0], 3))|torch.ones(3, dtype=x.dtype)|torch.ones(3, device=x.device)
    |torch.full((2,), x.shape[0])|torch.rand(x.shape[0])|torch.linspace(0, 1, x.shape[0])|torch.eye(x.shape[0])
    |torch.empty(x.shape[0])|torch.randperm(x.shape[0])|torch.tril_indices(x.shape[0], 2)|torch.arange(x.shape[0], device=x.device)
    |torch.hann_window(x.shape[0])|Pair(x, [x + 1, Pair(1, 2)])|(x + 1, Pair(x, x))"""


def graph_of(library, tracing, text):
    space = {"torch": library, "Pair": Pair}
    exec(f"class Module(torch.nn.Module):\n    def forward(self, x):\n        return {text}", space)
    graph = tracing.symbolic_trace(space["Module"]()).graph
    names = [node._pretty_print_target(node.target).rpartition(".")[2] for node in graph.nodes]
    return names, str([(node.name, node.op, node.args, node.kwargs) for node in graph.nodes])


@pytest.mark.parametrize("text", [*map(str.strip, CREATIONS.split("|"))])
def test_what_is_recorded(text):
    assert graph_of(rushlight, fx, text) == graph_of(torch, torch.fx, text)


def test_whether_a_traced_value_is_a_tensor_is_answered():
    assert graph_of(rushlight, fx, "x if torch.is_tensor(x) else x + 1") == graph_of(
        torch, torch.fx, "x if torch.is_tensor(x) else x + 1"
    )


def test_wrapped_functions_of_torchvision_are_found_again():
    layer = vision.ops.StochasticDepth(0.5, "row").eval()
    traced = fx.symbolic_trace(rushlight.nn.Sequential(layer))
    assert "torchvision.ops.stochastic_depth.stochastic_depth" in str(traced.graph)
    assert traced(rushlight.ones(2)).tolist() == [1.0, 1.0]
