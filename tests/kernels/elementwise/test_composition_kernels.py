"""`glu` and its gradient by kernels: what NumPy gives, for all dtypes and layouts; derivatives of any order."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.elementwise import compositions
from rushlight.kernels.machine.host import host
from rushlight.ops.elementwise import gating

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")
CLOSE = {"f4": 1e-6, "f8": 1e-14, "f2": 1e-3}
SHAPES = [((30, 20), 1), ((30, 20), 0), ((5, 6, 4, 50), 1), ((7000,), 0), ((3, 34), -1)]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_glu(shape, dim, dtype):
    draw = np.random.default_rng(0)
    x = (draw.standard_normal(shape) * 5).astype(dtype)
    x.flat[0], x.flat[-1] = np.nan, np.inf
    half = gating.halves(x, dim)[0].shape
    grad = draw.standard_normal(half).astype(dtype)
    close = {"rtol": CLOSE[dtype] * 4, "atol": CLOSE[dtype] * 10}
    with np.errstate(all="ignore"):
        for array, flow in ((x, grad), (np.asfortranarray(x), grad), (x, np.asfortranarray(grad))):
            found = compositions.glu(array, dim)
            assert found.dtype == dtype and found.shape == half
            np.testing.assert_allclose(found, gating.glu.forward(x, dim), **close)
            gradient = compositions.glu_gradient(flow, array, dim)
            assert gradient.dtype == dtype and gradient.shape == shape and gradient.flags.c_contiguous
            np.testing.assert_allclose(gradient, gating.glu_gradient.forward(grad, x, dim), **close)


def test_what_is_declined():
    x, grad = np.ones((4, 6), "f4"), np.ones((4, 3), "f4")
    assert compositions.glu_gradient(grad.astype("f8"), x, 1) is NotImplemented
    assert compositions.glu_gradient(grad[:1], x, 1) is NotImplemented
    assert compositions.glu(x.astype("i8"), 1) is NotImplemented


def test_derivatives_of_any_order():
    x = rl.randn(3, 400, dtype=rl.float64, requires_grad=True)
    y = rl.nn.functional.glu(x)
    assert type(y.grad_fn).__name__ == "GluBackward0"
    small = rl.randn(2, 6, dtype=rl.float64, requires_grad=True)
    assert rl.autograd.gradcheck(rl.nn.functional.glu, (small,))
    assert rl.autograd.gradgradcheck(rl.nn.functional.glu, (small,))
    rows = rl.func.vmap(rl.func.grad(lambda row: rl.nn.functional.glu(row).sum()))(x.detach())
    (expected,) = rl.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(rows.numpy(), expected.numpy(), rtol=1e-12)
