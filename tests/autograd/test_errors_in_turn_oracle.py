"""Backward that comes to an operation without derivative, against PyTorch: which leaves have their gradients by then."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def moved(torch, x):
    """``x`` in other memory: `set_` has no derivative."""
    found = x.clone()
    found.set_(x * 2)
    return found


WITHOUT_DERIVATIVE = {
    "set_": moved,
    "set_ twice": lambda torch, x: moved(torch, moved(torch, x)),
    "set_ of a view": lambda torch, x: x.view(3).clone()[:].set_(x * 2),
    "heaviside": lambda torch, x: torch.heaviside(x, x),
    "floor_divide": lambda torch, x: x // x,
    "bincount": lambda torch, x: torch.bincount(torch.tensor([0, 1, 2]), x),
    "histogram": lambda torch, x: torch.histogram(torch.ones(3), 3, weight=x)[0],
    "scatter": lambda torch, x: x.scatter(0, torch.tensor([0]), torch.ones(1), reduce="add"),
    "geqrf": lambda torch, x: torch.geqrf(x.diag() + 1)[1],
    "unique": lambda torch, x: x.unique(),
    "unique along a dimension": lambda torch, x: x.unique(dim=0),
    "unique_consecutive": lambda torch, x: x.unique_consecutive(),
}


def second_only(torch, first, second):
    """A product that gives a gradient to its second operand alone."""

    class Second(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, grad):
            return None, grad

    return Second.apply(first, second)


def backward(torch, ends, **options):
    torch.autograd.backward(ends, [torch.ones_like(end) for end in ends], **options)


# What is done with a result without derivative `c` of the leaf `z`, and with the leaf `x`.
USES = {
    "first end": lambda torch, c, x, z: backward(torch, [c, x]),
    "last end": lambda torch, c, x, z: backward(torch, [x, c]),
    "end before its own leaf": lambda torch, c, x, z: backward(torch, [c, z, x]),
    "first factor": lambda torch, c, x, z: (c * x).sum().backward(),
    "last factor": lambda torch, c, x, z: (x * c).sum().backward(),
    "factor twice": lambda torch, c, x, z: (c * x * c).sum().backward(),
    "factor twice, the leaf last": lambda torch, c, x, z: (c * c * x).sum().backward(),
    "end and factor": lambda torch, c, x, z: backward(torch, [c * x, x, c]),
    "later operations": lambda torch, c, x, z: (c.exp() + x.exp()).sum().backward(),
    "earlier operations": lambda torch, c, x, z: (x.exp() + c.exp()).sum().backward(),
    "no gradient arrives": lambda torch, c, x, z: second_only(torch, c, x).sum().backward(),
    "wanted besides": lambda torch, c, x, z: backward(torch, [c * x], inputs=[x]),
    "wanted behind": lambda torch, c, x, z: backward(torch, [c * x], inputs=[x, z]),
    "asked for besides": lambda torch, c, x, z: torch.autograd.grad((c * x).sum(), [c, x]),
    "asked for behind": lambda torch, c, x, z: torch.autograd.grad((c * x).sum(), [x, z]),
}


def errors_in_turn(torch, note):
    for made, make in WITHOUT_DERIVATIVE.items():
        for name, use in USES.items():
            x, z = (torch.tensor([1.0, 2.0, 3.0], requires_grad=True) for _ in range(2))
            c = make(torch, z)
            heard = []
            c.register_hook(lambda grad, heard=heard: heard.append("c"))
            x.register_hook(lambda grad, heard=heard: heard.append("x"))
            note(f"{made}, {name}", lambda use=use, c=c, x=x, z=z: use(torch, c, x, z))
            note("then", lambda x=x, z=z, heard=heard: (sorted(heard), x.grad, z.grad))
        node = make(torch, z).grad_fn
        note("node", lambda node=node: (node.name(), node._sequence_nr() == (1 << 64) - 1))


def test_same_story():
    assert_same_story(errors_in_turn, torch)
