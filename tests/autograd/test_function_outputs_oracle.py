"""What a custom Function may return: inputs, views of them, written and marked ones. What there is to see of each output, against PyTorch."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


def both_marked(ctx, x, y):
    views = x.view_as(x), y.view_as(y)
    ctx.mark_non_differentiable(*views)
    return views


def one_marked(ctx, x, y):
    found = x.view_as(x), x[:1], y * 2
    ctx.mark_non_differentiable(found[0])
    return found


def marked_input(ctx, x, y):
    ctx.mark_non_differentiable(x)
    return x, y * 2


def view_beside_marked(ctx, x, y):
    product = x * 2
    ctx.mark_non_differentiable(product)
    return x.view_as(x), product


def written(ctx, x, y):
    ctx.mark_dirty(x)
    return x.mul_(2)


def written_and_marked(ctx, x, y):
    ctx.mark_non_differentiable(x)
    return written(ctx, x, y)


def written_and_input(ctx, x, y):
    ctx.mark_dirty(x)
    return x.mul_(2), y


FORWARDS = {
    "input": lambda ctx, x, y: x,
    "view": lambda ctx, x, y: x.view_as(x),
    "product": lambda ctx, x, y: x * 2,
    "two inputs": lambda ctx, x, y: (x, y),
    "input and product": lambda ctx, x, y: (x, x * 2),
    "two views": lambda ctx, x, y: (x[:1], x[1:]),
    "four": lambda ctx, x, y: (x * 1, x * 2, x.view_as(x), x[:1]),
    "marked views": both_marked,
    "a marked view": one_marked,
    "a marked input": marked_input,
    "a view beside a marked product": view_beside_marked,
    "a written input": written,
    "a written input and another": written_and_input,
}
GIVEN = {
    "a leaf": lambda leaf: leaf,
    "a product": lambda leaf: leaf * 1,
    "a view of a leaf": lambda leaf: leaf[:2],
    "a view of a product": lambda leaf: (leaf * 1)[:2],
    "a constant": lambda leaf: leaf.detach(),
}


def seen(library, forward, given, mode):
    """Of each output: flags, base, node, version, what a view of it under no_grad is, and what a write into it gives."""

    class Function(library.autograd.Function):
        @staticmethod
        def backward(ctx, *grads):
            return grads[0] * 2, None

    Function.forward = staticmethod(forward)
    leaf, other = library.ones(3, requires_grad=True), library.ones(3, requires_grad=True)
    x = given(leaf)
    with getattr(library, mode)():
        outputs = Function.apply(x, other)
    found = [x._version]
    for out in outputs if isinstance(outputs, tuple) else (outputs,):
        with library.no_grad():
            parts = out.unbind(0)
        base = "leaf" if out._base is leaf else "given" if out._base is x else out._base is not None
        node = out.grad_fn and out.grad_fn.name()
        found += [out is x, out.requires_grad, base, node, out._version, parts[0].requires_grad, answer(out.mul_, 2)]
    return found


def answer(function, *args):
    try:
        return function(*args).grad_fn and function(*args).grad_fn.name()
    except RuntimeError as error:
        return str(error).split("\n")[0]


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("forward", FORWARDS)
def test_outputs_look_as_in_pytorch(forward, given, mode):
    def outcome(library):
        try:
            return seen(library, FORWARDS[forward], GIVEN[given], mode)
        except RuntimeError as error:
            return str(error).split("\n")[0]

    assert outcome(rl) == outcome(torch)


def with_retained(leaf):
    product = leaf * 3
    product.retain_grad()
    return product


WITH_GRADIENT = {
    "a product": lambda leaf: leaf * 3,
    "a product that retains": with_retained,
    "a view": lambda leaf: (leaf * 3)[:2],
    "a constant": lambda leaf: leaf.detach(),
}
WRITING = {"alone": written, "beside an input": written_and_input, "marked": written_and_marked}


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
@pytest.mark.parametrize("given", WITH_GRADIENT)
@pytest.mark.parametrize("forward", WRITING)
@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_gradient_of_what_is_written_is_dropped(forward, given, mode, tracked):
    def outcome(library):
        class Function(library.autograd.Function):
            @staticmethod
            def backward(ctx, *grads):
                return grads[0] * 2, None

        Function.forward = staticmethod(WRITING[forward])
        leaf, other = library.ones(3, requires_grad=True), library.ones(3, requires_grad=tracked)
        x = WITH_GRADIENT[given](leaf)
        heard, view = [], x[:1]
        if x.requires_grad:
            x.register_hook(lambda grad: heard.append(grad.tolist()))
            (x * 5).sum().backward(inputs=[x])
        else:
            x.grad = library.full((3,), 5.0)
        found = [x.grad is None]
        try:
            with getattr(library, mode)():
                Function.apply(x, other)
            found += [x.grad is None, x.requires_grad and x.retains_grad, view.grad_fn and view.grad_fn.name()]
            x.sum().backward()
        except RuntimeError as error:
            found.append(str(error).split("\n")[0])
        return found, [None if each is None else each.tolist() for each in (x.grad, leaf.grad, other.grad)], heard

    assert outcome(rl) == outcome(torch)
