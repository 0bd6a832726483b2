"""Custom Functions against PyTorch: every mark and form of result, inputs returned as they are, writes in place."""

import pytest
from stories import assert_same_story, function_class, leaf

torch = pytest.importorskip("torch")


def names(torch, note):
    f = torch.autograd.function
    for n in [
        "FunctionCtx",
        "BackwardCFunction",
        "FunctionMeta",
        "Function",
        "once_differentiable",
        "InplaceFunction",
        "NestedIOFunction",
        "_ContextMethodMixin",
    ]:
        note(n, lambda: hasattr(f, n))
    note("all", lambda: sorted(f.__all__))
    note("meta", lambda: type(torch.autograd.Function).__name__)
    note(
        "issub",
        lambda: issubclass(
            type(function_class(torch, lambda ctx, x: x * 1, lambda ctx, g: g).apply(leaf(torch, 1.0)).grad_fn),
            torch.autograd.graph.Node,
        ),
    )
    made = function_class(torch, lambda ctx, x: x * 1, lambda ctx, g: g)
    note("backward cls", lambda: (made._backward_cls.__name__, made._backward_cls._forward_cls is made))
    note("flags", lambda: (made.generate_vmap_rule, made.clear_saved_tensors_on_access, made.boxed_grads_call))
    note("nodename", lambda: made.apply(leaf(torch, 1.0)).grad_fn.name())
    note("str", lambda: str(made))
    note("call", lambda: made()(leaf(torch, 1.0)))
    note("inplace fn", lambda: f.InplaceFunction(inplace=True).inplace)
    note("nested", lambda: f.NestedIOFunction())
    note("isinst", lambda: isinstance((leaf(torch, 1.0) * 2).grad_fn, torch.autograd.graph.Node))
    note("instacc", lambda: isinstance((leaf(torch, 1.0) * 2).grad_fn.next_functions[0][0], torch.autograd.graph.Node))


