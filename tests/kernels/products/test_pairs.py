"""The instruction for pairs of bfloat16 numbers, and the products that are made of it: with other ways to pack."""

import itertools

import numpy as np
import pytest
from bits import same_bits
from test_matmul_kernels import check, product

import rushlight
from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.instructions import bf16_to_f32, f32_to_bf16
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.language.program import Program
from rushlight.kernels.machine import host
from rushlight.kernels.products import matmul

ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.skipif(host.host() is None, reason="needs llvmlite")
has_dots = pytest.mark.skipif(host.host() is None or not host.has_dots(), reason="no such instruction here")

LAYOUTS = pytest.mark.parametrize("turned", [*itertools.product((False, True), repeat=2)], ids=["nn", "nt", "tn", "tt"])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def matrix(rng, *shape, turned=False, dtype=ml_dtypes.bfloat16):
    if turned:
        return matrix(rng, *shape[:-2], shape[-1], shape[-2], dtype=dtype).swapaxes(-1, -2)
    return rng.standard_normal(shape).astype(dtype)


def dot_program(lanes):
    b = Builder("dots", [("a", "i32*"), ("b", "i32*"), ("total", "f32*"), ("n", "i64")])
    a, other, total, n = b.parameters
    with b.parallel(1), b.loop(0, n, lanes) as at:
        left, right, start = (b.load(pointer, at.index, lanes) for pointer in (a, other, total))
        b.store(b.dot(left, right, start), total, at.index)
    return Program("dots", [b.function])


def test_a_dot_adds_the_upper_product_first():
    words = [
        f32_to_bf16(np.array(pair, np.float32)).view(np.int32) for pair in ((3.0, 2.0**20), (1.0, 2.0**20), (1, 1))
    ]
    a, b, ones = (np.repeat(word, 4) for word in words)
    total = np.array([-(2.0**40), 0.0, 1e-40, 1.0], np.float32)
    interpret(dot_program(4), a, b, total, 4)
    assert total.tolist() == [3.0, 2.0**40, 2.0**40, 2.0**40]
    denormal = np.array([1, 0x8000, 0x10000, -0x7FFF8000], np.int32)
    total = np.array([1e-40, 2.0, -1e-40, 0.5], np.float32)
    interpret(dot_program(4), denormal, ones, total, 4)
    assert total.tolist() == [0.0, 2.0, 0.0, 0.5]


@has_dots
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_the_machine_agrees_to_the_last_bit(rng, lanes):
    count = 1 << 13
    any_bits = [rng.integers(-(2**31), 2**31, count).astype(np.int32) for _ in range(3)]
    ordinary = [f32_to_bf16(rng.standard_normal(2 * count)).view(np.int32) for _ in range(2)]
    tiny = [f32_to_bf16(np.ldexp(rng.standard_normal(2 * count), -64)).view(np.int32) for _ in range(2)]
    for a, b, total in (
        (*any_bits[:2], any_bits[2].view(np.float32)),
        (*ordinary, rng.standard_normal(count).astype(np.float32)),
        (*tiny, np.ldexp(rng.standard_normal(count), -127).astype(np.float32)),
    ):
        found, wanted = total.copy(), total.copy()
        compiled(("test dots", lanes), lambda: dot_program(lanes)).alone(a, b, found, count)
        interpret(dot_program(lanes), a, b, wanted, count)
        assert same_bits(found, wanted).all()


def rounding_program(lanes):
    b = Builder("rounding", [("x", "f32*"), ("out", "bf16*"), ("n", "i64")])
    x, out, n = b.parameters
    with b.parallel(1), b.loop(0, n, lanes) as at:
        b.store(b.round_bfloat16(b.load(x, at.index, lanes)), out, at.index)
    return Program("rounding", [b.function])


def test_rounding_makes_denormals_zeros():
    x = np.array([1.0, 1 + 2.0**-9, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -1e-39, 1e-45, np.inf, np.nan], np.float32)
    out = np.zeros(8, np.uint16)
    interpret(rounding_program(8), x, out, 8)
    np.testing.assert_array_equal(bf16_to_f32(out), np.float32([1, 1, 1, 1 + 2.0**-6, -0.0, 0, np.inf, np.nan]))
    assert np.signbit(bf16_to_f32(out)[4])


@has_dots
@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
def test_the_machine_rounds_to_the_last_bit(rng, lanes):
    x = rng.integers(0, 2**32, 1 << 13, dtype=np.uint32)
    x[:64] = np.arange(64) << 17  # denormal numbers
    x[64:4096] = (x[64:4096] & 0xFFFF0000) | 0x8000  # halves
    x = x.view(np.float32)
    found, wanted = np.zeros(x.size, np.uint16), np.zeros(x.size, np.uint16)
    compiled(("test rounding", lanes), lambda: rounding_program(lanes)).alone(x, found, x.size)
    interpret(rounding_program(lanes), x, wanted, x.size)
    assert same_bits(bf16_to_f32(found), bf16_to_f32(wanted)).all()


