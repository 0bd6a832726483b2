"""Graphs of programs, and their code, as PyTorch records them; what is done with graphs gives PyTorch's results."""

import copy
import math
import operator
import pickle
import subprocess
import sys

import pytest

import rushlight
from rushlight import fx

torch = pytest.importorskip("torch")

LIBRARIES = (torch, rushlight)


def network(t):
    class Block(t.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.norm = t.nn.LayerNorm(size)
            self.layers = t.nn.Sequential(t.nn.Linear(size, 2 * size), t.nn.GELU(), t.nn.Linear(2 * size, size))
            self.scale = t.nn.Parameter(t.full((size,), 0.5))
            self.register_buffer("shift", t.arange(float(size)))

        def forward(self, x):
            return x + self.scale * self.layers(self.norm(x)) + self.shift

    class Network(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = t.nn.Conv2d(1, 4, 3)
            self.blocks = t.nn.ModuleList([Block(4), Block(4)])
            self.last = t.nn.Linear(4, 2)

        def forward(self, x, *, flag=True):
            x = t.nn.functional.relu(self.first(x), inplace=True)
            n, c = x.shape[0], x.shape[1]
            x = x.flatten(2).transpose(1, 2).reshape(n, -1, c)
            for block in self.blocks:
                x = block(x)
            first, second = x.mean(1).chunk(2, dim=1)
            x = t.cat([first, second], dim=-1)
            return {"scores": t.log_softmax(self.last(x), dim=1), "rest": (x[:, ::2], n, None)}

    return Network()


def operators(t):
    def function(x, y=2.0, *rest):
        x = -x + 2**y - abs(x) // 3
        z = (x > 0) & (x <= y) | ~(x == 1)
        x = t.where(z, x, t.tensor([1.0, 2.0]))
        x = math.floor(x.shape[0]) + x @ x.T
        return [x[0, ..., None], x[1:], 1 / x, operator.matmul(x, x), rest[0]]

    return function


def spreads(t):
    def function(x, *args, scale=3, **options):
        return x * scale + args[0] - options["bias"], t.nn.functional.dropout(x, 0.3, training=False)

    return function


def nests(t):
    def function(tree, flag):
        return {"sum": tree["a"] + tree["b"][0] * 2} if flag else tree["a"]

    return function


def text_of(made):
    """The graph and its code, with names of PyTorch's inner modules as its users know them."""
    text = f"{made.graph}\n{made.code}".replace("torch._C._nn.", "torch.nn.functional.")
    return text.replace("torch.fx._symbolic_trace.wrap", "wrap")


@pytest.mark.parametrize("make", [network, operators, spreads])
def test_graphs_and_code(make):
    expected, found = (text_of(t.fx.symbolic_trace(make(t))) for t in LIBRARIES)
    assert found.replace("torch.add(_tensor", "_tensor") == expected.replace("torch.add(_tensor", "_tensor")


def test_networks_compute_what_they_did():
    model = network(rushlight)
    traced = fx.symbolic_trace(model)
    x = rushlight.randn(3, 1, 5, 5)
    for one in (
        traced,
        copy.deepcopy(traced),
        fx.GraphModule(traced, traced.graph),
        fx.Transformer(traced).transform(),
    ):
        assert rushlight.equal(one(x)["scores"], model(x)["scores"])
    assert rushlight.equal(fx.Interpreter(traced).run(x)["scores"], model(x)["scores"])
    assert {name for name, _ in traced.named_parameters()} == {name for name, _ in model.named_parameters()}
    traced(x)["scores"].sum().backward()
    assert model.blocks[0].scale.grad is not None


def test_given_arguments():
    results = []
    for t in LIBRARIES:
        made = t.fx.symbolic_trace(nests(t), {"tree": {"a": t.fx.PH, "b": [t.fx.PH]}, "flag": True})
        tree = {"a": t.ones(2), "b": [t.ones(2)]}
        results.append(made(tree, True)["sum"].tolist())
        with pytest.raises(AssertionError, match="flag has been specialized to have value True but got another value"):
            made(tree, False)
    assert results[0] == results[1]


REFUSED = {
    "branch": lambda t: lambda x: x if x.sum() > 0 else -x,
    "loop": lambda t: lambda x: list(x),
    "len": lambda t: lambda x: len(x),
    "int": lambda t: lambda x: int(x),
    "range": lambda t: lambda x: range(x),
    "in": lambda t: lambda x: 1 in x,
    "key": lambda t: lambda x: t.cat({x: 1}),
    "write": lambda t: lambda x: x.__setitem__(0, 1) or (operator.setitem(x, 0, 1) and x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded(name):
    outcomes = []
    for t in LIBRARIES:
        try:
            outcomes.append(t.fx.symbolic_trace(REFUSED[name](t)).code)
        except Exception as error:  # compared below
            outcomes.append((type(error).__name__, str(error).split("\n")[0]))
    assert outcomes[0] == outcomes[1]


def edited(t):
    graph = t.fx.Graph()
    x = graph.placeholder("x", type_expr=t.Tensor)
    y = graph.create_node("placeholder", "y", args=(3,), type_expr=int)
    total = graph.call_function(t.add, (x, y))
    with graph.inserting_before(total):
        early = graph.call_method("neg", (x,))
    shown = graph.call_function(print, ("sum", total))
    dead = graph.call_function(t.relu, (total,))
    graph.output((total, [early], {"k": slice(None, 1)}))
    total.replace_all_uses_with(early, delete_user_cb=lambda user: user is dead)
    steps = [str(graph), sorted(node.name for node in early.users), str(dead.args), shown.is_impure()]
    assert graph.eliminate_dead_code()
    graph.lint()
    return [
        *steps,
        str(graph),
        graph.python_code("self").src,
        len(graph.nodes),
        [n.name for n in reversed(graph.nodes)],
    ]


def test_editing_graphs():
    expected, found = (edited(t) for t in LIBRARIES)
    assert found == expected


def wrong_edits(t):
    def erase(graph, x, y):
        graph.erase_node(x)

    def foreign(graph, x, y):
        other = t.fx.Graph()
        other.call_function(t.relu, (x,))
        other.lint()

    def order(graph, x, y):
        y.append(x)
        graph.lint()

    def kind(graph, x, y):
        graph.create_node("nonsense", "a")

    def target(graph, x, y):
        graph.call_function("relu")

    def mutate(graph, x, y):
        graph.call_function(t.cat, ([x, y],)).args[0].append(x)

    for change in (erase, foreign, order, kind, target, mutate):
        graph = t.fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(t.relu, (x,))
        with pytest.raises(Exception) as raised:
            change(graph, x, y)
        yield type(raised.value).__name__, str(raised.value).split("\n")[0].split(",")[0]


def test_wrong_edits():
    expected, found = ([*wrong_edits(t)] for t in LIBRARIES)
    assert found == expected


def rewritten(t):
    def function(x, y):
        z = t.add(x, y).relu()
        return t.add(z, t.neg(z)).relu() - t.add(x, 1)

    traced = t.fx.symbolic_trace(function)
    found = t.fx.replace_pattern(traced, lambda a, b: t.add(a, b).relu(), lambda a, b: t.sub(a, b).tanh())
    return (
        len(found),
        sorted(line.split(";")[0] for line in traced.code.splitlines()),
        traced(t.ones(2), t.zeros(2)).tolist(),
    )


def test_replaced_patterns():
    expected, found = (rewritten(t) for t in LIBRARIES)
    assert found[:2] == expected[:2]
    assert found[2] == pytest.approx(expected[2])


def test_shapes_are_noted():
    told = []
    for t in LIBRARIES:
        traced = t.fx.symbolic_trace(network(t))
        prop = __import__(f"{t.__name__}.fx.passes.shape_prop", fromlist=["ShapeProp"]).ShapeProp
        prop(traced).propagate(t.zeros(2, 1, 5, 5))
        metas = [node.meta.get("tensor_meta") for node in traced.graph.nodes]
        told.append([(tuple(m.shape), m.stride, m.requires_grad) for m in metas if hasattr(m, "stride")])
    assert told[0] == told[1]


def test_pickles_and_folders(tmp_path):
    traced = fx.symbolic_trace(rushlight.nn.Sequential(rushlight.nn.Linear(3, 2), rushlight.nn.ReLU()))
    x = rushlight.ones(1, 3)
    assert rushlight.equal(pickle.loads(pickle.dumps(traced))(x), traced(x))
    traced.to_folder(tmp_path / "written", "Written")
    program = (
        "import rushlight.compat; rushlight.compat.install_as_torch()\n"
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import torch, written\n"
        "print(written.Written()(torch.ones(1, 3)).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(traced(x).tolist()), done.stderr


def reshaped(t):
    class Reshaped(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = t.nn.Parameter(t.ones(2, 3))

        def forward(self, x):
            w = self.weight
            return x.reshape(w.shape[0], w.size()[1], w.dim() + w.ndim, w.numel()) + w.sum()

    return Reshaped()


@pytest.mark.parametrize("known", [False, True])
def test_shapes_of_parameters(known):
    expected, found = (str(t.fx.Tracer(param_shapes_constant=known).trace(reshaped(t))) for t in LIBRARIES)
    assert found == expected


def test_only_functions_of_python_are_recorded():
    class Called:
        def method(self, x):
            return x

        __call__ = method

    for make in (lambda t: Called().method, lambda t: Called(), lambda t: t.relu):
        for t in LIBRARIES:
            with pytest.raises(AssertionError, match="Expected FunctionType, got <"):
                t.fx.symbolic_trace(make(t))


def test_unused_modules_are_taken_out():
    for t in LIBRARIES:
        model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU())
        traced = t.fx.symbolic_trace(model)
        assert traced.add_submodule("extra.inner", t.nn.Linear(1, 1))
        traced.delete_all_unused_submodules()
        assert sorted(name for name, _ in traced.named_modules()) == ["", "0", "1"]
        assert not traced.delete_submodule("extra.inner")


@fx.wrap
def own_length(x):
    return len(x)


def test_wrapped_functions_are_one_node():
    traced = fx.symbolic_trace(lambda x: x * own_length(x))
    assert [node.name for node in traced.graph.nodes] == ["x", "own_length", "mul", "output"]
    assert traced(rushlight.ones(3)).tolist() == [3, 3, 3]
    assert own_length([1]) == 1


PYTHON_FUNCTIONS = """torch.split(a, 2)|torch.stft(a, 8, return_complex=True)|torch.norm(a)|torch.norm(a, 2, 1)|torch.tensordot(a, a)|torch.cdist(a, a)
    |torch.unique(a)|torch.unique_consecutive(a)|torch.meshgrid(a, a)|torch.pca_lowrank(a)|torch.svd_lowrank(a)|torch.einsum("ij,jk", a, a)
    |torch.einsum("ij,jk", [a, a])|torch.einsum(a, [0, 1], a, [1, 2])|torch._assert(a.shape[0] == 2, "words")"""


@pytest.mark.parametrize("text", [*map(str.strip, PYTHON_FUNCTIONS.split("|"))])
def test_functions_that_pytorch_has_in_python_are_recorded_with_their_defaults(text):
    graphs = []
    for t in LIBRARIES:
        scope = {"torch": t}
        exec(f"def f(a): return {text}", scope)
        library = torch.fx if t is torch else fx
        nodes = library.symbolic_trace(scope["f"]).graph.nodes
        graphs.append([(n.op, getattr(n.target, "__name__", n.target), str(n.args), str(n.kwargs)) for n in nodes])
    assert graphs[0] == graphs[1]
