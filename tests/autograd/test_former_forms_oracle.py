"""Tensors that take another form behind their graph, and hooks that stay with the former one, against PyTorch."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def leaf(t, *shape, **options):
    return t.arange(1.0, 1.0 + t.empty(shape).numel(), **options).reshape(shape).clone().requires_grad_()


def quietly(t, change, *arguments):
    """Call a method of a tensor under no_grad, where nothing records it."""
    with t.no_grad():
        change(*arguments)


def data(shape, **options):
    """A change: the tensor's data become ones of that shape."""

    def change(t, y):
        y.data = t.ones(shape, **{name: getattr(t, value) for name, value in options.items()})

    return change


# The shape of a leaf, and what becomes of a tensor computed from it, or of the leaf itself.
CHANGES = {
    "unsqueeze_": ((2,), lambda t, y: quietly(t, y.unsqueeze_, 0)),
    "unsqueeze_ last": ((2,), lambda t, y: quietly(t, y.unsqueeze_, 1)),
    "squeeze_": ((1, 2), lambda t, y: quietly(t, y.squeeze_)),
    "t_": ((2, 3), lambda t, y: quietly(t, y.t_)),
    "transpose_ of a square": ((2, 2), lambda t, y: quietly(t, y.transpose_, 0, 1)),
    "set_": ((2,), lambda t, y: quietly(t, y.set_, t.ones(3))),
    "more rows": ((1, 2), data((3, 2))),
    "another length": ((2,), data((3,))),
    "fewer": ((2, 2), data((1, 2))),
    "none": ((2,), data(())),
    "twice": ((2,), lambda t, y: (data((3, 2))(t, y), data((2,))(t, y))),
    "double": ((2,), data((2,), dtype="float64")),
    "half": ((2,), data((2,), dtype="bfloat16")),
    "complex": ((2,), data((2,), dtype="complex64")),
    "rows of double": ((1, 2), data((3, 2), dtype="float64")),
}


def shown(t, function):
    return [g if g is None else (g.dtype, g) for g in function()]


def computed(t, note):
    """A tensor that an operation made."""
    for name, (shape, change) in CHANGES.items():
        for use in ("backward", "grad", "root", "before and after", "write", "second"):
            x, heard = leaf(t, *shape), []
            y = x * x
            before = y * 2
            y.register_hook(lambda grad, heard=heard: heard.append((grad.dtype, tuple(grad.shape))))
            y.grad_fn.register_prehook(lambda grads, heard=heard: heard.append(tuple(grads[0].shape)))
            y.retain_grad()
            change(t, y)
            if use == "grad":
                note(f"{name}, {use}", lambda y=y, x=x: shown(t, lambda: t.autograd.grad((y * 3).abs().sum(), [y, x])))
            elif use == "root":
                note(f"{name}, {use}", lambda y=y: y.backward(t.ones_like(y)))
            elif use == "before and after":
                note(f"{name}, {use}", lambda y=y, z=before: ((y * 3).abs().sum() + z.sum()).backward())
            elif use == "write":
                note(f"{name}, {use}", lambda y=y: (y.mul_(2), y.abs().sum().backward())[1])
            elif use == "second":
                note(f"{name}, {use}", lambda y=y, x=x: second(t, y, x))
            else:
                note(f"{name}, {use}", lambda y=y: (y * 3).abs().sum().backward())
            note("then", lambda x=x, y=y, heard=heard: (shown(t, lambda: (x.grad, y.grad)), heard))


def second(t, y, x):
    found = t.autograd.grad((y * y).abs().sum(), x, create_graph=True)[0]
    return found, t.autograd.grad(found.sum(), x)


def leaves(t, note):
    """A leaf, whose place in older graphs is still there."""
    for name, (shape, change) in CHANGES.items():
        x = leaf(t, *shape)
        older = x * 2
        change(t, x)
        if x.ndim >= len(shape):  # else PyTorch compares with strides that are not there
            note(f"{name}, older", lambda z=older: z.sum().backward())
            note("then", lambda x=x: shown(t, lambda: (x.grad,)))
        x.grad = None
        note(f"{name}, newer", lambda x=x: (x * 3).abs().sum().backward())
        note("then", lambda x=x: shown(t, lambda: (x.grad,)))
        del older


def views(t, note):
    x = leaf(t, 4)
    base = x * 2
    view = base[:2]
    view.data = t.ones(3, 2)
    note("view", lambda: ((view * 3).sum().backward(), x.grad)[1])
    base.data = t.ones(3, 4)
    note("base", lambda: ((base * 3).sum() * 1, x.grad)[1])
    values, _ = (leaf(t, 4) * 1).sort()
    values.data = t.ones(2, 4)
    note("one of two results", lambda: t.autograd.grad((values * 3).sum(), [values]))
    z = t.arange(3.0).requires_grad_()
    with t.no_grad():
        seen = z.view(3)
    heard = []
    for result in (seen * seen, seen * x.sum(), seen.exp(), seen.expand(2, 3)):
        result.grad_fn.register_hook(lambda inputs, outputs: heard.append([each is None for each in inputs]))
        result.sum().backward()
    note("nothing flows to a view of no_grad", lambda: heard)


