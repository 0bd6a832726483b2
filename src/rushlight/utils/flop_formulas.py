"""How many floating-point operations calls take: PyTorch's formulas, by the names of its native operations.

`native_calls` says which of those PyTorch would make for a call of an operation of the table.
"""

from __future__ import annotations

import functools
from importlib import import_module
from math import prod

from ..autograd.modes import state
from ..base.errors import hinted
from ..tensor import Tensor
from ._pytree import tree_map, tree_map_


def aten(name):
    """``torch.ops.aten.NAME``, the key under which a formula is registered and operations are counted."""
    return getattr(import_module("rushlight.compat.inside.ops").aten, name)


def _equal(first, second, what):
    if first != second:
        raise AssertionError(hinted(f"{what}, got {first} and {second}", "these shapes cannot be multiplied"))


def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of a product of two matrices."""
    (rows, inner), (inner_too, columns) = a_shape, b_shape
    _equal(inner, inner_too, "matmul: inner dimensions must match (k == k2)")
    return rows * columns * 2 * inner


def addmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Of a product that is added to a matrix: the additions are not counted."""
    return mm_flop(a_shape, b_shape)


def bmm_flop(a_shape, b_shape, out_shape=None, **kwargs):
    """Of a batch of products."""
    (batch, rows, inner), (batch_too, inner_too, columns) = a_shape, b_shape
    _equal(batch, batch_too, "bmm: batch dimensions must match (b == b2)")
    _equal(inner, inner_too, "bmm: inner dimensions must match (k == k2)")
    return batch * rows * columns * 2 * inner


def baddbmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Of a batch of products that are added to matrices."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(x_shape, w_shape, out_shape, transposed=False):
    """Of a convolution without its bias: the filter at every place of the output, or of the input of a transposed one."""
    places = x_shape if transposed else out_shape
    return prod(places[2:]) * x_shape[0] * prod(w_shape) * 2


def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    """Of a convolution, transposed or not."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


def conv_backward_flop(
    grad_out_shape,
    x_shape,
    w_shape,
    _bias,
    _stride,
    _padding,
    _dilation,
    transposed,
    _output_padding,
    _groups,
    output_mask,
    out_shape,
    **kwargs,
):
    """Of the gradients of a convolution that ``output_mask`` asks for: its input's, its weight's."""
    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        image, filter = (grad_out_shape, x_shape) if transposed else (x_shape, grad_out_shape)
        count += conv_flop_count(*map(_exchanged, (image, filter, out_shape[1])))
    return count


def _exchanged(shape):
    return [shape[1], shape[0], *shape[2:]]


def sdpa_flop_count(query_shape, key_shape, value_shape):
    """Of attention: the products of queries and keys, and of weights and values. Keys may have fewer heads."""
    batch, heads, rows, width = query_shape
    _, heads_of_keys, columns, width_of_keys = key_shape
    agree = batch == key_shape[0] == value_shape[0] and (heads_of_keys, columns) == tuple(value_shape[1:3])
    shapes = f"q={query_shape}, k={key_shape}, v={value_shape}"
    if not agree or width != width_of_keys:
        raise AssertionError(
            hinted(f"sdpa_flop_count: query/key/value shapes are incompatible: {shapes}", "batch, heads, length, width")
        )
    if heads < heads_of_keys or heads % heads_of_keys:
        raise AssertionError(
            hinted(
                f"sdpa_flop_count: query heads ({heads}) must be a multiple of key/value heads ({heads_of_keys})",
                shapes,
            )
        )
    count = batch * heads
    scores = bmm_flop((count, rows, width), (count, width, columns))
    return scores + bmm_flop((count, rows, columns), (count, columns, value_shape[3]))


def sdpa_flop(query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Of attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape):
    """Of the gradients of attention: the scores again, and two products for each of the two."""
    batch, heads, rows, width = query_shape
    columns, count, last = key_shape[2], batch * heads, value_shape[3]
    scores = bmm_flop((count, rows, width), (count, width, columns))
    return 3 * scores + 2 * bmm_flop((count, rows, last), (count, last, columns))


def sdpa_backward_flop(grad_out_shape, query_shape, key_shape, value_shape, *args, out_shape=None, **kwargs):
    """Of the gradients of attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


_FORMULAS = {
    mm_flop: ("mm",),
    addmm_flop: ("addmm",),
    bmm_flop: ("bmm",),
    baddbmm_flop: ("baddbmm",),
    conv_flop: ("convolution", "_convolution", "cudnn_convolution", "convolution_overrideable", "_slow_conv2d_forward"),
    conv_backward_flop: ("convolution_backward",),
    sdpa_flop: tuple(f"_scaled_dot_product_{kind}_attention" for kind in ("efficient", "flash", "cudnn")),
    sdpa_backward_flop: tuple(f"_scaled_dot_product_{k}_attention_backward" for k in ("efficient", "flash", "cudnn")),
}


def get_shape(i):
    """The shape of a tensor; anything else itself."""
    return i.shape if isinstance(i, Tensor) else i


def shape_wrapper(f):
    """A formula of shapes as one of tensors, whose result is ``out_val``."""

    @functools.wraps(f)
    def of_tensors(*args, out_val=None, **kwargs):
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return of_tensors


@functools.cache
def registry():
    """Every formula, by the operation that it is of."""
    return {aten(name): shape_wrapper(formula) for formula, names in _FORMULAS.items() for name in names}


