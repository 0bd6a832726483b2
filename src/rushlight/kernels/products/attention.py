"""Scaled dot-product attention as kernels, forward and backward: what the operations call."""

from __future__ import annotations

import numpy as np

from ...ops.attention import empty_output
from ..compiler.kernel import compiled, pool
from ..elementwise.half_precision import by_single_precision
from ..language.value_types import scalar_of
from ..machine import host
from ..machine.scratch import scratch
from ..planning.registry import kernel_for
from .attention_backward import backward_area, backward_program
from .attention_forward import forward_area, forward_program
from .attention_parts import Layout

_WIDEST = {32: 4, 16: 2}  # number of registers -> vectors of queries in a block
_KEY_BLOCK = 96  # keys at a time: their scores stay in the nearest cache
_ALONE = 1 << 18  # multiplications below which other threads are not called in


def _vectors(count, lanes):
    """How many vectors wide the blocks are into which ``count`` columns are cut: as even as can be."""
    whole = max(1, -(-count // lanes))
    return -(-whole // -(-whole // _WIDEST[host.vector_registers()]))


def _panel_vectors(size, lanes):
    """How many vectors wide the panels of a gradient are: all of one width, so a divisor of their number."""
    whole = -(-size // lanes)
    return next(v for v in range(_WIDEST[host.vector_registers()], 0, -1) if whole % v == 0)


def _rows_together(array):
    """The array, or a copy in which the elements of a row lie side by side."""
    return array if array.strides[-1] == array.itemsize or array.shape[-1] == 1 else np.ascontiguousarray(array)


def _laid_like(array):
    """A new array of that shape, its dimensions in memory in the order of ``array``'s: what lies so needs no copy later."""
    made = np.empty_like(array)
    return made if made.strides[-1] == made.itemsize else np.empty(array.shape, array.dtype)


def _mask_rows(mask, shape):
    """The mask broadcast to (batch, heads, queries, keys), its rows contiguous; None stays None."""
    if mask is None:
        return None
    if mask.shape[-1] != shape[-1]:
        mask = np.broadcast_to(mask, (*mask.shape[:-1], shape[-1]))
    return np.broadcast_to(_rows_together(mask), shape)


def _layout(query, key, value, mask, is_causal):
    """The Layout, or None where no program fits."""
    scalar = scalar_of(query.dtype)
    if (
        scalar not in ("f32", "f64")
        or not query.dtype == key.dtype == value.dtype
        or not query.ndim == key.ndim == value.ndim == 4
    ):
        return None
    if mask is not None and mask.dtype != query.dtype:
        return None
    if not query.size * key.size * value.size or query.shape[1] % key.shape[1]:
        return None
    lanes = host.lanes(query.itemsize)
    return Layout(scalar, lanes, _vectors(query.shape[2], lanes), mask is not None, bool(is_causal))


def _steps(*arrays):
    """The steps between matrices, heads and rows of each array, in elements; zeros for None."""
    found = []
    for array in arrays:
        found += [0, 0, 0] if array is None else [stride // array.itemsize for stride in array.strides[:3]]
    return found


def _run(kernel, work, area, arrays, numbers, scale):
    workspace = scratch("attention", area * pool().scratch_areas, arrays[0].dtype)
    run = kernel.alone if work < _ALONE else kernel.threaded
    run(*arrays, workspace, np.array(numbers, np.int64), scale)


@kernel_for("attention")
@by_single_precision(1)
def attention(query, key, value, mask, is_causal, scale):
    """Output and logsumexp of queries (batch, heads, L, E), keys (batch, kv heads, S, E) and values (.., S, V).

    Args:
        mask: None, or of the queries' dtype, broadcast to (batch, heads, L, S): added to the scores.
        is_causal: let query i look at keys 0 to i only.
    """
    layout = _layout(query, key, value, mask, is_causal)
    if layout is None:
        return NotImplemented
    out = empty_output(query, key, value, query.dtype)
    query, key, value = _rows_together(query), _rows_together(key), _rows_together(value)
    batch, heads, queries, size = query.shape
    keys, value_size = value.shape[2:]
    mask = _mask_rows(mask, (batch, heads, queries, keys))
    logsumexp = np.empty((batch, heads, queries), query.dtype)
    width, key_block = layout.vectors * layout.lanes, min(keys, _KEY_BLOCK)
    area, blocks = forward_area(width, size, value_size, key_block, layout.mask), -(-queries // width)
    numbers = [heads, heads // key.shape[1], queries, keys, size, value_size, key_block, blocks, batch * heads * blocks]
    numbers += [area, *_steps(query, key, value, out, mask)]
    kernel = compiled(("attention", *layout), lambda: forward_program(layout))
    work = batch * heads * queries * keys * (size + value_size)
    _run(kernel, work, area, (query, key, value, mask, out, logsumexp), numbers, scale)
    return out, logsumexp


@kernel_for("attention_backward")
@by_single_precision()
def attention_backward(grad, query, key, value, out, logsumexp, mask, is_causal, scale):
    """The gradients of query, key and value, given that of ``out``; the rest as ``attention`` got and gave it."""
    layout = _layout(query, key, value, mask, is_causal)
    if layout is None or not logsumexp.flags.c_contiguous or not grad.dtype == out.dtype == query.dtype:
        return NotImplemented
    rows, (batch, kv_heads, keys, _) = query.shape[:3], value.shape
    if (
        rows[0] != batch
        or rows[1] % kv_heads
        or key.shape != (batch, kv_heads, keys, query.shape[3])
        or not grad.shape == out.shape == (*rows, value.shape[3])
        or logsumexp.shape != rows
    ):  # what backward saved may have got other memory through .data
        return NotImplemented
    grad, query, key, value, out = (_rows_together(x) for x in (grad, query, key, value, out))
    batch, heads, queries, size = query.shape
    kv_heads, keys, value_size = value.shape[1:]
    mask = _mask_rows(mask, (batch, heads, queries, keys))
    lanes = layout.lanes
    layout = layout._replace(
        size_vectors=_panel_vectors(size, lanes),
        value_vectors=_panel_vectors(value_size, lanes),
        even=size % lanes == value_size % lanes == 0,
    )
    gradients = [_laid_like(x) for x in (query, key, value)]
    width, key_block = layout.vectors * layout.lanes, min(keys, _KEY_BLOCK)
    area = backward_area(width, size, value_size, key_block, layout.mask)
    numbers = [heads, kv_heads, heads // kv_heads, queries, keys, size, value_size, key_block, batch * kv_heads, area]
    numbers += _steps(query, key, value, out, mask, grad, *gradients)
    kernel = compiled(("attention_backward", *layout), lambda: backward_program(layout))
    work = batch * heads * queries * keys * (3 * size + 2 * value_size)
    _run(kernel, work, area, (grad, query, key, value, mask, out, logsumexp, *gradients), numbers, scale)
    return tuple(gradients)
