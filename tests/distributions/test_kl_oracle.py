"""Divergences of every pair that PyTorch has, the choice among classes, and the errors of pairs without a formula."""

import os
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import warnings  # noqa: E402

from distribution_cases import CASES, PARAMETERS, assert_same, outcome, parameters, tensor  # noqa: E402

import rushlight  # noqa: E402

MODULES = (rushlight, torch)
SEEDS = max(1, int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")) // 50)
torch_pairs = sorted((p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY)
PAIRS = [pair for pair in torch_pairs if all(name in PARAMETERS for name in pair)]


def make(module, name, place, seed, dtype="float32", tracked=True):
    arguments = parameters(module, name, place, dtype, seed, tracked)
    return getattr(module.distributions, name)(**arguments), arguments


def compare(p, q, seed=0, dtype="float32", factor=30):
    """The divergence of two cases and its gradients by all parameters."""
    leaves = {}

    def divergence(m):
        first, of_first = make(m, *p, seed, dtype)
        second, of_second = make(m, *q, seed + 100, dtype)
        found = m.distributions.kl_divergence(first, second)
        if found.requires_grad and bool(found.isfinite().all()):
            found.sum().backward()
            leaves[m] = [*of_first.values(), *of_second.values()]
        return found

    ours, theirs = (outcome(lambda m=m: divergence(m)) for m in MODULES)
    if theirs[0] == "IndexError" and theirs[1].startswith("The shape of the mask"):
        assert ours[0] == "value"  # PyTorch writes infinities with a mask of a shape that does not broadcast
        return
    assert_same(ours, theirs, (p, q, seed), factor)
    for ours, theirs in zip(leaves.get(rushlight, []), leaves.get(torch, [])):
        if hasattr(theirs, "grad") and theirs.grad is not None:
            assert_same(("value", ours.grad), ("value", theirs.grad), (p, q, seed), 3 * factor)


def test_the_same_pairs():
    ours = sorted((p.__name__, q.__name__) for p, q in rushlight.distributions.kl._KL_REGISTRY)
    assert ours == torch_pairs
    assert len(PAIRS) > 80


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_every_pair(p, q):
    compare((p, 0), (q, 0))


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_distribution_and_itself(name):
    place = len(PARAMETERS[name]) - 1
    compare((name, place), (name, place))


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_pairs_sweep(p, q):
    """Every pair of cases in both dtypes, over parameters from several seeds."""
    for of_p, of_q in product(range(len(PARAMETERS[p])), range(len(PARAMETERS[q]))):
        for seed in range(SEEDS):
            compare((p, of_p), (q, of_q), seed, "float32")
            compare((p, of_p), (q, of_q), seed, "float64", 30000)  # numbers for parameters make float32 tensors


SPECIAL = [
    lambda D, t: D.kl_divergence(D.Bernoulli(t([0.0, 1.0, 0.5, 0.5])), D.Bernoulli(t([0.5, 0.5, 0.0, 1.0]))),
    lambda D, t: D.kl_divergence(D.Categorical(t([[0.0, 1.0], [0.5, 0.5]])), D.Categorical(t([[0.5, 0.5], [0.0, 1.0]]))),
    lambda D, t: D.kl_divergence(D.OneHotCategorical(t([0.0, 1.0])), D.OneHotCategorical(t([0.5, 0.5]))),
    lambda D, t: D.kl_divergence(D.Binomial(5, t([0.5])), D.Binomial(3, t([0.25]))),
    lambda D, t: D.kl_divergence(D.Binomial(3, t([0.5])), D.Binomial(5, t([0.25]))),
    lambda D, t: D.kl_divergence(D.Uniform(t([0.0, 0.2]), t([1.0, 0.8])), D.Uniform(t([0.1, 0.1]), t([0.9, 0.9]))),
    lambda D, t: D.kl_divergence(D.Uniform(t([0.0, 0.2]), t([1.0, 0.8])), D.Beta(t([2.0, 0.5]), t([3.0, 1.0]))),
    lambda D, t: D.kl_divergence(D.Uniform(t([-0.1, 0.2]), t([1.0, 0.8])), D.Gamma(t([2.0, 0.5]), t([3.0, 1.0]))),
    lambda D, t: D.kl_divergence(D.Uniform(t([0.0, 0.2]), t([1.0, 0.8])), D.ContinuousBernoulli(t([0.2, 0.7]))),
    lambda D, t: D.kl_divergence(D.Uniform(t([0.0, 0.2]), t([1.0, 0.8])), D.Pareto(t([0.1, 0.1]), t([2.0, 3.0]))),
    lambda D, t: D.kl_divergence(D.Uniform(t([-1.0, 0.2]), t([1.0, 0.8])), D.Exponential(t([0.1, 0.1]))),
    lambda D, t: D.kl_divergence(D.Beta(t([2.0, 0.5]), t([3.0, 1.0])), D.Uniform(t([0.0, 0.2]), t([1.0, 2.0]))),
    lambda D, t: D.kl_divergence(D.ContinuousBernoulli(t([0.2, 0.7])), D.Uniform(t([0.0, -0.2]), t([1.0, 2.0]))),
    lambda D, t: D.kl_divergence(D.Pareto(t([1.0, 2.0]), t([2.0, 3.0])), D.Pareto(t([2.0, 1.0]), t([2.0, 3.0]))),
    lambda D, t: D.kl_divergence(D.Pareto(t([1.0, 2.0]), t([0.5, 3.0])), D.Exponential(t([2.0, 1.0]))),
    lambda D, t: D.kl_divergence(D.Pareto(t([1.0, 2.0]), t([1.5, 3.0])), D.Normal(t([2.0, 1.0]), 1.0)),
    lambda D, t: D.kl_divergence(D.Pareto(t([1.0, 2.0]), t([0.5, 3.0])), D.Gamma(t([2.0, 1.0]), 1.0)),
    lambda D, t: D.kl_divergence(D.Independent(D.Normal(t([0.0, 1.0]), 1.0), 1), D.Independent(D.Laplace(t([0.0, 1.0]), 1.0), 1)),
    lambda D, t: D.kl_divergence(D.Independent(D.Normal(t([0.0, 1.0]), 1.0), 1), D.Independent(D.Normal(t([2.0, 1.0]), 1.0), 0)),
    lambda D, t: D.kl_divergence(D.LogNormal(t([0.0, 1.0]), 1.0), D.LogNormal(t([1.0, 1.0]), 2.0)),
    lambda D, t: D.kl_divergence(D.LogNormal(t([0.0, 1.0]), 1.0), D.LogisticNormal(t([1.0, 1.0]), 2.0)),
    lambda D, t: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)),
    lambda D, t: D.kl_divergence(D.Poisson(1.0), D.Normal(0.0, 1.0)),
    lambda D, t: D.kl_divergence(D.Chi2(3.0), D.Gamma(2.0, 1.0)),
    lambda D, t: D.kl_divergence(D.Bernoulli(0.3), D.Cauchy(0.0, 1.0)),
    lambda D, t: D.kl_divergence(D.Wishart(t(3.0), t([[1.0, 0.0], [0.0, 1.0]])), D.Wishart(t(4.0), t([[2.0, 0.5], [0.5, 1.0]]))),
    lambda D, t: D.kl_divergence(D.MultivariateNormal(t([0.0, 1.0]), scale_tril=t([[1.0, 0.0], [0.0, 1.0]])),
                                 D.MultivariateNormal(t([0.0]), scale_tril=t([[1.0]]))),
    lambda D, t: D.kl_divergence(D.LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.0], [0.0]]), t([1.0, 1.0])),
                                 D.MultivariateNormal(t([0.0]), scale_tril=t([[1.0]]))),
    lambda D, t: D.kl_divergence(D.LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.0], [0.0]]), t([1.0, 1.0])),
                                 D.LowRankMultivariateNormal(t([0.0]), t([[1.0]]), t([1.0]))),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(SPECIAL)))
