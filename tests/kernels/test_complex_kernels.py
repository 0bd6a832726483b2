"""Kernels of complex numbers: sums, products, conjugates, means, numbers from parts, against NumPy."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels import complex_numbers, elementwise, joining, reduce
from rushlight.kernels.host import host
from rushlight.kernels.interpret import interpret
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
SHAPES = [(1,), (7,), (33, 21), (50, 3, 401)]


def numbers(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    x = (random.integers(-9, 9, shape) + 1j * random.integers(-9, 9, shape)).astype(dtype)  # products are exact
    x.flat[0] = complex(np.inf, 1)
    x.flat[-1] = complex(-0.0, np.nan)
    return x


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_elementwise(shape, dtype):
    x, y = numbers(shape, dtype), numbers(shape, dtype, 1)
    number = np.array(2 - 3j, dtype)
    with np.errstate(all="ignore"):
        cases = [
            ("add", (x, y), (1,), x + y),
            ("sub", (x, y), (1,), x - y),
            ("neg", (x,), (), -x),
            ("mul", (x, y), (), x * y),
            ("mul", (x, number), (), x * number),
            ("mul", (number, x), (), number * x),
            ("conj_physical_complex", (x,), (), np.conjugate(x)),
        ]
    for name, arrays, options, expected in cases:
        found = elementwise.run(TABLE[name], arrays, options)
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected, err_msg=name)
        if arrays[0] is x and x.size > 1:
            target = x.copy()
            assert elementwise.run(TABLE[name], (target, *arrays[1:]), options, out=target) is target
            np.testing.assert_array_equal(target, expected, err_msg=name)


def test_what_is_declined():
    x = numbers((40, 30), "c8")
    for name, arrays, options in (
        ("add", (x, x.T.copy().T), (1,)),
        ("add", (x, x), (1j,)),
        ("add", (x, np.array(1j, "c8")), (1,)),
        ("mul", (x, x.real.copy()), ()),
        ("mul", (x, x[:1]), ()),
        ("exp", (x,), ()),
    ):
        assert elementwise.run(TABLE[name], arrays, options) is NotImplemented, name
    memory = np.zeros(50, "c8")
    assert elementwise.run(TABLE["mul"], (memory[1:41], x[0, :1].repeat(40)), (), out=memory[:40]) is NotImplemented


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("shape", [(5,), (70_001,), (60, 50), (7, 300, 20)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_sums(shape, dtype, keepdim):
    random = np.random.default_rng(0)
    x = (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype)
    close = {"rtol": 1e-4 if dtype == "c8" else 1e-11, "atol": 1e-2 if dtype == "c8" else 1e-9}
    for dims in (None, (0,), (-1,), tuple(range(len(shape)))):
        for kernel, reference in ((reduce.sum, np.sum), (reduce.mean, np.mean)):
            found = kernel(x, dims, keepdim, None)
            if found is NotImplemented:
                assert x.size < 64
                continue
            expected = reference(x.astype("c16"), axis=dims, keepdims=keepdim)
            assert found.dtype == dtype and found.shape == expected.shape
            np.testing.assert_allclose(found, expected, **close)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_from_parts(shape, dtype):
    real, imaginary = numbers(shape, "c16").real.astype(dtype), numbers(shape, "c16", 1).real.astype(dtype)
    found = joining.complex_of_parts(real, imaginary)
    np.testing.assert_array_equal(found.real, real)
    np.testing.assert_array_equal(found.imag, imaginary)
    assert found.flags.c_contiguous and found.dtype.itemsize == 2 * real.itemsize
    assert joining.complex_of_parts(real, imaginary[:0]) is NotImplemented


@pytest.mark.parametrize("mode", ["products", "multiples", "conjugates"])
def test_program_agrees_with_the_interpreter(mode):
    x, y = numbers((9,), "c8"), numbers((9,), "c8", 1)
    y[0] = 2 - 1j
    out = np.zeros(9, "c8")
    interpret(complex_numbers.program("f32", 4, mode), *(a.view("f4") for a in (x, y, out)), 18)
    with np.errstate(all="ignore"):
        expected = {"products": x * y, "multiples": x * y[0], "conjugates": np.conjugate(x)}[mode]
    np.testing.assert_array_equal(out, expected)


def test_gradients_of_large_products():
    x = rl.from_numpy(np.nan_to_num(numbers((200, 300), "c8"), posinf=1)).requires_grad_()
    y = rl.from_numpy(np.nan_to_num(numbers((200, 300), "c8", 1), posinf=1))
    (x * y).sum().abs().backward()
    total = (x.detach() * y).sum().item()
    expected = (total / abs(total)) * np.conjugate(y.numpy())
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-5)
