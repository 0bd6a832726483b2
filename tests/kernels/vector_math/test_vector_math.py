"""Vector math: how far each function's machine code is from the true value, on vectors and scalars, and its edges."""

import functools
import math

import numpy as np
import pytest

from rushlight.kernels.compiler.kernel import compiled
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.instructions import BESSEL, TRANSCENDENTAL
from rushlight.kernels.language.program import Program
from rushlight.kernels.language.value_types import NUMPY
from rushlight.kernels.machine.host import host
from rushlight.kernels.vector_math import EXPANSIONS
from rushlight.ops import special_bessel, special_gamma, special_math

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")

SCALARS = ("f32", "f64")
LANES = {"f32": 16, "f64": 8}

# The greatest error in units in the last place that was seen, rounded up: float32, float64.
ERRORS = {
    "exp": (1.4, 1.4), "exp2": (1.2, 1.2), "expm1": (1.4, 1.6), "log": (1.0, 1.4), "log2": (1.0, 1.1),
    "log10": (1.6, 1.5), "log1p": (1.5, 1.8), "sin": (1.8, 1.8), "cos": (1.8, 1.8), "tan": (0.51, 2.6),
    "asin": (1.4, 1.7), "acos": (1.2, 1.3), "atan": (1.4, 1.6), "atan2": (1.6, 1.8), "sinh": (1.7, 1.7),
    "cosh": (1.6, 1.6), "tanh": (1.4, 1.3), "asinh": (0.51, 2.3), "acosh": (0.51, 2.5), "atanh": (2, 2.4),
    "pow": (0.6, 1.5), "sigmoid": (2.4, 2.4), "erf": (1.7, 1.5), "erfc": (0.8, 4.5), "rsqrt": (1.5, 1.5),
    "fmod": (0, 0), "nextafter": (0, 0), "erfcx": (0.6, 8), "erfinv": (0.6, 3), "ndtri": (0.6, 4),
    "lgamma": (0.6, 4), "digamma": (1.2, 10), "trigamma": (0.6, 8),
    "i0": (3.3, 6), "i0e": (3.3, 6), "i1": (3.3, 8), "i1e": (3.3, 6), "spherical_bessel_j0": (0.51, 2.5),
    **dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"), (0.6, 8)),
    **dict.fromkeys(("modified_bessel_k0", "modified_bessel_k1"), (0.6, 8)),
    **dict.fromkeys(("scaled_modified_bessel_k0", "scaled_modified_bessel_k1"), (0.6, 8)),
}  # fmt: skip
SPECIAL = {
    **{name: getattr(special_math, name) for name in ("erf", "erfc", "erfcx", "erfinv", "ndtri")},
    **{name: getattr(special_gamma, name) for name in ("lgamma", "digamma", "trigamma")},
    **{name: getattr(special_bessel, name) for name in BESSEL},
}

NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
NUMPY_NAMES |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}


@np.errstate(all="ignore")  # casting signalling NaN warns too
def true_value(name, *operands):
    """The function in a wider type than the operands': float64 for float32, the widest there is for float64."""
    wide = [x.astype(np.float64 if x.dtype == np.float32 else np.longdouble) for x in operands]
    if name == "sigmoid":
        return 1 / (1 + np.exp(-wide[0]))
    if name == "rsqrt":
        return 1 / np.sqrt(wide[0])
    if name in ("erf", "erfc"):  # math's are within 1 ulp of float64
        return np.array([getattr(math, name)(x) for x in operands[0].tolist()])
    if name in SPECIAL:
        return SPECIAL[name](operands[0].astype(np.float64))
    if name == "nextafter":
        return np.nextafter(*operands)
    return getattr(np, NUMPY_NAMES.get(name, name))(*wide)


def operands_of(name):
    return 2 if name in ("pow", "atan2", "fmod", "nextafter") else 1


def program(name, scalar, lanes):
    parameters = [(f"x{i}", f"{scalar}*") for i in range(operands_of(name))]
    builder = Builder(name, [*parameters, ("out", f"{scalar}*"), ("n", "i64")])
    *sources, out, n = builder.parameters
    with builder.parallel(1), builder.loop(0, n, lanes) as loop:
        loaded = [builder.load(x, loop.index, lanes=lanes) for x in sources]
        builder.store(builder.math(name, *loaded), out, loop.index)
    return Program(name, [builder.function])


