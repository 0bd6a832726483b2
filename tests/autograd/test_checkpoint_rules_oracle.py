"""Checkpoints against PyTorch: forms of arguments and results, nesting, functions that differ the second time."""

import contextlib
import functools
import weakref
from importlib import import_module

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def library(torch):
    return import_module(torch.__name__ + ".utils.checkpoint")


def start(torch):
    """The function ``checkpoint``, and a leaf."""
    return library(torch).checkpoint, leaf(torch, 1.0, 2.0)


def gradient(torch, x, function, *inputs, **options):
    """The gradient of the leaf ``x`` through a checkpoint of a function of ``inputs``, by default of ``x``."""
    x.grad = None
    library(torch).checkpoint(function, *(inputs or (x,)), **options).sum().backward()
    return x.grad


def arguments(torch, note):
    ck, x = start(torch)
    contexts = contextlib.nullcontext(), contextlib.nullcontext()
    note("bad check", lambda: ck(lambda a: a, x, use_reentrant=False, determinism_check="x"))
    note("debug ctx", lambda: ck(lambda a: a, x, use_reentrant=False, debug=True, context_fn=lambda: contexts))
    note("debug reentrant", lambda: ck(lambda a: a, x, use_reentrant=True, debug=True))
    note("unknown kw reentrant", lambda: ck(lambda a: a, x, use_reentrant=True, foo=1))
    note("preserve", lambda: ck(lambda a: a * 1, x, use_reentrant=False, preserve_rng_state=False))
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


def contexts_and_errors(torch, note):
    ck, x = start(torch)
    log = []

    @contextlib.contextmanager
    def logged(n):
        log.append("in " + n)
        yield
        log.append("out " + n)

    with torch.no_grad():
        both = logged("1"), logged("2")
        note("no grad ctx", lambda: (ck(lambda a: a * 1, x, use_reentrant=False, context_fn=lambda: both), log))

    class Suppressing:
        def __enter__(self):
            return self

        def __exit__(self, *a):
            return True

    both = Suppressing(), Suppressing()
    note("suppress", lambda: ck(lambda a: 1 / 0, x, use_reentrant=False, context_fn=lambda: both))
    note("raises", lambda: ck(lambda a: 1 / 0, x, use_reentrant=False))
    note("raises re", lambda: ck(lambda a: 1 / 0, x, use_reentrant=True))
    note("hooks after raise", lambda: (x * x).grad_fn._saved_self is x)
    for r in (True, False):
        calls = []

        def second(a):
            calls.append(1)
            return 1 / 0 if len(calls) > 1 else a.sin()

        note(f"{r} raise in second", lambda: ck(second, x, use_reentrant=r).sum().backward())


def forms(torch, note):
    ck, x = start(torch)
    for r in (True, False):
        note(f"{r} none out", lambda: ck(lambda a: None, x, use_reentrant=r))
        note(f"{r} dict out", lambda: ck(lambda a: {"a": a * 2}, x, use_reentrant=r)["a"].requires_grad)
        note(f"{r} list out", lambda: type(ck(lambda a: [a * 2, a * 3], x, use_reentrant=r)))
        note(
            f"{r} tuple out",
            lambda: [getattr(t, "requires_grad", t) for t in ck(lambda a: (a * 2, 3, None), x, use_reentrant=r)],
        )
        note(f"{r} list arg", lambda: torch.autograd.grad(ck(lambda l: l[0] * l[1], [x, x], use_reentrant=r).sum(), x))
        note(f"{r} no tensors", lambda: ck(lambda: x * 3, use_reentrant=r).requires_grad)
        note(
            f"{r} unused arg",
            lambda: torch.autograd.grad(ck(lambda a, b: a.sin(), x, x * 2, use_reentrant=False).sum(), x),
        )


def gradients(torch, note):
    ck, x = start(torch)
    for r in (True, False):
        of = functools.partial(gradient, torch, x, use_reentrant=r)
        note(f"{r} closure", lambda: of(lambda a: (a * x).sin(), x * 2))
        note(f"{r} closure only", lambda: of(lambda a: (a * x).sin(), torch.ones(2)))
        note(f"{r} input itself", lambda: of(lambda a: a))
        note(f"{r} view", lambda: of(lambda a: a[:1]))
        note(f"{r} inplace", lambda: of(lambda a: a.mul(2).add_(1).sin()))
        note(f"{r} writes input", lambda: of(lambda a: a.mul_(2).sin(), x * 1))
        x.grad = None
        note(
            f"{r} create_graph",
            lambda: (ck(lambda a: a**3, x, use_reentrant=r).sum().backward(create_graph=True), x.grad.detach())[1],
        )
        note(f"{r} twice same", lambda: of(lambda a: a.sin(), ck(lambda a: a.sin(), x, use_reentrant=r)))
        x.grad = None
        o = ck(lambda a: a.sin(), x, use_reentrant=r)
        note(
            f"{r} retain two",
            lambda: (o.sum().backward(retain_graph=True), o.sum().backward(), x.grad),
        )
        o = ck(lambda a: a.sin(), x, use_reentrant=r)
        note(f"{r} second run", lambda: (o.sum().backward(), o.sum().backward()))
        m = torch.nn.Linear(2, 2)
        with torch.no_grad():
            m.weight.fill_(0.5)
            m.bias.fill_(1)
        seen = []
        m.register_full_backward_hook(lambda mod, i, o: seen.append((i, o)))
        note(f"{r} module", lambda: (ck(m, x, use_reentrant=r).sum().backward(), m.weight.grad, seen))


