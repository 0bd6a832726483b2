"""Hooks against PyTorch: absent gradients, order, handles, errors, backward within backward."""

import copy
import pickle

import pytest
from stories import assert_same_story, function_class, leaf

torch = pytest.importorskip("torch")


def absent_gradients(torch, note):
    log = []
    x = leaf(torch, 1.0, 2.0, 3.0)
    a, b, c = x.unbind()
    a.register_hook(lambda g: log.append(("a", g)))
    b.register_hook(lambda g: log.append(("b", g)))
    c.retain_grad()
    b.retain_grad()
    b.backward(retain_graph=True)
    note("unbind", lambda: (log, c.grad, b.grad))
    log.clear()
    torch.autograd.grad(c, x, retain_graph=True)
    note("grad", lambda: log)
    log.clear()
    A = function_class(torch, lambda ctx, p, q: p * q, lambda ctx, g: (None, g))
    p, q = (leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0))
    p.register_hook(lambda g: log.append(("p", g)))
    q.register_hook(lambda g: log.append(("q", g)))
    p.register_post_accumulate_grad_hook(lambda t: log.append(("post p", t.grad)))
    q.register_post_accumulate_grad_hook(lambda t: log.append(("post q", t.grad)))
    A.apply(p, q).sum().backward()
    note("leaf none", lambda: (log, p.grad, q.grad))
    log.clear()
    r = p * 2
    r.register_hook(lambda g: log.append(("r", g)))
    r.grad_fn.register_prehook(lambda g: log.append(("r pre", g)))
    r.grad_fn.register_hook(lambda i, o: log.append(("r post", i, o)))
    A.apply(r, q).sum().backward()
    note("inner none", lambda: (log, p.grad))
    log.clear()
    acc = p.view_as(p).grad_fn.next_functions[0][0]
    acc.register_prehook(lambda g: log.append(("acc pre", g)))
    acc.register_hook(lambda i, o: log.append(("acc post", i, o)))
    A.apply(p, q).sum().backward()
    note("acc none", lambda: (log, p.grad))
    log.clear()
    w = p * 2
    w.register_hook(lambda g: torch.ones(2))
    note("replace none", lambda: A.apply(w, q).sum().backward())
    s = p * 2
    s.grad_fn.register_prehook(lambda g: (torch.ones(2),))
    note("prehook replaces none", lambda: A.apply(s, q).sum().backward())
    s = p * 2
    s.grad_fn.register_hook(lambda i, o: (torch.ones(2), None))
    note("hook replaces none", lambda: A.apply(s, q).sum().backward())


def order(torch, note):
    log = []

    def L(n, r=None):
        return lambda g: (log.append((n, g)), r)[1] if r is None else (log.append((n, g)), g * r)[1]

    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(L("h1", 2))
    y.sum().backward()
    note("retain first", lambda: (log, y.grad, x.grad))
    log.clear()
    y = x * 2
    y.register_hook(L("h1", 2))
    y.retain_grad()
    y.register_hook(L("h2", 3))
    y.retain_grad()
    y.sum().backward()
    note("retain between", lambda: (log, y.grad, x.grad))
    log.clear()
    y = x * 2
    y.grad_fn.register_prehook(lambda g: (log.append(("pre", g)), (g[0] * 5,))[1])
    y.register_hook(L("h1", 2))
    y.retain_grad()
    y.sum().backward()
    note("prehook first", lambda: (log, y.grad, x.grad))
    log.clear()
    y = x * 2
    y.register_hook(L("h1", 2))
    y.retain_grad()
    y.mul_(3)
    y.register_hook(L("h2", 7))
    (y * 1).sum().backward()
    note("in place", lambda: (log, y.grad, x.grad))
    log.clear()
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.retain_grad()
    (y * 1).sum().backward()
    note("in place retain", lambda: (log, y.grad, x.grad))
    log.clear()
    y = x * 2
    v = y[:1]
    v.register_hook(L("v", 2))
    v.retain_grad()
    v.mul_(3)
    v.register_hook(L("v2", 2))
    y.sum().backward()
    note("view", lambda: (log, v.grad, x.grad))
    log.clear()
    x.grad = None
    x.register_hook(L("x1", 2))
    x.register_post_accumulate_grad_hook(lambda t: log.append(("post", t.grad.clone())))
    x.retain_grad()
    x.register_hook(L("x2"))
    (x * 1).sum().backward()
    note("leaf", lambda: (log, x.grad))
    log.clear()
    note("retains", lambda: (x.retains_grad, (x * 2).retains_grad, y.retains_grad))
    h = x.register_hook(L("added during"))
    h.remove()
    h.remove()

    def adder(g):
        x.register_hook(L("late"))

    k = x.register_hook(adder)
    (x * 1).sum().backward()
    note("added in the run", lambda: log)
    log.clear()
    k.remove()
    (x * 1).sum().backward()
    note("next run", lambda: log)
    log.clear()
    z = leaf(torch, 1.0, 2.0)
    zz = z * 2
    hs = []
    hs.append(zz.register_hook(lambda g: hs[1].remove()))
    hs.append(zz.register_hook(L("removed")))
    zz.sum().backward()
    note("removed in the run", lambda: log)
    log.clear()
    with z.register_hook(L("ctx")):
        (z * 1).sum().backward()
    (z * 1).sum().backward()
    note("context", lambda: log)
    log.clear()
    note(
        "same hook twice",
        lambda: (lambda f: (z.register_hook(f), z.register_hook(f), (z * 1).sum().backward(), log)[3])(L("twice")),
    )
    log.clear()
    u = leaf(torch, 1.0, 2.0)
    w = u * 2
    w.register_hook(lambda g: g.mul_(2))
    (w * 1).backward(torch.ones(2))
    note("in place hook", lambda: u.grad)
    u.grad = None
    w = u * 2
    w.register_hook(lambda g: (g.mul_(2), None)[1])
    (w * 1).backward(torch.ones(2))
    note("in place hook none", lambda: u.grad)
    m = u * 2
    m.register_hook(lambda g: g.requires_grad)
    note("bool", lambda: m.sum().backward())
    m = u * 2
    m.register_hook(lambda g: False)
    note("false", lambda: m.sum().backward())
    m = u * 2
    m.register_hook(lambda g: ())
    note("tuple", lambda: m.sum().backward())
    m = u * 2
    m.register_hook(lambda g: (g,))
    note("tuple g", lambda: m.sum().backward())
    u = leaf(torch, 1.0, 2.0)
    for r in ("grad", 3, "self", "other"):
        u = leaf(torch, 1.0, 2.0)
        u.register_post_accumulate_grad_hook(lambda t: {"grad": t.grad, 3: 3, "self": t, "other": torch.ones(3)}[r])
        note(f"post returns {r}", lambda: u.sum().backward())


