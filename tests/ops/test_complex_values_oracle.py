"""Functions of complex numbers that are zero, infinite, NaN, huge or tiny, against PyTorch: few of them, and among many."""

import itertools

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
ONE = ["exp", "log", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid", "sgn"]
ONE += ["reciprocal", "abs", "angle", "neg", "conj_physical", "square"]
DTYPES = [np.complex64, np.complex128]
MANY = 150_000


def special(dtype, ordinary, extreme=True):
    limits = np.finfo(dtype)
    parts = [0.0, -0.0, np.inf, -np.inf, np.nan, *ordinary]
    if extreme:
        parts += [limits.max, -limits.max, limits.tiny, -limits.tiny]
    found = np.empty(len(parts) ** 2, dtype)
    found.real, found.imag = np.array(list(itertools.product(parts, parts)), found.real.dtype).T
    return found


def parts_of(array):
    return array.view(array.real.dtype).reshape(array.size, -1)


def alike(found, expected):
    """Equal with the signs of zeros, both NaN, or but for rounding, which is relative to the number's larger part."""
    step, tiny = np.finfo(found.dtype).eps, np.finfo(found.dtype).tiny
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(expected), expected, 0)).max(-1, keepdims=True)
        same = (found == expected) & (np.signbit(found) == np.signbit(expected))
        rounded = (np.abs(found - expected) <= 40 * step * size + 8 * tiny) & ((found != 0) | (expected != 0))
    return (same | rounded | (np.isnan(found) & np.isnan(expected))).all(-1)


def compare(name, arrays):
    """Where PyTorch's vectors and its single numbers differ, either will do."""
    count = arrays[0].size
    single = [getattr(torch, name)(*(torch.from_numpy(a[i : i + 1]) for a in arrays)).numpy() for i in range(count)]
    single = parts_of(np.concatenate(single))
    for more in (16, MANY):
        padded = [np.concatenate([a, np.full(more, 1.5, a.dtype)]) for a in arrays]
        found, vectors = (
            parts_of(getattr(module, name)(*map(module.from_numpy, padded)).numpy()[:count]) for module in (rl, torch)
        )
        wrong = ~(alike(found, vectors) | alike(found, single))
        told = [(*(a[i] for a in arrays), found[i], single[i]) for i in np.flatnonzero(wrong)]
        assert not told, (more, told[:5])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE)
def test_functions(name, dtype):
    rounded = name in ("sgn", "rsqrt", "square", "sigmoid") and dtype is np.complex64  # by PyTorch, on the way
    compare(name, [special(dtype, (1.0, -1.0, 0.5, -2.5, 60.0), extreme=not rounded)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["mul", "div"])
@pytest.mark.parametrize("kinds", ["cc", "cr", "rc"])
def test_pairs(name, kinds, dtype):
    values = special(dtype, (2.0, -1.5), extreme=False)
    values = {"c": values, "r": values.real[::7].copy()}
    first, second = (values[kind] for kind in kinds)
    compare(name, [np.repeat(first, second.size), np.tile(second, first.size)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kinds", ["cc", "cr", "rc"])
def test_powers_of_what_is_special(kinds, dtype):
    """Powers of ordinary numbers may be 1 - 0j here and 1 + 0j there."""
    values = special(dtype, (2.0, -1.5), extreme=False)
    first, second = ({"c": values, "r": values.real[::7].copy()}[kind] for kind in kinds)
    first, second = np.repeat(first, second.size), np.tile(second, first.size)
    chosen = (first == 0) | ~np.isfinite(first) | ~np.isfinite(second)
    compare("pow", [first[chosen], second[chosen]])
