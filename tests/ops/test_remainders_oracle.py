"""Remainders and floored quotients of many numbers, bit for bit as PyTorch's."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = {
    "fmod": lambda t, a, b: t.fmod(a, b),
    "remainder": lambda t, a, b: a % b,
    "floor_divide": lambda t, a, b: a // b,
    "div_floor": lambda t, a, b: t.div(a, b, rounding_mode="floor"),
    "div_trunc": lambda t, a, b: t.div(a, b, rounding_mode="trunc"),
    "in place": lambda t, a, b: a.clone().remainder_(b),
    "number": lambda t, a, b: a % 0.75,
}


@np.errstate(all="ignore")
def pairs(dtype, count=8000):
    """All pairs of special numbers, ordinary ones, exact quotients, great ones, any bits."""
    random, limits = np.random.default_rng(0), np.finfo(dtype)
    special = [
        0.0,
        1,
        2,
        0.5,
        7,
        1e-3,
        1e10,
        2.0**23,
        np.inf,
        np.nan,
        limits.tiny,
        limits.smallest_subnormal,
        limits.max,
    ]
    special = np.array([*special, *(-x for x in special)])
    kinds = [(np.repeat(special, special.size), np.tile(special, special.size))]
    kinds.append(random.standard_normal((2, count)))
    kinds.append((random.integers(-1000, 1000, count), random.integers(-20, 20, count)))
    kinds.append((random.integers(-1000, 1000, count) * 0.1, np.full(count, 0.1)))
    kinds.append((random.standard_normal(count) * 1e9, random.standard_normal(count)))
    patterns = random.integers(0, 256, (2, count, np.dtype(dtype).itemsize), np.uint8).view(dtype)[..., 0]
    return [
        np.concatenate(parts) for parts in zip(*[np.asarray(k, dtype) for k in [*map(list, kinds), list(patterns)]])
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CALLS)
def test_floats(name, dtype):
    a, b = pairs(dtype)
    wanted = CALLS[name](torch, torch.from_numpy(a), torch.from_numpy(b)).numpy()
    for size in (a.size, 700):  # by a kernel, by NumPy
        found = CALLS[name](rl, rl.tensor(a[:size]), rl.tensor(b[:size])).numpy()
        kind = f"i{a.itemsize}"
        same = (found.view(kind) == wanted[:size].view(kind)) | (np.isnan(found) & np.isnan(wanted[:size]))
        with np.errstate(all="ignore"):  # PyTorch has no remainder where the quotient overflows; C's fmod has
            lost = np.isnan(wanted[:size]) & np.isinf(a[:size] / (0.75 if name == "number" else b[:size]))
        assert (same | lost).all(), (a[:size][~same & ~lost][:3], b[:size][~same & ~lost][:3])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.int8, np.uint8])
@pytest.mark.parametrize("name", [name for name in CALLS if name != "number"])
def test_integers(name, dtype):
    """Numbers of all lengths, and the greatest; what C leaves open (the least by -1) left out."""
    random, limits = np.random.default_rng(0), np.iinfo(dtype)
    a, b = random.integers(limits.min, limits.max, (2, 40_000), dtype, endpoint=True)
    a, b = (x >> random.integers(0, limits.bits - 1, x.size).astype(dtype) for x in (a, b))
    a[:200], b[100:300] = limits.max, limits.max
    a[300:400], a[400:500] = b[300:400], b[400:500] * 3
    kept = (b != 0) & ((a != limits.min) | (b + 1 != 0))
    a, b = a[kept], b[kept]
    wanted = CALLS[name](torch, torch.from_numpy(a), torch.from_numpy(b)).numpy()
    for size in (a.size, 700):
        found = CALLS[name](rl, rl.tensor(a[:size]), rl.tensor(b[:size])).numpy()
        np.testing.assert_array_equal(found, wanted[:size])


@pytest.mark.parametrize("size", [4, 100_000])
@pytest.mark.parametrize("name", CALLS)
def test_zero_divisors_of_integers(name, size):
    x = rl.arange(size)
    if name == "number":
        assert rl.equal(x % 0.75, x.float() % 0.75)
        return
    for call in (lambda: CALLS[name](rl, x, x), lambda: CALLS[name](rl, x, 0)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            call()


OF_INTEGERS = ["gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift"]


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_divisors_and_shifts(name, dtype):
    random, limits = np.random.default_rng(7), np.iinfo(dtype)
    for most in (limits.max, 100, 8, 1 << 22, 1 << 24):
        least = max(limits.min + 1, -most)
        a, b = random.integers(least, min(most, limits.max), (2, 20_000), endpoint=True).astype(dtype)
        if "shift" in name:
            b = random.integers(max(limits.min, -3), 70, 20_000).astype(dtype)
        for call in (
            lambda m, x, y: getattr(m, name)(x, y),
            lambda m, x, y: getattr(m, name)(x.reshape(100, 200).t(), y[:100]),
            lambda m, x, y: getattr(x.clone(), name + "_")(y),
            lambda m, x, y: getattr(m, name)(x[:500], y[:500]),
        ):
            found = call(rl, rl.from_numpy(a), rl.from_numpy(b)).numpy()
            wanted = call(torch, torch.from_numpy(a), torch.from_numpy(b)).numpy()
            np.testing.assert_array_equal(found, wanted)


def test_shifts_by_numbers():
    a = np.random.default_rng(8).integers(-(1 << 62), 1 << 62, 20_000)
    for count in (0, 2, 63, 64, 70):
        for call in (lambda x, n: x << n, lambda x, n: x >> n):
            found, wanted = call(rl.from_numpy(a), count).numpy(), call(torch.from_numpy(a), count).numpy()
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CALLS)
def test_halves(name, half):
    a, b = pairs(np.float32)
    found = []
    for t in (torch, rl):
        x, y = (t.from_numpy(each).to(getattr(t, half)) for each in (a, b))
        found.append(CALLS[name](t, x, y).float().numpy())
        assert np.array_equal(
            CALLS[name](t, x[-50:-43], y[-50:-43]).float().numpy(), found[-1][-50:-43], equal_nan=True
        )
    wanted, mine = found
    with np.errstate(all="ignore"):  # where the quotient overflows, PyTorch's remainder is NaN in some places
        lost = np.isinf(a / (0.75 if name == "number" else b)) | ~np.isfinite(wanted)
    wrong = ~lost & (wanted.view("i4") != mine.view("i4"))
    assert not wrong.any(), (wrong.sum(), a[wrong][:5], b[wrong][:5], wanted[wrong][:5], mine[wrong][:5])