def handles(torch, note):
    x = leaf(torch, 1.0)
    h = x.register_hook(print)
    note("type", lambda: type(h))
    note("state", lambda: (len(h.__getstate__()), len(pickle.loads(pickle.dumps(h)).__getstate__())))
    h2 = pickle.loads(pickle.dumps(h))
    note("removed copy", lambda: (h2.remove(), len(x._backward_hooks)))
    note("ids", lambda: h2.id == h.id)
    note("deepcopy", lambda: copy.deepcopy(h).id == h.id)
    note("next", lambda: type(h).next_id > h.id)
    note("dict", lambda: type(x._backward_hooks))
    note("enter", lambda: h.__enter__() is h)
    note("hooksref", lambda: (h.hooks_dict_ref() is x._backward_hooks, h.extra_dict_ref))
    l = torch.nn.Linear(1, 1)
    hh = l.register_forward_hook(print, always_call=True, with_kwargs=True)
    note(
        "module",
        lambda: (
            len(hh.extra_dict_ref),
            len(hh.__getstate__()),
            hh.remove(),
            len(l._forward_hooks),
            len(l._forward_hooks_always_called),
        ),
    )
    a, b = (leaf(torch, 1.0), leaf(torch, 2.0))
    m = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    note("multi", lambda: (len(m.handles), len(m.__getstate__()), type(m).__mro__[1].__name__))
    m2 = pickle.loads(pickle.dumps(h))
    note("deepcopy hooked", lambda: copy.deepcopy(x)._backward_hooks)
    y = leaf(torch, 1.0)
    y.register_post_accumulate_grad_hook(print)
    note("deepcopy post", lambda: copy.deepcopy(y)._post_accumulate_grad_hooks)
    note("post", lambda: len(y._post_accumulate_grad_hooks))

    def f(g):
        return None

    z = leaf(torch, 1.0)
    z.register_hook(f)
    note("pickle with hook", lambda: len(pickle.dumps(z)) > 0)


def raising(torch, note):

    def boom(*a):
        raise ValueError("boom")

    x = leaf(torch, 1.0, 2.0)
    for nm, reg in (
        ("tensor", lambda y: y.register_hook(boom)),
        ("pre", lambda y: y.grad_fn.register_prehook(boom)),
        ("post", lambda y: y.grad_fn.register_hook(boom)),
    ):
        x.grad = None
        y = x * 2
        z = y.exp()
        h = reg(y)
        note(nm, lambda: z.sum().backward())
        note(nm + " state", lambda: (x.grad, torch.is_grad_enabled()))
        h.remove()
        note(nm + " again", lambda: (z.sum().backward(), x.grad))
    h = x.register_post_accumulate_grad_hook(boom)
    x.grad = None
    note("post acc", lambda: x.sum().backward())
    note("post acc after", lambda: x.grad)
    h.remove()
    acc = x.view_as(x).grad_fn.next_functions[0][0]
    h = acc.register_hook(boom)
    note("acc", lambda: x.sum().backward())
    note("after", lambda: x.grad)
    h.remove()
    h = acc.register_prehook(boom)
    note("acc pre", lambda: x.sum().backward())
    note("after", lambda: x.grad)


