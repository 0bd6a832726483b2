"""Kernels of complex numbers: sums, products, conjugates, means, numbers from parts, against NumPy."""

from fractions import Fraction

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.compiler.lowering import lowered
from rushlight.kernels.elementwise import calls as elementwise
from rushlight.kernels.elementwise import complex_functions
from rushlight.kernels.elementwise.complex_formulas import FORMULAS
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import joining
from rushlight.kernels.rows import reduce
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
    real = np.arange(x.size, dtype=x.real.dtype).reshape(shape) % 7 - 3
    with np.errstate(all="ignore"):
        cases = [
            ("add", (x, y), (1,), x + y),
            ("sub", (x, y), (1,), x - y),
            ("neg", (x,), (), -x),
            ("mul", (x, y), (), x * y),
            ("mul", (x, number), (), x * number),
            ("mul", (number, x), (), number * x),
            ("conj_physical_complex", (x,), (), np.conjugate(x)),
            ("mul", (x, real), (), x * real),
            ("mul", (real.astype("i8"), x), (), real * x),
            ("add", (x, real), (1,), x + real),
            ("sub", (real, x), (1,), real - x),
            ("rsub", (x, number), (1,), number - x),
            ("div", (x, y), (None,), x / y),
            ("div", (x, number), (None,), x / number),
            ("div", (real, y), (None,), real / y),
            ("reciprocal", (x,), (), np.true_divide(1, x)),
            ("eq", (x, y), (), x == y),
            ("ne", (x, number), (), x != number),
            ("pow", (x, np.array(2, dtype)), (), x * x),
            ("pow", (x, np.array(3, dtype)), (), x * x * x),
        ]
    for name, arrays, options, expected in cases:
        found = elementwise.run(TABLE[name], arrays, options, np.dtype(dtype))
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected, err_msg=name)
        if arrays[0] is x and x.size > 1 and expected.dtype == dtype:
            target = x.copy()
            assert elementwise.run(TABLE[name], (target, *arrays[1:]), options, np.dtype(dtype), out=target) is target
            np.testing.assert_array_equal(target, expected, err_msg=name)


def test_what_is_declined():
    x = numbers((40, 30), "c8")
    for name, arrays, options in (
        ("add", (x, x), (1j,)),
        ("add", (x, np.array(1j, "c8")), (2,)),
        ("asin", (x,), ()),
        ("where_select", (np.array(True), x, x), ()),
    ):
        assert elementwise.run(TABLE[name], arrays, options) is NotImplemented, name
    memory = np.zeros(50, "c8")
    assert elementwise.run(TABLE["mul"], (memory[1:41], x[0, :1].repeat(40)), (), out=memory[:40]) is NotImplemented
    assert elementwise.run(TABLE["mul"], (x.T, x.T), (), out=x.T) is NotImplemented


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_layouts(dtype):
    x, y = numbers((40, 30, 20), dtype), numbers((40, 30, 20), dtype, 1)
    turned = numbers((20, 30, 40), dtype, 2).transpose(2, 1, 0)
    for first, second in (
        (x, y[0]),
        (y[:, :1], x),
        (x, y[:, :, :1]),
        (turned, turned),
        (x, turned),
        (x[::2, 3:, ::-1], y[::2, 3:]),
        (x[0], turned.real),
        (x[:, :1], y[0, :, 0][:, None]),
    ):
        with np.errstate(all="ignore"):
            expected, difference = first * second, first - second
        found = elementwise.run(TABLE["mul"], (first, second), (), np.dtype(dtype))
        np.testing.assert_array_equal(found, expected)
        assert found.strides == expected.strides
        found = elementwise.run(TABLE["sub"], (first, second), (1,), np.dtype(dtype))
        np.testing.assert_array_equal(found, difference)
    np.testing.assert_array_equal(elementwise.run(TABLE["sgn"], (turned,), ()).strides, turned.strides)


