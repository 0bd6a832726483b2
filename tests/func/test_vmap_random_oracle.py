"""Random operations under vmap: the draws, and the refusals, of PyTorch for the same seed."""

import pytest
from test_vmap_oracle import outcome, torch

import rushlight as rl


def batch(t):
    return (t.arange(12.0).reshape(3, 4) + 1) / 13


def shared(t):
    return t.full((4,), 0.5)


CASES = {
    "rand": lambda t, e: t.rand(2),
    "randn": lambda t, e: t.randn(2),
    "randint": lambda t, e: t.randint(0, 5, (2,)),
    "randperm": lambda t, e: t.randperm(5),
    "normal of a size": lambda t, e: t.normal(0.0, 1.0, (2,)),
    "rand_like": lambda t, e: t.rand_like(e),
    "rand_like of a shared tensor": lambda t, e: t.rand_like(shared(t)),
    "randn_like": lambda t, e: t.randn_like(e),
    "randint_like": lambda t, e: t.randint_like(e, 5),
    "normal_": lambda t, e: e.clone().normal_(),
    "normal_ of a shared tensor": lambda t, e: t.zeros(4).normal_(),
    "uniform_": lambda t, e: e.clone().uniform_(),
    "exponential_": lambda t, e: e.clone().exponential_(),
    "log_normal_": lambda t, e: e.clone().log_normal_(),
    "cauchy_": lambda t, e: e.clone().cauchy_(),
    "geometric_": lambda t, e: e.clone().geometric_(0.5),
    "random_": lambda t, e: e.clone().random_(),
    "bernoulli_": lambda t, e: e.clone().bernoulli_(0.5),
    "bernoulli_ of shared chances": lambda t, e: e.clone().bernoulli_(shared(t)),
    "bernoulli_ of mapped chances": lambda t, e: e.clone().bernoulli_(e),
    "bernoulli_ of a shared tensor": lambda t, e: t.zeros(4).bernoulli_(e),
    "bernoulli": lambda t, e: t.bernoulli(e),
    "bernoulli of shared chances": lambda t, e: t.bernoulli(shared(t)),
    "normal": lambda t, e: t.normal(e, e),
    "normal of a mapped mean": lambda t, e: t.normal(e, 1.0),
    "normal of a shared deviation": lambda t, e: t.normal(0.0, shared(t)),
    "multinomial": lambda t, e: t.multinomial(e, 2),
    "multinomial of a matrix": lambda t, e: t.multinomial(e.reshape(2, 2), 2),
    "multinomial of shared weights": lambda t, e: t.multinomial(shared(t), 2),
    "poisson": lambda t, e: t.poisson(e),
    "poisson of shared rates": lambda t, e: t.poisson(shared(t)),
    "binomial": lambda t, e: t.binomial(t.full((4,), 3.0), e),
    "gamma": lambda t, e: t._standard_gamma(e),
    "dirichlet": lambda t, e: t._sample_dirichlet(e),
    "dropout": lambda t, e: t.nn.functional.dropout(e),
    "dropout in evaluation": lambda t, e: t.nn.functional.dropout(e, training=False),
    "dropout2d": lambda t, e: t.nn.functional.dropout2d(e.reshape(1, 4, 1, 1)),
    "alpha_dropout": lambda t, e: t.nn.functional.alpha_dropout(e, training=True),
    "feature_alpha_dropout": lambda t, e: t.nn.functional.feature_alpha_dropout(e.reshape(2, 2, 1), training=True),
    "gumbel_softmax": lambda t, e: t.nn.functional.gumbel_softmax(e),
}


@pytest.mark.parametrize("randomness", ["error", "same", "different"])
@pytest.mark.parametrize("name", CASES)
def test_draws(name, randomness):
    def story(t, vmap):
        return vmap(lambda e: CASES[name](t, e), randomness=randomness)(batch(t))

    assert outcome(story, rl) == outcome(story, torch)


def test_nested_draws_are_those_of_both_levels():
    def story(t, vmap):
        inner = lambda e: vmap(lambda n: t.rand(2) + n * 0, randomness="same")(e)
        return vmap(inner, randomness="different")(batch(t))

    assert outcome(story, rl) == outcome(story, torch)


def test_chunks_draw_one_after_the_other():
    def story(t, vmap):
        return vmap(lambda e: e * 0 + t.rand(4), randomness="different", chunk_size=2)(batch(t))

    assert outcome(story, rl) == outcome(story, torch)
