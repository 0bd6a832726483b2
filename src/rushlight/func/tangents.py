"""Forward mode, operation by operation: the tangents of an operation's results from those of its arguments.

No operation has a second set of derivative rules for this. A view of a tangent is the tangent of the view. A linear operation
is its own derivative, and one that is linear in each of its arguments has the product rule; both are listed here by
name. The gradient rule of a real elementwise operation, given a tangent in place of the gradient, is its derivative in
that direction. And the map from gradients to gradients of any other operation is linear: transposing it
(differentiating it backwards, at zero) gives the map from tangents to tangents.
"""

from __future__ import annotations

from math import inf

from ..autograd.modes import state
from ..autograd.op_node import CONSTANT, LAYOUT, RESULT, SHAPE, fit_dtype, plan_of
from ..base import dtypes
from ..base.errors import hinted
from ..ops import table
from ..ops.table import functions
from ..tensor.compute import ELEMENTWISE_KINDS
from ..tensor.dispatch import run
from .reverse import vjp_by


def _without(names, **replaced):
    return dict.fromkeys(names.split(), replaced)


# Operations that are linear in all their tensors of floating dtype together, and what other arguments are replaced by to
# make them so.
LINEAR = {
    **_without(
        "clone to_copy sum mean cat stack repeat roll flip rot90 block_diagonal im2col col2im pixel_shuffle pixel_unshuffle "
        "channel_shuffle index index_select index_add index_copy gather scatter_src scatter_add take masked_select embedding "
        "adaptive_avg_pool adaptive_avg_pool_gradient avg_pool avg_pool_gradient interpolate_parts interpolate_gradient "
        "pad_by_places pad_in_circles pad_by_places_gradient fft_c2c fft_r2c fft_c2r cumsum tril triu diag_embed trace unsafe_view reshape_copy "
        "select_scatter slice_scatter diagonal_scatter as_strided_gradient unfold_gradient select_gradient slice_gradient "
        "diagonal_gradient places_gradient placed unsafe_split unsafe_split_with_sizes complex_of_parts alias_copy diagonal_copy "
        "expand_copy permute_copy select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy "
        "unbind_copy unfold_copy unsqueeze_copy view_as_complex_copy view_as_real_copy view_shape_copy narrow_copy masked_fill "
        "index_fill index_put_arrays masked_scatter"
    ),
    **_without("constant_pad_nd", value=0),
}
# Operations that are linear in each of these arguments, and what others are replaced by to make them so.
PRODUCTS = {
    "mm": ("self", "mat2", {}),
    "mv": ("self", "vec", {}),
    "dot": ("self", "tensor", {}),
    "outer_product": ("self", "vec2", {}),
    "bmm": ("self", "mat2", {}),
    "batched_product": ("self", "mat2", {}),
    "vector_products": ("self", "other", {}),
    "transposed_mm": ("self", "mat2", {}),
    "vdot": ("self", "other", {}),
    "addmm": ("mat1", "mat2", {"beta": 0}),
    "addmv": ("mat", "vec", {"beta": 0}),
    "addr": ("vec1", "vec2", {"beta": 0}),
    "addbmm": ("batch1", "batch2", {"beta": 0}),
    "baddbmm": ("batch1", "batch2", {"beta": 0}),
    "linear_rows": ("input", "weight", {"bias": None}),
    "convolution": ("input", "weight", {"bias": None}),
    "convolution_input_gradient": ("grad", "weight", {}),
    "transposed_convolution": ("input", "weight", {"bias": None}),
    "convolution_weight_gradient": ("grad", "input", {}),
    "cross_parts": ("self", "other", {}),
}
# Operations whose Jacobian is symmetric where everything is real: their gradient rule is their derivative.
SYMMETRIC = frozenset(("softmax",))


def _logcumsumexp(schema, values, tangents, result):
    """Its gradient rule goes by the sign of the gradient, which cannot be transposed: each element's share in later sums."""
    self, dim = values
    if not self.dim():
        return tangents[0]
    starts, ends, moving = (value.movedim(dim, -1) for value in (self, result, tangents[0]))
    exponents = starts.unsqueeze(-1) - ends.unsqueeze(-2)
    nothing = functions.ones_like(exponents, dtype=dtypes.bool_).tril(-1) | (starts.unsqueeze(-1) == -inf)
    return (exponents.masked_fill(nothing, -inf).exp() * moving.unsqueeze(-1)).sum(-2).movedim(-1, dim)


