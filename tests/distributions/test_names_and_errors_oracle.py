"""Names, signatures, validation and errors of distributions against PyTorch's."""

import importlib
import inspect
import pkgutil
import warnings

import pytest

torch = pytest.importorskip("torch")

from distribution_cases import assert_same, numbers, outcome  # noqa: E402

import rushlight  # noqa: E402

MODULES = (rushlight, torch)
SUBMODULES = sorted(info.name for info in pkgutil.iter_modules(torch.distributions.__path__))


def members(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


def test_the_package_has_all_names():
    assert sorted(rushlight.distributions.__all__) == sorted(torch.distributions.__all__)


@pytest.mark.parametrize("name", SUBMODULES)
def test_submodules_have_all_names(name):
    ours, theirs = (importlib.import_module(f"{m.__name__}.distributions.{name}") for m in MODULES)
    for public in theirs.__all__:
        found, expected = getattr(ours, public), getattr(theirs, public)
        if inspect.isclass(expected):
            assert found.__name__ == expected.__name__ and inspect.isclass(found)
            wanted = {attribute for owner in expected.__mro__ for attribute in members(owner)}
            assert not {attribute for attribute in wanted if not hasattr(found, attribute)} - UNANSWERED, public
            for attribute in members(expected):
                if inspect.isfunction(vars(expected)[attribute]):
                    parameters = list(inspect.signature(getattr(expected, attribute)).parameters)
                    assert list(inspect.signature(getattr(found, attribute)).parameters) == parameters, (
                        public,
                        attribute,
                    )
            parameters = list(inspect.signature(expected.__init__).parameters)
            assert list(inspect.signature(found.__init__).parameters) == parameters, public


# Annotations without a value in PyTorch, or tables of the module itself.
UNANSWERED = {"base_dist", "total_count", "transforms", "domain", "codomain"}

ones = [[1.0, 0.0], [0.0, 1.0]]
WRONG = [
    # parameters
    lambda D, t: D.Normal(0.0, -1.0),
    lambda D, t: D.Normal(t([0.0, float("nan")]), 1.0),
    lambda D, t: D.Normal("0", 1.0),
    lambda D, t: D.Normal(t([0.0, 1.0]), t([1.0, 1.0, 1.0])),
    lambda D, t: D.Bernoulli(),
    lambda D, t: D.Bernoulli(0.5, logits=0.0),
    lambda D, t: D.Bernoulli(1.5),
    lambda D, t: D.Binomial(t([1.5]), t([0.5])),
    lambda D, t: D.Binomial(3),
    lambda D, t: D.Categorical(t(1.0)),
    lambda D, t: D.Categorical(logits=t(1.0)),
    lambda D, t: D.Categorical(t([0.5, -0.5])),
    lambda D, t: D.Categorical(),
    lambda D, t: D.ContinuousBernoulli(t([1.5]), validate_args=True),
    lambda D, t: D.Dirichlet(t(1.0)),
    lambda D, t: D.Dirichlet(t([1.0, 0.0])),
    lambda D, t: D.Geometric(t([0.0, 0.5])),
    lambda D, t: D.Geometric(),
    lambda D, t: D.Independent(D.Normal(0.0, 1.0), 1),
    lambda D, t: D.LKJCholesky(1),
    lambda D, t: D.LowRankMultivariateNormal(t(0.0), t(ones), t([1.0, 1.0])),
    lambda D, t: D.LowRankMultivariateNormal(t([0.0, 0.0]), t([1.0, 1.0]), t([1.0, 1.0])),
    lambda D, t: D.LowRankMultivariateNormal(t([0.0, 0.0, 0.0]), t(ones), t([1.0, 1.0])),
    lambda D, t: D.LowRankMultivariateNormal(t([0.0, 0.0]), t(ones), t([1.0, 1.0, 1.0])),
    lambda D, t: D.LowRankMultivariateNormal(t([[0.0, 0.0]] * 3), t([ones] * 2), t([1.0, 1.0])),
    lambda D, t: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(t([0.0]), 1.0)),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([1.0])), 1.0),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([1.0, 1.0])), D.Normal(t([0.0]), 1.0)),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([[1.0], [1.0]])), D.Normal(t([[0.0]] * 3), 1.0)),
    lambda D, t: D.Multinomial(2.5, t([1.0, 1.0])),
    lambda D, t: D.MultivariateNormal(t(0.0), t(ones)),
    lambda D, t: D.MultivariateNormal(t([0.0, 0.0])),
    lambda D, t: D.MultivariateNormal(t([0.0, 0.0]), t(ones), scale_tril=t(ones)),
    lambda D, t: D.MultivariateNormal(t([0.0, 0.0]), t([1.0, 1.0])),
    lambda D, t: D.MultivariateNormal(t([0.0, 0.0]), precision_matrix=t([1.0, 1.0])),
    lambda D, t: D.MultivariateNormal(t([0.0, 0.0]), scale_tril=t([1.0, 1.0])),
    lambda D, t: D.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 2.0], [2.0, 1.0]])),
    lambda D, t: D.NegativeBinomial(-1, t([0.5])),
    lambda D, t: D.OneHotCategorical(),
    lambda D, t: D.Poisson(t([-1.0])),
    lambda D, t: D.RelaxedBernoulli(t(1.0)),
    lambda D, t: D.RelaxedOneHotCategorical(t(1.0)),
    lambda D, t: D.StudentT(t([0.0])),
    lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), 3),
    lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform(), 3]),
    lambda D, t: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
    lambda D, t: D.Uniform(1.0, 0.0),
    lambda D, t: D.Uniform(t([0.0, 1.0]), t([1.0, 1.0])),
    lambda D, t: D.Wishart(t(1.0), t(ones)),
    lambda D, t: D.Wishart(t(3.0)),
    lambda D, t: D.Wishart(t(3.0), t(ones), t(ones)),
    lambda D, t: D.Wishart(t(3.0), t([1.0])),
    # values
    lambda D, t: D.Normal(0.0, 1.0).log_prob(0.5),
    lambda D, t: D.Normal(t([0.0, 1.0]), 1.0).log_prob(t([1.0, 2.0, 3.0])),
    lambda D, t: D.Normal(0.0, 1.0).log_prob(t(float("nan"))),
    lambda D, t: D.Bernoulli(0.5).log_prob(t(0.5)),
    lambda D, t: D.Beta(1.0, 1.0).log_prob(t(1.5)),
    lambda D, t: D.Binomial(3, t(0.5)).log_prob(t(4.0)),
    lambda D, t: D.Categorical(t([0.5, 0.5])).log_prob(t(2)),
    lambda D, t: D.Dirichlet(t([1.0, 1.0])).log_prob(t([0.5, 0.6])),
    lambda D, t: D.Dirichlet(t([1.0, 1.0])).log_prob(t([0.5, 0.25, 0.25])),
    lambda D, t: D.Exponential(1.0).log_prob(t(-1.0)),
    lambda D, t: D.HalfNormal(1.0).log_prob(t(-1.0)),
    lambda D, t: D.LogNormal(0.0, 1.0).cdf(t(-1.0)),
    lambda D, t: D.Multinomial(3, t([0.5, 0.5])).log_prob(t([2.0, 2.0])),
    lambda D, t: D.MultivariateNormal(t([0.0, 0.0]), t(ones)).log_prob(t([0.0, 0.0, 0.0])),
    lambda D, t: D.OneHotCategorical(t([0.5, 0.5])).log_prob(t([1.0, 1.0])),
    lambda D, t: D.Pareto(1.0, 1.0).log_prob(t(0.5)),
    lambda D, t: D.Poisson(1.0).log_prob(t(0.5)),
    lambda D, t: D.Uniform(0.0, 1.0).log_prob(t(2.0)),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([1.0])), D.Gamma(t([1.0]), 1.0)).log_prob(t(-1.0)),
    lambda D, t: D.Independent(D.Bernoulli(t([0.5, 0.5])), 1).log_prob(t([0.5, 0.0])),
    # what there is not
    lambda D, t: D.Beta(1.0, 1.0).cdf(t(0.5)),
    lambda D, t: D.Gamma(1.0, 1.0).icdf(t(0.5)),
    lambda D, t: D.Poisson(1.0).cdf(t(0.5)),
    lambda D, t: D.Poisson(1.0).rsample(),
    lambda D, t: D.Normal(0.0, 1.0).enumerate_support(),
    lambda D, t: D.Binomial(t([2.0, 3.0]), t(0.5)).enumerate_support(),
    lambda D, t: D.Binomial(t([2.0, 3.0]), t(0.5)).entropy(),
    lambda D, t: D.Independent(D.Bernoulli(t([0.5])), 1).enumerate_support(),
    lambda D, t: D.Multinomial(3, t([0.5, 0.5])).mode,
    lambda D, t: D.VonMises(0.0, 1.0).rsample(),
    lambda D, t: D.Distribution(validate_args=False).sample(),
    lambda D, t: D.Distribution(validate_args=False).mode,
    lambda D, t: D.Distribution(validate_args=False).arg_constraints,
    lambda D, t: D.Distribution(validate_args=False).expand([2]),
    lambda D, t: D.ExponentialFamily(validate_args=False).entropy(),
    lambda D, t: D.Distribution.set_default_validate_args(3),
    lambda D, t: D.Normal(0.0, 1.0).sample(3),
    lambda D, t: D.Normal(t([0.0, 1.0]), 1.0).expand([3]),
    lambda D, t: D.kl_divergence(D.Normal(0.0, 1.0), 3),
    lambda D, t: D.biject_to(3),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(WRONG)))
