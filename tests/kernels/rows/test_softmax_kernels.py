"""Softmax, log_softmax, cross entropy and their gradients by generated kernels, against float64 and PyTorch."""

import math

import numpy as np
import pytest

import rushlight
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.compiler.kernel import compiled
    from rushlight.kernels.rows import cross_entropy, softmax
    from rushlight.kernels.rows.row_programs import build

INF, NAN = math.inf, math.nan
SHAPES = [  # shape, dimension: short rows, odd ones, rows that are cut into parts, columns, columns in parts
    ((64, 10), 1),
    ((7,), 0),
    ((30,), 0),
    ((5, 50), 1),
    ((33, 1000), 1),
    ((3, 70001), 1),
    ((5, 9), 0),
    ((5, 100), 0),
    ((4, 70, 33), 1),
    ((2, 300, 40), 1),
    ((1000, 3), 0),
    ((6, 300), 0),
    ((2, 300, 161), 1),
]
TOLERANCES = {np.float16: 2e-3, np.float32: 2e-6, np.float64: 1e-13}


def numbers(shape, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 3).astype(dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_against_float64(name, shape, dim, dtype):
    array, grad, tolerance = numbers(shape, dtype), numbers(shape, dtype, 1), TOLERANCES[dtype]
    found = getattr(softmax, name)(array, dim, None)
    expected = TABLE[name].forward(array.astype(float), dim, None)
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    np.testing.assert_allclose(
        found.astype(float), expected, rtol=tolerance, atol=tolerance / (1 if name == "log_softmax" else 8)
    )
    found = getattr(softmax, name + "_gradient")(grad, found, dim)
    expected = TABLE[name + "_gradient"].forward(grad.astype(float), expected, dim)
    scale = max(1.0, np.abs(grad.astype(float).sum(dim)).max())
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    np.testing.assert_allclose(found.astype(float), expected, rtol=8 * tolerance, atol=8 * scale * tolerance)


@pytest.mark.parametrize("repeat", [1, 20])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_special_values(name, repeat):
    rows = [[1, NAN, 2], [INF, 1, 1], [-INF, -INF, -INF], [-INF, 0, 1], [3e38, -3e38, 0], [88, -88, 1e-40]]
    array = np.repeat(np.array(rows, np.float32), repeat, axis=1)
    with np.errstate(all="ignore"):
        expected = TABLE[name].forward(array, 1, None)
        np.testing.assert_allclose(getattr(softmax, name)(array, 1, None), expected, rtol=1e-6, atol=1e-37)
        found = getattr(softmax, name)(np.ascontiguousarray(array.T), 0, None)
        np.testing.assert_allclose(found.T, expected, rtol=1e-6, atol=1e-37)


def test_what_is_declined():
    array = numbers((40, 30), np.float32)
    assert softmax.softmax(array.T, 1, None) is NotImplemented
    assert softmax.softmax(array, 1, rushlight.float64) is NotImplemented
    assert softmax.softmax(array[:0], 1, None) is NotImplemented
    assert softmax.softmax(array.astype(np.int32), 1, None) is NotImplemented
    assert softmax.softmax_gradient(array, array.astype(np.float64), 1) is NotImplemented
    assert cross_entropy.cross_entropy(array, np.zeros(40, np.uint8), None, "mean", -100, 0.0, True) is NotImplemented


def test_threads_change_nothing():
    array, columns = numbers((3, 100001), np.float32), numbers((2, 700, 50), np.float32)
    scores, classes = numbers((900, 70), np.float32), np.arange(900) % 70
    found, before = [], rushlight.get_num_threads()
    try:
        for threads in (1, 2, 5):
            rushlight.set_num_threads(threads)
            results = [softmax.softmax(array, 1, None), softmax.log_softmax(columns, 1, None)]
            results += cross_entropy.cross_entropy(scores, classes, None, "mean", -100, 0.0, True)
            found.append(b"".join(r.tobytes() for r in results))
    finally:
        rushlight.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize(("shape", "dim"), [((5, 3), 1), ((4, 70), 1), ((2, 33000), 1), ((6, 7), 0), ((300, 7), 0)])
def test_widths_of_vectors(lanes, shape, dim):
    array = numbers(shape, np.float32)
    plan = softmax.plan_along(shape, dim, lanes)
    operation = softmax.Softmax("f32", False, plan.kind[2])
    kernel = compiled(("test softmax", lanes, plan.kind), lambda: build("softmax", operation, plan.kind, lanes))
    out = np.empty_like(array)
    works = (
        [np.empty(n, np.float32) for n, count in zip(plan.works, (2, 2)) for _ in range(count)] if plan.kind[2] else []
    )
    kernel.threaded(array, out, *works, *plan.sizes)
    np.testing.assert_allclose(out, TABLE["softmax"].forward(array.astype(float), dim, None), rtol=3e-6, atol=1e-8)


# ---------------------------------------------------------------- cross entropy


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", [(64, 10), (1, 3), (7, 40), (130, 100), (3, 5000)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(shape, reduction, dtype):
    x, tolerance = numbers(shape, dtype), 3 * TOLERANCES[dtype]
    generator = np.random.default_rng(3)
    weights = generator.random(shape[1]).astype(dtype)
    target = generator.integers(0, shape[1], shape[0])
    grad = np.asarray(generator.standard_normal(shape[0] if reduction == "none" else ()), dtype)
    if shape[0] > 1:
        target[0] = -100
    for weight, ignored, smoothing in (
        (None, -100, 0.0),
        (None, -100, 0.1),
        (weights, -100, 0.0),
        (None, int(target[-1]), 0.2),
    ):
        usable = np.where(target == -100, 0, target) if ignored != -100 else target
        options = (weight, reduction, ignored, smoothing)
        wide = (None if weight is None else weight.astype(float), *options[1:])
        with np.errstate(all="ignore"):
            found = cross_entropy.cross_entropy(x, usable, *options, True)
            expected = TABLE["cross_entropy_parts"].forward(x.astype(float), usable, *wide, True)
            kinds = TABLE["cross_entropy_parts"].forward(x, usable, *options, True)
            for a, b, c in zip(found, expected, kinds):
                assert (a.shape, a.dtype) == (c.shape, c.dtype)
                np.testing.assert_allclose(a.astype(float), b, rtol=tolerance, atol=tolerance)
            found = cross_entropy.cross_entropy_gradient(found[2], grad, usable, *options, found[1], False)
            expected = TABLE["cross_entropy_gradient"].forward(
                expected[2], grad.astype(float), usable, *wide, expected[1], False
            )
        assert (found.shape, found.dtype) == (x.shape, x.dtype)
        np.testing.assert_allclose(found.astype(float), expected, rtol=3 * tolerance, atol=tolerance)


def test_classes_out_of_range_are_refused():
    scores = numbers((4, 3), np.float32)
    for wrong in (3, -1, 1 << 40):
        with pytest.raises(IndexError, match=f"^Target {wrong} is out of bounds"):
            cross_entropy.cross_entropy(scores, np.array([0, 1, wrong, 0]), None, "mean", -100, 0.0, True)


def test_ignored_rows_may_hold_anything():
    scores = np.array([[NAN, 1], [0, 0]], np.float32)
    loss, total, logs = cross_entropy.cross_entropy(scores, np.array([-100, 1]), None, "mean", -100, 0.0, True)
    assert float(loss) == pytest.approx(math.log(2))
    grad = np.ones((), np.float32)
    found = cross_entropy.cross_entropy_gradient(logs, grad, np.array([-100, 1]), None, "mean", -100, 0.0, total, False)
    np.testing.assert_allclose(found, [[0, 0], [0.5, -0.5]])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_fused_cross_entropy_differentiates_twice(reduction, smoothing):
    scores = rushlight.tensor(numbers((4, 5), np.float64), requires_grad=True)
    target = rushlight.tensor([1, 0, -100, 4])

    def loss(x):
        return rushlight.nn.functional.cross_entropy(x, target, reduction=reduction, label_smoothing=smoothing)

    assert rushlight.autograd.gradcheck(loss, (scores,))
    assert rushlight.autograd.gradgradcheck(loss, (scores,))
