"""Every distribution against PyTorch: the same bits, and the same generator state after each call."""

import random
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")

from rushlight.random import Generator, default_generator, manual_seed  # noqa: E402
from rushlight.random import distributions as draw  # noqa: E402

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
COMPLEX = ("complex64", "complex128")
SIZES = (0, 1, 2, 5, 15, 16, 17, 31, 32, 33, 100, 1000)

FILLS = [
    ("uniform_", (0.0, 1.0), FLOATS + COMPLEX),
    ("uniform_", (-0.3, 0.7), FLOATS + COMPLEX),
    ("uniform_", (0.0, 2.5), FLOATS),
    ("uniform_", (16.0, 16.00001), FLOATS),
    ("normal_", (0.0, 1.0), FLOATS + COMPLEX),
    ("normal_", (0.3, 1.7), FLOATS + COMPLEX),
    ("normal_", (0.0, 0.02), FLOATS),
    ("normal_", (1.0, 0.0), FLOATS),
    ("bernoulli_", (0.3,), FLOATS + INTEGERS + ("bool",)),
    ("bernoulli_", (1.0,), ("float32",)),
    ("exponential_", (1.0,), FLOATS),
    ("exponential_", (2.5,), FLOATS),
    ("geometric_", (0.3,), FLOATS + INTEGERS),
    ("geometric_", (1e-12,), FLOATS + INTEGERS),
    ("log_normal_", (0.3, 0.7), FLOATS),
    ("cauchy_", (0.3, 1.7), FLOATS),
    ("random_", (), FLOATS + INTEGERS + ("bool",)),
    ("random_", (0, 10), FLOATS + INTEGERS),
    ("random_", (5, None), FLOATS + INTEGERS),
    ("random_", (-(2**28) + 5, 7), ("int64", "int32")),
    ("random_", (0, 2**28), ("int64", "int32", "float32")),
    ("random_", (-5, 2**40), ("int64",)),
    ("random_", (-(2**63), None), ("int64",)),
    ("random_", (-(2**63), 2**63 - 1), ("int64",)),
    ("random_", (-(2**24) - 1, 10), ("float32",)),
]


def numpy_dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def seed_both(seed):
    torch.manual_seed(seed)
    manual_seed(seed)


def assert_same(expected, found, what):
    assert tuple(expected.shape) == found.shape, what
    bits = expected.contiguous().view(torch.int16) if expected.dtype == torch.bfloat16 else expected.contiguous()
    assert bits.numpy().tobytes() == np.ascontiguousarray(found).tobytes(), what
    assert torch.get_rng_state().numpy().tobytes() == default_generator.state_bytes().tobytes(), f"state after {what}"


def layouts(shape, dtype, choice):
    """An uninitialised tensor and array of the same shape and layout: contiguous, transposed or strided."""
    kind, array_kind = getattr(torch, dtype), numpy_dtype(dtype)
    if choice == "transposed":
        return torch.empty(shape[::-1], dtype=kind).permute(*range(len(shape))[::-1]), np.empty(
            shape[::-1], array_kind
        ).T
    if choice == "strided":
        return torch.empty((*shape, 3), dtype=kind)[..., 1], np.empty((*shape, 3), array_kind)[..., 1]
    return torch.empty(shape, dtype=kind), np.empty(shape, array_kind)


