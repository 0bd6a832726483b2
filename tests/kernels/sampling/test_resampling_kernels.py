"""Kernels of resampling: NumPy's results for all modes, dtypes and layouts, programs of all widths, PyTorch's gradients."""

import numpy as np
import pytest

import rushlight as rl
from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.language.value_types import NUMPY
from rushlight.kernels.machine.host import host
from rushlight.kernels.sampling import resampling
from rushlight.ops import interpolation as ops
from rushlight.ops import pool_adaptive
from rushlight.ops.resampling import averaging_taps, interpolation_taps, resample

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
MODES = ("nearest", "nearest-exact", "bilinear", "bicubic")
SIZES = [((40, 50), (80, 100)), ((40, 51), (20, 17)), ((33, 47), (70, 21)), ((33, 47), (13, 90)), ((20, 30), (20, 55)),
         ((20, 30), (41, 30)), ((20, 30), (20, 30)), ((1, 37), (5, 1)), ((3, 2), (1, 33))]  # fmt: skip
WIDE = {"f4": "f4", "f8": "f8", "f2": "f4", "u1": "u1"}


def block(shape, dtype="f4", seed=0):
    draw = np.random.default_rng(seed)
    return draw.integers(0, 256, shape).astype("u1") if dtype == "u1" else draw.standard_normal(shape).astype(dtype)


def channels_last(array):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def assert_near(found, expected, dtype):
    assert (found.dtype, found.shape) == (np.dtype(dtype), expected.shape)
    tolerance = {"f4": 1e-5, "f8": 1e-13, "f2": 2e-3, "u1": 0}[dtype]
    np.testing.assert_allclose(found.astype("f8"), expected.astype("f8"), tolerance, tolerance * 10)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1"])
@pytest.mark.parametrize("lengths, out", SIZES)
@pytest.mark.parametrize("mode", [*MODES, "bilinear+", "bicubic+", "lanczos+"])
def test_forward_and_gradient(mode, lengths, out, dtype):
    options = ((None, None), mode.strip("+"), False, mode.endswith("+"))
    for channels in (3, 40):
        x, grad = block((2, channels, *lengths), dtype), block((2, channels, *out), dtype, 1)
        for prepared in (np.array, channels_last, lambda a: a.repeat(2, -1)[..., ::2]):
            found = resampling.interpolate_parts(prepared(x), out, *options)
            assert_near(found, ops.interpolate_parts.forward(x.astype(WIDE[dtype]), out, *options), dtype)
            if dtype != "u1":
                found = resampling.interpolate_gradient(prepared(grad), lengths, *options)
                wide = ops.interpolate_gradient.forward(grad.astype("f8"), lengths, *options)
                assert_near(found, wide, dtype)


@pytest.mark.parametrize("dtype", ["f4", "f2", "u1"])
@pytest.mark.parametrize(
    "lengths, out", [((6, 20, 30), (12, 9, 50)), ((9, 20, 30), (4, 40, 30)), ((9, 7, 30), (9, 7, 31))]
)
@pytest.mark.parametrize("mode", ["nearest", "trilinear"])
def test_volumes(mode, lengths, out, dtype):
    x, options = block((2, 3, *lengths), dtype), ((None,) * 3, mode, False, False)
    for prepared in (x, channels_last(x)):
        found = resampling.interpolate_parts(prepared, out, *options)
        assert_near(found, ops.interpolate_parts.forward(x.astype(WIDE[dtype]), out, *options), dtype)


