"""gradcheck and gradgradcheck against PyTorch: every argument, forward mode and batches included."""

import pytest
from stories import assert_same_story, function_class

torch = pytest.importorskip("torch")


def every_argument(torch, note):
    check, twice = (torch.autograd.gradcheck, torch.autograd.gradgradcheck)
    x = torch.tensor([0.3, 0.8], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.3, 0.4], dtype=torch.float64, requires_grad=True)
    c = torch.tensor([0.3 + 0.4j, 0.8 - 0.2j], dtype=torch.complex128, requires_grad=True)
    wrong = function_class(torch, lambda ctx, a: a * a, lambda ctx, grad: grad).apply
    cwrong = function_class(torch, lambda ctx, a: a * a.conj(), lambda ctx, grad: grad).apply
    second_wrong = lambda a, b: (a * b, wrong(b))

    def absent(ctx, g):
        return g * 2 if g is not None else 1 / 0

    for fast in (False, True):
        for bw, fw in ((True, False), (False, True), (True, True)):
            k = dict(fast_mode=fast, check_backward_ad=bw, check_forward_ad=fw)
            t = f"{fast} {bw} {fw} "
            note(t + "sin", lambda: check(torch.sin, x, **k))
            note(t + "csin", lambda: check(torch.sin, c, **k))
            note(t + "abs", lambda: check(torch.abs, c, **k))
            note(t + "r2c", lambda: check(lambda a: torch.complex(a, a * a), x, **k))
            note(t + "mixed", lambda: check(lambda a, b, s: (a * b, a * s, b.abs()), (x, c, 3), **k))
            note(
                t + "mm",
                lambda: check(
                    torch.mm,
                    (
                        torch.rand(2, 3, dtype=torch.float64, requires_grad=True),
                        torch.rand(3, 2, dtype=torch.float64, requires_grad=True),
                    ),
                    **k,
                ),
            )
            note(t + "wrong", lambda: check(wrong, x, **k))
            note(t + "wrong c", lambda: check(wrong, c, **k))
            note(t + "cwrong", lambda: check(cwrong, c, **k))
            note(t + "second wrong", lambda: check(second_wrong, (x, y), **k))
            note(t + "third arg", lambda: check(lambda n, a, b: wrong(b) * a, (2, x, y), **k))
            if bw:
                note(t + "detached", lambda: check(lambda a: a.detach(), x, **k))
            note(t + "list", lambda: check(lambda a: [a, a * 2], [x], **k))
            note(t + "empty", lambda: check(torch.sin, torch.zeros(0, 2, dtype=torch.float64, requires_grad=True), **k))
            note(
                t + "scalar", lambda: check(torch.sin, torch.tensor(0.5, dtype=torch.float64, requires_grad=True), **k)
            )
            note(t + "no grad input", lambda: check(torch.sin, torch.ones(2), **k))
            note(
                t + "noncontig",
                lambda: check(torch.sin, torch.rand(3, 2, dtype=torch.float64).t().requires_grad_(), **k),
            )
            note(
                t + "single",
                lambda: check(torch.sin, torch.tensor([0.3], requires_grad=True), eps=0.01, atol=0.01, **k),
            )
            note(t + "batched", lambda: check(lambda a, b: (a * b, a.sin()), (x, y), check_batched_grad=True, **k))
            note(
                t + "batched fw",
                lambda: check(lambda a, b: (a * b, a.sin()), (x, y), check_batched_forward_grad=True, **k),
            )
        k = dict(fast_mode=fast)
        log = []
        uneven = function_class(
            torch, lambda ctx, a: a * 1, lambda ctx, g: (log.append(1), g * (1 + 1e-05 * len(log)))[1]
        ).apply
        note("uneven", lambda: check(uneven, x, atol=0.01, **k))
        note("uneven tol", lambda: check(uneven, x, atol=0.1, nondet_tol=1.0, **k))
        note("constant", lambda: check(lambda a: torch.ones(2), x, **k))
        note(
            "offset", lambda: check(function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: g + 1e-07).apply, x, **k)
        )
        note(
            "offset masked",
            lambda: check(
                function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: g + 1e-09).apply, x, masked=True, **k
            ),
        )
        note(
            "offset not masked",
            lambda: check(
                function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: g + 1e-09).apply, x, masked=False, **k
            ),
        )

        def fw(ctx, a, b):
            ctx.set_materialize_grads(False)
            return (a * 1, b * 1)

        def bw(ctx, g, h):
            if g is None:
                raise RuntimeError("boom none")
            return (g, h)

        note("absent", lambda: check(function_class(torch, fw, bw).apply, (x, y), **k))
        note("absent off", lambda: check(function_class(torch, fw, bw).apply, (x, y), check_undefined_grad=False, **k))
        note(
            "absent nonzero",
            lambda: check(
                function_class(
                    torch, fw, lambda ctx, g, h: (g if g is not None else torch.ones(2, dtype=torch.float64), h)
                ).apply,
                (x, y),
                **k,
            ),
        )
        note("dtype", lambda: check(lambda a: a * 2, x, check_grad_dtypes=True, **k))
        note("gg", lambda: twice(torch.sin, x, **k))
        note(
            "gg wrong",
            lambda: twice(
                function_class(
                    torch,
                    lambda ctx, a: (ctx.save_for_backward(a), a * a)[1],
                    lambda ctx, g: ctx.saved_tensors[0].detach() * 2 * g,
                ).apply,
                x,
                **k,
            ),
        )
        note("gg fwd", lambda: twice(torch.sin, x, check_fwd_over_rev=True, **k))
        note(
            "gg fwd only",
            lambda: twice(
                torch.sin, x, check_fwd_over_rev=True, check_rev_over_rev=False, check_undefined_grad=False, **k
            ),
        )
        note("gg neither", lambda: twice(torch.sin, x, check_rev_over_rev=False, **k))
        note("gg bad", lambda: twice(torch.sin, x, check_fwd_over_rev=True, check_rev_over_rev=False, **k))
        note(
            "gg bad2",
            lambda: twice(
                torch.sin,
                x,
                check_fwd_over_rev=True,
                check_rev_over_rev=False,
                check_undefined_grad=False,
                check_batched_grad=True,
                **k,
            ),
        )
        note("gg noncontig", lambda: twice(torch.exp, x, gen_non_contig_grad_outputs=True, **k))
        note("gg outs", lambda: twice(torch.exp, x, torch.ones(2, dtype=torch.float64), **k))
        note("gg outs req", lambda: twice(torch.exp, x, torch.ones(2, dtype=torch.float64, requires_grad=True), **k))
        note("gg batched", lambda: twice(torch.exp, x, check_batched_grad=True, **k))
        note("gg complex", lambda: twice(lambda a: a * a.conj(), c, **k))
        note("gg multi", lambda: twice(lambda a, b: (a * b, a.sin()), (x, y), **k))
        note(
            "gg false",
            lambda: twice(
                function_class(
                    torch,
                    lambda ctx, a: (ctx.save_for_backward(a), a * a)[1],
                    lambda ctx, g: ctx.saved_tensors[0].detach() * 2 * g,
                ).apply,
                x,
                raise_exception=False,
                **k,
            ),
        )
    note("bad", lambda: check(torch.sin, x, check_backward_ad=False))
    note("bad", lambda: check(torch.sin, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True))
    note("bad", lambda: check(torch.sin, x, check_batched_forward_grad=True))
    note("expanded", lambda: check(torch.sin, torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()))
    note("same", lambda: (x, y, c, x.grad))
    torch.manual_seed(0)
    check(torch.sin, x, fast_mode=True)
    note("rng", lambda: torch.rand(1))
    torch.manual_seed(0)
    check(torch.sin, x, check_batched_grad=True)
    note("rng b", lambda: torch.rand(1))
    torch.manual_seed(0)
    twice(torch.sin, x, fast_mode=True)
    note("rng gg", lambda: torch.rand(1))
    note("type", lambda: torch.autograd.gradcheck.__module__)
    import importlib

    m = importlib.import_module(torch.__name__ + ".autograd.gradcheck")


STORIES = [every_argument]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