def test_special_numbers_among_rows():
    x = plain_numbers(4000, 0).reshape(40, 100)
    x[3, 5] = x[30, 79] = complex(np.nan, 1)
    x[9, 11] = complex(np.inf, 1)
    for name, options, expected in (("exp", (), np.exp), ("pow", (2.5,), lambda x: np.power(x, 2.5))):
        for view in (x[:, 10:90], x.T[10:90], x[::2], np.broadcast_to(x[:, :1], (40, 100))):
            arrays = (view, np.array(2.5, "c8")) if options else (view,)
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(elementwise.run(TABLE[name], arrays, ()), expected(view), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_choices_by_a_mask(dtype):
    x, y, mask = numbers((50, 60), dtype), numbers((50, 60), dtype, 1), np.arange(3000).reshape(50, 60) % 3 == 0
    zero, real = np.zeros((), dtype), np.arange(3000.0).reshape(50, 60)
    for first, second in ((x, y), (x, zero), (zero, y), (real, x)):
        found = elementwise.run(TABLE["where_select"], (mask, first, second), (), np.dtype(dtype))
        np.testing.assert_array_equal(found, np.where(mask, first, second))
    target = x.copy()
    assert elementwise.run(TABLE["where_select"], (mask, zero, target), (), np.dtype(dtype), out=target) is target
    np.testing.assert_array_equal(target, np.where(mask, 0, x))
    found = elementwise.run(TABLE["where_select"], (mask[:, :1], x, y), (), np.dtype(dtype))
    np.testing.assert_array_equal(found, np.where(mask[:, :1], x, y))


def test_copies():
    x = numbers((50, 60), "c8")
    for source in (x, x.astype("c16"), x.real.copy(), np.arange(3000).reshape(50, 60), np.array(2 - 1j), np.array(3)):
        for kind in ("c8", "c16"):
            out = np.zeros((50, 60), kind)
            assert elementwise.copy(source, out=out) is out
            np.testing.assert_array_equal(out, np.broadcast_to(source, out.shape).astype(kind))
    assert elementwise.copy(x.astype("c16").T, out=np.empty((60, 50), "c16")) is NotImplemented
    assert elementwise.copy(x.astype("c16")[:, ::2], out=np.empty((50, 30), "c16")) is NotImplemented


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


def test_gradients_of_large_products():
    x = rl.from_numpy(np.nan_to_num(numbers((200, 300), "c8"), posinf=1)).requires_grad_()
    y = rl.from_numpy(np.nan_to_num(numbers((200, 300), "c8", 1), posinf=1))
    (x * y).sum().abs().backward()
    total = (x.detach() * y).sum().item()
    expected = (total / abs(total)) * np.conjugate(y.numpy())
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-5)


def plain_numbers(count, seed, dtype="c8"):
    random = np.random.default_rng(seed)
    size = np.exp(random.uniform(-9, 2, count))
    return (size * np.exp(1j * random.uniform(-np.pi, np.pi, count))).astype(dtype)


