"""Kernels of multinomial: the same numbers as NumPy's way and PyTorch's, errors included."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.random_numbers import multinomial as kernels
from rushlight.random import multinomial as draw

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
SHAPES = [(700,), (40_000,), (3, 300), (9, 1000), (40, 37), (2, 20_000)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_draws_are_pytorchs(shape, dtype):
    torch = pytest.importorskip("torch")
    weights = np.random.default_rng(1).random(shape) * (np.random.default_rng(2).random(shape) > 0.2)
    for count, replacement in ((1, False), (2, True), (500, True), (12, False)):
        found = []
        for m in (rl, torch):
            m.manual_seed(5)
            drawn = m.multinomial(m.tensor(weights).to(getattr(m, dtype)), count, replacement)
            found.append((drawn.numpy(), m.rand(3).numpy()))
        if dtype in ("float16", "bfloat16") and not replacement:  # quotients are often equal there
            np.testing.assert_array_equal(found[0][0].shape, found[1][0].shape)
        else:
            np.testing.assert_array_equal(found[0][0], found[1][0])
        np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("shape", [(1, 33), (5, 70), (8, 20_001)])
def test_sums_and_places_are_numpys(shape):
    rows, generator = np.random.default_rng(3).random(shape, np.float32), np.random.default_rng(4)
    np.testing.assert_array_equal(kernels._cumulated(rows), draw.cumulated(rows))
    uniform = generator.random((shape[0], 200))
    np.testing.assert_array_equal(
        kernels._looked_up(draw.cumulated(rows), uniform), draw.looked_up(draw.cumulated(rows), uniform)
    )


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("at_once", [1, 4])
def test_programs_of_all_widths(at_once, lanes):
    rows = np.random.default_rng(3).random((6, 37), np.float32)
    rows[2, 5], rows[4, 36], rows[5] = -1, np.nan, 0
    sums, unfit = np.empty_like(rows), np.empty(6, np.bool_)
    interpret(kernels.cumulate_program("f32", lanes, at_once), rows, sums, unfit, 6, 37)
    assert unfit.tolist() == [False, False, True, False, True, True]
    good = [0, 1, 3]
    np.testing.assert_array_equal(sums[good], draw.cumulated(rows[good]))


@pytest.mark.parametrize("value", [-1.0, np.inf, np.nan, 0.0])
def test_errors(value):
    weights = np.ones((6, 200), np.float32)
    weights[3] = value
    for replacement in (False, True):
        with pytest.raises(RuntimeError) as found:
            rl.multinomial(rl.from_numpy(weights), 2, replacement)
        with pytest.raises(RuntimeError) as expected:
            draw.multinomial(weights, 2, replacement)
        assert str(found.value) == str(expected.value)