@pytest.mark.parametrize("seed", [0, -7, 2**40 + 3])
def test_fills_in_random_succession(seed):
    chooser = random.Random(seed)
    calls = [(name, args, dtype, size) for name, args, dtypes in FILLS for dtype in dtypes for size in SIZES]
    chooser.shuffle(calls)
    seed_both(seed)
    for name, args, dtype, size in calls:
        shape = (2, size // 4, 2) if size and size % 4 == 0 and chooser.random() < 0.5 else (size,)
        choice = chooser.choice(("contiguous", "contiguous", "transposed", "strided"))
        tensor, array = layouts(shape, dtype, choice)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            getattr(tensor, name)(*args)
            getattr(draw, name)(array, *args)
        assert_same(tensor, array, (name, args, dtype, shape, choice))


@pytest.mark.parametrize("seed", range(3))
def test_many_small_draws_from_the_same_blocks(seed):
    chooser = random.Random(seed)
    seed_both(seed)
    probabilities = torch.tensor([0.0, 0.3, -0.0, 1.0, 0.5, 0.9])
    for number in range(2500):
        shape = chooser.choice([(), (1,), (2,), (3,), (2, 2), (4, 2), (14,), (15,), (16,), (4, 8), (3, 16), (130,)])
        name, expected, found = chooser.choice(
            [
                ("rand", lambda: torch.rand(shape), lambda: draw.rand(shape)),
                ("randn", lambda: torch.randn(shape), lambda: draw.randn(shape)),
                ("randn", lambda: torch.randn(shape), lambda: draw.normal_(np.empty(shape, np.float32))),
                (
                    "normal",
                    lambda: torch.normal(0.5, 3.0, shape),
                    lambda: draw.normal_(np.empty(shape, np.float32), 0.5, 3.0),
                ),
                ("double", lambda: torch.rand(shape, dtype=torch.double), lambda: draw.rand(shape, np.dtype("f8"))),
                ("randint", lambda: torch.randint(-3, 9, shape), lambda: draw.randint(-3, 9, shape)),
                ("bernoulli", lambda: torch.bernoulli(probabilities), lambda: draw.bernoulli(probabilities.numpy())),
                ("mask", lambda: torch.empty(shape).bernoulli_(0.3) > 0, lambda: draw.keep_mask(shape, 0.3)),
            ]
        )
        expected, found = expected(), found()
        assert expected.numpy().tobytes() == found.tobytes(), (number, name, shape)
    assert_same(torch.rand(1), draw.rand((1,)), "the last draw")


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_large_sizes(dtype):
    seed_both(5)
    for name, args, dtypes in FILLS:
        if dtype in dtypes and name not in ("geometric_", "cauchy_") and (name != "random_" or args in ((), (0, 10))):
            tensor, array = layouts((100003,), dtype, "contiguous")
            getattr(tensor, name)(*args)
            getattr(draw, name)(array, *args)
            assert_same(tensor, array, (name, args, dtype))


def test_integers_and_permutations():
    seed_both(3)
    for n in (0, 1, 2, 7, 100, 399, 400, 401, 1000, 3000, 100003):
        assert_same(torch.randperm(n), draw.randperm(n), n)
        assert_same(torch.randint(-5, 1000, (n,)), draw.randint(-5, 1000, (n,)), n)
    for dtype in ("uint8", "int16", "float32", "float16", "bfloat16"):
        assert_same(torch.randperm(99, dtype=getattr(torch, dtype)), draw.randperm(99, numpy_dtype(dtype)), dtype)
    for dtype in ("uint16", "uint32", "uint64"):
        expected = torch.randint(3, 1000, (50,), dtype=getattr(torch, dtype))
        assert_same(expected, draw.randint(3, 1000, (50,), np.dtype(dtype)), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_multinomial(dtype):
    source = np.random.default_rng(0)
    row, rows = source.random(50).astype(dtype), source.random((7, 30)).astype(dtype)
    rows[:, 3] = 0
    seed_both(1)
    for weights in (row, rows):
        for count in (1, 2, 10):
            for replacement in (False, True):
                expected = torch.multinomial(torch.from_numpy(weights), count, replacement)
                assert_same(
                    expected, draw.multinomial(weights, count, replacement), (weights.shape, count, replacement)
                )
    long = source.random(3000).astype(dtype)
    assert_same(torch.multinomial(torch.from_numpy(long), 50000, True), draw.multinomial(long, 50000, True), "long")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_bernoulli_with_probabilities(dtype):
    p = np.random.default_rng(0).random((20, 3)).astype(dtype)
    tensor = torch.from_numpy(p)
    seed_both(2)
    assert_same(torch.bernoulli(tensor), draw.bernoulli(p), "bernoulli")
    assert_same(torch.bernoulli(tensor.t()), draw.bernoulli(p.T), "transposed")
    for kind in ("float32", "int64", "bool", "float16"):
        for shape, choice in (((20, 3), "contiguous"), ((20, 3), "transposed"), ((5, 20, 3), "contiguous")):
            filled, array = layouts(shape, kind, choice)
            assert_same(filled.bernoulli_(tensor), draw.bernoulli_(array, p), (kind, shape, choice))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rejection_methods(dtype):
    source = np.random.default_rng(0)
    rates = (source.random((13, 7)) * 40).astype(dtype)
    counts, p = source.integers(0, 200, (9, 11)).astype(dtype), source.random((9, 11)).astype(dtype)
    shapes = (source.random((40, 5)) * 3).astype(dtype)
    as_tensor = torch.from_numpy
    for seed in range(3):
        seed_both(seed)
        torch.randn(seed), draw.randn((seed,))
        assert_same(torch.poisson(as_tensor(rates)), draw.poisson(rates), "poisson")
        assert_same(torch.poisson(as_tensor(rates).t()), draw.poisson(rates.T), "poisson transposed")
        assert_same(torch.binomial(as_tensor(counts), as_tensor(p)), draw.binomial(counts, p), "binomial")
        assert_same(torch._standard_gamma(as_tensor(shapes)), draw.standard_gamma(shapes), "gamma")
        expected, found = torch._sample_dirichlet(as_tensor(shapes)).numpy(), draw.dirichlet(shapes)
        np.testing.assert_array_max_ulp(found, expected, 2)
        if dtype == "float32":
            assert (expected == found).all()


def test_normal_with_arrays():
    source = np.random.default_rng(0)
    for seed, (mean_kind, std_kind) in enumerate(
        [("float32", "float32"), ("float64", "float32"), ("float32", "float64"), ("float16", "float32")]
    ):
        seed_both(seed)
        for shape in ((5,), (3, 7), (30,)):
            backwards = range(len(shape))[::-1]
            mean, std = source.standard_normal(shape).astype(mean_kind), source.random(shape).astype(std_kind)
            mean_tensor, std_tensor = torch.from_numpy(mean), torch.from_numpy(std)
            assert_same(torch.normal(mean_tensor, std_tensor), draw.normal(mean, std), shape)
            assert_same(torch.normal(mean_tensor, 1.7), draw.normal(mean, 1.7), shape)
            assert_same(torch.normal(mean_tensor.permute(*backwards), 1.7), draw.normal(mean.T, 1.7), shape)
            assert_same(torch.normal(0.3, std_tensor.permute(*backwards)), draw.normal(0.3, std.T), shape)
            assert_same(
                torch.normal(mean_tensor[..., None], std_tensor[0]),
                draw.normal(mean[..., None], np.asarray(std[0])),
                shape,
            )
    mean = (source.standard_normal(20) + 1j * source.standard_normal(20)).astype(np.complex64)
    assert_same(torch.normal(torch.from_numpy(mean), 2.0), draw.normal(mean, 2.0), "complex")


def test_states_are_exchanged():
    for drawn in (0, 1, 300, 623, 624, 1000):
        torch.manual_seed(drawn)
        torch.rand(drawn)
        torch.randn(1)
        generator = Generator()
        generator.set_state_bytes(torch.get_rng_state().numpy())
        assert (draw.randn((9,), generator=generator) == torch.randn(9).numpy()).all()
        assert (draw.rand((1500,), generator=generator) == torch.rand(1500).numpy()).all()
        torch.set_rng_state(torch.from_numpy(generator.state_bytes()))
        assert (torch.randn(40, dtype=torch.float64).numpy() == draw.randn((40,), np.float64, generator)).all()
    assert (torch.Generator().get_state().numpy() == Generator().state_bytes()).all()


def outcome(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
            result = None
        except Exception as error:
            result = type(error), str(error).partition("\n")[0]
    return result, [str(w.message).partition(" (Triggered")[0] for w in caught]


BAD_FILLS = [
    ("normal_", (0, -1), "float32"), ("normal_", (), "int64"), ("normal_", (), "bool"), ("uniform_", (2, 1), "float32"),
    ("uniform_", (0, float("inf")), "float32"), ("uniform_", (float("nan"), 1), "float32"),
    ("uniform_", (-3e38, 3e38), "float32"), ("uniform_", (0, 1e6), "float16"), ("uniform_", (), "int64"),
    ("exponential_", (), "int64"), ("exponential_", (0,), "float32"), ("geometric_", (0,), "float32"),
    ("geometric_", (0.5,), "bool"), ("log_normal_", (0, 0), "float32"), ("log_normal_", (), "int64"),
    ("cauchy_", (0, 0), "float32"), ("cauchy_", (), "int16"), ("cauchy_", (), "complex64"),
    ("bernoulli_", (1.5,), "float32"), ("bernoulli_", (float("nan"),), "float32"),
    ("bernoulli_", (0.4,), "complex64"), ("random_", (), "uint16"),
    ("random_", (5, 5), "int64"), ("random_", (0, 300), "int8"), ("random_", (-200, 3), "int8"),
    ("random_", (0, 3), "bool"), ("random_", (0, 70000), "float16"),
    ("random_", (2049, 2050), "float16"), ("random_", (2049, 2052), "float16"),
    ("random_", (300, None), "uint8"), ("random_", (2**25, None), "float32"), ("random_", (0, 2**16 + 1), "uint16"),
    ("random_", (0, 5), "complex64"), ("random_", (0, 2**26), "float32"),
]  # fmt: skip


@pytest.mark.parametrize("name, args, dtype", BAD_FILLS)
def test_errors_and_warnings(name, args, dtype):
    tensor, array = layouts((3,), dtype, "contiguous")
    assert outcome(lambda: getattr(draw, name)(array, *args)) == outcome(lambda: getattr(tensor, name)(*args))
