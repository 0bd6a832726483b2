"""The kernel of attention's scores against the operation's NumPy form in float64."""

import numpy as np
import pytest

from rushlight.kernels.machine.host import host
from rushlight.kernels.products.attention_scores import scaled_scores
from rushlight.ops import attention

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(20, 5, 3, 4), (3, 64, 40, 33)], ids=str)
def test_scaled_scores(shape, dtype):
    batch, length, source, size = shape
    draw = np.random.default_rng(0).standard_normal
    query, key = draw((batch, length, size)).astype(dtype), draw((batch, source, size)).astype(dtype)
    found = scaled_scores(query, key, 0.3)
    expected = attention.scaled_scores.forward(query.astype("f8"), key.astype("f8"), 0.3)
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if dtype == "f4" else 1e-13)


def test_small_ones_are_left_to_numpy():
    assert scaled_scores(np.ones((2, 3, 4)), np.ones((2, 5, 4)), 0.5) is NotImplemented