def history_of_views(t, note):
    """Views whose base was written into, which take its history: named as PyTorch names them."""
    factor = t.ones((), dtype=t.float64, requires_grad=True)
    views = {
        "pairs": (t.float64, t.view_as_complex),
        "a pair": (t.float64, lambda a: t.view_as_complex(a)[0]),
        "pairs turned": (t.float64, lambda a: t.view_as_complex(a).t()),
        "numbers": (t.complex128, t.view_as_real),
        "real": (t.complex128, lambda a: a.real),
        "conjugate": (t.complex128, lambda a: a.conj()),
        "conjugate turned": (t.complex128, lambda a: a.conj().transpose(0, 1)),
    }
    for name, (dtype, look) in views.items():
        base = t.ones(2, 2, 2, dtype=dtype)
        view = look(base)
        base.mul_(factor)
        note(name, lambda view=view: view.grad_fn.name())


def lazy_gradients(t, note):
    """Gradients with lazy bits, on their way through views of complex numbers."""
    w = t.arange(8.0).reshape(4, 2).requires_grad_()
    z = t.view_as_complex(w)
    note("conjugate", lambda: t.autograd.grad(z, w, t.ones(4).mul(1j).conj(), retain_graph=True))
    note("twice", lambda: t.autograd.grad(z, w, t.ones(8).mul(1j)[::2].conj()))
    c = t.ones(3, dtype=t.complex64).mul(1 + 2j).requires_grad_()
    note("negative", lambda: t.autograd.grad(t.view_as_real(c), c, t.ones(3, 2).mul(1j).conj().imag))
    lazily = t.view_as_complex(w.exp()).conj()
    (first,) = t.autograd.grad((lazily * lazily).abs().sum(), w, create_graph=True)
    note("second", lambda: [round(each, 2) for each in t.autograd.grad(first.sum(), w)[0].flatten()[:3].tolist()])


def hooks(t, note):
    """Hooks belong to what made the tensor when the first of them came, until a write in place."""
    ways = {
        "number": lambda y, x: y.mul_(3),
        "tensor": lambda y, x: y.mul_(x),
        "part": lambda y, x: y[0].mul_(3),
        "key": lambda y, x: y.__setitem__(0, 1),
        "unsqueeze_": lambda y, x: y.unsqueeze_(0),
        "unrecorded": lambda y, x: quietly(t, y.mul_, 3),
        "data": lambda y, x: setattr(y, "data", t.ones(2) * 5),
        "detach_": lambda y, x: y.detach_().requires_grad_(),
        "set to None": lambda y, x: setattr(y, "_backward_hooks", None),
    }
    for name, way in ways.items():
        x, heard = leaf(t, 2), []
        y = x * 2
        y.register_hook(lambda grad, heard=heard: heard.append((1, grad)))
        note(name, lambda y=y: len(y._backward_hooks))
        way(y, x)
        note("after", lambda y=y: y._backward_hooks is None)
        handle = y.register_hook(lambda grad, heard=heard: heard.append((2, grad)))
        y.register_hook(lambda grad, heard=heard: heard.append((3, grad)))
        note("dictionary", lambda y=y: len(y._backward_hooks))
        handle.remove()
        note("heard", lambda y=y, heard=heard: ((y * 3).sum().backward(), heard)[1])
    base = leaf(t, 2, 2) * 2
    view, heard = base[0], []
    view.register_hook(lambda grad: heard.append((1, grad)))
    base.mul_(3)
    view.register_hook(lambda grad: heard.append((2, grad)))
    note("view of what was written", lambda: (view.sum().backward(), heard, view._backward_hooks))
    x, heard = t.ones(2).requires_grad_(), []
    x.register_hook(lambda grad: heard.append((1, grad)))
    x.requires_grad_(False)
    x.mul_(leaf(t, 2))
    x.register_hook(lambda grad: heard.append((2, grad)))
    note("was a leaf", lambda: (x.sum().backward(), heard)[1])
    x, y = leaf(t, 2, 2), leaf(t, 2, 2)
    with t.no_grad():
        diagonal = x.diagonal()
    diagonal.register_hook(print)
    row = y.unbind()[0]
    with t.no_grad():
        x.mul_(2)
        y.mul_(2)
    note("view that may not follow", lambda: diagonal.register_hook(print) and len(diagonal._backward_hooks))
    note("row", lambda: row.register_hook(print))
    note("row again", lambda: row.register_hook(print) and len(row._backward_hooks))


STORIES = [computed, leaves, views, history_of_views, lazy_gradients, hooks]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
