"""Custom Functions against PyTorch."""

import pytest
from stories import assert_same_story, leaf

torch = pytest.importorskip("torch")


def function(torch, forward, backward, **members):
    """A Function class called ``Made`` with these static methods."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type(
        "Made", (torch.autograd.Function,), body | {name: staticmethod(value) for name, value in members.items()}
    )


def basics(torch, note):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)

    def forward(ctx, a, b, scale, name="n"):
        ctx.save_for_backward(a, None, b)
        ctx.scale = scale
        note(
            "in forward",
            lambda: (torch.is_grad_enabled(), ctx.needs_input_grad, a.requires_grad, (a * 2).requires_grad),
        )
        return a * b * scale

    def backward(ctx, grad):
        a, none, b = ctx.saved_tensors
        note("in backward", lambda: (torch.is_grad_enabled(), ctx.needs_input_grad, none, a is x, grad))
        return grad * b * ctx.scale, grad * a * ctx.scale, None

    product = function(torch, forward, backward)
    out = product.apply(x, y, 2)
    note("out", lambda: (out, out.grad_fn.name(), type(out.grad_fn).__name__, out.grad_fn.scale))
    note("next", lambda: [n.name() for n, _ in out.grad_fn.next_functions])
    note("gradients", lambda: torch.autograd.grad(out.sum(), (x, y), retain_graph=True))
    note(
        "second order",
        lambda: torch.autograd.grad(
            torch.autograd.grad(out.sum(), x, create_graph=True)[0].sum(), y, retain_graph=True
        ),
    )
    note("saved", lambda: out.grad_fn.saved_tensors[0] is x)
    out.sum().backward()
    note("freed", lambda: out.sum().backward())
    note("freed", lambda: out.grad_fn.saved_tensors)
    note("needs", lambda: product.apply(x, y.detach(), 2).grad_fn.needs_input_grad)
    note("nothing tracked", lambda: product.apply(x.detach(), y.detach(), 2).grad_fn)
    with torch.no_grad():
        note("no_grad", lambda: product.apply(x, y, 2).requires_grad)
    note("instance", lambda: product())
    note("not static", lambda: product.apply(x, y, 2, "name").shape)
    note("is a node", lambda: isinstance(out.grad_fn, torch.autograd.graph.Node))


def bad_results(torch, note):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)

    def run(backward, inputs=(x, y), forward=lambda ctx, a, b: a * b):
        made = function(torch, forward, backward)
        return lambda: torch.autograd.grad(
            made.apply(*inputs).sum(), [i for i in inputs if hasattr(i, "grad_fn")], allow_unused=True
        )

    note("too few", run(lambda ctx, grad: grad))
    note("too many", run(lambda ctx, grad: (grad, grad, grad)))
    note("too many Nones", run(lambda ctx, grad: (grad, grad, None, None)))
    note("shape", run(lambda ctx, grad: (grad, torch.ones(3))))
    note("broadcast", run(lambda ctx, grad: (grad, torch.ones(3, 2))))
    note("narrower", run(lambda ctx, grad: (grad, torch.ones(1))))
    note("scalar", run(lambda ctx, grad: (grad, torch.ones(()))))
    note("dtype", run(lambda ctx, grad: (grad, torch.ones(2, dtype=torch.float64))))
    note("complex", run(lambda ctx, grad: (grad, torch.ones(2, dtype=torch.complex64))))
    note("number", run(lambda ctx, grad: (grad, 1.0)))
    note("None", run(lambda ctx, grad: (grad, None)))
    note("list", run(lambda ctx, grad: [grad, grad]))
    note("gradient of a number", run(lambda ctx, grad: (grad, grad), (x, 3.0)))
    note("forward gives None", lambda: function(torch, lambda ctx, a: None, None).apply(x))
    note("forward gives a number", lambda: function(torch, lambda ctx, a: 3, None).apply(x))
    note("forward gives a list", lambda: function(torch, lambda ctx, a: [a * 2, a * 3], None).apply(x))
    note("forward gives a mix", lambda: function(torch, lambda ctx, a: (a * 2, 3, "s", None), None).apply(x))
    note("saves a number", lambda: function(torch, lambda ctx, a: ctx.save_for_backward(3), None).apply(x))
    note("raises in forward", lambda: function(torch, lambda ctx, a: 1 / 0, None).apply(x))
    note("raises in backward", run(lambda ctx, grad: 1 / 0))
    note("no forward", lambda: type("Bare", (torch.autograd.Function,), {}).apply(x))
    no_backward = type("Half", (torch.autograd.Function,), {"forward": staticmethod(lambda ctx, a: a * 2)})
    note("no backward", lambda: no_backward.apply(x).sum().backward())


def several_outputs(torch, note):
    x = leaf(torch, 1.0, 2.0)

    def forward(ctx, a):
        return a * 2, a * 3, (a > 1)

    def backward(ctx, first, second, third):
        note("got", lambda: (first, second, third))
        return (0 if first is None else first * 2) + (0 if second is None else second * 3)

    two = function(torch, forward, backward)
    a, b, c = two.apply(x)
    note("outputs", lambda: (a, b, c, a.output_nr, b.output_nr, a.grad_fn is b.grad_fn, c.requires_grad))
    note("one used", lambda: torch.autograd.grad(a.sum(), x, retain_graph=True))
    note("both", lambda: torch.autograd.grad((a * b).sum(), x))

    def unmaterialized(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3, a > 1

    a, b, c = function(torch, unmaterialized, backward).apply(x)
    note("None kept", lambda: torch.autograd.grad(b.sum(), x))

    def marked(ctx, a):
        first, second = a * 2, a * 3
        ctx.mark_non_differentiable(second)
        return first, second

    a, b = function(
        torch, marked, lambda ctx, first, second: note("marked", lambda: (first, second)) or first * 2
    ).apply(x)
    note("flags", lambda: (a.requires_grad, b.requires_grad, b.grad_fn))
    note("marked gradient", lambda: torch.autograd.grad(a.sum(), x))


def dirty_and_returned_inputs(torch, note):
    x = leaf(torch, 1.0, 2.0)

    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a

    double_ = function(torch, forward, lambda ctx, grad: grad * 2)
    h = x * 3
    out = double_.apply(h)
    note("dirty", lambda: (out is h, h, h.grad_fn.name(), h._version))
    note("dirty gradient", lambda: torch.autograd.grad(h.sum(), x))
    note("dirty leaf", lambda: double_.apply(x))
    note("leaf left", lambda: x)
    h = x * 3
    v = h[:1]
    note("dirty view", lambda: double_.apply(v))
    note("base", lambda: (h, h.grad_fn.name()))
    note("base gradient", lambda: torch.autograd.grad(h.sum(), x))
    note(
        "not returned",
        lambda: function(torch, lambda ctx, a: ctx.mark_dirty(a) or a * 2, lambda ctx, g: g).apply(x * 1),
    )

    same = function(torch, lambda ctx, a: a, lambda ctx, grad: grad * 5)
    h = x * 3
    out = same.apply(h)
    note(
        "returned as is",
        lambda: (out is h, out.grad_fn.name(), h.grad_fn.name(), out._is_view(), out.data_ptr() == h.data_ptr()),
    )
    note("gradient", lambda: torch.autograd.grad(out.sum(), x, retain_graph=True))
    note("written", lambda: out.add_(1))
    plain = torch.ones(2)
    note("plain returned", lambda: (same.apply(plain) is plain, same.apply(plain).requires_grad))
    note("leaf returned", lambda: (same.apply(x).grad_fn.name(), torch.autograd.grad(same.apply(x).sum(), x)))
    second = function(torch, lambda ctx, a, b: b, lambda ctx, grad: (None, grad * 7))
    note("untracked returned", lambda: second.apply(x, plain).requires_grad)
    note("no gradient", lambda: torch.autograd.grad(second.apply(x, h).sum(), x))
    view = function(torch, lambda ctx, a: a.view(1, 2), lambda ctx, grad: grad.view(2))
    out = view.apply(x * 3)
    note("view", lambda: (out, out._is_view(), torch.autograd.grad(out.sum(), x, retain_graph=True)))
    note("view written", lambda: out.mul_(2))
    pair = function(torch, lambda ctx, a: (a.view(1, 2), a[:1]), lambda ctx, g, h: g.view(2))
    out, _ = pair.apply(x * 3)
    note("views written", lambda: out.mul_(2))
    with torch.no_grad():
        note("no_grad identity", lambda: same.apply(h) is h)


def saving(torch, note):
    x = leaf(torch, 1.0, 2.0)

    def keep_output(ctx, a):
        result = a.exp()
        ctx.save_for_backward(result)
        return result

    exp = function(torch, keep_output, lambda ctx, grad: grad * ctx.saved_tensors[0])
    out = exp.apply(x)
    note("output", lambda: (out.grad_fn.saved_tensors[0].grad_fn is out.grad_fn, out.grad_fn.saved_tensors[0]))
    note("gradient", lambda: torch.autograd.grad(out.sum(), x, create_graph=True))
    note(
        "second", lambda: torch.autograd.grad(torch.autograd.grad(exp.apply(x).sum(), x, create_graph=True)[0].sum(), x)
    )
    out.add_(1)
    note("output written", lambda: out.sum().backward())

    def keep_intermediate(ctx, a):
        inner = a * 2
        ctx.save_for_backward(inner)
        ctx.kept = inner
        return inner * a

    made = function(torch, keep_intermediate, lambda ctx, grad: grad * 2 * ctx.saved_tensors[0])
    note("intermediate", lambda: torch.autograd.grad(made.apply(x).sum(), x))
    out = made.apply(x)
    out.grad_fn.kept.add_(1)
    note("intermediate written", lambda: out.sum().backward())

    def twice(ctx, a):
        ctx.save_for_backward(a)
        ctx.save_for_backward(a, a)
        return a * 1

    note("saved twice", lambda: len(function(torch, twice, None).apply(x).grad_fn.saved_tensors))
    h = x * 2
    square = function(
        torch, lambda ctx, a: ctx.save_for_backward(a) or a * a, lambda ctx, grad: grad * 2 * ctx.saved_tensors[0]
    )
    out = square.apply(h)
    h.add_(1)
    note("input written", lambda: out.sum().backward())
    log = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: log.append("pack") or t * 2, lambda t: log.append("unpack") or t / 2
    ):
        out = square.apply(x)
    note("through hooks", lambda: (torch.autograd.grad(out.sum(), x), log))

    def late(ctx, grad):
        ctx.save_for_backward(grad)
        return grad

    note("save in backward", lambda: torch.autograd.grad(function(torch, lambda ctx, a: a * 1, late).apply(x).sum(), x))


def apart_and_once(torch, note):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)

    def setup(ctx, inputs, output):
        note("setup", lambda: (inputs[1], output, len(inputs)))
        ctx.save_for_backward(inputs[0], output)
        ctx.factor = inputs[1]

    made = function(
        torch, lambda a, factor: a * factor, lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup
    )
    note("apart", lambda: torch.autograd.grad(made.apply(x, 3).sum(), x))
    once = torch.autograd.function.once_differentiable
    square = function(
        torch, lambda ctx, a: ctx.save_for_backward(a) or a * a, once(lambda ctx, g: g * 2 * ctx.saved_tensors[0])
    )
    note("once", lambda: torch.autograd.grad(square.apply(x).sum(), x))
    (first,) = torch.autograd.grad(square.apply(x).sum(), x, create_graph=True)
    note("first", lambda: first)
    note("twice", lambda: torch.autograd.grad(first.sum(), x))

    vjp = type(
        "Named",
        (torch.autograd.Function,),
        {"forward": staticmethod(lambda ctx, a: a * 2), "vjp": staticmethod(lambda ctx, g: g * 2)},
    )
    note("vjp", lambda: torch.autograd.grad(vjp.apply(x).sum(), x))
    child = type("Child", (square,), {})
    note("subclass", lambda: child.apply(x).grad_fn.name())

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            with torch.enable_grad():
                b = a.detach().requires_grad_()
                out = (b * b * b).sum()
            (ctx.gradient,) = torch.autograd.grad(out, b)
            return out.detach()

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.gradient

    note("grad in forward", lambda: torch.autograd.grad(Inner.apply(x), x))
    nested = function(torch, lambda ctx, a: Inner.apply(a) * 1, lambda ctx, grad: grad.expand(2))
    note("nested", lambda: torch.autograd.grad(nested.apply(x), x))
    sparse = function(
        torch,
        lambda ctx, a, b: a + b,
        lambda ctx, g: (g if ctx.needs_input_grad[0] else None, g * 2 if ctx.needs_input_grad[1] else None),
    )
    note("needs", lambda: torch.autograd.grad(sparse.apply(x, y.detach()).sum(), x))
    note("both", lambda: torch.autograd.grad(sparse.apply(x, y).sum(), (x, y)))
    note("same twice", lambda: torch.autograd.grad(sparse.apply(x, x).sum(), x))
    tensors = function(torch, lambda ctx, items: items[0] * 2, lambda ctx, g: None)
    note("list is opaque", lambda: tensors.apply([x]).requires_grad)


STORIES = [basics, bad_results, several_outputs, dirty_and_returned_inputs, saving, apart_and_once]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_same_story(story):
    assert_same_story(story, torch)
