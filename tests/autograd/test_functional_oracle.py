"""torch.autograd.functional against PyTorch."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def products(torch, note):
    F = torch.autograd.functional
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    cube, total, ones = (lambda a: a**3), (lambda a: (a**3).sum()), torch.ones(2)
    for name in ("vjp", "jvp"):
        product = getattr(F, name)
        note(name, lambda: product(cube, x, y))
        note("two", lambda: product(lambda a, b: a * b, (x, y), y if name == "vjp" else (x, y)))
        note("tuples", lambda: product(lambda a: (a * 2, a.sum()), (x,), (x, x[0]) if name == "vjp" else (y,)))
        note("left away", lambda: product(cube, x))
        note("one element", lambda: product(lambda a: a * 2, x[:1]))
        note("size", lambda: product(cube, x, torch.ones(3)))
        note("length", lambda: product(lambda *a: a, (x, x), (x, x, x)))
        note("type", lambda: product(cube, x, 3))
        note("independent", lambda: product(lambda a: torch.ones(2), x, x))
        note("strict", lambda: product(lambda a: torch.ones(2), x, x, strict=True))
        tracked = x.clone().requires_grad_()
        note("graph", lambda: [t.detach() for t in product(cube, tracked, y, create_graph=True)])
        note("tracked", lambda: [t.requires_grad for t in product(cube, tracked, y)])
        note("through", lambda: torch.autograd.grad(product(cube, tracked, y, create_graph=True)[1].sum(), tracked))
        note("no_grad", lambda: torch.no_grad()(lambda: product(cube, x, y))())
    for name in ("vhp", "hvp"):
        product = getattr(F, name)
        note(name, lambda: product(total, x, y))
        note("two", lambda: product(lambda a, b: (a * b).sum() + (a**2).sum(), (x, y), (y, ones)))
        note("linear", lambda: product(lambda a: a.sum(), x, x))
        note("strict", lambda: product(lambda a: a.sum(), x, x, strict=True))
        note("not scalar", lambda: product(cube, x, x))
        note("tuple", lambda: product(lambda a: (a.sum(), a.sum()), x, x))
        note("left away", lambda: product(total, x))


def matrices(torch, note):
    F = torch.autograd.functional
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([[3.0], [4.0]])
    cube, total = (lambda a: a**3), (lambda a: (a**3).sum())
    note("jacobian", lambda: F.jacobian(cube, x))
    note("two", lambda: F.jacobian(lambda a, b: a * b, (x, y)))
    note("outputs", lambda: F.jacobian(lambda a, b: (a.sum(), a * b.sum()), (x, y)))
    note("tuple of one", lambda: F.jacobian(lambda a: (a * 2,), (x,)))
    note("independent", lambda: F.jacobian(lambda a, b: a * 2, (x, y)))
    note("strict", lambda: F.jacobian(lambda a, b: a * 2, (x, y), strict=True))
    note("constant", lambda: F.jacobian(lambda a: torch.ones(2), x))
    note("constant, strict", lambda: F.jacobian(lambda a: torch.ones(2), x, strict=True))
    note("vectorize", lambda: F.jacobian(cube, x, vectorize=True))
    note("vectorize, strict", lambda: F.jacobian(cube, x, vectorize=True, strict=True))
    note("forward", lambda: F.jacobian(cube, x, vectorize=True, strategy="forward-mode"))
    note("forward alone", lambda: F.jacobian(cube, x, strategy="forward-mode"))
    note("strategy", lambda: F.jacobian(cube, x, strategy="other"))
    note("number", lambda: F.jacobian(lambda a: 3, x))
    note("number given", lambda: F.jacobian(cube, 3))
    note("number in a tuple", lambda: F.jacobian(cube, (x, 3)))
    note("graph", lambda: F.jacobian(cube, x, create_graph=True).requires_grad)
    tracked = x.clone().requires_grad_()
    note("through", lambda: torch.autograd.grad(F.jacobian(cube, tracked, create_graph=True).sum(), tracked))
    note("hessian", lambda: F.hessian(total, x))
    note("hessian of two", lambda: F.hessian(lambda a, b: (a * b).sum() + (b**2).sum(), (x, y)))
    note("hessian of a linear one", lambda: F.hessian(lambda a: a.sum(), x))
    note("strict hessian", lambda: F.hessian(lambda a: a.sum(), x, strict=True))
    note("not scalar", lambda: F.hessian(cube, x))
    note("tuple", lambda: F.hessian(lambda a: (a.sum(), a.sum()), x))
    note("third order", lambda: F.jacobian(lambda a: F.hessian(total, a, create_graph=True), x))
    note("untouched", lambda: (x.grad, x.requires_grad))


STORIES = [products, matrices]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
