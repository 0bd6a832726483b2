"""The arithmetic behind the distributions, their order of elements and their errors; nothing here needs PyTorch."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from rushlight.random import Generator, box_muller, bulk
from rushlight.random import distributions as draw
from rushlight.random.exact import scale_and_shift, sin_cos
from rushlight.random.integers import _shuffle, _shuffle_one_by_one
from rushlight.random.words import LOW_24_BITS

SINGLE, DOUBLE = np.float32, np.float64


def seeded(seed=0):
    return Generator().manual_seed(seed)


# ---------------------------------------------------------------- arithmetic


def fused(a, b, c):
    """A float32 fused multiply-add by extended precision."""
    wide = np.longdouble
    return (np.asarray(a, wide) * np.asarray(b, wide) + np.asarray(c, wide)).astype(SINGLE)


def plain_radius(fraction):
    """The definition that ``box_muller`` must reproduce: Cephes's logf with a fused multiply-add at every step."""
    value = SINGLE(1) - fraction.astype(SINGLE) * SINGLE(2.0**-24)
    mantissa, exponent = np.frexp(value)
    small = mantissa < SINGLE(0.70710678118654752)
    exponent = (exponent - small).astype(SINGLE)
    x = np.where(small, mantissa + mantissa, mantissa).astype(SINGLE) - SINGLE(1)
    z = x * x
    y = np.full_like(x, box_muller._LOG[0])
    for coefficient in box_muller._LOG[1:]:
        y = fused(y, x, coefficient)
    y = fused(y * x, z, exponent * box_muller._LN2_LOW)
    y = fused(-z, 0.5, y)
    return np.sqrt(SINGLE(-2) * fused(exponent, box_muller._LN2_HIGH, x + y))


def plain_sine_and_cosine(fraction):
    """Cephes's sinf and cosf, likewise."""
    x = SINGLE(2 * np.pi) * (fraction.astype(SINGLE) * SINGLE(2.0**-24))
    octant = (x * SINGLE(1.27323954473516)).astype(np.int32) + 1 & ~1
    for part in (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8):
        x = fused(octant, SINGLE(part), x)
    z = x * x
    cosine, sine = (np.full_like(x, c[0]) for c in (box_muller._COSINE, box_muller._SINE))
    for i in (1, 2):
        cosine, sine = fused(cosine, z, box_muller._COSINE[i]), fused(sine, z, box_muller._SINE[i])
    cosine = fused(cosine * z, z, -(z * SINGLE(0.5))) + SINGLE(1)
    sine = fused(sine * z, x, x)
    quarter = octant >> 1
    odd = quarter % 2 == 1
    sine, cosine = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    return np.where(quarter & 2, -sine, sine), np.where((quarter + 1) & 2, -cosine, cosine)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no extended precision here")
@pytest.mark.parametrize("start, step", [(0, 257), (0, 1), ((1 << 24) - 65536, 1), ((1 << 21) - 32768, 1)])
def test_every_step_left_out_changes_nothing(start, step):
    fraction = np.arange(start, 1 << 24, step, dtype=np.int32)[:65536]
    single = np.empty((6, fraction.size), SINGLE)
    wide = np.empty((2, fraction.size))
    box_muller._radii(fraction.copy(), *single[:4], *wide)
    assert single[0].tobytes() == plain_radius(fraction).tobytes()
    sine, cosine = plain_sine_and_cosine(fraction)
    box_muller._cosines_and_sines(fraction.copy(), *single[:4], single[4].view(np.int32), *wide)
    assert single[2].tobytes() == cosine.tobytes()
    assert single[3].tobytes() == sine.tobytes()


