"""Products as kernels: layouts, sizes, epilogues, batches and dtypes against float64, the interpreter and other threads."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine import host
from rushlight.kernels.planning import runner
from rushlight.kernels.planning.layout import Layout, layout_of
from rushlight.kernels.planning.plan import Factor, Made, Plan
from rushlight.kernels.products import linear, matmul, matmul_plan
from rushlight.kernels.products.matmul_tiny import tiny_program
from rushlight.kernels.products.tiles import product_plan as tile_products
from rushlight.ops import matmul as matmul_operations

pytestmark = pytest.mark.skipif(host.host() is None, reason="needs llvmlite")

TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "float64": 1e-14}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@runner.operation
def _product(
    a: Layout,
    b: Layout,
    out: Layout | None,
    bias: Layout | None,
    addend: Layout | None,
    activation,
    alpha: Factor,
    accumulate,
):
    more = {"activation": activation, "alpha": alpha, "accumulate": accumulate}
    plan = matmul.plan_product_of(
        ("a", a), ("b", b), ("out", out), bias and "bias", addend and ("addend", addend), **more
    )
    return plan and plan._replace(in_place=("out",) if out else ())


def product(a, b, out=None, bias=None, activation=None, alpha=1, accumulate=False, addend=None):
    """What `plan_product_of` plans, on arrays; NotImplemented where no program fits."""
    return _product(a, b, out, bias, addend, activation, alpha, accumulate)


def matrix(rng, *shape, dtype="float32", turned=False):
    """A random array; ``turned``: its columns lie side by side."""
    if turned:
        return matrix(rng, *shape[:-2], shape[-1], shape[-2], dtype=dtype).swapaxes(-1, -2)
    return rng.standard_normal(shape).astype(dtype)


def check(found, a, b, bias=0.0, alpha=1.0, addend=0.0, activation=lambda x: x):
    """Errors grow with the sum of the products' sizes."""
    wide = a.astype(np.float64), b.astype(np.float64)
    expected = activation(alpha * (wide[0] @ wide[1]) + bias + addend)
    bound = TOLERANCE[found.dtype.name] * (abs(alpha) * (abs(wide[0]) @ abs(wide[1])) + abs(bias) + abs(addend) + 1)
    assert found.shape == expected.shape
    assert (abs(found.astype(np.float64) - expected) <= bound).all()


