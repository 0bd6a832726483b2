"""Convolutions on the tile unit and their gradients: against float64, and the loop programs by themselves."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.convolution import on_tiles as convolution_tiles
from rushlight.kernels.convolution.forward import convolution, convolution_input_gradient
from rushlight.kernels.convolution.tiles import forward as tile_convolution
from rushlight.kernels.convolution.tiles import (
    forward_plan as convolution_plan,
)
from rushlight.kernels.convolution.tiles import (
    weight as convolution_weight,
)
from rushlight.kernels.convolution.tiles import (
    weight_plan as convolution_weight_plan,
)
from rushlight.kernels.convolution.tiles.forward import Form
from rushlight.kernels.convolution.tiles.weight import WeightForm
from rushlight.kernels.convolution.weight_gradient import convolution_weight_gradient
from rushlight.kernels.language.text import read, write
from rushlight.kernels.language.verify import verify
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning import runner
from rushlight.kernels.planning.layout import layout_of
from rushlight.kernels.windows.axes import out_lengths

from test_convolution_kernels import deep, half_dtypes, names_of, reference  # isort: skip


needs_tiles = pytest.mark.skipif(host() is None or not host().has_tiles, reason="this machine has no tile unit")

# input, weight, stride, padding, dilation, groups
CASES = [
    ((2, 32, 8, 8), (32, 32, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 40, 9, 11), (50, 40, 3, 5), (1, 1), (1, 2), (1, 1), 1),
    ((1, 64, 20, 17), (33, 64, 5, 5), (1, 1), (2, 2), (1, 1), 1),
    ((2, 33, 15, 15), (31, 33, 3, 3), (1, 1), (2, 1), (2, 1), 1),
    ((2, 16, 20, 37), (17, 16, 1, 3), (1, 1), (0, 1), (1, 1), 1),
    ((1, 5, 7, 6), (3, 5, 2, 2), (1, 1), (1, 1), (1, 2), 1),
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((3, 20, 6, 5), (18, 20, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((4, 3, 5, 33), (64, 3, 5, 1), (1, 1), (4, 0), (1, 1), 1),
    ((2, 16, 6, 7), (20, 16, 1, 2), (1, 1), (1, 3), (1, 1), 1),  # more padding than the kernel reaches
    ((3, 33, 17, 18), (40, 33, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((2, 24, 13, 14), (34, 24, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 20, 23, 25), (34, 20, 5, 4), (3, 2), (2, 1), (2, 3), 1),
    ((2, 64, 9, 10), (72, 32, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    ((2, 48, 70), (36, 24, 9), (2,), (4,), (1,), 2),
    ((1, 24, 5, 6, 7), (33, 24, 3, 2, 3), (1, 2, 2), (1, 0, 1), (1, 1, 2), 1),
]


def operands(case, dtype=np.float32):
    """x, w, bias, the output's gradient, and the options of a case."""
    random = np.random.default_rng(0)
    shape, kernel, *options = case
    out = out_lengths(shape[2:], kernel[2:], *options[:3])
    shapes = (shape, kernel, kernel[:1], (shape[0], kernel[0], *out))
    return [random.standard_normal(s).astype(np.float32).astype(dtype) for s in shapes], tuple(options)


def computed(x, w, bias, dy, options):
    """The result and the gradients of input and weight."""
    y = convolution(x, w, bias, *options)
    dx = convolution_input_gradient(dy, w, x.shape, *options)
    return y, dx, convolution_weight_gradient(dy, x, w.shape, *options)


def check(case):
    """Within twice the error of float32 arithmetic or one rounding of the largest terms."""
    (x, w, bias, dy), options = operands(case)
    column = bias.reshape(-1, *[1] * (x.ndim - 2))
    exact = [a.astype(np.float64) for a in (x, w, dy)]
    wanted, largest = reference(*exact, *options), reference(*map(np.abs, exact), *options)
    for got, right, terms in zip(computed(x, w, None, dy, options), wanted, largest):
        assert got.shape == right.shape
        assert np.abs(got - right).max() <= terms.max() * 2.0**-22
    y = computed(x, w, bias, dy, options)[0]
    np.testing.assert_allclose(y - column, wanted[0], rtol=1e-4, atol=1e-3)


