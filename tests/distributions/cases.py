"""Distributions to try, as expressions: `D` is the room, `T` the library, `p` makes a parameter with a gradient."""

CASES = {
    "Normal": ["D.Normal(0.5, 2.0)", "D.Normal(p([0.3, -1.0, 2.0]), p([[1.0], [0.2]]))", "D.Normal(p([1.0], T.float64), 2.0)"],
    "Uniform": ["D.Uniform(-1.0, 2.0)", "D.Uniform(p([0.3, -1.0, 2.0]), p([[3.0], [2.2]]))", "D.Uniform(p([1.0], T.float64), 2.0)"],
    "Bernoulli": ["D.Bernoulli(0.3)", "D.Bernoulli(p([0.3, 0.9, 0.5]))", "D.Bernoulli(logits=p([[0.3], [-2.0]], T.float64))", "D.Bernoulli(T.tensor([0.0, 1.0]))"],
    "Categorical": ["D.Categorical(p([0.3, 0.9, 0.5]))", "D.Categorical(logits=p([[0.3, 1.0], [-2.0, 3.0]]))", "D.Categorical(probs=p([[0.3, 1.0], [2.0, 3.0]], T.float64))"],
    "Beta": ["D.Beta(0.5, 2.0)", "D.Beta(p([0.3, 1.0, 2.0]), p([[1.0], [0.7]]))", "D.Beta(p([1.5], T.float64), 2.0)"],
    "Gamma": ["D.Gamma(0.5, 2.0)", "D.Gamma(p([0.3, 1.0, 22.0]), p([[1.0], [0.2]]))", "D.Gamma(p([1.5], T.float64), 2.0)"],
    "Dirichlet": ["D.Dirichlet(p([0.3, 0.9, 0.5]))", "D.Dirichlet(p([[1.3, 2.0], [2.0, 3.0]], T.float64))"],
    "Exponential": ["D.Exponential(2.0)", "D.Exponential(p([0.3, 1.0, 22.0]))", "D.Exponential(p([[1.5]], T.float64))"],
    "Laplace": ["D.Laplace(0.5, 2.0)", "D.Laplace(p([0.3, -1.0, 2.0]), p([[1.0], [0.2]]))", "D.Laplace(p([1.0], T.float64), 2.0)"],
    "Poisson": ["D.Poisson(2.0)", "D.Poisson(p([0.3, 1.0, 22.0]))", "D.Poisson(p([[1.5]], T.float64))"],
    "Independent": ["D.Independent(D.Normal(p([0.3, -1.0, 2.0]), p([[1.0], [0.2]])), 1)", "D.Independent(D.Normal(p([0.3, -1.0, 2.0]), p([[1.0], [0.2]])), 2)", "D.Independent(D.Bernoulli(p([0.3, 0.1])), 0)", "D.Independent(D.Dirichlet(p([[0.3, 0.1], [2.0, 3.0]])), 1)"],
    "MultivariateNormal": ["D.MultivariateNormal(p([0.3, -1.0]), T.eye(2))", "D.MultivariateNormal(p([[0.3, -1.0]] * 3), scale_tril=p([[1.0, 0.0], [0.5, 2.0]]))", "D.MultivariateNormal(p([0.3, -1.0], T.float64), precision_matrix=p([[[2.0, 0.3], [0.3, 1.0]]] * 2, T.float64))"],
}  # fmt: skip

# What is refused, and how.
REFUSED = [
    "D.Normal(T.tensor([0.0, float('nan')]), 1.0)", "D.Normal(0.0, -1.0)", "D.Normal('a', 1)", "D.Normal(0.0, 1.0).log_prob(1.0)",
    "D.Normal(0.0, 1.0).log_prob(T.tensor([1.0, float('nan')]))", "D.Normal(T.zeros(2), 1.0).log_prob(T.zeros(3))",
    "D.Normal(T.zeros(2), T.ones(3))", "D.Normal(0.0)", "D.Normal(0.0, 1.0, True, 3)",
    "D.Uniform(2.0, 1.0)", "D.Uniform(0.0, 1.0).log_prob(T.tensor(2.0))", "D.Bernoulli()", "D.Bernoulli(0.5, 0.5)", "D.Bernoulli(2.0)",
    "D.Bernoulli(0.5).log_prob(T.tensor(0.5))", "D.Bernoulli(0.5).rsample()", "D.Categorical()", "D.Categorical(T.tensor(1.0))",
    "D.Categorical(logits=T.tensor(1.0))", "D.Categorical(T.ones(3)).log_prob(T.tensor(3))", "D.Categorical(T.tensor([-1.0, 2.0]))",
    "D.Beta(-1.0, 2.0)", "D.Beta(1.0, 2.0).log_prob(T.tensor(2.0))", "D.Gamma(-1.0, 2.0)", "D.Gamma(1.0, 2.0).log_prob(T.tensor(-2.0))",
    "D.Dirichlet(T.tensor(1.0))", "D.Dirichlet(T.ones(3)).log_prob(T.tensor(1.0))", "D.Dirichlet(T.ones(3)).log_prob(T.ones(2) / 2)",
    "D.Dirichlet(T.ones(3)).log_prob(T.ones(3))", "D.Dirichlet(-T.ones(3))", "D.Exponential(-1.0)", "D.Laplace(0.0, 0.0)", "D.Poisson(-1.0)",
    "D.Poisson(1.0).log_prob(T.tensor(0.5))", "D.Poisson(1.0).entropy()", "D.Poisson(1.0).cdf(1)", "D.Independent(D.Normal(0.0, 1.0), 1)",
    "D.Independent(D.Bernoulli(T.ones(2, 3) / 2), 1).enumerate_support()", "D.MultivariateNormal(T.tensor(0.0), T.eye(1))",
    "D.MultivariateNormal(T.zeros(2))", "D.MultivariateNormal(T.zeros(2), T.zeros(2))", "D.MultivariateNormal(T.zeros(2), precision_matrix=T.zeros(2))",
    "D.MultivariateNormal(T.zeros(2), scale_tril=T.zeros(2))", "D.MultivariateNormal(T.zeros(2), -T.eye(2))",
    "D.MultivariateNormal(T.zeros(2), scale_tril=-T.eye(2))", "D.Distribution(validate_args=False).mode", "D.Distribution(validate_args=False).stddev",
    "D.Distribution(validate_args=False).sample()", "D.Distribution(validate_args=False).arg_constraints", "D.Distribution.set_default_validate_args(3)",
    "type('Mine', (D.Normal,), {'__init__': lambda self: D.Normal.__init__(self, 0.0, 1.0)})().expand((2,))",
    "D.kl_divergence(D.Normal(0.0, 1.0), D.Dirichlet(T.ones(2)))", "D.kl_divergence(D.Laplace(0.0, 1.0), D.Dirichlet(T.ones(2)))",
    "D.register_kl(3, D.Normal)",
    "D.kl_divergence(D.Independent(D.Normal(T.zeros(2, 3), 1.0), 1), D.Independent(D.Normal(T.zeros(2, 3), 1.0), 2))",
    "D.kl_divergence(D.MultivariateNormal(T.zeros(2), T.eye(2)), D.MultivariateNormal(T.zeros(3), T.eye(3)))",
    "D.utils.vec_to_tril_matrix(T.ones(4))", "D.utils.tril_matrix_to_vec(T.ones(2, 2), 3)", "D.utils.broadcast_all(None)",
]  # fmt: skip
