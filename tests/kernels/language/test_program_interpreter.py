"""The interpreter: what each kind of instruction means, and what is said where a program steps out of bounds."""

import ctypes
import ctypes.util
import random

import numpy as np
import pytest

from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.instructions import OPCODES, convert_array
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.language.program import Program
from rushlight.kernels.language.text import read
from rushlight.kernels.language.verify import ProgramError

ml_dtypes = pytest.importorskip("ml_dtypes")


def built(parameters, write):
    """A program with these parameters; ``write(builder, *parameters)`` is called within one parallel chunk."""
    builder = Builder("p", [part.split(": ") for part in parameters.split(", ")])
    with builder.parallel(1):
        write(builder, *builder.parameters)
    return Program("p", [builder.function])


def result(write, *arrays, dtype=np.float32, size=1):
    """What ``write(builder, *loaded)`` gives for the arrays, each loaded as one scalar or vector."""
    names = {
        np.dtype(np.float32): "f32",
        np.dtype(np.int32): "i32",
        np.dtype(np.int64): "i64",
        np.dtype(np.bool_): "bool",
    }
    parameters = [f"a{i}: {names[a.dtype]}*" for i, a in enumerate(arrays)] + [f"out: {names[np.dtype(dtype)]}*"]

    def body(builder, *pointers):
        loaded = [builder.load(p, 0, a.size) for p, a in zip(pointers, arrays)]
        builder.store(write(builder, *loaded), pointers[-1])

    out = np.zeros(size, dtype)
    interpret(built(", ".join(parameters), body), *arrays, out)
    return out


F = np.float32
VECTOR = np.array([1, -2, 3.5, np.nan], F)


def test_arithmetic_is_lane_by_lane():
    other = np.array([2, 2, -0.5, 1], F)
    np.testing.assert_array_equal(result(lambda b, x, y: x * y, VECTOR, other, size=4), VECTOR * other)
    np.testing.assert_array_equal(result(lambda b, x, y: b.minimum(x, y), VECTOR, other, size=4), [1, -2, -0.5, 1])
    np.testing.assert_array_equal(result(lambda b, x, y: b.minimum(x, y), other, VECTOR, size=4), [1, -2, -0.5, np.nan])
    np.testing.assert_array_equal(result(lambda b, x: x < 2.0, VECTOR, dtype=bool, size=4), [1, 1, 0, 0])
    np.testing.assert_array_equal(result(lambda b, x: b.select(x < 2.0, x, 0.0), VECTOR, size=4), [1, -2, 0, 0])


@pytest.mark.parametrize("a, b", [(7, 2), (-7, 2), (7, -2), (-7, -2), (-(2**31), 3), (0, 5)])
def test_integer_division_is_towards_zero(a, b):
    a, b = np.array([a], np.int32), np.array([b], np.int32)
    quotient = int(result(lambda _, x, y: x // y, a, b, dtype=np.int32)[0])
    remainder = int(result(lambda _, x, y: x % y, a, b, dtype=np.int32)[0])
    assert quotient == int(int(a[0]) / int(b[0]))
    assert quotient * b[0] + remainder == a[0]


def test_integers_wrap_around():
    top = np.array([2**31 - 1], np.int32)
    assert result(lambda b, x: x + 1, top, dtype=np.int32)[0] == -(2**31)
    assert result(lambda b, x: -x - 2, top, dtype=np.int32)[0] == 2**31 - 1


def test_division_by_zero_is_an_error():
    zero, one = np.zeros(1, np.int32), np.ones(1, np.int32)
    with pytest.raises(ZeroDivisionError, match="div of integers by 0"):
        result(lambda b, x, y: x // y, one, zero, dtype=np.int32)
    assert result(lambda b, x, y: x / y, one.astype(F), zero.astype(F))[0] == np.inf


@pytest.mark.parametrize("name, dtype", [("fmaf", np.float32), ("fma", np.float64)])
def test_fma_rounds_once(name, dtype):
    machine = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name)
    machine.restype = ctypes.c_float if dtype == np.float32 else ctypes.c_double
    machine.argtypes = [machine.restype] * 3
    generator = np.random.default_rng(0)
    a, b, c = (
        (generator.standard_normal(3000) * 2.0 ** generator.integers(-20, 20, 3000)).astype(dtype) for _ in "abc"
    )
    c[::2] = -(a * b)[::2]  # what is left is the rounding error of the product
    limits = np.finfo(dtype)
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal])
    cube = [x.ravel() for x in np.meshgrid(*[special.astype(dtype)] * 3)]
    a, b, c = (np.concatenate(pair) for pair in zip((a, b, c), cube))
    with np.errstate(all="ignore"):
        found = OPCODES["fma"].meaning(a, b, c)
    expected = np.array([machine(*map(float, lanes)) for lanes in zip(a, b, c)], dtype)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_lanes():
    v = np.array([1, 2, 3, 4], F)
    mask = np.array([False, True, False, True])
    np.testing.assert_array_equal(result(lambda b, x: b.shuffle(x, x * 10.0, [7, 0, 4]), v, size=3), [40, 1, 10])
    np.testing.assert_array_equal(result(lambda b, x, m: b.compress(x, m), v, mask, size=4), [2, 4, 0, 0])
    np.testing.assert_array_equal(result(lambda b, x: b.splat(b.extract(x, 2), 4), v, size=4), [3, 3, 3, 3])
    np.testing.assert_array_equal(
        result(lambda b, x: b.iota("i32x4") + x, v.astype(np.int32), dtype=np.int32, size=4), [1, 3, 5, 7]
    )
    assert result(lambda b, x: b.reduce(x, "max"), v)[0] == 4
    assert result(lambda b, m: b.reduce(m, "or"), mask, dtype=bool)[0]
    assert not result(lambda b, m: b.reduce(m, "and"), mask, dtype=bool)[0]


