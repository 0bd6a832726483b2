"""Convolutions on the tile unit and their gradients: against float64, and the loop programs by themselves."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.host import host
from rushlight.kernels.interpret import interpret
from rushlight.kernels.text import read, write
from rushlight.kernels.tiles import convolution, convolution_plan, convolution_weight
from rushlight.kernels.verify import verify

needs_tiles = pytest.mark.skipif(host() is None or not host().has_tiles, reason="this machine has no tile unit")

RNG = np.random.default_rng(0)
SEED = RNG.bit_generator.state
# batch, inputs, outputs, height, width, kernel size, padding, dilation
CASES = [
    (2, 32, 32, 8, 8, (3, 3), (0, 0), (1, 1)),
    (2, 40, 50, 9, 11, (3, 5), (1, 2), (1, 1)),
    (1, 64, 33, 20, 17, (5, 5), (2, 2), (1, 1)),
    (2, 33, 31, 15, 15, (3, 3), (2, 1), (2, 1)),
    (2, 16, 17, 20, 37, (1, 3), (0, 1), (1, 1)),
    (1, 5, 3, 7, 6, (2, 2), (1, 1), (1, 2)),
    (1, 1, 1, 1, 1, (1, 1), (0, 0), (1, 1)),
    (2, 20, 18, 6, 5, (1, 1), (0, 0), (1, 1)),
    (4, 3, 64, 5, 33, (5, 1), (4, 0), (1, 1)),
    (2, 16, 20, 6, 7, (1, 2), (1, 3), (1, 1)),  # more padding than the kernel reaches
]


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def windows(x, size, padding, dilation):
    """x padded and seen as (batch, channels, out height, out width, kernel height, kernel width)."""
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    reach = [d * (n - 1) + 1 for d, n in zip(dilation, size)]
    seen = np.lib.stride_tricks.sliding_window_view(x, reach, (2, 3))
    return seen[..., :: dilation[0], :: dilation[1]]


def convolved(x, w, padding, dilation):
    return np.einsum("nchwij,ocij->nohw", windows(x, w.shape[2:], padding, dilation), w, optimize=True)


def weight_gradient(x, dy, size, padding, dilation):
    return np.einsum("nchwij,nohw->ocij", windows(x, size, padding, dilation), dy, optimize=True)


def input_gradient(dy, w, padding, dilation):
    reach = [d * (n - 1) for d, n in zip(dilation, w.shape[2:])]
    full = convolved(dy, w.swapaxes(0, 1)[..., ::-1, ::-1], reach, dilation)  # of the padded input
    rows, columns = (slice(p, n - p) for p, n in zip(padding, full.shape[2:]))
    return full[:, :, rows, columns]


def close(got, function, *arrays_and_options):
    """As the function of float64 arrays, within twice the error of float32 ones or one rounding of the largest terms."""
    arrays = [a for a in arrays_and_options if isinstance(a, np.ndarray)]
    options = arrays_and_options[len(arrays) :]
    wanted = function(*(a.astype(np.float64) for a in arrays), *options)
    single = np.abs(function(*arrays, *options) - wanted).max()
    rounding = function(*map(np.abs, arrays), *options).max() * 2.0**-23
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).max() <= max(2 * single, rounding)


def arrays(batch, inputs, outputs, height, width, size, padding, dilation):
    """x, w, bias and dy for a case."""
    out = [n + 2 * p - d * (k - 1) for n, p, d, k in zip((height, width), padding, dilation, size)]
    return (
        normal(batch, inputs, height, width),
        normal(outputs, inputs, *size),
        normal(outputs),
        normal(batch, outputs, *out),
    )


@pytest.fixture(autouse=True)
def same_numbers_in_every_test():
    RNG.bit_generator.state = SEED


@pytest.fixture
def threads():
    before = rushlight.get_num_threads()
    yield rushlight.set_num_threads
    rushlight.set_num_threads(before)


@pytest.fixture
def short_strips(monkeypatch):
    """Images are cut into strips of few rows, as large ones are."""
    monkeypatch.setattr(convolution_plan, "_STRIP_WORDS", 12_000)
    monkeypatch.setattr(convolution_plan, "_LARGEST_WEIGHT_STRIP", 20_000)
    yield from _forgetting()


def _forgetting():
    for cache in (convolution_plan._geometry, convolution_plan._table):
        cache.cache_clear()
    convolution_plan._prepared.clear()
    yield
    convolution_plan._geometry.cache_clear()
    convolution_plan._prepared.clear()


def check(case):
    size, padding, dilation = case[5:]
    x, w, bias, dy = arrays(*case)
    close(convolution_plan.forward(x, w, None, padding, dilation), convolved, x, w, padding, dilation)
    with_bias = convolution_plan.forward(x, w, bias, padding, dilation) - bias[:, None, None]
    np.testing.assert_allclose(with_bias, convolved(x, w, padding, dilation), rtol=1e-4, atol=1e-3)
    got = convolution_plan.input_gradient(dy, w, x.shape, padding, dilation)
    close(got, input_gradient, dy, w, padding, dilation)
    close(convolution_plan.weight_gradient(x, dy, size, padding, dilation), weight_gradient, x, dy, *case[5:])


@needs_tiles
@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution_and_gradients(case):
    check(case)


@needs_tiles
@pytest.mark.parametrize("case", CASES[1:5], ids=str)
def test_several_strips_of_an_image(case, short_strips):
    check(case)


@needs_tiles
def test_many_slots():
    check((20, 8, 8, 6, 6, (3, 3), (1, 1), (1, 1)))


@needs_tiles
def test_nothing_is_written_outside(monkeypatch):
    x, w, bias, _ = arrays(*CASES[1])
    made = []

    def guarded(shape, dtype):
        whole = np.full(int(np.prod(shape)) + 64, -77, dtype)
        made.append(whole)
        return whole[32:-32].reshape(shape)

    monkeypatch.setattr(convolution_plan.np, "empty", guarded)
    y = convolution_plan.forward(x, w, bias, *CASES[1][6:])
    monkeypatch.undo()
    (whole,) = (a for a in made if np.shares_memory(a, y))
    assert (whole[:32] == -77).all() and (whole[-32:] == -77).all()
    assert (y != -77).all()


@needs_tiles
def test_thread_counts_change_nothing(threads):
    x, w, bias, dy = arrays(9, 40, 50, 14, 13, (3, 3), (1, 1), (1, 1))
    found = []
    for count in (1, 2, 3):
        threads(count)
        y = convolution_plan.forward(x, w, bias, (1, 1), (1, 1))
        dx = convolution_plan.input_gradient(dy, w, x.shape, (1, 1), (1, 1))
        dw = convolution_plan.weight_gradient(x, dy, (3, 3), (1, 1), (1, 1))
        found.append(y.tobytes() + dx.tobytes() + dw.tobytes())
    assert found[0] == found[1] == found[2]


@needs_tiles
@pytest.mark.parametrize("case", CASES[:5], ids=str)
def test_infinities_nans_and_overflow(case):
    """As in float32, for the result; padding adds nothing, not even an infinite weight times 0."""
    padding, dilation = case[6:]
    x, w, _, _ = arrays(*case)
    x[0, 1, 3, 3], x[-1, 0, 0, -1], x[0, 4, 2, 2] = np.inf, np.nan, np.finfo(np.float32).max
    with np.errstate(all="ignore"):
        wanted = convolved(x, w, padding, dilation)
        got = convolution_plan.forward(x, w, None, padding, dilation)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(wanted))
    calm = np.isfinite(wanted) & (np.abs(wanted) < 1e6)
    np.testing.assert_allclose(got[calm], wanted[calm], rtol=1e-4, atol=1e-3)


@needs_tiles
def test_what_pays():
    assert convolution_plan.pays((64, 32, 26, 26), (64, 32, 3, 3), (64, 64, 24, 24))
    assert not convolution_plan.pays((64, 3, 32, 32), (64, 3, 3, 3), (64, 64, 30, 30))
    assert not convolution_plan.pays((1, 32, 4, 4), (32, 32, 3, 3), (1, 32, 2, 2))


def test_the_interpreter_agrees():
    """A tiny convolution and its weight's gradient, with scratch memory of exactly the size that is asked for."""
    size, padding, dilation = (2, 3), (0, 1), (1, 1)
    x, w, bias, dy = arrays(2, 18, 3, 3, 5, size, padding, dilation)
    y, dw = np.empty_like(dy), np.empty_like(w)
    table, shared, own, sizes = convolution_plan.prepare(x.shape, (108, 6, 1), 3, size, padding, dilation, 2, 5)
    scratch = [np.zeros(n, np.int32) for n in (shared, 2 * own)]
    interpret(convolution.build(), x, w, bias, y, table, *scratch, sizes, workers=2, order="reversed")
    close(y - bias[:, None, None], convolved, x, w, padding, dilation)

    sums, own, sizes = convolution_plan.prepare_weight(x.shape, dy.shape, size, padding, dilation)
    scratch = np.zeros(sums, np.float32), np.zeros(2 * own, np.int32)
    interpret(convolution_weight.build(), x, dy, dw, *scratch, sizes, workers=2, order="reversed")
    close(dw, weight_gradient, x, dy, size, padding, dilation)

    if host() is not None and host().has_tiles:
        machine = convolution_plan.forward(x, w, bias, padding, dilation)
        np.testing.assert_allclose(machine, y, rtol=1e-5, atol=1e-5)
        machine = convolution_plan.weight_gradient(x, dy, size, padding, dilation)
        np.testing.assert_allclose(machine, dw, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("build", [convolution.build, convolution_weight.build])
def test_the_programs_are_well_formed(build):
    verify(build())


@pytest.mark.parametrize("build", [convolution.build, convolution_weight.build])
def test_the_programs_can_be_written_and_read(build):
    text = write(build())
    assert write(read(text)) == text
