"""Every pair of divergences that is here against PyTorch's, with gradients on both sides."""

import itertools
import warnings

import pytest
from cases import CASES
from oracle import BOTH
from test_distributions_oracle import same_with_gradients

torch, rushlight = BOTH
# Of each kind the first two ways to make it that PyTorch knows a divergence for.
KINDS = {kind: expressions[:2] for kind, expressions in CASES.items()}


def registered(library):
    return {(p.__name__, q.__name__) for p, q in library.distributions.kl._KL_REGISTRY}


def test_the_table_has_the_pairs_of_what_is_here():
    here = set(rushlight.distributions.__all__)
    assert registered(rushlight) == {pair for pair in registered(torch) if here.issuperset(pair)}


@pytest.mark.parametrize("kind", KINDS)
def test_divergences(kind):
    pairs = [(p, q) for other in KINDS for p, q in itertools.product(KINDS[kind], KINDS[other])]
    for p, q in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of an ambiguity, in both
            same_with_gradients(f"({p}, {q})", lambda T, both: T.distributions.kl_divergence(*both), (p, q), rtol=2e-4)


def test_pairs_of_ones_own():
    for library in BOTH:
        D = library.distributions

        class Mine(D.Normal):
            pass

        class Other(D.Normal):
            pass

        assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)).item() == 0

        @D.register_kl(Mine, D.Normal)
        def first(p, q):
            return "first"

        @D.register_kl(D.Normal, Other)
        def second(p, q):
            return "second"

        assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)) == "first"
        with pytest.warns(
            RuntimeWarning, match=r"Ambiguous kl_divergence\(Mine, Other\). Please register_kl\(Mine, Other\)"
        ):
            assert D.kl_divergence(Mine(0.0, 1.0), Other(0.0, 1.0)) == "first"
        for pair in ((Mine, D.Normal), (D.Normal, Other)):
            del D.kl._KL_REGISTRY[pair]
        D.kl._KL_MEMOIZE.clear()
