"""Float32 products on the tile unit: against float64, in every layout and way, and the loop program by itself."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import rushlight
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.language.text import read, write
from rushlight.kernels.language.verify import verify
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning import runner
from rushlight.kernels.planning.layout import layout_of
from rushlight.kernels.products.tiles import product, product_plan

needs_tiles = pytest.mark.skipif(host() is None or not host().has_tiles, reason="this machine has no tile unit")

RNG = np.random.default_rng(0)
SEED = RNG.bit_generator.state
LAYOUTS = list(itertools.product((False, True), repeat=2))
GUARD = np.float32(-77)


def laid_out(array, transposed, pad=0):
    """A copy whose last two dimensions lie the other way round if ``transposed``, ``pad`` numbers between lines."""
    if transposed:
        return laid_out(array.swapaxes(-1, -2), False, pad).swapaxes(-1, -2)
    wide = np.full((*array.shape[:-1], array.shape[-1] + pad), np.nan, np.float32)
    wide[..., : array.shape[-1]] = array
    return wide[..., : array.shape[-1]]


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def check(got, a, b, added=0.0):
    """Within twice the error of a float32 product (or one rounding of the largest terms) from the float64 one."""
    wanted = a.astype(np.float64) @ b.astype(np.float64) + added
    single = np.abs((a @ b + np.float32(added)) - wanted).max()
    rounding = (np.abs(a) @ np.abs(b) + np.abs(added)).max() * 2.0**-23
    assert np.abs(got - wanted).max() <= max(2 * single, rounding)


def ways(a, b, group=2, block_panels=3, block_steps=3):
    """Every Way that computes this product, with so much at once."""
    deep = product_plan.is_deep(layout_of(a), -2, -1), product_plan.is_deep(layout_of(b), -1, -2)
    for turned, streamed_left in LAYOUTS:
        rows, columns = (b.shape[-1], a.shape[-2]) if turned else (a.shape[-2], b.shape[-1])
        left_deep, right_deep = deep[::-1] if turned else deep
        if streamed_left != (left_deep if streamed_left else right_deep):
            continue
        shared, steps = -(-(columns if streamed_left else rows) // 32), -(-a.shape[-1] // 32)
        blocks = min(block_panels, shared), min(block_steps, steps)
        for strips in (False, True)[: 2 if shared == 2 == blocks[0] else 1]:
            yield product_plan.Way(1e9, turned, streamed_left, group, *blocks, strips)


def planned(a, b, out, bias=None, way=None):
    """The Plan of the product in the cheapest way, or in that one."""
    operands = [(name, layout_of(array)) for name, array in (("a", a), ("b", b), ("out", out))]
    plan = product_plan.plan_of(*operands, None if bias is None else "bias", way)
    return plan._replace(results={}, in_place=("out",))


def multiplied(a, b, out, bias=None, way=None):
    """The product, in ``out``."""
    return runner.runner(planned(a, b, out, bias, way), ("a", "b", "out", "bias"))(a, b, out, bias)


def forced(way, a, b, out, bias=None):
    """The product in one way."""
    return multiplied(a, b, out, bias, way)


@pytest.fixture(autouse=True)
def same_numbers_in_every_test():
    RNG.bit_generator.state = SEED


@pytest.fixture
def threads():
    before = rushlight.get_num_threads()
    yield rushlight.set_num_threads
    rushlight.set_num_threads(before)


SIZES = [(1, 1, 1), (5, 7, 9), (33, 65, 100), (100, 31, 32), (64, 96, 64), (1, 50, 3), (50, 1, 1), (200, 40, 300)]


@needs_tiles
@pytest.mark.parametrize("a_turned, b_turned", LAYOUTS)
@pytest.mark.parametrize("sizes", SIZES)
def test_every_layout_in_every_way(a_turned, b_turned, sizes):
    rows, columns, depth = sizes
    a, b = laid_out(normal(rows, depth), a_turned, 2), laid_out(normal(depth, columns), b_turned, 3)
    bias, whole = normal(columns), np.full((rows + 2, columns + 3), GUARD)
    out, found = whole[1:-1, 2:-1], 0
    for group, block_panels, block_steps in ((2, 3, 3), (1, 2, 32), (9, 1, 1)):
        for way in ways(a, b, group, block_panels, block_steps):
            found += 1
            check(forced(way, a, b, out), a, b)
            check(forced(way, a, b, out, bias), a, b, bias)
            out[:] = GUARD
            assert (whole == GUARD).all(), "something was written outside of the result"
    assert found >= 3


@needs_tiles
def test_odd_sizes():
    for rows, columns, depth in RNG.integers(1, 100, (40, 3)).tolist():
        a, b = (
            laid_out(x, t, p)
            for x, t, p in zip((normal(rows, depth), normal(depth, columns)), *RNG.integers(0, 2, (2, 2)))
        )
        check(multiplied(a, b, np.empty((rows, columns), np.float32)), a, b)


@needs_tiles
@pytest.mark.parametrize("a_turned, b_turned", LAYOUTS)
def test_batches_and_padded_rows(a_turned, b_turned):
    a, b = laid_out(normal(3, 40, 70), a_turned, 5), laid_out(normal(3, 70, 33), b_turned, 3)
    out, bias = np.empty((3, 40, 33), np.float32), normal(33)
    shared = np.broadcast_to(a[:1], a.shape)
    for way in ways(a, b):
        check(forced(way, a, b, out), a, b)
        check(forced(way, shared, b, out, bias), shared, b, bias)


@needs_tiles
@pytest.mark.parametrize("draw", [RNG.standard_normal, RNG.random, lambda shape: RNG.standard_normal(shape) * 1e-20])
def test_deep_products_are_accurate(draw):
    """Several blocks of k, of any sign and of one sign alone."""
    a, b = draw((70, 2500)).astype(np.float32), draw((2500, 40)).astype(np.float32)
    if np.abs(a).max() < 1e-10:
        b = b * np.float32(1e20)
    for way in ways(a, b, block_steps=32):
        check(forced(way, a, b, np.empty((70, 40), np.float32)), a, b)
    check(multiplied(a, b, np.empty((70, 40), np.float32)), a, b)


@needs_tiles
def test_thread_counts_change_nothing(threads):
    a, b, batched = normal(300, 500), normal(500, 200), normal(5, 90, 80)
    found = []
    for count in (1, 2, 3):
        threads(count)
        product_plan.plan.cache_clear()
        one = multiplied(a, b, np.empty((300, 200), np.float32))
        two = multiplied(batched, batched.swapaxes(1, 2), np.empty((5, 90, 90), np.float32))
        found.append(one.tobytes() + two.tobytes())
    assert found[0] == found[1] == found[2]


@needs_tiles
@pytest.mark.parametrize("a_turned, b_turned", LAYOUTS)
def test_infinities_nans_and_overflow(a_turned, b_turned):
    """As in float32: what is finite there is finite here, and close."""
    a, b, bias = normal(70, 130), normal(130, 40), normal(40)
    a[3, 5], a[40, 100], a[69, 129] = np.inf, np.nan, -np.inf
    b[7, 0], b[0, 39] = np.finfo(np.float32).max, -np.finfo(np.float32).max  # both overflow when rounded
    a[20, 7], a[21, 7] = 0.5, 4.0
    with np.errstate(all="ignore"):
        wanted = a @ b + bias
    finite = np.isfinite(wanted)
    a, b = laid_out(a, a_turned), laid_out(b, b_turned)
    for way in [*ways(a, b), *ways(a, b, 1, 2, 32)]:
        got = forced(way, a, b, np.empty((70, 40), np.float32), bias)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
        np.testing.assert_array_equal(np.where(np.isinf(wanted), got, 0), np.where(np.isinf(wanted), wanted, 0))
        np.testing.assert_allclose(got[finite], wanted[finite], rtol=1e-4, atol=1e-3)


@needs_tiles
def test_denormal_numbers_may_count_as_zero():
    """What is lost is below the smallest normal number for each term, times the other factor."""
    tiny = np.finfo(np.float32).tiny
    a, b = normal(40, 64) * np.float32(1e-39), normal(64, 40)
    got = multiplied(a, b, np.empty((40, 40), np.float32))
    wanted = a.astype(np.float64) @ b
    assert np.abs(got - wanted).max() <= tiny * np.abs(b).sum(0).max()
    a = normal(40, 64) * np.float32(2.0**-100)  # low parts are normal numbers still
    check(multiplied(a, b, np.empty((40, 40), np.float32)), a, b)


@needs_tiles
@pytest.mark.parametrize("sizes", [(1024, 1024, 1024), (64, 512, 784), (512, 784, 64), (256, 256, 256)])
def test_large_products_pay_and_small_ones_do_not(sizes):
    assert product_plan.pays(*sizes, 1, True, False)
    assert not product_plan.pays(32, 32, 32, 1, True, False)
    assert not product_plan.pays(1, 4096, 4096, 1, True, False)


@needs_tiles
def test_what_a_worker_holds_is_packed_again_in_every_run():
    a, b, out = normal(64, 100), normal(100, 300), np.empty((64, 300), np.float32)
    for _ in range(3):
        a *= 2
        b -= 1
        check(multiplied(a, b, out), a, b)


FIRST_PRODUCTS = """
import numpy as np
from rushlight.kernels.products.matmul import mm
normal = np.random.default_rng(0).standard_normal
for depth, columns in {sizes}:
    a, b = (normal(shape).astype(np.float32) for shape in ((2048, depth), (depth, columns)))
    wrong = np.abs(mm(a, b) - a.astype(np.float64) @ b).max()
    assert wrong < 1e-4, (depth, columns, wrong)
