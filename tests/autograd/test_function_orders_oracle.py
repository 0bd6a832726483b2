"""Custom Functions against PyTorch: higher derivatives, layouts and dtypes of gradients, inheritance."""

import pytest
from stories import assert_same_story, function_class, leaf

torch = pytest.importorskip("torch")


def higher_derivatives(torch, note):
    x = leaf(torch, 0.5, 2.0)

    def grads(f, n=3):
        out = []
        y = f(x).sum()
        for _ in range(n):
            if not y.requires_grad:
                out.append("no graph")
                break
            (g,) = torch.autograd.grad(y, x, create_graph=True, allow_unused=True)
            out.append(None if g is None else g.detach())
            if g is None:
                break
            y = g.sum()
        return out

    sv = lambda ctx, a: (ctx.save_for_backward(a), a**3)[1]
    note("input", lambda: grads(function_class(torch, sv, lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g).apply))

    def so(ctx, a):
        r = a.exp()
        ctx.save_for_backward(r)
        return r

    note("output", lambda: grads(function_class(torch, so, lambda ctx, g: ctx.saved_tensors[0] * g).apply))

    def si(ctx, a):
        r = a.exp()
        ctx.save_for_backward(r)
        return r * 2

    note("intermediate", lambda: grads(function_class(torch, si, lambda ctx, g: ctx.saved_tensors[0] * g * 2).apply))

    def sa(ctx, a):
        ctx.a = a
        return a**3

    note("attribute", lambda: grads(function_class(torch, sa, lambda ctx, g: 3 * ctx.a**2 * g).apply))

    def st(ctx, i, o):
        ctx.save_for_backward(*i, o)

    note(
        "setup",
        lambda: grads(
            function_class(torch, lambda a: a.exp(), lambda ctx, g: ctx.saved_tensors[1] * g, setup_context=st).apply
        ),
    )

    def two(ctx, a):
        e = a.exp()
        ctx.save_for_backward(a, e)
        return (e * a, e)

    note(
        "intermediate as output",
        lambda: grads(
            lambda q: function_class(
                torch,
                two,
                lambda ctx, g, h: (
                    g * (ctx.saved_tensors[1] * ctx.saved_tensors[0] + ctx.saved_tensors[1]) + h * ctx.saved_tensors[1]
                ),
            ).apply(q)[0]
        ),
    )
    note(
        "detached",
        lambda: grads(function_class(torch, sv, lambda ctx, g: (3 * ctx.saved_tensors[0] ** 2 * g).detach()).apply),
    )
    note(
        "no grad inside",
        lambda: grads(
            function_class(torch, sv, lambda ctx, g: torch.no_grad()(lambda: 3 * ctx.saved_tensors[0] ** 2 * g)()).apply
        ),
    )
    note(
        "once",
        lambda: grads(
            function_class(
                torch, sv, torch.autograd.function.once_differentiable(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g)
            ).apply
        ),
    )
    note(
        "function in backward",
        lambda: grads(
            function_class(
                torch,
                sv,
                lambda ctx, g: function_class(
                    torch,
                    lambda c, a, b: (c.save_for_backward(a, b), 3 * a * a * b)[1],
                    lambda c, h: (6 * c.saved_tensors[0] * c.saved_tensors[1] * h, 3 * c.saved_tensors[0] ** 2 * h),
                ).apply(ctx.saved_tensors[0], g),
            ).apply
        ),
    )
    note(
        "enable_grad in backward",
        lambda: grads(
            function_class(
                torch, sv, lambda ctx, g: torch.enable_grad()(lambda: 3 * ctx.saved_tensors[0] ** 2 * g)()
            ).apply,
            2,
        ),
    )


