"""Scaled dot-product attention as kernels, forward and backward: what the operations would run."""

from __future__ import annotations

from ...base.arrays import result_order
from ..machine import host
from ..planning.layout import Layout, Spread, laid
from ..planning.plan import Launch, Passed, Plan, View
from ..planning.precision import in_single_precision
from ..planning.runner import plan_for
from .attention_backward import backward_area, backward_program
from .attention_forward import forward_area, forward_program
from .attention_parts import Form

_WIDEST = {32: 4, 16: 2}  # number of registers -> vectors of queries in a block
_KEY_BLOCK = 96  # keys at a time: their scores stay in the nearest cache
_NANOSECONDS = 5000 / (1 << 18)  # for a multiplication: from 1 << 18 on other threads are called in


def _vectors(count, lanes):
    """How many vectors wide the blocks are into which ``count`` columns are cut: as even as can be."""
    whole = max(1, -(-count // lanes))
    return -(-whole // -(-whole // _WIDEST[host.vector_registers()]))


def _panel_vectors(size, lanes):
    """How many vectors wide the panels of a gradient are: all of one width, so a divisor of their number."""
    whole = -(-size // lanes)
    return next(v for v in range(_WIDEST[host.vector_registers()], 0, -1) if whole % v == 0)


def _has_rows(layout):
    """Whether the elements of each row lie side by side."""
    return layout.shape[-1] == 1 or (layout.steps is not None and layout.steps[-1] == 1)


class _Operands:
    """Arrays as the programs read them: those whose rows' elements do not lie side by side are copied, and masks are
    broadcast to (batch, heads, queries, keys). ``layouts``: by name, in the order given; None where there is none."""

    def __init__(self, mask, shape, **layouts):
        self.copied = {name: None for name, layout in layouts.items() if not _has_rows(layout)}
        self.layouts = {name: layout.plain() if name in self.copied else layout for name, layout in layouts.items()}
        self.views, self.mask = {}, mask
        if mask is not None:
            self.mask = mask.broadcast((*mask.shape[:-1], shape[-1]))
            if self.mask is not mask:
                self.views["mask"] = View("mask", self.mask.shape)
            if not _has_rows(self.mask):
                self.copied["mask"], self.mask = None, self.mask.plain()
            self.mask = self.mask.broadcast(shape)

    def plan(self, name, build, form, arrays, numbers, area, work, results):
        """The Plan of a program whose arguments are such arrays, the numbers as a table and the scale; ``results`` behind them."""
        arguments = *arrays, *results, "attention", numbers, "scale"
        own = [("attention", area, self.layouts["query"].dtype)]
        launch = Launch(build, form, arguments, work * _NANOSECONDS, name)
        return Plan([launch], results, thread_scratch=own, copied=self.copied, views=self.views)


def _form(query, key, value, mask, is_causal):
    """The Form of the programs, or None where none fits."""
    if query.scalar not in ("f32", "f64") or not query.dtype == key.dtype == value.dtype:
        return None
    if not query.ndim == key.ndim == value.ndim == 4 or (mask is not None and mask.dtype != query.dtype):
        return None
    if not query.size * key.size * value.size or query.shape[1] % key.shape[1]:
        return None
    lanes = host.lanes(query.dtype.itemsize)
    return Form(query.scalar, lanes, _vectors(query.shape[2], lanes), mask is not None, bool(is_causal))


def _steps(*layouts):
    """The steps between matrices, heads and rows of each array, in elements; zeros for None."""
    return [step for layout in layouts for step in ([0, 0, 0] if layout is None else layout.steps[:3])]


def _output(query, key, value):
    """How `ops.attention.empty_output` lays the output."""
    shape = (*query.shape[:3], value.shape[3])
    if shape != query.shape or any(x.spread().strides[3] != x.dtype.itemsize for x in (query, key, value)):
        return Layout(shape, query.dtype)
    order = result_order((query.spread(),), shape)
    return Layout(shape, query.dtype) if order is None else laid(shape, query.dtype, order)


@plan_for("attention")
@in_single_precision(1)
def attention(query: Spread, key: Spread, value: Spread, mask: Layout | None, is_causal, scale: Passed):
    """Output and logsumexp of queries (batch, heads, L, E), keys (batch, kv heads, S, E) and values (.., S, V).

    Args:
        mask: None, or of the queries' dtype, broadcast to (batch, heads, L, S): added to the scores.
        is_causal: let query i look at keys 0 to i only.
    """
    form = _form(query, key, value, mask, is_causal)
    if form is None:
        return None
    (batch, heads, queries, size), (keys, value_size) = query.shape, value.shape[2:]
    operands = _Operands(mask, (batch, heads, queries, keys), query=query, key=key, value=value)
    out = _output(query, key, value)
    width, key_block = form.vectors * form.lanes, min(keys, _KEY_BLOCK)
    area, blocks = forward_area(width, size, value_size, key_block, form.mask), -(-queries // width)
    numbers = [heads, heads // key.shape[1], queries, keys, size, value_size, key_block, blocks, batch * heads * blocks]
    numbers += [area, *_steps(*operands.layouts.values(), out, operands.mask)]
    results = {"out": out, "logsumexp": Layout((batch, heads, queries), query.dtype)}
    work = batch * heads * queries * keys * (size + value_size)
    arrays = *operands.layouts, mask and "mask"
    return operands.plan("attention", forward_program, form, arrays, tuple(numbers), area, work, results)


def _gradient(layout):
    """How a gradient lies: as what it is of, which needs no copy later."""
    dense = layout.dense()
    return dense if dense.steps[-1] == 1 else layout.plain()


@plan_for("attention_backward")
@in_single_precision()
def attention_backward(
    grad: Layout, query: Spread, key: Spread, value: Spread, out: Layout, logsumexp: Layout, mask: Layout | None, is_causal,
    scale: Passed,
):  # fmt: skip
    """The gradients of query, key and value, given that of ``out``; the rest as ``attention`` got and gave it."""
    form = _form(query, key, value, mask, is_causal)
    if form is None or not logsumexp.is_plain or not grad.dtype == out.dtype == query.dtype:
        return None
    (batch, heads, queries, size), (_, kv_heads, keys, value_size) = query.shape, value.shape
    rows = batch, heads, queries
    if (
        value.shape[0] != batch
        or heads % kv_heads
        or key.shape != (batch, kv_heads, keys, size)
        or not grad.shape == out.shape == (*rows, value_size)
        or logsumexp.shape != rows
    ):  # what backward saved may have got other memory through .data
        return None
    operands = _Operands(mask, (*rows, keys), query=query, key=key, value=value, out=out, grad=grad)
    grad, lanes = operands.layouts.pop("grad"), form.lanes
    form = form._replace(
        size_vectors=_panel_vectors(size, lanes),
        value_vectors=_panel_vectors(value_size, lanes),
        even=size % lanes == value_size % lanes == 0,
    )
    layouts = operands.layouts
    results = {f"d_{name}": _gradient(layouts[name]) for name in ("query", "key", "value")}
    width, key_block = form.vectors * form.lanes, min(keys, _KEY_BLOCK)
    area = backward_area(width, size, value_size, key_block, form.mask)
    numbers = [heads, kv_heads, heads // kv_heads, queries, keys, size, value_size, key_block, batch * kv_heads, area]
    numbers += _steps(*layouts.values(), operands.mask, grad, *results.values())
    work = batch * heads * queries * keys * (3 * size + 2 * value_size)
    arrays = "grad", "query", "key", "value", mask and "mask", "out", "logsumexp"
    return operands.plan("attention_backward", backward_program, form, arrays, tuple(numbers), area, work, results)