def run(name, *operands, lanes=None):
    """The function by its kernel; operands are filled up to whole vectors."""
    scalar = "f32" if operands[0].dtype == np.float32 else "f64"
    lanes = lanes or LANES[scalar]
    kernel = compiled(("test vector math", name, scalar, lanes), functools.partial(program, name, scalar, lanes))
    size = operands[0].size
    padded = [np.concatenate([x, np.ones(-size % lanes, x.dtype)]) for x in operands]
    out = np.empty_like(padded[0])
    kernel.alone(*padded, out, out.size)
    return out[:size]


@np.errstate(all="ignore")
def error(found, true, least=0.0):
    """Distances in units in the last place of the rounded true value, or of ``least`` where that is less; infinite for a
    wrong NaN, infinity or sign."""
    rounded = true.astype(found.dtype)
    size = np.maximum(np.abs(rounded), np.array(least, found.dtype))
    unit = np.maximum(np.spacing(size), np.finfo(found.dtype).smallest_subnormal).astype(true.dtype)
    distance = np.abs(found.astype(true.dtype) - true) / unit
    same = (found == rounded) & (np.isinf(found) | (found == 0)) | (np.isnan(found) & np.isnan(rounded))
    wrong_sign = (found == 0) & (rounded == 0) & (np.signbit(found) != np.signbit(rounded))
    distance = np.where(wrong_sign, np.inf, np.where(same, 0, distance))
    return np.where(np.isnan(distance), np.inf, distance)


@np.errstate(all="ignore")
def samples(name, dtype, count=12_000):
    """Bit patterns of all kinds, ordinary numbers, numbers close to 0 and to 1, and those of exp's range."""
    random = np.random.default_rng(0)
    kind = f"u{np.dtype(dtype).itemsize}"
    patterns = random.integers(0, np.iinfo(kind).max, count, kind, endpoint=True).view(dtype)
    close = random.standard_normal(count) * 10.0 ** random.uniform(-12, 0, count)
    spread = random.uniform(-1, 1, count) * (110 if dtype == np.float32 else 760)
    x = np.concatenate([patterns, random.standard_normal(count) * 4, close, 1 + close, spread]).astype(dtype)
    if operands_of(name) == 1:
        return (x,)
    y = x[::-1].copy()
    if name == "pow":  # results of all sizes
        half = x.size // 2
        y[:half] = random.uniform(-1, 1, half) * spread.max() / np.log(np.abs(x[:half]))
    return x, y


