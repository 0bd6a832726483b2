"""``torch.distributions``: not in this version; its classes can be named and inherited from, and refuse to be made."""

from ....base.absent import AbsentNames as _AbsentNames

_FILES = {
    **{name.lower(): name for name in ["Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "FisherSnedecor", "Gamma", "Geometric", "Gumbel", "Independent", "Kumaraswamy", "Laplace", "Multinomial", "Normal", "Pareto", "Poisson", "Uniform", "Weibull", "Wishart"]},
    "constraint_registry": "ConstraintRegistry biject_to transform_to",
    "constraints": """Constraint MixtureSameFamilyConstraint boolean cat corr_cholesky dependent dependent_property greater_than
        greater_than_eq half_open_interval independent integer_interval interval is_dependent less_than lower_cholesky
        lower_triangular multinomial nonnegative nonnegative_integer one_hot positive positive_definite positive_integer
        positive_semidefinite real real_vector simplex square stack symmetric unit_interval""",
    "continuous_bernoulli": "ContinuousBernoulli",
    "exp_family": "ExponentialFamily",
    "generalized_pareto": "GeneralizedPareto",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "inverse_gamma": "InverseGamma",
    "kl": "kl_divergence register_kl",
    "lkj_cholesky": "LKJCholesky",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "mixture_same_family": "MixtureSameFamily",
    "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
    "relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
    "studentT": "StudentT",
    "transformed_distribution": "TransformedDistribution",
    "transforms": """AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform
        CumulativeDistributionTransform ExpTransform IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform
        PowerTransform ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform StackTransform StickBreakingTransform
        TanhTransform Transform identity_transform""",
    "utils": """broadcast_all clamp_probs lazy_property logits_to_probs probs_to_logits tril_matrix_to_vec
        vec_to_tril_matrix""",
    "von_mises": "VonMises",
}  # fmt: skip
# Names that PyTorch does not have in the package itself.
_BELOW = {*_FILES["constraints"].split(), *_FILES["utils"].split(), "ConstraintRegistry", "ExpRelaxedCategorical", "LogitRelaxedBernoulli"}  # fmt: skip

_ABSENT = _AbsentNames(
    __name__,
    {"": " ".join(name for names in _FILES.values() for name in names.split() if name not in _BELOW), **_FILES},
    "scipy.stats has densities and moments; torch.normal, rand, multinomial, poisson, ... draw PyTorch's samples",
)
_ABSENT.make_modules()
__getattr__ = _ABSENT.of("")
