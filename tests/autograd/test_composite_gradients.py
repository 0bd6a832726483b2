"""Every composite of the op table against finite differences: first order, and second order."""

import pytest
from complex_names import COMPOSITES as COMPLEX
from composite_inputs import DIFFERENTIABLE, WITHOUT_GRADIENT
from gradient_inputs import Fixed, complex_numbers

import rushlight as rl
from rushlight.ops.table import COMPOSITES

# Second derivatives are refused, as in PyTorch.
ONCE = frozenset(
    (
        "ctc_loss",
        "numbered_ctc_loss",
        "cdist",
        "pdist",
        "lu_unpack",
        "multi_margin_loss",
        "multilabel_margin_loss",
        "functional_hardsigmoid",
    )
)


def symmetric(a, *rest):
    return a + a.mH, *rest


def lower(*args):
    return *args[:-1], args[-1].tril()


# What is done to the arguments first: single steps would leave the matrices or distributions that these take.
PREPARED = {
    **dict.fromkeys(("linalg_cholesky", "linalg_cholesky_ex", "cholesky", "linalg_eigh", "linalg_eigvalsh"), symmetric),
    **dict.fromkeys(("cholesky_solve", "cholesky_inverse"), lower),
    **dict.fromkeys(("ctc_loss", "numbered_ctc_loss"), lambda logits, *rest: (logits.log_softmax(2), *rest)),
}
# How many of the outputs are checked, where the others are unique only up to a factor.
OUTPUTS = {"linalg_eig": 1}


def floating(value):
    return hasattr(value, "requires_grad") and (value.is_floating_point() or value.is_complex())


def mapped(value, function):
    """A copy of nested arguments, or results, in which ``function`` replaced every tensor; Fixed ones are unwrapped."""
    if isinstance(value, Fixed):
        return value.value
    if isinstance(value, dict):
        return {key: mapped(item, function) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return (list if isinstance(value, list) else tuple)([mapped(item, function) for item in value])
    return function(value) if floating(value) else value


def prepared(name):
    """``(call, leaves)``: ``call(*leaves)`` runs the composite and returns its differentiable outputs."""
    rl.manual_seed(1)
    args, kwargs = DIFFERENTIABLE[name]()
    leaves = []
    mapped([args, kwargs], lambda x: leaves.append(x.detach().requires_grad_()))

    def call(*leaves):
        rl.manual_seed(2)
        leaves = iter(leaves)
        args_now, kwargs_now = mapped([args, kwargs], lambda x: next(leaves))
        if name.endswith("_"):
            args_now = (args_now[0].clone(), *args_now[1:])
        if name in PREPARED:
            args_now = PREPARED[name](*args_now)
        found = []
        results = COMPOSITES[name].function(*args_now, **kwargs_now)
        mapped([results], found.append)
        return tuple(x for x in found[: OUTPUTS.get(name)] if x.requires_grad)

    return call, leaves


def test_every_composite_is_listed():
    assert set(COMPOSITES) == set(DIFFERENTIABLE) | WITHOUT_GRADIENT
    assert not set(DIFFERENTIABLE) & WITHOUT_GRADIENT


pytestmark = [
    pytest.mark.filterwarnings("ignore:`nn.functional.upsample:UserWarning"),
    pytest.mark.filterwarnings(r"ignore:torch\..* is deprecated:UserWarning"),
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_first_derivatives(name):
    call, leaves = prepared(name)
    assert rl.autograd.gradcheck(call, leaves, fast_mode=True)


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name not in ONCE])
def test_second_derivatives(name):
    call, leaves = prepared(name)
    assert rl.autograd.gradgradcheck(call, leaves, fast_mode=True, atol=1e-4)


@pytest.mark.parametrize("name", sorted(COMPLEX))
def test_complex_derivatives(name):
    with complex_numbers():
        call, leaves = prepared(name)
    assert any(x.is_complex() for x in leaves)
    assert rl.autograd.gradcheck(call, leaves, fast_mode=True)
    assert name in ONCE or rl.autograd.gradgradcheck(call, leaves, fast_mode=True, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_whole_jacobians(name):
    call, leaves = prepared(name)
    assert rl.autograd.gradcheck(call, leaves)
    assert name in ONCE or rl.autograd.gradgradcheck(call, leaves, atol=1e-4)