# Beside the zeros of these, what is left of a difference has no more than the difference's last digits: errors there are
# those of numbers of this size.
NEAR_ZEROS = {"lgamma": 1e-2, "digamma": 1e-2}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", TRANSCENDENTAL)
def test_error(name, scalar):
    dtype = NUMPY[scalar]
    if scalar == "f64" and np.finfo(np.longdouble).nmant < 60:
        pytest.skip("no type wider than float64 here to compare with")
    operands = samples(name, dtype)
    found = run(name, *operands)
    least = NEAR_ZEROS.get(name, 0.0) if scalar == "f32" else 4.0 if name in SPECIAL else 0.0
    with np.errstate(all="ignore"):
        distance = error(found, true_value(name, *operands), least)
    worst = distance.argmax()
    assert distance[worst] <= ERRORS[name][SCALARS.index(scalar)], [x[worst] for x in operands]
    few = [x[:: x.size // 1000] for x in operands]
    np.testing.assert_array_equal(run(name, *few, lanes=1), found[:: found.size // 1000])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TRANSCENDENTAL if operands_of(name) == 1])
def test_error_everywhere(name):
    """Every 89th float32."""
    step = 89 if name not in SPECIAL else 8999
    for start in range(0, 1 << 32, 1 << 28):
        x = np.arange(start, start + (1 << 28), step, dtype=np.uint64).astype(np.uint32).view(np.float32)
        distance = error(run(name, x), true_value(name, x), NEAR_ZEROS.get(name, 0.0))
        assert distance.max() <= ERRORS[name][0], x[distance.argmax()]


def places(name):
    """Numbers of a function's domain, close to its zeros and edges too."""
    random = np.random.default_rng(0)
    tiny = 10.0 ** random.uniform(-16, -1, 60)
    if name == "erfinv":
        return np.concatenate([random.uniform(-1, 1, 60), tiny, 1 - tiny])
    if name == "ndtri":
        return np.concatenate(
            [random.uniform(0, 1, 60), 10.0 ** random.uniform(-300, 0, 60), 1 - tiny, 0.5 + tiny / 10]
        )
    if name == "erfcx":
        return np.concatenate([random.uniform(-9, 30, 60), tiny, -tiny, 1 / tiny])
    if name in BESSEL:
        signs = 1 if "_k" in name or "_y" in name else random.choice([-1, 1], 240)
        ends = 8 + random.uniform(-1, 1, 60)
        return np.concatenate([random.uniform(0, 9, 60), random.uniform(0, 80, 60), tiny, ends]) * signs
    near = [1 + tiny, 1 - tiny, 2 + tiny, 2 - tiny] if name == "lgamma" else []
    return np.concatenate([random.uniform(2, 30, 60), tiny, 1 / tiny, *near])


def digits(mp, name, x):
    """The function in many digits."""
    x = mp.mpf(x)
    if name == "lgamma":
        return mp.loggamma(x)
    if name in ("digamma", "trigamma"):
        return mp.psi(int(name == "trigamma"), x)
    if name in BESSEL:
        return bessel_digits(mp, name, x)
    if name == "erfcx":
        return mp.exp(x * x) * mp.erfc(x) if x < 1e5 else (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi))
    share = 1 - abs(x) if name == "erfinv" else 2 * min(x, 1 - x)  # erfc of what is sought
    if share == 1:
        return mp.mpf(0)
    log_share = mp.log(share)
    found = mp.erfinv(1 - share) if share > 0.1 else mp.sqrt(-log_share - mp.log(1 - log_share) / 2)
    for _ in range(9 if share <= 0.1 else 0):
        rest = mp.erfc(found)
        found += (mp.log(rest) - log_share) * rest * mp.sqrt(mp.pi) / 2 * mp.exp(found * found)
    return mp.sign(x) * found if name == "erfinv" else mp.sign(x - 0.5) * mp.sqrt(2) * found


def bessel_digits(mp, name, x):
    if name == "spherical_bessel_j0":
        return mp.sin(x) / x
    if name.startswith("i"):
        return mp.besseli(int(name[1]), x) * (mp.exp(-abs(x)) if name.endswith("e") else 1)
    function = {"j": mp.besselj, "y": mp.bessely, "k": mp.besselk}[name[-2]]
    return function(int(name[-1]), x) * (mp.exp(x) if name.startswith("scaled") else 1)


# The waves are as near as numbers of this size are: beside their zeros float64 has nothing better.
WAVES = dict.fromkeys(("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"), 0.5)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["erfcx", "erfinv", "ndtri", "lgamma", "digamma", "trigamma", *BESSEL])
def test_error_in_many_digits(name, scalar):
    mpmath = pytest.importorskip("mpmath")
    x = places(name).astype(NUMPY[scalar])
    with mpmath.mp.workdps(40):
        for argument, found in zip(x.tolist(), run(name, x)):
            if np.isfinite(found):
                true = digits(mpmath.mp, name, argument)
                with np.errstate(all="ignore"):
                    unit = np.spacing(
                        max(abs(found), found.dtype.type(WAVES.get(name, 0.0) if scalar == "f64" else 0.0))
                    )
                assert abs(float((true - float(found)) / float(unit))) <= ERRORS[name][SCALARS.index(scalar)], argument


INF, NAN = math.inf, math.nan
EDGES = {  # pairs of argument and result that hold in both types
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1e5, INF), (-1e5, 0.0)],
    "exp2": [(0.0, 1.0), (10.0, 1024.0), (-3.0, 0.125), (INF, INF), (-INF, 0.0), (-1e5, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (-1e5, -1.0), (1e-30, 1e-30)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log2": [(0.0, -INF), (1.0, 0.0), (8.0, 3.0), (2.0**-120, -120.0), (INF, INF), (-1e-30, NAN)],
    "log10": [(0.0, -INF), (1.0, 0.0), (1000.0, 3.0), (INF, INF), (-1.0, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-1.5, NAN), (INF, INF), (-INF, NAN), (1e-30, 1e-30)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-30, 1e-30)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (-1e-30, -1e-30)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.5, NAN), (-INF, NAN)],
    "acos": [(1.0, 0.0), (-1.0, math.pi), (0.0, math.pi / 2), (1.5, NAN), (INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (1e5, INF)],
    "cosh": [(0.0, 1.0), (INF, INF), (-INF, INF), (-1e5, INF)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (1e-30, 1e-30), (50.0, 1.0)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (0.5, NAN), (-INF, NAN), (INF, INF)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)],
    "sigmoid": [(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (1e5, 1.0), (-1e5, 0.0)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (30.0, 1.0)],
    "erfc": [(0.0, 1.0), (INF, 0.0), (-INF, 2.0), (30.0, 0.0), (-30.0, 2.0)],
    "erfcx": [(0.0, 1.0), (INF, 0.0), (-INF, INF), (-30.0, INF)],
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN)],
    "ndtri": [(0.5, 0.0), (0.0, -INF), (1.0, INF), (1.5, NAN), (-0.5, NAN), (INF, NAN)],
    "lgamma": [(1.0, 0.0), (2.0, 0.0), (0.0, INF), (-0.0, INF), (-3.0, INF), (-1e30, INF), (INF, INF), (-INF, INF)],
    "digamma": [(0.0, -INF), (-0.0, INF), (-3.0, NAN), (-1e30, NAN), (INF, INF), (-INF, NAN)],
    "trigamma": [(0.0, INF), (-0.0, INF), (-3.0, INF), (INF, 0.0), (-INF, NAN)],
    "i0": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF), (1e4, INF), (-1e30, INF)],
    "i1": [(0.0, 0.0), (-0.0, 0.0), (INF, INF), (-INF, -INF), (1e4, INF), (-1e30, -INF)],
    "i0e": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0)],
    "i1e": [(0.0, 0.0), (-0.0, 0.0), (INF, 0.0), (-INF, -0.0)],
    "bessel_j0": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0)],
    "bessel_j1": [(0.0, 0.0), (-0.0, -0.0), (INF, 0.0), (-INF, -0.0)],
    **{f"bessel_y{i}": [(0.0, -INF), (-0.0, -INF), (-1.0, NAN), (INF, 0.0), (-INF, NAN)] for i in (0, 1)},
    **{k: [(0.0, INF), (-0.0, INF), (-1.0, NAN), (INF, 0.0), (-INF, NAN)] for k in BESSEL if "_k" in k},
    "spherical_bessel_j0": [(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 0.0)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (INF, 0.0), (-1.0, NAN), (4.0, 0.5)],
}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, scalar):
    dtype = NUMPY[scalar]
    arguments, results = np.array([*EDGES[name], (NAN, NAN)]).astype(dtype).T
    for lanes in (1, LANES[scalar]):
        found = run(name, arguments.copy(), lanes=lanes)
        np.testing.assert_array_equal(found, results)
        np.testing.assert_array_equal(np.signbit(found[results == 0]), np.signbit(results[results == 0]))


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["pow", "atan2", "fmod", "nextafter"])
def test_edges_of_two_operands(name, scalar):
    """All pairs of numbers where C's functions do something of their own."""
    limits = np.finfo(NUMPY[scalar])
    sides = [0.0, 0.5, 1.0, 2.0, 3.0, 2.5, 1e30, limits.tiny, limits.smallest_subnormal, limits.max, INF, NAN]
    sides = np.array(sides + [-side for side in sides], NUMPY[scalar])
    x, y = np.repeat(sides, sides.size), np.tile(sides, sides.size)
    distance = error(run(name, x, y), true_value(name, x, y))
    assert distance.max() <= 2, (x[distance.argmax()], y[distance.argmax()])


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name, scalar):
    """Up to the greatest number, and the floats that are closest to multiples of pi / 2."""
    dtype = NUMPY[scalar]
    random = np.random.default_rng(1)
    exponents = random.uniform(15, np.finfo(dtype).maxexp, 20_000)
    x = (2.0**exponents * random.choice([-1, 1], exponents.size)).astype(dtype)
    hard = [16367173 * 2.0**72, 6381956970095103 * 2.0**797, 5319372648326541 * 2.0**255]
    x = np.concatenate([x, np.array(hard if scalar == "f64" else hard[:1], dtype)])
    assert error(run(name, x), true_value(name, x)).max() <= ERRORS[name][SCALARS.index(scalar)]


def test_every_function_is_here():
    assert set(EXPANSIONS) == set(TRANSCENDENTAL) == set(ERRORS)


def test_masks_of_a_vector_are_independent():
    """One huge angle takes its whole vector through the slow path; its neighbours get the results of the fast one."""
    x = np.linspace(-50, 50, 16, dtype=np.float32)
    with_huge = x.copy()
    with_huge[5] = 1e30
    expected = run("sin", x)
    expected[5] = np.sin(np.float64(np.float32(1e30)))
    np.testing.assert_array_equal(run("sin", with_huge), expected)
