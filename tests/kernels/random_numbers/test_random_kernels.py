"""Kernels of random numbers: the same bits as NumPy's arithmetic, from the same words, and the same state afterwards."""

import math

import numpy as np
import pytest

from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.random_numbers import numbers as random_numbers
from rushlight.kernels.random_numbers import programs as random_programs
from rushlight.random import Generator, box_muller, bulk, integers
from rushlight.random import distributions as draw
from rushlight.random.mersenne import BLOCK, MersenneTwister

SIZES = (16, 17, 100, 640, 4096, 32768, 32775, 70001)
pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")


def words(count, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)


@pytest.fixture
def both(monkeypatch):
    """``both(draw)``: what a draw gives with NumPy and with kernels, and the streams' states afterwards."""
    kernels = random_numbers.load()

    def run(draw):
        found = []
        for chosen in (None, kernels):
            monkeypatch.setattr(bulk, "_kernels", chosen)
            generator = Generator().manual_seed(7)
            numbers = [draw(generator) for _ in range(2)]
            found.append(b"".join([*(n.tobytes() for n in numbers), generator.state_bytes().tobytes()]))
        return found

    return run


DRAWS = {
    "rand": lambda n, g: draw.rand((n,), generator=g),
    "rand of doubles": lambda n, g: draw.rand((n,), np.dtype(np.float64), g),
    "rand of halves": lambda n, g: draw.rand((n,), np.dtype(np.float16), g),
    "uniform": lambda n, g: draw.uniform_(np.empty(n, np.float32), -0.3, 1.7, g),
    "uniform of doubles": lambda n, g: draw.uniform_(np.empty(n), -0.3, 1.7, g),
    "randn": lambda n, g: draw.randn((n,), generator=g),
    "normal": lambda n, g: draw.normal_(np.empty(n, np.float32), 0.3, 1.7, g),
    "normal of halves": lambda n, g: draw.normal_(np.empty(n, np.float16), 0.3, 1.7, g),
    "bernoulli": lambda n, g: draw.bernoulli_(np.empty(n, np.float32), 0.3, g),
    "small integers": lambda n, g: draw.randint(-3, 7, (n,), generator=g),
    "large integers": lambda n, g: draw.randint(-(1 << 40), 1 << 50, (n,), generator=g),
    "all integers": lambda n, g: draw.random_(np.empty(n, np.int32), generator=g),
    "permutation": lambda n, g: draw.randperm(n, generator=g),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", DRAWS)
def test_kernels_draw_what_numpy_draws(name, size, both):
    plain, generated = both(lambda generator: DRAWS[name](size, generator))
    assert plain == generated


def test_the_first_large_draw_loads_the_kernels(monkeypatch):
    monkeypatch.setattr(bulk, "_kernels", None)
    monkeypatch.setattr(bulk, "_load", None)
    loads = []
    bulk.use(lambda: loads.append(1) or random_numbers.load())
    generator = Generator()
    draw.rand((100,), generator=generator)
    assert not loads
    draw.rand((100_000,), generator=generator)
    draw.rand((100_000,), generator=generator)
    assert loads == [1]


def test_many_small_draws_load_the_kernels_and_draw_on(monkeypatch):
    def drawn():
        generator = Generator().manual_seed(3)
        parts = [
            draw.normal_(np.empty(size, np.float32), mean, 1.5, generator)
            for size in (32, 20, 17)
            for mean in (0.0, 2.0)
        ]
        parts += [draw.rand((40,), generator=generator), draw.randperm(30, generator=generator)]
        return b"".join(part.tobytes() for part in parts) + generator.state_bytes().tobytes()

    monkeypatch.setattr(bulk, "_kernels", None)
    monkeypatch.setattr(bulk, "_load", None)
    expected, loads = drawn(), []
    bulk.use(lambda: loads.append(1) or random_numbers.load())
    assert drawn() == expected
    assert not loads
    assert all(drawn() == expected for _ in range(60))
    assert loads == [1]


def test_words_go_on_where_numpy_stopped_and_back(monkeypatch):
    monkeypatch.setattr(bulk, "_kernels", None)
    plain, mixed = MersenneTwister(5), MersenneTwister(5)
    for round, count in enumerate((10, 5000, 700, 3, 20000, 624, 1)):
        monkeypatch.setattr(bulk, "_kernels", None)
        expected = plain.take(count)
        monkeypatch.setattr(bulk, "_kernels", random_numbers if round % 2 else None)
        assert (mixed.take(count) == expected).all()
        assert all(np.array_equal(a, b) for a, b in zip(plain.key(), mixed.key()))


def test_radii_and_angles():
    """A sixteenth of all 2**24 radii and angles."""
    fraction = np.arange(1 << 20, dtype=np.uint32) * np.uint32(16) + np.uint32(5)
    drawn = np.stack([fraction.reshape(-1, 8), fraction[::-1].reshape(-1, 8)], 1).reshape(-1)
    expected, found = np.empty(drawn.size, np.float32), np.empty(drawn.size, np.float32)
    with np.errstate(all="ignore"):
        box_muller.transform(drawn, expected, 0.5, 2.0)
    random_numbers.normals(drawn, found, 0.5, 2.0)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("span", [1, 2, 3, 10, 255, 1 << 20, (1 << 28) - 1, (1 << 31) + 1, 1 << 32])
def test_remainders(span):
    drawn = np.concatenate(
        [words(4000), np.array([0, 1, 2**32 - 1, 2**31, span % 2**32, (span - 1) % 2**32], np.uint32)]
    )
    found = np.empty(drawn.size, np.int64)
    random_numbers.remainders(drawn, found, span, -5)
    assert (found == drawn.astype(np.int64) % span - 5).all()


@pytest.mark.parametrize("probability", [0.0, 2.0**-60, 0.1, 0.5, 1 - 2.0**-53, 1.0])
def test_below(probability):
    drawn = words(2 * 3001)
    threshold = math.ceil(probability * 2.0**53)
    value = (drawn[0::2].astype(np.int64) << 32 | drawn[1::2]) & ((1 << 53) - 1)
    found = np.empty(3001, np.bool_)
    random_numbers.below(drawn, found, threshold)
    assert (found == (value < threshold)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 17, 1000])