@pytest.mark.parametrize("size", [16, 17, 100, 600, 608, 640, 1000, 32768, 32775, 70001])
@pytest.mark.parametrize("mean, std", [(0.0, 1.0), (0.3, 1.7)])
def test_a_kernel_sees_the_words_that_numpy_would(size, mean, std, monkeypatch):
    expected = draw.normal_(np.empty(size, SINGLE), mean, std, seeded())
    calls = []

    def kernel(words, result, mean, std):
        calls.append(words.size)
        assert words.dtype == np.uint32 and words.size % 16 == 0 and result.flags.c_contiguous
        box_muller.transform(words, result, mean, std)

    def fill_words(key, words):
        bits.state = {"bit_generator": "MT19937", "state": {"key": key.copy(), "pos": 624}}
        words[...] = bits.random_raw(words.size)
        key[...] = bits.state["state"]["key"]

    bits = np.random.MT19937(0)
    monkeypatch.setattr(bulk, "_kernels", SimpleNamespace(normals=kernel, fill_words=fill_words))
    found = draw.normal_(np.empty(size, SINGLE), mean, std, seeded())
    assert calls
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("scale, shift", [(1.7, 0.3), (1e-3, -5.0), (3.0, 1e-9), (1e100, 1e99)])
def test_scale_and_shift_rounds_once(scale, shift):
    values = draw.randn((500,), DOUBLE, seeded())
    expected = [float(Fraction(v) * Fraction(scale) + Fraction(shift)) for v in values.tolist()]
    assert scale_and_shift(values, scale, shift).tolist() == expected
    assert [scale_and_shift(v, scale, shift) for v in values.tolist()] == expected


def test_sin_cos_against_numpy():
    angles = np.linspace(-7, 7, 1001)
    sine, cosine = sin_cos(angles)
    np.testing.assert_allclose(sine, np.sin(angles), atol=1e-15)
    np.testing.assert_allclose(cosine, np.cos(angles), atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 400, 1000, 4097])
def test_the_vectorised_shuffle_is_the_loop(n):
    drawn = seeded(n).engine.take(n - 1)
    assert (_shuffle(drawn, n) == _shuffle_one_by_one(drawn, n)).all()


# ---------------------------------------------------------------- order and shape


@pytest.mark.parametrize("fill", ["uniform_", "bernoulli_", "exponential_", "random_", "log_normal_", "cauchy_"])
def test_elements_are_filled_in_memory_order(fill):
    expected = getattr(draw, fill)(np.empty(24, SINGLE), generator=seeded()).reshape(4, 6)
    found = getattr(draw, fill)(np.empty((4, 6), SINGLE).T, generator=seeded())
    assert (found == expected.T).all()
    sliced = np.zeros((4, 6, 2), SINGLE)
    getattr(draw, fill)(sliced[..., 1], generator=seeded())
    assert (sliced[..., 1] == expected).all() and not sliced[..., 0].any()


def test_normal_has_one_stream_for_strided_arrays_and_one_for_long_contiguous_ones():
    assert (draw.randn((16,), generator=seeded())[:3] != draw.randn((15,), generator=seeded())[:3]).all()
    strided = draw.normal_(np.empty((40, 2), SINGLE)[:, 0], generator=seeded())
    assert (strided[:15] == draw.randn((15,), generator=seeded())).all()


def test_normal_numbers_come_in_pairs():
    generator = seeded()
    apart = [draw.randn((), DOUBLE, generator).item() for _ in range(5)]
    assert apart == draw.randn((5,), DOUBLE, seeded()).tolist()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_numbers_draw_both_parts(dtype):
    half = np.empty(0, dtype).real.dtype
    found = draw.rand((2, 3), dtype, seeded())
    assert (found.view(half).reshape(-1) == draw.rand((12,), half, seeded())).all()
    strided = draw.uniform_(np.empty((3, 2), dtype).T, generator=seeded())
    assert (strided.T.copy().view(half).reshape(-1) == draw.rand((12,), half, seeded())).all()
    assert draw.randn((100000,), dtype, seeded()).var() == pytest.approx(1, rel=0.02)


