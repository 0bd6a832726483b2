"""Elementwise operations without PyTorch at hand: known values, laws, and what the short paths must not forget."""

import math

import numpy as np
import pytest

import rushlight as rl

# Values to 17 digits, computed with 40.
KNOWN = {
    "erf": [(1e-10, 1.1283791670955126e-10), (0.5, 0.52049987781304654), (-3.0, -0.99997790950300141)],
    "erfc": [(0.5, 0.47950012218695346), (3.0, 2.2090496998585441e-05), (10.0, 2.0884875837625448e-45)],
    "erfinv": [(0.5, 0.47693627620446987), (-0.999, -2.3267537655135245), (1e-9, 8.8622692545275801e-10)],
    "lgamma": [(0.1, 2.2527126517342060), (1.5, -0.12078223763524522), (20.0, 39.339884187199494)],
    "digamma": [(1.0, -0.57721566490153286), (0.25, -4.2274535333762654), (8.5, 2.08009081757942012)],
    "i0": [(1.0, 1.2660658777520084), (10.0, 2815.7166284662545)],
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_special_functions_to_the_last_digits(name):
    points, values = zip(*KNOWN[name])
    found = getattr(rl, name)(rl.tensor(points * 20, dtype=rl.float64))
    np.testing.assert_allclose(found.numpy(), values * 20, rtol=2e-15)


def test_erf_of_float32_is_exact_to_three_units():
    x = np.concatenate([np.linspace(-4.5, 4.5, 40_001), 10.0 ** np.linspace(-30, 0, 500)]).astype(np.float32)
    exact = np.array([math.erf(v) for v in x.tolist()])
    found = rl.erf(rl.from_numpy(x)).numpy()
    assert (np.abs(found - exact) <= 3 * np.spacing(np.abs(exact).astype(np.float32))).all()


def test_nan_and_infinity_in_special_functions():
    edge = rl.tensor([math.nan, math.inf, -math.inf] * 20)
    assert rl.erf(edge).tolist()[1:3] == [1.0, -1.0] and math.isnan(rl.erf(edge).tolist()[0])
    assert rl.sigmoid(edge).tolist()[1:3] == [1.0, 0.0]
    assert rl.lgamma(edge).tolist()[1:3] == [math.inf, math.inf]


def test_a_result_kept_for_backward_must_not_be_written():
    x = rl.ones(3, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_comparisons_and_logic_are_never_tracked():
    x = rl.ones(3, requires_grad=True)
    for result in (x > 0, x == x, x.isnan(), x.logical_not(), rl.special.bessel_j0(x)):
        assert not result.requires_grad and result.grad_fn is None


def test_infinite_gradients_stay_out_of_masked_places():
    x = rl.tensor([-1.0, 2.0], requires_grad=True)
    for function in (rl.relu, lambda t: t.clamp(min=0), lambda t: rl.where(t > 0, t, 0.0), rl.nn.functional.leaky_relu):
        x.grad = None
        function(x).backward(rl.tensor([math.inf, 1.0]))
        assert x.grad[1] == 1 and x.grad[0] in (0, math.inf)


def test_numpy_warnings_stay_silent():
    zero = rl.zeros(2)
    assert (1 / zero).tolist() == [math.inf] * 2
    assert rl.log(zero).tolist() == [-math.inf] * 2
    assert rl.exp(zero + 1000).tolist() == [math.inf] * 2


def test_large_arrays_give_what_small_ones_do():
    x = rl.linspace(-4, 4, 300_001)
    for name in ("gelu", "silu", "mish", "hardswish", "softplus", "elu"):
        function = getattr(rl.nn.functional, name)
        np.testing.assert_allclose(function(x)[::1000].numpy(), function(x[::1000]).numpy(), rtol=1e-6, atol=5e-7)
    condition = rl.rand(300_001) > 0.5
    for first, second in ((x, -x), (x, 0.0), (0, x), (2.5, x)):
        found = rl.where(condition, first, second).numpy()
        wanted = np.where(
            condition.numpy(), *(v.numpy() if isinstance(v, rl.Tensor) else np.float32(v) for v in (first, second))
        )
        assert (found == wanted).all()


def test_short_powers_match_the_general_power():
    x = rl.tensor([0.5, 2.0, 3.0], dtype=rl.float64)
    for exponent in (2, 3, 0.5, -0.5, -1, -2, 1):
        np.testing.assert_allclose((x**exponent).numpy(), x.numpy() ** float(exponent), rtol=1e-15)


def test_derivatives_of_any_order():
    x = rl.tensor([0.3, -0.7], dtype=rl.float64, requires_grad=True)
    for function in (rl.tanh, rl.sigmoid, rl.nn.functional.gelu, rl.nn.functional.silu, rl.nn.functional.mish):
        y = function(x)
        for _ in range(3):
            (y,) = rl.autograd.grad(y.sum(), x, create_graph=True)
        step = 1e-4
        points = [function(x.detach() + k * step) for k in (-2, -1, 1, 2)]
        estimate = (points[3] - 2 * points[2] + 2 * points[1] - points[0]) / (2 * step**3)
        np.testing.assert_allclose(y.detach().numpy(), estimate.numpy(), atol=1e-3)


def test_hints_follow_the_first_line():
    with pytest.raises(RuntimeError) as caught:
        -rl.tensor([True])
    first, second = str(caught.value).split("\n")
    assert first.startswith("Negation, the `-` operator") and second.startswith("hint: ")
