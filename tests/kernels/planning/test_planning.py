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
from rushlight.kernels.planning.layout import Layout, laid, layout_of
from rushlight.kernels.planning.plan import HostStep, Launch, Passed, Plan
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


def planned(made, *, copied=(), laid=None, accepts=lambda x: True):
    """An operation that counts its plans in ``made``."""

    @runner.operation
    def operation(x: Layout, y: Layout | None, option, factor: Passed):
        made.append((x, y, option, factor))
        if not accepts(x):
            return None
        second = "x" if y is None else "y"
        launch = Launch(scaled, (8,), ("x", second, "out", x.size, factor), 1.0)
        found = laid(x.shape, x.dtype, range(x.ndim)[::-1]) if laid else x.plain()
        copies = {name: {"x": x, "y": y, "out": found}[name].plain() for name in copied}
        return Plan([launch], {"out": found}, copied=copies)

    return operation


def test_layouts_of_arrays():
    array = np.zeros((3, 4), np.float32)
    assert layout_of(array) == Layout((3, 4), F32) and layout_of(array).is_plain
    assert layout_of(array.T) == Layout((4, 3), F32, (4, 16)) and not layout_of(array.T).is_plain
    assert layout_of(array.T).turned([1, 0]) == layout_of(array)
    assert layout_of(array[:, ::2]).turned([1, 0]).strides == (8, 16)
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
    call = planned(made, copied=("x", "y"))
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    for one, other in ((x, x), (x.T, x.T), (x[::2], x[::2]), (x[:2], x[::2]), (x.T, x.T)):
        found = call(one, other, None, 2.0)
        np.testing.assert_array_equal(found, one * 3 if one is other or len(one) > 2 else one * 2 + other)
        assert found.flags.c_contiguous
    assert len(made) == 4 and made[3][0].is_plain and made[3][1].strides == (48, 4)


@pytest.mark.parametrize("copied", [(), ("out",)])
def test_results_in_other_orders(copied):
    call = planned([], laid=laid, copied=copied)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    found = call(x, None, None, 1.0)
    np.testing.assert_array_equal(found, 2 * x.reshape(3, 2).T)
    assert found.flags.c_contiguous == bool(copied) != found.flags.f_contiguous and found.base is None


def test_host_steps_and_memory_that_is_kept():
    """Launches read what the host wrote between them, into memory of a shape, and into such as stays."""
    seen = []

    @runner.operation
    def operation(x: Layout):
        launches = [
            HostStep(np.add, ("x", 1.0, "square")),
            Launch(scaled, (8,), ("square", "square", "many", x.size, 2.0), 1.0),
            HostStep(lambda many: seen.append(many), ("many",)),
            Launch(scaled, (8,), ("many", "x", "out", x.size, 1.0), 1.0),
        ]
        return Plan(launches, {"out": x}, scratch=[("square", x.shape, x.dtype)], kept=[("many", 1 << 16, x.dtype)])

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for _ in range(2):
        np.testing.assert_array_equal(operation(x), 3 * (x + 1) + x)
    assert seen[0] is seen[1] and seen[0].shape == (1 << 16,)


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


def test_launches_go_to_all_threads_from_some_microseconds_on():
    plans = [Plan([Launch(scaled, (8,), (), nanoseconds)], {}) for nanoseconds in (10, 1e6)]
    calls = [runner.runner(plan, ()).__closure__[0].cell_contents for plan in plans]
    one = runner.kernel_of(plans[0].launches[0])
    assert calls == [one.alone, one.threaded]


PLANNED = sorted(name for name in routing.ELEMENTS if routing.plan_of(name) is not None)


def test_planning_compiles_nothing(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a plan compiles nothing")

    monkeypatch.setattr(kernel, "compiled", refuse)
    monkeypatch.setattr(runner, "compiled", refuse)
    rows = Layout((1 << 20, 1 << 20), F32)  # no such array could be
    plan = routing.plan_of("softmax")(rows, 1, None)
    assert plan.results == {"out": rows} and plan.launches[0].nanoseconds > 1e10
    assert routing.plan_of("softmax")(rows._replace(strides=(4, 1 << 22)), 1, None) is None
    assert routing.plan_of("sum")(rows, (0,), True, None).results == {"out0": Layout((1, 1 << 20), F32)}
    turned = routing.plan_of("mean")(Layout((5, 6, 7), F32, (4, 140, 20)), (2,), False, None)
    assert turned.results == {"out0": Layout((5, 6), F32, (4, 20))} and turned.returned == {"out0": Layout((5, 6), F32)}
    assert routing.plan_of("count_nonzero") is None
    assert len(PLANNED) > 20


@pytest.mark.parametrize(
    "name", ["softmax", "layer_norm_parts", "sum", "max_dim", "var_corrected", "group_norm_gradients"]
)
def test_results_have_the_layouts_of_the_plan(name):
    x, w = np.random.default_rng(0).standard_normal((6, 8, 5)).astype(np.float32), np.ones(8, np.float32)
    statistics = np.ones((6, 2), np.float32)
    arguments = {
        "softmax": (x, 1, None),
        "layer_norm_parts": (x, (5,), w[:5], None, 1e-5),
        "sum": (x, (0, 1), False, None),
        "max_dim": (x, 1, True),
        "var_corrected": (x, (2,), 1, False),
        "group_norm_gradients": (x, x, w, 2, 1e-5, statistics, statistics),
    }[name]
    plan = routing.plan_of(name)(*[layout_of(a) if isinstance(a, np.ndarray) else a for a in arguments])
    found = KERNELS[name](*arguments)
    found = found if isinstance(found, tuple) else (found,)
    assert [layout_of(each) for each in found] == list(plan.returned.values())


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
    assert plan.copied["grad"] == Layout(grad.shape, F32) and plan.results["found"].dtype == F32
    assert plan.returned == {"found": Layout((2, 3, 8, 8), half)}
    assert routing.plan_of("places_gradient")(grad, places._replace(dtype=half), lengths) is None
