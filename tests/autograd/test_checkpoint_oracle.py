"""torch.utils.checkpoint against PyTorch."""

import contextlib

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def both_variants(torch, note):
    from importlib import import_module

    library = import_module(torch.__name__ + ".utils.checkpoint")
    checkpoint = library.checkpoint
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    calls = []

    def work(a, b, scale=2):
        calls.append(torch.is_grad_enabled())
        return (a * b).sigmoid().sin() * scale, a + b

    for reentrant in (True, False):
        x.grad = y.grad = None
        out, second = checkpoint(work, x, y, use_reentrant=reentrant)
        note("out", lambda out=out: (out.detach(), out.requires_grad))
        (out.sum() + second.sum()).backward()
        note("gradients", lambda: (x.grad, y.grad, calls))
        calls.clear()
        out, _ = checkpoint(work, x, y.detach(), use_reentrant=reentrant)
        out.sum().backward()
        note("one input", lambda: x.grad)
        again = checkpoint(work, x, y, 3, use_reentrant=reentrant)[0].sum()
        again.backward()
        note("number", lambda: x.grad)
        note("twice", lambda again=again: again.backward())
        kept = checkpoint(work, x, y, use_reentrant=reentrant)[0].sum()
        kept.backward(retain_graph=True)
        note("retained", lambda kept=kept: kept.backward())
        note("retained", lambda: x.grad)
        with torch.no_grad():
            note("no_grad", lambda r=reentrant: checkpoint(work, x, y, use_reentrant=r)[0].requires_grad)
        note("grad", lambda r=reentrant: torch.autograd.grad(checkpoint(work, x, y, use_reentrant=r)[0].sum(), x))
        note("inputs", lambda r=reentrant: checkpoint(work, x, y, use_reentrant=r)[0].sum().backward(inputs=[x]))
        note("keywords", lambda r=reentrant: checkpoint(work, x, b=y, use_reentrant=r)[0].detach())
        note(
            "untracked", lambda r=reentrant: checkpoint(work, x.detach(), y.detach(), use_reentrant=r)[0].requires_grad
        )
        note("detached", lambda r=reentrant: checkpoint(lambda a: a.detach(), x, use_reentrant=r).sum().backward())
        nested = checkpoint(
            lambda a: checkpoint(work, a.sin(), y, use_reentrant=reentrant)[0].cos(), x, use_reentrant=reentrant
        )
        x.grad = y.grad = None
        nested.sum().backward()
        note("nested", lambda: (x.grad, y.grad))
        h = x * 2
        out = checkpoint(work, h, y, use_reentrant=reentrant)[0]
        h.add_(1)
        note("input written", lambda out=out: out.sum().backward())
    note("default", lambda: checkpoint(work, x, y)[0].detach())
    note("context with re-entrance", lambda: checkpoint(work, x, y, use_reentrant=True, context_fn=lambda: (1, 2)))


def without_reentrance(torch, note):
    from importlib import import_module

    library = import_module(torch.__name__ + ".utils.checkpoint")
    checkpoint = library.checkpoint
    x = leaf(torch, 1.0, 2.0)
    count = [0]

    def fewer(a):
        count[0] += 1
        return a.sin().exp() if count[0] == 1 else a.sin()

    def smaller(a):
        count[0] += 1
        return a.sin() if count[0] == 1 else a[:1].sin()

    for function in (fewer, smaller):
        count[0] = 0
        note(function.__name__, lambda f=function: checkpoint(f, x, use_reentrant=False).sum().backward())
    count[0] = 0
    note("error type", lambda: issubclass(library.CheckpointError, RuntimeError))
    (first,) = torch.autograd.grad(checkpoint(lambda a: a**3, x, use_reentrant=False).sum(), x, create_graph=True)
    note("second order", lambda: torch.autograd.grad(first.sum(), x))
    log = []

    @contextlib.contextmanager
    def context(name):
        log.append(f"enter {name}")
        try:
            yield
        finally:
            log.append(f"exit {name}")

    out = checkpoint(
        lambda a: a.sin().cos(), x, use_reentrant=False, context_fn=lambda: (context("first"), context("second"))
    )
    out.sum().backward()
    note("contexts", lambda: (log, x.grad))
    runs = []

    def counted(a):
        runs.append("start")
        result = a.sin().cos()
        runs.append("middle")
        result = result + 1
        runs.append("end")
        return result

    checkpoint(counted, x, use_reentrant=False).sum().backward()
    note("stops early", lambda: runs)
    runs.clear()
    checkpoint(counted, x, use_reentrant=False, early_stop=False).sum().backward()
    note("runs to its end", lambda: runs)
    runs.clear()
    with library.set_checkpoint_early_stop(False):
        out = checkpoint(counted, x, use_reentrant=False)
    out.sum().backward()
    note("set to run to its end", lambda: runs)
    note("saved", lambda: checkpoint(lambda a: (a * 2).sin(), x, use_reentrant=False).grad_fn._saved_self.detach())


def random_numbers(torch, note):
    from importlib import import_module

    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint

    def noisy(a):
        return (a * torch.rand(3)).exp() * torch.rand(3)

    for reentrant in (True, False):
        torch.manual_seed(3)
        x = leaf(torch, 1.0, 2.0, 3.0)
        checkpoint(noisy, x, use_reentrant=reentrant).sum().backward()
        after = torch.rand(2)
        note("same numbers", lambda x=x, after=after: (x.grad, after))
    torch.manual_seed(3)
    x = leaf(torch, 1.0, 2.0, 3.0)
    noisy(x).sum().backward()
    note("without", lambda: (x.grad, torch.rand(2)))


def sequential(torch, note):
    from importlib import import_module

    run = import_module(torch.__name__ + ".utils.checkpoint").checkpoint_sequential
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    )
    x = torch.ones(2, 3, requires_grad=True)
    for reentrant in (True, False):
        model.zero_grad()
        run(model, 3, x, use_reentrant=reentrant).sum().backward()
        note("gradients", lambda: [parameter.grad for parameter in model.parameters()])
    note("default", lambda: run(model, 2, x).detach())
    note("keywords", lambda: run(model, 2, x, use_reentrant=False, other=1))


STORIES = [both_variants, without_reentrance, random_numbers, sequential]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
