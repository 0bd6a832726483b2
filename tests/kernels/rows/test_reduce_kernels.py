"""Reductions by generated kernels: against float64, against the operations' NumPy, on odd shapes and special values."""

import math

import numpy as np
import pytest

import rushlight
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.compiler.kernel import compiled
    from rushlight.kernels.language.value_types import NUMPY
    from rushlight.kernels.rows import reduce
    from rushlight.kernels.rows.reduce_programs import array_plan, build, workspace_size
    from rushlight.kernels.rows.reductions import reduction

INF = math.inf
LAYOUTS = [  # shape, reduced dimensions: whole arrays, rows, columns, channels; short, odd, and long enough to be cut
    ((2,), None),
    ((1000,), None),
    ((100003,), (0,)),
    ((7, 10), (1,)),
    ((7, 10), (0,)),
    ((33, 100), (1,)),
    ((3, 40001), (1,)),
    ((700, 17), (0,)),
    ((5, 3), ()),
    ((4, 700, 33), (1,)),
    ((6, 5, 49), (0, 2)),
    ((64, 3, 1000), (0, 2)),
    ((2, 3, 40000), (0, 2)),
]


def of_dtype(shape, dtype):
    generator = np.random.default_rng(abs(hash(shape)))
    scale = (
        20 if np.dtype(dtype).kind in "iu" else 0.3 if dtype is np.float16 else 3
    )  # sums of float16 must not overflow
    return (generator.standard_normal(shape) * scale).astype(dtype)


def calls(array, dim):
    """(name of the operation, arguments) of the reductions of an array over ``dim``."""
    floating = array.dtype.kind == "f"
    for keepdim in (False, True):
        yield "sum", (dim or None, keepdim, None)
        yield "amax", (dim or (), keepdim)
        yield "amin", (dim or (), keepdim)
        yield "any", (dim or None, keepdim)
        yield "all", (dim or None, keepdim)
        if dim is not None and len(dim) == 1:
            for name in ("max_dim", "min_dim", "argmax", "argmin"):
                yield name, (dim[0], keepdim)
        if floating:
            yield "mean", (dim or None, keepdim, None)
            for p in (1.0, 2.0, INF):
                yield "vector_norm_parts", (p, dim or None, keepdim, None)
            yield "logsumexp", (dim or tuple(range(array.ndim)), keepdim)
            if array.size > 1:
                for name in ("var_corrected", "std_corrected", "var_mean_corrected", "std_mean_corrected"):
                    yield name, (dim or None, 1, keepdim)


def kernel_of(name):
    return getattr(reduce, "vector_norm" if name == "vector_norm_parts" else name)


def assert_agrees(found, expected, tolerance):
    found, expected = (v if isinstance(v, tuple) else (v,) for v in (found, expected))
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert a.__class__ is np.ndarray
        assert (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a.astype(float), b.astype(float), rtol=tolerance, atol=20 * tolerance)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize(("shape", "dim"), LAYOUTS)
def test_as_numpy(shape, dim, dtype):
    array = of_dtype(shape, dtype)
    tolerance = {np.float16: 2e-3, np.float32: 2e-5}.get(dtype, 1e-10)
    for name, arguments in calls(array, dim):
        found = kernel_of(name)(array, *arguments)
        assert found is not NotImplemented
        assert_agrees(found, TABLE[name].forward(array, *arguments), tolerance)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int64])
def test_integers_and_bools(dtype):
    array = of_dtype((300, 70), np.int8).astype(dtype)
    for name, arguments in (
        ("sum", (None, False, None)),
        ("sum", ((0,), True, None)),
        ("any", ((1,), False)),
        ("all", ((0,), True)),
    ):
        assert_agrees(kernel_of(name)(array, *arguments), TABLE[name].forward(array, *arguments), 0)
    small = (array != 0).astype(dtype) + np.ones_like(array)
    found = reduce.prod_dim(small[:, :40].copy(), 1, False, None)
    assert_agrees(found, TABLE["prod_dim"].forward(small[:, :40].copy(), 1, False, None), 0)