def test_errors(place):
    ours, theirs = (outcome(lambda m=m: WRONG[place](m.distributions, m.tensor)) for m in MODULES)
    assert theirs[0] != "value"
    assert ours == theirs


UNCHECKED = [
    lambda D, t: D.Normal(0.0, -1.0, validate_args=False).variance,
    lambda D, t: D.Normal(0.0, 1.0, validate_args=False).expand([2]).log_prob(t(float("nan"))),
    lambda D, t: D.Uniform(0.0, 1.0, validate_args=False).log_prob(t([-1.0, 0.0, 0.5, 1.0, 2.0])),
    lambda D, t: D.Uniform(0.0, 1.0, validate_args=False).cdf(t([-1.0, 0.0, 0.5, 1.0, 2.0])),
    lambda D, t: D.HalfNormal(1.0, validate_args=False).log_prob(t([-1.0, 0.5])),
    lambda D, t: D.HalfCauchy(1.0, validate_args=False).log_prob(t([-1.0, 0.5])),
    lambda D, t: D.Gamma(1.0, 1.0).log_prob(0.5),
    lambda D, t: D.Geometric(t([1.0, 0.5])).log_prob(t([0.0, 2.0])),
    lambda D, t: D.NegativeBinomial(t([0.0, 2.0]), t([0.5, 0.0])).log_prob(t([0.0, 0.0])),
    lambda D, t: D.Multinomial(2, t([0.0, 1.0])).log_prob(t([0.0, 2.0])),
    lambda D, t: D.Binomial(t([0.0, 3.0]), t([0.0, 1.0])).log_prob(t([0.0, 3.0])),
    lambda D, t: D.Bernoulli(t([0.0, 1.0, 0.5])).mode,
    lambda D, t: D.Dirichlet(t([[0.5, 0.4], [1.0, 1.0], [2.0, 0.5]])).mode,
    lambda D, t: D.Beta(t([0.5, 1.0, 2.0]), t([0.4, 1.0, 0.5])).mode,
    lambda D, t: D.GeneralizedPareto(0.0, 1.0, t([-0.5, 0.0, 0.5])).log_survival_function(t(0.5)),
    lambda D, t: D.TransformedDistribution(D.Normal(t([0.0, 1.0]), 1.0), []).log_prob(t([0.0, 1.0])),
    lambda D, t: D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.AffineTransform(1.0, -2.0), D.AffineTransform(0.0, t([1.0, -1.0]))]).cdf(t([-0.5, 0.25])),
    lambda D, t: D.TransformedDistribution(D.Normal(t([0.0, 1.0]), 1.0), D.StickBreakingTransform()).log_prob(t([0.2, 0.3, 0.5])),
    lambda D, t: D.TransformedDistribution(D.Normal(t([[0.0, 1.0]] * 3), 1.0), [D.ReshapeTransform((2,), (1, 2)), D.ExpTransform()]).log_prob(t([[[0.2, 0.3]]] * 3)),
    lambda D, t: repr(D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(t([0.0, 1.0]), 1.0)).batch_shape),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.MultivariateNormal(t([[0.0, 0.0], [1.0, 2.0]]), t(ones))).log_prob(t([0.5, 0.5])),
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.Independent(D.Normal(t([[[0.0, 0.0], [1.0, 2.0]]] * 3), 1.0), 1)).variance,
    lambda D, t: D.MixtureSameFamily(D.Categorical(t([[0.2, 0.8]] * 3)), D.Normal(t([0.0, 1.0]), 1.0).expand([3, 2])).cdf(t([0.0, 1.0, 2.0])),
    lambda D, t: repr(D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.Normal(t([0.0, 1.0]), 1.0))),
    lambda D, t: repr(D.Independent(D.Normal(t([0.0, 1.0]), 1.0), 1)),
    lambda D, t: repr(D.Independent(D.Normal(t([0.0, 1.0]), 1.0), 1).support),
    lambda D, t: D.Independent(D.Bernoulli(t([0.0, 1.0])), 0).enumerate_support(),
    lambda D, t: D.Independent(D.Normal(t([[0.0, 1.0]] * 2), 1.0), 2).entropy(),
    lambda D, t: D.VonMises(t([0.0, 1.0]), t([1e-8, 200.0])).log_prob(t(0.5)),
    lambda D, t: D.Wishart(t(3.5), t(ones)).log_prob(t([[2.0, 0.5], [0.5, 1.0]])),
    lambda D, t: D.LKJCholesky(3, t([0.5, 2.0])).log_prob(t([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(UNCHECKED)))
def test_edges(place):
    assert_same(*(outcome(lambda m=m: UNCHECKED[place](m.distributions, m.tensor)) for m in MODULES), place, 10)


def test_mixtures_draw_the_same_samples():
    def draw(m, sizes):
        D, t = m.distributions, m.tensor
        m.default_generator.manual_seed(3)
        vectors = D.MultivariateNormal(t([[0.0, 0.0], [1.0, 2.0]]), t(ones))
        return D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), vectors).sample(sizes)

    for sizes in ((), (4,), (2, 3)):
        assert_same(*(("value", draw(m, sizes)) for m in MODULES), sizes)