def test_shuffles(n):
    drawn = words(n - 1)
    assert (random_numbers.shuffled(drawn, n) == integers._shuffle_one_by_one(drawn, n)).all()


def test_threads_change_nothing():
    drawn = words(1 << 18)
    found = []
    for threads in (1, 2):
        set_num_threads(threads)
        out = np.empty(drawn.size, np.float32)
        random_numbers.normals(drawn, out, 0.0, 1.0)
        found.append(out.tobytes() + random_numbers.shuffled(drawn, 100_000).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_normals_of_all_widths(lanes):
    drawn = words(16 * 5)
    expected, found = np.empty(80, np.float32), np.empty(80, np.float32)
    box_muller.transform(drawn, expected, 0.0, 1.0)
    interpret(random_programs.normals(lanes), drawn, found, 5, 0.0, 1.0)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_words_of_all_widths(lanes, monkeypatch):
    monkeypatch.setattr(bulk, "_kernels", None)
    engine = MersenneTwister(3)
    key, found = engine.key()[0].copy(), np.empty(2 * BLOCK, np.uint32)
    interpret(random_programs.twister(lanes), key, found, 2)
    assert (found == engine.take(2 * BLOCK)).all()
    assert (key == engine.key()[0]).all()


@pytest.mark.parametrize("count", [1, 7, 20])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_numbers_of_all_widths(lanes, count):
    drawn = words(2 * count)
    value = (drawn[0::2].astype(np.int64) << 32 | drawn[1::2]) & ((1 << 53) - 1)
    doubles, coins = np.empty(count), np.empty(count, np.bool_)
    interpret(random_programs.doubles(lanes), drawn.view(np.uint64), doubles, count)
    assert (doubles == value * 2.0**-53).all()
    interpret(random_programs.below(lanes), drawn.view(np.uint64), coins, count, 1 << 52)
    assert (coins == (value < 1 << 52)).all()
    rest, singles = np.empty(count, np.int64), np.empty(count, np.float32)
    interpret(random_programs.remainders(lanes), drawn[:count], rest, count, 7.0, 1.0 / 7.0, 2)
    assert (rest == drawn[:count].astype(np.int64) % 7 + 2).all()
    interpret(random_programs.floats(2 * lanes), drawn[:count], singles, count, 2.0, -1.0, 1.0)
    assert (singles == (drawn[:count] & 0xFFFFFF).astype(np.float64) * 2.0**-23 - 1).all()
    order, targets = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    interpret(random_programs.shuffle(lanes), drawn[:count], targets, order, count + 1)
    assert (order == integers._shuffle_one_by_one(drawn[:count], count + 1)).all()
