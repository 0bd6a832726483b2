"""Elementwise kernels: every formula against the interpreter and NumPy; layouts, dtypes, casts, copies, threads."""

import contextlib
import functools
import importlib

import numpy as np
import pytest

from rushlight.kernels.compiler.lowering import lowered
from rushlight.kernels.compiler.trace import formula_of
from rushlight.kernels.elementwise import calls as elementwise
from rushlight.kernels.elementwise import programs as elementwise_programs
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops import table
from rushlight.ops.numpy_math import numpy_math
from rushlight.tensor.compute import schema_of

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")

KINDS = (table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED)
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    3e-6,
    3e38,
    20.0,
    -20.0,
    88.0,
    -104.0,
]

# Values of options that have no default, or for which the default says little.
OPTIONS = {
    "threshold": {"threshold": 0.25, "value": -1.5},
    "threshold_backward": {"threshold": 0.0},
    "gelu_backward": {"approximate": "none"},
    "softplus_backward": {"beta": 1.5, "threshold": 20.0},
    "elu_backward": {"alpha": 1.5, "scale": 1.25, "input_scale": 0.75},
    "leaky_relu_backward": {"negative_slope": 0.25},
    "hardtanh_backward": {"min_val": -1.0, "max_val": 1.5},
    "hardshrink_backward": {"lambd": 0.5},
    "pow_backward": {"exponent": 2.5},
    "addcmul": {"value": 0.75},
    "addcdiv": {"value": 0.75},
    "add": {"alpha": 1.5},
    "polygamma_of": {"n": 1},
}


def operations():
    """The names of the operations whose formula is for real floating-point elements."""
    return [name for name in every_formula() if not of_integers(name)]


def of_integers(name):
    return table.TABLE[name].dtype_rule == table.INTEGRAL or "float32" in table.TABLE[name].refuse


def every_formula():
    """The names of all operations of elements that have a formula."""
    return sorted(name for name, op in table.TABLE.items() if op.kind in KINDS and formula_of(op) is not None)


@functools.cache
def op_arguments(name):
    """How many operands an operation has, and the values of its options."""
    operands, options = 0, {}
    for argument in schema_of(table.TABLE[name]).arguments:
        if argument.is_tensor:
            operands += 1
        else:
            options[argument.name] = OPTIONS.get(name, {}).get(argument.name, argument.default)
    return operands, options


def operands_of(name, dtype):
    """Random and special values; all pairs of special values where there are two operands."""
    operands, _ = op_arguments(name)
    random = np.random.default_rng(len(name))
    special = np.array(SPECIAL, dtype)
    first, second = (grid.ravel() for grid in np.meshgrid(special, special))
    found = []
    for i in range(operands):
        spread = random.standard_normal(70) * random.choice([0.1, 1, 10], 70)
        found.append(np.concatenate([spread.astype(dtype), (first, second, first[::-1])[i % 3]]))
    if table.TABLE[name].dtype_rule == table.MASKED:
        found[0] = found[0] > 0
    return found


def on_numpy(name, arrays):
    op, (_, options) = table.TABLE[name], op_arguments(name)
    with np.errstate(all="ignore"):
        if op.numpy is not None:
            return np.asarray(op.numpy(*arrays, **options))
        return np.asarray(op.element(numpy_math, *arrays, *options.values()))


def run(name, arrays, **keywords):
    return elementwise.run(table.TABLE[name], arrays, tuple(op_arguments(name)[1].values()), **keywords)


def assert_close(got, numpy_result, exact, least=0.0):
    """As near to the exact result, or to numbers of the size ``least``, as four units in the last place and twice NumPy's
    own error allow."""
    assert got.dtype == numpy_result.dtype
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, numpy_result)
        return
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(numpy_result))
        fine = np.isfinite(numpy_result) & np.isfinite(got)
        unit = np.maximum(np.maximum(np.abs(exact), least) * np.finfo(got.dtype).eps, np.finfo(got.dtype).tiny)
        allowed = 4 * unit + 2 * np.abs(numpy_result - exact)
        bad = fine & (np.abs(got - exact) > allowed)
        bad |= ~fine & ~np.isnan(got) & (got != numpy_result) & (np.abs(exact) < 0.999 * np.finfo(got.dtype).max)
    assert not bad.any(), (np.flatnonzero(bad), got[bad], numpy_result[bad], exact[bad])