def _log_softmax(schema, values, tangents, result):
    """What all elements of a row lose together is the mean of the tangent by the probabilities."""
    dim = values[1]
    moving = tangents[0] if tangents[0].dtype is result.dtype else tangents[0].to(result.dtype)
    return moving - (result.exp() * moving).sum(dim, keepdim=True)


# Operations with a rule of their own.
DIRECT = {"logcumsumexp": _logcumsumexp, "log_softmax": _log_softmax}


def tangents_of(op, schema, values, tangents, found):
    """The tangents of the results ``found`` of a call with argument ``values`` whose tangents are ``tangents``.

    ``tangents`` has an entry for each value: None, a tensor, or, for a list of tensors, a list of both. Returns a tensor or
    None where ``found`` is a tensor, a tuple of them where it is a tuple.
    """
    many = found.__class__ is tuple
    results = found if many else (found,)
    # Several results of which one is empty: it was not asked for.
    differentiable = [
        number < op.tracked and dtypes.is_differentiable(result._array.dtype) and (not many or result.numel() > 0)
        for number, result in enumerate(results)
    ]
    if not any(differentiable) or op.untracked:
        return (None,) * len(results) if many else None
    if op.name == "as_strided":
        values = _moved(values, tangents[0])
    if op.kind == table.VIEW:
        return run(op, schema, [tangents[0], *values[1:]])
    if op.name in LINEAR:
        return run(op, schema, _replaced(schema, _zeroed(schema, values, tangents), LINEAR[op.name]))
    if op.name in DIRECT:
        return DIRECT[op.name](schema, values, tangents, found)
    if op.name in PRODUCTS:
        return _product(op, schema, values, tangents, found)
    parts = _by_gradients(op, schema, values, tangents, results, differentiable)
    parts = tuple(None if part is None else _apart(part, tangents) for part in parts)
    return parts if many else parts[0]


def has_tangent(tangent):
    """Whether an entry of the tangents of a call is one, or holds one."""
    return any(each is not None for each in tangent) if tangent.__class__ is list else tangent is not None


# ---------------------------------------------------------------- linear operations


def _moved(values, tangent):
    """The arguments of ``as_strided`` for the tangent, whose memory may begin elsewhere than its tensor's."""
    self, size, stride, offset = values
    if offset is not None:
        offset += tangent.storage_offset() - self.storage_offset()
    return [self, size, stride, offset]


def _replaced(schema, values, replaced):
    for name, value in replaced.items():
        values[schema.index[name]] = value
    return values


def _zeroed(schema, values, tangents):
    """The tangents of a call as its arguments, zeros where there is none; other arguments as they are."""
    inside = list(values)
    for position in schema.tensor_positions:
        value, tangent = values[position], tangents[position]
        if value.__class__ is list:
            inside[position] = [_or_zeros(each, t) for each, t in zip(value, tangent)]
        else:
            inside[position] = _or_zeros(value, tangent)
    return inside


def _or_zeros(value, tangent):
    if tangent is not None:
        return tangent if tangent.dtype is value.dtype else tangent.to(value.dtype)
    if not hasattr(value, "_edge"):
        return 0 if isinstance(value, (int, float, complex)) and not isinstance(value, bool) else value
    return functions.zeros_like(value) if dtypes.is_differentiable(value._array.dtype) else value


def _product(op, schema, values, tangents, result):
    """The product rule: the sum of what the operation gives with one argument after the other replaced by its tangent."""
    *factors, replaced = PRODUCTS[op.name]
    total = None
    rest = list(tangents)
    for name in factors:
        position = schema.index[name]
        tangent, rest[position] = rest[position], None
        if tangent is not None:
            inside = _replaced(schema, list(values), replaced)
            inside[position] = _or_zeros(values[position], tangent)
            part = run(op, schema, inside)
            total = part if total is None else total + part
    if any(map(has_tangent, rest)):  # what is added to the product
        (part,) = _by_gradients(op, schema, values, rest, (result,), (True,))
        total = part if total is None else total + part
    return total


# ---------------------------------------------------------------- by the gradient rules


def _apart(part, tangents):
    """``part``, or a copy where it is one of the tangents given, or a view of one: writes into either stay its own."""
    for tangent in tangents:
        for each in tangent if tangent.__class__ is list else (tangent,):
            if each is not None and (part is each or _is_view_of(part, each)):
                return part.clone()
    return part


def _is_view_of(part, tensor):
    return part._base is not None and (part._base is tensor or part._base is tensor._base)


# Whose gradients have no derivative -> PyTorch's name in the refusal.
_DIFFERENTIATED_ONCE = {
    "multi_margin_loss_parts": "multi_margin_loss",
    "multilabel_margin_loss_parts": "multilabel_margin_loss_forward",
}


