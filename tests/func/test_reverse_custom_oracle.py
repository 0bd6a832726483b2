"""Custom autograd.Functions in forward mode and inside grad, vjp and jvp, against PyTorch."""

import pytest
from stories import assert_same_story

import rushlight as rl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def made(torch, **methods):
    return type("Made", (torch.autograd.Function,), {name: staticmethod(method) for name, method in methods.items()})


def product(torch, note=lambda label, action: None):
    """The product of two tensors as a Function with all that transforms ask for."""

    def setup_context(ctx, inputs, output):
        note("setup", lambda: (inputs, output))
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return grad * b, grad * a

    def jvp(ctx, a_t, b_t):
        a, b = ctx.saved_tensors
        return a_t * b + b_t * a

    return made(torch, forward=lambda a, b: a * b, setup_context=setup_context, backward=backward, jvp=jvp)


def rows(torch):
    return torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0])


def in_forward_mode(torch, note):
    fw = torch.autograd.forward_ad
    x, t, y = rows(torch)

    def told(label, function, *others, tangent=None):
        def run():
            with fw.dual_level():
                found = function.apply(fw.make_dual(x.clone(), t.clone()), *others)
                note(label, lambda: found)

        note(label + " ends", run)

    def forward(ctx, a, b):
        ctx.save_for_forward(a, b)
        return a * b

    def plain(ctx, a, b):
        ctx.set_materialize_grads(False)
        return a * b

    def jvp(ctx, a_t, b_t):
        note("tangents", lambda: (a_t, b_t, ctx.saved_tensors))
        a, b = ctx.saved_tensors
        return a_t * b + a * b_t

    told("zeros", made(torch, forward=forward, jvp=jvp), y)
    told("None", made(torch, forward=plain, jvp=lambda ctx, a_t, b_t: note("given", lambda: b_t) or a_t * y), y)
    told("number", made(torch, forward=plain, jvp=lambda ctx, a_t, b_t: note("given", lambda: b_t) or a_t * 2), 2)
    told("no jvp", made(torch, forward=forward), y)
    told("two for one", made(torch, forward=forward, jvp=lambda ctx, a, b: (a, b)), y)
    told("no tensor", made(torch, forward=forward, jvp=lambda ctx, a, b: 3), y)
    told("size", made(torch, forward=forward, jvp=lambda ctx, a, b: torch.ones(3)), y)
    pair = lambda ctx, a: (a * 2, a.long(), 5)
    told("others", made(torch, forward=pair, jvp=lambda ctx, a: (a * 2, None, None)))
    told("one for three", made(torch, forward=pair, jvp=lambda ctx, a: a * 2))
    told("for integers", made(torch, forward=pair, jvp=lambda ctx, a: (a, a, None)))

    def unmarked(ctx, a):
        b = a * 2
        ctx.mark_non_differentiable(b)
        return b

    def dirty(ctx, a):
        ctx.mark_dirty(a)
        return a.mul_(2)

    told("not differentiable", made(torch, forward=unmarked, jvp=lambda ctx, a: a))
    told("dirty", made(torch, forward=dirty, jvp=lambda ctx, a: a.mul_(2)))
    told("dirty, another", made(torch, forward=dirty, jvp=lambda ctx, a: a * 2))
    for name, function in (("view", lambda ctx, a: a.view_as(a)), ("input", lambda ctx, a: a)):
        told(name, made(torch, forward=function, jvp=lambda ctx, a: a.view_as(a)))
        told(name + ", no view", made(torch, forward=function, jvp=lambda ctx, a: a * 2))
    told("setup_context", product(torch, note), y)
    tracked = x.clone().requires_grad_()
    with fw.dual_level():
        found = product(torch).apply(fw.make_dual(tracked, t), y)
        note("tracked", lambda: found)
        note("gradient", lambda: fw.unpack_dual(torch.autograd.grad(found.sum(), tracked)[0]))


