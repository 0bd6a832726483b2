"""torch.autograd.functional against PyTorch: vectorized and forward-mode Jacobians, strict mode; batched gradients."""

import pytest
from stories import assert_same_story

torch = pytest.importorskip("torch")


def detached(value):
    return value.detach() if hasattr(value, "detach") else [detached(each) for each in value]


def matrices(torch, note):
    F = torch.autograd.functional
    x, y = (torch.tensor([1.0, 2.0]), torch.tensor([[3.0], [4.0]]))
    cube, total = (lambda a: a**3, lambda a: (a**3).sum())
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for k in ({}, dict(vectorize=True), dict(vectorize=True, strategy="forward-mode")):
        t = str(k)
        for nm, f, a in (
            ("cube", cube, x),
            ("two", lambda a, b: a * b, (x, y)),
            ("outs", lambda a, b: (a.sum(), a * b.sum()), (x, y)),
            ("indep", lambda a, b: a * 2, (x, y)),
            ("const", lambda a: torch.ones(2), x),
            ("const2", lambda a: (torch.ones(2), a), x),
            ("scalar", total, x),
            ("tuple of one", lambda a: (a * 2,), (x,)),
            ("mm", lambda a: (w @ a).sin(), x),
            ("soft", lambda a: a.softmax(0), x),
            ("identity", lambda a: a, x),
            ("ints", lambda a: a[torch.tensor([1, 0])], x),
            ("inplace", lambda a: a.clone().mul_(2).add_(a), x),
            ("number", lambda a: 3, x),
            ("list", lambda a: [a, a], x),
            ("complex", lambda a: a * (1 + 2j), x),
            ("cinput", lambda a: a * a, x + 1j * x),
            ("linear", lambda a: torch.nn.functional.linear(a, w), x),
            ("double", lambda a: a.double() * 2, x),
        ):
            note(f"{nm} {t}", lambda: F.jacobian(f, a, **k))
        for kk in (dict(create_graph=True), dict(strict=True), dict(create_graph=True, strict=True)):
            for nm, f in (("cube", cube), ("lin", lambda a: a * 2), ("const", lambda a: torch.ones(2))):
                note(f"{nm} {t} {kk}", lambda: F.jacobian(f, x, **k, **kk).detach())
        xr = x.clone().requires_grad_()
        note(f"through {t}", lambda: torch.autograd.grad(F.jacobian(cube, xr, create_graph=True, **k).sum(), xr))
        note(f"req {t}", lambda: F.jacobian(cube, xr, **k).requires_grad)
    for k in (
        {},
        dict(vectorize=True),
        dict(vectorize=True, outer_jacobian_strategy="forward-mode"),
        dict(outer_jacobian_strategy="forward-mode"),
        dict(outer_jacobian_strategy="x"),
    ):
        t = str(k)
        for nm, f, a in (
            ("total", total, x),
            ("two", lambda a, b: (a * b).sum() + (b**2).sum(), (x, y)),
            ("linear", lambda a: a.sum(), x),
            ("const", lambda a: torch.ones(()), x),
            ("not scalar", cube, x),
            ("tuple", lambda a: (a.sum(), a.sum()), x),
            ("mixed", lambda a: (a.sin() * a.exp()).sum(), x),
            ("shape1", lambda a: (a**3).sum(0, keepdim=True), x),
        ):
            note(f"h {nm} {t}", lambda: detached(F.hessian(f, a, **k)))
            note(f"h {nm} {t} strict", lambda: F.hessian(f, a, strict=True, **k))
            note(f"h {nm} {t} create", lambda: F.hessian(f, a, create_graph=True, **k).requires_grad)
    z = x.clone().requires_grad_()
    o = z**3
    g = lambda *a, **k: torch.autograd.grad(*a, is_grads_batched=True, **k)
    note("batched", lambda: g(o, z, torch.eye(2), retain_graph=True))
    note("batched create", lambda: g(o, z, torch.eye(2), create_graph=True)[0].requires_grad)
    note("batched two", lambda: g([o, z * 2], [z], [torch.eye(2), torch.ones(2, 2)], retain_graph=True))
    note(
        "batched unused",
        lambda: g([o], [z, torch.ones(1, requires_grad=True)], [torch.eye(2)], retain_graph=True, allow_unused=True),
    )
    note(
        "batched unused error",
        lambda: g([o], [z, torch.ones(1, requires_grad=True)], [torch.eye(2)], retain_graph=True),
    )
    note(
        "batched mat",
        lambda: g(
            [o], [z, torch.ones(1, requires_grad=True)], [torch.eye(2)], retain_graph=True, materialize_grads=True
        ),
    )
    note("batched shape", lambda: g(o, z, torch.eye(3), retain_graph=True))
    note("batched sizes", lambda: g([o, z * 2], [z], [torch.eye(2), torch.ones(3, 2)], retain_graph=True))
    note("batched freed", lambda: (g(o, z, torch.eye(2)), g(o, z, torch.eye(2))))
    h = z * 2
    hh = []
    h.register_hook(lambda q: hh.append(tuple(q.shape)))
    (h * h).sum()
    note("batched hook", lambda: (g(h * h, z, torch.eye(2)), hh))

    class A(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, q):
            return q * 2 * ctx.saved_tensors[0]

    note("batched function", lambda: g(A.apply(z), z, torch.eye(2)))
    note("vec function", lambda: F.jacobian(A.apply, x, vectorize=True))


