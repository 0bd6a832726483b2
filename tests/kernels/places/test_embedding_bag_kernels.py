"""Kernels of embedding bags: NumPy's results for all modes, widths and layouts of bags; PyTorch's values and gradients."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import embedding_bags
from rushlight.ops import embedding_bag as ops

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
MODES = ("sum", "mean", "max")


def bags(rows, count, most=7, seed=0, index_dtype="i8"):
    """Row numbers, and where each bag begins and ends; some are empty."""
    random = np.random.default_rng(seed)
    counts = random.integers(0, most, count)
    ends = np.cumsum(counts)
    return random.integers(0, rows, counts.sum()).astype(index_dtype), ends - counts, ends


def table(rows, width, dtype="f4", seed=1):
    found = np.random.default_rng(seed).standard_normal((rows, width)).astype(dtype)
    found[rows // 2, width // 2] = np.nan
    found[rows // 3, 0] = np.inf
    return found


@pytest.mark.parametrize("width", [1, 3, 16, 64, 70, 150])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype, index_dtype", [("f4", "i8"), ("f4", "i4"), ("f8", "i8")])
def test_pooled(mode, width, dtype, index_dtype):
    weight, factors = table(40, width, dtype), None
    for count in (1, 30, 900):
        rows, starts, ends = bags(40, count, index_dtype=index_dtype)
        if mode != "max":
            factors = np.random.default_rng(2).random(rows.size).astype(dtype)
        for given in (None, factors):
            arguments = weight, rows, starts, ends, given, mode, False
            with np.errstate(invalid="ignore"):
                expected, expected_places = ops.pooled_rows.forward(*arguments)
            found, places = embedding_bags.pooled_rows(*arguments, False)
            assert (found.dtype, places.dtype) == (expected.dtype, expected_places.dtype)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(places, expected_places)


@pytest.mark.parametrize("width", [1, 3, 64, 150])
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_gradient(mode, width, by_frequency):
    for count in (1, 30, 3000):
        rows, starts, ends = bags(40, count)
        grad, factors = table(count, width), np.random.default_rng(2).random(rows.size).astype("f4")
        for given in (None, factors):
            arguments = rows, starts, ends, given, 40, mode, by_frequency
            found = embedding_bags.pooled_rows_gradient(grad, *arguments)
            wide = None if given is None else given.astype("f8")
            with np.errstate(invalid="ignore"):
                expected = ops.pooled_rows_gradient.forward(grad.astype("f8"), *arguments[:3], wide, *arguments[4:])
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_what_is_declined():
    rows, starts, ends = bags(40, 30)
    grad = table(30, 8)
    assert embedding_bags.pooled_rows_gradient(grad, rows, starts, ends, None, 3, "sum", False) is NotImplemented
    assert embedding_bags.pooled_rows(table(5, 8), rows, starts, ends, None, "sum", False, False) is NotImplemented
    halves = embedding_bags.pooled_rows_gradient(grad.astype("f2"), rows, starts, ends, None, 40, "sum", False)
    assert halves is NotImplemented
    longer = np.append(rows, 1)  # the last number is in no bag
    assert embedding_bags.pooled_rows_gradient(grad, longer, starts, ends, None, 40, "sum", False) is NotImplemented


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("vectors", [1, 4])
@pytest.mark.parametrize("mode", MODES)
def test_programs_of_all_widths(lanes, vectors, mode):
    weight, (rows, starts, ends) = table(9, 37), bags(9, 6)
    factors = np.ones(rows.size, np.float32)
    found, places = np.empty((6, 37), np.float32), np.empty((6, 37) if mode == "max" else 1, np.int64)
    program = embedding_bags.pool_rows("f32", "i64", lanes, vectors, mode, mode == "sum")
    interpret(program, weight, rows, starts, ends, factors, found, places, 37, 6, 4)
    expected, expected_places = ops.pooled_rows.forward(weight, rows, starts, ends, None, mode, False)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    if mode == "max":
        np.testing.assert_array_equal(places, expected_places)


def test_threads_change_nothing():
    rows, starts, ends = bags(500, 3000, 40)
    weight, grad, found = table(500, 96), table(3000, 96), []
    for threads in (1, 2, 3):
        set_num_threads(threads)
        pooled, _ = embedding_bags.pooled_rows(weight, rows, starts, ends, None, "mean", False, False)
        flowed = embedding_bags.pooled_rows_gradient(grad, rows, starts, ends, None, 500, "mean", False)
        found.append(pooled.tobytes() + flowed.tobytes())
    set_num_threads(2)
    assert len(set(found)) == 1


# Not scale_grad_by_freq: PyTorch divides by how often another row occurs.
CALLS = {
    "mean": lambda m, w, r, f: m.nn.functional.embedding_bag(r, w),
    "sum": lambda m, w, r, f: m.nn.functional.embedding_bag(r, w, mode="sum"),
    "max": lambda m, w, r, f: m.nn.functional.embedding_bag(r, w, mode="max"),
    "padded": lambda m, w, r, f: m.nn.functional.embedding_bag(r, w, padding_idx=3),
    "padded max": lambda m, w, r, f: m.nn.functional.embedding_bag(r, w, mode="max", padding_idx=-1),
    "factors": lambda m, w, r, f: m.nn.functional.embedding_bag(r, w, mode="sum", per_sample_weights=f),
    "int32": lambda m, w, r, f: m.nn.functional.embedding_bag(r.int(), w, mode="sum"),
    "spaced": lambda m, w, r, f: m.nn.functional.embedding_bag(r[:, ::2], w[:, ::2]),
    "offsets": lambda m, w, r, f: m.nn.functional.embedding_bag(r.reshape(-1), w, m.tensor([0, 0, 7, 900, 900])),
    "last offset": lambda m, w, r, f: m.nn.functional.embedding_bag(
        r.reshape(-1), w, m.tensor([0, 5, 5, r.numel()]), include_last_offset=True
    ),
    "too far": lambda m, w, r, f: m.nn.functional.embedding_bag(r.reshape(-1), w, m.tensor([0, 5, 10**6])),
    "no last offset": lambda m, w, r, f: m.nn.functional.embedding_bag(
        r.reshape(-1), w, m.zeros(0, dtype=m.int64), include_last_offset=True
    ),
}


def outcome(m, name):
    random = np.random.default_rng(3)
    w = m.tensor(random.standard_normal((50, 37)).astype("f4"), requires_grad=True)
    f = m.tensor(random.random((80, 20)).astype("f4"), requires_grad=True)
    try:
        found = CALLS[name](m, w, m.tensor(random.integers(0, 50, (80, 20))), f)
    except RuntimeError as error:
        return [str(error).split("\n")[0]]
    (found * found).sum().backward()
    return [t if t is None else t.detach().numpy() for t in (found, w.grad, f.grad)]


@pytest.mark.parametrize("name", CALLS)
def test_against_pytorch(name):
    torch = pytest.importorskip("torch")
    for mine, wanted in zip(outcome(rl, name), outcome(torch, name), strict=True):
        if isinstance(wanted, np.ndarray):
            np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-4)
        else:
            assert mine == wanted
