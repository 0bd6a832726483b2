"""Kernels of indexing: the same elements and errors as NumPy's forms of the operations."""

import numpy as np
import pytest

from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.places import indexing, indexing_programs, scattering, selection, writing
from rushlight.ops import embedding as embedding_ops
from rushlight.ops import gather as gather_ops
from rushlight.ops import index as index_ops
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
DTYPES = ("f4", "f8", "i8", "f2", "?")


@pytest.fixture(autouse=True)
def _small_arrays_too(monkeypatch):
    monkeypatch.setattr(indexing, "WORTHWHILE", 1)
    monkeypatch.setattr(writing, "WORTHWHILE", 1)


def numbers(shape, dtype="f4", seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 9).astype(dtype)


def positions(length, shape, dtype="i8", seed=1):
    return np.random.default_rng(seed).integers(0, length, shape).astype(dtype)


def same(found, expected):
    assert found is not NotImplemented
    assert (found.shape, found.dtype, found.strides) == (expected.shape, expected.dtype, expected.strides)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("table", [(10, 3), (7, 64), (300, 130)])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2000,), ()])
def test_embedding(dtype, table, shape):
    arguments = numbers(table, dtype), positions(table[0], shape), -1, False, False
    same(indexing.embedding(*arguments), embedding_ops.embedding.forward(*arguments))


@pytest.mark.parametrize("wrong", [-1, 10, 1 << 40])
def test_embedding_refuses_rows_that_do_not_exist(wrong):
    with pytest.raises(IndexError, match=r"^index out of range in self"):
        indexing.embedding(numbers((10, 3)), np.array([0, wrong]), -1, False, False)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("rows, width", [(10, 3), (10, 1), (7, 64), (300, 130)])
@pytest.mark.parametrize("padding", [-1, 2])
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
def test_embedding_gradient(dtype, rows, width, padding, index_dtype):
    for count in (1, 40, 1000):
        index, grad = positions(rows, count, index_dtype), numbers((count, width), dtype)
        found = writing.embedding_gradient(grad, index, rows, padding, False)
        expected = np.zeros((rows, width))
        np.add.at(expected, index[index != padding], grad[index != padding].astype("f8"))
        assert found.dtype == grad.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4 if dtype == "f4" else 1e-12)


def test_embedding_gradient_does_not_write_outside():
    index = np.array([0, 5])
    assert writing.embedding_gradient(numbers((2, 3)), index, 5, -1, False) is NotImplemented


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_index_select(dtype, axis):
    source = numbers((9, 11, 20), dtype)
    for count in (1, 30):
        index = positions(source.shape[axis], count)
        same(indexing.index_select(source, axis, index), index_ops.index_select.forward(source, axis, index))


def test_small_results_are_left_to_numpy(monkeypatch):
    monkeypatch.setattr(indexing, "WORTHWHILE", 100)
    assert indexing.embedding(numbers((10, 3)), positions(10, 33), -1, False, False) is NotImplemented
    assert indexing.embedding(numbers((10, 3)), positions(10, 34), -1, False, False).shape == (34, 3)
    monkeypatch.setattr(indexing, "WORTHWHILE", 1)
    assert indexing.embedding(numbers((10, 3)), positions(10, 0), -1, False, False) is NotImplemented


def test_index_select_refuses():
    with pytest.raises(IndexError, match=r"^index out of range in self"):
        indexing.index_select(numbers((9, 11)), 0, np.array([9]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_index_add(dtype, axis):
    target, index = numbers((9, 11, 70), dtype), positions(5, 40)
    shape = list(target.shape)
    shape[axis] = 40
    source = numbers(shape, dtype, 3)
    expected = target.astype("f8")
    np.add.at(np.moveaxis(expected, axis, 0), index, np.moveaxis(source.astype("f8"), axis, 0))
    kept = target.copy()
    found = writing.index_add(target, axis, index, source, 1)
    assert (target == kept).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
    assert writing.index_add_(target, axis, index, source, 1) is not NotImplemented
    assert target.tobytes() == found.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 13, 40])
def test_gather(dtype, axis, count):
    source = numbers((9, 11, 20), dtype)
    shape = list(source.shape)
    shape[axis] = count
    index = positions(source.shape[axis], shape)
    same(indexing.gather(source, axis, index, False), gather_ops.gather.forward(source, axis, index, False))