def register_flop_formula(targets, get_raw=False):
    """A decorator: the function says how many operations ``targets``, one of ``torch.ops`` or a list of them, take.

    It gets the operation's arguments, with shapes in place of tensors, and ``out_shape``; with ``get_raw`` tensors, and
    ``out_val``.

    >>> import rushlight as torch
    >>> from rushlight.compat.inside.ops import aten
    >>> from rushlight.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula
    >>> @register_flop_formula(aten.cumsum)
    ... def cumsum_flop(shape, dim, out_shape=None, **kwargs):
    ...     return shape.numel()
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(3, 4).cumsum(0)
    >>> counter.get_total_flops()
    12
    >>> formula = flop_registry.pop(aten.cumsum)
    """

    def register(formula):
        found = formula if get_raw else shape_wrapper(formula)

        def at(target):
            if not hasattr(target, "_qualified_op_name"):
                raise ValueError(
                    hinted(
                        "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), "
                        f"JitFunction, or HigherOrderOperator, got {target} which is of type {type(target)}",
                        "torch.ops.aten.add is an operation, torch.ops.aten.add.Tensor one of its overloads",
                    )
                )
            if target in registry():
                raise RuntimeError(hinted(f"duplicate registrations for {target}", "pop it from flop_registry first"))
            registry()[target] = found

        tree_map_(at, targets)
        return found

    return register


# ---------------------------------------------------------------- which native operations a call of ours stands for

_GRADIENT = "convolution_backward"


def _linear(values, out):
    rows, weight, bias = values
    turned = weight.shape[::-1]
    return [("mm", (rows, turned), out)] if bias is None else [("addmm", (bias, rows, turned), out)]


def _convolution(values, out):
    rows, weight, bias, stride, padding, dilation, groups = values
    if state.task is not None and not state.grad:  # the gradient of a transposed one
        rest = (None, stride, padding, dilation, True, (), groups, (True, False, False))
        return [(_GRADIENT, (rows, out, weight, *rest), (out, None, None))]
    return [("convolution", (rows, weight, bias, stride, padding, dilation, False, (), groups), out)]


def _transposed_convolution(values, out):
    rows, weight, bias, _, stride, padding, dilation, groups = values
    return [("convolution", (rows, weight, bias, stride, padding, dilation, True, (), groups), out)]


def _input_gradient(values, out):
    grad, weight, size, stride, padding, dilation, groups = values
    rest = (None, stride, padding, dilation, False, (), groups, (True, False, False))
    return [(_GRADIENT, (grad, size, weight, *rest), (out, None, None))]


def _weight_gradient(values, out):
    grad, rows, size, stride, padding, dilation, groups = values
    rest = (None, stride, padding, dilation, False, (), groups, (False, True, False))
    return [(_GRADIENT, (grad, rows, size, *rest), (None, out, None))]


def _batch(tensor):
    return prod(tensor.shape[:-2]), *tensor.shape[-2:]


def _scores(values, out):
    batch, rows, width = _batch(values[0])
    return [("bmm", ((batch, rows, width), (batch, width, values[1].shape[-2])), out)]


def _recurrent(values, out):
    rows, _, w_ih, w_hh, b_ih, *_ = values
    steps, batch, _ = rows.shape
    turned_ih, turned_hh = w_ih.shape[::-1], w_hh.shape[::-1]
    pairs = [((steps * batch, rows.shape[2]), turned_ih)] + [((batch, turned_hh[0]), turned_hh)] * steps
    return [("mm", pair, out) if b_ih is None else ("addmm", (None, *pair), out) for pair in pairs]


def _recurrent_backward(w_hh, outputs, rows, states):
    gates, units = w_hh.shape
    steps, batch, width = rows.shape
    pairs = [((gates, steps * batch), (steps * batch, width))] + [((gates, batch), (batch, units))] * steps
    return [("mm", pair, None) for pair in pairs + [((batch, gates), (gates, units))] * (steps - 1 + bool(states))]


def _attention(values, out):
    query, key, value, mask, is_causal, scale = values
    return [("_scaled_dot_product_flash_attention_for_cpu", (query, key, value, 0.0, is_causal, mask, scale), out)]


def _attention_backward(values, out):
    grad, query, key, value, result, logsumexp, mask, is_causal, scale = values
    given = (grad, query, key, value, result, logsumexp, 0.0, is_causal, mask, scale)
    return [("_scaled_dot_product_flash_attention_for_cpu_backward", given, out)]


# Operations whose calls stand for others of PyTorch's.
OF_OTHERS = {
    "transposed_mm": lambda values, out: [("mm", (values[0].shape[::-1], values[1]), out)],
    "linear_rows": _linear,
    "batched_product": lambda values, out: [("bmm", tuple(map(_batch, values)), out)],
    "convolution": _convolution,
    "transposed_convolution": _transposed_convolution,
    "convolution_input_gradient": _input_gradient,
    "convolution_weight_gradient": _weight_gradient,
    "scaled_scores": _scores,
    "attention": _attention,
    "attention_backward": _attention_backward,
    "rnn_sequence": _recurrent,
    "gru_sequence": _recurrent,
    "rnn_sequence_backward": lambda v, out: _recurrent_backward(v[2], v[3], v[6], v[7]),
    "gru_sequence_backward": lambda v, out: _recurrent_backward(v[4], v[5], v[9], v[10]),
}


def native_calls(op, schema, values, out, writes=False):
    """PyTorch's native calls for a call of the operation ``op``, in place if it ``writes``: a list of (name, arguments, result).

    Where it makes another one than we do, shapes stand in place of tensors that are not there.
    """
    found = OF_OTHERS.get(op.name)
    if found is not None:
        return found(values, out)
    return [(op.name.rstrip("_") + "_" * writes, tuple(values[: schema.positional]), out)]
