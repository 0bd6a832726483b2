"""The gradients of recurrent layers' parameters against float64 products."""

import numpy as np
import pytest

from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning import runner
from rushlight.kernels.planning.layout import layout_of
from rushlight.kernels.products import matmul
from rushlight.kernels.recurrent.gradients import gradients_program, parameter_gradients, pitch_of
from rushlight.kernels.recurrent.pieces import Pieces

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
SIZES = [  # steps, samples, units, features of the input, gates
    (1, 1, 1, 1, 1), (1, 5, 7, 3, 4), (4, 5, 7, 3, 4), (5, 3, 33, 70, 3), (9, 1, 64, 20, 4), (3, 8, 80, 130, 4),
    (40, 30, 64, 12, 4), (3, 600, 20, 9, 3), (2, 4, 300, 300, 1), (6, 2, 512, 5, 4),
]  # fmt: skip


def numbers(*shape, dtype="f8", seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def spaced(array):
    """The array with its rows as far apart as the gradients of sums lie."""
    steps, rows, width = array.shape
    found = np.full((steps, rows, pitch_of(width, array.dtype)), np.nan, array.dtype)[:, :, :width]
    found[...] = array
    return found


def found_gradients(sums, outputs, hidden, reverse, biased, input, input_sums):
    """What `parameter_gradients` plans, of arrays."""
    arrays = {"sums": sums, "outputs": outputs, "hidden": hidden, "input_sums": input_sums, "input": input}
    pieces = Pieces(sums.dtype)
    pieces.layouts = {name: None if array is None else layout_of(array) for name, array in arrays.items()}
    others = "sums" if input_sums is None else "input_sums"
    parameter_gradients(pieces, reverse, biased, pieces.layouts["input"], others)
    plan = pieces.plan("d_w_hh", "d_w_ih", "d_bias", "d_input_bias")
    return runner.runner(plan, tuple(arrays))(*arrays.values())


def expected_gradients(sums, outputs, hidden, reverse, biased, input, input_sums):
    sums, outputs, hidden = (array.astype("f8") for array in (sums, outputs, hidden))
    before = np.concatenate([outputs[1:], hidden[None]] if reverse else [hidden[None], outputs[:-1]])
    d_w_ih, of_input = None, sums if input_sums is None else input_sums.astype("f8")
    if input is not None:
        d_w_ih = np.einsum("tng,tni->gi", of_input, input.astype("f8"))
    d_bias = sums.sum((0, 1)) if biased else None
    d_input_bias = of_input.sum((0, 1)) if biased and input_sums is not None else None
    return np.einsum("tng,tnh->gh", sums, before), d_w_ih, d_bias, d_input_bias


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("way", ["own program", "products"])
def test_gradients_of_parameters(size, dtype, reverse, way, monkeypatch):
    steps, rows, units, features, gates = size
    sums = spaced(numbers(steps, rows, gates * units, dtype=dtype))
    outputs, hidden = numbers(steps, rows, units, dtype=dtype, seed=1), numbers(rows, units, dtype=dtype, seed=2)
    apart = numbers(rows, steps, features, dtype=dtype, seed=3).transpose(1, 0, 2)
    other_sums = spaced(numbers(steps, rows, gates * units, dtype=dtype, seed=4))
    if way == "products":
        monkeypatch.setattr(host(), "has_tiles", True)
        monkeypatch.setattr(matmul, "_fits_tiles", lambda sizes, steps: False)
    for input in (None, apart, np.ascontiguousarray(apart), np.repeat(apart, 2, axis=1)[:, ::2]):
        for biased, input_sums in ((False, None), (True, None), (True, other_sums)):
            arguments = sums, outputs, hidden, reverse, biased, input, input_sums
            found = found_gradients(*arguments)
            for a, b in zip(found, expected_gradients(*arguments)):
                if b is not None:
                    assert (a.shape, a.dtype) == (b.shape, np.dtype(dtype))
                    scale = max(1.0, np.abs(b).max())
                    np.testing.assert_allclose(a, b, rtol=0, atol=scale * (2e-5 if dtype == "f4" else 1e-13))


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("longest", [2, 4, 100])
def test_programs_of_all_widths(lanes, copies, longest):
    """By the interpreter: panels of two and of one vector, tiles of three and of two rows, copied inputs, chains of some rows
    (of the three of a step two and one) or of all."""
    steps, rows, units, features, width = 2, 3, 3 * lanes - 1, lanes + 1, 8
    sums, other = numbers(steps, rows, width, dtype="f4"), numbers(steps, rows, width, dtype="f4", seed=1)
    outputs, hidden = numbers(steps, rows, units, dtype="f4", seed=2), numbers(rows, units, dtype="f4", seed=3)
    input = numbers(rows, steps, features, dtype="f4", seed=4).transpose(1, 0, 2)
    given = input if copies else np.ascontiguousarray(input)
    results = [np.zeros(shape, np.float32) for shape in ((width, units), (width, features), width, width)]
    memory = given.base if copies else given
    arrays = (
        sums,
        sums[0],
        sums[1:],
        other,
        hidden,
        outputs[:-1],
        memory,
        np.zeros(steps * rows * 2 * lanes, np.float32),
    )
    strides = [stride // 4 for stride in given.strides[:2]]
    program = gradients_program("f32", lanes, (2, 2), 3, copies, 2)
    flat = [array.reshape(-1) for array in (*arrays, *results)]
    counts = steps * rows, rows, rows, units, features, width, width, units
    interpret(program, *flat, *counts, *strides, longest, 2, 1, 3, 2, workers=2)
    expected = expected_gradients(sums, outputs, hidden, False, True, input, other)
    for found, right in zip(results, expected, strict=True):
        np.testing.assert_allclose(found, right, atol=1e-5)
