"""Windows, lines, choices and Vandermonde's matrix against PyTorch, at sizes that NumPy computes and that kernels do."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

WINDOWS = ("bartlett", "blackman", "hamming", "hann", "kaiser")
SIGNAL_WINDOWS = {
    "bartlett": {}, "blackman": {}, "cosine": {}, "exponential": {"tau": 30.0}, "gaussian": {"std": 900.0},
    "general_cosine": {"a": [0.4, 0.3, 0.2]}, "general_hamming": {"alpha": 0.6}, "hamming": {}, "hann": {},
    "kaiser": {"beta": 3.0}, "nuttall": {},
}  # fmt: skip
SMALLEST = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1.2e-7, "float64": 2.3e-16}  # steps of a dtype at 1


@pytest.mark.parametrize("length", [7, 200, 5000])
@pytest.mark.parametrize("dtype", SMALLEST)
@pytest.mark.parametrize("periodic", [True, False])
def test_windows_are_computed_in_their_dtype(length, dtype, periodic):
    for name in WINDOWS if length < 5000 or SMALLEST[dtype] < 1e-6 else ():  # not where the places are rounded
        expected, own = (getattr(m, f"{name}_window")(length, periodic, dtype=getattr(m, dtype)) for m in (torch, rl))
        steps = 12 if name == "kaiser" else 4
        np.testing.assert_allclose(
            own.double().numpy(), expected.double().numpy(), rtol=0, atol=steps * SMALLEST[dtype], err_msg=name
        )


@pytest.mark.parametrize("length", [7, 20000])
@pytest.mark.parametrize("sym", [True, False])
def test_windows_of_signal(length, sym):
    for name, options in SIGNAL_WINDOWS.items():
        for dtype, atol in (("float32", 3e-9), ("float64", 1e-17)):
            expected, own = (
                getattr(m.signal.windows, name)(length, sym=sym, dtype=getattr(m, dtype), **options)
                for m in (torch, rl)
            )
            np.testing.assert_allclose(
                own.numpy(), expected.numpy(), rtol=0, atol=max(500, length) * atol, err_msg=name
            )


def test_windows_that_require_gradients():
    for m in (torch, rl):
        window = m.signal.windows.gaussian(5, requires_grad=True)
        assert window.requires_grad and not window.is_leaf
        assert m.hann_window(5, requires_grad=True).is_leaf


@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("r", [0, 1, 2, 3, 5, 6])
@pytest.mark.parametrize("with_replacement", [False, True])
def test_combinations(count, r, with_replacement):
    expected, own = (m.combinations(3 * m.arange(count), r, with_replacement) for m in (torch, rl))
    assert own.shape == expected.shape and own.tolist() == expected.tolist()


def test_many_combinations_and_their_gradient():
    numbers = np.random.default_rng(0).standard_normal(200)
    x, y = (m.tensor(numbers, requires_grad=True) for m in (torch, rl))
    expected, own = torch.combinations(x), rl.combinations(y)
    np.testing.assert_array_equal(own.detach().numpy(), expected.detach().numpy())
    expected.square().sum().backward()
    own.square().sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy())


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("steps", [2, 9, 100, 5001, 20000])
def test_lines_of_integers(dtype, steps):
    for start, end in ((0, 100), (90, 3), (7, 7)):
        expected, own = (m.linspace(start, end, steps, dtype=getattr(m, dtype)) for m in (torch, rl))
        np.testing.assert_array_equal(own.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("steps", [2, 9, 5001])
def test_powers_along_a_line(dtype, steps):
    expected, own = (m.logspace(-2, 3.5, steps, 2.5, dtype=getattr(m, dtype)).double() for m in (torch, rl))
    np.testing.assert_allclose(own.numpy(), expected.numpy(), rtol=8 * SMALLEST[dtype])


@pytest.mark.parametrize("dtype", ["float32", "bool", "int32", "float16", "complex64"])
@pytest.mark.parametrize("increasing", [False, True])
def test_vandermonde(dtype, increasing):
    for count in (0, 1, 3, 20):
        for powers in (None, 0, 1, 2, 5):
            expected, own = (
                m.vander((m.arange(count) % 4 - 1.0).to(getattr(m, dtype)), powers, increasing) for m in (torch, rl)
            )
            assert own.stride() == expected.stride() and str(own.dtype)[-5:] == str(expected.dtype)[-5:]
            np.testing.assert_array_equal(own.numpy(), expected.numpy())