def test_reduce_is_a_tree_of_halves():
    v = np.array([1e8, 3, 1, -1e8, 5, 0.25, 7, 1], F)
    halves = [v[i] + v[i + 4] for i in range(4)]
    quarters = [halves[0] + halves[2], halves[1] + halves[3]]
    assert result(lambda b, x: b.reduce(x), v)[0] == quarters[0] + quarters[1]
    assert quarters[0] + quarters[1] != v.sum()


def test_loops_branches_and_calls():
    program = read("""\
program p
function power(x: f64, n: i64) -> f64
  loop %0 from 0 to n carry (%1 = 1.0 : f64) -> (%2)
    %3 = mul %1, x : f64
    yield %3
  return %2
function p(out: f64*, n: i64)
  parallel %0 < n
    %1 = rem %0, 2 : i64
    %2 = eq %1, 0 : bool
    if %2 -> (%3 : f64)
      %4 = call power(2.0, %0) : f64
      yield %4
    else
      %5 = convert %0 : f64
      yield %5
    %6 = offset out, %0 : f64*
    store %3, %6
""")
    out = np.zeros(7)
    interpret(program, out, 7)
    np.testing.assert_array_equal(out, [1, 1, 4, 3, 16, 5, 64])


def test_loops_count_up_from_the_first_while_below_the_end():
    def body(b, out):
        with b.loop(-3, 8, 4, [b.constant(0)]) as loop:
            loop.carry[0] = loop.carry[0] * 100 + loop.index + 3
        with b.loop(3, 3, 1, [b.constant(5)]) as none:
            none.carry[0] = none.index
        b.store(loop.results[0], out)
        b.store(none.results[0], out, 1)

    out = np.zeros(2, np.int64)
    interpret(built("out: i64*", body), out)
    assert out.tolist() == [408, 5]


def test_masks_gather_and_scatter():
    def body(b, x, out, flags):
        mask = b.load(flags, 0, 4)
        b.store(b.load(x, 2, 4, mask), out, 0, mask)
        reversed_indices = b.constant(7, "i32x4") - b.iota("i32x4")
        b.scatter(b.gather(x, b.iota("i32x4") * 2, mask), out, reversed_indices)
        b.store(~mask, flags)

    x, out, flags = np.arange(5, dtype=F), np.full(8, -1, F), np.array([1, 1, 1, 0], bool)
    interpret(built("x: f32*, out: f32*, flags: bool*", body), x, out, flags)
    assert out.tolist() == [2, 3, 4, -1, 0, 4, 2, 0]
    assert flags.tolist() == [False, False, False, True]


def test_pointers_to_pointers():
    def body(b, tables, n):
        with b.loop(0, n) as loop:
            table = b.load(tables, loop.index)
            b.store(b.load(table) + 1.0, table)

    arrays = [np.array([i], F) for i in range(3)]
    interpret(built("tables: f32**, n: i64", body), arrays, 2)
    assert [a[0] for a in arrays] == [1, 2, 2]


@pytest.mark.parametrize("raw", [False, True])
def test_bfloat16_is_computed_as_float32(raw):
    def body(b, x, out):
        b.store(b.convert(b.convert(b.load(x, 0, 4), "f32") * 1.01, "bf16"), out)
        b.store(b.convert(b.convert(b.load(x), "f32") * 1.01, "bf16"), out, 4)

    x = np.array([1, -2.5, 1e30, np.nan], ml_dtypes.bfloat16)
    out = np.zeros(5, ml_dtypes.bfloat16)
    expected = (x.astype(F) * F(1.01)).astype(ml_dtypes.bfloat16)
    interpret(built("x: bf16*, out: bf16*", body), *([x.view(np.uint16), out.view(np.uint16)] if raw else [x, out]))
    np.testing.assert_array_equal(out.astype(F), np.append(expected, expected[0]).astype(F))


def test_conversions():
    assert convert_array(np.array([2.9, -2.9, 0.0]), "f64", "i32").tolist() == [2, -2, 0]
    assert convert_array(np.array([2.9, np.nan, 0.0]), "f64", "bool").tolist() == [True, True, False]
    twice = 1 + 2**-11 + 2**-40  # to float32 first: that loses the last bit, and the tie goes to even
    assert convert_array(np.array([twice]), "f64", "f16")[0] == 1
    raw = np.array([0x3F80, 0xFFC1], np.uint16)
    assert convert_array(raw, "bf16", "bf16").tolist() == raw.tolist()


