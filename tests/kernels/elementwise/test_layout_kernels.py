"""Operations that move elements, large enough for kernels: against NumPy, for many dtypes and layouts; ranges; in place."""

from fractions import Fraction

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.machine.host import host
from rushlight.ops.moving import copied, filled, progression, ramps

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")
F = rl.nn.functional
DTYPES = ["f4", "f8", "f2", "i8", "i2", "u1", "?", "c8"]


def block(dtype, shape=(3, 20, 30, 25)):
    return (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)


VIEWS = {
    "rows": lambda x: x[:, :, ::-1],
    "columns": lambda x: x[..., ::-1],
    "all": lambda x: x[::-1, ::-1, ::-1, ::-1],
    "a part of columns": lambda x: x[..., 22:3:-1],
    "every other": lambda x: x[..., ::-2],
    "transposed": lambda x: x.transpose(3, 0, 2, 1)[:, ::-1, :, ::-1],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", VIEWS)
def test_reversed_copies(name, dtype):
    view = VIEWS[name](block(dtype))
    np.testing.assert_array_equal(copied(view), view)


MOVES = {
    "flip": (lambda x: x.flip(1, 3), lambda x: np.flip(x, (1, 3))),
    "rot90": (lambda x: x.rot90(1, (2, 3)), lambda x: np.rot90(x, 1, (2, 3))),
    "roll": (lambda x: x.roll((2, -3), (1, 3)), lambda x: np.roll(x, (2, -3), (1, 3))),
    "roll one dimension twice": (lambda x: x.roll((2, 3), (3, 3)), lambda x: np.roll(x, 5, 3)),
    "roll flat": (lambda x: x.roll(-1000), lambda x: np.roll(x, -1000)),
    "repeat": (lambda x: x.repeat(2, 1, 3, 2), lambda x: np.tile(x, (2, 1, 3, 2))),
    "repeat into more dimensions": (lambda x: x[0].repeat(2, 1, 1, 2), lambda x: np.tile(x[0], (2, 1, 1, 2))),
    "stack": (lambda x: rl.stack([x, x], -1), lambda x: np.stack([x, x], -1)),
    "constant": (lambda x: F.pad(x, (1, 2, -1, 3)), lambda x: np.pad(x[:, :, 1:], ((0, 0), (0, 0), (0, 3), (1, 2)))),
    "reflect": (lambda x: F.pad(x, (3, 4, 2, 1), "reflect"), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1), (3, 4)), "reflect")),
    "replicate": (lambda x: F.pad(x, (3, 4, 2, 1), "replicate"), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1), (3, 4)), "edge")),
    "circular": (lambda x: F.pad(x, (3, 4, 2, 1), "circular"), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1), (3, 4)), "wrap")),
    "lower triangle": (lambda x: x.tril(-2), lambda x: np.tril(x, -2)),
    "upper triangle": (lambda x: x.triu(3), lambda x: np.triu(x, 3)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "i8", "?"])
@pytest.mark.parametrize("name", MOVES)
def test_moves(name, dtype):
    move, wanted = MOVES[name]
    if dtype == "?" and name in ("reflect", "replicate"):
        dtype = "u1"  # PyTorch refuses bools there
    x = block(dtype)
    np.testing.assert_array_equal(move(rl.from_numpy(x)).numpy(), wanted(x))


@pytest.mark.parametrize("count", [4096, 65_536, 100_001])
@pytest.mark.parametrize("kind", ["f4", "f8", "i8"])
def test_progressions(count, kind):
    for base, step, first, direction in ((0, 1, 0, 1), (-3, 7, count - 1, -1)):
        places = np.arange(first, first + direction * count, direction)
        wanted = np.array(base, kind) + np.array(step, kind) * places.astype(kind)
        found = progression(np.empty(count, kind), base, step, np.dtype(kind), first, direction)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("count", [1000, 100_001])  # without a kernel, and by one
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_progressions_that_are_rounded_once(count, kind):
    base, step = np.array(-10, kind), np.array(20, kind) / np.array(999, kind)
    found = progression(np.empty(count, kind), base, step, np.dtype(kind), fused=True)
    exact = [Fraction(base.item()) + Fraction(step.item()) * place for place in range(0, count, 7)]
    np.testing.assert_array_equal(found[::7], np.array([float(value) for value in exact], kind))
    twice = progression(np.empty(count, kind), base, step, np.dtype(kind))
    assert (found != twice).any()


