"""backward and grad against PyTorch: values, accumulation, what is freed, what is refused."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def arguments_of_backward(torch, note):
    x = leaf(torch, 1.0, 2.0, 3.0)
    y = x * x
    note("non-scalar", lambda: y.backward())
    note("given", lambda: y.backward(torch.ones(3), retain_graph=True))
    note("grad", lambda: x.grad)
    note("shape", lambda: y.backward(torch.ones(2)))
    note("broadcast", lambda: y.backward(torch.ones(1)))
    note("list", lambda: y.backward([1.0, 1.0, 1.0]))
    note("dtype", lambda: y.backward(torch.ones(3, dtype=torch.float64), retain_graph=True))
    note("int", lambda: y.backward(torch.ones(3, dtype=torch.int64), retain_graph=True))
    note("complex", lambda: y.backward(torch.ones(3, dtype=torch.complex64), retain_graph=True))
    note("grad", lambda: (x.grad, x.grad.dtype))
    note("free", lambda: y.backward(torch.ones(3)))
    note("twice", lambda: y.backward(torch.ones(3)))
    note("no grad", lambda: torch.ones(3).sum().backward())
    note("integers", lambda: torch.ones(3, dtype=torch.int64).sum().backward())
    note("leaf itself", lambda: leaf(torch, 1.0).backward())
    z = leaf(torch, 1.0)
    note("leaf", lambda: z.backward())
    note("leaf", lambda: z.grad)
    w = leaf(torch, [[2.0]])
    note("one element", lambda: (w * 3).backward())
    note("one element", lambda: w.grad)
    c = leaf(torch, 1.0 + 2j)
    note("complex scalar", lambda: (c * c).backward())
    note("complex real", lambda: (c * c.conj()).real.backward())
    note("complex real", lambda: c.grad)
    note("complex given", lambda: (c * c).backward(torch.tensor(1.0 + 0j)))
    note("complex given", lambda: c.grad)
    note("real for complex", lambda: (c * c).backward(torch.tensor(1.0)))


def functions_of_autograd(torch, note):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    backward, grad = torch.autograd.backward, torch.autograd.grad
    note("several", lambda: backward([x.sum(), (x * y).sum()]))
    note("several", lambda: (x.grad, y.grad))
    note("with gradients", lambda: backward((x * 2, y.sum()), (torch.ones(2), None)))
    note("with gradients", lambda: (x.grad, y.grad))
    note("count", lambda: backward((x * 2, y.sum()), (torch.ones(2),)))
    note("empty inputs", lambda: backward(x.sum(), inputs=[]))
    note("inputs", lambda: backward((x * y).sum(), inputs=[x]))
    note("inputs", lambda: (x.grad, y.grad))
    note("inputs tensor", lambda: (x * y).sum().backward(inputs=y))
    note("inputs", lambda: (x.grad, y.grad))
    note("inputs without grad", lambda: (x * y).sum().backward(inputs=[torch.ones(2)]))
    h = x * 2
    note("inputs non-leaf", lambda: (h * y).sum().backward(inputs=[h], retain_graph=True))
    note("inputs non-leaf", lambda: (h.grad, h.retains_grad, x.grad))
    note("inputs unrelated", lambda: (x * 2).sum().backward(inputs=[y]))
    note("inputs unrelated", lambda: y.grad)
    note("none second", lambda: backward([x.sum(), torch.ones(1)]))
    note("grad", lambda: grad((x * y).sum(), (x, y)))
    note("grad list", lambda: grad([(x * y).sum(), x.sum()], [x]))
    note("unused", lambda: grad(x.sum(), (x, y)))
    note("allow", lambda: grad(x.sum(), (x, y), allow_unused=True))
    note("materialize", lambda: grad(x.sum(), (x, y), materialize_grads=True))
    note("materialize", lambda: grad(x.sum(), (x, y), materialize_grads=True, allow_unused=False))
    note("input without grad", lambda: grad(x.sum(), torch.ones(2)))
    note("output is input", lambda: grad(x.sum(), x))
    s = x.sum()
    note("same", lambda: grad(s, s))
    note("same leaf", lambda: grad(x, x, torch.ones(2)))
    note("same twice", lambda: grad(s * 2, (s, s)))
    note("intermediate", lambda: grad((h * h).sum(), (h, x)))
    note("intermediate", lambda: grad((h * h).sum(), h))
    note("no grad output", lambda: grad(torch.ones(()), x))
    note("second no grad", lambda: grad([x.sum(), torch.ones(())], x))
    note("non scalar", lambda: grad(x * 2, x))
    note("shape", lambda: grad(x * 2, x, torch.ones(3)))
    note("create", lambda: grad((x**3).sum(), x, create_graph=True))
    (g,) = grad((x**3).sum(), x, create_graph=True)
    note("double", lambda: grad(g.sum(), x, create_graph=True))
    note(
        "triple",
        lambda: grad(grad(grad((x**3).sum(), x, create_graph=True)[0].sum(), x, create_graph=True)[0].sum(), x),
    )
    note("string", lambda: grad("a", x))
    note("string input", lambda: grad(x.sum(), "a"))
    note("string input", lambda: x.sum().backward(inputs=["a"]))
    note("empty", lambda: grad([], []))
    note("empty inputs", lambda: grad(x.sum(), []))
    note("empty outputs", lambda: grad([], [x]))
    note("nothing touched", lambda: (x.grad, y.grad))


def batched_gradients(torch, note):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0)
    grad = torch.autograd.grad
    note("rows", lambda: grad(x * x, x, torch.eye(2), is_grads_batched=True))
    note("two", lambda: grad((x * y, y * 2), (x, y), (torch.eye(2), torch.ones(2)), is_grads_batched=True))
    note("unused", lambda: grad(x * x, (x, y), torch.eye(2), is_grads_batched=True))
    note("allow", lambda: grad(x * x, (x, y), torch.eye(2), is_grads_batched=True, allow_unused=True))


def accumulation(torch, note):
    x = leaf(torch, 1.0, 2.0)
    x.sum().backward()
    first = x.grad
    x.sum().backward()
    note("in place", lambda: (x.grad is first, first))
    x.sum().backward(create_graph=True)
    note("new under create_graph", lambda: (x.grad is first, first, x.grad))
    x.grad = None
    g = torch.ones(2)
    x.backward(g)
    note("not the caller's own", lambda: (x.grad is g, x.grad.data_ptr() == g.data_ptr(), g))
    x.backward(g)
    note("caller's stays", lambda: (x.grad, g))
    y = leaf(torch, 1.0, 2.0)
    ((x * 2) + y).backward(torch.ones(2))
    note("shared gradient", lambda: (x.grad.data_ptr() != y.grad.data_ptr(), x.grad, y.grad))
    a, b = leaf(torch, 1.0), leaf(torch, 2.0)
    (a + b).backward()
    a.grad.mul_(10)
    note("independent", lambda: (a.grad, b.grad))
    x.grad = torch.zeros(2, dtype=torch.float32)
    kept = x.grad
    (x * 3).sum().backward()
    note("assigned", lambda: (x.grad is kept, kept))
    m = torch.ones(2, 3, requires_grad=True)
    m.t().sum().backward()
    note("layout", lambda: m.grad.stride())
    m.grad = None
    m.t().backward(torch.arange(6.0).reshape(3, 2))
    note("layout of transposed", lambda: (m.grad.stride(), m.grad))
    t = torch.ones(2, 3).t().requires_grad_()
    (t * 2).sum().backward()
    note("strided leaf", lambda: (t.grad.stride(), t.is_contiguous()))
    e = torch.ones(3, requires_grad=True)
    e.expand(4, 3).sum().backward()
    note("expanded", lambda: (e.grad, e.grad.stride()))
    e.grad = None
    e.sum().backward()
    note("expanded gradient", lambda: e.grad.stride())
    note("requires grad", lambda: e.grad.requires_grad)
    e.grad = None
    e.pow(2).sum().backward(create_graph=True)
    note("create_graph", lambda: (e.grad.requires_grad, e.grad.grad_fn is not None))


def bad_assignments_of_grad(torch, note):
    x = leaf(torch, 1.0, 2.0)

    def assign(value):
        x.grad = value

    note("list", lambda: assign([1.0, 2.0]))
    note("number", lambda: assign(1.0))
    note("self", lambda: assign(x))
    note("dtype", lambda: assign(torch.ones(2, dtype=torch.float64)))
    note("shape", lambda: assign(torch.ones(3)))
    note("broadcast", lambda: assign(torch.ones(1)))
    note("good", lambda: assign(torch.ones(2)))
    note("good", lambda: x.grad)
    note("tracked", lambda: assign(x * 2))
    note("tracked", lambda: x.grad)
    note("none", lambda: assign(None))
    note("none", lambda: x.grad)

    def delete():
        del x.grad

    note("delete", delete)
    note("delete", lambda: x.grad)
    i = torch.ones(2, dtype=torch.int64)

    def assign_int(value):
        i.grad = value

    note("int", lambda: assign_int(torch.ones(2, dtype=torch.int64)))


def non_leaf_gradients(torch, note):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    note("before", lambda: y.grad)
    y.sum().backward()
    note("after", lambda: y.grad)
    y = x * 2
    note("retain", lambda: (y.retain_grad(), y.retains_grad, y.grad))
    y.sum().backward(retain_graph=True)
    note("retained", lambda: y.grad)
    y.sum().backward(retain_graph=True)
    note("retained twice", lambda: y.grad)
    note("on leaf", lambda: (x.retain_grad(), x.retains_grad))
    note("without grad", lambda: torch.ones(2).retain_grad())
    note("without grad", lambda: torch.ones(2).retains_grad)
    z = x * 2
    z.retain_grad()
    z.mul_(3)
    note("after in-place", lambda: z.retains_grad)
    (z * 5).sum().backward()
    note("after in-place", lambda: z.grad)
    a = x * 2
    a.mul_(3)
    a.retain_grad()
    (a * 5).sum().backward()
    note("retain after in-place", lambda: a.grad)
    b = x * 2
    v = b[:1]
    b.retain_grad()
    v.mul_(3)
    (b * 5).sum().backward()
    note("base written by view", lambda: (b.retains_grad, b.grad))
    c = x * 2
    w = c[:1]
    w.retain_grad()
    w.mul_(3)
    (c * 5).sum().backward()
    note("retained view", lambda: (w.retains_grad, w.grad))
    d = x * 2
    d.retain_grad()
    d.sum().backward(create_graph=True)
    note("create_graph", lambda: d.grad)


def requires_grad_flag(torch, note):
    i = torch.tensor([1, 2])
    note("int", lambda: i.requires_grad_())
    note("bool", lambda: torch.tensor([True]).requires_grad_())
    note("int constructor", lambda: torch.tensor([1], requires_grad=True))
    note("int zeros", lambda: torch.zeros(2, dtype=torch.int64, requires_grad=True))
    note("int off", lambda: i.requires_grad_(False))

    def assign(tensor, value):
        tensor.requires_grad = value

    note("int assign", lambda: assign(i, True))
    x = leaf(torch, 1.0)
    y = x * 2
    note("non-leaf", lambda: y.requires_grad_(False))
    note("non-leaf assign", lambda: assign(y, False))
    note("non-leaf on", lambda: y.requires_grad_(True))
    note("off", lambda: x.requires_grad_(False))
    note("on", lambda: x.requires_grad_())
    note("number", lambda: assign(x, 1))
    note("string", lambda: assign(x, "a"))
    note("complex", lambda: torch.tensor(1j).requires_grad_())
    note(
        "leafness", lambda: (x.is_leaf, y.is_leaf, y.detach().is_leaf, torch.ones(1).is_leaf, y.output_nr, x.output_nr)
    )
    v = torch.ones(3)[1:]
    note("view becomes leaf", lambda: v.requires_grad_())
    note("view leaf", lambda: (v.is_leaf, v.grad_fn, v._is_view()))


def taking_out_of_the_graph(torch, note):
    x = leaf(torch, 1.0, 2.0)
    y = x * 2
    d = y.detach()
    note("detach", lambda: (d, d.requires_grad, d.data_ptr() == y.data_ptr(), d.is_leaf, d._is_view()))
    d.add_(1)
    note("shares versions", lambda: (y._version, d._version, y))
    z = (x * 2).exp()
    z.data.add_(1)
    note("data has its own version", lambda: (z._version, z.data.requires_grad))
    note("detach_", lambda: (x * 2).detach_())
    note("detach_ leaf", lambda: leaf(torch, 1.0).detach_())
    note("detach_ view", lambda: (x * 2)[:1].detach_())
    note("detach_ plain view", lambda: torch.ones(2)[:1].detach_())
    w = leaf(torch, 1.0, 2.0)
    out = w * w

    def assign(tensor, value):
        tensor.data = value

    note("assign data", lambda: assign(w, torch.zeros(2)))
    note("assigned", lambda: (w, w._version))
    out.sum().backward()
    note("gradient of old data", lambda: w.grad)
    note("other shape", lambda: assign(w, torch.ones(3)))
    note("other shape", lambda: w)
    note("list", lambda: assign(w, [1.0]))
    note("other dtype", lambda: assign(leaf(torch, 1.0), torch.ones((), dtype=torch.int64)))
    note("detached in place keeps grad", lambda: (w.detach_().requires_grad, w.grad is None))
    note("item of grad", lambda: x[0].item())
    note("numpy", lambda: x.numpy())
    note("numpy forced", lambda: x.numpy(force=True))
    note("numpy non-leaf", lambda: y.numpy())
    note("float", lambda: float((x * 2)[0].detach()))


def freed_graphs(torch, note):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    node = y.grad_fn
    note("saved", lambda: node._saved_result)
    y.sum().backward()
    note("freed attribute", lambda: node._saved_result)
    note("freed backward", lambda: y.sum().backward())
    note("freed grad", lambda: torch.autograd.grad(y.sum(), x))
    s = x + 1
    s.sum().backward()
    note("nothing saved", lambda: s.sum().backward())
    note("nothing saved", lambda: x.grad)
    p = x * x
    note("grad keeps", lambda: torch.autograd.grad(p.sum(), x, retain_graph=True))
    note("grad frees", lambda: torch.autograd.grad(p.sum(), x))
    note("freed", lambda: torch.autograd.grad(p.sum(), x))
    q = x * x
    r = q * q
    note("partial", lambda: torch.autograd.grad(r.sum(), q))
    note("below is left", lambda: torch.autograd.grad(q.sum(), x))


STORIES = [arguments_of_backward, functions_of_autograd, batched_gradients, accumulation, bad_assignments_of_grad,
           non_leaf_gradients, requires_grad_flag, taking_out_of_the_graph, freed_graphs]  # fmt: skip


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