def context(torch, note):
    x = leaf(torch, 1.0, 2.0)

    def tell(forward, backward=lambda ctx, g: g, inp=(x,), back=True, **m):

        def run():
            o = function_class(torch, forward, backward, **m).apply(*inp)
            if not back:
                return o
            outs = o if isinstance(o, tuple) else (o,)
            outs = [t for t in outs if hasattr(t, "requires_grad") and t.requires_grad]
            return torch.autograd.grad(
                sum(t.sum() for t in outs),
                [i for i in inp if hasattr(i, "grad_fn") and i.requires_grad],
                allow_unused=True,
            )

        return run

    def fw(action):

        def forward(ctx, a):
            r = action(ctx, a)
            return a * 2 if r is None else r

        return forward

    note("save number", tell(fw(lambda c, a: c.save_for_backward(1))))
    note("save list", tell(fw(lambda c, a: c.save_for_backward([a]))))
    note("save second number", tell(fw(lambda c, a: c.save_for_backward(a, 3))))
    note(
        "save twice",
        tell(
            fw(lambda c, a: (c.save_for_backward(a), c.save_for_backward(a, a))[1]),
            lambda c, g: (note("n", lambda: len(c.saved_tensors)), g)[1],
        ),
    )
    note("dirty number", tell(fw(lambda c, a: c.mark_dirty(1))))
    note("dirty not input", tell(fw(lambda c, a: c.mark_dirty(torch.ones(2)))))
    note("nondiff number", tell(fw(lambda c, a: c.mark_non_differentiable(1))))
    note("nondiff not output", tell(fw(lambda c, a: c.mark_non_differentiable(torch.ones(2)))))
    note("nondiff input", tell(fw(lambda c, a: c.mark_non_differentiable(a))))
    note("materialize num", tell(fw(lambda c, a: c.set_materialize_grads(0))))
    note("materialize str", tell(fw(lambda c, a: c.set_materialize_grads("x"))))
    note("shared", tell(fw(lambda c, a: c.mark_shared_storage((a, a)))))
    note("save fwd num", tell(fw(lambda c, a: c.save_for_forward(1))))
    note("ctx saved in forward", tell(fw(lambda c, a: (c.save_for_backward(a), note("s", lambda: c.saved_tensors))[1])))
    note("ctx to_save", tell(fw(lambda c, a: (c.save_for_backward(a), note("s", lambda: c.to_save))[1])))
    note("return none", tell(lambda c, a: None, back=False))
    note("return number", tell(lambda c, a: 3, back=False))
    note("return str", tell(lambda c, a: "x", back=False))
    note("return list", tell(lambda c, a: [a * 1, a * 2], back=False))
    note("return empty tuple", tell(lambda c, a: (), back=False))
    note("return dict", tell(lambda c, a: {"a": a}, back=False))
    note(
        "tuple mixed", tell(lambda c, a: (a * 1, None, 3, "x", [a]), lambda c, *gs: (note("gs", lambda: gs), gs[0])[1])
    )
    note("tuple nested", tell(lambda c, a: (a * 1, (a * 2, a * 3)), lambda c, *gs: (note("gs", lambda: gs), gs[0])[1]))
    note("tuple nested out", tell(lambda c, a: (a * 1, (a * 2, a * 3)), back=False))
    note("no forward", lambda: type("A", (torch.autograd.Function,), {}).apply(x))
    note(
        "no backward",
        lambda: (
            type("A", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, a: a * 1)})
            .apply(x)
            .sum()
            .backward()
        ),
    )
    note("vjp", tell(lambda c, a: a * 1, None, vjp=lambda c, g: g * 5))
    note("both", tell(lambda c, a: a * 1, lambda c, g: g, vjp=lambda c, g: g * 5))
    note("kwargs", lambda: function_class(torch, lambda c, a, k=1: a * k, lambda c, g: (g, None)).apply(x, k=3))
    note("nonstatic", lambda: type("A", (torch.autograd.Function,), {"forward": lambda self, a: a * 1}).apply(x))
    note(
        "nonstatic2",
        lambda: type(
            "A", (torch.autograd.Function,), {"forward": lambda self, a: a * 1, "backward": lambda self, g: g}
        )(x),
    )
    note(
        "setup kwargs",
        lambda: function_class(
            torch, lambda a, k=1: a * k, lambda c, g: (g, None), setup_context=lambda c, i, o: note("i", lambda: i)
        ).apply(x, k=3),
    )
    note(
        "setup defaults",
        lambda: (
            function_class(
                torch,
                lambda a, k=1: a * k,
                lambda c, g: (g, None),
                setup_context=lambda c, i, o: note("i", lambda: (i, c.needs_input_grad)),
            )
            .apply(x)
            .sum()
            .backward()
        ),
    )
    note(
        "setup return",
        lambda: function_class(
            torch, lambda a, k=1: a * k, lambda c, g: (g, None), setup_context=lambda c, i, o: 3
        ).apply(x),
    )
    note(
        "setup kwonly",
        lambda: function_class(
            torch, lambda a, *, k=1: a * k, lambda c, g: (g, None), setup_context=lambda c, i, o: note("i", lambda: i)
        ).apply(x, k=3),
    )
    note("backward list", tell(lambda c, a: a * 1, lambda c, g: [g]))
    note("backward number", tell(lambda c, a: a * 1, lambda c, g: 1))
    note("backward str", tell(lambda c, a: a * 1, lambda c, g: "x"))
    note("backward None", tell(lambda c, a: a * 1, lambda c, g: None))
    note("backward raises", tell(lambda c, a: a * 1, lambda c, g: 1 / 0))
    note("forward raises", tell(lambda c, a: 1 / 0))
    note("boxed", tell(lambda c, a: a * 1, lambda c, gs: (note("gs", lambda: gs), gs[0])[1], boxed_grads_call=True))
    note(
        "clear",
        tell(
            fw(lambda c, a: c.save_for_backward(a)),
            lambda c, g: (note("1", lambda: c.saved_tensors), note("2", lambda: c.saved_tensors), g)[2],
            clear_saved_tensors_on_access=True,
        ),
    )
    note("no args", lambda: function_class(torch, lambda c: torch.ones(2), lambda c, g: None).apply())
    note("nograd out", lambda: function_class(torch, lambda c, a: a.long(), lambda c, g: None).apply(x))
    note("int and float", lambda: function_class(torch, lambda c, a: (a.long(), a * 1), lambda c, g: None).apply(x))
    note("generator", tell(lambda c, a: a * 1, lambda c, g: (q for q in [g])))


