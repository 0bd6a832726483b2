"""``node._raw_saved_NAME`` and hooks of one saved tensor, against PyTorch."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def raw_saved_tensors(torch, note):
    for nm, op in dict(
        exp=lambda x: x.exp(),
        sin=lambda x: x.sin(),
        mul=lambda x: x * x,
        mulb=lambda x: x * torch.ones(2),
        mulbb=lambda x: torch.ones(2) * x,
        pow=lambda x: x**2,
        div=lambda x: x / x,
        bmm=lambda x: x[None, None].bmm(x[None, :, None]),
        cat=lambda x: torch.cat([x, x]),
    ).items():
        x = leaf(torch, 1.0, 2.0)
        y = op(x)
        f = y.grad_fn
        raws = sorted(n for n in dir(f) if n.startswith("_raw_saved") and nm not in ("mul", "mulb"))
        note(nm + " names", lambda: [n for n in raws if nm in ("exp", "sin")])
        for n in ("self", "other", "result", "exponent", "mat2", "tensors", "indices"):
            note(f"{nm} {n}", lambda: getattr(f, "_raw_saved_" + n) and None)
            try:
                s = getattr(f, "_raw_saved_" + n)
            except AttributeError:
                continue
            if not hasattr(s, "register_hooks"):
                note("kind", lambda: type(s).__name__)
                continue
            note("data", lambda: s.data)
            note("unpack", lambda: None if n == "result" else s.unpack())
            note("hook none", lambda: s.unpack_hook)
            log = []
            note(
                "register",
                lambda: s.register_hooks(
                    lambda t: (log.append(("pack", t.requires_grad)), t * 10)[1],
                    lambda t: (log.append("unpack"), t / 5)[1],
                ),
            )
            note("again", lambda: s.register_hooks(lambda t: t, lambda t: t))
            note("log", lambda: log)
            note("saved", lambda: getattr(f, "_saved_" + n))
            note("data", lambda: s.data)
        note("bad", lambda: f._raw_saved_self.register_hooks(3, 4))
        note("grad", lambda: torch.autograd.grad(y.sum(), x, retain_graph=True, create_graph=True))
        note("grad", lambda: torch.autograd.grad(y.sum(), x))
        note("after", lambda: torch.autograd.grad(y.sum(), x))
        if nm in ("exp", "sin", "mul"):
            note("freed", lambda: f._raw_saved_self.register_hooks(lambda t: t, lambda t: t))
            note("freed", lambda: f._raw_saved_result.register_hooks(lambda t: t, lambda t: t))
            note("freed", lambda: f._raw_saved_result.unpack())

    class A(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            o = a * b
            ctx.save_for_backward(a, b, o, None)
            return o

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors[:2]
            return (g * b, g * a)

    x = leaf(torch, 1.0, 2.0)
    y = A.apply(x, x * 2)
    r = y.grad_fn._raw_saved_tensors
    note("n", lambda: len(r))
    note("reg", lambda: [t.register_hooks(lambda t: t * 2, lambda t: t) for t in r[:3]])
    note("none", lambda: r[3].register_hooks(lambda t: t * 2, lambda t: t))
    note("g", lambda: torch.autograd.grad(y.sum(), x))
    z = x.sin()
    s = z.grad_fn._raw_saved_self
    note("inplace hook", lambda: s.register_hooks(lambda t: t.mul_(2), lambda t: t))
    w = x * 2
    z = w.sin()
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with torch.no_grad():
        w.mul_(2)
    note("written after", lambda: torch.autograd.grad(z.sum(), x))
    z = (x * 2).sin()
    z.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: 3)
    note("bad unpack", lambda: torch.autograd.grad(z.sum(), x))


STORIES = [raw_saved_tensors]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
