"""``torch.fx.experimental.optimization`` beside PyTorch's: the same graphs, the same numbers."""

import importlib

import pytest

torch = pytest.importorskip("torch")
rl = pytest.importorskip("rushlight")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # of PyTorch's module itself


def module_of(t):
    return importlib.import_module(f"{t.__name__}.fx.experimental.optimization")


def network(t, kind):
    nn = t.nn
    t.manual_seed(0)

    class Twice(nn.Module):
        """A convolution whose result another reads, too: it stays."""

        def __init__(self):
            super().__init__()
            self.conv, self.norm, self.linear = nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), nn.Linear(3, 4)
            self.last, self.drop = nn.BatchNorm1d(4, track_running_stats=False), nn.Dropout(0.3)

        def forward(self, x):
            x = self.conv(x)
            x = self.norm(x) + x
            return self.last(self.drop(self.linear(x.mean((2, 3)))))

    made = {
        "conv": lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(), nn.Conv2d(3, 2, 1, bias=False), nn.BatchNorm2d(2)),
        "line": lambda: nn.Sequential(nn.Flatten(), nn.Linear(72, 3), nn.BatchNorm1d(3), nn.Dropout(0.2)),
        "twice": Twice,
    }[kind]()  # fmt: skip
    for module in made.modules():
        if getattr(module, "running_mean", None) is not None:
            module.running_mean.uniform_()
            module.running_var.uniform_(0.5, 1.5)
    return made.eval()


def facts(t, graph, x):
    nodes = [
        (node.op, node.name, str(node.target) if node.op != "call_function" else node.target.__name__)
        for node in graph.graph.nodes
    ]
    modules = sorted((name, type(module).__name__) for name, module in graph.named_modules() if name)
    return nodes, modules, graph(x).detach().flatten().tolist()


def same(call, kind):
    found = []
    for t in (rl, torch):
        model = network(t, kind)
        x = t.arange(144.0).reshape(2, 2, 6, 6).sin()
        found.append(facts(t, call(module_of(t), model), x))
    (nodes, modules, values), (their_nodes, their_modules, their_values) = found
    assert nodes == their_nodes and modules == their_modules
    assert values == pytest.approx(their_values, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", ["conv", "line", "twice"])
@pytest.mark.parametrize(
    "call",
    [
        lambda o, model: o.fuse(model),
        lambda o, model: o.fuse(model, inplace=True),
        lambda o, model: o.remove_dropout(model),
        lambda o, model: o.optimize_for_inference(model, {"mkldnn_layout_optimize": False}),
        lambda o, model: o.optimize_for_inference(
            model, {"remove_dropout": False, "mkldnn_layout_optimize": {"heuristic": lambda graph: False}}
        ),
    ],
    ids=["fuse", "inplace", "dropout", "both", "layouts"],
)
def test_passes(call, kind):
    same(call, kind)


def subgraph(o, t, model):
    graph = t.fx.symbolic_trace(model)
    nodes = list(graph.graph.nodes)
    return o.extract_subgraph(graph, nodes[2:4], [nodes[1]], [nodes[3]])


def test_extract_subgraph():
    found = []
    for t in (rl, torch):
        part = subgraph(module_of(t), t, network(t, "conv"))
        (value,) = part(t.arange(48.0).reshape(1, 3, 4, 4).cos())
        found.append((part.code.strip(), value.flatten().tolist()))
    assert found[0][0] == found[1][0] and found[0][1] == pytest.approx(found[1][1], rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("config", [{"mkldnn_layout_optimize": 3}, {"mkldnn_layout_optimize": {}}])
def test_refusals(config):
    found = []
    for t in (rl, torch):
        with pytest.raises(RuntimeError) as error:
            module_of(t).optimize_for_inference(network(t, "line"), config)
        found.append(str(error.value).splitlines()[0])
    assert found[0] == found[1]