def in_transforms(torch, note):
    grad, vjp, jvp = torch.func.grad, torch.func.vjp, torch.func.jvp
    x, t, y = rows(torch)
    multiply = product(torch).apply
    old = made(torch, forward=lambda ctx, a: a * 2, backward=lambda ctx, g: g * 2)
    note("old style", lambda: grad(lambda a: old.apply(a).sum())(x))
    note("old style, jvp", lambda: jvp(old.apply, (x,), (t,)))
    note("told grad", lambda: grad(lambda a: product(torch, note).apply(a, y).sum())(x))
    note("told jvp", lambda: jvp(lambda a: product(torch, note).apply(a, y), (x,), (t,)))
    note("node", lambda: grad(lambda a: note("", lambda: multiply(a, y).grad_fn.name()) or a.sum())(x))
    note("twice", lambda: grad(lambda a: grad(lambda a: multiply(a, a).sum())(a).sum())(x))
    note("grad of jvp", lambda: grad(lambda a: jvp(lambda a: multiply(a, a), (a,), (t,))[1].sum())(x))
    note("jvp of grad", lambda: jvp(lambda a: grad(lambda a: multiply(a, a).sum())(a), (x,), (t,)))
    tracked = x.clone().requires_grad_()
    note("captured", lambda: grad(lambda a: multiply(a, tracked).sum())(x))
    note("through", lambda: torch.autograd.grad(grad(lambda a: multiply(a * a, tracked).sum())(x).sum(), tracked))
    note("vjp", lambda: vjp(multiply, x, y)[1](t))
    bare = made(torch, forward=lambda a: a * 2, setup_context=lambda ctx, inputs, output: None)
    note("no backward", lambda: grad(lambda a: bare.apply(a).sum())(x))
    note("no jvp", lambda: jvp(bare.apply, (x,), (t,)))
    written = made(
        torch,
        forward=lambda a: a.mul_(2),
        setup_context=lambda ctx, inputs, output: ctx.mark_dirty(inputs[0]),
        backward=lambda ctx, g: g * 2,
        jvp=lambda ctx, a: a.mul_(2),
    )
    note("dirty", lambda: grad(lambda a: written.apply(a.clone()).sum())(x))
    note("dirty, jvp", lambda: jvp(lambda a: written.apply(a.clone()), (x,), (t,)))
    note("same tensor", lambda: grad(lambda a: note("", lambda: written.apply(b := a.clone()) is b) or a.sum())(x))
    note("defaults", lambda: grad(lambda a: Scaled.of(torch).apply(a).sum())(x))
    note("keyword", lambda: grad(lambda a: Scaled.of(torch).apply(a, factor=5).sum())(x))


class Scaled:
    @staticmethod
    def of(torch):
        def forward(a, factor=3):
            return a * factor

        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        return made(torch, forward=forward, setup_context=setup_context, backward=lambda ctx, g: (g * ctx.factor, None))


def returned_inputs(torch, note):
    fw = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    for saving in ("save_for_forward", "save_for_backward"):
        for which in (0, 1):
            identity = made(
                torch,
                forward=lambda a: a,
                setup_context=lambda ctx, inputs, output: getattr(ctx, saving)((inputs[0], output)[which]),
                backward=lambda ctx, g: g,
                jvp=lambda ctx, a: a.view_as(a),
            )
            note("plain", lambda: identity.apply(x))
            note("tracked", lambda: identity.apply(x.clone().requires_grad_()))
            note("no_grad", lambda: torch.no_grad()(identity.apply)(x.clone().requires_grad_()))
            with fw.dual_level():
                note("dual", lambda: identity.apply(fw.make_dual(x, x)))
            note("jvp", lambda: torch.func.jvp(identity.apply, (x,), (x,)))
            note("grad", lambda: torch.func.grad(lambda a: identity.apply(a).sum())(x))


@pytest.mark.parametrize("story", [in_forward_mode, in_transforms, returned_inputs], ids=lambda s: s.__name__)
def test_story(story):
    assert_same_story(story, torch)


def test_jvp_of_jvp():
    """PyTorch gives zero for the second derivative, as jvp methods run without tangents there."""
    multiply = product(rl).apply
    x, t, _ = rows(rl)
    _, second = rl.func.jvp(lambda a: rl.func.jvp(lambda a: multiply(a, a), (a,), (t,))[1], (x,), (t,))
    assert second.tolist() == (2 * t * t).tolist()
