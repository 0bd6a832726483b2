"""topk by kernels: against NumPy's stable order, and PyTorch's places of equal elements where few of many are asked for."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels import watching
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops.sort import sorted_positions

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.compiler.kernel import compiled
    from rushlight.kernels.sorting import leading, leading_programs

DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u8"]
CALLS = [((1000,), 0, 1), ((1000,), 0, 3), ((5001,), 0, 77), ((64, 200), 1, 3), ((700, 33), 0, 8), ((3, 1000, 5), 1, 12),
         ((1000,), 0, 20), ((1000,), 0, 999), ((1000,), 0, 1000), ((40, 333), 1, 100), ((500, 40), 0, 70)]  # fmt: skip


def numbers(shape, dtype, most=50):
    """Numbers of which many are equal; among floats some NaN, infinities and zeros of both signs."""
    random = np.random.default_rng(0)
    if np.dtype(dtype).kind != "f":
        found = random.integers(-most, most, shape).astype(dtype)
        found.reshape(-1)[::301] = np.iinfo(dtype).max
        found.reshape(-1)[1::301] = np.iinfo(dtype).min
        return found
    found = (random.integers(-most, most, shape) / 7).astype(dtype)
    flat = found.reshape(-1)
    for first, value in enumerate([np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan]):
        flat[first :: 97 + first] = value
    return found


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim", "k"), CALLS)
def test_values_and_places(shape, dim, k, dtype, largest):
    x = numbers(shape, dtype)
    values, places = leading.topk_pair(x, k, dim, largest, True)
    wanted = np.take_along_axis(x, sorted_positions(x, dim, largest), dim).take(range(k), dim)
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(np.take_along_axis(x, places, dim), wanted)
    different = np.diff(np.sort(places, dim), axis=dim) > 0
    assert different.all() and (values.dtype, places.dtype) == (x.dtype, np.int64)


@pytest.mark.parametrize("most", [2, 40, 1 << 20])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize(("shape", "k"), [((300,), 1), ((300,), 4), ((640,), 10), ((20_000,), 300), ((50, 999), 15)])
def test_places_of_equal_elements_are_pytorchs(shape, k, dtype, largest, most):
    torch = pytest.importorskip("torch")
    x = numbers(shape, dtype, most)
    wanted = torch.from_numpy(x).topk(k, largest=largest)
    with watching() as seen:
        found = rl.from_numpy(x).topk(k, largest=largest)
    assert seen
    np.testing.assert_array_equal(found.indices.numpy(), wanted.indices.numpy())
    np.testing.assert_array_equal(found.values.numpy(), wanted.values.numpy())


@pytest.mark.parametrize(("dtype", "lanes"), [("f4", 4), ("f4", 8), ("f4", 16), ("i8", 2), ("i8", 4), ("i8", 8)])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("name", ["few", "many"])
def test_widths_of_vectors(name, dtype, largest, lanes):
    x, count = numbers((3, 331), dtype, 20), 5 if name == "few" else 90
    scalar = {"f4": "f32", "i8": "i64"}[dtype]
    program = getattr(leading_programs, name)(scalar, largest, lanes)
    key = {"f4": np.int32, "i8": np.int64}[dtype]
    sizes = (3, 331, count, *([count.bit_length() - 1] if name == "few" else []), 2)

    def outputs():
        room = 2 * (331 + leading_programs.PENDING)
        return np.zeros((3, count), dtype), np.zeros((3, count), np.int64), np.zeros(room, key), np.zeros(room, key)

    fast, slow = outputs(), outputs()
    compiled(("test leading", name, scalar, largest, lanes), lambda: program).threaded(x, *fast, *sizes)
    interpret(program, x, *slow, *sizes)
    for found, wanted in zip(fast[:2], slow[:2]):
        np.testing.assert_array_equal(found, wanted)


def test_gradient():
    x = rl.from_numpy(numbers((6, 500), "f4", 1 << 20)).nan_to_num().requires_grad_()
    values, places = x.topk(5)
    values.sum().backward()
    wanted = np.zeros((6, 500), np.float32)
    np.put_along_axis(wanted, places.numpy(), 1, 1)
    np.testing.assert_array_equal(x.grad.numpy(), wanted)


def test_what_is_declined():
    x = np.ones((4, 300), np.float32)
    assert leading.topk_pair(x, 0, 1, True, True) is NotImplemented
    assert leading.topk_pair(x, 301, 1, True, True) is NotImplemented
    assert leading.topk_pair(x > 0, 3, 1, True, True) is NotImplemented
    assert leading.topk_pair(x[:0], 3, 1, True, True) is NotImplemented