def returned_as_is(torch, note):
    x = leaf(torch, 1.0, 2.0)
    y = torch.ones(2)

    def look(t):
        return (
            t,
            t.requires_grad,
            t.is_leaf,
            t._base is not None,
            t._is_view(),
            None if t.grad_fn is None else t.grad_fn.name(),
            t._version,
        )

    for nm, inp in (
        ("leaf", x),
        ("plain", y),
        ("nonleaf", x * 2),
        ("view", (x * 2)[:1]),
        ("long", torch.ones(2).long()),
    ):
        A = function_class(torch, lambda c, a: a, lambda c, g: g * 3)
        note(nm + " as is", lambda: look(A.apply(inp)))
        note(nm + " identity", lambda: A.apply(inp) is inp)
        note(nm + " grad", lambda: torch.autograd.grad(A.apply(inp).sum(), inp))
        note(nm + " inplace", lambda: look(A.apply(inp).add_(1)))
        V = function_class(torch, lambda c, a: a.view(-1), lambda c, g: g * 3)
        note(nm + " view", lambda: look(V.apply(inp)))
        note(nm + " view inplace", lambda: look(V.apply(inp).add_(1)))
        V2 = function_class(torch, lambda c, a: (a[:1], a[1:]), lambda c, g, h: torch.cat([g, h]))
        note(nm + " views", lambda: [look(t) for t in V2.apply(inp)])
        note(nm + " views inplace", lambda: look(V2.apply(inp)[0].add_(1)))
        T = function_class(torch, lambda c, a: (a, a), lambda c, g, h: g + h)
        note(nm + " twice", lambda: [look(t) for t in T.apply(inp)])
        note(nm + " twice same", lambda: (lambda r: r[0] is r[1])(T.apply(inp)))
        W = function_class(torch, lambda c, a: (lambda b: (b, b))(a * 2), lambda c, g, h: g + h)
        note(nm + " same out twice", lambda: [look(t) for t in W.apply(inp)])
        note(nm + " same out grads", lambda: torch.autograd.grad(sum(t.sum() for t in W.apply(inp)), inp))
        N = function_class(torch, lambda c, a: (c.mark_non_differentiable(a), a)[1], lambda c, g: g * 3)
        note(nm + " nondiff as is", lambda: look(N.apply(inp)))
        D = function_class(torch, lambda c, a: (c.mark_dirty(a), a.mul_(2))[1], lambda c, g: g * 3)
        note(nm + " dirty", lambda: look(D.apply(inp.clone())))
        note(nm + " dirty direct", lambda: look(D.apply(inp)))

        def dd():
            t = inp.clone()
            o = D.apply(t)
            return (o is t, torch.autograd.grad(o.sum(), inp))

        note(nm + " dirty grad", dd)

        def dv():
            t = inp.clone()
            v = t[:1]
            o = D.apply(v)
            return (look(o), o is v, look(t), torch.autograd.grad(t.sum(), inp))

        note(nm + " dirty view", dv)
        ND = function_class(
            torch, lambda c, a: (c.mark_dirty(a), c.mark_non_differentiable(a), a.mul_(2))[2], lambda c, g: g * 3
        )
        note(nm + " dirty+nondiff", lambda: look(ND.apply(inp.clone())))
        M = function_class(torch, lambda c, a: (c.mark_dirty(a), a.mul_(2), a * 3)[1:], lambda c, g, h: g * 3 + h)

        def dm():
            t = inp.clone()
            o = M.apply(t)
            return ([look(k) for k in o], torch.autograd.grad(o[0].sum() + o[1].sum(), inp))

        note(nm + " dirty and more", dm)
        DN = function_class(torch, lambda c, a: (c.mark_dirty(a), a.mul_(2), a * 3)[2], lambda c, g: g * 3)
        note(nm + " dirty not returned", lambda: look(DN.apply(inp.clone())))
        U = function_class(torch, lambda c, a: (c.mark_dirty(a), a.mul_(2), a.view(-1))[2], lambda c, g: g * 3)
        note(nm + " dirty returns view", lambda: look(U.apply(inp.clone())))
        S = function_class(torch, lambda c, a: a.mul_(2), lambda c, g: g * 3)
        note(nm + " inplace unmarked", lambda: look(S.apply(inp.clone())))


