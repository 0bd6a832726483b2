"""The table op behind a step: every element is updated once, whatever the size, dtype and layout of a parameter."""

import numpy as np
import pytest

from rushlight.ops import optimize


def count_up(m, constants, param, grad, seen):
    """A formula that shows each element how often it was visited, and with which scalar."""
    seen += 1
    param += grad * constants["lr"] + constants["step"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
@pytest.mark.parametrize(
    "shape",
    [
        (),
        (0,),
        (0, 3),
        (3,),
        (optimize.BLOCK,),
        (optimize.BLOCK + 1,),
        (3, optimize.BLOCK),
        (optimize.BLOCK, 3),
        (1, 100_000),
    ],
)
def test_each_element_is_updated_once(shape, dtype):
    param, grad, seen = np.zeros(shape, dtype), np.full(shape, 2, dtype), np.zeros(shape, dtype)
    step = np.array(3, "float32")
    optimize.optimizer_step_(
        [param],
        [grad],
        [step],
        [seen],
        formula=count_up,
        constants=lambda group, step: {"lr": group["lr"], "step": step},
        advance=lambda group, step: (step + 1,),
        group={"lr": 0.5},
    )
    complex_part = 1j if param.dtype.kind == "c" else 0
    assert (seen == 1 + complex_part).all()
    assert (param == 4 + 3 * complex_part).all()
    assert (grad == 2).all()
    assert step == 4


def test_scalars_and_states_go_to_their_parameters():
    params, grads = [np.zeros(2), np.zeros(3)], [np.ones(2), np.ones(3)]
    scalars = [np.array(1.0), np.array(10.0), np.array(2.0), np.array(20.0)]

    def formula(m, constants, param, grad, state):
        param += constants["sum"]
        state[...] = param

    states = [np.zeros(2), np.zeros(3)]
    optimize.optimizer_step_(
        params,
        grads,
        scalars,
        states,
        formula=formula,
        constants=lambda group, a, b: {"sum": a + b},
        advance=lambda group, a, b: (a + 1, b * 2),
        group={},
    )
    assert params[0].tolist() == [11, 11]
    assert states[1].tolist() == [22, 22, 22]
    assert [scalar.item() for scalar in scalars] == [2, 20, 3, 40]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("size", [1, 100, optimize.AXPY_SIZE, optimize.AXPY_SIZE + 7])
@pytest.mark.parametrize("flat", [True, False])
def test_add_scaled(dtype, size, flat):
    param = np.arange(2 * size).astype(dtype)
    grad = np.ones(2 * size, dtype)
    if not flat:
        param, grad = param[::2], grad[::2]
    scale = -2 if dtype == "int32" else -0.5
    expected = param + grad * np.asarray(scale, dtype)
    optimize.add_scaled_([param], [grad], scale=scale)
    np.testing.assert_array_equal(param, expected)


def test_add_scaled_without_blas(monkeypatch):
    monkeypatch.setattr(optimize, "_blas_axpy", dict)
    param = np.zeros(optimize.AXPY_SIZE, "float32")
    optimize.add_scaled_([param], [np.ones_like(param)], scale=0.5)
    assert (param == 0.5).all()