@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("most", [3, 200, 20_000])
@pytest.mark.parametrize("step", [0, 1, -3])
def test_ramps(kind, most, step):
    random = np.random.default_rng(0)
    lengths = random.integers(0, most, 100_000 // most)
    firsts = random.integers(-1000, 1000, lengths.size)
    found = np.empty(lengths.sum(), kind)
    ramps(found, firsts, lengths, step)
    within = np.arange(found.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    np.testing.assert_array_equal(found, np.repeat(firsts, lengths) + step * within)


@pytest.mark.parametrize(("row", "col", "offset"), [(90, 70, 0), (90, 70, 13), (70, 90, -13), (90, 90, 200), (0, 5, 0)])
def test_triangle_indices(row, col, offset):
    lower = np.nonzero(np.tri(row, col, offset, dtype=bool))
    np.testing.assert_array_equal(rl.tril_indices(row, col, offset).numpy(), lower)
    upper = np.nonzero(~np.tri(row, col, offset - 1, dtype=bool))
    np.testing.assert_array_equal(rl.triu_indices(row, col, offset).numpy(), upper)


@pytest.mark.parametrize(("n", "m"), [(300, None), (200, 300), (300, 200), (1, 70_000), (0, 3), (3, 0)])
def test_eye(n, m):
    np.testing.assert_array_equal((rl.eye(n) if m is None else rl.eye(n, m)).numpy(), np.eye(n, m))


def test_elements_repeated_by_counts():
    counts = np.random.default_rng(0).integers(0, 5, 5000)
    found = rl.arange(5000).repeat_interleave(rl.from_numpy(counts))
    np.testing.assert_array_equal(found.numpy(), np.repeat(np.arange(5000), counts))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(
    "given", [{}, {"nan": 1.5}, {"posinf": 3.0, "neginf": -2.0}, {"nan": np.inf, "posinf": np.nan}]
)
def test_nan_to_num(dtype, given):
    x = block(dtype, (40, 500))
    x[3, 7], x[0, 1], x[39, 499] = np.nan, np.inf, -np.inf
    for array in (x, x.T, x[:, ::3]):
        found = rl.from_numpy(array).nan_to_num(**given).numpy()
        np.testing.assert_array_equal(found, np.nan_to_num(array, **{"nan": 0.0, **given}))


def test_gradients_that_others_hold_are_copied():
    x = rl.ones(300, 400, requires_grad=True)
    x.sum(0).backward(rl.arange(400.0))
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(np.arange(400.0, dtype="f4"), (300, 400)))
    assert x.grad.is_contiguous()
    x.grad = None
    x.t().sum(0).backward(rl.arange(300.0))
    np.testing.assert_array_equal(x.grad.numpy(), np.repeat(np.arange(300.0, dtype="f4")[:, None], 400, 1))


PARTS = {
    "windows apart": (lambda x: x.unfold(1, 5, 7), (60, 400)),
    "windows in a row": (lambda x: x.unfold(1, 8, 8), (60, 400)),
    "windows that overlap": (lambda x: x.unfold(1, 8, 3), (60, 400)),
    "diagonal": (lambda x: x.diagonal(3), (300, 400)),
    "slice": (lambda x: x[5:200:3, ::2], (300, 400)),
    "select": (lambda x: x[:, 7], (300, 400)),
}


@pytest.mark.parametrize("name", PARTS)
def test_gradients_of_parts(name):
    part, shape = PARTS[name]
    x = rl.zeros(*shape, requires_grad=True)
    places = part(rl.arange(x.numel()).reshape(shape)).numpy()
    weights = block("f8", places.shape).astype("f4")
    part(x).backward(rl.from_numpy(weights))
    wanted = np.bincount(places.reshape(-1), weights.reshape(-1), x.numel()).reshape(shape)
    np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-5, atol=1e-4)