def written_in_place(torch, note):

    def look(t):
        return (
            t,
            t.requires_grad,
            t.is_leaf,
            t._base is not None,
            None if t.grad_fn is None else t.grad_fn.name(),
            t._version,
        )

    x = leaf(torch, 1.0, 2.0, 3.0)
    D = function_class(torch, lambda c, a, b: (c.mark_dirty(a), a.add_(b))[1], lambda c, g: (g * 3, g * 5))

    def case():
        base = torch.zeros(3)
        v = base[1:]
        o = D.apply(v, x[:2])
        return (look(base), look(o), o is v, torch.autograd.grad(base.sum(), x))

    note("plain base", case)

    def case():
        base = torch.zeros(3)
        o = D.apply(base, x)
        return (look(base), torch.autograd.grad(o.sum(), x))

    note("plain", case)

    def case():
        base = x * 2
        a = base.unbind(0)[0]
        o = D.apply(a, x[0])
        return look(base)

    note("unbind", case)

    def case():
        base = x * 2
        with torch.no_grad():
            v = base[1:]
        o = D.apply(v, x[:2])
        return (look(base), look(v))

    note("no_grad view", case)

    def case():
        with torch.no_grad():
            return look(D.apply(x, x))

    note("leaf no grad", case)

    def case():
        return look(D.apply(x, torch.ones(3)))

    note("leaf", case)

    def case():
        return look(D.apply(x[:2], torch.ones(2)))

    note("leaf view", case)

    def case():
        b = x * 2
        c = b.exp()
        D.apply(b, x)
        return torch.autograd.grad(c.sum(), x)

    def case():
        b = x * 2
        c = b * b
        D.apply(b, x)
        return torch.autograd.grad(c.sum(), x)

    note("saved input", case)
    Dm = function_class(
        torch, lambda c, a, b: (c.mark_dirty(a, b), a.add_(1), b.add_(1))[1:], lambda c, g, h: (g * 3, h * 5)
    )

    def case():
        a, b = (x * 2, x * 3)
        o = Dm.apply(a, b)
        return ([look(q) for q in o], torch.autograd.grad(o[0].sum() + o[1].sum(), x))

    note("two", case)

    def case():
        b = x * 2
        v, w = (b[:1], b[1:])
        o = Dm.apply(v, w)
        return ([look(q) for q in o], look(b))

    note("two views", case)

    def case():
        b = x * 2
        v = b[:1]
        o = Dm.apply(v, x * 1)
        return ([look(q) for q in o], look(b))

    note("one view of two", case)
    Sv = function_class(
        torch,
        lambda c, a: (c.mark_dirty(a), a.mul_(2), c.save_for_backward(a), a)[3],
        lambda c, g: (note("sv", lambda: c.saved_tensors), g * c.saved_tensors[0])[1],
    )

    def case():
        b = x * 2
        o = Sv.apply(b)
        return torch.autograd.grad(o.sum(), x)

    note("dirty and saved", case)

    def case():
        b = x * 2
        o = Sv.apply(b)
        o.add_(1)
        return torch.autograd.grad(o.sum(), x)

    note("dirty and saved, written", case)

    def case():
        b = x * 2
        o = Sv.apply(b[1:])
        return torch.autograd.grad(b.sum(), x)

    note("dirty and saved, view", case)
    r = x * 2
    r.retain_grad()
    o = D.apply(r, x)
    (o * 2).sum().backward()
    note("retained", lambda: (r.grad, x.grad))


STORIES = [names, context, returned_as_is, written_in_place]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