def backward_within_backward(torch, note):
    x = leaf(torch, 1.0, 2.0)
    log = []
    y = x * 2

    def inner(g):
        with torch.enable_grad():
            t = leaf(torch, 3.0)
            (t * t).backward()
        log.append((t.grad, torch.is_grad_enabled()))
        return g * t.grad

    y.register_hook(inner)
    y.sum().backward()
    note("inner", lambda: (log, x.grad))
    w = leaf(torch, 1.0)

    def same(g):
        if len(log) < 4:
            log.append(1)
            with torch.enable_grad():
                (w * 5).backward()

    w.register_hook(same)
    (w * 2).backward()
    note("same leaf", lambda: (log, w.grad))
    v = leaf(torch, 1.0)
    out = v * v
    out2 = out * 1

    def again(g):
        out.backward(retain_graph=True)

    out2.register_hook(again)
    out2.backward(retain_graph=True)
    note("same graph", lambda: v.grad)

    def fail(g):
        with torch.enable_grad():
            t = leaf(torch, 1.0)
            r = t * t
            r.backward()
            r.backward()

    u = leaf(torch, 1.0)
    q = u * 1
    q.register_hook(fail)
    note("fails", lambda: q.backward())
    note("grad mode", lambda: torch.is_grad_enabled())

    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x < 0:
                return g
            with torch.enable_grad():
                Deep.apply(ctx.x).sum().backward()
            return g

    note("deep 1500", lambda: Deep.apply(torch.tensor(1500.0).requires_grad_()).sum().backward())

    class Deep2(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_() - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, g):
            if ctx.x < 0:
                raise RuntimeError("boom")
            with torch.enable_grad():
                Deep2.apply(ctx.x).sum().backward()
            return g

    note("deep 500 raising", lambda: Deep2.apply(torch.tensor(500.0).requires_grad_()).sum().backward())


def undefined_gradients(torch, note):
    log = []
    x = leaf(torch, 1.0, 2.0)
    for mat in (True, False):

        def fw(ctx, a):
            ctx.set_materialize_grads(mat)
            return a * 1

        A = function_class(torch, fw, lambda ctx, g: (log.append(g), g)[1])
        N = function_class(torch, lambda ctx, a: a * 1, lambda ctx, g: None)
        x.grad = None
        N.apply(A.apply(x)).sum().backward()
        note(f"{mat} below none", lambda: (log, x.grad))
        log.clear()
        N.apply(A.apply(x * 2) * 3).sum().backward()
        note(f"{mat} with op between", lambda: (log, x.grad))
        log.clear()
        note(f"{mat} grad", lambda: torch.autograd.grad(N.apply(A.apply(x)).sum(), x, allow_unused=True))
        note("log", lambda: log)
        log.clear()

        def fw2(ctx, a):
            ctx.set_materialize_grads(mat)
            return (a * 1, a * 2, a.long(), 5)

        B = function_class(torch, fw2, lambda ctx, *g: (log.append(g), g[0])[1])
        p, q = B.apply(x)[:2]
        note(f"{mat} several", lambda: (torch.autograd.grad(p.sum(), x), log))
        log.clear()
        p, q = B.apply(x)[:2]
        note(f"{mat} several 2", lambda: (torch.autograd.grad(q.sum(), x, allow_unused=True), log))
        log.clear()

        def fw3(ctx, a):
            ctx.set_materialize_grads(mat)
            b = a * 2
            ctx.mark_non_differentiable(b)
            return (a * 1, b)

        C = function_class(torch, fw3, lambda ctx, *g: (log.append(g), g[0])[1])
        p, q = C.apply(x)
        note(f"{mat} non diff", lambda: (torch.autograd.grad(p.sum(), x), log))
        log.clear()

    def fw3(ctx, a):
        ctx._materialize_non_diff_grads = False
        b = a * 2
        ctx.mark_non_differentiable(b)
        return (a * 1, b)

    C = function_class(torch, fw3, lambda ctx, *g: (log.append(g), g[0])[1])
    p, q = C.apply(x)
    note("non diff flag", lambda: (torch.autograd.grad(p.sum(), x), log))
    log.clear()


STORIES = [absent_gradients, order, handles, raising, backward_within_backward, undefined_gradients]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
