"""Checkpoints against PyTorch: forms of arguments and results, nesting, functions that differ the second time."""

import contextlib
import weakref
from importlib import import_module

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def checkpoints(torch, note):
    L = import_module(torch.__name__ + ".utils.checkpoint")
    ck = L.checkpoint
    x = leaf(torch, 1.0, 2.0)
    note("bad check", lambda: ck(lambda a: a, x, use_reentrant=False, determinism_check="x"))
    note(
        "debug ctx",
        lambda: ck(
            lambda a: a,
            x,
            use_reentrant=False,
            debug=True,
            context_fn=lambda: (contextlib.nullcontext(), contextlib.nullcontext()),
        ),
    )
    note("debug reentrant", lambda: ck(lambda a: a, x, use_reentrant=True, debug=True))
    note("unknown kw reentrant", lambda: ck(lambda a: a, x, use_reentrant=True, foo=1))
    note("preserve", lambda: ck(lambda a: a * 1, x, use_reentrant=False, preserve_rng_state=False))
    log = []

    @contextlib.contextmanager
    def cx(n):
        log.append("in " + n)
        yield
        log.append("out " + n)

    with torch.no_grad():
        note(
            "no grad ctx",
            lambda: (ck(lambda a: a * 1, x, use_reentrant=False, context_fn=lambda: (cx("1"), cx("2"))), log),
        )

    class Sup:
        def __enter__(self):
            return self

        def __exit__(self, *a):
            return True

    note("suppress", lambda: ck(lambda a: 1 / 0, x, use_reentrant=False, context_fn=lambda: (Sup(), Sup())))
    note("raises", lambda: ck(lambda a: 1 / 0, x, use_reentrant=False))
    note("raises re", lambda: ck(lambda a: 1 / 0, x, use_reentrant=True))
    note("hooks after raise", lambda: (x * x).grad_fn._saved_self is x)
    for r in (True, False):
        note(f"{r} none out", lambda: ck(lambda a: None, x, use_reentrant=r))
        note(f"{r} dict out", lambda: ck(lambda a: {"a": a * 2}, x, use_reentrant=r)["a"].requires_grad)
        note(f"{r} list out", lambda: type(ck(lambda a: [a * 2, a * 3], x, use_reentrant=r)))
        note(
            f"{r} tuple out",
            lambda: [
                t.requires_grad if hasattr(t, "requires_grad") else t
                for t in ck(lambda a: (a * 2, 3, None), x, use_reentrant=r)
            ],
        )
        note(f"{r} list arg", lambda: torch.autograd.grad(ck(lambda l: l[0] * l[1], [x, x], use_reentrant=r).sum(), x))
        note(f"{r} no tensors", lambda: ck(lambda: x * 3, use_reentrant=r).requires_grad)
        note(
            f"{r} closure",
            lambda: (
                setattr(x, "grad", None),
                ck(lambda a: (a * x).sin(), x * 2, use_reentrant=r).sum().backward(),
                x.grad,
            )[2],
        )
        note(
            f"{r} closure only",
            lambda: (
                setattr(x, "grad", None),
                ck(lambda a: (a * x).sin(), torch.ones(2), use_reentrant=r).sum().backward(),
                x.grad,
            )[2],
        )
        note(
            f"{r} input itself",
            lambda: (setattr(x, "grad", None), ck(lambda a: a, x, use_reentrant=r).sum().backward(), x.grad)[2],
        )
        note(
            f"{r} view",
            lambda: (setattr(x, "grad", None), ck(lambda a: a[:1], x, use_reentrant=r).sum().backward(), x.grad)[2],
        )
        note(
            f"{r} inplace",
            lambda: (
                setattr(x, "grad", None),
                ck(lambda a: a.mul(2).add_(1).sin(), x, use_reentrant=r).sum().backward(),
                x.grad,
            )[2],
        )
        note(
            f"{r} writes input",
            lambda: (
                setattr(x, "grad", None),
                ck(lambda a: a.mul_(2).sin(), x * 1, use_reentrant=r).sum().backward(),
                x.grad,
            )[2],
        )
        note(
            f"{r} create_graph",
            lambda: (
                setattr(x, "grad", None),
                ck(lambda a: a**3, x, use_reentrant=r).sum().backward(create_graph=True),
                x.grad.detach(),
            )[2],
        )
        note(
            f"{r} dropout",
            lambda: (
                torch.manual_seed(1),
                setattr(x, "grad", None),
                ck(lambda a: torch.nn.functional.dropout(a, 0.5), x, use_reentrant=r).sum().backward(),
                x.grad,
                torch.rand(1),
            )[3:],
        )
        note(
            f"{r} dropout no preserve",
            lambda: (
                torch.manual_seed(1),
                setattr(x, "grad", None),
                ck(lambda a: torch.nn.functional.dropout(a, 0.5), x, use_reentrant=r, preserve_rng_state=False)
                .sum()
                .backward(),
                x.grad,
                torch.rand(1),
            )[3:],
        )
        m = torch.nn.Linear(2, 2)
        with torch.no_grad():
            m.weight.fill_(0.5)
            m.bias.fill_(1)
        seen = []
        m.register_full_backward_hook(lambda mod, i, o: seen.append((i, o)))
        note(f"{r} module", lambda: (ck(m, x, use_reentrant=r).sum().backward(), m.weight.grad, seen))
        note(
            f"{r} twice same",
            lambda: (
                setattr(x, "grad", None),
                (lambda f: (f(f(x)).sum().backward(), x.grad))(lambda q: ck(lambda a: a.sin(), q, use_reentrant=r)),
            )[1],
        )
        note(
            f"{r} retain two",
            lambda: (
                setattr(x, "grad", None),
                (lambda o: (o.sum().backward(retain_graph=True), o.sum().backward(), x.grad))(
                    ck(lambda a: a.sin(), x, use_reentrant=r)
                ),
            )[1],
        )
        note(
            f"{r} second run",
            lambda: (lambda o: (o.sum().backward(), o.sum().backward()))(ck(lambda a: a.sin(), x, use_reentrant=r)),
        )

        def deep(n, a):
            return ck(lambda q: deep(n - 1, q.sin()), a, use_reentrant=r) if n else a.cos()

        note(f"{r} nested 5", lambda: (setattr(x, "grad", None), deep(5, x).sum().backward(), x.grad)[2])

        def two(a):
            b = ck(lambda q: q.sin().exp(), a, use_reentrant=r)
            c = ck(lambda q: q.cos().exp(), b, use_reentrant=r)
            return b * c

        note(
            f"{r} nested two",
            lambda: (setattr(x, "grad", None), ck(two, x, use_reentrant=r).sum().backward(), x.grad)[2],
        )
        note(
            f"{r} nested nested two",
            lambda: (
                setattr(x, "grad", None),
                ck(lambda q: ck(two, q.sin(), use_reentrant=r).exp(), x, use_reentrant=r).sum().backward(),
                x.grad,
            )[2],
        )
        note(
            f"{r} mixed",
            lambda: (
                setattr(x, "grad", None),
                ck(lambda q: ck(lambda s: s.sin().exp(), q.sin(), use_reentrant=not r).exp(), x, use_reentrant=r)
                .sum()
                .backward(),
                x.grad,
            )[2],
        )
        note(
            f"{r} unused arg",
            lambda: torch.autograd.grad(ck(lambda a, b: a.sin(), x, x * 2, use_reentrant=False).sum(), x),
        )
        note(
            f"{r} raise in second",
            lambda: (
                lambda n: (
                    ck(lambda a: (n.append(1), 1 / 0 if len(n) > 1 else None, a.sin())[2], x, use_reentrant=r)
                    .sum()
                    .backward()
                )
            )([]),
        )

    def grads(a):
        return a * torch.autograd.grad((a**2).sum(), a, create_graph=True)[0]

    note("grad inside", lambda: torch.autograd.grad(ck(grads, x, use_reentrant=False).sum(), x))
    note("grad inside late", lambda: torch.autograd.grad(ck(grads, x, use_reentrant=False, early_stop=False).sum(), x))
    n = []

    def more(a):
        n.append(1)
        return a.sin() if len(n) % 2 else a.sin().exp()

    for kw in (
        {},
        {"early_stop": False},
        {"determinism_check": "none"},
        {"determinism_check": "none", "early_stop": False},
        {"debug": True},
    ):
        n.clear()
        note(f"more {kw}", lambda: torch.autograd.grad(ck(more, x, use_reentrant=False, **kw).sum(), x))

    def fewer(a):
        n.append(1)
        return a.sin().exp() if len(n) % 2 else a.sin()

    for kw in ({}, {"early_stop": False}, {"determinism_check": "none"}, {"debug": True}):
        n.clear()
        note(f"fewer {kw}", lambda: torch.autograd.grad(ck(fewer, x, use_reentrant=False, **kw).sum(), x))

    def smaller(a):
        n.append(1)
        return a.sin() if len(n) % 2 else a[:1].sin()

    for kw in ({}, {"early_stop": False}, {"determinism_check": "none"}, {"debug": True}):
        n.clear()
        note(f"smaller {kw}", lambda: torch.autograd.grad(ck(smaller, x, use_reentrant=False, **kw).sum(), x))
    with L.set_checkpoint_early_stop(True):
        note(
            "stop true",
            lambda: (
                n.clear(),
                torch.autograd.grad(
                    ck(
                        lambda a: (n.append(1), a.sin(), n.append(2))[1], x, use_reentrant=False, early_stop=False
                    ).sum(),
                    x,
                ),
                n,
            )[1:],
        )
    with L.set_checkpoint_early_stop(False):
        note(
            "stop false",
            lambda: (
                n.clear(),
                torch.autograd.grad(
                    ck(lambda a: (n.append(1), a.sin(), n.append(2))[1], x, use_reentrant=False, early_stop=True).sum(),
                    x,
                ),
                n,
            )[1:],
        )
    o = ck(lambda a: a.sin().cos(), x, use_reentrant=False)
    note("outside", lambda: (o.grad_fn._saved_self, o.grad_fn._saved_self))

    class A(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 1

        @staticmethod
        def backward(ctx, g):
            note("1", lambda: ctx.saved_tensors)
            note("2", lambda: ctx.saved_tensors)
            return g

    note("unpacked twice", lambda: torch.autograd.grad(ck(A.apply, x, use_reentrant=False).sum(), x))
    note("unpacked twice re", lambda: ck(A.apply, x, use_reentrant=True).sum().backward())
    r = weakref.ref(o)
    del o
    note("freed", lambda: r() is None)
    note(
        "kwargs tensor",
        lambda: torch.autograd.grad(ck(lambda a, b: (a * b).sin(), x, b=x * 3, use_reentrant=False).sum(), x),
    )
    h = x * 2
    o = ck(lambda a, b: (a * b).sin(), x, b=h, use_reentrant=False)
    h.add_(1)
    note("kwarg written", lambda: torch.autograd.grad(o.sum(), x))
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        note("disabled", lambda: ck(lambda a: a.sin(), x, use_reentrant=False).requires_grad)
    seq = L.checkpoint_sequential
    fs = [lambda a: a.sin(), lambda a: a * 2, lambda a: a.cos(), lambda a: a + 1, lambda a: a.exp()]
    for r in (True, False):
        for s in (1, 2, 3, 5):
            note(
                f"seq {r} {s}",
                lambda: (setattr(x, "grad", None), seq(fs, s, x, use_reentrant=r).sum().backward(), x.grad)[2],
            )
        note(
            f"seq {r} modlist",
            lambda: seq(torch.nn.ModuleList([torch.nn.Tanh(), torch.nn.Tanh()]), 2, x, use_reentrant=r).detach(),
        )
        note(f"seq {r} tuple", lambda: seq(tuple(fs), 2, x, use_reentrant=r).detach())
        note(f"seq {r} preserve", lambda: seq(tuple(fs), 2, x, use_reentrant=r, preserve_rng_state=False).detach())


STORIES = [checkpoints]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