@pytest.mark.parametrize("wrong", [-1, 11, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("place", [0, 7, -1])
def test_gather_refuses(wrong, place):
    index = np.zeros((20, 11), np.int64)
    index.reshape(-1)[place] = wrong
    with pytest.raises(RuntimeError, match=f"^index {wrong} is out of bounds for dimension 1 with size 11"):
        indexing.gather(numbers((20, 11)), 1, index, False)


def test_x_of_an_array_and_its_gradient():
    source = numbers((30, 5, 8))
    index = np.random.default_rng(0).integers(-30, 30, (6, 7))
    same(indexing.index(source, (index, None)), index_ops.index.forward(source, (index, None)))
    assert indexing.index(source, (positions(5, 3), None, positions(5, 3))) is NotImplemented  # dimensions apart
    assert indexing.index(source, (np.array([30]),)) is NotImplemented
    found, values = np.zeros_like(source), numbers((6, 7, 5, 8))
    assert writing.index_put_arrays_(found, (index,), values, True) is not NotImplemented
    expected = np.zeros(source.shape)
    np.add.at(expected, index, values)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_registered_operations_exist():
    assert {"embedding", "embedding_gradient", "index_select", "index_add_", "gather", "index"} <= set(TABLE)


def test_threads_change_nothing():
    index, grad = positions(50, 30_000), numbers((30_000, 96))
    found = []
    for threads in (1, 2):
        set_num_threads(threads)
        found.append(writing.embedding_gradient(grad, index, 50, -1, False).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_programs_of_all_widths(lanes):
    source, index = numbers((2, 5, 19)), positions(5, 6)
    out = np.empty((2, 6, 19), np.float32)
    interpret(indexing_programs.copy_rows("f32", "i64", lanes), source, index, out, 2, 5, 19, 6)
    assert (out == source[:, index]).all()
    target = np.empty((2, 5, 19), np.float32)
    expected, listed = np.zeros((2, 5, 19), np.float32), np.empty(3 * indexing_programs.LISTED, np.int64)
    np.add.at(expected, (slice(None), index), out)
    for vectors, parts, blocks in ((1, 1, 9), (2, 3, 1), (4, 5, 2), (1, 2, 1)):
        columns = blocks * vectors * lanes
        program, sizes = indexing_programs.add_rows("f32", "i64", lanes, vectors), (2, 5, 19, 6, parts, columns, 1, -1)
        interpret(program, target, index, out, None, None, listed, *sizes, workers=3)
        np.testing.assert_allclose(target, expected, rtol=1e-6)
    wide, outside = positions(5, (2, 6, 19)), np.empty(3, np.bool_)
    interpret(indexing_programs.pick("f32", "i64", lanes, False), source, wide, out, outside, 2, 5, 19, 6, 3, 19)
    assert (out == np.take_along_axis(source, wide, 1)).all() and not outside.any()
    flat, wide = source.reshape(10, 19), positions(19, (10, 7))
    wide[3, 6] = 19
    out = np.zeros((10, 7), np.float32)
    interpret(indexing_programs.pick("f32", "i64", lanes, True), flat, wide, out, outside, 10, 19, 1, 7, 3, 7)
    assert outside.tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("index_dtype", ["i4", "i8"])
@pytest.mark.parametrize(
    "shape, dim", [((9,), 0), ((6, 5), 1), ((300, 7), 1), ((40, 3), 0), ((50, 130), 0), ((3, 8, 70), 1)]
)
def test_scatter(shape, dim, dtype, index_dtype):
    for count in (1, 8, 60):
        picked = (*shape[:dim], count, *shape[dim + 1 :])
        index, target = positions(shape[dim], picked, index_dtype), numbers(shape, dtype)
        source = np.rint(numbers(picked, dtype, 2))  # sums are exact in any order
        target = np.rint(target)
        same(
            scattering.scatter_add(target, dim, index, source),
            gather_ops.scatter_add.forward(target, dim, index, source),
        )
        same(
            scattering.scatter_value(target, dim, index, 2.5), gather_ops.scatter_value.forward(target, dim, index, 2.5)
        )
        if count <= shape[dim]:
            distinct = np.argsort(numbers(picked[:dim] + shape[dim:], "f4"), dim).astype(index_dtype)
            distinct = np.ascontiguousarray(np.take(distinct, range(count), dim))
            same(scattering.scatter_src(target, dim, distinct, source),
                 gather_ops.scatter_src.forward(target, dim, distinct, source))  # fmt: skip


@pytest.mark.parametrize("shape", [(30, 40), (30, 1)])
@pytest.mark.parametrize("wrong", [-1, 30])
def test_scatter_refuses_positions_that_do_not_exist(shape, wrong):
    index = positions(30, shape)
    index[7, 0] = wrong
    with pytest.raises(RuntimeError, match=f"^index {wrong} is out of bounds for dimension 0 with size 30"):
        scattering.scatter_add(numbers(shape), 0, index, numbers(shape))


def test_scatter_declines():
    target, index = numbers((30, 40)), positions(30, (30, 40))
    assert scattering.scatter_add(target, 0, index[:, :20], numbers((30, 20))) is NotImplemented
    assert scattering.scatter_add(target.astype("i8"), 0, index, index) is NotImplemented
    assert scattering.scatter_value_(target.astype("i8"), 0, index, 1.5) is NotImplemented
    assert scattering.scatter_value_(target.T, 0, index, 1.5) is NotImplemented


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("mode", ["set", "add", "fill"])
def test_scatter_programs_of_all_widths(mode, lanes):
    for width, columns in ((19, 8), (19, 32), (1, None)):
        index, source = positions(5, (2, 6, width)), numbers((2, 6, width))
        given = source[:1, 0, 0].copy() if mode == "fill" else source
        target, expected = numbers((2, 5, width), seed=3), numbers((2, 5, width), seed=3)
        for wrong in (False, True):
            if wrong:
                index[1, 2, 0] = 5
            for place in np.ndindex(*index.shape):
                o, i, w = place
                skipped = wrong and (o, i) == (1, 2) and w < (columns or 1)
                if (wrong and columns is None and o == 1) or skipped:
                    continue  # the number's line in its strip, or the numbers looked at together
                value = given[0] if mode == "fill" else source[place]
                expected[o, index[place], w] = value + (expected[o, index[place], w] if mode == "add" else 0)
            strips = -(-width // columns) if columns else 1
            outside = np.zeros(2 * strips, np.bool_)
            if columns:
                program, sizes = indexing_programs.scatter_lines("f32", "i64", lanes, mode), (2, 5, width, 6, columns)
            else:
                program, sizes = indexing_programs.scatter_numbers("f32", "i64", lanes, mode), (2, 5, 1, 6)
            interpret(program, target, index, given, outside, *sizes)
            np.testing.assert_allclose(target, expected, rtol=1e-6)
            assert outside.any() == wrong


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "f2", "?", "c8"])
@pytest.mark.parametrize(
    "shape, dim",
    [((9,), 0), ((6, 5), 1), ((300, 7), 1), ((40, 3), 0), ((500, 130), 0), ((3, 8, 700), 1), ((3, 9000), 0)],
)
def test_slices_written(shape, dim, dtype):
    for count in (1, 8, 60):
        index, target = positions(shape[dim], (count,)), numbers(shape, dtype)
        source = numbers((*shape[:dim], count, *shape[dim + 1 :]), dtype, seed=5)
        same(writing.index_copy(target, dim, index, source), index_ops.index_copy.forward(target, dim, index, source))
        index[0] = -1
        found = writing.index_fill(target, dim, index, 1e300 if dtype == "f8" else 2)
        if dtype[0] in "fi":
            same(found, index_ops.index_fill.forward(target, dim, index, 1e300 if dtype == "f8" else 2))
        else:
            assert found is NotImplemented


def test_written_slices_leave_refusals_to_numpy():
    target, index = numbers((6, 40)), positions(6, (4,))
    assert writing.index_copy_(target, 0, index + 6, numbers((4, 40))) is NotImplemented
    assert writing.index_copy_(target, 0, index, target[:4]) is NotImplemented
    assert writing.index_fill_(target, 0, index - 12, 1) is NotImplemented
    assert writing.index_fill_(target, 0, index, None) is NotImplemented
    assert writing.index_add_(target, 0, index, target[1:5], 1) is NotImplemented
    with pytest.raises(RuntimeError, match="c10::Half without overflow"):
        writing.index_fill(numbers((6, 40), "f2"), 0, index, 1e30)


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("mode", ["set", "fill"])
def test_programs_that_write_slices(mode, lanes):
    index, source, listed = positions(5, 9), numbers((2, 9, 19)), np.empty(3 * indexing_programs.LISTED, np.int64)
    given = source[:1, 0, 0].copy() if mode == "fill" else source
    expected = numbers((2, 5, 19), seed=3)
    for i, number in enumerate(index):
        expected[:, number] = given[0] if mode == "fill" else source[:, i]
    for parts, columns in ((1, 4 * lanes), (3, 2 * lanes)):
        target = numbers((2, 5, 19), seed=3)
        program = indexing_programs.add_rows("f32", "i64", lanes, 2, mode)
        interpret(program, target, index, given, None, None, listed, 2, 5, 19, 9, parts, columns, 0, -1, workers=3)
        np.testing.assert_array_equal(target, expected)
    expected = expected[:, :, 0]
    program = indexing_programs.add_numbers("f32", "i64", lanes, mode)
    for parts in (1, 3):
        target = numbers((2, 5, 19), seed=3)[:, :, 0].copy()
        interpret(
            program,
            target,
            index,
            source[:, :, 0].copy() if mode == "set" else given,
            listed,
            2,
            5,
            9,
            parts,
            workers=3,
        )
        np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("outer", [1, 3])
@pytest.mark.parametrize("mode", ["set", "add", "fill"])
def test_the_last_of_many_numbers_for_one_place_is_written(mode, outer):
    index, values = positions(300, 50_001), numbers((outer, 50_001))
    target, expected = numbers((outer, 300), seed=1), numbers((outer, 300), seed=1)
    write = {"set": writing.index_copy_, "add": writing.index_add_, "fill": writing.index_fill_}[mode]
    numbers_and_options = {"set": (values,), "add": (values, 1), "fill": (values.item(0),)}[mode]
    assert write(target, 1, index, *numbers_and_options) is target
    for line, value in zip(expected, values):
        if mode == "add":
            np.add.at(line, index, value)  # in order, as the kernel adds
        else:
            line[index] = values[0, 0] if mode == "fill" else value
    np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, count", [((500,), 9000), ((3, 40), 7), ((2, 300), 5000)])
def test_single_numbers_out_of_few_lines(shape, count, dtype):
    source, index = numbers(shape, dtype), positions(shape[-1], count)
    same(indexing.index_select(source, -1, index), index_ops.index_select.forward(source, -1, index))
    few, outer = index[:50], source.size // shape[-1]
    out = np.empty((outer, few.size), np.float32)
    program = indexing_programs.copy_numbers("f32", "i64", 16)
    interpret(program, source.astype("f4"), few, out, outer, shape[-1], few.size)
    np.testing.assert_array_equal(out, source.astype("f4").reshape(outer, -1)[:, few])


KEYS = [  # shape, first indexed dimension, how many are indexed
    ((9000,), 0, 1),
    ((60, 50), 0, 2),
    ((60, 50), 1, 1),
    ((20, 30, 40), 0, 2),
    ((20, 30, 40), 1, 2),
    ((5, 20, 3, 7), 1, 2),
]


@pytest.mark.parametrize(("shape", "first", "count"), KEYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_for_some_dimensions(shape, first, count, dtype):
    x, random = numbers(shape, dtype), np.random.default_rng(2)
    for picked in ((1,), (4, 3), (700,)):
        given = [random.integers(-n, n, picked) for n in shape[first : first + count]]
        indices, key = (*(None,) * first, *given), (*(slice(None),) * first, *given)
        expected = index_ops.index.forward(x, indices)
        same(indexing.index(x, indices), expected)
        if dtype == "f2":
            continue
        # Repeated positions get the same value, so that any order of writing is right.
        places = np.ravel_multi_index(given, shape[first : first + count], "wrap") % 50
        rest = len(shape) - first - count
        values = np.broadcast_to(places.reshape(*picked, *(1,) * rest), expected.shape).astype(dtype)
        for value in (values, np.array(3, dtype), np.ones_like(values[:1])):
            found, wanted = x.copy(), x.copy()
            assert writing.index_put_arrays_(found, indices, value, False) is not NotImplemented
            wanted[key] = value
            same(found, wanted)
        if dtype in ("f4", "f8"):
            found, wanted = np.zeros_like(x), np.zeros_like(x)
            assert writing.index_put_arrays_(found, indices, values, True) is not NotImplemented
            np.add.at(wanted, key, values)
            np.testing.assert_array_equal(found, wanted)  # whole numbers


def test_what_writing_at_positions_declines():
    x, rows = np.zeros((80, 90), "f4"), np.array([0, 1])
    value = np.ones((), "f4")
    for indices in ((np.array([80]),), (np.array([-81]),), (rows.astype("i2"),)):
        assert writing.index_put_arrays_(x, indices, value, False) is NotImplemented
    assert writing.index_put_arrays_(x.T, (rows,), value, False) is NotImplemented
    assert writing.index_put_arrays_(x, (rows,), value.astype("f8"), False) is NotImplemented
    assert not x.any()


def test_places_program_agrees_with_the_interpreter():
    rows, columns = np.array([0, -1, 2, 1, -3]), np.array([4, 0, -5, 1, 2])
    out, outside = np.zeros(5, np.int64), np.zeros(2, np.bool_)
    interpret(selection.places_program(2, 4), out, outside, rows, columns, 3, 5, 5, 2)
    np.testing.assert_array_equal(out, np.ravel_multi_index((rows, columns), (3, 5), "wrap"))
    assert not outside.any()
    interpret(selection.places_program(2, 4), out, outside, rows, columns + 4, 3, 5, 5, 2)
    assert outside.any()


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_flat_positions(dtype):
    x, random = numbers((90, 110), dtype), np.random.default_rng(4)
    index = random.integers(-x.size, x.size, (30, 40))
    same(indexing.take(x, index), x.reshape(-1)[index])
    assert indexing.take(x, index + x.size) is NotImplemented
    assert indexing.take(x.T, index) is NotImplemented
    different = random.permutation(x.size)[: index.size].reshape(index.shape)
    source = numbers(index.shape, dtype, 5)
    found, expected = x.copy(), x.copy()
    assert writing.put_(found, different, source, False) is not NotImplemented
    expected.reshape(-1)[different] = source
    same(found, expected)
    assert writing.put_(found, different, source[:1], False) is NotImplemented
    if dtype != "i8":
        added, wanted = np.zeros_like(x), np.zeros_like(x)
        whole = source.round()
        assert writing.put_(added, index, whole, True) is not NotImplemented
        np.add.at(wanted.reshape(-1), index, whole)
        np.testing.assert_array_equal(added, wanted)


@pytest.mark.parametrize("dtype", ["i8", "i4", "f4"])
def test_numbers_written_by_position(dtype):
    x, random = numbers((300, 70), dtype), np.random.default_rng(6)
    index = random.integers(0, 70, (300, 4))
    found, expected = x.copy(), x.copy()
    assert scattering.scatter_value_(found, 1, index, 7) is not NotImplemented
    np.put_along_axis(expected, index, 7, 1)
    same(found, expected)
    rows = np.array([5, -3, 200])
    assert writing.index_fill_(found, 0, rows, 9) is not NotImplemented
    expected[rows] = 9
    same(found, expected)
    if dtype == "i4":
        assert scattering.scatter_value_(found, 1, index, 1 << 31) is NotImplemented
    if dtype != "f4":
        assert scattering.scatter_value_(found, 1, index, 1.5) is NotImplemented


@pytest.mark.parametrize("low", [0, -60])
@pytest.mark.parametrize("position", [np.int32, np.int64])
def test_positions_of_both_sizes(position, low):
    random = np.random.default_rng(3)
    x, values = random.random((60, 200)).astype("f4"), random.random((180, 200)).astype("f4")
    index = random.integers(low, 60, 180).astype(position)
    np.testing.assert_array_equal(indexing.index(x, (index,)), x[index])
    columns = index[::2]
    np.testing.assert_array_equal(indexing.index(x, (None, columns)), x[:, columns])
    pair = index, index[::-1]
    np.testing.assert_array_equal(
        indexing.index(x, (np.tile(pair[0], 30), np.repeat(pair[1], 30))),
        x[np.tile(pair[0], 30), np.repeat(pair[1], 30)],
    )
    added, wanted = writing.index_put_arrays(x, (index,), values, True), x.copy()
    np.add.at(wanted, index, values)
    np.testing.assert_allclose(added, wanted, rtol=1e-5)


@pytest.mark.parametrize("position", [np.int32, np.int64])
def test_positions_that_do_not_exist_are_left_to_others(position):
    x = np.zeros((60, 100), np.float32)
    for wrong in (60, -61):
        index = np.zeros(80, position)
        index[7] = wrong
        assert indexing.index(x, (index,)) is NotImplemented
        assert writing.index_put_arrays(x, (index,), x[:1], True) is NotImplemented