def test_ranges():
    np.testing.assert_array_equal(rl.arange(5, 300_000, 3).numpy(), np.arange(5, 300_000, 3))
    np.testing.assert_array_equal(rl.arange(300_000, dtype=rl.float32).numpy(), np.arange(300_000, dtype=np.float32))
    line = rl.linspace(-3, 7, 200_001, dtype=rl.float64).numpy()
    np.testing.assert_allclose(line, np.linspace(-3, 7, 200_001), rtol=1e-12, atol=1e-12)
    assert line[0] == -3 and line[-1] == 7


@pytest.mark.parametrize("dtype", DTYPES)
def test_filled(dtype):
    for value in (0, 1):
        found = filled((3, 100_000), value, np.dtype(dtype))
        assert found.dtype == dtype and (found == value).all()


def test_operands_broadcast_in_place():
    x, column = block("f4", (200, 300)), block("f4", (200, 1))
    np.testing.assert_array_equal(rl.from_numpy(x.copy()).mul_(rl.from_numpy(column)).numpy(), x * column)
    with pytest.raises(RuntimeError, match="must match the size"):
        rl.from_numpy(x).mul_(rl.ones(100, 1))


def test_out_is_written_where_it_lies():
    x = rl.from_numpy(block("f4", (200, 300)))
    out = rl.empty(300, 200).T
    assert rl.add(x, x, out=out) is out
    np.testing.assert_array_equal(out.numpy(), x.numpy() * 2)


def test_results_past_the_caches(monkeypatch):
    from rushlight.kernels.elementwise import calls as elementwise

    monkeypatch.setattr(elementwise, "_STREAM_BYTES", 1 << 16)
    monkeypatch.setattr(elementwise, "_entries", {})
    x = rl.from_numpy(block("f4", (100_003,)))
    np.testing.assert_array_equal((x + x).numpy(), x.numpy() * 2)
    np.testing.assert_array_equal(x.clone().add_(x).numpy(), x.numpy() * 2)


def test_counts_and_sums_without_nan():
    x = block("f4", (3, 40, 50))
    x[0, ::3], x[1, 5:, ::2] = np.nan, 0
    given = rl.from_numpy(x)
    for dim in (None, 0, 1, 2, (0, 2)):
        np.testing.assert_array_equal(given.count_nonzero(dim).numpy(), np.count_nonzero(x, axis=dim))
        np.testing.assert_allclose(given.nansum(dim).numpy(), np.nansum(x.astype("f8"), axis=dim), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("name", ["hypot", "logaddexp"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_pairs_against_wider_numbers(name, dtype):
    random = np.random.default_rng(2)
    x, y = (random.standard_normal(200_000) * np.exp2(random.integers(-12, 13, 200_000)) for _ in range(2))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e38, -1e38, 1e-38]
    x[:100], y[:100] = np.repeat(special, 10), np.tile(special, 10)
    x, y = x.astype(dtype), y.astype(dtype)
    found = getattr(rl, name)(rl.from_numpy(x), rl.from_numpy(y)).numpy()
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x.astype(np.longdouble), y.astype(np.longdouble))
    np.testing.assert_allclose(found, wanted.astype(dtype), rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_glu(dim):
    x = block("f8", (20, 30, 40)) / 20
    first, second = np.split(x, 2, dim)
    given = rl.from_numpy(x).requires_grad_()
    found = F.glu(given, dim)
    np.testing.assert_allclose(found.detach().numpy(), first / (1 + np.exp(-second)), rtol=1e-12)
    found.sum().backward()
    gate = 1 / (1 + np.exp(-second))
    wanted = np.concatenate([gate, first * gate * (1 - gate)], dim)
    np.testing.assert_allclose(given.grad.numpy(), wanted, rtol=1e-10, atol=1e-12)


def test_outer_products():
    x, y = block("f4", (300,)), block("f4", (200,))
    np.testing.assert_array_equal(rl.outer(rl.from_numpy(x), rl.from_numpy(y)).numpy(), x[:, None] * y)
