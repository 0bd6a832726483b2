"""Negative log-likelihoods by generated kernels, of rows and of images, against NumPy's way."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.rows.nll_loss import nll_loss, nll_loss_gradient

SHAPES = [(5, 3), (64, 10), (4097, 7), (2, 5, 9), (3, 4, 6, 7), (2, 3, 50, 61), (1, 21, 70, 70), (3, 1, 4), (4, 6, 1)]
forward, gradient = TABLE["nll_loss_parts"].forward, TABLE["nll_loss_gradient"].forward


def case(shape, dtype):
    draw = np.random.default_rng(sum(shape))
    x, weight = draw.standard_normal(shape).astype(dtype), draw.uniform(0.5, 2, shape[1]).astype(dtype)
    return x, draw.integers(0, shape[1], (shape[0], *shape[2:])), weight


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@np.errstate(all="ignore")  # where nothing counts, the mean is NaN
def test_against_numpy(shape, reduction, dtype):
    x, target, weight = case(shape, dtype)
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    for own, ignored in ((None, -100), (weight, -100), (weight, 1), (None, 0)):
        found = nll_loss(x, target, own, reduction, ignored)
        exact = forward(x.astype(float), target, None if own is None else own.astype(float), reduction, ignored)
        for a, b in zip(found, exact):
            assert (a.shape, a.dtype) == (b.shape, x.dtype)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        grad = np.full(target.shape if reduction == "none" else (), 3, dtype)
        backward = nll_loss_gradient(grad, target, own, reduction, ignored, found[1], shape)
        np.testing.assert_allclose(
            backward, gradient(grad, target, own, reduction, ignored, found[1], shape), rtol=1e-6
        )


@pytest.mark.parametrize("shape", [(64, 10), (2, 5, 30, 3)])
def test_wrong_classes_and_nothing_counted(shape):
    x, target, _ = case(shape, "float32")
    for wrong in (shape[1], -1):
        target.flat[5] = wrong
        with pytest.raises(IndexError, match=f"Target {wrong} is out of bounds."):
            nll_loss(x, target, None, "mean", -100)
    assert nll_loss(x, target, None, "sum", -1)[1] == target.size - 1
    found = nll_loss(x, np.full_like(target, -100), None, "mean", -100)
    assert np.isnan(found[0]) and found[1] == 0


def test_what_is_declined():
    x, target, weight = case((64, 10), "float32")
    assert nll_loss(x[:, ::2], target // 2, None, "mean", -100) is NotImplemented
    assert nll_loss(x, target.astype(np.uint8), None, "mean", -100) is NotImplemented
    assert nll_loss(x, target, weight.astype(float), "mean", -100) is NotImplemented
    assert nll_loss(x[0], target[0], None, "mean", -100) is NotImplemented


def test_threads_change_nothing():
    x, target, weight = case((2, 11, 300, 100), "float32")
    threads = rushlight.get_num_threads()
    try:
        found = []
        for count in (1, 2):
            rushlight.set_num_threads(count)
            loss = nll_loss(x, target, weight, "mean", -100)
            found.append(
                [
                    loss[0].tobytes(),
                    nll_loss_gradient(loss[0], target, weight, "mean", -100, loss[1], x.shape).tobytes(),
                ]
            )
    finally:
        rushlight.set_num_threads(threads)
    assert found[0] == found[1]
