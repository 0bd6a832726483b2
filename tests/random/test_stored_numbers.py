"""Numbers that PyTorch 2.13 drew, stored here so that the streams are checked without it."""

import hashlib

import numpy as np
import pytest

from rushlight.random import Generator
from rushlight.random import distributions as draw

SINGLE = np.float32


def like(values, dtype=SINGLE):
    return np.asarray(values, dtype)


CASES = {
    "rand": (
        lambda g: draw.rand((6,), generator=g),
        [0.49625658988952637, 0.7682217955589294, 0.08847743272781372, 0.13203048706054688, 0.30742281675338745,
         0.6340786814689636],
    ),
    "rand float64": (
        lambda g: draw.rand((4,), np.float64, g),
        [0.9700530018065531, 0.707819864399788, 0.45938294312745087, 0.9207476841219603],
    ),
    "rand float16": (
        lambda g: draw.rand((4,), np.float16, g),
        [0.496337890625, 0.76806640625, 0.0885009765625, 0.132080078125],
    ),
    "uniform -1 1": (
        lambda g: draw.uniform_(np.empty(4, SINGLE), -1, 1, g),
        [-0.007486820220947266, 0.5364435911178589, -0.8230451345443726, -0.7359390258789062],
    ),
    "randn 3": (
        lambda g: draw.randn((3,), generator=g),
        [1.5409960746765137, -0.293428897857666, -2.1787893772125244],
    ),
    "randn 16": (
        lambda g: draw.randn((16,), generator=g)[:6],
        [-1.1258398294448853, -1.152360200881958, -0.2505785822868347, -0.4338788092136383, 0.8487103581428528,
         0.6920091509819031],
    ),
    "randn 17": (
        lambda g: draw.randn((17,), generator=g)[-4:],
        [1.586334228515625, 0.946298360824585, -0.843676745891571, 0.9318265914916992],
    ),
    "randn float64": (
        lambda g: draw.randn((20,), np.float64, g)[:4],
        [-2.310411800234176, -0.3732508612577643, -1.0608166785462863, 0.9995093547811761],
    ),
    "randn float16": (
        lambda g: draw.randn((17,), np.float16, g)[-4:],
        [1.3896484375, 1.5859375, 0.9462890625, -0.84375],
    ),
    "normal in memory order": (
        lambda g: draw.normal_(np.empty((2, 3), SINGLE).T, generator=g).reshape(-1),
        [1.5409960746765137, 0.5684312582015991, -0.293428897857666, -1.0845223665237427, -2.1787893772125244,
         -1.3985954523086548],
    ),
    "normal of arrays": (
        lambda g: draw.normal(np.arange(4, dtype=SINGLE), np.arange(1, 5, dtype=SINGLE), g),
        [1.5409960746765137, 0.41314220428466797, -4.536368370056152, 5.2737250328063965],
    ),
    "randint": (lambda g: draw.randint(0, 100, (6,), generator=g), [44, 39, 33, 60, 63, 79]),
    "randint wide": (
        lambda g: draw.randint(0, 10**12, (4,), generator=g),
        [223749065263, 183495924928, 634053362427, 526890433895],
    ),
    "random_": (
        lambda g: draw.random_(np.empty(4, np.int64), generator=g),
        [900450186894289455, 3969543146641149120, 1895649597198586619, 827948490035658087],
    ),
    "randperm": (lambda g: draw.randperm(6, generator=g), [2, 5, 3, 0, 1, 4]),
    "bernoulli": (lambda g: draw.bernoulli_(np.empty(6, SINGLE), 0.5, g), [0, 0, 1, 0, 0, 0]),
    "exponential": (
        lambda g: draw.exponential_(np.empty(4, SINGLE), generator=g),
        [3.508326292037964, 1.2303847074508667, 0.615044116973877, 2.535118579864502],
    ),
    "geometric": (lambda g: draw.geometric_(np.empty(6, np.int64), 0.2, g), [1, 2, 4, 1, 2, 2]),
    "log_normal": (
        lambda g: draw.log_normal_(np.empty(4, SINGLE), generator=g),
        [59.2634162902832, 1.5115599632263184, 0.03481946140527725, 8.47281265258789],
    ),
    "cauchy": (
        lambda g: draw.cauchy_(np.empty(4, SINGLE), generator=g),
        [10.597729682922363, 0.7647672891616821, -0.12829934060573578, 3.9330732822418213],
    ),
    "poisson": (lambda g: draw.poisson(like([0.5, 3, 30, 300]), g), [2, 4, 31, 298]),
    "binomial": (
        lambda g: draw.binomial(like([10, 10, 100, 1000]), like([0.1, 0.5, 0.7, 0.4]), g),
        [2, 6, 71, 393],
    ),
    "gamma": (
        lambda g: draw.standard_gamma(like([0.5, 1, 3, 10]), g),
        [0.0007893581641837955, 0.11898370087146759, 2.9372358322143555, 7.901071071624756],
    ),
    "multinomial": (lambda g: draw.multinomial(np.arange(1, 7, dtype=SINGLE), 6, False, g), [2, 4, 5, 1, 3, 0]),
    "multinomial with replacement": (
        lambda g: draw.multinomial(np.arange(1, 7, dtype=SINGLE), 6, True, g),
        [5, 4, 3, 5, 4, 5],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_numbers_for_seed_zero(name):
    draw_numbers, expected = CASES[name]
    assert draw_numbers(Generator().manual_seed(0)).tolist() == expected


HASHES = {
    "randn": (
        lambda g: draw.randn((100003,), generator=g),
        "0e1052dc151d4ee630af2d3a6975bb64f2d34e0b8be27473fb8e33173f0c1858",
    ),
    "rand": (
        lambda g: draw.rand((100003,), generator=g),
        "99f0566c4903185286c1a1f01963703ad71f51d56d9802f4d8c0776e402c300a",
    ),
    "randperm": (
        lambda g: draw.randperm(100003, generator=g),
        "adc36247d68d95cb3d7fe644bbdc6298a50027e2be3f56249dbe805f1d0ecb43",
    ),
    "randint": (
        lambda g: draw.randint(0, 1000, (5000,), generator=g),
        "bb657462f52d7d811fdb7dc4a2f8854fc1d6a92adf3d7c41e1464b38a079b847",
    ),
}


@pytest.mark.parametrize("name", HASHES)
def test_bits_of_many_numbers(name):
    draw_numbers, expected = HASHES[name]
    assert hashlib.sha256(draw_numbers(Generator().manual_seed(0)).tobytes()).hexdigest() == expected


def test_states_after_draws():
    generator = Generator().manual_seed(0)
    draw.randn((3,), generator=generator)
    state = hashlib.sha256(generator.state_bytes().tobytes()).hexdigest()
    assert state == "5f273c33f4160de64fac7c23955badc140a32e236e861b993e52685fd195d97d"
    generator.manual_seed(0)
    draw.randn((100003,), generator=generator)
    state = hashlib.sha256(generator.state_bytes().tobytes()).hexdigest()
    assert state == "28cc87408192bfb490d54ea9017e2d138d5f5b7db10b31587a1b7e1ff9b4af65"
