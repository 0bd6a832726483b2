"""Forward mode of every differentiable operation against its reverse mode: first order, and second order through both."""

import pytest
import test_composite_gradients as composites
import test_table_gradients as records
from complex_names import COMPOSITES as COMPLEX_COMPOSITES
from complex_names import RECORDS as COMPLEX_RECORDS
from composite_inputs import DIFFERENTIABLE
from gradient_inputs import REFUSED, Fixed, arguments_of, complex_numbers

import rushlight as rl
from rushlight.autograd.forward_ad import dual_level, make_dual, unpack_dual
from rushlight.func import grad, jvp, vjp
from rushlight.func.tangents import LINEAR, PRODUCTS
from rushlight.ops import table
from rushlight.ops.table import TABLE, functions
from rushlight.tensor.compute import schema_of

# Their gradients cannot be transposed: PyTorch has no second derivatives, or no forward mode, either.
WITHOUT_FORWARD = frozenset(
    (
        *("ctc_loss_parts", "ctc_loss", "numbered_ctc_loss", "multi_margin_loss_parts", "multilabel_margin_loss_parts"),
        *(
            "multi_margin_loss",
            "multilabel_margin_loss",
            "multi_margin_loss_backward",
            "multilabel_margin_loss_backward",
        ),
        "hardsigmoid_backward",
    )
)  # as in PyTorch
# Transforms see log_softmax and nll_loss in its place.
IN_PARTS = frozenset(("cross_entropy_parts",))
BOOLEAN = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
NAMES = [name for name in records.CHECKED if name not in WITHOUT_FORWARD | BOOLEAN | IN_PARTS]
pytestmark = pytest.mark.filterwarnings("ignore:`nn.functional.upsample", r"ignore:torch\..* is deprecated")


def prepared(name, module, complex=False):
    """``(call, leaves, directions, weights)``: a function of detached leaves, and random tensors like both its ends."""
    make = (lambda: records.prepared(records.RECORDS[name])) if module is records else (lambda: module.prepared(name))
    if complex:
        with complex_numbers():
            call, leaves = make()
    else:
        call, leaves = make()
    rl.manual_seed(3)
    return call, leaves, [rl.randn_like(leaf.detach()) for leaf in leaves]


def inner(left, right):
    """The real inner product of two rows of tensors, complex numbers taken as pairs; None is zero."""
    total = 0.0
    for a, b in zip(left, right):
        if a is not None:
            product = (a.detach().conj() * b.detach()).sum()
            total += (product.real if product.is_complex() else product).item()
    return total


def close(left, right):
    return abs(left - right) <= 1e-6 * (1 + abs(left) + abs(right))


def pushed(call, leaves, directions):
    """Outputs and tangents of ``call`` on tensors with tangents."""
    with dual_level():
        outputs = call(*[make_dual(leaf, direction) for leaf, direction in zip(leaves, directions)])
        pairs = [unpack_dual(output) for output in outputs]
    return [pair.primal for pair in pairs], [
        rl.zeros_like(pair.primal) if pair.tangent is None else pair.tangent for pair in pairs
    ]


def check_first(call, leaves, directions):
    outputs = call(*leaves)
    weights = [rl.randn_like(output.detach()) for output in outputs]
    gradients = rl.autograd.grad(outputs, leaves, weights, allow_unused=True)
    for kept in [slice(None), *([slice(n, n + 1) for n in range(len(leaves))] if len(leaves) > 1 else [])]:

        def part(*moved):
            given = list(leaves)
            given[kept] = moved
            return call(*given)

        found, tangents = pushed(part, leaves[kept], directions[kept])
        for output, again, tangent in zip(outputs, found, tangents, strict=True):
            assert rl.equal(output, again)
            assert (tangent.shape, tangent.dtype) == (output.shape, output.dtype)
        assert close(inner(weights, tangents), inner(gradients[kept], directions[kept]))


