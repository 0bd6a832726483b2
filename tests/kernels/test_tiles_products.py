"""Float32 products on the tile unit: against float64, in every layout and way, and the loop program by itself."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.kernels.host import host
from rushlight.kernels.interpret import interpret
from rushlight.kernels.text import read, write
from rushlight.kernels.tiles import product, product_plan
from rushlight.kernels.verify import verify

needs_tiles = pytest.mark.skipif(host() is None or not host().has_tiles, reason="this machine has no tile unit")

RNG = np.random.default_rng(0)
SEED = RNG.bit_generator.state
WAYS = [(1e9, turned, streamed_left) for turned in (False, True) for streamed_left in (False, True)]
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


def forced(way, a, b, out, bias=None, accumulate=False, group=2, block_steps=3, ahead=False):
    """The product in one way: (cycles, turned, streamed_left)."""
    steps = -(-a.shape[-1] // 32)
    prepared = product_plan.prepare(a, b, out, bias, accumulate, (*way, group, min(block_steps, steps), ahead))
    product_plan.run(prepared, a, b, out, bias)
    return out


@pytest.fixture(autouse=True)
def same_numbers_in_every_test():
    RNG.bit_generator.state = SEED


@pytest.fixture
def threads():
    before = rushlight.get_num_threads()
    yield rushlight.set_num_threads
    rushlight.set_num_threads(before)


@needs_tiles
@pytest.mark.parametrize("a_turned, b_turned", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("way", WAYS)
def test_every_layout_in_every_way(a_turned, b_turned, way):
    for rows, columns, depth in (
        (1, 1, 1),
        (5, 7, 9),
        (33, 65, 100),
        (100, 31, 32),
        (64, 96, 64),
        (1, 50, 3),
        (50, 1, 1),
    ):
        a, b = laid_out(normal(rows, depth), a_turned), laid_out(normal(depth, columns), b_turned)
        bias, whole = normal(columns), np.full((rows + 2, columns + 3), GUARD)
        out = whole[1:-1, 2:-1]
        check(forced(way, a, b, out), a, b)
        check(forced(way, a, b, out, bias), a, b, bias)
        before = out.copy()
        check(forced(way, a, b, out, accumulate=True), a, b, before)
        out[:] = GUARD
        assert (whole == GUARD).all(), "something was written outside of the result"


@needs_tiles
def test_odd_sizes():
    for rows, columns, depth in RNG.integers(1, 100, (40, 3)).tolist():
        a, b = (
            laid_out(x, t, p)
            for x, t, p in zip((normal(rows, depth), normal(depth, columns)), *RNG.integers(0, 2, (2, 2)))
        )
        check(product_plan.product(a, b, np.empty((rows, columns), np.float32)), a, b)


@needs_tiles
@pytest.mark.parametrize("way", WAYS)
def test_batches_and_padded_rows(way):
    a, b = laid_out(normal(3, 40, 70), False, 5), laid_out(normal(3, 70, 33), True, 3)
    out, bias = np.empty((3, 40, 33), np.float32), normal(33)
    check(forced(way, a, b, out), a, b)
    shared = np.broadcast_to(a[:1], a.shape)
    check(forced(way, shared, b, out, bias), shared, b, bias)


@needs_tiles
@pytest.mark.parametrize("draw", [RNG.standard_normal, RNG.random, lambda shape: RNG.standard_normal(shape) * 1e-20])
def test_deep_products_are_accurate(draw):
    """Several blocks of k, of any sign and of one sign alone."""
    a, b = draw((70, 2500)).astype(np.float32), draw((2500, 40)).astype(np.float32)
    if np.abs(a).max() < 1e-10:
        b = b * np.float32(1e20)
    for way in WAYS:
        check(forced(way, a, b, np.empty((70, 40), np.float32), block_steps=32), a, b)
    check(product_plan.product(a, b, np.empty((70, 40), np.float32)), a, b)


@needs_tiles
def test_thread_counts_change_nothing(threads):
    a, b, batched = normal(300, 500), normal(500, 200), normal(5, 90, 80)
    found = []
    for count in (1, 2, 3):
        threads(count)
        product_plan.plan.cache_clear()
        product_plan._prepared.clear()
        one = product_plan.product(a, b, np.empty((300, 200), np.float32))
        two = product_plan.product(batched, batched.swapaxes(1, 2), np.empty((5, 90, 90), np.float32))
        found.append(one.tobytes() + two.tobytes())
    assert found[0] == found[1] == found[2]


@needs_tiles
@pytest.mark.parametrize("way", WAYS)
def test_infinities_nans_and_overflow(way):
    """As in float32: what is finite there is finite here, and close."""
    for a_turned, b_turned in itertools.product((False, True), repeat=2):
        a, b = normal(70, 130), normal(130, 40)
        a[3, 5], a[40, 100], a[69, 129] = np.inf, np.nan, -np.inf
        b[7, 0], b[0, 39] = np.finfo(np.float32).max, -np.finfo(np.float32).max  # both overflow when rounded
        a[20, 7], a[21, 7] = 0.5, 4.0
        out = np.empty((70, 40), np.float32)
        with np.errstate(all="ignore"):
            wanted = a @ b
            got = forced(way, laid_out(a, a_turned), laid_out(b, b_turned), out)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
            np.testing.assert_array_equal(np.where(np.isinf(wanted), got, 0), np.where(np.isinf(wanted), wanted, 0))
            finite = np.isfinite(wanted)
            np.testing.assert_allclose(got[finite], wanted[finite], rtol=1e-4, atol=1e-3)


@needs_tiles
def test_denormal_numbers_may_count_as_zero():
    """What is lost is below the smallest normal number for each term, times the other factor."""
    tiny = np.finfo(np.float32).tiny
    a, b = normal(40, 64) * np.float32(1e-39), normal(64, 40)
    got = product_plan.product(a, b, np.empty((40, 40), np.float32))
    wanted = a.astype(np.float64) @ b
    assert np.abs(got - wanted).max() <= tiny * np.abs(b).sum(0).max()
    a = normal(40, 64) * np.float32(2.0**-100)  # low parts are normal numbers still
    check(product_plan.product(a, b, np.empty((40, 40), np.float32)), a, b)


@needs_tiles
@pytest.mark.parametrize("sizes", [(1024, 1024, 1024), (64, 512, 784), (512, 784, 64), (256, 256, 256)])
def test_large_products_pay_and_small_ones_do_not(sizes):
    assert product_plan.pays(*sizes, 1, True, False)
    assert not product_plan.pays(32, 32, 32, 1, True, False)
    assert not product_plan.pays(1, 4096, 4096, 1, True, False)


def ahead_layouts(way, rows, columns, depth):
    """A and B so that the streamed operand's blocks need not be transposed; only then may they be packed ahead."""
    _, turned, streamed_left = way
    streams_a = streamed_left != turned
    a = laid_out(normal(rows, depth), streams_a and not streamed_left, pad=3)
    return a, laid_out(normal(depth, columns), streamed_left and not streams_a, pad=5)


