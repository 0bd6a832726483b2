"""``grad``, ``grad_and_value`` and ``vjp`` of torch.func against PyTorch: what they give and refuse."""

import threading

import pytest
from stories import assert_same_story

import rushlight as rl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def tensors(torch):
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor(2.0)


def scalars(torch, note):
    grad, grad_and_value = torch.func.grad, torch.func.grad_and_value
    x, t, s = tensors(torch)
    total = lambda *values: sum(value.sum() for value in values)
    note("vector", lambda: grad(lambda a: a)(x))
    note("number", lambda: grad(lambda a: 1.0)(x))
    note("tuple", lambda: grad(lambda a: (a.sum(), a.sum()))(x))
    note("integers", lambda: grad(total)(x.long()))
    note("of a number", lambda: grad(lambda a: a * a)(1.0))
    for argnums in (1, -1, -2, 2, (), (0, 0), (0, -2), [0], "a", 1.5, (0, "a"), (0, -1), (-1, 0), (1,)):
        note(f"argnums {argnums}", lambda: grad(lambda a, b: (a * b).sum(), argnums=argnums)(x, s))
    note("no arguments", lambda: grad(total)())
    note("aux missing", lambda: grad(total, has_aux=True)(x))
    note("aux number", lambda: grad(lambda a: (a.sum(), 1), has_aux=True)(x))
    note("aux", lambda: grad(lambda a: (a.sum(), {"k": (a * 2,)}), has_aux=True)(x))
    note("aux of three", lambda: grad(lambda a: (a.sum(), a, a), has_aux=True)(x))
    note("value", lambda: grad_and_value(lambda a: (a * a).sum())(x))
    note("value and aux", lambda: grad_and_value(lambda a: (a.sum(), a), has_aux=True)(x))
    note("independent", lambda: grad(lambda a: torch.ones(()))(x))
    note("integer result", lambda: grad(lambda a: torch.ones((), dtype=torch.int64))(x))
    note("containers", lambda: grad(lambda a: a["x"].sum() + a["y"][0])({"x": x, "y": [s, s]}))
    note("container with a number", lambda: grad(lambda a: a["x"].sum())({"x": x, "y": 3}))
    note("keyword", lambda: grad(lambda a, k: (a * k).sum())(x, k=t))
    note("complex", lambda: grad(lambda a: a.sum())(x.to(torch.complex64)))
    note("complex to real", lambda: grad(lambda a: (a * a).abs().sum())(torch.tensor([1 + 2j])))


def inside(torch, note):
    grad = torch.func.grad
    x, _, s = tensors(torch)
    note("requires_grad_", lambda: grad(lambda a: a.requires_grad_().sum())(x))
    note("backward", lambda: grad(lambda a: (a * 2).sum().backward())(x))
    note("retain_grad", lambda: grad(lambda a: ((b := a * 2).retain_grad(), b.sum())[1])(x))
    note("autograd.grad", lambda: grad(lambda a: torch.autograd.grad((a * a).sum(), a)[0].sum())(x))
    note("recorded", lambda: grad(lambda a: torch.autograd.grad((a * a).sum(), a, create_graph=True)[0].sum())(x))
    note("jacobian", lambda: grad(lambda a: torch.autograd.functional.jacobian(torch.sin, a).sum())(x))
    note("leaf written", lambda: grad(lambda a: a.mul_(2).sum())(x.clone()))
    note("captured written", lambda: grad(lambda a: x.mul_(a).sum())(x.clone()))
    note("fresh written", lambda: grad(lambda a: x.clone().mul_(a).sum())(x))
    note("index", lambda: grad(lambda a: ((b := a.clone()).__setitem__(0, 5.0), (b * b).sum())[1])(x))
    note("shape in place", lambda: grad(lambda a: (a * a).unsqueeze_(0).t_().sum())(x))
    note("item", lambda: grad(lambda a: a.sum() * a[0].item())(x))
    note("branch", lambda: grad(lambda a: a * a if a > 0 else a)(s))
    note("data", lambda: grad(lambda a: (a.data * a).sum())(x))
    note("set data", lambda: grad(lambda a: (setattr(a, "data", x), a.sum())[1])(x))
    note("detached in place", lambda: grad(lambda a: (a * 2).detach_().sum())(x))
    note("hook", lambda: grad(lambda a: (a.register_hook(lambda g: g * 2), a.sum())[1])(x))
    note("out", lambda: grad(lambda a: torch.add(a, a, out=torch.empty(2)).sum())(x))
    note("resize", lambda: grad(lambda a: a.clone().resize_(3).sum())(x))
    note("set_", lambda: grad(lambda a: a.clone().set_(a).sum())(x))
    note("storage", lambda: grad(lambda a: (a.untyped_storage(), a.sum())[1])(x))
    note("tensor", lambda: grad(lambda a: torch.as_tensor(a).sum())(x))
    note("loop", lambda: grad(lambda a: sum(v * v for v in a) + len(a))(x))
    note("leaf made inside", lambda: grad(lambda a: (torch.ones(2, requires_grad=True) * a).sum())(x))

    def hooked(a):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return a.sin().sum()

    note("saved hooks", lambda: grad(hooked)(x))
    note("saved hooks, vjp", lambda: torch.func.vjp(hooked, x))
    note("saved hooks, jacrev", lambda: torch.func.jacrev(hooked)(x))
    note("saved hooks, jvp", lambda: torch.func.jvp(hooked, (x,), (x,)))
    note("raises", lambda: grad(lambda a: 1 / 0)(x))
    note("after", lambda: grad(lambda a: note("text", lambda: a) or a.sum())(x))
    note("unwrapped", lambda: grad(lambda a: note("bare", lambda: torch.func.debug_unwrap(a)) or a.sum())(x))
    note(
        "unwrapped once",
        lambda: grad(
            lambda b: grad(lambda a: note("", lambda: torch.func.debug_unwrap(a, recurse=False)) or a.sum())(b).sum()
        )(x),
    )
    note("bare", lambda: torch.func.debug_unwrap(x) is x)


