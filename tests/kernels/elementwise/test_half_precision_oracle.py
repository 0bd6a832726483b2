"""Half precision through kernels of float32, against PyTorch."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

draw = np.random.default_rng(3)
IMAGES = draw.standard_normal((3, 5, 18, 22)).astype(np.float32)
ROWS = draw.standard_normal((300, 70)).astype(np.float32)
INDEX = draw.integers(0, 40, 300)
DTYPES = ["float16", "bfloat16"]


def both(calculate, dtype):
    """What ``calculate(module, tensor_of)`` gives with either module: lists of float arrays."""

    def run(module):
        def tensor_of(array):
            made = module.from_numpy(array.copy())
            return made.to(getattr(module, dtype)) if array.dtype == np.float32 else made

        found = calculate(module, tensor_of)
        return [value.detach().double().numpy() if value.is_floating_point() else value.numpy() for value in found]

    return run(rushlight), run(torch)


def assert_equal(calculate, dtype):
    for ours, theirs in zip(*both(calculate, dtype), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def assert_rounded(calculate, dtype, units=1.0):
    """Equal but for so many units in the last place, where sums are rounded at other times."""
    epsilon = units * torch.finfo(getattr(torch, dtype)).eps
    for ours, theirs in zip(*both(calculate, dtype), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=epsilon, atol=epsilon * np.abs(theirs).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", [(2,), (3, 2, 1), (3, 1)])
def test_pooling(options, dtype):
    def largest(module, tensor_of):
        x = tensor_of(IMAGES).requires_grad_()
        found, places = module.nn.functional.max_pool2d(x, *options, return_indices=True)
        return found, places, module.nn.functional.max_pool2d(x, *options)

    def gradient(name):
        def calculate(module, tensor_of):
            x = tensor_of(IMAGES).requires_grad_()
            found = getattr(module.nn.functional, name)(x, *options)
            return found, *module.autograd.grad(found, x, module.ones_like(found) * 0.5)

        return calculate

    assert_equal(largest, dtype)
    assert_rounded(gradient("max_pool2d"), dtype)
    assert_rounded(gradient("avg_pool2d"), dtype, 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_order(dtype):
    assert_equal(lambda module, tensor_of: tensor_of(ROWS).sort(dim=1, stable=True), dtype)
    assert_equal(lambda module, tensor_of: tensor_of(ROWS).sort(dim=0, descending=True, stable=True), dtype)
    assert_equal(lambda module, tensor_of: [tensor_of(ROWS).unique()], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_at_positions_are_rounded_once(dtype):
    def index_add(module, tensor_of):
        return [module.zeros(40, 70, dtype=tensor_of(ROWS).dtype).index_add_(0, tensor_of(INDEX), tensor_of(ROWS))]

    def scatter_add(module, tensor_of):
        index = tensor_of(INDEX)[:, None].expand(300, 70).contiguous()
        return [module.zeros(40, 70, dtype=tensor_of(ROWS).dtype).scatter_add_(0, index, tensor_of(ROWS))]

    assert_equal(index_add, dtype)
    assert_equal(scatter_add, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_an_embedding(dtype):
    """PyTorch rounds after every addition; the sum in float64 decides."""
    kind = getattr(rushlight, dtype)
    flow, index = rushlight.from_numpy(ROWS).to(kind), rushlight.from_numpy(INDEX)
    table = rushlight.zeros(40, 70, dtype=kind, requires_grad=True)
    rushlight.nn.functional.embedding(index, table).backward(flow)
    exact = rushlight.zeros(40, 70, dtype=rushlight.float64).index_add_(0, index, flow.double())
    np.testing.assert_array_equal(table.grad.float().numpy(), exact.float().to(kind).float().numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
def test_gradients_of_means_over_many_elements_do_not_vanish(name, dtype):
    values = draw.standard_normal(100_000).astype(np.float32) * 50  # more elements than float16 can count

    def calculate(module, tensor_of):
        x = tensor_of(values).requires_grad_()
        loss = getattr(module.nn.functional, name)(x, module.zeros_like(x))
        return module.autograd.grad(loss, x)

    ours, theirs = both(calculate, dtype)
    assert np.abs(ours[0]).max() > 0
    np.testing.assert_allclose(ours[0], theirs[0], rtol=0.05, atol=2.0**-24)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["neg", "abs"])
def test_signs_of_every_number(name, dtype):
    bits = np.arange(1 << 16, dtype=np.uint16).view(np.int16)

    def calls(x):
        yield getattr(x, name)()
        yield getattr(x.reshape(256, 256).t(), name)().contiguous()
        yield getattr(x.clone(), name + "_")()
        yield getattr(x[:20], name)()

    found = calls(rushlight.from_numpy(bits).view(getattr(rushlight, dtype)))
    wanted = calls(torch.from_numpy(bits).view(getattr(torch, dtype)))
    for ours, theirs in zip(found, wanted, strict=True):
        number = ~theirs.isnan().numpy()
        assert ours.isnan().numpy()[~number].all()
        np.testing.assert_array_equal(
            ours.view(rushlight.int16).numpy()[number], theirs.view(torch.int16).numpy()[number]
        )
