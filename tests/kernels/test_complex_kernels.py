"""Kernels of complex numbers: sums, products, conjugates, means, numbers from parts, against NumPy."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels import complex_functions, complex_numbers, elementwise, joining, reduce
from rushlight.kernels.compiler import lowered
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


def plain_numbers(count, seed):
    random = np.random.default_rng(seed)
    size = np.exp(random.uniform(-9, 2, count))
    return (size * np.exp(1j * random.uniform(-np.pi, np.pi, count))).astype(np.complex64)


def on_numpy(name, arrays):
    """A function of complex numbers as NumPy computes it in double precision."""
    x, *others = (array.astype(complex) for array in arrays)
    formulas = {
        "reciprocal": lambda: 1 / x,
        "sgn": lambda: x / abs(x),
        "rsqrt": lambda: 1 / np.sqrt(x),
        "sigmoid": lambda: 1 / (1 + np.exp(-x)),
        "div": lambda: x / others[0],
        "pow": lambda: x ** others[0],
        "div_other_backward": lambda: -x * np.conj(others[0] / others[1] / others[1]),
    }
    return formulas[name]() if name in formulas else getattr(np, name)(x)


def operands(name):
    return {"div": 2, "pow": 2, "div_other_backward": 3}.get(name, 1)


@pytest.mark.parametrize("count", [1, 7, 5000])
@pytest.mark.parametrize("name", complex_functions.FORMULAS)
def test_functions(name, count):
    arrays = [plain_numbers(count, seed) for seed in range(operands(name))]
    if name == "pow":
        arrays[1] /= 9
    found = complex_functions.run(name, arrays, np.empty(count, np.complex64))
    np.testing.assert_allclose(found, on_numpy(name, arrays), rtol=2e-7)


@pytest.mark.parametrize("name", complex_functions.FORMULAS)
def test_functions_by_the_interpreter(name):
    arrays = [plain_numbers(11, seed) / 9 for seed in range(operands(name))]
    found, outside = np.empty(11, np.complex64), np.empty(1, bool)
    program = lowered(complex_functions.program(name, len(arrays), 4))
    interpret(program, *(array.view(np.float32) for array in (*arrays, found)), outside, 11)
    assert not outside.any()
    np.testing.assert_allclose(found, on_numpy(name, arrays), rtol=3e-7)


@pytest.mark.parametrize("name", complex_functions.FORMULAS)
def test_functions_leave_what_is_special_to_numpy(name):
    for number in (complex(np.nan, 1), complex(1, np.inf), complex(np.inf, np.nan)):
        arrays = [plain_numbers(5000, seed) for seed in range(operands(name))]
        arrays[-1][4321] = number
        assert complex_functions.run(name, arrays, np.empty(5000, np.complex64)) is NotImplemented
    doubles = [array.astype(complex) for array in arrays]
    assert complex_functions.run(name, doubles, np.empty(5000, complex)) is NotImplemented


@pytest.mark.parametrize("name", ["log", "reciprocal", "sgn", "sqrt", "exp", "tanh", "sin", "rsqrt"])
def test_functions_of_zeros(name):
    x = plain_numbers(5000, 0)
    x[:4] = 0, complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0)
    with np.errstate(all="ignore"):
        few, many = (getattr(rl, name)(rl.from_numpy(array)).numpy() for array in (x[:4], x))
    np.testing.assert_array_equal(few.view(np.float32), many[:4].view(np.float32))
    np.testing.assert_array_equal(np.signbit(few.view(np.float32)), np.signbit(many[:4].view(np.float32)))
