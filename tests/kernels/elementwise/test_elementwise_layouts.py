"""Elementwise kernels on any layout and dtype: broadcasting, strides, casts, copies, out=, threads, streaming stores."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight
from rushlight.base.arrays import address_of, in_result_order, owner_of
from rushlight.base.device import contiguous_format
from rushlight.base.dtypes import float16, float32, int64
from rushlight.kernels.compiler.lowering import lowered
from rushlight.kernels.elementwise import (
    calls as elementwise,
)
from rushlight.kernels.elementwise import (
    copies,
)
from rushlight.kernels.elementwise import (
    plan as elementwise_plan,
)
from rushlight.kernels.elementwise import (
    programs as elementwise_programs,
)
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(d) for d in ("f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")] + [BFLOAT16]


def values(shape, dtype=np.float32, seed=0):
    random = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "fV":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)


LAYOUTS = {
    "row beside matrix": lambda: (values((33, 50)), values(50)),
    "column beside matrix": lambda: (values((33, 50)), values((33, 1))),
    "row beside column": lambda: (values((1, 50)), values((33, 1))),
    "transposed": lambda: (values((33, 50)), values((50, 33)).T),
    "both transposed": lambda: (values((50, 33)).T, values((50, 33), seed=1).T),
    "every third column": lambda: (values((20, 120))[:, ::3], values((20, 40))),
    "every second and fourth number, to the last": lambda: (values((7, 90))[:, 1::2], values(180)[3::4]),
    "every third of one row, to the last": lambda: (values(3 * 67)[2::3], values(67)),
    "backwards": lambda: (values((20, 40))[::-1, ::-1], values((20, 40))),
    "permuted": lambda: (values((4, 5, 6, 7)).transpose(0, 3, 1, 2), values((4, 7, 5, 6))),
    "channels": lambda: (values((4, 7, 5, 6)), values((7, 1, 1))),
    "expanded": lambda: (np.broadcast_to(values((5, 1)), (5, 9)), np.broadcast_to(values((1, 9)), (5, 9))),
    "inner of length one": lambda: (values((40, 1)), values((40, 1)).T.reshape(40, 1)),
    "many small matrices": lambda: (values((300, 3, 2)).transpose(0, 2, 1), values((300, 2, 3))),
    "five dimensions": lambda: (values((2, 3, 4, 5, 6))[:, ::2, :, 1:4], values((4, 3, 1))),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("threads", [1, 2])
def test_layouts(name, threads):
    a, b = LAYOUTS[name]()
    before = rushlight.get_num_threads()
    rushlight.set_num_threads(threads)
    try:
        got = elementwise.run(TABLE["mul"], [a, b])
    finally:
        rushlight.set_num_threads(before)
    np.testing.assert_array_equal(got, a * b)
    assert got.strides == in_result_order(a * b, (a, b)).strides


def steps_of(array):
    """The strides along dimensions of more than one element: the others mean nothing."""
    return [step for length, step in zip(array.shape, array.strides) if length > 1]


def memory_from(array):
    """The memory behind an array from its first element on, as a flat array."""
    owner = owner_of(array)
    return owner.ravel()[(address_of(array) - address_of(owner)) // array.itemsize :]


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - {"backwards"}))
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_strided_program_agrees_with_interpreter(name, lanes):
    a, b = LAYOUTS[name]()
    if len(a) == len(b) == 300:
        a, b = a[:3], b[:3]
    elementwise.run(TABLE["mul"], [a, b])
    number = np.dtype(np.float32).num
    entry = elementwise._entries[TABLE["mul"], None, None, (), number, number]
    plan = elementwise_plan.make([a, b])
    program = lowered(elementwise_programs.strided(entry.signature, plan.kinds, lanes))
    out = plan.empty(np.float32)
    interpret(program, memory_from(a), memory_from(b), memory_from(out), *plan.arguments)
    np.testing.assert_array_equal(out, a * b)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_layout(data):
    rank = data.draw(st.integers(1, 5))
    shape = data.draw(st.lists(st.integers(1, 7), min_size=rank, max_size=rank))
    arrays = []
    for seed in range(2):
        lengths = [data.draw(st.sampled_from([n, n, 1])) for n in shape][data.draw(st.integers(0, rank - 1)) * seed :]
        order = data.draw(st.permutations(range(len(lengths))))
        steps = [data.draw(st.sampled_from([1, 1, 2, -1])) for _ in lengths]
        base = values([lengths[axis] * abs(steps[axis]) for axis in order], seed=seed)
        array = base.transpose(np.argsort(order))
        arrays.append(array[tuple(slice(None, None, step) for step in steps)])
    got = elementwise.run(TABLE["add"], arrays, (1,))
    expected = in_result_order(arrays[0] + arrays[1], arrays)
    np.testing.assert_array_equal(got, expected)
    assert steps_of(got) == steps_of(expected)


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_casts(source, target):
    array = values((9, 37), source)
    array[0, :4] = [0, 1, 1, 0] if source.kind == "b" else [0, 1, 77, 3]
    if target.kind == "u" and source.kind in "fV":
        array = abs(array)
    got = elementwise.copy(array, target)
    assert got.dtype == target
    np.testing.assert_array_equal(got, array.astype(target))
    np.testing.assert_array_equal(elementwise.copy(array.T, target), array.T.astype(target))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_transposed_and_strided_copies(dtype):
    array = values((70, 130), dtype)
    for view in (array.T, array[::2, 1::3], array[:, 5], array.reshape(7, 10, 130).transpose(2, 0, 1)):
        got = elementwise.copy(view)
        assert got.flags.c_contiguous
        np.testing.assert_array_equal(got, view)
        target = np.zeros((*view.shape[:-1], 2 * view.shape[-1]), dtype)[..., ::2]
        elementwise.copy(view, out=target)
        np.testing.assert_array_equal(target, view)


@pytest.mark.parametrize("dtype", [*DTYPES, np.dtype(np.complex64)], ids=str)
@pytest.mark.parametrize("step", [2, 3, 4])
def test_copies_of_near_elements(dtype, step):
    for count in (1, 15, 16, 17, 63, 64, 65, 130):
        array = values(step * count, dtype)
        np.testing.assert_array_equal(elementwise.copy(array[step - 1 :: step]), array[step - 1 :: step])


def test_copies_keep_every_bit():
    patterns = np.arange(1 << 16, dtype=np.uint16)
    for dtype in (np.dtype(np.float16), BFLOAT16):
        np.testing.assert_array_equal(elementwise.copy(patterns.view(dtype)).view(np.uint16), patterns)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != np.uint64], ids=str)
def test_fills(dtype):
    whole = np.zeros((6, 50), dtype)
    elementwise.copy(np.array(1, dtype), out=whole[:, 3:20])
    assert (whole[:, 3:20] == np.array(1, dtype)).all() and not whole[:, :3].any() and not whole[:, 20:].any()


@pytest.mark.parametrize("dtype", DTYPES[:-2], ids=str)
@pytest.mark.parametrize("name", ["add", "mul", "sub", "maximum", "lt", "eq", "where_select"])
def test_dtypes(name, dtype):
    a, b = values(203, dtype), values(203, dtype, seed=1)
    op = TABLE[name]
    arrays = [a > b, a, b] if name == "where_select" else [a, b]
    options = (1,) if name in ("add", "sub") else ()
    got = elementwise.run(op, arrays, options)
    expected = op.numpy(*arrays, *options)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["add", "mul", "lt"])
def test_bfloat16(name):
    a, b = values(203, BFLOAT16), values(203, BFLOAT16, seed=1)
    options = (1,) if name == "add" else ()
    np.testing.assert_array_equal(elementwise.run(TABLE[name], [a, b], options), TABLE[name].numpy(a, b, *options))


def test_half_precision_is_computed_in_single():
    a = values(1000, np.float16)
    expected = np.exp(a.astype(np.float64)).astype(np.float16)
    got = elementwise.run(TABLE["exp"], [a])
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=1e-3)


def test_mixed_dtypes_meet_in_the_given_one():
    a, mask = values((8, 40)), values((8, 40), bool)
    np.testing.assert_array_equal(elementwise.run(TABLE["mul"], [a, mask], dtype=a.dtype), a * mask)
    integers = values((8, 40), np.int16)
    np.testing.assert_array_equal(elementwise.run(TABLE["mul"], [integers, a], dtype=a.dtype), a * integers)


def test_numbers_are_parameters():
    a = values(100)
    for number in (0.0, -0.0, 2.5, np.inf):
        got = elementwise.run(TABLE["mul"], [a, np.array(number, np.float32)])
        np.testing.assert_array_equal(got, a * np.float32(number))
        assert np.array_equal(np.signbit(got), np.signbit(a * np.float32(number)))


def test_options_are_parameters():
    a, b = values(100), values(100, seed=1)
    entries = set()
    for alpha in (0.5, 1.5, -2.0):
        got = elementwise.run(TABLE["add"], [a, b], (alpha,))
        np.testing.assert_array_equal(got, a + b * np.float32(alpha))
        number = a.dtype.num
        entries.add(elementwise._entries[TABLE["add"], None, None, (alpha,), number, number].key)
    assert len(entries) == 1


@pytest.mark.parametrize("exponent", [0.5, 2.0, -1.0, 3.0, -0.5, 1.7])
def test_powers(exponent):
    a = abs(values(100)) + 0.1
    got = elementwise.run(TABLE["pow"], [a, np.array(exponent, np.float32)])
    np.testing.assert_allclose(got, a.astype(float) ** exponent, rtol=1e-6)


def test_out_in_place_and_overlapping():
    a = values(1000)
    expected = a * a
    same = a.copy()
    assert elementwise.run(TABLE["mul"], [same, same], out=same) is same
    np.testing.assert_array_equal(same, expected)
    shifted = a.copy()
    elementwise.run(TABLE["add"], [shifted[1:], shifted[:-1]], (1,), out=shifted[1:])
    np.testing.assert_array_equal(shifted[1:], a[1:] + a[:-1])
    square = values((30, 30))
    turned = square + square.T
    elementwise.run(TABLE["add"], [square, square.T], (1,), out=square)
    np.testing.assert_array_equal(square, turned)
    narrow = np.zeros(1000, np.float16)
    elementwise.run(TABLE["mul"], [a, a], out=narrow, dtype=a.dtype)
    np.testing.assert_array_equal(narrow, expected.astype(np.float16))


@pytest.mark.parametrize("count", [1, 15, 16, 17, 31, 100, 5000, 40000])
def test_nothing_beyond_the_end_is_written(count):
    guarded = np.full(count + 64, 7, np.float32)
    elementwise.run(TABLE["exp"], [values(count)], out=guarded[32 : 32 + count])
    assert (guarded[:32] == 7).all() and (guarded[32 + count :] == 7).all()


@pytest.mark.parametrize("name", ["add", "lt"])
@pytest.mark.parametrize("start", range(5))
def test_streaming_stores(name, start, monkeypatch):
    """Results that go past the caches start at any element."""
    monkeypatch.setattr(elementwise, "_entries", {})
    monkeypatch.setattr(elementwise, "_STREAM_BYTES", 1)
    a, b = values(70001), values(70001, seed=1)
    op, options = TABLE[name], (1,) if name == "add" else ()
    expected = op.numpy(a, b, *options)
    guarded = np.zeros(len(a) + 100, expected.dtype)
    elementwise.run(op, [a, b], options, out=guarded[start : start + len(a)])
    np.testing.assert_array_equal(guarded[start : start + len(a)], expected)
    assert not guarded[:start].any() and not guarded[start + len(a) :].any()


def test_no_elements_and_no_kernel():
    empty = np.zeros((0, 3), np.float32)
    found = elementwise.run(TABLE["exp"], [empty])
    assert found.shape == (0, 3)
    assert elementwise.run(TABLE["mul"], [np.zeros((0, 3), np.float32), np.zeros(3, np.float32)]) is NotImplemented
    assert elementwise.run(TABLE["asin"], [np.zeros(3, np.complex64)]) is NotImplemented
    assert elementwise.run(TABLE["igamma"], [np.ones(3, np.float32)] * 2) is NotImplemented
    with pytest.raises(ValueError, match="broadcast"):
        elementwise.run(TABLE["mul"], [values((3, 4)), values(5)])


def test_large_results_do_not_depend_on_threads():
    a, found = values(300_000), []
    before = rushlight.get_num_threads()
    for threads in (1, 2):
        rushlight.set_num_threads(threads)
        found.append(elementwise.run(TABLE["gelu"], [a], ("none",)))
    rushlight.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("shape", [(64, 600), (3, 5, 7, 40), (1 << 19,)])
def test_copies_are_laid_out_as_numpy_lays_them(shape):
    array = values(shape)
    for view in (array, array.T, array[..., ::2], np.broadcast_to(array[:1], shape)):
        for dtype in (float32, float16, int64):
            got = copies.to_copy(view, dtype, None)
            expected = TABLE["to_copy"].forward(view, dtype, None)
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype and got.strides == expected.strides
        for memory_format in (None, contiguous_format):
            got = copies.clone(view, memory_format)
            expected = TABLE["clone"].forward(view, memory_format)
            if got is not NotImplemented:
                np.testing.assert_array_equal(got, expected)
                assert got.strides == expected.strides


def test_writing_into_existing_memory():
    target, source = np.zeros((40, 60), np.float16), values((60, 40))
    assert copies.copy_from(target, source.T, False) is None
    np.testing.assert_array_equal(target, source.T.astype(np.float16))
    assert copies.copy_from(target, source, False) is NotImplemented
    assert copies.fill_number(target[:, ::3], 7) is None
    assert (target[:, ::3] == 7).all() and not (target[:, 1::3] == 7).any()
    assert copies.zero_(target.T) is None
    assert not target.any()
    with pytest.raises(RuntimeError, match="more than one element"):
        copies.copy_from(np.broadcast_to(np.zeros(1), 4), np.zeros(4), False)


@pytest.mark.parametrize("shapes", [((8, 30), (8, 30)), ((8, 30), (30,)), ((30,), (8, 1)), ((2, 8, 30), (8, 30))])
def test_masked_fill(shapes):
    array, mask = values(shapes[0]), values(shapes[1], bool)
    got = copies.masked_fill(array, mask, -np.inf)
    expected = TABLE["masked_fill"].forward(array, mask, -np.inf)
    np.testing.assert_array_equal(got, expected)
    assert got.strides == expected.strides
    if got.shape == array.shape:
        turned = np.asfortranarray(array)
        assert copies.masked_fill_(turned, mask, np.array(2.0)) is None
        np.testing.assert_array_equal(turned, TABLE["masked_fill"].forward(array, mask, 2.0))
    else:
        assert copies.masked_fill_(array, mask, 1.0) is NotImplemented
    assert copies.masked_fill(array, mask.astype(np.int8), 1.0) is NotImplemented