"""


@needs_tiles
@pytest.mark.parametrize("count", ["1", "2"])
def test_the_first_products_of_a_process(count):
    """Nothing that a run left in scratch memory is taken for what a later one, of another size, has put there."""
    sizes = [(32, 64), (32, 32), (64, 96), (64, 64), (96, 64), (32, 128), (96, 32), (64, 32), (32, 96)]
    environment = {**os.environ, "RUSHLIGHT_NUM_THREADS": count}
    words = [sys.executable, "-c", FIRST_PRODUCTS.format(sizes=sizes)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def interpreted(way, a, b, bias, out, **options):
    """The product by the interpreter, with scratch memory of exactly the size that is asked for."""
    plan = planned(a, b, out, bias, way)
    (launch,), sizes = plan.launches, plan.thread_scratch
    first, *_, numbers = launch.arguments
    scratch, held = (np.full(2 * elements, value, dtype) for (_, elements, dtype), value in zip(sizes, (1, 0)))
    flat = [array.ravel("K") for array in ((a, b) if first == "a" else (b, a))]
    interpret(product.build(), *flat, out, bias, scratch, held, np.array(numbers), workers=2, **options)
    return out


@pytest.mark.parametrize("a_turned, b_turned", LAYOUTS)
def test_the_interpreter_agrees(a_turned, b_turned):
    a, b, bias = laid_out(normal(33, 35), a_turned), laid_out(normal(35, 20), b_turned), normal(20)
    a[32, 34] = np.inf
    for way in ways(a, b, 1, 2, 1):
        out = interpreted(way, a, b, bias, np.empty((33, 20), np.float32), order="reversed")
        with np.errstate(all="ignore"):
            check(out[:32], a[:32], b, bias)
            np.testing.assert_array_equal(out[32], (a @ b + bias)[32])
        if host() is not None and host().has_tiles:
            machine = forced(way, a, b, np.empty((33, 20), np.float32), bias)
            np.testing.assert_allclose(machine, out, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("streams_a", [False, True])
def test_the_interpreter_computes_strips(streams_a):
    sizes = (34, 64) if streams_a else (64, 34)
    a, b, bias = normal(sizes[0], 40), normal(40, sizes[1]), normal(sizes[1])
    (way,) = (w for w in ways(a, b, 2, 2, 2) if w.strips and (w.streamed_left != w.turned) == streams_a)
    check(interpreted(way, a, b, bias, np.empty(sizes, np.float32)), a, b, bias)


def test_the_program_is_well_formed():
    verify(product.build())


def test_the_program_can_be_written_and_read():
    text = write(product.build())
    assert write(read(text)) == text