@pytest.mark.parametrize(
    "turned", [(False, False), (False, True), (True, False), (True, True)], ids=["nn", "nt", "tn", "tt"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layouts_and_sizes(rng, dtype, turned):
    for m, k, n in (
        (64, 40, 80),
        (33, 17, 129),
        (1, 5, 7),
        (9, 33, 1),
        (3, 20, 70),
        (23, 4, 16),
        (1, 1, 1),
        (90, 70, 150),
    ):
        a, b = matrix(rng, m, k, dtype=dtype, turned=turned[0]), matrix(rng, k, n, dtype=dtype, turned=turned[1])
        found = product(a, b)
        assert found.dtype == a.dtype and found.flags.c_contiguous
        check(found, a, b)


@pytest.mark.parametrize(
    "turned", [(False, False), (False, True), (True, False), (True, True)], ids=["nn", "nt", "tn", "tt"]
)
def test_long_sums_far_apart_rows_and_blocks_of_rows(rng, turned):
    for m, k, n in ((70, matmul_plan.DEEPEST + 300, 72), (700, 300, 530), (20, 2500, 20)):
        a, b = matrix(rng, m, k, turned=turned[0]), matrix(rng, k, n, turned=turned[1])
        check(product(a, b), a, b)


def test_columns_that_share_a_caches_sets(rng):
    for dtype, m, k, n in (("float32", 512, 1100, 37), ("float64", 256, 800, 70), ("float32", 1024, 400, 1)):
        a, b = matrix(rng, m, k, dtype=dtype, turned=True), matrix(rng, k, n, dtype=dtype)
        bias = matrix(rng, n, dtype=dtype)
        check(product(a, b), a, b)
        check(product(a, b, bias=bias, alpha=0.5), a, b, bias, 0.5)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_is_added_up_in_float32(rng, name):
    dtype = np.dtype("float16") if name == "float16" else np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    for turned in (False, True):
        a = rng.standard_normal((30, 65)).astype(dtype)
        b = rng.standard_normal((34, 65)).astype(dtype).T if turned else rng.standard_normal((65, 34)).astype(dtype)
        found = product(a, b)
        assert found.dtype == dtype
        check(found, a, b)


def test_strided_rows_and_views(rng):
    whole = matrix(rng, 60, 90)
    a, b = whole[::2, 3:50], whole[::-1][:47, 20:71]
    check(product(a, b), a, b)
    check(product(b.T[:, 5:], b[5:]), b.T[:, 5:], b[5:])
    a, b = whole[::2, ::2], np.broadcast_to(np.float32(0.5), (45, 40))
    check(product(a, b), a, b)


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False)], ids=["nn", "nt", "tn"])
def test_batches_with_any_step(rng, turned):
    a, b = matrix(rng, 5, 21, 33, turned=turned[0]), matrix(rng, 5, 33, 40, turned=turned[1])
    check(product(a, b), a, b)
    for first, second in (
        (np.broadcast_to(a[:1], a.shape), b),
        (a, np.broadcast_to(b[1:2], b.shape)),
        (a[::2], b[::2]),
    ):
        check(product(first, second), first, second)
    many, wide = matrix(rng, 3, 300, 90, turned=turned[0]), matrix(rng, 3, 90, 600, turned=turned[1])
    check(product(many, wide), many, wide)


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False)], ids=["nn", "nt", "tn"])
@pytest.mark.parametrize("shape", [(3, 3, 3), (1, 40, 50), (5, 33, 20), (30, 70, 1), (8, 16, 17)], ids=str)
def test_large_batches_of_small_matrices(rng, shape, turned):
    m, k, n = shape
    for batch in (2, 67, 301):
        a, b = matrix(rng, batch, m, k, turned=turned[0]), matrix(rng, batch, k, n, turned=turned[1])
        check(product(a, b), a, b)
        one = np.broadcast_to(b[:1], b.shape)
        check(product(a, one), a, one)
        out = np.full((batch, m + 1, n + 2), 7, np.float32)
        check(product(a, b, out=out[:, :m, :n]), a, b)
        assert (out[:, m] == 7).all() and (out[:, :, n:] == 7).all()
    check(product(a, b, alpha=0.5), a, b, alpha=0.5)
    bias = matrix(rng, n)
    check(product(a, b, bias=bias, activation="relu"), a, b, bias, activation=lambda x: np.maximum(x, 0))


@pytest.mark.parametrize("shape", [(40, 30, 70), (2, 64, 50), (20, 1300, 150)], ids=["blocks", "dots", "turned"])
def test_epilogues(rng, shape):
    m, k, n = shape
    a, b, bias, addend = matrix(rng, m, k), matrix(rng, n, k).T, matrix(rng, n), matrix(rng, m, n)
    check(product(a, b, bias=bias), a, b, bias)
    check(product(a, b, bias=bias, alpha=0.5, addend=addend), a, b, bias, 0.5, addend)
    check(product(a, b, bias=bias, activation="relu"), a, b, bias, activation=lambda x: np.maximum(x, 0))
    check(product(a, b, activation="sigmoid"), a, b, activation=lambda x: 1 / (1 + np.exp(-x)))
    row = np.broadcast_to(matrix(rng, 1, n), (m, n))
    check(product(a, b, addend=row), a, b, addend=row)


def gated(a, b, gate):
    """The product that is 0 where ``gate`` is 0 or less."""
    plan = matmul.plan_product_of(*(("a", layout_of(a)), ("b", layout_of(b))), gate=("gate", layout_of(gate)))
    return runner.runner(plan, ("a", "b", "gate"))(a, b, gate)


def summing(a, b):
    """The product and the sums of ``a``'s rows; None without a program."""
    plan = matmul.plan_product_of(*(("a", layout_of(a)), ("b", layout_of(b))), row_sums="sums")
    return plan and runner.runner(plan, ("a", "b"))(a, b)


