"""Kernels of sampling on a grid: PyTorch's results and gradients for all options, NumPy's, programs of all widths."""

import itertools

import numpy as np
import pytest

import rushlight as rl
from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.sampling import grid_sampling
from rushlight.kernels.sampling import grid_sampling_programs as programs
from rushlight.ops import grid as ops

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
OPTIONS = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)))
SHAPES = [((3, 2, 7, 9), (5, 13)), ((1, 64, 12, 5), (6, 7)), ((2, 3, 1, 1), (4, 5)), ((1, 1, 1, 40), (1, 1)),
          ((2, 5, 33, 31), (40, 21))]  # fmt: skip
SPECIAL = [np.nan, np.inf, -np.inf, -1.0, 1.0, 0.0, -3.0, 3.0, 1e9, -1e30, 0.75, -0.75, 0.5, -0.5]


def made(shape, out, dtype="f4", seed=0):
    """(input, grid, gradient)."""
    draw = np.random.default_rng(seed)
    grid = draw.uniform(-1.6, 1.6, (shape[0], *out, 2))
    # Places on the border itself, and halfway between elements.
    grid[:, 0, :1], grid[:, -1, -1:] = -1, 1
    arrays = draw.standard_normal(shape), grid, draw.standard_normal((*shape[:2], *out))
    return tuple(a.astype(dtype) for a in arrays)


def by_kernels(x, grid, grad, *options):
    found = [grid_sampling.grid_samples(x, grid, *options)]
    found.append(grid_sampling.grid_samples_input_gradient(grad, grid, x.shape[2:], *options))
    if options[0] != "nearest":
        found.append(grid_sampling.grid_samples_grid_gradient(grad, x, grid, *options))
    return found


def by_numpy(x, grid, grad, *options):
    with np.errstate(all="ignore"):
        found = [ops.grid_samples.forward(x, grid, *options)]
        found.append(ops.grid_samples_input_gradient.forward(grad, grid, x.shape[2:], *options))
        if options[0] != "nearest":
            found.append(ops.grid_samples_grid_gradient.forward(grad, x, grid, *options))
    return found


def assert_near(found, expected, tolerance):
    for mine, wanted in zip(found, expected, strict=True):
        assert mine is not NotImplemented
        assert (mine.shape, mine.dtype) == (wanted.shape, wanted.dtype)
        scale = np.nanmax(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=1.0)
        np.testing.assert_allclose(mine.astype("f8"), wanted.astype("f8"), tolerance, tolerance * scale)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape, out", SHAPES)
@pytest.mark.parametrize("options", OPTIONS)
def test_numpys_results(options, shape, out, dtype):
    arrays = made(shape, out, dtype)
    assert_near(by_kernels(*arrays, *options), by_numpy(*arrays, *options), 1e-4 if dtype == "f4" else 1e-12)


VOLUMES = [((2, 3, 5, 6, 7), (4, 5, 6)), ((1, 2, 1, 4, 3), (3, 9, 5)), ((1, 17, 9, 8, 10), (5, 3, 7))]


def points_of_volumes(shape, out, dtype):
    draw = np.random.default_rng(0)
    grid = draw.uniform(-1.6, 1.6, (shape[0], *out, 3))
    grid[:, 0, 0, :2] = -1, 1, 0.5
    arrays = draw.standard_normal(shape), grid, draw.standard_normal((*shape[:2], *out))
    return tuple(a.astype(dtype) for a in arrays)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape, out", VOLUMES)
@pytest.mark.parametrize("options", [options for options in OPTIONS if options[0] != "bicubic"])
def test_volumes(options, shape, out, dtype):
    arrays = points_of_volumes(shape, out, dtype)
    assert_near(by_kernels(*arrays, *options), by_numpy(*arrays, *options), 1e-4 if dtype == "f4" else 1e-12)


