"""Linear layers: a product with a bias, and its gradients: two products, one of which may add up the bias's gradient."""

from __future__ import annotations

from ...ops.reduce import add_up
from ..planning.layout import Layout
from ..planning.plan import Made, Plan, View, joined
from ..planning.runner import plan_for
from ..rows import reduce
from .matmul import plan_product_of

# Multiplications below which a layer is left to NumPy: 256 take 1.0 us against 1.7, 1,024 with all gradients 2.6 against 5.
# Programs are made for exact shapes, which the smallest networks shall not wait for.
_LEAST = 1 << 8


@plan_for("linear_rows")
def linear_rows(input: Layout, weight: Layout, bias: Layout | None):
    if input.ndim != 2 or weight.ndim != 2 or bias not in (None, Layout(weight.shape[:1], input.dtype)):
        return None
    plan = plan_product_of(("input", input), ("weight", weight, True), bias=bias and "bias")
    return plan and plan._replace(pays=input.size * weight.shape[0] >= _LEAST)


@plan_for("linear_gradients")
def linear_gradients(grad: Layout, input: Layout | None, weight: Layout | None, needs, gate):
    fits = grad.ndim == 2 and (input is None or (input.ndim == 2 and input.shape[0] == grad.shape[0]))
    fits = fits and (weight is None or (weight.ndim == 2 and weight.shape[0] == grad.shape[1]))
    if not fits or (input and weight and input.shape[1] != weight.shape[1]):
        return None  # what backward saved may have got other memory through .data
    parts, results = [], dict.fromkeys(("of_input", "of_weight", "of_bias"))
    if needs[0]:
        first, out = (("grad", grad), ("weight", weight)), ("of_input", None)
        gated = plan_product_of(*first, out, gate=("input", input)) if gate else None
        gate = gated is not None
        parts.append(gated or plan_product_of(*first, out))
    if needs[1]:
        second, out = (("grad", grad, True), ("input", input)), ("of_weight", None)
        summing = plan_product_of(*second, out, row_sums="of_bias") if needs[2] else None
        parts.append(summing or plan_product_of(*second, out))
    if None in parts:
        return None
    if needs[2] and not any("of_bias" in part.results for part in parts):
        parts.append(_column_sums(grad))
    plan = joined(*parts)
    pays = grad.size * (weight or input or grad).shape[1] >= _LEAST
    return plan._replace(results={**results, **plan.results, "gated": gate}, pays=pays)


def _column_sums(grad):
    """The Plan of the bias's gradient."""
    plan = reduce.sum.plan(grad, (0,), False, None)
    if plan is not None:
        # What is copied for the sums stays as it is for the products.
        return plan.named({"self": "rows", "out0": "of_bias"})._replace(views={"rows": View("grad")})
    return Plan([], {"of_bias": Layout(grad.shape[1:], grad.dtype)}, made={"of_bias": Made(add_up, ("grad", 0))})
