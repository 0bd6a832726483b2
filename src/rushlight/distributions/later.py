"""Names of ``torch.distributions`` that are not in this version: programs import them; using one refuses."""

from ..base.absent import AbsentNames

_TRANSFORMS = """AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform CumulativeDistributionTransform
    ExpTransform IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform PowerTransform ReshapeTransform
    SigmoidTransform SoftplusTransform TanhTransform SoftmaxTransform StackTransform StickBreakingTransform Transform
    identity_transform"""
# Module below torch.distributions -> its names.
_FILES = {
    "binomial": "Binomial",
    "cauchy": "Cauchy",
    "chi2": "Chi2",
    "constraint_registry": "ConstraintRegistry biject_to transform_to",
    "continuous_bernoulli": "ContinuousBernoulli",
    "fishersnedecor": "FisherSnedecor",
    "generalized_pareto": "GeneralizedPareto",
    "geometric": "Geometric",
    "gumbel": "Gumbel",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "inverse_gamma": "InverseGamma",
    "kumaraswamy": "Kumaraswamy",
    "lkj_cholesky": "LKJCholesky",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "mixture_same_family": "MixtureSameFamily",
    "multinomial": "Multinomial",
    "negative_binomial": "NegativeBinomial",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto",
    "relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
    "relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
    "studentT": "StudentT",
    "transformed_distribution": "TransformedDistribution",
    "transforms": _TRANSFORMS,
    "von_mises": "VonMises",
    "weibull": "Weibull",
    "wishart": "Wishart",
}
_INNER = {"ConstraintRegistry", "LogitRelaxedBernoulli", "ExpRelaxedCategorical"}

LATER = AbsentNames(
    __package__,
    {"": " ".join(name for names in _FILES.values() for name in names.split() if name not in _INNER), **_FILES},
    "Normal, Uniform, Bernoulli, Categorical, Beta, Gamma, Dirichlet, Exponential, Laplace, Poisson and MultivariateNormal are there",
)
