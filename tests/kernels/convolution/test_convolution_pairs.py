"""Convolutions in bfloat16 over pairs of channels: against sums over taps in float64, and in the interpreter."""

import numpy as np
import pytest
from test_convolution_kernels import CASES, LARGE, narrow, operands, reference  # noqa: F401

import rushlight
from rushlight.kernels.convolution import pairs as convolution_pairs
from rushlight.kernels.convolution.forward import convolution, convolution_input_gradient
from rushlight.kernels.convolution.pairs import pairs_program, plan_pairs
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine import host
from rushlight.kernels.planning import runner
from rushlight.kernels.planning.layout import layout_of
from rushlight.kernels.planning.plan import Plan

ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.skipif(host.host() is None, reason="needs llvmlite")

PAIRED = [case for case in CASES if case[1][1] > 1]


def half(arrays):
    return [array.astype(ml_dtypes.bfloat16) for array in arrays]


def check(found, wanted):
    error = abs(found.astype(np.float64) - wanted)
    assert (error <= 2**-8 * abs(wanted) + 1e-5 * max(1.0, abs(wanted).max())).all()


@pytest.mark.parametrize("case", [*CASES, LARGE], ids=str)
def test_against_sums_over_taps(case):
    arrays, options = operands(case, np.float32)
    input, weight, bias, grad = half(arrays)
    found, d_input, _ = reference(input, weight, grad, *options)
    plain = convolution(input, weight, None, *options)
    assert plain.dtype == input.dtype and plain.shape == grad.shape and plain.flags.c_contiguous
    check(plain, found)
    biased = found + bias.astype(np.float64).reshape(-1, *[1] * (grad.ndim - 2))
    check(convolution(input, weight, bias, *options), biased)
    check(convolution_input_gradient(grad, weight, input.shape, *options), d_input)


def test_channels_last_and_strides():
    arrays, options = operands(LARGE, np.float32)
    input, weight, _, grad = half(arrays)
    found, d_input, _ = reference(input, weight, grad, *options)
    deep = np.moveaxis(np.ascontiguousarray(np.moveaxis(input, 1, -1)), -1, 1)
    check(convolution(deep, weight, None, *options), found)
    wide = np.repeat(grad, 2, -1)[..., ::2]
    check(convolution_input_gradient(wide, weight, input.shape, *options), d_input)


def test_results_do_not_depend_on_threads():
    arrays, options = operands(LARGE, np.float32)
    input, weight, _, _ = half(arrays)
    before, found = rushlight.get_num_threads(), []
    try:
        for threads in (1, 2):
            rushlight.set_num_threads(threads)
            found.append(convolution(input, weight, None, *options).view(np.uint16))
    finally:
        rushlight.set_num_threads(before)
    assert np.array_equal(*found)


def joined(array, groups, axis):
    """What `plan_pairs` plans, by NumPy."""
    shape = array.shape
    words = array.view(np.uint16).astype(np.uint32).reshape(*shape[:axis], groups, shape[axis] // groups, -1)
    if words.shape[-2] % 2:
        words = np.concatenate([words, np.zeros_like(words[..., :1, :])], -2)
    return (words[..., ::2, :] | words[..., 1::2, :] << np.uint32(16)).view(np.int32)


@pytest.mark.parametrize("groups, axis", [(1, 1), (2, 1), (1, 0), (3, 0)])
def test_pairs_of_channels(groups, axis):
    draw = np.random.default_rng(0).standard_normal
    for shape in ((6, 8, 3, 5), (12, 6, 40), (18, 2, 1), (6, 400, 11)):
        array = draw(shape).astype(ml_dtypes.bfloat16)
        wanted = joined(array, groups, axis)
        launch, layout = plan_pairs("x", layout_of(array), "out", groups, axis)
        found = runner.runner(Plan([launch], {"out": layout}), ("x",))(array)
        assert np.array_equal(found.reshape(-1), wanted.reshape(-1))
    target = np.zeros(3 * 3 * 7, np.int32)
    array = draw((3, 5, 7)).astype(ml_dtypes.bfloat16)
    interpret(pairs_program(4), array.view(np.uint16).reshape(-1), target, 3, 5, 7, 2)
    assert np.array_equal(target, joined(array, 1, 1).reshape(-1))


@pytest.mark.parametrize("case", [PAIRED[i] for i in (0, 2, 3, 9, 10, 13)], ids=str)
def test_the_interpreter_stays_within_bounds(narrow, interpreted, case):  # noqa: F811
    arrays, options = operands(case, np.float32)
    input, weight, bias, grad = half(arrays)
    found, d_input, _ = reference(input, weight, grad, *options)
    narrow(16)
    interpreted()
    biased = found + bias.astype(np.float64).reshape(-1, *[1] * (grad.ndim - 2))
    check(convolution(input, weight, bias, *options), biased)
    check(convolution_input_gradient(grad, weight, input.shape, *options), d_input)


def test_one_channel_has_no_partner(monkeypatch):
    monkeypatch.setattr(convolution_pairs.host, "has_dots", lambda: True)
    assert convolution_pairs.pays("bf16", 2) and not convolution_pairs.pays("bf16", 1)
    assert not convolution_pairs.pays("f16", 2)


@pytest.mark.parametrize("lengths", [(1, 3), (2, 3), (4, 5)])
def test_one_pair_in_each_group(lengths):
    """Two channels make one pair: as many as a depthwise convolution has, whose kernel is not for pairs."""
    rushlight.manual_seed(0)
    grad = rushlight.rand(3, 66, *lengths).to(rushlight.bfloat16)
    weight = rushlight.rand(66, 1, 3, 3).to(rushlight.bfloat16)
    found = rushlight.nn.grad.conv2d_input((3, 33, *lengths), weight, grad, padding=1, groups=33)
    expected = rushlight.nn.grad.conv2d_input((3, 33, *lengths), weight.float(), grad.float(), padding=1, groups=33)
    assert (found.float() - expected).abs().max() <= 0.01 * expected.abs().max()
    image, weight = (
        rushlight.rand(3, 66, *lengths).to(rushlight.bfloat16),
        rushlight.rand(33, 2, 3, 3).to(rushlight.bfloat16),
    )
    found = rushlight.nn.functional.conv2d(image, weight, padding=1, groups=33)
    expected = rushlight.nn.functional.conv2d(image.float(), weight.float(), padding=1, groups=33)
    assert (found.float() - expected).abs().max() <= 0.01 * expected.abs().max()
