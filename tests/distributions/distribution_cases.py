"""Distributions with random parameters, in Rushlight and in PyTorch, and what calls on both give."""

import re
import warnings

import numpy as np

PLACE = re.compile(r"(torch|rushlight)\.[\w.]*(?=\b[A-Z])")  # where a class lives, in the text of an error
TOLERANCE = {"float32": 3e-5, "float64": 1e-9}


def normal(r, *shape):
    return r.normal(size=shape)


def positive(r, *shape):
    return np.exp(r.normal(size=shape))


def share(r, *shape):
    return r.uniform(0.05, 0.95, size=shape)


def counts(r, *shape):
    return r.integers(3, 9, size=shape).astype(np.float64)


def definite(r, *shape):
    root = r.normal(size=shape)
    return root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])


def lower(r, *shape):
    return np.linalg.cholesky(definite(r, *shape))


# name -> functions of a generator; each gives the arguments by name. Arrays become tensors, other values stay.
PARAMETERS = {
    "Bernoulli": (lambda r: dict(probs=share(r, 3)), lambda r: dict(logits=normal(r, 2, 3)), lambda r: dict(probs=0.3)),
    "Beta": (
        lambda r: dict(concentration1=positive(r, 3), concentration0=positive(r, 2, 1)),
        lambda r: dict(concentration1=0.5, concentration0=2.0),
        lambda r: dict(concentration1=4 * positive(r, 3) + 1, concentration0=4 * positive(r, 3) + 1),
    ),
    "Binomial": (
        lambda r: dict(total_count=counts(r, 3), probs=share(r, 3)),
        lambda r: dict(total_count=5, logits=normal(r, 2)),
    ),
    "Categorical": (lambda r: dict(probs=share(r, 2, 4)), lambda r: dict(logits=normal(r, 5))),
    "Cauchy": (lambda r: dict(loc=normal(r, 3), scale=positive(r, 2, 1)), lambda r: dict(loc=0.5, scale=2)),
    "Chi2": (lambda r: dict(df=5 * positive(r, 3)), lambda r: dict(df=3.0)),
    "ContinuousBernoulli": (lambda r: dict(probs=np.append(share(r, 2), 0.5)), lambda r: dict(logits=normal(r, 2, 3))),
    "Dirichlet": (lambda r: dict(concentration=positive(r, 3)), lambda r: dict(concentration=5 * positive(r, 2, 4))),
    "Exponential": (lambda r: dict(rate=positive(r, 2, 3)), lambda r: dict(rate=1.5)),
    "FisherSnedecor": (lambda r: dict(df1=5 * positive(r, 3), df2=5 * positive(r, 3)), lambda r: dict(df1=3.0, df2=6.0)),
    "Gamma": (
        lambda r: dict(concentration=positive(r, 3), rate=positive(r, 2, 1)),
        lambda r: dict(concentration=20 * positive(r, 4), rate=2.0),
    ),
    "GeneralizedPareto": (
        lambda r: dict(loc=normal(r, 3), scale=positive(r, 3), concentration=np.array([-0.4, 0.0, 0.3])),
        lambda r: dict(loc=0.0, scale=1.0, concentration=2.0),
    ),
    "Geometric": (lambda r: dict(probs=share(r, 3)), lambda r: dict(logits=normal(r, 2, 3))),
    "Gumbel": (lambda r: dict(loc=normal(r, 3), scale=positive(r, 2, 1)), lambda r: dict(loc=1.0, scale=2.0)),
    "HalfCauchy": (lambda r: dict(scale=positive(r, 3)), lambda r: dict(scale=2.0)),
    "HalfNormal": (lambda r: dict(scale=positive(r, 3)), lambda r: dict(scale=2.0)),
    "InverseGamma": (lambda r: dict(concentration=3 * positive(r, 3), rate=positive(r, 3)), lambda r: dict(concentration=3.0, rate=1.0)),
    "Kumaraswamy": (
        lambda r: dict(concentration1=positive(r, 3), concentration0=positive(r, 2, 1)),
        lambda r: dict(concentration1=2.0, concentration0=3.0),
    ),
    "LKJCholesky": (lambda r: dict(dim=3, concentration=positive(r, 2)), lambda r: dict(dim=4, concentration=0.5)),
    "Laplace": (lambda r: dict(loc=normal(r, 3), scale=positive(r, 2, 1)), lambda r: dict(loc=1.0, scale=2.0)),
    "LogNormal": (lambda r: dict(loc=normal(r, 3), scale=positive(r, 2, 1) / 2), lambda r: dict(loc=0.0, scale=1.0)),
    "LogisticNormal": (lambda r: dict(loc=normal(r, 2, 3), scale=positive(r, 3)), lambda r: dict(loc=0.0, scale=1.0)),
    "LowRankMultivariateNormal": (
        lambda r: dict(loc=normal(r, 3), cov_factor=normal(r, 3, 2), cov_diag=positive(r, 3)),
        lambda r: dict(loc=normal(r, 4, 1, 3), cov_factor=normal(r, 2, 3, 1), cov_diag=positive(r, 2, 3)),
    ),
    "Multinomial": (lambda r: dict(total_count=6, probs=share(r, 2, 3)), lambda r: dict(total_count=4, logits=normal(r, 4))),
    "MultivariateNormal": (
        lambda r: dict(loc=normal(r, 3), covariance_matrix=definite(r, 3, 3)),
        lambda r: dict(loc=normal(r, 2, 3), precision_matrix=definite(r, 3, 3)),
        lambda r: dict(loc=normal(r, 4, 1, 2), scale_tril=lower(r, 3, 2, 2)),
    ),
    "NegativeBinomial": (
        lambda r: dict(total_count=positive(r, 3), probs=share(r, 3)),
        lambda r: dict(total_count=4, logits=normal(r, 2)),
    ),
    "Normal": (lambda r: dict(loc=normal(r, 3), scale=positive(r, 2, 1)), lambda r: dict(loc=1, scale=2.0)),
    "OneHotCategorical": (lambda r: dict(probs=share(r, 2, 4)), lambda r: dict(logits=normal(r, 5))),
    "OneHotCategoricalStraightThrough": (lambda r: dict(probs=share(r, 2, 4)), lambda r: dict(logits=normal(r, 5))),
    "Pareto": (lambda r: dict(scale=positive(r, 3), alpha=3 * positive(r, 2, 1)), lambda r: dict(scale=1.0, alpha=3.0)),
    "Poisson": (lambda r: dict(rate=3 * positive(r, 3)), lambda r: dict(rate=2.5)),
    "RelaxedBernoulli": (
        lambda r: dict(temperature=np.array(0.7), probs=share(r, 3)),
        lambda r: dict(temperature=np.array([2.0]), logits=normal(r, 2, 3)),
    ),
    "RelaxedOneHotCategorical": (
        lambda r: dict(temperature=np.array(0.7), probs=share(r, 2, 3)),
        lambda r: dict(temperature=np.array([2.0]), logits=normal(r, 4)),
    ),
    "StudentT": (
        lambda r: dict(df=3 * positive(r, 3), loc=normal(r, 3), scale=positive(r, 2, 1)),
        lambda r: dict(df=5.0),
        lambda r: dict(df=np.array([0.5, 1.5, 3.0])),
    ),
    "Uniform": (lambda r: dict(low=normal(r, 3), high=normal(r, 2, 3) + 9), lambda r: dict(low=0, high=2.0)),
    "VonMises": (lambda r: dict(loc=normal(r, 3), concentration=3 * positive(r, 3)), lambda r: dict(loc=0.5, concentration=9.0)),
    "Weibull": (lambda r: dict(scale=positive(r, 3), concentration=positive(r, 2, 1)), lambda r: dict(scale=2.0, concentration=3.0)),
    "Wishart": (
        lambda r: dict(df=np.array(4.5), covariance_matrix=definite(r, 3, 3)),
        lambda r: dict(df=positive(r, 2) + 3, scale_tril=lower(r, 2, 2)),
        lambda r: dict(df=np.array([4.0, 6.0]), precision_matrix=definite(r, 2, 2, 2)),
    ),
}  # fmt: skip
CASES = [(name, place) for name, cases in PARAMETERS.items() for place in range(len(cases))]