def random_numbers(torch, note):
    x = leaf(torch, 1.0, 2.0)
    for r in (True, False):
        for label, options in (("dropout", {}), ("dropout no preserve", {"preserve_rng_state": False})):
            torch.manual_seed(1)
            of = functools.partial(gradient, torch, x, use_reentrant=r, **options)
            note(f"{r} {label}", lambda: (of(lambda a: torch.nn.functional.dropout(a, 0.5)), torch.rand(1)))


def nested(torch, note):
    ck, x = start(torch)

    def inner(q):
        return q.sin().exp()

    for r in (True, False):
        of = functools.partial(gradient, torch, x, use_reentrant=r)

        def deep(n, a):
            return ck(lambda q: deep(n - 1, q.sin()), a, use_reentrant=r) if n else a.cos()

        def two(a):
            b = ck(inner, a, use_reentrant=r)
            c = ck(lambda q: q.cos().exp(), b, use_reentrant=r)
            return b * c

        x.grad = None
        note(f"{r} nested 5", lambda: (deep(5, x).sum().backward(), x.grad)[1])
        note(f"{r} nested two", lambda: of(two))
        note(f"{r} nested nested two", lambda: of(lambda q: ck(two, q.sin(), use_reentrant=r).exp()))
        note(f"{r} mixed", lambda: of(lambda q: ck(inner, q.sin(), use_reentrant=not r).exp()))

    def with_gradient(a):
        return a * torch.autograd.grad((a**2).sum(), a, create_graph=True)[0]

    for label, options in (("grad inside", {}), ("grad inside late", {"early_stop": False})):
        note(label, lambda: torch.autograd.grad(ck(with_gradient, x, use_reentrant=False, **options).sum(), x))


def different_the_second_time(torch, note):
    ck, x = start(torch)
    n = []

    def more(a):
        n.append(1)
        return a.sin() if len(n) % 2 else a.sin().exp()

    def fewer(a):
        n.append(1)
        return a.sin().exp() if len(n) % 2 else a.sin()

    def smaller(a):
        n.append(1)
        return a.sin() if len(n) % 2 else a[:1].sin()

    for function in (more, fewer, smaller):
        for options in (
            {},
            {"early_stop": False},
            {"determinism_check": "none"},
            {"determinism_check": "none", "early_stop": False},
            {"debug": True},
        ):
            n.clear()
            note(
                f"{function.__name__} {options}",
                lambda: torch.autograd.grad(ck(function, x, use_reentrant=False, **options).sum(), x),
            )


def early_stop(torch, note):
    ck, x = start(torch)

    def counted(a):
        n.append(1)
        found = a.sin()
        n.append(2)
        return found

    for set_early_stop in (True, False):
        n = []
        with library(torch).set_checkpoint_early_stop(set_early_stop):
            note(
                f"stop {set_early_stop}",
                lambda: (
                    torch.autograd.grad(ck(counted, x, use_reentrant=False, early_stop=not set_early_stop).sum(), x),
                    n,
                ),
            )


def saved_tensors(torch, note):
    ck, x = start(torch)
    held = [ck(lambda a: a.sin().cos(), x, use_reentrant=False)]
    note("outside", lambda: (held[0].grad_fn._saved_self, held[0].grad_fn._saved_self))

    class Unpacking(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * 1

        @staticmethod
        def backward(ctx, g):
            note("1", lambda: ctx.saved_tensors)
            note("2", lambda: ctx.saved_tensors)
            return g

    note("unpacked twice", lambda: torch.autograd.grad(ck(Unpacking.apply, x, use_reentrant=False).sum(), x))
    note("unpacked twice re", lambda: ck(Unpacking.apply, x, use_reentrant=True).sum().backward())
    reference = weakref.ref(held.pop())
    note("freed", lambda: reference() is None)


def sequential(torch, note):
    seq, x = library(torch).checkpoint_sequential, leaf(torch, 1.0, 2.0)
    functions = [lambda a: a.sin(), lambda a: a * 2, lambda a: a.cos(), lambda a: a + 1, lambda a: a.exp()]
    for r in (True, False):
        for segments in (1, 2, 3, 5):
            x.grad = None
            note(
                f"seq {r} {segments}",
                lambda: (seq(functions, segments, x, use_reentrant=r).sum().backward(), x.grad)[1],
            )
        modules = torch.nn.ModuleList([torch.nn.Tanh(), torch.nn.Tanh()])
        note(f"seq {r} modlist", lambda: seq(modules, 2, x, use_reentrant=r).detach())
        note(f"seq {r} tuple", lambda: seq(tuple(functions), 2, x, use_reentrant=r).detach())
        note(
            f"seq {r} preserve",
            lambda: seq(tuple(functions), 2, x, use_reentrant=r, preserve_rng_state=False).detach(),
        )


STORIES = [
    arguments,
    contexts_and_errors,
    forms,
    gradients,
    random_numbers,
    nested,
    different_the_second_time,
    early_stop,
    saved_tensors,
    sequential,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