GATED = [(40, 30, 70), (2, 64, 50), (20, 1300, 150), (9, 33, 1)]


@pytest.mark.parametrize(
    "turned", [(False, False), (False, True), (True, False), (True, True)], ids=["nn", "nt", "tn", "tt"]
)
@pytest.mark.parametrize("shape", GATED, ids=str)
def test_gates(rng, shape, turned):
    m, k, n = shape
    a, b = matrix(rng, m, k, turned=turned[0]), matrix(rng, k, n, turned=turned[1])
    gate = matrix(rng, m, n)
    gate[0, 0], gate[-1, -1], gate[m // 2, n // 2] = 0, np.nan, -np.inf
    a[m // 2] = np.inf
    out = gated(a, b, gate)
    assert (out[gate <= 0] == 0).all()
    open_, plain = ~(gate <= 0), product(a, b)
    assert np.allclose(out[open_], plain[open_], rtol=1e-5, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_rows_beside_a_product(rng, dtype):
    for m, k, n in ((30, 20, 70), (512, 64, 160), (64, 1, 100), (5, 1, 3), (70, matmul.SUMMED_COLUMNS, 9), (517, 2, 3)):
        a, b = matrix(rng, m, k, dtype=dtype, turned=True), matrix(rng, k, n, dtype=dtype)
        found = summing(a, b)
        if found is None and dtype == "float32" and host.host().has_tiles:
            assert tile_products.pays(m, n, k, 1, False, False)  # which adds up nothing beside it
            continue
        check(found[0], a, b)
        check(found[1][:, None], a, np.ones((k, 1), dtype))
    assert summing(np.ascontiguousarray(a), b) is None
    assert summing(matrix(rng, 9, matmul.SUMMED_COLUMNS + 1, turned=True), matrix(rng, 513, 4)) is None


@pytest.mark.parametrize("few", range(1, 10))
def test_a_few_rows_with_a_turned_matrix(rng, few):
    for n, k in ((13, 50), (37, 1000), (70, 33)):
        a, b, bias = matrix(rng, few, k), matrix(rng, n, k).T, matrix(rng, n)
        whole = np.full((few + 2, n + 5), 7, np.float32)
        check(product(a, b, out=whole[1:-1, 2 : 2 + n], bias=bias), a, b, bias)
        whole[1:-1, 2 : 2 + n] = 7
        assert (whole == 7).all()
        check(product(a.astype(np.float64), b.astype(np.float64)), a, b)


def test_out_in_both_orders_and_accumulation(rng):
    a, b, bias = matrix(rng, 50, 40), matrix(rng, 40, 60), matrix(rng, 60)
    for out in (
        np.empty((50, 60), np.float32),
        np.empty((60, 50), np.float32).T,
        np.empty((50, 99), np.float32)[:, :60],
    ):
        assert product(a, b, out=out, bias=bias) is out
        check(out, a, b, bias)
        out[...] = before = matrix(rng, 50, 60)
        product(a, b, out=out, accumulate=True)
        check(out, a, b, addend=before)
    deep = matrix(rng, 20, 3000), matrix(rng, 3000, 24)
    out = np.ones((20, 24), np.float32)
    check(product(*deep, out=out, accumulate=True), *deep, addend=np.ones((20, 24)))


def test_writes_nothing_outside_of_the_result(rng):
    for m, k, n in ((13, 9, 21), (1, 40, 19), (30, 8, 70)):
        guard = np.full((m + 2, n + 40), 7, np.float32)
        product(matrix(rng, m, k), matrix(rng, k, n), out=guard[1:-1, 20 : 20 + n])
        guard[1:-1, 20 : 20 + n] = 7
        assert (guard == 7).all()


def test_nan_and_infinity_stay_in_their_rows_and_columns(rng):
    a, b = matrix(rng, 20, 30), matrix(rng, 30, 50)
    a[3, 4], b[7, 11] = np.nan, np.inf
    found = product(a, b, activation="relu")
    assert np.isnan(found[3]).all()
    assert np.isinf(found[a[:, 7] > 0, 11][a[a[:, 7] > 0, 4] == a[a[:, 7] > 0, 4]]).all()
    rest = np.delete(np.delete(found, 3, 0), 11, 1)
    assert np.isfinite(rest).all()


def test_declines_what_it_cannot_do(rng):
    a, b = matrix(rng, 4, 6), matrix(rng, 6, 8)
    assert product(a.astype(np.int64), b.astype(np.int64)) is NotImplemented
    assert product(a, b.astype(np.float64)) is NotImplemented
    assert product(a, b[:5]) is NotImplemented
    assert product(a[:0], b) is NotImplemented
    assert product(a, b, out=np.empty((4, 8), np.float32), accumulate=True, alpha=2) is NotImplemented


@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False)], ids=["nn", "nt", "tn"])
def test_results_do_not_depend_on_threads(rng, turned):
    before = rushlight.get_num_threads()
    for shape in ((200, 300, 260), (1, 900, 900), (700, 300, 530)):
        a, b = matrix(rng, *shape[:2], turned=turned[0]), matrix(rng, *shape[1:], turned=turned[1])
        found = []
        try:
            for threads in (1, 2, 2):
                rushlight.set_num_threads(threads)
                found.append(product(a, b))
        finally:
            rushlight.set_num_threads(before)
        assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.parametrize("lanes", [4, 8])