def test_shares_of_tiny_concentrations():
    for concentration in (1e-6, 1e-3):
        for m in MODULES:
            m.default_generator.manual_seed(0)
        found, expected = (m.distributions.Beta(m.full((99,), concentration), 2e-3).sample() for m in MODULES)
        assert (numbers(found) == numbers(expected)).all()


def own_class(m):
    class Constant(m.distributions.Distribution):
        arg_constraints = {}
        has_rsample = True

        def __init__(self, value, validate_args=None):
            self.value = value
            super().__init__(value.shape, validate_args=validate_args)

        def rsample(self, sample_shape=()):
            return self.value.expand(self._extended_shape(sample_shape))

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return m.where(value == self.value, 0.0, -float("inf"))

    return Constant


def test_a_class_of_ones_own():
    def said(m):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            constant = own_class(m)(m.tensor([1.0, 2.0]))
            found = constant.log_prob(m.tensor([1.0, 1.0])).tolist(), tuple(constant.sample((3,)).shape), repr(constant)
        assert not constant.sample().requires_grad
        return (
            found,
            [str(w.message).partition(".Constant'>")[2] for w in caught],
            outcome(lambda: constant.expand([2])),
        )

    assert said(rushlight) == said(torch)


def test_subclasses_with_an_init_of_their_own():
    def said(m):
        class Unit(m.distributions.Normal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

        class Plain(m.distributions.Gamma):
            pass

        class Filled(m.distributions.LogNormal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

            def expand(self, batch_shape, _instance=None):
                return super().expand(batch_shape, _instance=self._get_checked_instance(Filled, _instance))

        plain = Plain(1.0, 2.0).expand([2])
        filled = Filled(0.5).expand([3])
        return outcome(lambda: Unit(0.0).expand([2])), repr(plain), repr(filled.scale), type(filled).__name__

    assert said(rushlight) == said(torch)


def test_warnings():
    def said(m):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            m.default_generator.manual_seed(0)
            m.distributions.Normal(0.0, 1.0).sample_n(2)
            m.distributions.Wishart(m.tensor(1.5), m.eye(2)).sample()
        return [(w.category.__name__, str(w.message)) for w in caught]

    assert said(rushlight) == said(torch)
