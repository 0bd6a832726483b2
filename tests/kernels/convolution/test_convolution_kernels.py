"""Convolution kernels against plain float64 sums over taps, in machine code of every width and in the interpreter."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.kernels.convolution.correlation import Correlation
from rushlight.kernels.convolution.forward import convolution, convolution_input_gradient, forward_operands
from rushlight.kernels.convolution.weight_gradient import convolution_weight_gradient
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning import layout

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")

# input, weight, stride, padding, dilation, groups
CASES = [
    ((2, 3, 9, 11), (5, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 3, 9, 11), (5, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((3, 4, 9, 11), (6, 2, 3, 3), (2, 2), (1, 1), (1, 1), 2),
    ((2, 4, 20, 21), (8, 4, 3, 2), (2, 3), (1, 2), (2, 1), 1),
    ((2, 3, 40, 41), (17, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    ((2, 8, 7, 9), (8, 1, 3, 3), (1, 1), (1, 1), (1, 1), 8),
    ((2, 8, 17, 9), (16, 1, 3, 3), (2, 2), (1, 1), (1, 1), 8),
    ((2, 2, 6, 40), (9, 2, 3, 3), (1, 1), (2, 2), (2, 2), 1),
    ((1, 2, 4, 4), (3, 2, 1, 1), (1, 1), (3, 3), (1, 1), 1),
    ((2, 8, 7, 7), (16, 8, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((1, 8, 7, 7), (20, 8, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((3, 2, 1, 1), (9, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((9, 3, 5, 6), (70, 3, 2, 2), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 30), (4, 3, 5), (1,), (2,), (1,), 1),
    ((2, 3, 30), (4, 3, 5), (3,), (2,), (2,), 1),
    ((2, 2, 5, 6, 7), (3, 2, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((2, 2, 5, 6, 7), (3, 2, 2, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 1),
    ((2, 5, 3, 4, 5), (8, 5, 1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1), 1),
    ((2, 3, 131), (4, 3, 8), (8,), (0,), (1,), 1),
    ((2, 3, 131), (4, 3, 3), (9,), (1,), (1,), 1),
    ((2, 2, 15, 20), (3, 2, 3, 3), (2, 1), (1, 1), (1, 1), 1),
    # staged densely: slabs copied as a whole, row by row, of several depths, with a lone window, once for several chunks
    ((2, 33, 14, 14), (24, 33, 3, 3), (1, 1), (2, 2), (2, 2), 1),
    ((2, 33, 15, 13), (24, 33, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((2, 16, 4, 9, 9), (33, 16, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((1, 20, 7, 7), (40, 20, 5, 5), (1, 1), (2, 2), (1, 1), 1),
    ((1, 40, 12, 14), (70, 40, 3, 3), (1, 1), (4, 4), (4, 4), 1),
    # products of matrices: kernels as large as the input; the weight's gradient of 1 x 1 ones
    ((5, 4, 3, 2), (7, 4, 3, 2), (2, 1), (0, 0), (1, 1), 1),
    ((3, 6, 1, 1), (5, 6, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((1, 3, 5), (6, 3, 5), (1,), (0,), (1,), 1),
    ((2, 200, 5, 4), (200, 200, 1, 1), (2, 1), (0, 0), (1, 1), 1),
    ((2, 240, 5, 4), (128, 240, 3, 3), (2, 1), (1, 2), (1, 2), 1),
    # depthwise, the channels along the lanes
    ((9, 20, 9, 7), (20, 1, 3, 5), (1, 2), (1, 2), (1, 1), 20),
    ((2, 33, 5, 6), (33, 1, 7, 7), (1, 1), (3, 3), (1, 1), 33),
    ((2, 14, 8, 9), (14, 1, 3, 3), (1, 1), (4, 3), (1, 2), 14),
    ((1, 12, 40), (12, 1, 9), (1,), (0,), (3,), 12),
    ((3, 16, 1, 1), (16, 1, 1, 1), (1, 1), (0, 0), (1, 1), 16),
]
LARGE = ((3, 40, 45, 47), (37, 40, 3, 3), (1, 1), (1, 1), (1, 1), 1)


def out_lengths(lengths, kernel, stride, padding, dilation):
    given = zip(lengths, kernel, stride, padding, dilation)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in given)


def reference(input, weight, grad, stride, padding, dilation, groups):
    """(output without bias, input's gradient, weight's gradient) in float64."""
    x, w, g = (a.astype(np.float64) for a in (input, weight, grad))
    spatial = [(p, p) for p in padding]
    source = np.pad(x, [(0, 0), (0, 0), *spatial]).reshape(
        x.shape[0], groups, -1, *(n + 2 * p for n, p in zip(x.shape[2:], padding))
    )
    w = w.reshape(groups, -1, *weight.shape[1:])
    out = grad.shape[2:]
    flowing = g.reshape(g.shape[0], groups, -1, *out)
    found, d_source, d_weight = np.zeros_like(flowing), np.zeros_like(source), np.zeros_like(w)
    for tap in itertools.product(*map(range, weight.shape[2:])):
        window = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in zip(tap, dilation, stride, out))
        part, here = source[(..., *window)], w[(..., *tap)]
        found += np.einsum("ngc...,goc->ngo...", part, here)
        d_source[(..., *window)] += np.einsum("ngo...,goc->ngc...", flowing, here)
        axes = "xyz"[: len(out)]
        d_weight[(..., *tap)] = np.einsum(f"ngo{axes},ngc{axes}->goc", flowing, part)
    inside = tuple(slice(p, p + n) for p, n in zip(padding, x.shape[2:]))
    d_input = d_source[(..., *inside)].reshape(x.shape)
    return found.reshape(grad.shape), d_input, d_weight.reshape(weight.shape)


def operands(case, dtype, seed=0):
    shape, kernel, *options = case
    random = np.random.default_rng(seed)
    out = out_lengths(shape[2:], kernel[2:], *options[:3])
    shapes = (shape, kernel, (kernel[0],), (shape[0], kernel[0], *out))
    return [random.standard_normal(s).astype(dtype) for s in shapes], options


def check(found, wanted, dtype):
    tolerance = 2e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize(
    "case, dtype",
    [*((case, np.float32) for case in [*CASES, LARGE]), *((case, np.float64) for case in [*CASES[:6], *CASES[21:]])],
    ids=str,
)
def test_against_sums_over_taps(case, dtype):
    (input, weight, bias, grad), options = operands(case, dtype)
    found, d_input, d_weight = reference(input, weight, grad, *options)
    plain = convolution(input, weight, None, *options)
    assert plain.dtype == dtype and plain.shape == grad.shape and plain.flags.c_contiguous
    check(plain, found, dtype)
    check(convolution(input, weight, bias, *options), found + bias.reshape(-1, *[1] * (grad.ndim - 2)), dtype)
    check(convolution_input_gradient(grad, weight, input.shape, *options), d_input, dtype)
    check(convolution_weight_gradient(grad, input, weight.shape, *options), d_weight, dtype)


def launched(case, dtype):
    """The names of what the three operations launch last before they look at what they have."""
    shape, kernel, *options = case
    x, w = (layout.Layout(each, np.dtype(dtype)).spread() for each in (shape, kernel))
    grad = layout.Layout((shape[0], kernel[0], *out_lengths(shape[2:], kernel[2:], *options[:3])), x.dtype).spread()
    yield convolution.plan(x, w, None, *options)
    yield convolution_input_gradient.plan(grad, w, shape, *options)
    yield convolution_weight_gradient.plan(grad, x, kernel, *options)


def names_of(plan):
    """The names of the kernels that a plan launches."""
    return [launch.name for launch in plan.launches if hasattr(launch, "name")]


def all_three(case, dtype=np.float32):
    """What the three operations give, each with what it should be."""
    (input, weight, bias, grad), options = operands(case, dtype)
    found, d_input, d_weight = reference(input, weight, grad, *options)
    yield convolution(input, weight, bias, *options), found + bias.reshape(-1, *[1] * (grad.ndim - 2))
    yield convolution_input_gradient(grad, weight, input.shape, *options), d_input
    yield convolution_weight_gradient(grad, input, weight.shape, *options), d_weight


@pytest.fixture
def narrow(monkeypatch, fresh_plans):
    """Plan for vectors of so many bytes; wider ones than the machine's are skipped."""

    def begin(vector_bytes):
        if vector_bytes > host().vector_bytes:
            pytest.skip("wider than the machine's")
        monkeypatch.setattr(layout, "lanes", lambda size: vector_bytes // size)

    return begin


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("case", [CASES[i] for i in (0, 3, 5, 12, 21, 22, 23, 25, 26, 27, 28)], ids=str)
def test_vectors_of_every_width(case, vector_bytes, narrow):
    narrow(vector_bytes)
    for found, wanted in all_three(case):
        check(found, wanted, np.float32)


@pytest.mark.parametrize("vector_bytes", [16, 64])
@pytest.mark.parametrize(
    "case",
    [
        ((1, 2, 4, 5), (3, 2, 3, 2), (1, 1), (1, 1), (1, 1), 1),
        ((1, 2, 5, 4), (2, 1, 2, 2), (2, 2), (0, 1), (1, 1), 2),
        ((1, 1, 4, 3), (9, 1, 2, 2), (1, 1), (0, 0), (1, 1), 1),
        ((1, 3, 7, 7), (10, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
        ((2, 9, 4, 5), (9, 1, 3, 2), (1, 2), (1, 1), (1, 1), 9),
        ((2, 2, 3, 7, 7), (10, 2, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
        ((1, 3, 9, 7), (17, 3, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ],
    ids=str,
)
def test_interpreter_agrees_and_stays_inside(case, vector_bytes, narrow, interpreted):
    narrow(vector_bytes)
    machine = [found for found, _ in all_three(case)]
    interpreted()
    for (found, _), wanted in zip(all_three(case), machine, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_small_images_are_staged_densely():
    """Vectors of windows without those between a row's end and the next one's beginning, where that pays."""

    def plan(input, weight, samples=16):
        options = (1, 1), (1, 1), (1, 1), 1
        shapes = (samples, *input), weight, out_lengths(input[1:], weight[2:], *options[:3])
        (correlated,), _ = forward_operands(*shapes, options)
        return Correlation(correlated, np.dtype(np.float64), False)

    small, once = plan((64, 7, 7), (64, 64, 3, 3)), plan((64, 7, 7), (64, 64, 3, 3), samples=1)
    assert small.staging.flat and small.staging.pitch == 7 and not small.kept and once.kept
    few = plan((64, 30, 30), (1, 64, 3, 3))
    assert not few.staging.dense and few.staging.pitch > 30  # staging would take longer than the products


def test_threads_change_nothing():
    threads = rushlight.get_num_threads()
    try:
        rushlight.set_num_threads(1)
        alone = [found for found, _ in all_three(LARGE)]
        rushlight.set_num_threads(2)
        for wanted, (found, _) in zip(alone, all_three(LARGE)):
            np.testing.assert_array_equal(found, wanted)
    finally:
        rushlight.set_num_threads(threads)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_reach_their_windows_alone(value):
    input, weight = np.ones((1, 1, 6, 20), np.float32), np.ones((2, 1, 3, 3), np.float32)
    input[0, 0, 2, 19] = value
    options = ((1, 1), (1, 1), (1, 1), 1)
    found = convolution(input, weight, None, *options)
    touched = np.zeros((6, 20), bool)
    touched[1:4, 18:] = True
    assert (np.isfinite(found) == ~touched).all()


def test_output_padding_leaves_elements_without_windows():
    """The input of a strided convolution can be longer than its windows: those elements get zeros."""
    grad, weight = np.ones((1, 1, 2, 2), np.float32), np.ones((1, 1, 2, 2), np.float32)
    found = convolution_input_gradient(grad, weight, (1, 1, 7, 7), (3, 3), (0, 0), (1, 1), 1)
    wanted = np.zeros((7, 7), np.float32)
    for i in (0, 3):
        for j in (0, 3):
            wanted[i : i + 2, j : j + 2] = 1
    np.testing.assert_array_equal(found[0, 0], wanted)


def test_declines_what_it_has_no_program_for():
    options = ((1, 1), (0, 0), (1, 1), 1)
    x, w = np.ones((1, 2, 5, 5), np.float32), np.ones((3, 2, 3, 3), np.float32)
    for a, b in [
        (x[:0], w),
        (x, w.astype(np.float64)),
        (x.astype(np.complex64), w.astype(np.complex64)),
        (x.astype(">f4"), w.astype(">f4")),
    ]:
        assert convolution(a, b, None, *options) is NotImplemented
    grad = np.ones((1, 3, 3, 3), np.float32)
    assert convolution_input_gradient(grad, w, (1, 2, 0, 5), *options) is NotImplemented
    assert convolution_weight_gradient(grad, x, (0, 2, 3, 3), *options) is NotImplemented


def half_dtypes():
    found = [np.dtype(np.float16)]
    try:
        import ml_dtypes
    except ImportError:
        return found
    return [*found, np.dtype(ml_dtypes.bfloat16)]


def deep(array):
    """The same numbers with channels side by side."""
    return np.moveaxis(np.moveaxis(array, 1, -1).copy(), -1, 1)


@pytest.mark.parametrize("dtype", half_dtypes(), ids=str)
@pytest.mark.parametrize("case", [CASES[i] for i in (0, 2, 6, 13)], ids=str)
def test_half_precision(case, dtype):
    """One rounding of what float32 gives."""
    arrays, options = operands(case, np.float32)
    input, weight, _, grad = (a.astype(dtype) for a in arrays)
    wanted = reference(*(a.astype(np.float32) for a in (input, weight, grad)), *options)
    found = (
        convolution(input, weight, None, *options),
        convolution_input_gradient(grad, weight, input.shape, *options),
        convolution_weight_gradient(grad, input, weight.shape, *options),
    )
    place = 2.0**-8 if dtype.name == "bfloat16" else 2.0**-11
    for got, right in zip(found, wanted):
        assert got.dtype == dtype
        np.testing.assert_allclose(got.astype(np.float64), right, rtol=1.01 * place, atol=1e-4)


@pytest.mark.parametrize("case", [CASES[i] for i in (0, 2, 5, 9, 15)], ids=str)
def test_any_layout(case):
    """Strided operands give the same numbers; channels_last ones give a result of that layout."""
    (input, weight, bias, grad), options = operands(case, np.float32)

    def computed(*layouts):
        x, w, g = (lie(a) for lie, a in zip(layouts, (input, weight, grad)))
        return (
            convolution(x, w, bias, *options),
            convolution_input_gradient(g, w, input.shape, *options),
            convolution_weight_gradient(g, x, weight.shape, *options),
        )

    def backwards(array):
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1]

    wanted = computed(*[np.asarray] * 3)
    for layouts in itertools.product((np.asarray, deep, backwards), repeat=3):
        for got, right, given in zip(computed(*layouts), wanted, ((0, 1), (2, 1), (2, 0))):
            np.testing.assert_allclose(got, right, rtol=2e-5, atol=2e-5 * np.abs(right).max())
            in_order = deep(right) if deep in [layouts[i] for i in given] else right
            assert got.strides == in_order.strides
