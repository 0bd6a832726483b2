"""Kernels of masks and of positions for every dimension: the same elements as NumPy's."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import indexing, selection
from rushlight.kernels.planning.layout import Layout, layout_of

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")


@pytest.fixture(autouse=True)
def _few_positions_too(monkeypatch):
    monkeypatch.setattr(selection, "_WORTHWHILE", 1)


SHAPES = [(1,), (7,), (200_003,), (3, 5), (517, 333), (2, 3, 4), (40, 70, 33), (2, 3, 5, 7, 11), (70000, 1)]
draw = np.random.default_rng(0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
def test_positions_and_elements(shape, share):
    mask = draw.random(shape) < share
    found = selection.positions(mask)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.array(mask.nonzero()).reshape(found.shape))
    for dtype in ("f4", "f8", "i8"):
        x = (draw.standard_normal(shape) * 9).astype(dtype)
        assert selection.masked_select(x, mask).tobytes() == x[mask].tobytes()
        rows = selection.nonzero_rows(x)
        np.testing.assert_array_equal(rows, np.array(x.nonzero()).T)
        assert rows.strides == np.array(np.nonzero(x), np.int64).T.strides or not rows.size


@pytest.mark.parametrize("shape", SHAPES[3:])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_positions_for_every_dimension(shape, dtype):
    x = (draw.standard_normal(shape) * 9).astype(dtype)
    for picked in ((5,), (4, 3), (30_001,)):
        indices = tuple(draw.integers(-n, n, picked) for n in shape)
        assert indexing.index(x, indices).tobytes() == x[indices].tobytes()
        found = selection.flat_places(indices, shape)
        np.testing.assert_array_equal(found, np.ravel_multi_index(indices, shape, "wrap"))


def test_what_is_declined():
    x, mask = draw.standard_normal((8, 9)).astype("f4"), draw.random((8, 9)) < 0.5
    assert selection.positions(mask.T) is None and selection.positions(mask.astype("u1")) is None
    assert selection.masked_select(x.T, mask.T) is NotImplemented
    assert selection.masked_select(x, mask[:1]) is NotImplemented
    assert selection.masked_select(x.astype("f2"), mask) is NotImplemented
    rows = np.array([0, 8])
    assert indexing.index(x, (rows, rows)) is NotImplemented  # row 8 does not exist: NumPy says so
    assert selection.flat_places((rows, rows), x.shape) is NotImplemented
    assert selection.flat_places((rows[:1] - 9, rows[:1]), x.shape) is NotImplemented
    x, rows = layout_of(x), layout_of(rows)
    assert selection.taken(x, (rows, None)) is None and selection.taken(x, (Layout((1,), rows.dtype), rows)) is None


def test_programs_agree_with_the_interpreter():
    mask, x = draw.random((5, 7)) < 0.4, draw.standard_normal((5, 7)).astype("f4")
    total = int(mask.sum())
    out = [np.zeros(total, np.int64) for _ in range(2)]
    interpret(selection.positions_program(2, 8), mask.reshape(-1), np.zeros(1, np.int64), 35, *out, 7)
    np.testing.assert_array_equal(out, mask.nonzero())
    values = np.zeros(total, np.uint32)
    interpret(selection.selected_program("u32", 16), mask.reshape(-1), np.zeros(1, np.int64), 35,
              x.reshape(-1).view(np.uint32), values)  # fmt: skip
    np.testing.assert_array_equal(values.view("f4"), x[mask])


def test_masks_as_keys():
    x, mask = rl.randn(80, 90), rl.rand(80, 90) < 0.5
    expected = x.numpy().copy()
    np.testing.assert_array_equal(x[mask].numpy(), expected[mask.numpy()])
    version = x._version
    x[mask] = 2
    expected[mask.numpy()] = 2
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == version + 1
    tracked = rl.randn(80, 90, requires_grad=True)
    tracked[mask].sum().backward()
    np.testing.assert_array_equal(tracked.grad.numpy(), mask.numpy().astype("f4"))
    whole = rl.zeros(80, 90, requires_grad=True) * 1
    whole[mask] = 3.0
    assert type(whole.grad_fn).__name__ == "IndexPutBackward0"


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i4", "c8"])
@pytest.mark.parametrize("shape", [(7,), (1000,), (70, 1001), (200_001,)])
def test_masked_scatter(shape, dtype):
    random = np.random.default_rng(5)
    x, mask = random.integers(0, 99, shape).astype(dtype), random.random(shape) < 0.4
    mask.reshape(-1)[:2] = True, False
    source = random.integers(100, 999, (2, int(mask.sum()))).astype(dtype)
    wanted = x.copy()
    wanted[mask] = source.reshape(-1)[: mask.sum()]
    np.testing.assert_array_equal(selection.masked_scatter(x, mask, source), wanted)
    turned = np.asfortranarray(source)
    np.testing.assert_array_equal(selection.masked_scatter(x, mask, turned), wanted)
    assert selection.masked_scatter_(x, mask, source[0]) is x  # just enough
    np.testing.assert_array_equal(x, wanted)


def test_masked_scatter_declines():
    x, mask = np.zeros(1000, "f4"), np.ones(1000, np.bool_)
    for declined in (
        selection.masked_scatter_(x, mask, np.ones(999, "f4")),  # too few
        selection.masked_scatter_(x, mask, np.ones(1000, "f8")),
        selection.masked_scatter_(x, mask, x[::-1]),
        selection.masked_scatter_(x[::2], mask[::2], np.ones(1000, "f4")),
        selection.masked_scatter_(x, ~mask, np.ones(1000, "f4")),
        selection.masked_scatter_(x, mask[:1], np.ones(1000, "f4")),
    ):
        assert declined is NotImplemented
    assert not x.any()


def test_scattered_program_agrees_with_the_interpreter():
    mask = np.array([True, False, True, True, False])
    out, starts = np.arange(5, dtype=np.uint32), np.array([0])
    interpret(selection.scattered_program("u32"), mask, starts, 5, np.array([7, 8, 9], np.uint32), 2, out)
    np.testing.assert_array_equal(out, [7, 1, 8, 9, 4])