def products(torch, note):
    vjp = torch.func.vjp
    x, t, s = tensors(torch)
    note("number", lambda: vjp(torch.sin, 1.0))
    note("integers", lambda: vjp(torch.sin, x.long()))
    for result in (1.0, None, (), (x, 1), x.long()):
        note("result", lambda: vjp(lambda a: result, x))
        note("aux", lambda: vjp(lambda a: result, x, has_aux=True))
    note("pair for one", lambda: vjp(lambda a: (a, a), x)[1](t))
    note("pair", lambda: vjp(lambda a: (a, a), x)[1]((t, t)))
    note("two arguments", lambda: vjp(lambda a: (a, a), x)[1](t, t))
    note("nested", lambda: vjp(lambda a: [a, {"k": a * 2}], x)[1]([t, {"k": t}]))
    note("other key", lambda: vjp(lambda a: [a, {"k": a * 2}], x)[1]([t, {"j": t}]))
    note("size", lambda: vjp(lambda a: a * 2, x)[1](torch.ones(3)))
    note("no tensor", lambda: vjp(lambda a: a * 2, x)[1](1.0))
    note("other dtype", lambda: vjp(lambda a: a * 2, x)[1](t.double()))
    note("two inputs", lambda: vjp(lambda a, b: a * b["k"], x, {"k": s})[1](t))
    note("constant", lambda: vjp(lambda a: torch.ones(2), x)[1](t))
    note("identity", lambda: vjp(lambda a: a, x)[0] is x)
    note("complex", lambda: vjp(lambda a: torch.exp(a * 1j), x)[1](t.to(torch.complex64)))
    multiply = vjp(lambda a: a * a, x)[1]
    note("again", lambda: (multiply(t), multiply(t), multiply(t, retain_graph=False)))
    note("freed", lambda: multiply(t))


def graphs(torch, note):
    grad, vjp = torch.func.grad, torch.func.vjp
    x, t, _ = tensors(torch)
    tracked = x.clone().requires_grad_()
    square = lambda a: a * a
    total = lambda a: (a * a).sum()
    note("tracked", lambda: (vjp(square, tracked)[0], vjp(square, tracked)[1](t), grad(total)(tracked)))
    note("captured", lambda: grad(lambda a: (a * tracked).sum())(x))
    note("through", lambda: torch.autograd.grad(grad(lambda a: (a * a * tracked).sum())(x).sum(), tracked))
    with torch.no_grad():
        note("no_grad", lambda: (vjp(square, tracked)[0], vjp(square, tracked)[1](t), grad(total)(tracked)))
        made = vjp(square, tracked)[1]
    note("made in no_grad", lambda: made(t))
    multiply = vjp(square, tracked)[1]
    with torch.no_grad():
        note("called in no_grad", lambda: multiply(t))
    note("without graph", lambda: multiply(t, create_graph=False))
    note("tracked direction", lambda: vjp(square, x)[1](t.clone().requires_grad_()))

    def partly(a):
        with torch.no_grad():
            constant = a**2
        return (a**3 - constant).sum()

    note("no_grad inside", lambda: (grad(partly)(x), grad(lambda a: grad(partly)(a).sum())(x)))
    note("at all levels", lambda: grad(lambda a: torch.func.grad_and_value(partly)(a)[1])(x))
    with torch.no_grad():
        note("both", lambda: (grad(partly)(x), grad(lambda a: grad(partly)(a).sum())(x)))
    with torch.inference_mode():
        note("inference", lambda: (grad(partly)(x), vjp(torch.sin, x)[1](t)))
    linear = torch.nn.Linear(2, 1)
    parameters = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    note("module", lambda: grad(lambda p: torch.func.functional_call(linear, p, (x,)).sum())(parameters))


@pytest.mark.parametrize("story", [scalars, inside, products, graphs], ids=lambda s: s.__name__)
def test_story(story):
    assert_same_story(story, torch)


def test_threads_have_levels_of_their_own():
    found = {}

    def work(power):
        found[power] = rl.func.grad(lambda x: rl.func.grad(lambda y: y**power)(x))(rl.tensor(2.0)).item()

    threads = [threading.Thread(target=work, args=(power,)) for power in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {power: float(power * (power - 1) * 2 ** (power - 2)) for power in range(2, 8)}
    assert not rl.ops.table.functions.interposers