def test_sums_are_accurate():
    generator = np.random.default_rng(1)
    for size in (1000, 30000, 2_000_003):
        array = generator.random(size, np.float32)
        exact = math.fsum(array.tolist())
        assert abs(float(reduce.sum(array, None, False, None)) - exact) <= 3e-7 * exact
        column = np.ascontiguousarray(np.broadcast_to(array[:, None], (size, 3))) if size < 50000 else None
        if column is not None:
            found = reduce.sum(column, (0,), False, None)
            assert np.abs(found - exact).max() <= 5e-7 * exact


def test_variance_far_from_zero():
    array = np.random.default_rng(2).standard_normal((50, 3000)).astype(np.float32) + np.float32(4096)
    expected = array.astype(np.float64).var(1, ddof=1)
    np.testing.assert_allclose(reduce.var_corrected(array, (1,), 1, False), expected, rtol=2e-5)
    np.testing.assert_allclose(
        reduce.var_corrected(array.reshape(-1), None, 0, False), array.astype(float).var(), rtol=2e-5
    )


SPECIAL = [
    [1, math.nan, 3, math.nan, 2],
    [INF, 1, -INF, 0, 0],
    [-INF] * 5,
    [INF] * 5,
    [2, 2, 2, 2, 2],
    [-0.0, 0.0, -0.0, 0.0, 0.0],
]


@pytest.mark.parametrize("repeat", [1, 9, 30])
@pytest.mark.parametrize("transposed", [False, True])
def test_special_values(repeat, transposed):
    array = np.repeat(np.array(SPECIAL, np.float32), repeat, axis=1)
    if transposed:
        array = np.ascontiguousarray(array.T)
    axis = 0 if transposed else 1
    for name in ("max_dim", "min_dim", "argmax", "argmin"):
        expected = TABLE[name].forward(array, axis, False)
        for a, b in zip(
            *((v if isinstance(v, tuple) else (v,)) for v in (kernel_of(name)(array, axis, False), expected))
        ):
            np.testing.assert_array_equal(a, b)
    with np.errstate(all="ignore"):
        for name, arguments in (
            ("sum", ((axis,), False, None)),
            ("amax", ((axis,), False)),
            ("logsumexp", ((axis,), False)),
            ("vector_norm_parts", (INF, (axis,), False, None)),
            ("any", ((axis,), False)),
        ):
            expected = TABLE[name].forward(array, *arguments)
            np.testing.assert_allclose(kernel_of(name)(array, *arguments), expected, rtol=1e-6)


def test_logsumexp_of_parts_with_infinities():
    array = np.full(100000, -INF, np.float32)
    assert reduce.logsumexp(array, (0,), False) == -INF
    array[70000:] = -1000
    assert float(reduce.logsumexp(array, (0,), False)) == pytest.approx(math.log(30000) - 1000, rel=1e-6)
    array[5] = INF
    assert reduce.logsumexp(array, (0,), False) == INF


def test_what_is_declined():
    array = of_dtype((40, 30), np.float32)
    assert reduce.sum(np.broadcast_to(array[0], (40, 30)), (0,), False, None) is NotImplemented
    assert reduce.sum(array.astype(">f4"), None, False, None) is NotImplemented
    assert reduce.sum(array[:0], (0,), False, None) is NotImplemented
    assert reduce.sum(array.reshape(5, 8, 6, 5), (0, 2), False, None) is NotImplemented
    assert reduce.mean(array.astype(np.int32), None, False, None) is NotImplemented
    assert reduce.var_corrected(array[:, :1].copy(), (1,), 1, False) is NotImplemented
    shifted = np.frombuffer(b"\0" + array.tobytes(), np.uint8)[1:].view(np.float32)
    assert shifted.flags.aligned or reduce.sum(shifted, None, False, None) is NotImplemented


