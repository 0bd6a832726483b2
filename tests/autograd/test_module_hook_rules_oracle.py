"""Hooks of modules against PyTorch: every form of argument, global ones, errors."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def forward_hooks(torch, note):
    nn = torch.nn
    log = []

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor(2.0))
            self.l = nn.Identity()

        def forward(self, a, b=1, *, k=3):
            return self.l(a * self.w * b * k)

    m = M()
    x = leaf(torch, 1.0, 2.0)

    def L(n, r=None):
        return lambda *a: (log.append((n, len(a), a[1:])), r)[1]

    hs = [
        m.register_forward_pre_hook(L("p1")),
        m.register_forward_pre_hook(L("p2"), prepend=True),
        m.register_forward_pre_hook(L("pk"), with_kwargs=True),
        m.register_forward_hook(L("f1")),
        m.register_forward_hook(L("f2"), prepend=True),
        m.register_forward_hook(L("fk"), with_kwargs=True),
        m.register_forward_hook(L("fa"), always_call=True),
    ]
    note("order", lambda: (m(x, 2, k=5), log))
    log.clear()
    for h in hs:
        h.remove()
    note(
        "counts",
        lambda: (
            len(m._forward_hooks),
            len(m._forward_pre_hooks),
            len(m._forward_hooks_with_kwargs),
            len(m._forward_hooks_always_called),
            len(m._forward_pre_hooks_with_kwargs),
        ),
    )

    def once(reg, call=lambda: m(x, 2, k=5)):

        def run():
            h = reg()
            try:
                return call()
            finally:
                h.remove()

        return run

    note("pre value", once(lambda: m.register_forward_pre_hook(lambda mod, a: a[0] * 10)))
    note("pre tuple", once(lambda: m.register_forward_pre_hook(lambda mod, a: (a[0] * 10, 7))))
    note("pre list", once(lambda: m.register_forward_pre_hook(lambda mod, a: [a[0]])))
    note("pre kw", once(lambda: m.register_forward_pre_hook(lambda mod, a, k: (a, {"k": 100}), with_kwargs=True)))
    note("pre kw bad2", once(lambda: m.register_forward_pre_hook(lambda mod, a, k: (a, k, 1), with_kwargs=True)))
    note("pre kw num", once(lambda: m.register_forward_pre_hook(lambda mod, a, k: 3, with_kwargs=True)))
    note("post value", once(lambda: m.register_forward_hook(lambda mod, a, o: o * 0)))
    note("post kw", once(lambda: m.register_forward_hook(lambda mod, a, k, o: (k, o), with_kwargs=True)))
    note("pre raises", once(lambda: m.register_forward_pre_hook(lambda mod, a: 1 / 0)))
    note("post raises", once(lambda: m.register_forward_hook(lambda mod, a, o: 1 / 0)))

    class Bad(nn.Module):
        def forward(self, a):
            raise ValueError("boom")

    b = Bad()
    b.register_forward_hook(L("normal"))
    b.register_forward_hook(L("always"), always_call=True)
    b.register_forward_hook(L("always kw"), always_call=True, with_kwargs=True)
    note("failing forward", lambda: b(x))
    note("log", lambda: log)
    log.clear()
    b2 = Bad()
    b2.register_forward_hook(lambda *a: 1 / 0, always_call=True)
    note("failing both", lambda: b2(x))
    b3 = M()
    b3.register_forward_hook(lambda *a: 1 / 0)
    b3.register_forward_hook(L("after failing"), always_call=True)
    note("failing hook", lambda: b3(x))
    note("log", lambda: log)
    log.clear()
    R = nn.modules.module
    gs = [
        R.register_module_forward_pre_hook(L("gp")),
        R.register_module_forward_hook(L("gf")),
        R.register_module_forward_hook(L("gfk"), with_kwargs=True),
        R.register_module_forward_hook(L("gfa"), always_call=True),
    ]
    m.register_forward_hook(L("mine"))
    m.register_forward_pre_hook(L("minep"))
    note("global", lambda: (m(x), log))
    log.clear()
    note("global failing", lambda: Bad()(x))
    note("log", lambda: log)
    log.clear()
    for g in gs:
        g.remove()
    note("global gone", lambda: (m(x), log))
    log.clear()
    note("sig2", lambda: m.register_forward_hook(lambda *a: None, prepend=1).remove())
    h = m.register_forward_hook(L("dup"))
    note("ids", lambda: h.id in m._forward_hooks)
    import copy

    m2 = copy.deepcopy(m)
    log.clear()
    note("copied", lambda: (m2(x), log))
    log.clear()


def backward_hooks(torch, note):
    nn = torch.nn
    log = []

    def L(n, r=None):
        return lambda *a: (log.append((n, a[1:])), r(*a) if r else None)[1]

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.tensor(2.0))

        def forward(self, a, b=None):
            return a * self.w if b is None else (a * self.w, b * 3)

    x, y = (leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0))

    def once(reg, call):

        def run():
            m = M()
            hs = reg(m)
            x.grad = y.grad = None
            call(m).backward()
            r = (list(log), x.grad, y.grad, m.w.grad)
            log.clear()
            return r

        return run

    one = lambda m: m(x).sum()
    two = lambda m: (lambda o: o[0].sum() + 2 * o[1].sum())(m(x, y))
    note("full", once(lambda m: m.register_full_backward_hook(L("f")), one))
    note("full two", once(lambda m: m.register_full_backward_hook(L("f")), two))
    note("full one out", once(lambda m: m.register_full_backward_hook(L("f")), lambda m: m(x, y)[0].sum()))
    note("full other out", once(lambda m: m.register_full_backward_hook(L("f")), lambda m: m(x, y)[1].sum()))
    note("full input plain", once(lambda m: m.register_full_backward_hook(L("f")), lambda m: m(torch.ones(2)).sum()))
    note(
        "full kwargs",
        once(lambda m: m.register_full_backward_hook(L("f")), lambda m: (lambda o: o[0].sum())(m(x, b=y))),
    )
    note(
        "full mixed",
        once(
            lambda m: m.register_full_backward_hook(L("f")),
            lambda m: (lambda o: o[0].sum() + o[1].sum())(m(x, torch.ones(2))),
        ),
    )
    note(
        "order",
        once(
            lambda m: (
                m.register_full_backward_hook(L("1")),
                m.register_full_backward_hook(L("2")),
                m.register_full_backward_hook(L("0"), prepend=True),
            ),
            one,
        ),
    )
    note("pre", once(lambda m: (m.register_full_backward_pre_hook(L("p")), m.register_full_backward_hook(L("f"))), one))
    note(
        "pre order",
        once(
            lambda m: (
                m.register_full_backward_pre_hook(L("p")),
                m.register_full_backward_pre_hook(L("p0"), prepend=True),
            ),
            one,
        ),
    )
    note("pre alone plain", once(lambda m: m.register_full_backward_pre_hook(L("p")), lambda m: m(torch.ones(2)).sum()))
    note("pre value", once(lambda m: m.register_full_backward_pre_hook(L("p", lambda mod, g: g[0] * 10)), one))
    note("pre tuple", once(lambda m: m.register_full_backward_pre_hook(L("p", lambda mod, g: (g[0] * 10,))), one))
    note("pre bad", once(lambda m: m.register_full_backward_pre_hook(L("p", lambda mod, g: (g[0], g[0]))), one))
    log.clear()
    note("value", once(lambda m: m.register_full_backward_hook(L("f", lambda mod, i, o: i[0] * 10)), one))
    note("tuple", once(lambda m: m.register_full_backward_hook(L("f", lambda mod, i, o: (i[0] * 10,))), one))
    note("bad len", once(lambda m: m.register_full_backward_hook(L("f", lambda mod, i, o: (i[0], i[0]))), one))
    log.clear()
    note("bad shape", once(lambda m: m.register_full_backward_hook(L("f", lambda mod, i, o: (torch.ones(3),))), one))
    log.clear()
    note("returns none tuple", once(lambda m: m.register_full_backward_hook(L("f", lambda mod, i, o: (None,))), one))
    log.clear()
    note(
        "plain returns",
        once(
            lambda m: m.register_full_backward_hook(L("f", lambda mod, i, o: (torch.ones(2),))),
            lambda m: m(torch.ones(2)).sum(),
        ),
    )
    log.clear()
    note("raises", once(lambda m: m.register_full_backward_hook(lambda *a: 1 / 0), one))
    log.clear()
    note("old", once(lambda m: m.register_backward_hook(L("o")), one))
    note("old value", once(lambda m: m.register_backward_hook(L("o", lambda mod, i, o: (i[0] * 2, i[1]))), one))
    note("mix", once(lambda m: (m.register_backward_hook(L("o")), m.register_full_backward_hook(L("f"))), one))
    log.clear()
    note("mix2", once(lambda m: (m.register_full_backward_hook(L("f")), m.register_backward_hook(L("o"))), one))
    log.clear()
    note("removed", once(lambda m: m.register_full_backward_hook(L("f")).remove(), one))
    note("twice", once(lambda m: m.register_full_backward_hook(L("f")), lambda m: m(m(x)).sum()))
    note("view inplace", once(lambda m: m.register_full_backward_hook(L("f")), lambda m: m(x).add_(1).sum()))
    log.clear()

    class In(nn.Module):
        def forward(self, a):
            return a.add_(1)

    def ip():
        m = In()
        m.register_full_backward_hook(L("f"))
        return m(x * 1).sum().backward()

    note("in place input", ip)
    log.clear()

    class D(nn.Module):
        def forward(self, a):
            return {"a": a * 2, "l": [a * 3]}

    def dd():
        m = D()
        m.register_full_backward_hook(L("f"))
        x.grad = None
        o = m(x)
        (o["a"].sum() + o["l"][0].sum()).backward()
        return (log, x.grad)

    note("dict out", dd)
    log.clear()

    class Li(nn.Module):
        def forward(self, l):
            return l[0] * l[1]

    def li():
        m = Li()
        m.register_full_backward_hook(L("f"))
        x.grad = None
        m([x, y]).sum().backward()
        return (log, x.grad)

    note("list in", li)
    log.clear()

    class Non(nn.Module):
        def forward(self, a):
            return 3

    def no():
        m = Non()
        m.register_full_backward_hook(L("f"))
        return m(x)

    note("non tensor out", no)
    log.clear()
    with torch.no_grad():

        def ng():
            m = M()
            m.register_full_backward_hook(L("f"))
            m.register_full_backward_pre_hook(L("p"))
            return m(x)

        note("no grad", ng)
    R = nn.modules.module
    g = R.register_module_full_backward_hook(L("G"))
    note("global", once(lambda m: m.register_full_backward_hook(L("f")), one))
    g.remove()
    g = R.register_module_full_backward_pre_hook(L("GP"))
    note("global pre", once(lambda m: m.register_full_backward_pre_hook(L("p")), one))
    g.remove()
    note("mode old after full", lambda: R.register_module_backward_hook(L("o")))

    def grad():
        m = M()
        m.register_full_backward_hook(L("f"))
        return (torch.autograd.grad(m(x).sum(), x), log)

    note("autograd.grad", grad)
    log.clear()

    def create():
        m = M()
        m.register_full_backward_hook(L("f"))
        return (torch.autograd.grad(torch.autograd.grad((m(x) ** 3).sum(), x, create_graph=True)[0].sum(), x), len(log))

    note("double", create)
    log.clear()

    def retain():
        m = M()
        m.register_full_backward_hook(L("f"))
        o = m(x).sum()
        o.backward(retain_graph=True)
        o.backward()
        return len(log)

    note("retain", retain)
    log.clear()

    def seq():
        s = nn.Sequential(M(), nn.ReLU(), M())
        [q.register_full_backward_hook(lambda mod, i, o, n=n: log.append(n)) for n, q in enumerate(s)]
        s.register_full_backward_hook(lambda *a: log.append("s"))
        s(x).sum().backward()
        return log

    note("sequential", seq)
    log.clear()


STORIES = [forward_hooks, backward_hooks]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