@needs_tiles
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sizes", [(64, 128, 256), (100, 70, 333), (40, 200, 40), (200, 40, 16), (97, 129, 64)])
def test_packing_ahead_changes_nothing(way, sizes):
    a, b = ahead_layouts(way, *sizes)
    out = [np.full(sizes[:2], GUARD) for _ in range(2)]
    for group, block_steps in ((1, 32), (3, 2), (8, 32)):
        found = [forced(way, a, b, out[i], None, False, group, block_steps, bool(i)) for i in range(2)]
        np.testing.assert_array_equal(*found)
        check(found[1], a, b)


@needs_tiles
@pytest.mark.parametrize("way", WAYS)
def test_infinities_in_panels_packed_ahead(way):
    a, b = ahead_layouts(way, 100, 100, 100)
    a[70, 50], b[3, 99] = np.inf, np.nan
    with np.errstate(all="ignore"):
        found = forced(way, a, b, np.empty((100, 100), np.float32), group=4, ahead=True)
        wanted = a @ b
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))


def interpreted(way, a, b, bias, out, ahead=False, **options):
    """The product by the interpreter, with scratch memory of exactly the size that is asked for."""
    prepared = product_plan.prepare(a, b, out, bias, False, (*way, 2, 2, ahead))
    shared, own = np.zeros(prepared.shared, np.int32), np.zeros(prepared.own * 2, np.int32)
    streamed, other = (a, b) if prepared.streams_a else (b, a)
    flat = [array.ravel("K") for array in (streamed, other)]
    interpret(product.build(), *flat, out, bias, shared, own, prepared.sizes, workers=2, **options)
    return out


@pytest.mark.parametrize("way", WAYS)
def test_the_interpreter_agrees(way):
    a, b, bias = laid_out(normal(33, 35), way[1]), laid_out(normal(35, 20), way[2]), normal(20)
    a[32, 34] = np.inf
    out = interpreted(way, a, b, bias, np.empty((33, 20), np.float32), order="reversed")
    with np.errstate(all="ignore"):
        check(out[:32], a[:32], b, bias)
        np.testing.assert_array_equal(out[32], (a @ b + bias)[32])
    if host() is not None and host().has_tiles:
        machine = forced(way, a, b, np.empty((33, 20), np.float32), bias, block_steps=2)
        np.testing.assert_allclose(machine, out, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("way", WAYS[::3])
def test_the_interpreter_packs_ahead(way):
    sizes, bias = (64, 34) if way[2] != way[1] else (34, 64), normal(64)
    a, b = (np.asfortranarray(x) if x.strides[0] < x.strides[1] else x.copy() for x in ahead_layouts(way, *sizes, 35))
    bias = bias[: sizes[1]]
    check(interpreted(way, a, b, bias, np.empty(sizes, np.float32), ahead=True), a, b, bias)


def test_the_program_is_well_formed():
    verify(product.build())


def test_the_program_can_be_written_and_read():
    text = write(product.build())
    assert write(read(text)) == text
