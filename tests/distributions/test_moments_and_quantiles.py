"""Distributions without PyTorch: samples have the moments and densities that they say, gradients those of their quantiles."""

import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch
from rushlight.ops.implicit_gradients import dirichlet_grad, standard_gamma_grad

D = torch.distributions


def test_nothing_is_loaded_at_import():
    code = "import sys, rushlight; print([m for m in sys.modules if 'rushlight.distributions' in m or 'implicit' in m])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.parametrize(
    "distribution",
    [
        D.Normal(1.0, 2.0), D.Exponential(2.0), D.Gamma(2.0, 3.0), D.Beta(2.0, 3.0), D.Uniform(1.0, 3.0), D.Laplace(1.0, 2.0),
        D.Gumbel(1.0, 2.0), D.StudentT(9.0, 1.0, 2.0), D.FisherSnedecor(5.0, 12.0), D.Weibull(2.0, 3.0), D.LogNormal(0.0, 0.5),
        D.Kumaraswamy(2.0, 3.0), D.HalfNormal(2.0), D.Poisson(3.0), D.Bernoulli(0.3), D.Binomial(5, torch.tensor(0.3)),
        D.Geometric(0.4), D.NegativeBinomial(3, torch.tensor(0.4)), D.ContinuousBernoulli(0.8), D.Chi2(3.0), D.InverseGamma(6.0, 2.0),
        D.Dirichlet(torch.tensor([1.0, 2.0, 3.0])), D.Multinomial(5, torch.tensor([1.0, 3.0])), D.GeneralizedPareto(0.0, 1.0, 0.1),
        D.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 1.0], [1.0, 2.0]])), D.OneHotCategorical(torch.tensor([1.0, 3.0])),
    ],
    ids=lambda d: type(d).__name__,
)  # fmt: skip
def test_samples_have_the_moments(distribution):
    torch.manual_seed(0)
    sample = distribution.sample((4000,))
    error = 6 * distribution.stddev / 4000**0.5
    assert bool(((sample.mean(0) - distribution.mean).abs() < error).all())
    assert bool(((sample.var(0) / distribution.variance - 1).abs() < 0.35).all())
    assert bool(distribution.support.check(sample).all())


@pytest.mark.parametrize("alpha", [1e-3, 0.3, 1.0, 4.0, 30.0, 1000.0])
def test_gamma_numbers_follow_their_quantiles(alpha):
    """The derivative at a fixed value of the distribution function: P(a, x(a)) stays as it is."""
    torch.manual_seed(0)
    shape = torch.full((20,), alpha, dtype=torch.float64)
    x = torch._standard_gamma(shape).clamp(min=1e-200)
    slope = torch.from_numpy(standard_gamma_grad(shape.numpy(), x.numpy()))
    step = 1e-5 * alpha
    moved = torch.igamma(shape + step, x + step * slope) - torch.igamma(shape - step, x - step * slope)
    still = torch.igamma(shape + step, x) - torch.igamma(shape - step, x)
    assert bool((moved.abs() <= 1e-4 * still.abs() + 1e-12).all())


def test_beta_numbers_of_one_power_follow_theirs():
    """F(x; a, 1) = x^a: the derivative of x = F^(1/a) is -x log(x) / a. The mirror image has F = 1 - (1 - x)^b."""
    x = np.linspace(0.001, 0.999, 200)
    for a in (1e-3, 0.2, 1.0, 3.0, 50.0):
        np.testing.assert_allclose(dirichlet_grad(x, a, a + 1), -x * np.log(x) / a / (1 - x), 1e-6)


def beta_distribution(x, a, b):
    """The distribution function of beta numbers, by sums over the log-odds."""
    y = np.linspace(-80, 80, 40001)
    y = np.sort(np.append(y, np.log(x / (1 - x))))
    density = np.exp(-a * np.logaddexp(0, -y) - b * np.logaddexp(0, y))
    area = np.append(0, np.cumsum((density[1:] + density[:-1]) * np.diff(y)))
    return area[np.searchsorted(y, np.log(x / (1 - x)))] / area[-1]


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.7), (2.0, 30.0), (5.0, 5.0), (40.0, 0.6), (300.0, 200.0)])
def test_beta_numbers_follow_their_quantiles(a, b):
    spread = np.sqrt(a * b / (a + b + 1)) / (a + b)
    for x in np.clip(a / (a + b) + np.array([-0.8, 0.3, 0.0, 0.9]) * spread, 0.01, 0.999):
        slope, step = float(dirichlet_grad(x, a, a + b)) * (1 - x), 1e-4 * a
        moved = beta_distribution(x + step * slope, a + step, b) - beta_distribution(x - step * slope, a - step, b)
        still = beta_distribution(x, a + step, b) - beta_distribution(x, a - step, b)
        assert abs(moved) < 1e-4 * abs(still)


def test_second_derivatives_of_gamma_samples_refuse():
    concentration = torch.tensor([2.0], requires_grad=True)
    (first,) = torch.autograd.grad(D.Gamma(concentration, 1.0).rsample().sum(), concentration, create_graph=True)
    with pytest.raises(NotImplementedError, match="the derivative for '_standard_gamma_grad' is not implemented"):
        first.sum().backward()


def test_validation_can_be_switched_off_for_all():
    try:
        D.Distribution.set_default_validate_args(False)
        assert D.Normal(0.0, -1.0).scale == -1
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        D.Normal(0.0, -1.0)


def test_samples_under_vmap():
    """A density is mapped over parameters as everything else is."""
    locs, values = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.5, 0.5, 0.5])
    found = torch.vmap(lambda loc, x: D.Normal(loc, 1.0, validate_args=False).log_prob(x))(locs, values)
    assert torch.allclose(found, D.Normal(locs, 1.0).log_prob(values))
