"""Linear layers and the ReLU before them: gradients at once, gated where nobody looks, against PyTorch at any size."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

BOTH = (rushlight, torch)
SIZES = [(3, 4, 5, 2), (40, 70, 65, 33), (64, 300, 257, 10), (1, 300, 400, 7), (600, 70, 50, 20)]


def network(module, sizes, dtype="float32", bias=True, dead=False):
    """Input, weights and biases of two layers with ReLUs around, the same for both modules."""
    rng = np.random.default_rng(0)
    rows, *widths = sizes

    def leaf(*shape):
        made = module.from_numpy(rng.standard_normal(shape).astype(dtype) / shape[-1] ** 0.5)
        return made.requires_grad_()

    x = leaf(rows, widths[0])
    layers = [(leaf(b, a), leaf(b) if bias else None) for a, b in zip(widths, widths[1:])]
    if dead:
        with module.no_grad():
            x[:, ::3] = 0
            x[0, 1] = float("nan")
    return x, layers


def forward(module, x, layers):
    hidden = []
    for weight, bias in layers:
        hidden.append(module.relu(x))
        x = module.nn.functional.linear(hidden[-1], weight, bias)
    return x, hidden


def compare(collect, **options):
    found, expected = ([None if t is None else t.detach().numpy() for t in collect(module)] for module in BOTH)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected):
        assert (mine is None) == (theirs is None)
        if mine is not None:
            assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
            np.testing.assert_allclose(mine, theirs, **{"rtol": 2e-4, "atol": 2e-5, **options})


def leaves(x, layers):
    return [x, *(t for pair in layers for t in pair if t is not None)]


@pytest.mark.parametrize("dead", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_gradients(sizes, dtype, bias, dead):
    def collect(module):
        x, layers = network(module, sizes, dtype, bias, dead)
        out, _ = forward(module, x, layers)
        out.square().sum().backward()
        return [t.grad for t in leaves(x, layers)]

    compare(collect)


@pytest.mark.parametrize("sizes", SIZES[:3], ids=str)
def test_whoever_looks_at_a_hidden_gradient_sees_all_of_it(sizes):
    def retained(module):
        x, layers = network(module, sizes)
        out, hidden = forward(module, x, layers)
        hidden[1].retain_grad()
        out.sum().backward()
        return [hidden[1].grad, *(t.grad for t in leaves(x, layers))]

    def hooked(module):
        x, layers = network(module, sizes)
        out, hidden = forward(module, x, layers)
        seen = []
        hidden[0].register_hook(lambda grad: (seen.append(grad.clone()), grad * 2)[1])
        hidden[1].grad_fn.register_prehook(lambda grads: seen.extend(g.clone() for g in grads))
        out.sum().backward()
        return [*seen, *(t.grad for t in leaves(x, layers))]

    def asked(module):
        x, layers = network(module, sizes)
        out, hidden = forward(module, x, layers)
        return module.autograd.grad(out.sum(), [hidden[1], hidden[0], x, layers[0][0]])

    def as_inputs(module):
        x, layers = network(module, sizes)
        out, hidden = forward(module, x, layers)
        out.sum().backward(inputs=[hidden[1], x])
        return [hidden[1].grad, x.grad, layers[0][0].grad]

    for collect in (retained, hooked, asked, as_inputs):
        compare(collect)


@pytest.mark.parametrize("sizes", SIZES[:3], ids=str)
def test_a_hidden_result_that_others_use_too(sizes):
    def collect(module):
        x, layers = network(module, sizes)
        out, hidden = forward(module, x, layers)
        again = module.nn.functional.linear(hidden[1], layers[1][0] * 2)
        (out.sum() + (hidden[1] * 3).sum() + again.square().sum() + hidden[0].exp().sum()).backward()
        return [t.grad for t in leaves(x, layers)]

    compare(collect)


def test_memory_exchanged_behind_the_graph():
    def collect(module):
        x, layers = network(module, SIZES[2])
        hidden = module.relu(x)
        out = module.nn.functional.linear(hidden, *layers[0])
        hidden.data = -hidden.data
        other = module.nn.functional.linear(hidden, *layers[0])
        (out * other).sum().backward()
        return [t.grad for t in leaves(x, layers)]

    compare(collect)


@pytest.mark.parametrize("frozen", ["weight", "bias", "both", "input"])
@pytest.mark.parametrize("sizes", SIZES[:3], ids=str)
def test_frozen_parts(sizes, frozen):
    def collect(module):
        x, layers = network(module, sizes)
        if frozen == "input":
            x.requires_grad_(False)
        for weight, bias in layers:
            weight.requires_grad_(frozen not in ("weight", "both"))
            bias.requires_grad_(frozen not in ("bias", "both"))
        out, _ = forward(module, x, layers)
        out.square().sum().backward()
        return [t.grad for t in leaves(x, layers)]

    compare(collect)


@pytest.mark.parametrize("sizes", SIZES[:3], ids=str)
def test_twice_and_of_second_order(sizes):
    def twice(module):
        x, layers = network(module, sizes)
        out, _ = forward(module, x, layers)
        out = out.square().sum()
        out.backward(retain_graph=True)
        out.backward()
        return [t.grad for t in leaves(x, layers)]

    def second(module):
        x, layers = network(module, sizes, "float64")
        out, _ = forward(module, x, layers)
        first = module.autograd.grad(out.square().sum(), leaves(x, layers), create_graph=True)
        sum(g.square().sum() for g in first).backward()
        return [t.grad for t in leaves(x, layers)]

    compare(twice)
    compare(second)


def test_a_result_written_after_it_was_used():
    def collect(module):
        x, layers = network(module, SIZES[1])
        out, hidden = forward(module, x, layers)
        hidden[1].mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()
        return [t.grad for t in leaves(x, layers)]

    compare(collect)


@pytest.mark.parametrize("shape", [(), (1,), (1, 65), (40, 65), (40, 1)], ids=str)
def test_biases_that_are_broadcast(shape):
    def collect(module):
        rng = np.random.default_rng(1)
        x, weight, bias = (
            module.from_numpy(np.asarray(rng.standard_normal(s), "float32")).requires_grad_()
            for s in ((40, 70), (65, 70), shape)
        )
        module.nn.functional.linear(x, weight, bias).square().sum().backward()
        return x.grad, weight.grad, bias.grad

    compare(collect, rtol=1e-3, atol=1e-3)


def test_gradients_in_other_layouts():
    def collect(module):
        x, layers = network(module, SIZES[2])
        wide = x.t().contiguous().t()
        out = module.nn.functional.linear(module.relu(wide), *layers[0])
        other = module.nn.functional.linear(module.relu(x), *layers[0])
        (out.t().contiguous().square().sum() + other.sum()).backward()
        return [t.grad for t in leaves(x, layers)]

    compare(collect)
