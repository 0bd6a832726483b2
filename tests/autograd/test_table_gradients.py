"""Every derivative rule of the op table against finite differences: first order, and second order through it."""

import pytest
from complex_names import RECORDS as COMPLEX
from gradient_inputs import (
    GIVEN,
    IN_PLACE,
    OUTPUTS,
    PREPARED,
    REFUSED,
    THROUGH_OTHERS,
    ZERO,
    Fixed,
    arguments_of,
    complex_numbers,
)

import rushlight as rl
from rushlight.ops import table
from rushlight.ops.table import BINARY, COMPARE, FUSED, TABLE, UNARY, functions, op
from rushlight.tensor.compute import schema_of
from rushlight.tensor.dispatch import general

RECORDS = {name: entry for name, entry in TABLE.items() if entry.differentiable and not name.startswith("_test")}
ONCE = frozenset(
    (
        *("ctc_loss_parts", "cdist_pairs", "lu_packed", "hardsigmoid", "multi_margin_loss_parts"),
        "multilabel_margin_loss_parts",
    )
)  # second derivatives are refused, as in PyTorch


def tensors_in(value):
    if hasattr(value, "requires_grad"):
        return [value]
    return [each for item in value for each in tensors_in(item)] if isinstance(value, (tuple, list)) else []


def prepared(entry, function=None):
    """``(call, leaves)``: ``call(*leaves)`` runs the record and returns its differentiable outputs."""
    rl.manual_seed(1)
    given = arguments_of(entry)
    function = function or getattr(functions, entry.name)
    leaves = [x.detach().requires_grad_() for x in tensors_in(given) if x.is_floating_point() or x.is_complex()]

    def filled(value, leaves):
        if isinstance(value, Fixed):
            return value.value
        if isinstance(value, list):
            return [filled(item, leaves) for item in value]
        differentiable = hasattr(value, "requires_grad") and (value.is_floating_point() or value.is_complex())
        return next(leaves) if differentiable else value

    def call(*leaves):
        rl.manual_seed(2)
        leaves = iter(leaves)
        arguments = [filled(value, leaves) for value in given]
        if entry.name.endswith("_") or entry.name in IN_PLACE:
            arguments[0] = arguments[0].clone()
        if entry.name in PREPARED:
            arguments = PREPARED[entry.name](*arguments)
        outputs = tensors_in(function(*arguments))[: OUTPUTS.get(entry.name)]
        return tuple(output for output in outputs if output.requires_grad)

    return call, leaves


CHECKED = [name for name in RECORDS if name not in THROUGH_OTHERS | REFUSED | ZERO | GIVEN]


@pytest.mark.parametrize("name", CHECKED)
def test_first_derivatives(name):
    call, leaves = prepared(RECORDS[name])
    assert rl.autograd.gradcheck(call, leaves, fast_mode=True)


@pytest.mark.parametrize("name", [name for name in CHECKED if name not in ONCE])
def test_second_derivatives(name):
    call, leaves = prepared(RECORDS[name])
    assert rl.autograd.gradgradcheck(call, leaves, fast_mode=True, atol=1e-4)


@pytest.mark.parametrize("name", sorted(COMPLEX))
def test_complex_derivatives(name):
    with complex_numbers():
        call, leaves = prepared(RECORDS[name])
    assert any(x.is_complex() for x in leaves)
    assert rl.autograd.gradcheck(call, leaves, fast_mode=True)
    assert name in ONCE or rl.autograd.gradgradcheck(call, leaves, fast_mode=True, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_whole_jacobians(name):
    call, leaves = prepared(RECORDS[name])
    assert rl.autograd.gradcheck(call, leaves)
    assert name in ONCE or rl.autograd.gradgradcheck(call, leaves, atol=1e-4)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_missing_derivatives_are_said(name):
    call, leaves = prepared(RECORDS[name])
    with pytest.raises((RuntimeError, NotImplementedError), match="not implemented"):
        sum(output.sum() for output in call(*leaves)).backward()


@pytest.mark.parametrize("name", sorted(ZERO))
def test_zero_derivatives(name):
    call, leaves = prepared(RECORDS[name])
    found = rl.autograd.grad(call(*leaves)[0].sum(), leaves)
    assert all((gradient == 0).all() for gradient in found)


def test_a_wrong_rule_is_found():
    @op("_test_wrong(Tensor self, Tensor other) -> Tensor", names=())
    class _test_wrong:
        """The product, with one wrong derivative."""

        def forward(self, other):
            return self * other

        def d_self(grad, other):
            return grad * other

        def d_other(grad, other):
            return grad * other

    try:
        call, leaves = prepared(_test_wrong, general(_test_wrong))
        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            rl.autograd.gradcheck(call, leaves, fast_mode=True)
    finally:
        del TABLE["_test_wrong"]


def filled_in(entry, leaves):
    """The arguments of a call of an elementwise record on these tensors, the others as in its sample."""
    given, leaves = arguments_of(entry), iter(leaves)
    places = schema_of(entry).tensor_positions
    return [
        next(leaves) if place in places and getattr(value, "dtype", rl.float64) is rl.float64 else value
        for place, value in enumerate(given)
    ]


KINDS = (UNARY, BINARY, table.ELEMENTWISE, FUSED)
NOT_REAL = frozenset(("conjugate", "conj_physical_complex"))  # take complex numbers only
ELEMENTWISE = [
    name
    for name in CHECKED
    if RECORDS[name].kind in KINDS and RECORDS[name].dtype_rule != COMPARE and name not in NOT_REAL
]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_rules_multiply_the_gradient(name):
    """Real elementwise rules are diagonal: given a tangent instead of a gradient, they are forward mode's rules too."""
    entry = RECORDS[name]
    rl.manual_seed(1)
    shape = (2, 3)
    leaves = [rl.rand(shape, dtype=rl.float64) * 0.6 + 0.2 for _ in schema_of(entry).tensor_positions]
    if name == "acosh":
        leaves = [leaf + 1 for leaf in leaves]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    result = getattr(functions, name)(*filled_in(entry, leaves))
    weight = rl.rand(result.shape, dtype=rl.float64)
    plain = rl.autograd.grad(result, leaves, rl.ones_like(result), retain_graph=True, allow_unused=True)
    weighted = rl.autograd.grad(result, leaves, weight, allow_unused=True)
    for one, other in zip(plain, weighted):
        assert (one is None) == (other is None)
        assert one is None or (one.shape == weight.shape and rl.allclose(one * weight, other))
