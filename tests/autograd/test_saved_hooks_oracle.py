"""saved_tensors_hooks and its relatives against PyTorch."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def saved_hooks(torch, note):
    G = torch.autograd.graph
    log = []

    def pack(n):
        return lambda t: (log.append((n, tuple(t.shape))), t)[1]

    def unpack(n):
        return lambda t: (log.append(("un" + n, tuple(t.shape))), t)[1]

    x = leaf(torch, 1.0, 2.0)
    for nm, f in dict(
        mul=lambda x: x * x,
        exp=lambda x: x.exp(),
        chain=lambda x: (x * 2).sin().exp(),
        mm=lambda x: x[None] @ x[:, None],
        sumsq=lambda x: (x**2).sum(),
        div=lambda x: x / (x + 1),
        relu=lambda x: (x - 1.5).relu(),
        softmax=lambda x: x.softmax(0),
        inplace=lambda x: (x * 1).exp_(),
        view=lambda x: x.view(2, 1).exp(),
        index=lambda x: x[torch.tensor([0])],
        var=lambda x: x.var(),
        linear=lambda x: torch.nn.functional.linear(x, torch.ones(3, 2)),
        prod=lambda x: x.prod(),
        cat=lambda x: torch.cat([x, x]),
        where=lambda x: torch.where(x > 1, x, x * 2),
        max=lambda x: x.max(0)[0],
        abs=lambda x: x.abs(),
        sqrt=lambda x: x.sqrt(),
        pow=lambda x: x.pow(3),
        bce=lambda x: torch.nn.functional.mse_loss(x, torch.ones(2)),
    ).items():
        with G.saved_tensors_hooks(pack("a"), unpack("b")):
            y = f(x)
        g = torch.autograd.grad(y.sum(), x)
        if nm in ("mul", "pow", "abs"):
            note(nm + " log", lambda: log)
        note(nm, lambda: g)
        log.clear()
    with G.saved_tensors_hooks(pack("outer"), unpack("outer")):
        with G.saved_tensors_hooks(pack("inner"), unpack("inner")):
            y = x.tanh()
        z = y.sin()
    note("nested", lambda: (torch.autograd.grad(z.sum(), x), log))
    log.clear()

    def scale(k):
        return G.saved_tensors_hooks(lambda t: t * k, lambda t: t)

    with scale(2):
        y = x * x
    note("scaled", lambda: torch.autograd.grad(y.sum(), x))
    with scale(2):
        y = x.exp()
    note("scaled result", lambda: torch.autograd.grad(y.sum(), x))
    with G.saved_tensors_hooks(
        lambda t: t.numpy().copy() if not t.requires_grad else t.detach().numpy().copy(), torch.from_numpy
    ):
        y = x * x * x
    note("numpy", lambda: torch.autograd.grad(y.sum(), x, create_graph=False))
    with G.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x**3
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    note("double", lambda: torch.autograd.grad(g.sum(), x))
    with G.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x * 2) ** 3
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    note("double detached", lambda: torch.autograd.grad(g.sum(), x))
    for nm, p, u in (
        ("unpack number", lambda t: t, lambda t: 3),
        ("pack raises", lambda t: 1 / 0, lambda t: t),
        ("unpack raises", lambda t: t, lambda t: 1 / 0),
        ("pack none", lambda t: None, lambda t: t),
        ("unpack none", lambda t: t, lambda t: None),
        ("wrong shape", lambda t: t, lambda t: torch.ones(5)),
        ("wrong dtype", lambda t: t, lambda t: t.double()),
        ("pack in place", lambda t: t.mul_(2), lambda t: t),
        ("unpack in place", lambda t: t, lambda t: t.mul_(2)),
    ):

        def run():
            with G.saved_tensors_hooks(p, u):
                y = x * 2 * x
            return torch.autograd.grad(y.sum(), x)

        note(nm, run)
        note(nm + " state", lambda: (torch.is_grad_enabled(), (x * x).grad_fn._saved_self is x))
    note("not callable", lambda: G.saved_tensors_hooks(1, 2).__enter__())
    note("exit alone", lambda: (x * x).requires_grad)
    with G.disable_saved_tensors_hooks("is off"):
        note("disabled", lambda: G.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__())
        note("save_on_cpu", lambda: G.save_on_cpu().__enter__())

        def inner():
            with G.disable_saved_tensors_hooks("inner"):
                return G.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()

        note("inner", inner)
        note("outer again", lambda: G.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__())

    def en():
        with G.saved_tensors_hooks(lambda t: t, lambda t: t):
            with G.disable_saved_tensors_hooks("not now"):
                pass

    note("while active", en)

    def en2():
        with G.saved_tensors_hooks(lambda t: t, lambda t: t):
            return 1

    note("after", en2)

    @G.disable_saved_tensors_hooks("deco")
    def deco():
        return en2()

    note("decorator", deco)
    with G.save_on_cpu():
        y = x * x
    note("cpu", lambda: torch.autograd.grad(y.sum(), x))
    h = x * 1
    with G.save_on_cpu():
        y = h * x
    h.add_(1)
    note("cpu written", lambda: torch.autograd.grad(y.sum(), x))
    with G.save_on_cpu(pin_memory=True):
        y = x * x
    note("cpu pin", lambda: torch.autograd.grad(y.sum(), x))

    class A(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            o = a * 2
            ctx.save_for_backward(a, o, None)
            return o

        @staticmethod
        def backward(ctx, g):
            a, o, n = ctx.saved_tensors
            note("in bw", lambda: (a, o, n))
            return g * a

    with G.saved_tensors_hooks(pack("f"), unpack("f")):
        y = A.apply(x)
    note("function", lambda: (torch.autograd.grad(y.sum(), x), log))
    log.clear()
    with G.saved_tensors_hooks(lambda t: (t * t).sum(), lambda t: torch.ones(2)):
        y = x * x
    note("ops in pack", lambda: torch.autograd.grad(y.sum(), x))
    h = x * 1
    with G.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = h.exp() * h
    h.add_(1)
    note("written", lambda: torch.autograd.grad(y.sum(), x))
    G.increment_version(h)
    note("version", lambda: h._version)
    G.increment_version([h, h])
    note("version", lambda: h._version)
    note("bad", lambda: G.increment_version(3))
    y = h * h
    G.increment_version(h)
    note("incremented", lambda: torch.autograd.grad(y.sum(), x))
    note("leaf", lambda: (G.increment_version(x), x._version))


STORIES = [saved_hooks]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