def test_bits_of_narrower_and_wider_lanes():
    b = Builder("bits", [("x", "bf16*"), ("out", "i32*")])
    x, out = b.parameters
    with b.parallel(1):
        b.store(b.bitcast(b.load(x, 0, 8), "i32"), out)
        b.store(b.bitcast(b.load(x, 2, 2), "i32"), out, 4)
        b.store(b.extract(b.bitcast(b.bitcast(b.load(x, 0, 8), "i32"), "i16"), 6), b.reinterpret(out, "i16"), 12)
    program = Program("bits", [b.function])
    x = np.arange(8, dtype=np.uint16) * 0x1111
    wanted, found = np.zeros(7, np.int32), np.zeros(7, np.int32)
    interpret(program, x, wanted)
    assert wanted.view(np.uint16)[:12].tolist() == [*x.tolist(), 0x2222, 0x3333, 0, 0][:12]
    assert wanted.view(np.uint16)[12] == 0x6666
    compiled(("test bits",), lambda: program).alone(x, found)
    assert found.tolist() == wanted.tolist()


@LAYOUTS
def test_layouts_and_sizes(rng, turned):
    for m, k, n in (
        (1, 1, 1),
        (7, 5, 3),
        (64, 40, 80),
        (33, 17, 129),
        (90, 71, 150),
        (3, 20, 70),
        (300, 301, 70),
        (5, 1031, 5),
    ):
        a, b = matrix(rng, m, k, turned=turned[0]), matrix(rng, k, n, turned=turned[1])
        check(product(a, b), a, b)
        a, b = matrix(rng, 3, m, k + 3, turned=turned[0])[..., 3:], matrix(rng, 3, k, n + 5, turned=turned[1])[..., 5:]
        check(product(a, b), a, b)


@LAYOUTS
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_epilogues(rng, turned, dtype):
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float16
    for m, k, n in ((40, 33, 70), (2, 64, 50), (1, 31, 300), (50, 784, 400)):
        a, b = matrix(rng, m, k, turned=turned[0], dtype=dtype), matrix(rng, k, n, turned=turned[1], dtype=dtype)
        bias, addend = matrix(rng, n, dtype=dtype), matrix(rng, m, n, dtype=dtype)
        check(product(a, b, bias=bias, alpha=0.5), a, b, bias.astype(np.float64), 0.5)
        check(product(a, b, activation="relu"), a, b, activation=lambda x: np.maximum(x, 0))
        check(product(a, b, addend=addend), a, b, addend=addend.astype(np.float64))


def test_infinities_stay_in_their_own_rows_and_columns(rng):
    for k, turned in itertools.product((16, 17), itertools.product((False, True), repeat=2)):
        a, b = matrix(rng, 9, k, turned=turned[0]), matrix(rng, k, 20, turned=turned[1])
        a[3, -1], b[-1, 5] = np.inf, np.nan
        found = product(a, b).astype(np.float32)
        assert np.isnan(found[:, 5]).all() and np.isinf(np.delete(found[3], 5)).all()
        assert np.isfinite(np.delete(np.delete(found, 3, 0), 5, 1)).all()


@LAYOUTS
def test_results_do_not_depend_on_threads(rng, turned):
    before = rushlight.get_num_threads()
    for m, k, n in ((200, 301, 260), (1, 900, 900), (64, 512, 300)):
        a, b = matrix(rng, m, k, turned=turned[0]), matrix(rng, k, n, turned=turned[1])
        found = []
        try:
            for threads in (1, 2):
                rushlight.set_num_threads(threads)
                found.append(product(a, b).view(np.uint16))
        finally:
            rushlight.set_num_threads(before)
        assert np.array_equal(*found)


@LAYOUTS
def test_the_interpreter_agrees_and_stays_within_bounds(rng, monkeypatch, interpreted, turned):
    monkeypatch.setattr(matmul.host, "has_dots", lambda: True)
    monkeypatch.setattr(matmul.host, "lanes", lambda size: 8)
    interpreted()
    for m, k, n in ((9, 11, 19), (8, 12, 5), (2, 19, 9), (1, 18, 3), (40, 10, 17)):
        a, b = matrix(rng, m, k, turned=turned[0]), matrix(rng, k, n, turned=turned[1])
        check(product(a, b), a, b)