def parameters(module, name, place, dtype="float32", seed=0, tracked=False):
    """The arguments of a case: floating tensors of ``dtype``, leaves that want gradients if ``tracked``."""
    given = PARAMETERS[name][place](np.random.default_rng(seed))
    return {
        key: tensor(module, value, dtype).requires_grad_(tracked) if isinstance(value, np.ndarray) else value
        for key, value in given.items()
    }


def tensor(module, array, dtype="float32"):
    return module.from_numpy(np.array(array, dtype))


def outcome(function):
    """What a call gives: ``("value", ...)``, or the class and the first line of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "value", function()
        except Exception as error:
            return type(error).__name__, PLACE.sub("", str(error).split("\n")[0])


def numbers(value):
    return np.asarray(value.detach().numpy())


def assert_same(found, expected, what, factor=1.0):
    """Outcomes that agree: values to a tolerance, texts and everything else exactly."""
    assert found[0] == expected[0], (what, found, expected)
    found, expected = found[1], expected[1]
    if not hasattr(expected, "detach"):
        assert found == expected, what
        return
    assert tuple(found.shape) == tuple(expected.shape), what
    assert str(found.dtype) == str(expected.dtype), what
    assert found.requires_grad == expected.requires_grad, what
    ours, theirs = numbers(found), numbers(expected)
    tolerance = TOLERANCE.get(str(expected.dtype)[6:], 0) * factor
    finite = np.abs(theirs[np.isfinite(theirs)]) if theirs.dtype.kind == "f" else np.zeros(0)
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(ours, theirs, tolerance, tolerance * scale, err_msg=str(what))