def check_programs(x, grid, grad, lanes, options):
    """Interpreted, the three programs of 2 samples, 3 channels and 21 points each agree with NumPy."""
    form, lengths, points = programs.Form("f32", None, lanes, x.ndim - 2, *options), x.shape[2:], 21
    found = [np.empty_like(grad), np.empty_like(x)]
    interpret(programs.forward_program(form), x, grid, found[0], 2, 3, *lengths, points, 2 * lanes)
    area = form.elements * lanes * 4
    own = np.empty(area, "f4"), np.empty(area, "i4")
    interpret(programs.input_gradient_program(form), grad, grid, found[1], *own, 2, 3, *lengths, points, 2)
    if options[0] != "nearest":
        found.append(np.empty_like(grid))
        program = programs.grid_gradient_program(form)
        interpret(program, grad, x, grid, found[2], 2, 3, *lengths, points, 2 * lanes)
    assert_near(found, by_numpy(x, grid, grad, *options), 1e-4)


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize("options", [("bilinear", "border", True), ("nearest", "zeros", False)])
def test_programs_of_volumes(options, lanes):
    x, grid, grad = points_of_volumes((2, 3, 4, 5, 3), (3, 7, 1), "f4")
    check_programs(x, grid, grad, lanes, options)


HALVES = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def rounded(arrays, dtype):
    return [np.asarray(a, getattr(rl, dtype).numpy) for a in arrays]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("options", OPTIONS)
def test_half_precision_rounds_every_step_of_a_place(options, dtype):
    for shape, out in (((2, 3, 7, 9), (5, 13)), ((1, 2, 2, 301), (7, 40))):  # bfloat16 lacks some of the 301 columns
        arrays = rounded(made(shape, out), dtype)
        assert_near(by_kernels(*arrays, *options), by_numpy(*arrays, *options), HALVES[dtype])
    if options[0] != "bicubic":
        arrays = rounded(points_of_volumes((2, 3, 5, 6, 7), (4, 5, 6), "f4"), dtype)
        assert_near(by_kernels(*arrays, *options), by_numpy(*arrays, *options), HALVES[dtype])


@pytest.mark.parametrize("options", OPTIONS)
def test_places_that_are_no_numbers_and_far_ones(options):
    x = made((1, 2, 6, 7), (1, 1))[0]
    grid = np.array(list(itertools.product(SPECIAL, SPECIAL)), "f4").reshape(1, 14, 14, 2)
    grad = made((1, 2, 6, 7), (14, 14))[2]
    assert_near(by_kernels(x, grid, grad, *options), by_numpy(x, grid, grad, *options), 1e-4)


def test_infinities_are_seen_where_they_are():
    x, grid, grad = made((1, 2, 12, 13), (9, 9))
    x[0, 0, 3, 4], x[0, 1, 11, 12], grad[0, 0, 4, 4] = np.inf, np.nan, np.inf
    for options in OPTIONS:
        assert_near(by_kernels(x, grid, grad, *options), by_numpy(x, grid, grad, *options), 1e-4)


def test_layouts():
    x, grid, grad = made((2, 4, 10, 9), (7, 6))
    expected = by_kernels(x, grid, grad, "bilinear", "border", False)
    strange = (np.asfortranarray(x), np.moveaxis(np.moveaxis(grid, -1, 0).copy(), 0, -1), grad.repeat(2, -1)[..., ::2])
    found = by_kernels(*strange, "bilinear", "border", False)
    for mine, wanted in zip(found, expected):
        np.testing.assert_array_equal(mine, wanted)
        assert mine.flags.c_contiguous


def test_what_is_declined():
    x, grid, _ = made((1, 2, 3, 4), (2, 2))
    assert grid_sampling.grid_samples(x[:0], grid[:0], "bilinear", "zeros", False) is NotImplemented


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("options", OPTIONS)
def test_programs_of_all_widths(options, lanes):
    x, grid, grad = made((2, 3, 4, 5), (3, 7))
    check_programs(x, grid, grad, lanes, options)