WIDE = {  # functions that NumPy lacks, of wider numbers
    "rsub": lambda x, y: y - x,
    "mul": lambda x, y: x * y,
    "mul_conjugate": lambda x, y: x * np.conj(y),
    "cube": lambda x: x**3,
    "conj_physical_complex": np.conj,
    "copied": np.positive,
    "where_select": np.where,
    "eq": np.equal,
    "ne": np.not_equal,
    "add": np.add,
    "sub": np.subtract,
    "abs_backward": lambda g, x: g.real * x / abs(x),
    "div": lambda x, y: x / y,
    "div_other_backward": lambda g, x, y: -g * np.conj(x / y / y),
    "pow": lambda x, y: x**y,
    "inverse_square": lambda x: 1 / (x * x),
    "reciprocal": lambda x: 1 / x,
    "sgn": lambda x: x / abs(x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
TWO = ("add", "sub", "rsub", "mul", "mul_conjugate", "eq", "ne", "div", "pow")
KINDS = {**dict.fromkeys(TWO, "cc"), "div_other_backward": "ccc", "abs_backward": "rc", "where_select": "mcc"}


def operands(name, count, dtype="c8"):
    arrays = [plain_numbers(count, seed, dtype) for seed in range(len(KINDS.get(name, "c")))]
    if name == "pow":
        arrays[1] /= 9
    if name in ("eq", "ne"):
        arrays[1][::2] = arrays[0][::2]
    made = {"r": lambda a: a.real.copy(), "m": lambda a: a.real > 0, "c": lambda a: a}
    return [made[kind](a) for a, kind in zip(arrays, KINDS.get(name, "c"))]


def computed(name, arrays, otherwise=None):
    dtype = next(a.dtype for a in arrays if a.dtype.kind == "c")
    out = np.empty(arrays[0].shape, complex_functions.result_dtype(name, dtype))
    return complex_functions.run(name, arrays, out, otherwise)


def wide(name, arrays):
    kinds = {"f": np.longdouble, "c": np.clongdouble, "b": np.bool_}
    wider = [array.astype(kinds[array.dtype.kind]) for array in arrays]
    return (WIDE.get(name) or getattr(np, name))(*wider)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("count", [1, 7, 5000, 40_001])
@pytest.mark.parametrize("name", FORMULAS)
def test_functions(name, count, dtype):
    arrays = operands(name, count, dtype)
    found, expected = computed(name, arrays), wide(name, arrays)
    step = np.finfo(dtype).eps
    if name in ("eq", "ne"):
        np.testing.assert_array_equal(found, expected)
    elif name == "pow":  # an error of the exponent's last place is one of the result's relative size
        np.testing.assert_allclose(found, expected.astype("c16"), rtol=2 * step if dtype == "c8" else 20 * step)
    else:
        steps = 20 if name == "sigmoid" else 6  # which is a quotient by a sum that may be small
        assert (np.abs(found - expected) <= steps * step * np.abs(expected)).all()


def test_logarithms_near_one():
    """Where the size is 1 but for rounding, what rounding takes from its square is all of the logarithm."""
    angles = np.random.default_rng(0).uniform(0, 7, 4000)
    x = np.cos(angles) + 1j * np.sin(angles)
    a, b = ([Fraction(part) for part in parts.tolist()] for parts in (x.real, x.imag))
    expected = [float(p * p + q * q - 1) / 2 for p, q in zip(a, b)]  # the next term is 1e-16 of it
    np.testing.assert_allclose(computed("log", [x]).real, expected, rtol=1e-14)


@pytest.mark.parametrize("scalar", ["f32", "f64"])
@pytest.mark.parametrize("name", FORMULAS)
def test_functions_by_the_interpreter(name, scalar):
    dtype = {"f32": "c8", "f64": "c16"}[scalar]
    arrays = [array if array.dtype == bool else array / 9 for array in operands(name, 11, dtype)]
    kinds = KINDS.get(name, "c")
    found = np.empty(11, complex_functions.result_dtype(name, np.dtype(dtype)))
    noted = [np.empty(11, bool), np.empty(1, bool)] if FORMULAS[name].checked else []
    flat = [array.view(array.real.dtype) for array in (*arrays, found)]
    interpret(lowered(complex_functions.program(name, kinds, scalar, 4)), *flat, *noted, 11, 16, 3)
    assert not any(array.any() for array in noted)
    expected = wide(name, arrays).astype(found.dtype)
    np.testing.assert_allclose(found, expected, rtol=20 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kinds", ["cr", "cn", "rc", "nc"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_real_operands_and_numbers(kinds, dtype):
    x, y = (plain_numbers(20_011, seed, dtype) for seed in (0, 1))
    arrays = [{"r": a.real.copy(), "n": np.array(a[5]), "c": a}[kind] for kind, a in zip(kinds, (x, y / 9))]
    for name in ("mul", "div", "pow", "add", "sub"):
        found = complex_functions.run(name, arrays, np.empty_like(x), None)
        np.testing.assert_allclose(found, wide(name, arrays).astype("c16"), rtol=20 * np.finfo(dtype).eps, err_msg=name)


def test_streamed_results(monkeypatch):
    monkeypatch.setattr(complex_functions, "STREAM_BYTES", 1)
    for dtype in ("c8", "c16"):
        x, y = (plain_numbers(50_003, seed, dtype)[1:] for seed in (0, 1))
        found = complex_functions.run("mul", [x, y], np.empty(50_004, dtype)[2:], None)
        np.testing.assert_array_equal(found, complex_functions.run("mul", [y, x], np.empty_like(x), None))
        np.testing.assert_allclose(found, x * y, rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in FORMULAS if FORMULAS[name].checked])
def test_functions_leave_what_is_special_to_numpy(name):
    """And nothing else: what is not special is as it was."""
    arrays = operands(name, 5000)
    plain, places = computed(name, arrays), [17, 4000, 4321]
    arrays[-1][places] = complex(np.nan, 1), complex(1, np.inf), complex(np.inf, np.nan)
    asked = []

    def otherwise(*picked):
        asked.append([array.tolist() for array in picked])
        return np.arange(picked[-1].size)

    found = computed(name, arrays, otherwise)
    assert [len(each) for each in asked[0]] == [3] * len(arrays) and len(asked) == 1
    plain[places] = np.arange(3)
    np.testing.assert_array_equal(found, plain)
    if found.dtype == arrays[-1].dtype:  # in place
        target = arrays[-1].copy()
        complex_functions.run(name, [*arrays[:-1], target], target, otherwise)
        np.testing.assert_array_equal(target, plain)
        np.testing.assert_equal(asked[1], asked[0])


@pytest.mark.parametrize("name", ["log", "reciprocal", "sgn", "sqrt", "exp", "tanh", "sin", "rsqrt", "abs", "angle"])
def test_functions_of_zeros(name):
    x = plain_numbers(70_000, 0)
    x[:4] = 0, complex(-0.0, 0.0), complex(0.0, -0.0), complex(-0.0, -0.0)
    with np.errstate(all="ignore"):
        few, many = (getattr(rl, name)(rl.from_numpy(array)).numpy()[:4] for array in (x[:4], x))
    np.testing.assert_array_equal(few.view(np.float32), many.view(np.float32))
    signs = [np.signbit(np.nan_to_num(array.view(np.float32))) for array in (few, many)]
    np.testing.assert_array_equal(*signs)