def test_threads_change_nothing():
    array = of_dtype((3, 200001), np.float32)
    columns = of_dtype((3001, 200), np.float32)
    found, before = [], rushlight.get_num_threads()
    try:
        for threads in (1, 2, 5):
            rushlight.set_num_threads(threads)
            results = [reduce.sum(array, None, False, None), reduce.sum(columns, (0,), False, None)]
            results += [reduce.var_corrected(array, (1,), 1, False), reduce.logsumexp(array, (1,), False)]
            found.append(b"".join(r.tobytes() for r in results))
    finally:
        rushlight.set_num_threads(before)
    assert found[0] == found[1] == found[2]


def arguments_of(name, array, dim, lanes):
    """(program, arguments, results) of a reduction of a float32 array, emitted for a width of vectors."""
    plan = array_plan(array.shape, dim, lanes)
    what = reduction(name, "f32")
    outputs = ("f32", "i64") if what.has_position else ("f32", None) if what.divides and name != "mean" else ("f32",)
    results = [np.full(plan.results, 77, NUMPY[scalar]) for scalar in outputs if scalar]
    works = [np.empty(workspace_size(plan), NUMPY[state]) for state in what.states] if plan.split else []
    divisor = [plan.count] if what.divides else []
    program = build(name, what, "f32", outputs, plan, lanes)
    return program, [array, *results, *works, *plan.sizes, *divisor], results


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("name", ["sum", "mean", "max", "min_at", "var", "logsumexp"])
def test_widths_of_vectors(lanes, name):
    for shape, dim in (((3, 50), (1,)), ((5, 3), (1,)), ((30, 9), (0,)), ((2, 3, 70), (0, 2)), ((1, 33000), (1,))):
        array = of_dtype(shape, np.float32)
        program, arguments, results = arguments_of(name, array, dim, lanes)
        kinds = array_plan(shape, dim, lanes)[:4]
        compiled(("test reduce", name, lanes, *kinds), lambda program=program: program).threaded(*arguments)
        operation = {
            "sum": lambda a: a.sum(dim),
            "mean": lambda a: a.mean(dim),
            "max": lambda a: a.max(dim),
            "min_at": lambda a: a.min(dim),
            "var": lambda a: a.var(dim),
            "logsumexp": lambda a: np.log(np.exp(a).sum(dim)),
        }[name]
        np.testing.assert_allclose(results[0], operation(array.astype(float)).reshape(-1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["sum", "norm2", "max", "max_at", "var"])
@pytest.mark.parametrize(("shape", "dim"), [((2, 5), (1,)), ((2, 19), (1,)), ((19, 5), (0,)), ((3, 2, 5), (0, 2))])
def test_interpreter_and_machine_agree(name, shape, dim):
    array = of_dtype(shape, np.float32)
    program, arguments, results = arguments_of(name, array, dim, 4)
    interpret(program, *arguments)
    slow = [r.copy() for r in results]
    kinds = array_plan(shape, dim, 4)[:4]
    compiled(("test reduce", name, 4, *kinds), lambda: program).alone(*arguments)
    for a, b in zip(results, slow):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_transposed_matrices(dim):
    x = np.random.default_rng(0).standard_normal((90, 70))
    turned = rushlight.from_numpy(x).T
    np.testing.assert_allclose(turned.sum(dim).numpy(), x.T.sum(dim), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(turned.var(dim, keepdim=True).numpy(), x.T.var(dim, ddof=1, keepdims=True), rtol=1e-12)
    values, places = turned.max(dim)
    np.testing.assert_array_equal(values.numpy(), x.T.max(dim))
    np.testing.assert_array_equal(places.numpy(), x.T.argmax(dim))


def test_arrays_with_gaps_are_reduced_as_their_copies():
    whole = of_dtype((60, 80), np.float32)
    for view in (whole[::2, 1::3], whole[:, ::2].T, whole[5:50, 3:70]):
        for dim in (None, (0,), (1,)):
            for name, arguments in calls(view, dim):
                found, expected = (kernel_of(name)(a, *arguments) for a in (view, np.ascontiguousarray(view)))
                assert_agrees(found, expected, 0)
