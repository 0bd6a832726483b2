"""Custom autograd.Functions under vmap: a rule of their own, a generated one, and what PyTorch refuses."""

import pytest
from test_vmap_oracle import outcome, torch, x

import rushlight as rl


def products(t):
    """A Function of two tensors with two results and wrong, hence visible, derivatives; its vmap rule is generated."""

    class Products(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a, w):
            return (a * w).sum(), a * a

        @staticmethod
        def setup_context(ctx, inputs, output):
            a, w = inputs
            ctx.save_for_backward(a, w)
            ctx.save_for_forward(a, w)
            ctx.shape = a.shape

        @staticmethod
        def backward(ctx, first, second):
            a, w = ctx.saved_tensors
            assert ctx.shape == a.shape
            return first * w * 10 + second * 2 * a, first * a

        @staticmethod
        def jvp(ctx, of_a, of_w):
            a, w = ctx.saved_tensors
            return (of_a * w * 7).sum(), 2 * a * of_a

    return Products.apply


def scaled(t, rule):
    """A Function with a number among its arguments and the given vmap staticmethod."""

    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(a, factor):
            return a * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor * 100, None

    if rule is not None:
        Scaled.vmap = staticmethod(rule)
    return Scaled


def own_rule(function, seen):
    def rule(info, in_dims, a, factor):
        seen.append((info.batch_size, info.randomness, in_dims, tuple(a.shape), factor))
        return function().apply(a, factor), in_dims[0]

    return rule


def with_own_rule(use):
    """A story of a Function whose rule calls it again; also what the rule was told."""

    def story(t, vmap):
        seen = []
        Scaled = scaled(t, own_rule(lambda: Scaled, seen))
        return use(t, vmap, Scaled.apply), seen

    return story


def weights(t):
    return t.tensor([1.0, 2.0, 3.0])


def derivative_outside(t, vmap):
    a, w = x(t).requires_grad_(), weights(t).requires_grad_()
    first, second = vmap(lambda e: products(t)(e, w))(a)
    (first.sum() + second.sum()).backward()
    return a.grad, w.grad


STORIES = {
    "generated": lambda t, vmap: vmap(lambda e: products(t)(e, weights(t)))(x(t)),
    "generated, last dimension": lambda t, vmap: vmap(lambda e: products(t)(e, t.ones(2))[1], in_dims=1)(x(t)),
    "generated, both mapped": lambda t, vmap: vmap(products(t))(x(t), x(t)),
    "generated, nothing mapped": lambda t, vmap: vmap(lambda e: products(t)(weights(t), weights(t))[0] + e)(x(t)),
    "generated, nested": lambda t, vmap: vmap(vmap(lambda a, w: products(t)(a, w)[0], (0, None)), (None, 0))(
        x(t), x(t)
    ),
    "generated, gradient outside": derivative_outside,
    "generated, gradient inside": lambda t, vmap: vmap(t.func.grad(lambda e: products(t)(e, weights(t))[0]))(x(t)),
    "generated, gradient of the shared one": lambda t, vmap: vmap(
        t.func.grad(lambda w, e: products(t)(e, w)[0]), (None, 0)
    )(weights(t), x(t)),
    "generated, gradient around": lambda t, vmap: t.func.grad(
        lambda w: vmap(lambda e: products(t)(e, w)[0])(x(t)).sum()
    )(weights(t)),
    "own": with_own_rule(lambda t, vmap, f: vmap(lambda e: f(e, 3.0))(x(t))),
    "own, gradient": with_own_rule(lambda t, vmap, f: vmap(t.func.grad(lambda e: f(e, 3.0).sum()))(x(t))),
    "own, nothing mapped": with_own_rule(lambda t, vmap, f: vmap(lambda e: f(weights(t), 3.0) + e)(x(t))),
    "none": lambda t, vmap: vmap(lambda e: scaled(t, None).apply(e, 2.0))(x(t)),
    "three results": lambda t, vmap: vmap(lambda e: scaled(t, lambda i, d, a, f: (a, 0, 1)).apply(e, 2.0))(x(t)),
}


@pytest.mark.parametrize("name", STORIES)
def test_functions(name):
    assert outcome(STORIES[name], rl) == outcome(STORIES[name], torch)


def test_forward_mode_through_a_generated_rule():
    def story(t, vmap):
        inside = vmap(lambda e: t.func.jvp(lambda a: products(t)(a, weights(t))[1], (e,), (t.ones(3),))[1])(x(t))
        return inside

    expected = 2 * x(rl)
    assert rl.allclose(story(rl, rl.func.vmap), expected)


def test_both_rules_are_refused():
    def story(t, vmap):
        Scaled = scaled(t, lambda info, in_dims, a, factor: (a, 0))
        Scaled.generate_vmap_rule = True
        return vmap(lambda e: Scaled.apply(e, 2.0))(x(t))

    assert outcome(story, rl) == outcome(story, torch)


def test_a_rule_without_dimensions_is_refused():
    with pytest.raises(RuntimeError, match="Expected the vmap staticmethod to have two returns"):
        rl.func.vmap(lambda e: scaled(rl, lambda info, in_dims, a, factor: a).apply(e, 2.0))(x(rl))


def test_an_argument_returned_by_a_rule_is_the_argument():
    Scaled = scaled(rl, lambda info, in_dims, a, factor: (a, 0))
    same = []
    rl.func.vmap(lambda e: same.append(Scaled.apply(e, 1.0) is e) or e)(x(rl))
    assert same == [True]