@pytest.mark.parametrize("name", operations())
def test_formula_agrees_with_numpy(name):
    arrays = operands_of(name, np.float32)
    got = run(name, arrays)
    assert got is not NotImplemented
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
    least = 1.0 if name == "logaddexp2" else 0.0  # a negative number and a logarithm cancel
    assert_close(got, on_numpy(name, arrays), on_numpy(name, wide), least)


def inputs_of(name, dtype):
    """Every seventh of ``operands_of`` in a dtype; for integers, small ones and the extremes."""
    if dtype in FLOATS:
        found = [array[::7] for array in operands_of(name, np.float32)]
        return [array.copy() if array.dtype == bool else array.astype(dtype) for array in found]
    random = np.random.default_rng(len(name))
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    special = np.array([0, 1, most, least, most, 1], dtype)
    found = []
    for i in range(op_arguments(name)[0]):
        few = random.integers(max(least, -9), min(most, 9), 39, endpoint=True).astype(dtype)
        found.append(np.concatenate([few, np.roll(special, i)]))
    if table.TABLE[name].dtype_rule == table.MASKED:
        found[0] = found[0] != 0
    return found


def assert_same_bits(got, wanted):
    """Equal to the bit, zeros' signs too; any NaN equals any other."""
    nan = got != got
    np.testing.assert_array_equal(nan, wanted != wanted)
    bits = f"u{got.itemsize}"
    np.testing.assert_array_equal(got[~nan].view(bits), wanted[~nan].view(bits))


FLOATS = [np.dtype(t) for t in (np.float32, np.float64, np.float16)]
with contextlib.suppress(ImportError):
    FLOATS.append(np.dtype(importlib.import_module("ml_dtypes").bfloat16))
INTEGERS = [np.dtype(t) for t in (np.int64, np.int32, np.int16, np.uint8, np.bool_)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize("name", every_formula())
def test_formula_agrees_with_interpreter(name, dtype):
    rule, arrays = table.TABLE[name].dtype_rule, inputs_of(name, dtype)
    elementwise._entries.clear()  # what other tests asked for
    computed = np.dtype(np.float32) if rule == table.FLOAT and dtype in INTEGERS else None
    got = run(name, arrays, dtype=computed)
    if got is NotImplemented:
        assert dtype not in FLOATS[:2] or of_integers(name)
        return
    (entry,) = elementwise._entries.values()
    if dtype in FLOATS and entry.signature.computed == "u16":  # what moves the sign alone
        arrays, got = [array.view(np.uint16) for array in arrays], got.view(np.uint16)
    for lanes, together in ((4, 1), (16, 1), (4, 3)) if dtype == np.float32 else ((8, 1),):
        program = lowered(elementwise_programs.flat(entry.signature, lanes, together=together))
        out = np.full(got.size + lanes, 1, got.dtype)
        with np.errstate(all="ignore"):
            interpret(program, *arrays, out, got.size, 32, 0, *entry.numbers)
        assert_same_bits(out[: got.size], got)
        assert (out[got.size :] == np.ones((), got.dtype)).all()


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "?"])
def test_bits(name, dtype):
    random = np.random.default_rng(3)
    arrays = [random.integers(0, 2 if dtype == "?" else 127, 77).astype(dtype) for _ in range(op_arguments(name)[0])]
    np.testing.assert_array_equal(run(name, arrays), on_numpy(name, arrays))


@pytest.mark.parametrize("name", operations())
def test_double_precision(name):
    arrays = operands_of(name, np.float64)
    numpy_result = on_numpy(name, arrays)
    got = run(name, arrays)
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, numpy_result, rtol=1e-13, atol=1e-300)
    else:
        np.testing.assert_array_equal(got, numpy_result)


def test_exponents_are_no_dtypes():
    """A number among the options, and a dtype's number, are apart in what programs are found by."""
    x = np.linspace(0.5, 2, 100).astype(np.float16)
    first = np.full(100, 3, np.uint8)
    assert first.dtype.num == 2
    both = elementwise.run(table.TABLE["pow"], (first, x), (), x.dtype, x.dtype)
    square = elementwise.run(table.TABLE["pow"], (x, np.array(2.0)), (), x.dtype, x.dtype)
    np.testing.assert_allclose(both.astype(np.float64), 3.0 ** x.astype(np.float64), rtol=1e-3)
    np.testing.assert_allclose(square.astype(np.float64), x.astype(np.float64) ** 2, rtol=1e-3)