def test_narrower_vectors(rng, monkeypatch, fresh_plans, lanes):
    monkeypatch.setattr(matmul.host, "lanes", lambda size: lanes)
    for turned in ((False, False), (False, True), (True, False)):
        for m, k, n in ((31, 20, 37), (2, 30, 11), (516, 5, 70)):
            a, b = matrix(rng, m, k, turned=turned[0]), matrix(rng, k, n, turned=turned[1])
            check(product(a, b), a, b)
            check(product(a.astype(np.float16), b.astype(np.float16)), a.astype(np.float16), b.astype(np.float16))


@pytest.mark.parametrize(
    "turned", [(False, False), (False, True), (True, False), (True, True)], ids=["nn", "nt", "tn", "tt"]
)
def test_the_interpreter_agrees_and_stays_within_bounds(monkeypatch, fresh_plans, interpreted, turned):
    monkeypatch.setattr(matmul.host, "lanes", lambda size: 4)
    cases = [((7, 6, 9), 4), ((2, 5, 6), 1024), ((50, 3, 5), 1024), ((5, 40, 41), 16)]

    def results():
        for (m, k, n), deepest in cases:
            monkeypatch.setattr(matmul_plan, "DEEPEST", deepest)
            fresh_plans()
            generator = np.random.default_rng(0)
            yield product(matrix(generator, m, k, turned=turned[0]), matrix(generator, k, n, turned=turned[1]))

    compiled = list(results())
    interpreted()
    for mine, theirs in zip(compiled, results()):
        assert np.array_equal(mine, theirs)