def _by_gradients(op, schema, values, tangents, results, differentiable):
    if not op.differentiable or op.name in _DIFFERENTIATED_ONCE:
        name = _DIFFERENTIATED_ONCE.get(op.name, op.name)
        raise _unsupported(f"{name} that does not support it because it has not been implemented yet.")
    plan = _plan(op, schema, [has_tangent(tangents[position]) for position in schema.tensor_positions], values)
    for step in plan.steps:
        if step is not None and hasattr(step[0], "unknown"):
            raise _unsupported(step[0].unknown)
    alike = op.kind in ELEMENTWISE_KINDS or op.name in SYMMETRIC
    if alike and plan.joint is None and _all_real(values, results):
        return (_along(plan, schema, values, tangents, results[0]),)
    return _transposed(plan, schema, values, tangents, results, differentiable)


def _unsupported(what):
    return NotImplementedError(
        hinted(
            f"Trying to use forward AD with {what}",
            "the operation has no derivative by that argument: detach() it if none is wanted here",
        )
    )


def _all_real(values, results):
    return not any(hasattr(t, "_edge") and t.is_complex() for t in (*values, *results))


def _plan(op, schema, needs, values):
    return plan_of(op, schema, sum(1 << place for place, needed in enumerate(needs) if needed), values)


def _saved(plan, values, results):
    """What the rules of a plan take besides gradients, in the order of its slots."""
    entries = []
    for kind, where in plan.saves:
        if kind in (RESULT, CONSTANT):
            entries.append(results[where])
        elif kind == SHAPE:
            value = values[where]
            entries.append([t.shape for t in value] if value.__class__ is list else tuple(value.shape))
        elif kind == LAYOUT:
            entries.append((tuple(values[0].shape), values[0].stride(), values[0].storage_offset()))
        else:
            entries.append(values[where])
    return entries


def _along(plan, schema, values, tangents, result):
    """The tangent of a result by rules that serve both ways: each with its argument's tangent in place of the gradient."""
    saved = _saved(plan, values, (result,))
    total = None
    for step, position in zip(plan.steps, schema.tensor_positions):
        tangent = tangents[position]
        if step is None or tangent is None:
            continue
        if tangent.dtype is not result.dtype:
            tangent = tangent.to(result.dtype)
        if tangent.shape != result.shape:
            tangent = tangent.expand(result.shape)
        rule, pick = step
        part = rule(*pick([*saved, plan.needs, (tangent,), tangent]))
        if part is not None:
            total = part if total is None else total + part
    if total is None:
        return functions.zeros_like(result)
    return total if total.dtype is result.dtype else total.to(result.dtype)


def _transposed(plan, schema, values, tangents, results, differentiable):
    """The tangents of any operation's results, by transposing the map that its gradient rules are."""
    saved = _saved(plan, values, results)
    wanted, directions = [], []
    for place, position in enumerate(schema.tensor_positions):
        value, tangent = values[position], tangents[position]
        if tangent is None:
            continue
        several = value.__class__ is list
        for item, (each, direction) in enumerate(zip(value, tangent) if several else ((value, tangent),)):
            if direction is not None:
                wanted.append((place, item if several else None, each))
                directions.append(direction if direction.dtype is each.dtype else direction.to(each.dtype))

    def gradients(*given):
        left = iter(given)
        grads = tuple(next(left) if wants else None for wants in differentiable)
        entries = [*saved, plan.needs, grads, grads[0]]
        if plan.joint is not None:
            found = plan.op.gradients(*plan.joint(entries))
        else:
            found = [None if step is None else step[0](*step[1](entries)) for step in plan.steps]
        return tuple(_picked(found[place], item, target) for place, item, target in wanted)

    zeros = [functions.zeros_like(result) for result, wants in zip(results, differentiable) if wants]
    before = state.saved_hooks, state.recording
    try:
        state.saved_hooks = ()  # the user's hooks are for the user's graph
        state.update()
        _, transpose = vjp_by(gradients, tuple(zeros), None, False)
        found = iter(transpose(tuple(directions)))
    finally:
        state.saved_hooks, state.recording = before
    return tuple(next(found) if wants else None for wants in differentiable)


def _picked(gradient, item, target):
    """One of the gradients that rules give, in the shape and dtype of the tensor it belongs to; zeros for None."""
    if item is not None and gradient is not None:
        gradient = gradient[item]
    if gradient is None:
        return functions.zeros_like(target)
    if gradient.shape != target.shape:
        gradient = gradient.sum_to_size(target.shape)
    return gradient if gradient.dtype is target.dtype else fit_dtype(gradient, target.dtype.numpy)
