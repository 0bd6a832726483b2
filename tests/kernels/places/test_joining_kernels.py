"""Joined tensors and copies under another shape, by kernels and by NumPy."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.elementwise import copies
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import joining
from rushlight.kernels.planning import array_lists
from rushlight.ops.join import APART, cat, stack
from rushlight.ops.view import reshape_copy

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")

SHAPES = [([(3, 4)], 0), ([(3, 4), (5, 4), (0, 4)], 0), ([(3, 4), (3, 1)], -1), ([(2, 3, 5), (2, 7, 5)], 1),
          ([(40, 300), (40, 17)], 1), ([(70_000,), (3,)], 0), ([(2, 3, 4, 5), (2, 3, 4, 5)], 1)]  # fmt: skip


@pytest.mark.parametrize(("shapes", "dim"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "float16", "complex128"])
def test_cat(shapes, dim, dtype):
    random = np.random.default_rng(0)
    arrays = [(random.standard_normal(shape) * 3).astype(dtype) for shape in shapes]
    turned = [np.asfortranarray(array) for array in arrays]
    for given in (arrays, turned, [array[::-1] for array in arrays]):
        found, expected = joining.cat(given, dim), cat.forward(given, dim)
        if found is NotImplemented:
            assert given is not arrays and given[0].size >= APART
            continue
        assert found.dtype == expected.dtype
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected)


def test_what_cat_leaves_to_numpy():
    plain = np.ones((2, 3), "float32")
    for other in (
        plain.astype("float64"),
        np.ones((2, 3, 1), "float32"),
        np.ones((3, 3), "float32"),
        np.ones(0, "float32"),
    ):
        assert joining.cat([plain, other], 1) is NotImplemented
    assert joining.cat([plain, plain], 2) is NotImplemented
    pixels = np.moveaxis(np.ones((2, 4, 5, 3), "float32"), -1, 1)
    assert joining.cat([pixels, pixels], 1) is NotImplemented


@pytest.mark.parametrize(
    "count, shape", [(1, (3, 4)), (7, ()), (300, (5,)), (40, (6, 50)), (3, (2, 3, 700)), (2, (0, 4)), (20, (30, 1))]
)
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_stack(count, shape, dtype):
    random = np.random.default_rng(0)
    arrays = [np.asarray(random.standard_normal(shape) * 3).astype(dtype) for _ in range(count)]
    for given in (arrays, [array.T.copy().T for array in arrays]):
        for dim in range(-len(shape) - 1, len(shape) + 1):
            found, expected = joining.stack(given, dim), stack.forward(given, dim)
            if found is NotImplemented:
                assert not expected.size
                continue
            assert found.dtype == expected.dtype and found.flags.c_contiguous
            np.testing.assert_array_equal(found, expected)
    assert joining.stack([arrays[0], np.ones((9, 9, 9))], 0) is NotImplemented


def _whole(array):
    """The array that a part looks into; itself where it is its own."""
    return array if array.base is None else array.base


@pytest.mark.parametrize("axis, inner", [(1, 4), (1, 24), (0, 40), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex128"])
def test_parts_of_larger_arrays(axis, inner, dtype):
    whole = (np.random.default_rng(2).standard_normal((40, 60, 30)) * 3).astype(dtype)
    take = [slice(None)] * 3
    parts = []
    for first in (0, 3, 11, 20):
        take[axis] = slice(first, first + inner % 7 + first)
        parts.append(whole[tuple(take)])
    for given in (
        parts,
        [part[::2] for part in parts],
        [part[:, ::2] for part in parts],
        [part[:, :, ::-1] for part in parts],
    ):
        for dim in (0, 1, 2):
            if any(part.shape[i] != given[0].shape[i] for part in given for i in range(3) if i != dim):
                assert joining.cat(given, dim) is NotImplemented
                continue
            found = joining.cat(given, dim)
            if found is NotImplemented:
                assert given[0].size >= APART
                found = cat.forward(given, dim)
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, np.concatenate(given, dim))


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("rows, columns", [(1, 7), (2, 40), (5, 13)])
def test_program(lanes, rows, columns):
    random = np.random.default_rng(1)
    parts = [random.standard_normal((3, length)).astype("f4") for length in (5, 0, 1, 20, 2, 0)]
    starts, out = np.cumsum([0, *(part.shape[1] for part in parts)]), np.full((3, 28), np.nan, "f4")
    program, chunks = joining.join_parts("f32", lanes), -(-28 // columns)
    wide = [np.concatenate([part, part], 1)[:, : part.shape[1]] for part in parts]
    for given in (parts, wide):
        pitches = np.array([part.strides[0] // 4 for part in given])
        out[...] = np.nan
        interpret(
            program, [_whole(part) for part in given], starts, pitches, out, 3, 28, len(parts), rows, columns, chunks
        )
        np.testing.assert_array_equal(out, np.concatenate(parts, 1))


def test_outlines_of_lists():
    outline, room = array_lists.outline_function(), array_lists.outline_room()
    part = np.ones((2, 3, 4), "f4")
    others = [
        np.ones((2, 5, 4), "f4"), part.astype("f8"), part.astype("i4"), part.astype(">f4"), part[:1], part[0], part[:, :, ::-1],
        part.transpose(2, 1, 0), np.ones((2, 3, 4, 1), "f4"), np.frombuffer(bytes(97), "f4", 24, 1).reshape(2, 3, 4), None,
    ]  # fmt: skip
    lists = [
        [],
        [part],
        [part] * 2,
        *[given for other in others for given in ([part, other, part], [other, part, part])],
    ]
    found = [outline(given, room) for given in lists]
    assert len(set(found)) == len(found) and all(each.__class__ is bytes for each in found)
    assert (
        outline([part.copy(), others[0].copy(), part], room)
        == outline([part, others[0], part.copy()], room)
        == found[3]
    )
    assert len(outline([part] * 1000, room)) == len(found[1])
    assert outline([part[:i] for i in (1, 2) * 1000], room) is None  # there is no room for so many
    for other in (np.float32(1), 1, "text", [part]):
        assert outline([part, other], room) is None
    assert outline((), room) == found[0] and outline((part, others[0], None), room) == outline(
        [part, others[0], None], room
    )
    assert outline({part.size: part}, room) is None


JOINS = {
    "cat": lambda m, xs: m.cat(xs),
    "cat last": lambda m, xs: m.cat(xs, -1),
    "cat tuple": lambda m, xs: m.cat(tuple(xs), 1),
    "cat named": lambda m, xs: m.cat(tensors=xs, dim=1),
    "cat axis": lambda m, xs: m.cat(xs, axis=1),
    "stack": lambda m, xs: m.stack(xs),
    "stack last": lambda m, xs: m.stack(xs, 2),
    "stack named": lambda m, xs: m.stack(tensors=xs, dim=-1),
    "vstack": lambda m, xs: m.vstack(xs),
    "far": lambda m, xs: m.cat(xs, 2),
    "stack far": lambda m, xs: m.stack(xs, 3),
    "nothing": lambda m, xs: m.cat([]),
    "stack of nothing": lambda m, xs: m.stack(()),
    "one tensor": lambda m, xs: m.cat(xs[0]),
    "mixed": lambda m, xs: m.cat([xs[0].double(), *xs[1:]]),
    "mixed stack": lambda m, xs: m.stack([xs[0].double(), *xs[1:]]),
    "odd shape": lambda m, xs: m.cat([*xs, xs[0][:, :3]]),
    "odd stack": lambda m, xs: m.stack([*xs, xs[0][:, :3]]),
    "with an empty vector": lambda m, xs: m.cat([m.empty(0), *xs]),
    "numbers": lambda m, xs: m.cat([*xs, 3]),
    "transposed": lambda m, xs: m.cat([x.t() for x in xs], 1),
    "into": lambda m, xs: m.cat(xs, out=m.empty(0)),
}


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("count, shape", [(3, (2, 4)), (40, (8, 30))])
@pytest.mark.parametrize("name", JOINS)
def test_against_pytorch(name, count, shape, tracked):
    torch = pytest.importorskip("torch")
    outcomes = []
    for m in (rl, torch):
        random = np.random.default_rng(2)
        xs = [m.tensor(random.standard_normal(shape).astype("f4"), requires_grad=tracked) for _ in range(count)]
        try:
            found = JOINS[name](m, xs)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            outcomes.append((type(error).__name__, str(error).split("\n")[0]))
            continue
        grads = []
        if tracked:
            (found * found).sum().backward()
            grads = [x.grad.numpy() for x in xs if x.grad is not None]
        outcomes.append(
            (tuple(found.shape), found.dtype.itemsize, type(found.grad_fn).__name__, found.detach().numpy(), *grads)
        )
    assert outcomes[0][:3] == outcomes[1][:3]
    for mine, wanted in zip(outcomes[0][3:], outcomes[1][3:], strict=True):
        np.testing.assert_array_equal(mine, wanted)


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_reshape_copy(dtype):
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(dtype).transpose(2, 0, 3, 1)
    found = copies.reshape_copy(array, (8, 15))
    if found is not NotImplemented:
        np.testing.assert_array_equal(found, reshape_copy.forward(array, (8, 15)))
        assert found.flags.c_contiguous and not np.shares_memory(found, array)
    else:
        assert dtype == "complex64"


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16", "bool"])
@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("length", [1, 15, 70, 40_000])
def test_stack_along_a_new_last_dimension(count, length, dtype):
    arrays = [(np.random.default_rng(i).standard_normal(length) * 9).astype(dtype) for i in range(count)]
    np.testing.assert_array_equal(joining.stack(arrays, -1), np.stack(arrays, -1))
    np.testing.assert_array_equal(joining.stack([a.reshape(length, 1) for a in arrays], 2)[:, 0], np.stack(arrays, -1))


@pytest.mark.parametrize("dim", [0, 1])
def test_large_parts_of_any_layout(dim):
    whole = np.random.default_rng(0).standard_normal((400, 400)).astype("float32")
    columns = [whole[:, i : i + 100] for i in range(0, 400, 100)]
    for parts in (columns, [part.T for part in columns], [columns[0], columns[1].copy()], [whole, whole.T]):
        for join, numpy in ((cat, np.concatenate), (stack, np.stack)):
            found = join.forward(parts, dim)
            np.testing.assert_array_equal(found, numpy(parts, dim))
            assert found.flags.c_contiguous
    assert (joining.cat(columns, dim) is NotImplemented) == (dim == 0) and joining.stack(columns, dim) is NotImplemented
    np.testing.assert_array_equal(stack.forward(columns, 2), np.stack(columns, 2))
    assert cat.forward([columns[0], columns[1].astype("float64")], dim).dtype == np.float64
    assert joining.cat([columns[0], columns[1].astype("float64")], dim) is NotImplemented
    assert joining.cat([columns[0], columns[1][1:, 1:]], dim) is NotImplemented


def test_zip_program_agrees_with_the_interpreter():
    parts = [np.arange(11, dtype="uint32") + 100 * p for p in range(3)]
    out = np.zeros((11, 3), "uint32")
    interpret(joining.zip_parts("u32", 4, 3), *parts, out, 11)
    np.testing.assert_array_equal(out, np.stack(parts, -1))