SUMS = """\
program p
function p(x: f32*, out: f32*, scratch: f32*, workers: i64*, chunks: i64)
  parallel %0 < chunks
    %1 = worker : i64
    %2 = mul %1, 4 : i64
    %3 = offset scratch, %2 : f32*
    %4 = mul %0, 4 : i64
    %5 = offset x, %4 : f32*
    %6 = load %5 : f32x4
    store %6, %3
    %7 = load %3 : f32x4
    %8 = reduce %7 by add : f32
    %9 = offset out, %0 : f32*
    store %8, %9
    %10 = offset workers, %0 : i64*
    store %1, %10
"""


@pytest.mark.parametrize("order", [None, "reversed", random.Random(0)], ids=["forward", "reversed", "random"])
def test_the_order_of_chunks_and_their_workers_vary(order):
    x, out, scratch, workers = np.arange(32, dtype=F), np.zeros(8, F), np.zeros(12, F), np.zeros(8, np.int64)
    interpret(read(SUMS), x, out, scratch, workers, 8, workers=3, order=order)
    np.testing.assert_array_equal(out, x.reshape(8, 4).sum(1))
    expected = {None: [0, 1, 2, 0, 1, 2, 0, 1], "reversed": [1, 0, 2, 1, 0, 2, 1, 0]}
    if order in expected:
        assert workers.tolist() == expected[order]
    else:
        assert sorted(workers.tolist()) == [0, 0, 0, 1, 1, 1, 2, 2] and workers.tolist() != expected[None]


def test_a_result_that_depends_on_the_order_shows():
    def body(b, out):
        with b.parallel(4) as chunk:
            b.store(chunk, out)

    builder = Builder("race", [("out", "i64*")])
    body(builder, *builder.parameters)
    program = Program("race", [builder.function])
    first, last = np.zeros(1, np.int64), np.zeros(1, np.int64)
    interpret(program, first)
    interpret(program, last, order="reversed")
    assert first[0] == 3 and last[0] == 0


@pytest.mark.parametrize(
    "write, problem",
    [
        (lambda b, x, i: b.load(x, 4), r"load of x\[4\], but x has 4 elements"),
        (lambda b, x, i: b.load(x, -1), r"load of x\[-1\]"),
        (lambda b, x, i: b.load(x, 1, 4), r"load of x\[4\]"),
        (lambda b, x, i: b.load(x, 3, 4, b.iota("i32x4") < 2), r"load of x\[4\]"),
        (lambda b, x, i: b.store(1.0, x, 7), r"store to x\[7\]"),
        (lambda b, x, i: b.store(b.constant(1.0, "f32x2"), x, 3), r"store to x\[4\]"),
        (lambda b, x, i: b.gather(x, b.iota("i32x4") * 2), r"load of x\[4\]"),
        (lambda b, x, i: b.scatter(b.constant(1.0, "f32x4"), x, b.iota("i64x4") - 1), r"store to x\[-1\]"),
        (lambda b, x, i: b.load(b.load(i, 1)), r"load of i\[1\]\[0\], but i\[1\] has 0 elements"),
        (lambda b, x, i: b.load(b.load(i, 2)), r"load of i\[2\], but i has 2 elements"),
    ],
)
def test_out_of_bounds(write, problem):
    program = built("x: f32*, i: f32**", write)
    with pytest.raises(IndexError, match=problem):
        interpret(program, np.zeros(4, F), [np.zeros(1, F), None])


def test_masked_lanes_touch_no_memory():
    def body(b, x):
        mask = b.iota("i32x4") < 2
        b.store(b.load(x, 2, 4, mask) + 1.0, x, 2, mask)

    x = np.zeros(4, F)
    interpret(built("x: f32*", body), x)
    assert x.tolist() == [0, 0, 1, 1]


def test_a_scatter_writes_each_element_once():
    program = built("x: f32*", lambda b, x: b.scatter(b.constant(1.0, "f32x4"), x, b.iota("i32x4") & 1))
    with pytest.raises(ValueError, match="two equal indices"):
        interpret(program, np.zeros(4, F))


def test_a_loop_that_would_not_end():
    def body(b, n):
        with b.loop(0, 4, n):
            pass

    with pytest.raises(ValueError, match="step 0"):
        interpret(built("n: i64", body), 0)


def test_arguments_are_checked():
    program = built("x: f32*, n: i64", lambda b, x, n: b.load(x, n))
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        interpret(program, np.zeros(4, F))
    with pytest.raises(TypeError, match="x needs a contiguous array of f32, got contiguous float64"):
        interpret(program, np.zeros(4), 0)
    with pytest.raises(TypeError, match="x needs a contiguous array of f32, got strided float32"):
        interpret(program, np.zeros((4, 2), F)[:, 0], 0)


def test_broken_programs_are_not_run():
    with pytest.raises(ProgramError, match="writes memory outside of parallel"):
        interpret(read("program p\nfunction p(x: f32*)\n  store 1.0, x\n"), np.zeros(1, F))
