"""``torch.distributions``: not in this version; its classes can be named and inherited from, and refuse to be made."""

import sys as _sys
from importlib.machinery import ModuleSpec as _ModuleSpec
from types import ModuleType as _ModuleType

from ...absent import dummy_class as _dummy_class

_FILES = """bernoulli beta binomial categorical cauchy chi2 constraint_registry constraints continuous_bernoulli dirichlet
    distribution exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal
    independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal
    mixture_same_family multinomial multivariate_normal negative_binomial normal one_hot_categorical pareto poisson
    relaxed_bernoulli relaxed_categorical studentT transformed_distribution transforms uniform utils von_mises weibull wishart"""
_made = {}


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.distributions' has no attribute '{name}'")
    if name not in _made:
        line = f"torch.distributions: {name} is not available in this version"
        _made[name] = _dummy_class(name, "torch.distributions", line, NotImplementedError)
    return _made[name]


for _file in _FILES.split():
    _module = _ModuleType(f"{__name__}.{_file}", f"``torch.distributions.{_file}``: not in this version.")
    _module.__spec__, _module.__getattr__ = _ModuleSpec(_module.__name__, None), __getattr__  # type: ignore[method-assign]
    _sys.modules[_module.__name__] = globals()[_file] = _module