def test_the_interpreter_agrees_on_gates_and_sums(rng, monkeypatch, interpreted):
    monkeypatch.setattr(matmul.host, "lanes", lambda size: 4)
    a, b, gate = matrix(rng, 19, 40, turned=True), matrix(rng, 40, 13), matrix(rng, 19, 13)

    def results():
        return gated(a, b, gate), *summing(a, b)

    compiled = results()
    interpreted()
    for mine, theirs in zip(compiled, results()):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("on_tiles", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rows", [1, 40, matmul.SUMMED_COLUMNS + 1])
def test_gradients_of_a_linear_layer(rng, monkeypatch, fresh_plans, rows, turned, on_tiles):
    def by_numpy(a, b, out, bias):
        """A plan that multiplies as tiles would: not what comes with a gate or sums of rows."""
        (a, left), (b, right), (out, layout) = a, b, out

        def multiplied(a, b):
            return np.matmul(*(x if x.shape == meant.shape else x.T for x, meant in ((a, left), (b, right))))

        return Plan([], {out: layout}, made={out: Made(multiplied, (a, b))})

    if on_tiles:
        monkeypatch.setattr(matmul, "_fits_tiles", lambda sizes, steps: True)
        monkeypatch.setattr(matmul.tile_products, "plan_of", by_numpy)
    outputs, inputs = (300, 400) if rows == 1 else (50, 60)
    grad, weight, input = (
        matrix(rng, rows, outputs),
        matrix(rng, outputs, inputs),
        matrix(rng, rows, inputs, turned=turned),
    )
    for needs in ((True, True, True), (True, True, False), (False, True, True), (True, False, False)):
        given = input if needs[1] else None, weight if needs[0] else None
        for gate in {False, needs[0] and needs[1]}:
            *found, is_gated = linear.linear_gradients(grad, *given, needs, gate)
            *others, _ = matmul_operations.linear_gradients(grad, *given, needs, False)
            assert is_gated is (gate and not on_tiles and input.flags.c_contiguous)  # else who asked does it
            if is_gated:
                others[0][input <= 0] = 0
            for mine, expected in zip(found, others):
                assert (mine is None) == (expected is None)
                if mine is not None:
                    assert mine.dtype == grad.dtype
                    np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "turned", [(False, False), (False, True), (True, False), (True, True)], ids=["nn", "nt", "tn", "tt"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_tiny_matrices(rng, dtype, turned):
    for batch in (16, 3000):
        for m, k, n in ((2, 2, 2), (3, 3, 3), (1, 4, 2), (4, 1, 3), (3, 2, 4), (1, 1, 1), (4, 4, 4)):
            a = matrix(rng, batch, m, k, dtype=dtype, turned=turned[0])
            b = matrix(rng, batch, k, n, dtype=dtype, turned=turned[1])
            check(product(a, b), a, b)
            check(product(a[::-2], b[1::2]), a[::-2], b[1::2])
            one = np.broadcast_to(b[:1], b.shape)  # one matrix for all
            check(product(a, one), a, one)
    spaced = matrix(rng, 40, 6, 6, dtype=dtype)[:, ::2, ::1]
    found = product(spaced, spaced.swapaxes(1, 2))
    if found is not NotImplemented:
        check(found, spaced, spaced.swapaxes(1, 2))


@pytest.mark.parametrize("forms", [("rows", "rows"), ("rows", "columns"), ("columns", "rows")])
def test_tiny_products_interpreted(rng, forms):
    a, b = matrix(rng, 7, 2, 3, turned=forms[0] == "columns"), matrix(rng, 7, 3, 4, turned=forms[1] == "columns")
    out, sizes = np.full((7, 2, 4), np.nan, "float32"), np.array([7, 6, 12, 3, 3])
    flat = [np.ascontiguousarray(x if form == "rows" else x.swapaxes(1, 2)) for x, form in zip((a, b), forms)]
    interpret(tiny_program("f32", 2, 4, 3, *forms), *flat, out, None, None, None, sizes, 1, 0, None)
    check(out, a, b)


def test_operations_agree_with_numpy(rng):
    a, b, c, bias = matrix(rng, 70, 60), matrix(rng, 60, 80), matrix(rng, 70, 80), matrix(rng, 80)
    check(matmul.mm(a, b), a, b)
    weight = b.T.copy()
    check(linear.linear_rows(a, weight, bias), a, b, bias)
    check(matmul.addmm(c, a, b, 1, 1), a, b, addend=c)
    check(matmul.addmm(c, a, b, 0.5, 2), a, b, alpha=2.0, addend=0.5 * c)
    check(matmul.addmm(bias, a, b, 1, 1), a, b, bias)
    check(matmul.addmm(np.full_like(c, np.nan), a, b, 0, 1), a, b)
    big, vector = matrix(rng, 300, 400), matrix(rng, 400)
    assert np.allclose(matmul.mv(big, vector), big @ vector, atol=1e-4)
    x, y = matrix(rng, 4, 30, 40), matrix(rng, 4, 40, 50)
    check(matmul.bmm(x, y), x, y)
    assert matmul.mm(a[:3, :3], b[:3, :3]) is NotImplemented