def test_masks():
    generator = seeded()
    mask = draw.keep_mask((50, 40), 0.25, generator)
    assert mask.dtype == bool and mask.shape == (50, 40) and 400 < mask.sum() < 600
    assert (draw.bernoulli_(np.empty(2000, SINGLE), 0.25, seeded()) == mask.reshape(-1)).all()
    assert (draw.keep_mask_like(np.empty((40, 50), SINGLE).T, 0.25, seeded()).T.reshape(-1) == mask.reshape(-1)).all()
    assert draw.keep_mask(5, 1.0, generator).all() and not draw.keep_mask(5, 0.0, generator).any()


def test_bounds_are_half_open():
    found = draw.uniform_(np.empty(4000, SINGLE), 16, 16.00001, seeded())
    assert found.min() == 16 and found.max() < SINGLE(16.00001)
    half = draw.rand((4000,), np.float16, seeded())
    assert half.max() < 1
    assert (draw.uniform_(np.empty(5, SINGLE), 1, 1, seeded()) == 1).all()


def test_empty_arrays_draw_nothing():
    generator = seeded()
    state = generator.state_bytes()
    for fill in ("uniform_", "normal_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "random_"):
        assert getattr(draw, fill)(np.empty((0, 3), SINGLE), generator=generator).shape == (0, 3)
    assert draw.randperm(0, generator=generator).size == 0 and draw.randperm(1, generator=generator).tolist() == [0]
    assert draw.multinomial(np.ones((0, 3)), 2, True, generator).shape == (0, 2)
    assert (generator.state_bytes() == state).all()


# ---------------------------------------------------------------- moments


def test_moments():
    generator, count = seeded(1), 100_000
    single = np.empty(count, SINGLE)
    for fill, arguments, mean, deviation in (
        ("uniform_", (-1, 3), 1, 4 / 12**0.5),
        ("normal_", (2, 3), 2, 3),
        ("bernoulli_", (0.3,), 0.3, 0.21**0.5),
        ("exponential_", (2.5,), 0.4, 0.4),
        ("geometric_", (0.2,), 5, 20**0.5),
        ("random_", (0, 100), 49.5, 28.866),
    ):
        found = getattr(draw, fill)(single, *arguments, generator=generator)
        assert found.mean(dtype=DOUBLE) == pytest.approx(mean, abs=5 * deviation / count**0.5), fill
        assert found.std(dtype=DOUBLE) == pytest.approx(deviation, rel=0.03), fill
    few = 4000
    for found, mean, variance in (
        (draw.poisson(np.full(few, 3.0), generator), 3, 3),
        (draw.poisson(np.full(few, 40.0), generator), 40, 40),
        (draw.binomial(np.full(few, 10.0), np.full(few, 0.3), generator), 3, 2.1),
        (draw.binomial(np.full(few, 100.0), np.full(few, 0.7), generator), 70, 21),
        (draw.standard_gamma(np.full(few, 0.5), generator), 0.5, 0.5),
        (draw.standard_gamma(np.full(few, 4.0), generator), 4, 4),
        (draw.dirichlet(np.ones((few, 2)), generator)[:, 0], 0.5, 1 / 12),
    ):
        assert found.mean() == pytest.approx(mean, abs=5 * (variance / few) ** 0.5)
        assert found.var() == pytest.approx(variance, rel=0.2)


def test_words_are_used_from_the_low_end():
    words = seeded().engine.take(1000)
    assert (draw.rand((1000,), generator=seeded()) == (words & LOW_24_BITS) / SINGLE(1 << 24)).all()
    assert (draw.randint(0, 10, (1000,), generator=seeded()) == words % 10).all()
    pairs = words.reshape(-1, 2).astype(np.uint64)
    integers = pairs[:, 0] << np.uint64(32) | pairs[:, 1]
    assert (draw.randint(0, 1 << 28, (500,), generator=seeded()) == integers % (1 << 28)).all()
    assert (draw.rand((500,), DOUBLE, seeded()) == (integers & ((1 << 53) - 1)) / 2.0**53).all()


# ---------------------------------------------------------------- errors

ERRORS = [
    (lambda: draw.normal_(np.empty(3), 0, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    (lambda: draw.normal_(np.empty(3, int)), NotImplementedError, "\"normal_kernel_cpu\" not implemented for 'Long'"),
    (
        lambda: draw.uniform_(np.empty(3), 2, 1),
        RuntimeError,
        "uniform_ expects to return a [from, to) range, but found",
    ),
    (lambda: draw.uniform_(np.empty(3, SINGLE), 0, np.inf), RuntimeError, "to is out of bounds for float"),
    (lambda: draw.bernoulli_(np.empty(3), 1.5), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
    (lambda: draw.bernoulli(np.array([0.5, np.nan])), RuntimeError, "Expected p_in >= 0 && p_in <= 1 to be true"),
    (
        lambda: draw.bernoulli_(np.empty(3), np.full(2, 0.5)),
        RuntimeError,
        "The expanded size of the tensor (3) must match",
    ),
    (lambda: draw.exponential_(np.empty(3), 0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
    (lambda: draw.exponential_(np.empty(3, int)), RuntimeError, "Exponential distribution is a continuous probability"),
    (lambda: draw.geometric_(np.empty(3), 1), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
    (lambda: draw.log_normal_(np.empty(3), 0, 0), RuntimeError, "log_normal_ expects std > 0.0, but found std=0"),
    (lambda: draw.cauchy_(np.empty(3), 0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
    (
        lambda: draw.randint(5, 5, (3,)),
        RuntimeError,
        "random_ expects 'from' to be less than 'to', but got from=5 >= to=5",
    ),
    (lambda: draw.randint(0, 300, (3,), np.int8), RuntimeError, "to - 1 is out of bounds for signed char"),
    (lambda: draw.randint(-1, 3, (3,), np.uint8), RuntimeError, "from is out of bounds for unsigned char"),
    (lambda: draw.randperm(-1), RuntimeError, "Trying to create tensor with negative dimension -1: [-1]"),
    (lambda: draw.randperm(257, np.uint8), RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    (lambda: draw.randperm(1 << 28), RuntimeError, "randperm of 268435456 elements is not supported"),
    (
        lambda: draw.multinomial(np.zeros(3), 1),
        RuntimeError,
        "invalid multinomial distribution (sum of probabilities <= 0)",
    ),
    (lambda: draw.multinomial(np.ones(3), 4), RuntimeError, "cannot sample n_sample > prob_dist.size(-1) samples"),
    (
        lambda: draw.multinomial(-np.ones(3), 1),
        RuntimeError,
        "probability tensor contains either `inf`, `nan` or element",
    ),
    (lambda: draw.normal(np.zeros(3), -np.ones(3)), RuntimeError, "normal expects all elements of std >= 0.0"),
    (
        lambda: draw.normal(np.zeros(3), np.ones(4)),
        RuntimeError,
        "The size of tensor a (3) must match the size of tensor b",
    ),
    (lambda: draw.poisson(-np.ones(3)), RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
    (lambda: draw.binomial(np.ones(1, int), np.ones(1)), ValueError, "binomial only supports floating-point dtypes"),
    (
        lambda: draw.uniform_(np.broadcast_to(np.zeros(1), (3,))),
        RuntimeError,
        "unsupported operation: more than one element",
    ),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors_begin_with_pytorchs_line_and_end_with_a_hint(case):
    call, kind, line = ERRORS[case]
    with pytest.raises(kind) as caught:
        call()
    first, _, rest = str(caught.value).partition("\n")
    assert first.startswith(line)
    assert rest.startswith("hint: ")


def test_random_warns_where_a_float_cannot_hold_the_bounds():
    with pytest.warns(UserWarning, match=r"^to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        draw.randint(0, 1 << 26, (3,), SINGLE)