@pytest.fixture(autouse=True)
def always_tiles(monkeypatch, fresh_plans):
    """Every convolution goes to the tile unit, whether it pays or not."""
    monkeypatch.setattr(convolution_tiles, "pays", lambda plan, multiplications: True)
    monkeypatch.setattr(convolution_tiles, "_FEWEST_CHANNELS", 1)


@pytest.fixture
def threads():
    before = rushlight.get_num_threads()
    yield rushlight.set_num_threads
    rushlight.set_num_threads(before)


@needs_tiles
@pytest.mark.parametrize("case", CASES, ids=str)
def test_convolution_and_gradients(case):
    check(case)


@needs_tiles
@pytest.mark.parametrize("few", [0, 1 << 40], ids=["strips by chunks", "strips before"])
@pytest.mark.parametrize("case", CASES[1:5] + CASES[10:], ids=str)
def test_several_strips_of_an_image(case, few, monkeypatch):
    """Images are cut into strips of few rows, as large ones are."""
    monkeypatch.setattr(convolution_plan, "_STRIP_WORDS", 12_000)
    for module in (convolution_plan, convolution_weight_plan):
        monkeypatch.setattr(module, "_FEW_WORDS", few)
    monkeypatch.setattr(convolution_weight_plan, "_BLOCK_WORDS", few)
    monkeypatch.setattr(convolution_weight_plan, "_STRIP_WORDS", 20_000)
    check(case)


