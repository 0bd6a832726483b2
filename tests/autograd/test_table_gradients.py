"""Every derivative rule of the op table against finite differences: first order, and second order through it."""

import pytest
from gradient_inputs import IN_PLACE, OUTPUTS, PREPARED, REFUSED, THROUGH_OTHERS, ZERO, Fixed, arguments_of

import rushlight as rl
from rushlight.ops.table import TABLE, functions, op
from rushlight.tensor.dispatch import general

RECORDS = {name: entry for name, entry in TABLE.items() if entry.differentiable and not name.startswith("_test")}
ONCE = frozenset(("ctc_loss_parts", "cdist_pairs", "lu_packed"))  # second derivatives are refused, as in PyTorch


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


@pytest.mark.parametrize("name", [name for name in RECORDS if name not in THROUGH_OTHERS | REFUSED | ZERO])
def test_first_derivatives(name):
    call, leaves = prepared(RECORDS[name])
    assert rl.autograd.gradcheck(call, leaves, fast_mode=True)


@pytest.mark.parametrize("name", [name for name in RECORDS if name not in THROUGH_OTHERS | REFUSED | ZERO | ONCE])
def test_second_derivatives(name):
    call, leaves = prepared(RECORDS[name])
    assert rl.autograd.gradgradcheck(call, leaves, fast_mode=True, atol=1e-4)


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
