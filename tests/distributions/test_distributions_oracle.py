"""Every distribution against PyTorch: moments, densities, samples for a seed, gradients, expansion, printed form, pickles."""

import os
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

from distribution_cases import CASES, PARAMETERS, TOLERANCE, assert_same, numbers, outcome, parameters, tensor  # noqa: E402

import rushlight  # noqa: E402

MODULES = (rushlight, torch)
# Drawn by rejection: PyTorch interpolates their gradients, to three digits, ours are integrals.
IMPLICIT = ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT")
SEEDS = max(1, int(os.environ.get("RUSHLIGHT_EXAMPLES", "300")) // 50)
PROPERTIES = (
    "mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "has_rsample", "has_enumerate_support", "param_shape",
    "logits", "probs", "_natural_params_sum",
)  # fmt: skip


def make(module, name, arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(module.distributions, name)(**arguments, **options)


def both(name, place, dtype="float32", seed=0, tracked=False):
    arguments = [parameters(module, name, place, dtype, seed, tracked) for module in MODULES]
    return [make(module, name, given) for module, given in zip(MODULES, arguments)], arguments


def sampled(module, distribution, shape=(4,), method="sample"):
    module.default_generator.manual_seed(7)  # PyTorch's manual_seed() looks at the whole stack
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(distribution, method)(shape)


def compare(found, expected, call, what, factor=1.0):
    """The outcomes of ``call(module, distribution)``."""
    ours, theirs = (outcome(lambda: call(*pair)) for pair in zip(MODULES, (found, expected)))
    assert_same(ours, theirs, what, factor)


def inner_sum(parts):
    return sum(part.sum() for part in parts)


def check_values(name, place, dtype="float32", seed=0):
    (found, expected), _ = both(name, place, dtype, seed)
    what = (name, place, dtype, seed)
    for key in PROPERTIES:
        if key == "_natural_params_sum":
            if hasattr(type(expected), "_natural_params"):
                compare(found, expected, lambda m, d: inner_sum(d._natural_params), (*what, key), 10)
        elif hasattr(type(expected), key):
            compare(found, expected, lambda m, d: getattr(d, key), (*what, key), 10)
    compare(found, expected, lambda m, d: repr(d), (*what, "repr"))
    compare(found, expected, lambda m, d: repr(d.support), (*what, "support"))
    for method in ("entropy", "perplexity"):
        compare(found, expected, lambda m, d: getattr(d, method)(), (*what, method), 10)
    values = numbers(sampled(torch, expected))
    for method in ("log_prob", "cdf"):
        compare(found, expected, lambda m, d: getattr(d, method)(tensor(m, values, values.dtype)), (*what, method), 10)
    shares = tensor(torch, [0.1, 0.5, 0.9][: 1 + 2 * (len(expected.batch_shape) < 2)], dtype).numpy()
    if expected.batch_shape[-1:] in ((), (3,), (1,)):
        compare(found, expected, lambda m, d: d.icdf(tensor(m, shares, dtype)), (*what, "icdf"), 10)
    for expand in (True, False):
        compare(found, expected, lambda m, d: d.enumerate_support(expand), (*what, "enumerate_support"))


def rounding(name):
    """How far samples may lie apart: the diagonal of a Cholesky factor is the root of what is left of 1."""
    return 30 if name == "LKJCholesky" else 3


def check_samples(name, place, dtype="float32", seed=0):
    (found, expected), (given, wanted) = both(name, place, dtype, seed, tracked=True)
    what = (name, place, dtype, seed)
    for shape in ((), (5,), (2, 3)):
        compare(found, expected, lambda m, d: sampled(m, d, shape), (*what, "sample", shape), rounding(name))
        compare(found, expected, lambda m, d: sampled(m, d, shape, "rsample"), (*what, "rsample", shape), 3)
    if expected.has_rsample and name != "Wishart":  # PyTorch writes into a mask that its own gradient needs
        weigh(given, sampled(rushlight, found, (5,), "rsample"), rushlight)
        weigh(wanted, sampled(torch, expected, (5,), "rsample"), torch)
        factor = 5e-3 / TOLERANCE[dtype] if name in IMPLICIT else 30
        compare_gradients(given, wanted, (*what, "rsample gradient"), factor)


def weigh(given, result, module):
    """A backward pass with a different weight for each element, where there is a graph."""
    if not result.requires_grad:
        return
    weights = module.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).reshape(result.shape)
    (result * weights).sum().backward()


def compare_gradients(given, wanted, what, factor):
    for key, value in wanted.items():
        if hasattr(value, "grad"):
            assert (given[key].grad is None) == (value.grad is None), (*what, key)
            if value.grad is not None:
                assert_same(("value", given[key].grad), ("value", value.grad), (*what, key), factor)


def check_density_gradients(name, place, dtype="float32", seed=0):
    (found, expected), (given, wanted) = both(name, place, dtype, seed, tracked=True)
    values = numbers(sampled(torch, expected))
    for module, distribution, arguments in ((rushlight, found, given), (torch, expected, wanted)):
        value = tensor(module, values, values.dtype)
        weigh(arguments, distribution.log_prob(value), module)
    compare_gradients(given, wanted, (name, place, dtype, seed, "log_prob gradient"), 30)


def check_expansion(name, place, seed=0):
    (found, expected), _ = both(name, place, seed=seed)
    shape = (2, *expected.batch_shape) if expected.batch_shape[:1] != (1,) else (4, *expected.batch_shape)
    what = (name, place, "expanded")
    found, expected = found.expand(shape), expected.expand(list(shape))
    compare(found, expected, lambda m, d: repr(d), (*what, "repr"))
    for key in ("batch_shape", "event_shape", "mean", "variance"):
        compare(found, expected, lambda m, d: getattr(d, key), (*what, key), 10)
    compare(found, expected, sampled, (*what, "sample"), rounding(name))
    values = numbers(sampled(torch, expected))
    compare(found, expected, lambda m, d: d.log_prob(tensor(m, values, values.dtype)), (*what, "log_prob"), 10)


def check_pickling(name, place):
    (found, _), _ = both(name, place)
    again = pickle.loads(pickle.dumps(found))
    assert repr(again) == repr(found)
    assert_same(("value", sampled(rushlight, again)), ("value", sampled(rushlight, found)), (name, place))


@pytest.mark.parametrize(("name", "place"), CASES)
def test_values(name, place):
    check_values(name, place)


@pytest.mark.parametrize(("name", "place"), CASES)
def test_samples(name, place):
    check_samples(name, place)


@pytest.mark.parametrize("name", PARAMETERS)
def test_gradients_expansion_and_pickling(name):
    check_density_gradients(name, 0)
    check_expansion(name, 0)
    check_pickling(name, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), CASES)
def test_sweep(name, place):
    """Every case in both dtypes, over parameters from several seeds."""
    check_pickling(name, place)
    dtypes = (
        ("float32", "float64") if name != "GeneralizedPareto" else ("float32",)
    )  # PyTorch compares with a float32 0
    for seed in range(SEEDS):
        for dtype in dtypes:
            check_values(name, place, dtype, seed)
            check_samples(name, place, dtype, seed)
            check_density_gradients(name, place, dtype, seed)
        check_expansion(name, place, seed)
