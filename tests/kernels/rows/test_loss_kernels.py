"""Losses of pairs by generated kernels: sums, means and gradients against float64, special values, threads."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.routing import kernel_of
    from rushlight.kernels.rows.losses import dot

draw = np.random.default_rng(0)
TOLERANCES = {"float32": 3e-6, "float64": 1e-13}
CASES = [
    ("mse_loss_pair", False, (0.0,)),
    ("smooth_l1_loss_pair", False, (0.7,)),
    ("huber_loss_pair", False, (0.8,)),
    ("binary_cross_entropy_pair", True, ()),
    ("binary_cross_entropy_with_logits_pair", True, ()),
    ("soft_margin_loss_pair", False, ()),
]


def numbers(shape, dtype, probabilities):
    return (draw.random(shape) if probabilities else draw.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", [(1,), (7,), (33, 31), (16384,), (3, 16389)])
@pytest.mark.parametrize(("name", "weighted", "options"), CASES)
def test_sums_against_float64(name, weighted, options, shape, dtype):
    first, target = (numbers(shape, dtype, name == "binary_cross_entropy_pair") for _ in range(2))
    weight = numbers(shape, dtype, True)  # of one sign, so that sums are as exact as what is added up
    absent = (None,) * (TABLE[name].schema.count("Tensor?") - 1)
    for beside in [(weight, *absent), (None, *absent)] if weighted else [()]:
        for reduction in ("mean", "sum"):
            arguments = first, target, *beside
            found = kernel_of(name)(*arguments, reduction, *options)
            exact = TABLE[name].forward(*[a if a is None else a.astype(float) for a in arguments], reduction, *options)
            assert (found.shape, found.dtype) == ((), first.dtype)
            np.testing.assert_allclose(found, exact, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


@pytest.mark.parametrize("name", ["mse_loss_gradient", "smooth_l1_loss_gradient", "huber_loss_gradient"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients_against_float64(name, reduction):
    first, target = numbers((70, 40), "float32", False), numbers((70, 40), "float32", False)
    grad = numbers((70, 40), "float32", False) if reduction == "none" else np.array(1.5, np.float32)
    found = kernel_of(name)(grad, first, target, reduction, 0.7)
    exact = TABLE[name].forward(*(a.astype(float) for a in (grad, first, target)), reduction, 0.7)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6 * np.abs(exact).max())


def test_special_values():
    first, target = numbers(5000, "float32", True), numbers(5000, "float32", True)
    first[:2], target[:2] = (0, 1), (1, 0)  # logarithms are held above -100
    assert np.isfinite(kernel_of("binary_cross_entropy_pair")(first, target, None, "sum"))
    first[3] = np.nan
    for name, _, options in CASES:
        absent = (None,) * TABLE[name].schema.count("Tensor?")
        assert np.isnan(kernel_of(name)(first, target, *absent, "mean", *options))
    logits = np.array([1e4, -1e4, np.inf] * 1000, np.float32)
    zeros, ones = np.zeros(3000, np.float32), np.ones(3000, np.float32)
    assert kernel_of("binary_cross_entropy_with_logits_pair")(logits[:2], zeros[:2], None, None, "sum") == 1e4
    assert kernel_of("binary_cross_entropy_with_logits_pair")(logits, zeros, None, None, "sum") == np.inf
    assert kernel_of("mse_loss_pair")(ones, zeros, "mean", 0.0) == 1


def test_what_is_declined():
    first = numbers((8, 9), "float32", False)
    assert kernel_of("mse_loss_pair")(first.T, first.T, "mean", 0.0) is NotImplemented
    assert kernel_of("mse_loss_pair")(first.astype(complex), first.astype(complex), "mean", 0.0) is NotImplemented
    half = first.astype(np.float16)
    assert kernel_of("mse_loss_gradient")(first[0, 0], half, half, "mean", 0.0) is NotImplemented


def test_threads_change_nothing():
    first, target = numbers(200_001, "float32", False), numbers(200_001, "float32", False)
    threads = rushlight.get_num_threads()
    try:
        found = []
        for count in (1, 2):
            rushlight.set_num_threads(count)
            found.append(kernel_of("smooth_l1_loss_pair")(first, target, "mean", 0.7))
    finally:
        rushlight.set_num_threads(threads)
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 1000, 33_000, 200_001])
def test_dot(dtype, size):
    x, y = (np.random.default_rng(seed).standard_normal(size).astype(dtype) for seed in (0, 1))
    found, wanted = dot(x, y), np.dot(x.astype("f8"), y.astype("f8"))
    assert found.dtype == x.dtype and found.shape == ()
    np.testing.assert_allclose(
        found, wanted, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-3 if dtype == "float32" else 1e-9
    )
    for other in (y[:-1], y[None], y.astype("f2"), y[::-1]):
        assert dot(x, other) is NotImplemented or size == 1
