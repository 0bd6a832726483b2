"""gradcheck and gradgradcheck against PyTorch: what they accept, and how they say no."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def function(torch, forward, backward):
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Made", (torch.autograd.Function,), members).apply


def verdicts(torch, note):
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    x = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
    c = torch.tensor([0.3 + 0.4j, 0.8 - 0.2j], dtype=torch.complex128, requires_grad=True)
    wrong = function(torch, lambda ctx, a: a * a, lambda ctx, grad: grad)
    log = []
    uneven = function(torch, lambda ctx, a: a * 1, lambda ctx, grad: log.append(1) or grad * (1 + 1e-5 * len(log)))
    for fast in (False, True):
        note("right", lambda: check(torch.sin, x, fast_mode=fast))
        note("wrong", lambda: check(wrong, x, fast_mode=fast))
        note("complex", lambda: check(torch.sin, c, fast_mode=fast))
        note("complex to real", lambda: check(torch.abs, c, fast_mode=fast))
        note("real to complex", lambda: check(lambda a: torch.complex(a, a * a), x, fast_mode=fast))
        note("both", lambda: check(lambda a, b: (a * b, a * 2), (x, c), fast_mode=fast))
        note("second", lambda: twice(torch.sin, x, fast_mode=fast))
        note("second, complex", lambda: twice(torch.exp, c, fast_mode=fast))
        note("no exception", lambda: check(wrong, x, raise_exception=False, fast_mode=fast))
        note("uneven", lambda: check(uneven, x, atol=1e-2, fast_mode=fast))
    note("complex wrong", lambda: check(wrong, c))
    note("nothing to check", lambda: check(torch.sin, torch.ones(2)))
    note("integer output", lambda: check(lambda a: a.round().long(), x))
    note("detached", lambda: check(lambda a: a.detach(), x))
    note("constant", lambda: check(lambda a: torch.ones(2), x))
    note("two outputs", lambda: check(lambda a: (a * 2, a.sin()), x))
    note("strided", lambda: check(torch.sin, torch.rand(3, 2, dtype=torch.float64).t().requires_grad_()))
    note("expanded", lambda: check(torch.sin, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()))
    note("scalar", lambda: check(torch.sin, torch.tensor(0.5, dtype=torch.float64, requires_grad=True)))
    note("empty", lambda: check(torch.sin, torch.zeros(0, dtype=torch.float64, requires_grad=True)))
    note("linear, second", lambda: twice(lambda a: a * 2, x))
    note("float32", lambda: check(torch.sin, torch.tensor([0.3], requires_grad=True)))
    weight = torch.tensor([0.5, 0.6], dtype=torch.float64, requires_grad=True)
    note("closed over", lambda: check(lambda a, w: a * weight, (x, weight)))
    note("backward unchecked", lambda: check(torch.sin, x, check_backward_ad=False))
    note("untouched", lambda: (x, weight, c, x.grad))


@pytest.mark.parametrize("story", [verdicts], ids=lambda story: story.__name__)
@pytest.mark.filterwarnings("ignore:Input #")
def test_same_story(story):
    assert_same_story(story, torch)