@needs_tiles
def test_many_slots():
    check(((37, 8, 6, 6), (8, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1))


@needs_tiles
@pytest.mark.parametrize("dtype", half_dtypes(), ids=str)
@pytest.mark.parametrize("case", [CASES[i] for i in (1, 7, 10, 14)], ids=str)
def test_half_precision(case, dtype):
    """The operands' numbers are exact; the result is rounded once."""
    (x, w, _, dy), options = operands(case, dtype)
    wanted = reference(*(a.astype(np.float64) for a in (x, w, dy)), *options)
    place = 2.0**-8 if dtype.name == "bfloat16" else 2.0**-11
    for got, right in zip(computed(x, w, None, dy, options), wanted):
        np.testing.assert_allclose(got.astype(np.float64), right, rtol=1.01 * place, atol=1e-4)


@needs_tiles
@pytest.mark.parametrize("case", [CASES[i] for i in (1, 7, 10, 12, 13, 15)], ids=str)
def test_channels_last(case):
    (x, w, bias, dy), options = operands(case)
    wanted = computed(x, w, bias, dy, options)
    for layouts in ((deep, deep, deep), (np.asarray, deep, np.asarray), (deep, np.asarray, np.asarray)):
        a, b, c = (layout(array) for layout, array in zip(layouts, (x, w, dy)))
        for got, right in zip(computed(a, b, bias, c, options), wanted):
            np.testing.assert_array_equal(got, right)


@needs_tiles
@pytest.mark.parametrize("case", [CASES[1], CASES[12], CASES[15]], ids=str)
def test_nothing_is_written_outside(case, monkeypatch):
    (x, w, bias, dy), options = operands(case)
    made = []

    def guarded(shape, dtype, *strides):
        whole = np.full(int(np.prod(shape)) + 64, -77, dtype)
        made.append(whole)
        return whole[32:-32].reshape(shape)

    monkeypatch.setattr(runner, "_memory", lambda layout, *options: (guarded, layout[:2]))
    for found in computed(x, w, bias, dy, options)[:2]:
        whole = made.pop(0)
        assert np.shares_memory(whole, found)
        assert (whole[:32] == -77).all() and (whole[-32:] == -77).all()
        assert (found != -77).all()


@needs_tiles
@pytest.mark.parametrize("case", [CASES[1], CASES[10], CASES[13]], ids=str)
def test_thread_counts_change_nothing(case, threads):
    (x, w, bias, dy), options = operands(case)
    found = []
    for count in (1, 2, 3):
        threads(count)
        found.append(b"".join(a.tobytes() for a in computed(x, w, bias, dy, options)))
    assert found[0] == found[1] == found[2]


@needs_tiles
@pytest.mark.parametrize("case", [*CASES[:5], CASES[10]], ids=str)
def test_infinities_nans_and_overflow(case):
    """As in float32: the plain kernels compute what the tile unit cannot."""
    (x, w, _, dy), options = operands(case)
    x[0, 1, 3, 3], x[-1, 0, 0, -1], x[0, 4, 2, 2] = np.inf, np.nan, np.finfo(np.float32).max
    with np.errstate(all="ignore"):
        wanted = reference(x.astype(np.float32), w, dy, *options)[0]
        got = convolution(x, w, None, *options)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    calm = np.isfinite(wanted) & (np.abs(wanted) < 1e6)
    np.testing.assert_allclose(got[calm], wanted[calm], rtol=1e-4, atol=1e-3)


@needs_tiles
def test_what_pays(monkeypatch):
    monkeypatch.setattr(convolution_tiles, "pays", convolution_plan.pays)
    plane = (1, 1), (0, 0), (1, 1), 1
    assert convolution_tiles._forward((64, 32, 26, 26), (64, 32, 3, 3), (24, 24), "f32", False, False, *plane)
    assert not convolution_tiles._forward((64, 8, 32, 32), (8, 8, 3, 3), (30, 30), "f32", False, False, *plane)


@pytest.mark.parametrize("few", [0, 1 << 40], ids=["strips by chunks", "strips before"])
def test_the_interpreter_agrees(few, monkeypatch, interpreted):
    """A tiny convolution and its gradients, with scratch memory of exactly the size that is asked for."""
    case = ((2, 18, 4, 5), (3, 18, 2, 3), (2, 1), (0, 1), (1, 1), 1)
    for module in (convolution_plan, convolution_weight_plan):
        monkeypatch.setattr(module, "_FEW_WORDS", few)
    monkeypatch.setattr(convolution_tiles, "is_there", lambda: True)
    (x, w, bias, dy), options = operands(case)
    wanted = reference(x, w, dy, *options)
    interpreted()
    for lies in (np.asarray, deep):
        y, dx, dw = computed(lies(x), w, bias, lies(dy), options)
        np.testing.assert_allclose(y - bias[:, None, None], wanted[0], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(dx, wanted[1], rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(dw, wanted[2], rtol=1e-4, atol=1e-4)
        assert y.strides == lies(y).strides and dx.strides == lies(dx).strides
    plan = convolution.plan(*[layout_of(a).spread() for a in (x, w)], layout_of(bias), *options)
    assert names_of(plan) == ["tile_convolution"]


def test_what_is_not_finite_is_computed_again(monkeypatch, interpreted):
    (x, w, _, _), options = operands(((1, 2, 3, 3), (2, 2, 2, 2), (1, 1), (0, 0), (1, 1), 1))
    x[0, 1, 2, 2] = np.inf
    plain = convolution(x, w, None, *options)
    monkeypatch.setattr(convolution_tiles, "is_there", lambda: True)
    interpreted()
    np.testing.assert_array_equal(convolution(x, w, None, *options), plain)


PROGRAMS = [
    lambda: tile_convolution.build(Form("f32", False, False, "dense", False)),
    lambda: tile_convolution.build(Form("f16", True, True, "deep", True)),
    lambda: tile_convolution.build(Form("bf16", False, True, "scattered", True)),
    lambda: convolution_weight.build(WeightForm("f32", False)),
    lambda: convolution_weight.build(WeightForm("bf16", True)),
]


@pytest.mark.parametrize("build", PROGRAMS)
def test_the_programs_are_well_formed(build):
    verify(build())


@pytest.mark.parametrize("build", PROGRAMS)
def test_the_programs_can_be_written_and_read(build):
    text = write(build())
    assert write(read(text)) == text