def strict_mode(torch, note):
    F = torch.autograd.functional
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.ones(2)
    fs = dict(
        cube=lambda a: a**3,
        lin=lambda a: a * 2,
        const=lambda a: torch.ones(2),
        det=lambda a: a.detach(),
        unrelated=lambda a: a.detach().clone().requires_grad_().clone(),
        two=lambda a: (a * 2, a**2),
    )
    for nm, f in fs.items():
        for kw in ({}, dict(strict=True), dict(create_graph=True), dict(strict=True, create_graph=True)):
            for fn in ("vjp", "jvp"):
                vv = (v, v) if nm == "two" and fn == "vjp" else v
                note(
                    f"{fn} {nm} {kw}",
                    lambda: [
                        t.detach() if hasattr(t, "detach") else [q.detach() for q in t]
                        for t in getattr(F, fn)(f, x, vv, **kw)
                    ],
                )
            g = lambda a: f(a)[0].sum() if nm == "two" else f(a).sum()
            for fn in ("vhp", "hvp"):
                note(f"{fn} {nm} {kw}", lambda: [t.detach() for t in getattr(F, fn)(g, x, v, **kw)])
            note(f"hessian {nm} {kw}", lambda: F.hessian(g, x, **kw).detach())
            note(f"jac {nm} {kw}", lambda: [q.detach() for q in F.jacobian(f, x, **kw)])
    w = torch.ones(2, requires_grad=True)
    for kw in ({}, dict(strict=True)):
        for fn in ("vjp", "jvp", "jacobian"):
            note(
                f"{fn} two inputs {kw}",
                lambda: getattr(F, fn)(
                    lambda a, b: a * 2, (x, w), **kw, **{} if fn == "jacobian" else dict(v=v if fn == "vjp" else (v, v))
                ),
            )
        for fn in ("vhp", "hvp", "hessian"):
            note(
                f"{fn} two inputs {kw}",
                lambda: getattr(F, fn)(
                    lambda a, b: (a**3).sum() + b.sum(), (x, w), **kw, **{} if fn == "hessian" else dict(v=(v, v))
                ),
            )
            note(
                f"{fn} two inputs b {kw}",
                lambda: getattr(F, fn)(
                    lambda a, b: (a**3).sum() + (b**2).sum(), (x, w), **kw, **{} if fn == "hessian" else dict(v=(v, v))
                ),
            )


STORIES = [matrices, strict_mode]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch, hints=True)