def layouts_and_types(torch, note):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    seen = []

    def look(g):
        seen.append((tuple(g.shape), g.stride(), g.is_contiguous()))

    def bw(ctx, g):
        look(g)
        return g * 2

    A = function_class(torch, lambda ctx, a: (seen.append((a.stride(), a.is_contiguous())), a * 1)[1], bw)
    note("transposed", lambda: (torch.autograd.grad(A.apply(x.t()).sum(), x), seen))
    seen.clear()
    note("strided", lambda: (torch.autograd.grad(A.apply(x[:, ::2]).sum(), x), seen))
    seen.clear()
    note("expanded", lambda: (torch.autograd.grad(A.apply(x[:, :1].expand(2, 4)).sum(), x), seen))
    seen.clear()
    B = function_class(torch, lambda ctx, a: a.t(), lambda ctx, g: (look(g), g.t())[1])
    note("returns view", lambda: (torch.autograd.grad(B.apply(x).sum(), x), seen, B.apply(x)._base is x))
    seen.clear()
    C = function_class(
        torch,
        lambda ctx, a: (ctx.save_for_backward(a), a * 1)[1],
        lambda ctx, g: (seen.append((ctx.saved_tensors[0].stride(), ctx.saved_tensors[0].is_contiguous())), g)[1],
    )
    note("saved strided", lambda: (torch.autograd.grad(C.apply(x.t()).sum(), x), seen))
    seen.clear()
    Z = function_class(torch, lambda ctx, a: (a.t() * 1, a * 2), lambda ctx, g, h: (look(g), look(h), h)[2])
    note("zeros", lambda: (torch.autograd.grad(Z.apply(x)[1].sum(), x), seen))
    seen.clear()
    R = function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: torch.ones(1).expand(2, 3))

    def acc():
        x.grad = None
        R.apply(x).sum().backward()
        return (x.grad, x.grad.stride())

    note("expanded grad accumulates", acc)
    R = function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: torch.ones(3, 2).t())
    note("transposed grad accumulates", acc)
    keep = torch.ones(2, 3)
    R = function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: keep)

    def acc2():
        x.grad = None
        R.apply(x).sum().backward()
        x.grad.zero_()
        return keep

    note("kept grad is not taken", acc2)
    for d in (torch.float64, torch.float16, torch.bfloat16, torch.complex64):
        note(
            f"dtype {d}",
            lambda: (
                function_class(torch, lambda ctx, a: a.to(d), lambda ctx, g: (seen.append(g.dtype), g)[1])
                .apply(x)
                .requires_grad
            ),
        )
        note(
            f"dtype {d} grad",
            lambda: (
                torch.autograd.grad(
                    function_class(torch, lambda ctx, a: a.to(d), lambda ctx, g: (seen.append(g.dtype), g.real)[1])
                    .apply(x)
                    .real.sum(),
                    x,
                ),
                seen,
            ),
        )
        seen.clear()
    note(
        "empty",
        lambda: torch.autograd.grad(
            function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: g).apply(x[:0]).sum(), x
        ),
    )
    note(
        "scalar out",
        lambda: torch.autograd.grad(
            function_class(torch, lambda ctx, a: a.sum(), lambda ctx, g: g.expand(2, 3)).apply(x), x
        ),
    )
    note(
        "grad of long input",
        lambda: (
            function_class(torch, lambda ctx, a, i: a[i], lambda ctx, g: (torch.ones(2, 3), None))
            .apply(x, torch.tensor([0]))
            .sum()
            .backward()
        ),
    )
    note(
        "grad given for long input",
        lambda: (
            function_class(torch, lambda ctx, a, i: a[i], lambda ctx, g: (torch.ones(2, 3), torch.ones(1)))
            .apply(x, torch.tensor([0]))
            .sum()
            .backward()
        ),
    )
    note(
        "grad given for untracked",
        lambda: torch.autograd.grad(
            function_class(torch, lambda ctx, a, b: a * b, lambda ctx, g: (g, g)).apply(x, torch.ones(2, 3)).sum(), x
        ),
    )
    note(
        "subclass",
        lambda: (
            type(
                function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: g).apply(torch.nn.Parameter(torch.ones(2)))
            ).__name__
        ),
    )
    P = torch.nn.Parameter(torch.ones(2))
    note("param as is", lambda: type(function_class(torch, lambda ctx, a: a, lambda ctx, g: g).apply(P)).__name__)

    class Base(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Child(Base):
        @staticmethod
        def backward(ctx, g):
            return Base.backward(ctx, g) * 10

    note("inherited", lambda: (torch.autograd.grad(Child.apply(x).sum(), x), Child.apply(x).grad_fn.name()))
    note("in no_grad", lambda: torch.no_grad()(lambda: Base.apply(x).requires_grad)())
    note("in inference", lambda: torch.inference_mode()(lambda: Base.apply(x).requires_grad)())
    note(
        "needs",
        lambda: (
            function_class(
                torch,
                lambda ctx, *a: (note("n", lambda: ctx.needs_input_grad), a[0] * 1)[1],
                lambda ctx, g: (g, None, None, None),
            )
            .apply(x, 3, torch.ones(1), "x")
            .requires_grad
        ),
    )
    note(
        "grad_fn attrs",
        lambda: (lambda f: (f.next_functions[0][1], len(f.next_functions), f.requires_grad))(
            function_class(torch, lambda ctx, *a: a[0] * 1, lambda ctx, g: g).apply(x, 3, torch.ones(1), "x").grad_fn
        ),
    )
    note(
        "setup as is saved",
        lambda: function_class(
            torch, lambda a: a, lambda ctx, g: g, setup_context=lambda c, i, o: c.save_for_backward(o)
        ).apply(x),
    )
    note("hash", lambda: len({function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: g).apply(x).grad_fn}))
    y = function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: g).apply(x)
    note("same node", lambda: y.grad_fn is y.grad_fn)
    y.grad_fn.note = 5
    note("attribute", lambda: y.grad_fn.note)


STORIES = [higher_derivatives, layouts_and_types]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