def check_second(call, leaves, directions):
    """The gradient of a directional derivative, and the directional derivative of a gradient."""
    outputs = call(*leaves)
    weights = [rl.randn_like(output.detach()) for output in outputs]

    def slope(*leaves):
        tangents = pushed(call, leaves, directions)[1]
        products = [(w.conj() * t).sum() for w, t in zip(weights, tangents)]
        return sum(product.real if product.is_complex() else product for product in products)

    def gradients(*leaves):
        return vjp(call, *leaves)[1](tuple(weights))

    given = tuple(leaf.detach().requires_grad_() for leaf in leaves)
    reverse = grad(slope, argnums=tuple(range(len(given))))(*given)
    forward = jvp(gradients, given, tuple(directions))[1]
    other = [rl.randn_like(leaf.detach()) for leaf in leaves]
    assert close(inner(other, reverse), inner(other, forward))


@pytest.mark.parametrize("name", NAMES)
def test_records(name):
    check_first(*prepared(name, records))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in records.ONCE])
def test_records_twice(name):
    check_second(*prepared(name, records))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in records.ONCE])
def test_forward_over_plain_reverse(name):
    """Backward on tensors with tangents computes with tangents, too."""
    call, leaves, directions = prepared(name, records)
    outputs = call(*leaves)
    weights = [rl.randn_like(output.detach()) for output in outputs]
    first = rl.autograd.grad(outputs, leaves, weights, create_graph=True, allow_unused=True)
    pairs = [(g, d) for g, d in zip(first, directions) if g is not None and g.requires_grad]
    second = [None] * len(leaves)
    if pairs:
        second = rl.autograd.grad([g for g, _ in pairs], leaves, [d for _, d in pairs], allow_unused=True)
    with dual_level():
        outputs = call(*[make_dual(leaf, direction) for leaf, direction in zip(leaves, directions)])
        found = rl.autograd.grad(outputs, leaves, weights, allow_unused=True)
        tangents = [None if gradient is None else unpack_dual(gradient).tangent for gradient in found]
    other = [rl.randn_like(leaf.detach()) for leaf in leaves]
    assert close(inner(tangents, other), inner(second, other))


@pytest.mark.parametrize("name", sorted(COMPLEX_RECORDS))
def test_complex_records(name):
    check_first(*prepared(name, records, complex=True))


@pytest.mark.parametrize("name", [name for name in DIFFERENTIABLE if name not in WITHOUT_FORWARD])
def test_composites(name):
    check_first(*prepared(name, composites))


@pytest.mark.parametrize("name", sorted(COMPLEX_COMPOSITES))
def test_complex_composites(name):
    check_first(*prepared(name, composites, complex=True))


BROADCAST = [
    name
    for name in NAMES
    if TABLE[name].kind in (table.BINARY, table.ELEMENTWISE) and name not in ("prelu_kernel", "rrelu_with_noise")
]


@pytest.mark.parametrize("name", BROADCAST)
def test_broadcasting_and_numbers(name):
    entry, (first, *rest) = TABLE[name], arguments_of(TABLE[name])
    function = getattr(functions, name)
    arguments = [value.value if isinstance(value, Fixed) else value for value in (first, *rest)]
    floating = [n for n, value in enumerate(arguments) if hasattr(value, "grad_fn") and value.is_floating_point()]
    small = [value[..., :1] if n in floating[1:] else value for n, value in enumerate(arguments)]
    operands = [n for n, a in enumerate(schema_of(entry).arguments) if a.type == "Operand" and n < len(arguments)]
    operands = [] if name == "clamp" else operands  # both bounds are tensors, or none
    numbers = [[0.6 if n == m else value for n, value in enumerate(arguments)] for m in operands]
    for given in (small, [value[:1] if n in floating[:1] else value for n, value in enumerate(arguments)], *numbers):
        places = [n for n in floating if hasattr(given[n], "grad_fn")]
        leaves = [given[n].detach().requires_grad_() for n in places]

        def call(*leaves, given=given, places=places):
            values = list(given)
            for place, leaf in zip(places, leaves):
                values[place] = leaf
            return (function(*values),)

        if leaves:
            check_first(call, leaves, [rl.randn_like(leaf.detach()) for leaf in leaves])


def test_lists_name_operations():
    for name in {*LINEAR, *PRODUCTS}:
        assert TABLE[name].differentiable


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_missing_derivatives_are_said(name):
    x = rl.tensor([0.5, 0.7])
    with pytest.raises(NotImplementedError, match="Trying to use forward AD with"):
        jvp(lambda x: getattr(functions, name)(x, x), (x,), (x,))
