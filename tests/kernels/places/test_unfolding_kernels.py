"""The kernel of the gradient of `unfold`: the same sums as NumPy's, in the same order; the interpreter agrees."""

import numpy as np
import pytest

from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import unfolding
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
RULE = TABLE["unfold_gradient"].forward


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("shape", "size", "step"),
    [
        ((1000,), 4, 2),
        ((1001,), 4, 3),
        ((3, 70_003), 5, 1),
        ((2, 3, 517), 400, 100),
        ((9000,), 7, 6),
        ((600,), 600, 5),
        ((4, 33), 2, 1),
    ],
)
def test_the_same_sums(shape, size, step, dtype):
    windows = (shape[-1] - size) // step + 1
    grad = np.random.default_rng(0).standard_normal((*shape[:-1], windows, size)).astype(dtype)
    wanted = RULE(grad, shape, -1, size, step)
    np.testing.assert_array_equal(unfolding.unfold_gradient(grad, shape, len(shape) - 1, size, step), wanted)
    turned = np.asfortranarray(grad)
    np.testing.assert_array_equal(unfolding.unfold_gradient(turned, shape, -1, size, step), wanted)


def test_what_is_declined():
    grad = np.ones((10, 4, 8), "f4")
    assert unfolding.unfold_gradient(grad.swapaxes(0, 1), (13, 10), 0, 4, 1) is NotImplemented  # another dimension
    assert unfolding.unfold_gradient(grad, (10, 32), 1, 8, 8) is NotImplemented  # windows apart
    assert unfolding.unfold_gradient(grad.astype("i8"), (10, 14), 1, 8, 2) is NotImplemented
    assert unfolding.unfold_gradient(grad[:0], (0, 14), 1, 8, 2) is NotImplemented
    assert unfolding.unfold_gradient(grad[0, 0, :1], (), 0, 1, 1) is NotImplemented


def test_the_program_agrees_with_the_interpreter():
    grad = np.random.default_rng(1).random((2, 3, 4)).astype("f4")
    out = np.zeros((2, 8), "f4")
    interpret(unfolding.add_windows("f32", 4), grad.reshape(-1), out.reshape(-1), 2, 8, 3, 4, 2, 2)
    np.testing.assert_array_equal(out, RULE(grad, (2, 8), 1, 4, 2))