@pytest.mark.parametrize("length, out", [(1000, 2300), (2300, 1000), (70_000, 35_000)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_signals(mode, length, out):
    x, options = block((2, 3, length)), ((None,), mode, False, False)
    assert_near(
        resampling.interpolate_parts(x, (out,), *options), ops.interpolate_parts.forward(x, (out,), *options), "f4"
    )


@pytest.mark.parametrize("lengths, out", [((20, 33), (7, 7)), ((20, 33), (50, 40)), ((5, 6, 11), (2, 3, 4))])
def test_means_of_different_windows(lengths, out):
    x, grad = block((2, 3, *lengths)), block((2, 3, *out), seed=1)
    found = resampling.adaptive_avg_pool(x, out)
    assert_near(found, pool_adaptive.adaptive_avg_pool.forward(x, out), "f4")
    found = resampling.adaptive_avg_pool_gradient(grad, lengths)
    assert_near(found, pool_adaptive.adaptive_avg_pool_gradient.forward(grad, lengths), "f4")


def test_numbers_of_every_kind_are_copied():
    for dtype in ("i1", "i2", "i4", "i8", "?", "c8"):
        x = (block((2, 3, 20, 30)) * 100).astype(dtype)
        found = resampling.interpolate_parts(x, (33, 17), (None, None), "nearest", False, False)
        np.testing.assert_array_equal(found, ops.interpolate_parts.forward(x, (33, 17), (None, None), "nearest", 0, 0))


def test_what_is_declined():
    options = ((None, None), "bilinear", False, False)
    for x in (block((1, 1, 9, 9)).astype("c8"), block((1, 1, 9, 9)).astype("i4"), block((0, 1, 9, 9))):
        assert resampling.interpolate_parts(x, (3, 3), *options) is NotImplemented


def test_infinities_stay_where_they_are():
    x = block((1, 2, 40, 40))
    x[0, 0, 20, 20], x[0, 1, 5, 30] = np.inf, np.nan
    for mode in ("bilinear", "bicubic"):
        found = resampling.interpolate_parts(x, (80, 80), (None, None), mode, False, False)
        expected = ops.interpolate_parts.forward(x, (80, 80), (None, None), mode, False, False)
        np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
        assert np.isfinite(expected).mean() > 0.98


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("scalars", [("f32", "f32"), ("f16", "f32"), ("u8", "i32")])
@pytest.mark.parametrize("inner", [1, 3, 21])
@pytest.mark.parametrize("out", [(7, 11), (3, 5)])
def test_programs_of_all_widths(out, inner, scalars, lanes, monkeypatch):
    monkeypatch.setattr(resampling, "lanes_for", lambda scalar: lanes)
    x = block((2, 5, 9, inner), NUMPY[scalars[0]].str[1:])
    for kind in ("bilinear", "means", "gradient"):
        if kind == "means":
            axes = [averaging_taps(n, m) for n, m in zip((5, 9), out)]
        else:
            axes = [interpolation_taps(n, m, None, "bilinear", False, False) for n, m in zip((5, 9), out)]
        if kind == "gradient":
            axes = [interpolation_taps(m, n, None, "bilinear", False, False).transposed for n, m in zip((5, 9), out)]
        if scalars[0] == "u8" and kind == "gradient":
            continue
        launch, (_, area, dtype) = resampling.plan_pass("x", "found", scalars, True, 2, (5, 9, inner), *axes)
        found = np.zeros((2, *out, inner), x.dtype)
        arrays = {"x": x, "found": found, "lines": np.empty(area, dtype)}
        arguments = [arrays[each] if isinstance(each, str) else each for each in launch.arguments]
        arguments = [np.array(each, np.int64) if isinstance(each, tuple) else each for each in arguments]
        interpret(launch.build(*launch.form), *arguments)
        expected = np.moveaxis(resample(np.moveaxis(x, -1, 1), axes), 1, -1)
        assert_near(found, expected, x.dtype.str[1:])


def test_threads_change_nothing():
    x, found = block((3, 5, 200, 150)), []
    for threads in (1, 2, 3):
        set_num_threads(threads)
        found.append(resampling.interpolate_parts(x, (301, 99), (None, None), "bicubic", False, False).tobytes())
    set_num_threads(2)
    assert len(set(found)) == 1


@pytest.mark.parametrize("shape, out", [((2, 3, 40, 30), (60, 70)), ((2, 40, 21, 31), (10, 15)), ((2, 3, 41), (90,)),
                                        ((1, 2, 9, 10, 11), (5, 20, 30))])  # fmt: skip
@pytest.mark.parametrize("corners", [False, True])
def test_against_pytorch(shape, out, corners):
    torch = pytest.importorskip("torch")
    modes = {3: ("linear",), 4: ("bilinear", "bicubic"), 5: ("trilinear",)}[len(shape)]
    for mode in (*modes, "nearest", "area"):
        options = {} if mode in ("nearest", "area") else {"align_corners": corners}
        found = []
        for m in (rl, torch):
            x = m.tensor(block(shape, "f8"), requires_grad=True)
            y = m.nn.functional.interpolate(x, out, mode=mode, **options)
            (grad,) = m.autograd.grad((y * y).sum(), x, create_graph=True)
            (second,) = m.autograd.grad((grad * grad * grad).sum(), x)
            found.append([t.detach().numpy() for t in (y, grad, second)])
        for mine, wanted in zip(*found):
            np.testing.assert_allclose(mine, wanted, rtol=1e-10, atol=1e-10)
