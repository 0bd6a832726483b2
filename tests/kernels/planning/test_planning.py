"""Plans: made of layouts alone, found again, run; what the runner does around the launches."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight
from rushlight.kernels import routing
from rushlight.kernels.compiler import kernel
from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.program import Program
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning import runner
from rushlight.kernels.planning.layout import Layout, Layouts, laid, layout_of, strided
from rushlight.kernels.planning.plan import Condition, Factor, HostStep, Launch, Made, Passed, Plan, View
from rushlight.kernels.planning.registry import KERNELS

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def scaled(lanes):
    """``out = x * factor + y``, element by element; the lanes are only there to be part of the form."""
    parameters = [("x", "f32*"), ("y", "f32*"), ("out", "f32*"), ("n", "i64"), ("factor", "f32")]
    builder = Builder("scaled", parameters)
    x, y, out, n, factor = builder.parameters
    with builder.parallel(1), builder.loop(0, n) as loop:
        builder.store(builder.load(x, loop.index) * factor + builder.load(y, loop.index), out, loop.index)
    return Program("scaled", [builder.function])


def planned(made, *, copied=None, turned=None, accepts=lambda x: True):
    """An operation that counts its plans in ``made``."""

    @runner.operation
    def operation(x: Layout, y: Layout | None, option, factor: Passed):
        made.append((x, y, option, factor))
        if not accepts(x):
            return None
        second = "x" if y is None else "y"
        launch = Launch(scaled, (8,), ("x", second, "out", x.size, factor), 1.0)
        return Plan([launch], {"out": x.plain()}, copied=copied or {}, turned=turned or {})

    return operation


def test_layouts_of_arrays():
    array = np.zeros((3, 4), np.float32)
    assert layout_of(array) == Layout((3, 4), F32) and layout_of(array).is_plain
    assert layout_of(array.T) == Layout((4, 3), F32, (4, 16)) and not layout_of(array.T).is_plain
    assert layout_of(array.T).turned([1, 0]) == layout_of(array)
    assert layout_of(array[:, ::2]).turned([1, 0]).strides == (8, 16)
    assert layout_of(array).turned([1, 0]) == layout_of(array.T) == strided((4, 3), F32, (4, 16))
    assert layout_of(array).steps == (4, 1) and layout_of(array[:, ::2]).steps == (4, 2)
    for each, shape in ((array[:, :1], (2, 3, 4)), (array, (1, 3, 4)), (array, (3, 4))):
        assert layout_of(each).broadcast(shape) == layout_of(np.broadcast_to(each, shape))
    assert Layout((2, 3), F32, (6, 2)).steps is None and strided((1, 3), F32, (99, 4)).is_plain
    assert layout_of(array[:, ::2]).plain() == Layout((3, 2), F32)
    assert Layout((3, 0), F32).size == 0 and Layout((), F32).size == 1
    assert Layout((2,), np.dtype(">f4")).scalar is None and Layout((2,), F64).scalar == "f64"


def test_a_plan_is_made_once_for_layouts_and_options():
    made = []
    call = planned(made)
    x, y = np.arange(6, dtype=np.float32), np.ones(6, np.float32)
    for factor in (2.0, 3.0):
        np.testing.assert_array_equal(call(x, y, "a", factor), x * factor + 1)
        np.testing.assert_array_equal(call(x, None, "a", factor), x * factor + x)
    assert made == [(Layout((6,), F32), Layout((6,), F32), "a", "factor"), (Layout((6,), F32), None, "a", "factor")]
    call(x, y, "b", 1.0)
    call(x[:5].copy(), y[:5].copy(), "b", 1.0)
    assert len(made) == 4


def test_strided_arrays_have_plans_of_their_own():
    made = []
    call = planned(made, copied={"x": None, "y": None})
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for one, other in ((x, x), (x.T, x.T), (x[::2], x[::2]), (x[:2], x[::2]), (x.T, x.T)):
        found = call(one, other, None, 2.0)
        np.testing.assert_array_equal(found, one * 3 if one is other or len(one) > 2 else one * 2 + other)
        assert found.flags.c_contiguous
    assert len(made) == 4 and made[3][0].is_plain and made[3][1].strides == (48, 4)


def test_results_are_turned():
    call = planned([], turned={"out": (1, 0)})
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = call(x, None, None, 1.0)
    np.testing.assert_array_equal(found, (2 * x).T)
    assert found.flags.c_contiguous


def test_factors_choose_plans_where_they_are_0_or_1():
    made = []

    @runner.operation
    def operation(x: Layout, factor: Factor):
        made.append(factor)
        return Plan([Launch(scaled, (8,), ("x", "x", "out", x.size, factor), 1.0)], {"out": x})

    x = np.arange(4, dtype=np.float32)
    for factor in (2.0, 1, 0.5, 0.0, 1.0, 3):
        np.testing.assert_array_equal(operation(x, factor), x * factor + x)
    assert made == ["factor", 1, 0.0]


def test_what_does_not_pay_is_declined_and_planned_all_the_same():
    def plan(x: Layout):
        return Plan([Launch(scaled, (8,), ("x", "x", "out", x.size, 1.0), 1.0)], {"out": x}, pays=x.size > 4)

    call, x = runner.operation(plan), np.ones(8, np.float32)
    assert call(x[:4]) is NotImplemented and call(x).tolist() == [2] * 8
    assert plan(layout_of(x[:4])).results == {"out": Layout((4,), F32)}


def test_what_the_host_makes_sees_and_takes():
    """One array is made and turned, others are results in columns, on a cache line, a part of one, none, and a number."""

    @runner.operation
    def operation(x: Layout):
        columns = strided((3, 2), F32, (4, 12))
        views = {
            "turned": View("doubled", order=(1, 0)),
            "x": View("x", shape=(2, 3)),
            "rest": View("out", index=(slice(1, None),)),
        }
        arguments = [("turned", "x", "out", 6, 1.0), ("turned", "own", "apart", 6, 1.0), ("own", "own", "rest", 0, 1.0)]
        taken = Layout((1, 2), F32)
        return Plan(
            [Launch(scaled, (8,), each, 1.0) for each in arguments],
            {"out": Layout((3, 2), F32), "apart": columns, "last": taken, "nothing": None, "kind": "a"},
            thread_scratch=[("own", 4, F32, 2)],
            made={"doubled": Made(np.multiply, ("x", 2))},
            views=views,
            copied={"turned": None, "x": None},
            taken={"last": View("out", index=slice(2, 3))},
            zeroed=("own",),
            aligned=("apart",),
        )

    rows = np.tile(np.arange(3, dtype=np.float32), (2, 1))
    out, apart, last, nothing, kind = operation(rows)
    np.testing.assert_array_equal(out, (2 * rows).T + rows.reshape(3, 2))
    np.testing.assert_array_equal(apart.T.ravel(), (2 * rows).T.ravel())
    assert apart.strides == (4, 12) and apart.ctypes.data % 64 == 0
    np.testing.assert_array_equal(last, out[2:])
    assert last.base is None and nothing is None and kind == "a"


def test_host_steps_and_copies_in_other_orders():
    """Launches read what the host wrote between them, operands and results may be copied channels last."""

    @runner.operation
    def operation(x: Layout):
        deep = laid(x.shape, x.dtype, (0, 2, 1))
        launches = [
            HostStep(np.negative, ("x", "sum")),
            Launch(scaled, (8,), ("x", "x", "out", x.size, 2.0), 1.0),
            HostStep(np.subtract, ("out", "sum", "out")),
        ]
        return Plan(
            launches, {"out": deep}, [("sum", x.shape, x.dtype)], copied={"x": deep}, given={"out": deep.of(F64)}
        )

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    found = operation(x)
    np.testing.assert_array_equal(found, 4 * x)
    assert found.dtype == F64 and found.strides == (96, 8, 24) and found.base is None


def test_layouts_of_copies():
    array = np.zeros((2, 3, 1, 4), np.float32)
    for each in (array, array.transpose(0, 3, 2, 1), array[:, ::2].transpose(3, 0, 2, 1), array[..., ::2]):
        dense = layout_of(each).dense()
        assert dense == layout_of(np.empty_like(each)) and dense.of(F64).of(F32) == dense


def test_what_is_declined_is_remembered():
    made = []
    call = planned(made, accepts=lambda x: x.is_plain)
    x = np.zeros((4, 6), np.float32)
    for _ in range(3):
        assert call(x.T, None, None, 1.0) is NotImplemented
    assert len(made) == 1
    apart = np.zeros(25, np.uint8)[1:].view(np.float32)
    assert apart.flags.aligned or call(apart, None, None, 1.0) is NotImplemented
    assert len(made) == 1  # arrays that are not aligned have no plans


def test_what_is_written_in_place():
    """In one of another dtype, or of other strides, by way of a copy."""

    def plan(x: Layout, y: Layout):
        copied = {} if x == y else {"x": F32}
        return Plan([Launch(scaled, (8,), ("x", "y", "x", x.size, 2.0), 1.0)], {}, copied=copied, in_place=("x",))

    call, y = runner.operation(plan), np.arange(6, dtype=np.float32)
    for x in (np.ones(6, np.float32), np.ones(6), np.ones(12, np.float32)[::2]):
        assert call(x, y) is x
        np.testing.assert_array_equal(x, y + 2)


def test_results_that_begin_as_copies_and_what_the_host_makes():
    def plan(x: Layout, y: Layout, number: Passed):
        launch = Launch(scaled, (8,), ("out", "y", "out", y.size, "factor"), 1.0)
        made = {"factor": Made(float, ("number",))}
        conditions = [Condition(lambda number: number != "0", ("number",))]
        return Plan([launch], {"out": y}, begun={"out": "x"}, made=made, conditions=conditions)

    call, y = runner.operation(plan), np.arange(6, dtype=np.float32)
    for x in (np.ones(6, np.float32), np.full(6, 3)):
        np.testing.assert_array_equal(call(x, y, "2"), x * 2 + y)
        assert call(x, y, "0") is NotImplemented and x[0] in (1, 3)


def test_lists_have_plans_by_all_their_layouts():
    made = []

    @runner.operation
    def call(xs: Layouts, number):
        made.append(xs)
        if None in xs:
            return None
        picked = {"x": View("xs", index=number)}
        launch = Launch(scaled, (8,), ("x", "x", "out", xs[number].size, 1.0), 1.0)
        return Plan([launch], {"out": xs[number].plain()}, copied={"x": None}, views=picked)

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for _ in range(2):
        np.testing.assert_array_equal(call([x, x.T], 0), x * 2)
        np.testing.assert_array_equal(call([x, x.T], 1), x.T * 2)
        assert call([x, None], 0) is NotImplemented and call({0: x}, 0) is NotImplemented
        np.testing.assert_array_equal(call((x, x.T), 1), x.T * 2)
    assert made == [(layout_of(x), layout_of(x.T))] * 2 + [(layout_of(x), None)]


def test_plans_are_made_anew_for_another_number_of_threads():
    made, threads = [], rushlight.get_num_threads()
    call = planned(made)
    try:
        for count in (1, 2):
            rushlight.set_num_threads(count)
            call(np.ones(3, np.float32), None, None, 1.0)
    finally:
        rushlight.set_num_threads(threads)
    assert len(made) == 2


def test_launches_go_to_all_threads_from_some_microseconds_on():
    plans = [Plan([Launch(scaled, (8,), (), nanoseconds)], {}) for nanoseconds in (10, 1e6)]
    calls = [runner.runner(plan, ()).__closure__[0].cell_contents for plan in plans]
    one = runner.kernel_of(plans[0].launches[0])
    assert calls == [one.alone, one.threaded]


PLANNED = sorted(name for name in routing.ELEMENTS if routing.plan_of(name) is not None)


def refuse(*arguments):
    raise AssertionError("a plan compiles nothing")


def test_planning_compiles_nothing(monkeypatch):
    monkeypatch.setattr(kernel, "compiled", refuse)
    monkeypatch.setattr(runner, "compiled", refuse)
    rows = Layout((1 << 20, 1 << 20), F32)  # no such array could be
    plan = routing.plan_of("softmax")(rows, 1, None)
    assert plan.results == {"out": rows} and plan.launches[0].nanoseconds > 1e10
    assert routing.plan_of("softmax")(rows._replace(strides=(4, 1 << 22)), 1, None) is None
    assert routing.plan_of("sum")(rows, (0,), True, None).results == {"out0": Layout((1, 1 << 20), F32)}
    turned = routing.plan_of("mean")(Layout((5, 6, 7), F32, (4, 140, 20)), (2,), False, None)
    assert turned.turned == {"out0": [1, 0]} and routing.plan_of("masked_select") is None
    assert len(PLANNED) > 20


X, W = np.random.default_rng(0).standard_normal((6, 8, 5)).astype(np.float32), np.ones(8, np.float32)
DEEP = np.moveaxis(np.random.default_rng(1).standard_normal((3, 6, 5, 7)).astype(np.float32), -1, 1)  # channels last
M = np.random.default_rng(2).standard_normal((48, 56)).astype(np.float32)[:, :48]
KERNEL = np.random.default_rng(2).standard_normal((8, 7, 3, 3)).astype(np.float32)
STATISTICS = np.ones((6, 2), np.float32)
CALLS = {
    "softmax": (X, 1, None),
    "layer_norm_parts": (X, (5,), W[:5], None, 1e-5),
    "sum": (X, (0, 1), False, None),
    "max_dim": (X, 1, True),
    "var_corrected": (X, (2,), 1, False),
    "group_norm_gradients": (X, X, W, 2, 1e-5, STATISTICS, STATISTICS),
    "cat": ([X, X[:, 2:], X], 1),
    "stack": ([X, X, X], -1),
    "complex_of_parts": (X, X),
    "max_pool_values": (DEEP, (2, 2), (2, 2), (0, 0), (1, 1), (3, 2)),
    "max_pool_places": (DEEP.astype(np.float16)[:, :, ::2], (2, 2), (2, 2), (1, 1), (1, 1), (2, 3)),
    "max_pool_values_gradient": (DEEP[..., :3, :2] + 0, DEEP, (2, 2), (2, 2), (0, 0), (1, 1), (3, 2)),
    "avg_pool": (X, (8, 5), (8, 5), (0, 0), (1, 1), True, None),
    "avg_pool_gradient": (DEEP[..., :3, :2], (6, 5), (2, 2), (2, 2), (0, 0), True, None),
    "adaptive_avg_pool": (DEEP, (4, 3)),
    "interpolate_parts": (DEEP[:, :, ::2], (6, 9), (None, None), "bilinear", False, False),
    "interpolate_gradient": (DEEP[None].astype(np.float16).copy(), (3, 9, 9), (None,) * 3, "trilinear", False, False),
    "convolution": (DEEP, KERNEL, W, (1, 2), (1, 1), (1, 1), 1),
    "convolution_input_gradient": (
        DEEP[..., :3] + 0,
        np.moveaxis(KERNEL, 0, 1) + 0,
        (3, 8, 6, 6),
        (1, 2),
        (1, 1),
        (1, 1),
        1,
    ),
    "transposed_convolution": (
        DEEP.astype(np.float16),
        KERNEL[:7].astype(np.float16),
        W[:7].astype(np.float16),
        (3, 7, 6, 5),
        (1, 1),
        (1, 1),
        (1, 1),
        1,
    ),
    "convolution_weight_gradient": (np.ones((3, 8, 6, 3), np.float32), DEEP, (8, 7, 3, 3), (1, 2), (1, 1), (1, 1), 1),
    "fft_c2c": (X.astype(np.complex64), (0, 1), None, True),
    "fft_r2c": (DEEP[:, :, ::2], (2, 1), "ortho", True),
    "fft_c2r": (X.astype(np.complex128).T, (1, 0, 2), None, 11),
    "mse_loss_pair": (X.transpose(2, 0, 1), X.transpose(2, 0, 1), "none", 0.0),
    "smooth_l1_loss_pair": (X, X, "mean", 1.0),
    "binary_cross_entropy_with_logits_pair": (X, X, X, None, "sum"),
    "huber_loss_gradient": (np.array(1, np.float32), X.T, X.T, "mean", 1.0),
    "dot": (W, W),
    "constant_pad_nd": (np.moveaxis(np.ones((2, 4, 3, 30), np.float32), -1, 1), (1, 0, 2, 3, 1, 1), 2),
    "pad_by_places": (X.T, (30, 2), "circular"),
    "index": (np.ones((600, 40), np.float32), (np.arange(-300, 300), None)),
    "take": (np.ones((600, 40), np.float16), np.arange(9000, dtype=np.int32).reshape(3, -1)),
    "embedding_gradient": (np.ones((7, 3), np.float16), np.arange(7), 9, -1, False),
    "index_add": (X.T.copy(), 1, np.arange(3), np.ones((5, 3, 6), np.float32), 1),
    "index_copy": (X, 1, np.arange(3), X[:, ::3]),
    "index_fill": (X.astype(np.float16), 1, np.arange(-3, 3), 2.5),
    "index_put_arrays": (X, (None, np.arange(3)), X[:, :1], True),
    "put": (np.ones(5000, np.float32), np.arange(5000), np.ones((50, 100), np.float32), False),
    "scatter_add": (X.astype(np.float16), 1, np.zeros((6, 2, 5), np.int64), np.ones((6, 2, 5), np.float16)),
    "scatter_value": (X, 0, np.zeros((2, 8, 5), np.int32), 3),
    "scatter_reduce": (X, 0, np.zeros((2, 8, 5), np.int64), X[::3], "mean", False),
    "placed": (X[0], 0, np.zeros((8, 5), np.int64), (6, 8, 5)),
    "masked_scatter": (X, X > 0, X.T),
    "pooled_rows": (X[0], np.arange(8), np.array([0, 3]), np.array([3, 8]), None, "max", False, False),
    "pooled_rows_gradient": (X[0, :2], np.arange(8), np.array([0, 3]), np.array([3, 8]), W, 9, "mean", True),
    "sparse_line_sums": (np.array([0, 3, 8]), np.arange(8), None, W, X[0]),
    "sparse_line_products": (np.arange(8), np.arange(8), X[0], X[0]),
    "cdist_pairs": (X, X[:1, ::-1], 2.0, False),
    "pdist_pairs": (X, 3.0),
    "distance_gradient": (X @ X.mT, X, X, 1.0, X @ X.mT),
    "mm": (M, M.T),
    "mv": (np.tile(M, (6, 8)), np.tile(M[0], 16)[::2]),
    "transposed_mm": (M, M),
    "bmm": (np.ones((20, 3, 4), np.float16), np.ones((20, 5, 4), np.float16).mT),
    "batched_product": (np.stack([M, M]), M),
    "addmm": (M[0], M, M, 0.5, 2),
    "baddbmm": (np.ones((4, 40, 40), np.float32), *[np.ones((4, 40, 40), np.float32)] * 2, 1, 1),
    "scaled_scores": (np.ones((20, 3, 4)), np.ones((20, 5, 4)), 0.5),
    "linear_rows": (M, M, M[0]),
    "linear_gradients": (M.T, M, M, (True, True, True), True),
    "attention": (DEEP[:2], DEEP[:2, :1], DEEP[:2, :1], np.zeros((6, 1), np.float32), False, 0.5),
    "attention_backward": (*[DEEP] * 5, np.ones((3, 7, 6), np.float32), None, True, 0.5),
    "lstm_layer": (X[..., :4], X[0, :, :1], X[0, :, :1], np.ones((4, 1), np.float32), True),
    "gru_layer": (X[..., :3], X[0, :, :1], np.ones((3, 1), np.float32), None, False),
    "rnn_layer": (X, X[0], X[0, :5], True, False),
    "lstm_sequence": (X, None, None, *[M[:20, :5].astype(np.float16)] * 2, M[0, :20], M[1, :20], False),
    "gru_sequence": (X.swapaxes(0, 1), None, M[:15, :5], M[:15, :5], M[0, :15], None, True),
    "rnn_sequence": (X, X[1], M[:5, :5], M[:5, :5], M[0, :5], None, False, False),
    "lstm_layer_backward": (X, None, None, X[0], X[1], M[:20, :5], X, X, np.ones((6, 8, 20), np.float32), False),
    "lstm_sequence_backward": (
        X,
        X,
        None,
        None,
        None,
        M[:20, :5],
        X,
        X,
        np.ones((6, 8, 20), np.float32),
        True,
        X,
        True,
    ),
    "gru_layer_backward": (X, None, None, X[0], M[:15, :5], X, np.ones((6, 8, 15), np.float32), X, False),
    "gru_sequence_backward": (X, None, None, None, M[:15, :5], X, np.ones((6, 8, 15), np.float32), X, False, X, False),
    "rnn_layer_backward": (X, X[0], M[:5, :5], X, True, True),
    "rnn_sequence_backward": (X, X[0], M[:5, :5], X, True, True, X, True),
    "histc": (W, 20, -1, 1),
    "histogram_counts": (X.reshape(-1, 1), [np.linspace(-1, 1, 9, dtype=np.float32)], None, True, ""),
    "multinomial": (W, 3, True, None),
    "count_nonzero": (X.T, (0,)),
    "sort_pair": (np.ones((3, 70, 4), np.float16).transpose(2, 1, 0), 1, True, False),
    "mode_pair": (np.ones((70, 3), np.int32), 0, True),
    "topk_pair": (np.ones((70, 40), np.float32), 30, 0, False, True),
    "pad_by_places_gradient": (np.ones((2, 3, 9), np.float32)[:, ::-1], (2, 3, 7), (1, 1), "reflect"),
}


def layouts_of(argument):
    if isinstance(argument, (list, tuple)) and any(isinstance(each, np.ndarray) for each in argument):
        return tuple(map(layouts_of, argument))
    return layout_of(argument) if isinstance(argument, np.ndarray) else argument


@pytest.mark.parametrize("name", CALLS)
def test_results_have_the_layouts_of_the_plan(name, monkeypatch):
    with monkeypatch.context() as refused:
        refused.setattr(runner, "compiled", refuse)
        plan = routing.plan_of(name)(*map(layouts_of, CALLS[name]))
    found = KERNELS[name](*CALLS[name])
    found = found if isinstance(found, tuple) else (found,)
    assert list(map(layouts_of, found)) == list(plan.returned.values())


def test_two_launches_and_scratch_of_one_plan():
    x = rushlight.randn(4, 8, 300, dtype=rushlight.float64, requires_grad=True)
    weight = rushlight.randn(8, dtype=rushlight.float64, requires_grad=True)
    found = rushlight.nn.functional.group_norm(x, 2, weight).square().sum()
    found.backward()
    plain = x.detach().reshape(4, 2, -1)
    plain = (plain - plain.mean(-1, keepdim=True)) / (plain.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    normal = plain.reshape(x.shape)
    expected = (2 * normal.square() * weight.detach()[:, None]).sum((0, 2))
    assert rushlight.allclose(weight.grad, expected)


def test_half_precision_by_single():
    half, lengths = np.dtype(np.float16), (8, 8)
    grad, places = Layout((2, 3, 4, 4), half, (2, 4, 48, 12)), Layout((2, 3, 4, 4), np.dtype(np.int64))
    plan = routing.plan_of("places_gradient")(grad, places, lengths)
    assert plan.copied["grad"] in (F32, Layout(grad.shape, F32)) and plan.results["found"].dtype == F32
    assert plan.returned == {"found": Layout((2, 3, 8, 8), half)}
    assert routing.plan_of("places_gradient")(grad, places._replace(dtype=half), lengths) is None
