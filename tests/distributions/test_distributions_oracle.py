"""Every distribution against PyTorch's: samples for a seed, densities, moments, gradients, printing, expansion, refusals."""

import re

import numpy as np
import pytest
from cases import CASES, REFUSED
from oracle import BOTH, assert_close, outcome, values

EXPRESSIONS = [(kind, expression) for kind, expressions in CASES.items() for expression in expressions]
MOMENTS = ["mean", "mode", "variance", "stddev", "param_shape"]
GRADIENTS = {"rtol": 1e-4, "atol": 1e-5}


def made(library, expression):
    """The distribution, and the parameters that it was made of."""
    parameters = []

    def parameter(numbers, dtype=library.float32):
        parameters.append(library.tensor(numbers, dtype=dtype, requires_grad=True))
        return parameters[-1]

    return eval(expression, {"D": library.distributions, "T": library, "p": parameter}), parameters


def gradients(library, result, parameters):
    """Of a weighted sum of the result; None where nothing depends on a parameter."""
    if not parameters or not hasattr(result, "detach") or not result.requires_grad:
        return []
    weights = library.arange(1, result.numel() + 1, dtype=result.dtype).reshape(result.shape)
    return library.autograd.grad((result * weights).sum(), parameters, allow_unused=True)


def same(ours, theirs, what, **tolerance):
    """Compares two outcomes of `outcome`, the gradients with respect to parameters included."""
    assert ours[1] == theirs[1], (what, ours, theirs)
    if ours[1] is None and hasattr(ours[0], "detach"):
        assert_close(ours[0], theirs[0], what=what, **tolerance)
    else:
        assert str(ours[0]) == str(theirs[0]), what


def same_with_gradients(expression, function, what, **tolerance):
    results = []
    for library in BOTH:
        distribution, parameters = made(library, expression)
        result, error = outcome(lambda: function(library, distribution))
        slopes = ([], None) if error else outcome(lambda: gradients(library, result, parameters))
        results.append((result, error, slopes))
    theirs, ours = results
    same(ours, theirs, what, **tolerance)
    assert ours[2][1] == theirs[2][1] and len(ours[2][0] or []) == len(theirs[2][0] or []), (what, ours, theirs)
    for one, other in zip(ours[2][0] or [], theirs[2][0] or []):
        assert (one is None) == (other is None), (what, one, other)
        if one is not None:
            assert_close(one, other, what=(what, "gradient"), **{**GRADIENTS, **tolerance})


def value_of(library, expression):
    """A sample to ask about, drawn by PyTorch."""
    torch = BOTH[0]
    torch.manual_seed(5)
    drawn = made(torch, expression)[0].sample((4,))
    return library.tensor(drawn.tolist(), dtype=getattr(library, str(drawn.dtype).removeprefix("torch.")))


@pytest.mark.parametrize("kind, expression", EXPRESSIONS, ids=[e for _, e in EXPRESSIONS])
class TestEach:
    def test_what_it_says_of_itself(self, kind, expression):
        said = []
        for library in BOTH:
            d, _ = made(library, expression)
            cls = getattr(library.distributions, kind)
            said.append([
                repr(d), tuple(d.batch_shape), tuple(d.event_shape), repr(d.support), d.support.is_discrete, d.support.event_dim,
                d.has_rsample, d.has_enumerate_support, {name: repr(c) for name, c in d.arg_constraints.items()}, d._validate_args,
                repr(cls.support), isinstance(d, library.distributions.ExponentialFamily), cls.__mro__[1].__name__ == "x",
                [str(outcome(lambda: getattr(d, name).shape)) for name in ("logits", "probs", "precision_matrix")],
                repr(d),
            ])  # fmt: skip
        assert said[0] == said[1]

    def test_samples(self, kind, expression):
        drawn = []
        for library in BOTH:
            library.manual_seed(11)
            d, _ = made(library, expression)
            samples = [
                d.sample(),
                d.sample((3,)),
                d.sample(library.Size((2, 5))),
                d.expand((2, *d.batch_shape)).sample((2,)),
            ]
            if d.has_rsample:
                samples += [d.rsample().detach(), d.rsample((4,)).detach()]
            assert not any(sample.requires_grad for sample in samples)
            drawn.append(samples)
        for theirs, ours in zip(*drawn):
            assert ours.dtype.__repr__() == theirs.dtype.__repr__() and tuple(ours.shape) == tuple(theirs.shape)
            if ROUNDED.search(expression):  # a logarithm or a solution of ours may round another way
                spacing = library.finfo(ours.dtype).eps
                np.testing.assert_allclose(values(ours), values(theirs), rtol=4 * spacing, atol=4 * spacing)
            else:
                np.testing.assert_array_equal(values(ours), values(theirs))

    def test_gradients_of_samples(self, kind, expression):
        def draw(library, d):
            library.manual_seed(3)
            return d.rsample((2,))

        rough = {"rtol": 4e-3, "atol": 1e-4} if kind in IMPLICIT else {}
        same_with_gradients(expression, draw, "rsample", **rough)

    def test_densities(self, kind, expression):
        same_with_gradients(expression, lambda T, d: d.log_prob(value_of(T, expression)), "log_prob")
        same_with_gradients(expression, lambda T, d: d.cdf(value_of(T, expression)), "cdf")
        same_with_gradients(
            expression, lambda T, d: d.icdf(T.tensor([0.1, 0.5, 0.9]).reshape((3,) + (1,) * len(d.batch_shape))), "icdf"
        )

    def test_moments(self, kind, expression):
        for name in MOMENTS:
            if name != "param_shape":
                same_with_gradients(expression, lambda T, d: getattr(d, name), name)
        for name in ("entropy", "perplexity", "enumerate_support"):
            same_with_gradients(expression, lambda T, d: getattr(d, name)(), name)
        same_with_gradients(expression, lambda T, d: d.enumerate_support(expand=False), "enumerate_support")

    def test_expansion(self, kind, expression):
        for wide in (lambda d: d.expand((2, *d.batch_shape)), lambda d: d.expand(d.batch_shape)):
            same_with_gradients(expression, lambda T, d: wide(d).log_prob(value_of(T, expression)[:1]), "log_prob")
            same_with_gradients(expression, lambda T, d: wide(d).mean, "mean")
            assert repr(wide(made(BOTH[0], expression)[0])) == repr(wide(made(BOTH[1], expression)[0]))


ROUNDED = re.compile(r"Laplace|precision_matrix")
IMPLICIT = {"Gamma", "Beta", "Dirichlet", "Chi2", "StudentT", "FisherSnedecor", "InverseGamma", "Wishart"}


@pytest.mark.parametrize("expression", REFUSED)
def test_refusals(expression):
    theirs, ours = (outcome(lambda: made(library, expression)) for library in BOTH)
    assert theirs[1] is not None and ours[1] == theirs[1]
