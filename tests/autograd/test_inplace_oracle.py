"""Views and in-place writes against PyTorch: what is refused, and how the graph follows."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def refused_writes(torch, note):
    x = leaf(torch, 1.0, 2.0, 3.0)
    note("leaf", lambda: x.add_(1))
    note("leaf item", lambda: x.__setitem__(0, 5.0))
    note("view of a leaf", lambda: x[:2].mul_(2))
    note("view of a view of a leaf", lambda: x[:2].view(2, 1).zero_())
    note("out", lambda: torch.add(x, 1, out=torch.zeros(3)))
    note("out into leaf", lambda: torch.add(torch.ones(3), 1, out=leaf(torch, 1.0, 2.0, 3.0)))
    with torch.no_grad():
        note("no_grad", lambda: x.add_(1))
        note("no_grad out", lambda: torch.add(x, 1, out=torch.zeros(3)))
    note("version", lambda: x._version)
    base = x * 2
    with torch.no_grad():
        unrecorded = base[:2]
    note("view made in no_grad", lambda: unrecorded.mul_(2))
    note("its grad_fn", lambda: (unrecorded.requires_grad, unrecorded.grad_fn))
    with torch.no_grad():
        note("view made in no_grad, written there", lambda: unrecorded.mul_(2))
    for name, parts in (("unbind", base.unbind()), ("split", base.split(2)), ("chunk", base.chunk(2))):
        note(f"part of {name}", lambda parts=parts: parts[0].mul_(2))
    with torch.no_grad():
        parts = base.unbind()
    note("unbind in no_grad", lambda: parts[0].mul_(2))
    note("part of a leaf", lambda: x.unbind()[0].mul_(2))
    plain = torch.zeros(3)
    note("part of plain memory", lambda: plain.unbind()[0].add_(x[0]))
    note("plain memory", lambda: plain)
    plain = torch.zeros(3)
    with torch.no_grad():
        view = plain[:2]
    note("unrecorded view gets history", lambda: view.add_(x[:2]))
    note("integers", lambda: torch.ones(2, dtype=torch.int64).add_(x[:2]))
    note("larger", lambda: torch.ones(1).add_(x))
    note("still recorded", lambda: base.sum().backward())


def writes_after_saving(torch, note):
    def fresh():
        return leaf(torch, 1.0, 2.0) * 2

    h = fresh()
    z = h * h
    h.add_(1)
    note("operand", lambda: z.sum().backward())
    e = fresh().exp()
    e.mul_(2)
    note("result", lambda: e.sum().backward())
    h, constant = fresh(), torch.ones(2)
    z = h * constant
    constant.add_(1)
    note("constant", lambda: z.sum().backward())
    h = fresh()
    z = h.sin()
    h[0] = 5
    note("item", lambda: z.sum().backward())
    h = fresh()
    z = h.sin()
    h[:1].view(1).mul_(2)
    note("through views", lambda: z.sum().backward())
    h = fresh()
    v = h[:1]
    z = v.sin()
    h.zero_()
    note("base of saved view", lambda: z.sum().backward())
    h = fresh()
    z = h.sin()
    h.detach().add_(1)
    note("detached", lambda: z.sum().backward())
    h = fresh()
    z = h.sin()
    h.data.add_(1)
    note("data is not seen", lambda: z.sum().backward())
    h = fresh()
    z = h + 1
    h.add_(1)
    note("not needed", lambda: z.sum().backward())
    h = fresh()
    z = torch.cat([h, h])
    h.add_(1)
    note("cat", lambda: z.sum().backward())
    x = leaf(torch, 1.0, 2.0)
    z = x * x
    with torch.no_grad():
        x.add_(1)
    note("leaf", lambda: z.sum().backward())
    h = fresh()
    z = h.relu()
    z.add_(1)
    note("relu", lambda: z.sum().backward())
    h = fresh()
    z = torch.softmax(h, 0)
    torch.autograd.graph.increment_version(z)
    note("increment_version", lambda: z.sum().backward())
    note("versions", lambda: (z._version, h._version))
    s = leaf(torch, 1.0, 2.0) * 1
    total = s.sum()
    s.add_(1)
    note("sum", lambda: total.backward())
    w = leaf(torch, [[1.0, 2.0], [3.0, 4.0]])
    rows = torch.nn.functional.embedding(torch.tensor([0, 1]), w)
    with torch.no_grad():
        w.add_(1)
    note("embedding", lambda: rows.sum().backward())
    buffer, source = torch.zeros(2), fresh()
    buffer.copy_(source)
    source.add_(1)
    note("copy_", lambda: buffer.sum().backward())


def graph_follows(torch, note):
    x = leaf(torch, 1.0, 2.0, 3.0)

    def after(name, result):
        note(name, lambda: (result, torch.autograd.grad(result.sum(), x, retain_graph=True)))

    a = x * 2
    a.mul_(3)
    after("whole", a)
    a = x * 2
    a[1:] = 0
    after("slice set", a)
    note("name", lambda: (a.grad_fn.name(), a.grad_fn.next_functions[0][0].name()))
    a = x * 2
    v = a[1:]
    v.mul_(x[:2])
    after("view written", a)
    after("the view", v)
    note("view name", lambda: v.grad_fn.name())
    a = x * 2
    v = a[1:]
    a.mul_(5)
    after("base written", v)
    note("view name", lambda: v.grad_fn.name())
    a = torch.zeros(3)
    a[0] = x[1]
    after("plain base", a)
    a = torch.zeros(3)
    v = a[:2]
    v.add_(x[:2])
    after("plain base through a view", a)
    note("flags", lambda: (a.requires_grad, a.is_leaf, v.requires_grad))
    a = torch.zeros(2, 3)
    w = a.t()[1:]
    a[1] = x
    after("transposed view", w)
    a = x * 2
    first, second = a[:2], a[1:]
    first.mul_(2)
    second.mul_(3)
    after("overlapping views", a)
    after("overlapping views", first)
    after("overlapping views", second)
    a = x * 2
    v = a.view(3, 1).t()[0]
    v[0] = x[2] * 7
    after("view chain", a)
    after("view chain", v)
    a = x * 2
    a[torch.tensor([0, 2])] = x[:2]
    after("index_put", a)
    note("index_put name", lambda: a.grad_fn.name())
    a = x * 2
    a[a > 3] = 0.5
    after("mask", a)
    a = x * 2
    a.masked_fill_(x > 2, 1.0)
    after("masked_fill_", a)
    a = x * 2
    a.copy_(x * x)
    after("copy_", a)
    note("copy_ name", lambda: a.grad_fn.name())
    a = x * 2
    a.zero_()
    after("zero_", a) if False else note("zero_", lambda: (a, a.requires_grad, a.grad_fn.name()))
    a = x * 2
    a.fill_(x[0])
    note("fill_", lambda: torch.autograd.grad(a.sum(), x))
    a = x * 2
    b = a.clone()
    b.exp_().add_(1).div_(x)
    after("chain", b)
    a = x * 2
    v = a.detach()
    v.mul_(2)
    after("detached view", a)
    c = torch.view_as_real(torch.complex(x, x * 2))
    c[:, 0] *= 2
    note("view_as_real", lambda: torch.autograd.grad(c.sum(), x))
    d = torch.zeros(3, 3)
    d.diagonal().copy_(x)
    after("diagonal", d)
    e = torch.zeros(3)
    e += x
    e -= x * 3
    after("augmented", e)
    f = x.exp()
    g = f.squeeze_() if f.dim() == 1 else f
    after("squeeze_", g)
    h = (x * 2).reshape(3, 1)
    for name, change in (
        ("t_", h.t_),
        ("unsqueeze_", lambda: h.unsqueeze_(0)),
        ("transpose_", lambda: h.transpose_(0, 2)),
    ):
        change()
        note(name, lambda: (h.detach(), torch.autograd.grad(h.sum(), x, retain_graph=True)))
    note("shape", lambda: h.shape)
    plain = torch.ones(2)
    plain.requires_grad_()
    y = plain * 1
    note("swap by slices", lambda: y.__setitem__(slice(None), y.flip(0) * 2))
    note("swapped", lambda: torch.autograd.grad(y[0], plain))


def view_bookkeeping(torch, note):
    x = leaf(torch, 1.0, 2.0, 3.0)
    a = x * 2
    v = a[1:]
    w = v.view(2, 1)
    note("bases", lambda: (a._base is None, v._base is a, w._base is a, a._is_view(), w._is_view()))
    note("detach", lambda: (a.detach()._is_view(), a.detach()._base is None))
    note("versions", lambda: (a._version, v._version))
    v.add_(1)
    note("versions", lambda: (a._version, v._version, w._version))
    with torch.no_grad():
        v.add_(1)
    note("no_grad write counts", lambda: (a._version, a.grad_fn.name()))
    plain = torch.ones(3)
    note("plain views", lambda: (plain[1:]._base is plain, plain[1:].requires_grad, plain.reshape(3)._base is plain))
    note("leaf view", lambda: (x[1:].is_leaf, x[1:].requires_grad, x[1:]._base is x))
    with torch.no_grad():
        u = x[1:]
    note("view of leaf in no_grad", lambda: (u.requires_grad, u.is_leaf))
    i = torch.arange(3)
    note("integer views", lambda: (i[1:]._base is i, i[1:].requires_grad))


STORIES = [refused_writes, writes_after_saving, graph_follows, view_bookkeeping]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