def test_threads_change_nothing():
    arrays, found = made((2, 3, 90, 70), (120, 110)), []
    for threads in (1, 2, 3):
        set_num_threads(threads)
        found.append([a.tobytes() for a in by_kernels(*arrays, "bilinear", "reflection", False)])
    set_num_threads(2)
    assert found[0] == found[1] == found[2]


# ---------------------------------------------------------------- PyTorch


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape, out", SHAPES)
@pytest.mark.parametrize("options", OPTIONS)
def test_pytorchs_results_and_gradients(options, shape, out, dtype):
    torch = pytest.importorskip("torch")
    results, arrays = [], made(shape, out, dtype)
    for m in (rl, torch):
        x, grid, grad = (m.tensor(a, requires_grad=True) for a in arrays)
        y = m.nn.functional.grid_sample(x, grid, *options)
        assert y.grad_fn.name() == "GridSampler2DBackward0"
        grads = m.autograd.grad(y, (x, grid), grad)
        results.append([t.detach().numpy() for t in (y, *grads)])
    assert_near(*results, 2e-4 if dtype == "f4" else 1e-11)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("options", OPTIONS)
def test_pytorchs_results_in_half_precision(options, dtype):
    torch = pytest.importorskip("torch")
    # Wide enough for the kernel; the second image has more columns than bfloat16 tells apart.
    for shape, out in (((2, 3, 17, 19), (15, 33)), ((1, 2, 2, 301), (30, 40))):
        results, arrays = [], made(shape, out)
        for m in (rl, torch):
            x, grid, grad = (m.tensor(a).to(getattr(m, dtype)).requires_grad_(True) for a in arrays)
            y = m.nn.functional.grid_sample(x, grid, *options)
            grads = m.autograd.grad(y, (x, grid), grad)
            results.append([t.detach().float().numpy() for t in (y, *grads)])
        assert_near(results[0][:1], results[1][:1], 4 * HALVES[dtype])
        assert_near(results[0][1:], results[1][1:], 16 * HALVES[dtype])  # PyTorch adds in half precision


@pytest.mark.parametrize("options", OPTIONS)
def test_pytorchs_results_at_special_places(options):
    torch = pytest.importorskip("torch")
    x = made((1, 2, 6, 7), (1, 1))[0]
    grid = np.array(list(itertools.product(SPECIAL, SPECIAL)), "f4").reshape(1, 14, 14, 2)
    found = [m.nn.functional.grid_sample(m.tensor(x), m.tensor(grid), *options).numpy() for m in (rl, torch)]
    assert_near(found[:1], found[1:], 1e-4)
    # PyTorch's gradients write outside of the image where places are no numbers.
    grid = grid[:, np.isin(SPECIAL, SPECIAL[3:])][:, :, 3:]
    results, grad = [], made((1, 2, 6, 7), (11, 11))[2]
    for m in (rl, torch):
        inputs = [m.tensor(a, requires_grad=True) for a in (x, grid.copy())]
        y = m.nn.functional.grid_sample(*inputs, *options)
        results.append([t.numpy() for t in m.autograd.grad(y, inputs, m.tensor(grad))])
    assert_near(*results, 1e-4)


@pytest.mark.parametrize("options", OPTIONS)
def test_second_derivatives(options):
    # 16 elements make a place by cubics: fewer places will do.
    x, grid, _ = made(*(((1, 1, 3, 4), (2, 1)) if options[0] == "bicubic" else ((2, 2, 5, 6), (4, 3))), "f8", 3)
    x = rl.tensor(x, requires_grad=True)
    grid = rl.tensor(grid * 0.9 + 0.013, requires_grad=True)  # off the kinks
    tracked = (x,) if options[0] == "nearest" else (x, grid)

    def sampled(*values):
        return rl.nn.functional.grid_sample(values[0], values[1] if len(values) > 1 else grid.detach(), *options)

    assert rl.autograd.gradcheck(sampled, tracked)
    assert rl.autograd.gradgradcheck(sampled, tracked)