def test_edges_of_divergences(place):
    calls = [outcome(lambda m=m: SPECIAL[place](m.distributions, m.tensor)) for m in MODULES]
    assert_same(*calls, place, 10)


def test_subclasses_find_the_closest_pair():
    D = rushlight.distributions
    kept = dict(D.kl._KL_REGISTRY)

    class First(D.Normal):
        pass

    class Second(First):
        pass

    try:
        D.register_kl(First, D.Normal)(lambda p, q: "first")
        D.register_kl(D.Normal, Second)(lambda p, q: "second")
        normal, first, second = D.Normal(0.0, 1.0), First(0.0, 1.0), Second(0.0, 1.0)
        assert D.kl_divergence(second, normal) == "first"
        assert D.kl_divergence(normal, second) == "second"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(
                RuntimeWarning, match=r"Ambiguous kl_divergence\(Second, Second\). Please register_kl\(First, Second\)"
            ):
                D.kl_divergence(second, second)
        assert float(D.kl_divergence(normal, normal)) == 0
        assert first.expand([2]).__class__ is First
    finally:
        D.kl._KL_REGISTRY.clear()
        D.kl._KL_REGISTRY.update(kept)
        D.kl._KL_MEMOIZE.clear()


def test_divergences_agree_with_samples():
    """Monte Carlo: no formula, no PyTorch."""
    D = rushlight.distributions
    rushlight.manual_seed(0)
    for p, q in (
        (D.Gamma(2.0, 1.5), D.Normal(1.0, 2.0)),
        (D.Normal(0.3, 1.2), D.Laplace(0.0, 1.0)),
        (D.Uniform(0.2, 0.9), D.Beta(2.0, 1.5)),
        (D.Beta(2.0, 3.0), D.Gamma(2.0, 1.0)),
        (D.Exponential(2.0), D.Gumbel(0.5, 1.0)),
    ):
        values = p.sample((6000,))
        estimate = (p.log_prob(values) - q.log_prob(values)).mean()
        assert abs(float(D.kl_divergence(p, q) - estimate)) < 0.06
    assert len(CASES) > 60
    assert tensor(rushlight, np.ones(2)).sum() == 2
