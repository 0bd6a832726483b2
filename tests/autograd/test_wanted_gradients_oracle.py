"""A run of the engine that is asked for some gradients computes no others: what hooks of nodes see, against PyTorch."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CASES = {
    "mul": (lambda t, x, y, w: x * y, "xy"),
    "sub": (lambda t, x, y, w: x - y, "xy"),
    "div": (lambda t, x, y, w: x / y, "xy"),
    "mm": (lambda t, x, y, w: x @ w, "xw"),
    "addcmul": (lambda t, x, y, w: t.addcmul(x, y, y * 2), "xy"),
    "bmm": (lambda t, x, y, w: t.bmm(x[None], w[None]), "xw"),
}


def seen(library, name, wanted, create_graph):
    """Which gradients a hook of the node sees, and the one that was asked for."""
    function, _ = CASES[name]
    leaves = {"x": (3, 4), "y": (3, 4), "w": (4, 5)}
    leaves = {
        k: (library.arange(12.0 if k != "w" else 20.0).reshape(s) / 7 + 1).requires_grad_() for k, s in leaves.items()
    }
    result = function(library, *leaves.values())
    found = []
    result.grad_fn.register_hook(lambda inputs, outputs: found.append([grad is None for grad in inputs]))
    (gradient,) = library.autograd.grad(result.sum(), leaves[wanted], create_graph=create_graph)
    return found, gradient.detach()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(("name", "wanted"), [(name, each) for name, (_, leaves) in CASES.items() for each in leaves])
def test_hooks_see_only_what_is_wanted(name, wanted, create_graph):
    (mine, ours), (real, theirs) = (seen(library, name, wanted, create_graph) for library in (rl, torch))
    assert mine == real
    torch.testing.assert_close(torch.from_numpy(ours.numpy()), theirs)


@pytest.mark.parametrize("wanted", ["input", "weight", "bias"])
@pytest.mark.parametrize("size", [2, 70])
def test_one_gradient_of_a_linear_layer(wanted, size):
    found = []
    for library in (rl, torch):
        leaves = {
            "input": (library.arange(3.0 * size).reshape(3, size) / size).requires_grad_(),
            "weight": (library.arange(5.0 * size).reshape(5, size) / size - 2).requires_grad_(),
            "bias": library.ones(5).requires_grad_(),
        }
        result = library.nn.functional.linear(*leaves.values()).square().sum()
        (gradient,) = library.autograd.grad(result, leaves[wanted])
        assert all(leaf.grad is None for leaf in leaves.values())
        found.append(torch.tensor(gradient.tolist()))
    torch.testing.assert_close(*found)


def test_backward_with_inputs_leaves_the_others_alone():
    for library in (rl, torch):
        x, w = library.ones(3, 4, requires_grad=True), library.ones(5, 4, requires_grad=True)
        library.nn.functional.linear(x, w).sum().backward(inputs=[w])
        assert x.grad is None and w.grad.eq(3).all()


def _scaled(library):
    class Scaled(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, z):
            return x * z

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, grad * 3

    return Scaled


OPERATIONS = {
    "one": lambda t, x, z: x.clone(),
    "number": lambda t, x, z: x * 2,
    "view": lambda t, x, z: x.view(-1),
    "two": lambda t, x, z: x * z,
    "joint": lambda t, x, z: t.nn.functional.layer_norm(x, (3,), z[0]),
    "list": lambda t, x, z: t.cat([x, z]),
    "part written": lambda t, x, z: (x * 1).index_put_((t.tensor([0]),), z[:1]),
    "Function": lambda t, x, z: _scaled(t).apply(x, z),
    "Function of an untracked one": lambda t, x, z: _scaled(t).apply(x.detach(), z),
}


@pytest.mark.parametrize("ends", ["result", "x", "z", "result x"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_hooks_of_the_last_node_on_the_way(name, ends):
    heard = {}
    for library in (rl, torch):
        x, z = (library.full((3, 3), value).requires_grad_() for value in (1.0, 2.0))
        named = {"x": x, "z": z, "result": OPERATIONS[name](library, x, z)}
        seen = heard[library] = []
        named["result"].grad_fn.register_hook(
            lambda inputs, outputs, seen=seen: seen.append([g is None for g in inputs])
        )
        try:
            named["result"].sum().backward(inputs=[named[end] for end in ends.split()])
        except RuntimeError as error:
            seen.append(str(error).splitlines()[0])
        seen.append([x.grad is None, z.grad is None])
    assert heard[rl] == heard[torch]


NOTHING = {
    "norm of order 0": ((2, 3), lambda t, x: t.linalg.vector_norm(x, 0)),
    "norm of order 0 along rows": ((2, 3), lambda t, x: t.norm(x, 0, 1)),
    "cholesky of no matrix": ((0, 3, 3), lambda t, x: t.cholesky(x)),
    "cholesky of empty ones": ((2, 0, 0), lambda t, x: t.cholesky(x, upper=True)),
    "gather of nothing": ((3,), lambda t, x: x.gather(0, t.zeros(0))),
}


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.parametrize("name", NOTHING)
def test_gradients_of_what_does_not_depend(name):
    shape, function = NOTHING[name]
    found = []
    for library in (rl, torch):
        x = library.ones(shape, requires_grad=True)
        result = function(library, x)
        (gradient,) = library.autograd.grad(result, x, library.ones_like(result), allow_unused=True)
        found.append((result.grad_fn.name(), gradient if gradient is None else gradient.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("retains", [False, True])
@pytest.mark.parametrize("wanted", ["b", "bx", "xb", "by", "cb", "cbx", "bb", "yx"])
def test_hooks_of_tensors_on_the_way_to_others(wanted, retains):
    """A gradient that is asked for comes as it arrived where the engine goes on behind it, else as hooks of the tensor left it."""
    found = []
    for library in (rl, torch):
        named = {"x": library.tensor([1.0, 2.0, 3.0], requires_grad=True)}
        named["y"] = named["x"] * 1.5
        named["b"] = named["y"].split(2)[0]
        named["c"] = named["b"] * named["b"]
        for factor, tensor in enumerate(named.values(), 2):
            tensor.register_hook(lambda grad, factor=factor: grad * factor)
        if retains:
            named["b"].retain_grad()
        gradients = library.autograd.grad(named["c"].sum(), [named[each] for each in wanted])
        found.append([grad.tolist() for grad in gradients] + [retains and named["b"].grad.tolist()])
    assert found[0] == found[1]
