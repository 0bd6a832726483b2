"""The plug of strided nested tensors at the waist: the function of an operation, or PyTorch's error."""

from __future__ import annotations

import numpy as np

from ..autograd.modes import state
from ..autograd.views import check_inplace
from ..base.errors import hinted
from ..base.layouts import LAYOUT_PLUGS, Layout
from ..ops import table
from ..tensor.dispatch import run
from ..tensor.layout_calls import LayoutCalls
from ..tensor.writes import run_inplace
from .jagged import DENSE
from .padding import NestedOp
from .strided import (
    Elements,
    StridedArray,
    StridedNestedTensor,
    buffer_of,
    copied,
    elements_of,
    is_strided_nested,
    memory_of,
    put_buffer,
)

_TABLE = LayoutCalls(StridedNestedTensor)
takes, writes, graft = _TABLE.takes, _TABLE.writes, _TABLE.graft

# What PyTorch runs on the buffer of one tensor, of two tensors of one structure, and in place.
_UNARY = frozenset(
    ("relu", "gelu", "silu", "neg", "logical_not", "isnan", "isinf", "isposinf", "isneginf", "sqrt", "abs", "sgn", "sin", "cos",
     "tanh", "to_copy", "isreal")
)  # fmt: skip
_BINARY = frozenset(("add", "sub", "mul", "div"))
_WITH_NUMBER = _BINARY | {"eq", "gt", "ge"}
_IN_PLACE = frozenset(
    ("add_", "mul_", "relu_", "gelu_", "silu_", "tanh_", "neg_", "abs_", "sgn_", "logical_not_", "fill_number", "zero_", "normal_")
)  # fmt: skip
# PyTorch's names of what operations of the table are parts of, with the overload that its errors show.
_NAMES = {
    "prod_all": "prod", "max_all": "max", "min_all": "min", "max_dim": "max.dim", "min_dim": "min.dim", "log_softmax": "_log_softmax",
    "std_corrected": "std.correction", "var_corrected": "var.correction", "vector_norm_parts": "linalg_vector_norm", "sort_pair": "sort",
    "view_dtype": "view.dtype", "clamp": "clamp.Tensor", "logsigmoid": "log_sigmoid_forward", "topk_pair": "topk",
}  # fmt: skip
_SPELT_OUT = frozenset(
    ("rsub", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor", "ne", "lt", "le", "gt", "ge", "eq", "copysign", "xlogy", "ldexp")
)  # fmt: skip


def not_run(name):
    """PyTorch's error for an operation that strided nested tensors do not have."""
    message = (
        f"Could not run 'aten::{name}' with arguments from the 'NestedTensorCPU' backend. This could be because the operator "
        "doesn't exist for this backend, or was omitted during the selective/custom build process (if using custom build). If you "
        "are a Facebook employee using PyTorch on mobile, please visit https://fburl.com/ptmfixes for possible resolutions."
    )
    return NotImplementedError(hinted(message, DENSE))


def _shown(op, values):
    tensors = len(values) > 1 and hasattr(values[1], "_edge")
    if op.name == "pow":
        return "pow.Tensor_Tensor" if tensors else "pow.Tensor_Scalar"
    if op.name in _SPELT_OUT:
        return op.name + (".Tensor" if tensors else ".Scalar")
    if op.name == "any" and len(values) > 1 and values[1] is not None:
        return "any.dim"
    if op.name == "mean" and values[1] is not None:
        return "mean.dim"
    return _NAMES.get(op.name, op.name)


def strided_call(op, values):
    """What an operation gives for arguments with a strided nested tensor among them; NotImplemented where there is none."""
    if op.__class__ is NestedOp or not _TABLE.among(values):
        return NotImplemented
    function = _TABLE.calls.get(op.name)
    if function is not None:
        return function(*values)
    if op.name in _UNARY and is_strided_nested(values[0]):
        return _on_buffer(op, values)
    if op.name in _WITH_NUMBER:
        return _of_two(op, values)
    raise not_run(_shown(op, values))


def _whole_buffer(tensor):
    """The buffer of a contiguous tensor."""
    if not tensor._array.elements.is_contiguous():
        raise RuntimeError(hinted("NestedTensor must be contiguous to get buffer.", "contiguous() makes one"))
    return buffer_of(tensor)


def _on_buffer(op, values):
    return put_buffer(values[0]._array.elements, run(op, op.parsed, [_whole_buffer(values[0]), *values[1:]]))


def _is_number(value):
    return not hasattr(value, "_edge") or (not value.is_nested and value.ndim == 0)


def _of_two(op, values):
    """Arithmetic and comparisons with a number, arithmetic of two tensors of one structure."""
    one, other = values[:2]
    if _is_number(one) or _is_number(other):
        nested = other if _is_number(one) else one
        inside = [elements_of(nested) if value is nested else value for value in values]
        return put_buffer(Elements(nested._array.elements.shapes), run(op, op.parsed, inside))
    if not (is_strided_nested(one) and is_strided_nested(other)):
        kinds = ["nested" if is_strided_nested(each) else "non-nested" for each in (one, other)]
        message = f"Expected both self and other to be nested, but got a {kinds[0]} self and {kinds[1]} other"
        raise RuntimeError(hinted(message, "a dense tensor goes with nested ones of the jagged layout"))
    if op.name == "eq":
        message = "eq does not support nested tensor as other value."
        raise RuntimeError(hinted(message, "compare the values() of both"))
    if op.name not in _BINARY:
        raise not_run(_shown(op, values))
    shapes = one._array.elements.shapes
    if not np.array_equal(shapes, other._array.elements.shapes):
        message = f"{op.name} does not support broadcasting when given a NestedTensor"
        raise RuntimeError(hinted(message, "the elements of both have the same shapes"))
    return put_buffer(Elements(shapes), run(op, op.parsed, [elements_of(one), elements_of(other), *values[2:]]))


def strided_write(op, name, values):
    """As `strided_call`, of an operation that writes into its first argument."""
    if not _TABLE.among(values):
        return NotImplemented
    target = values[0]
    function = _TABLE.in_place.get(name)
    if function is not None:
        return function(*values)
    if not is_strided_nested(target) or (name not in _IN_PLACE and op.name not in _IN_PLACE):
        raise not_run(f"{name}.Tensor" if op.kind == table.BINARY else name)
    if state.recording and any(getattr(value, "requires_grad", False) for value in values):
        check_inplace(target, name, values)
        message = f"{name} on a strided nested tensor that requires grad is not in this version"
        raise NotImplementedError(hinted(message, f"use x = x.{name[:-1]}(...)"))
    inside = [elements_of(value) if is_strided_nested(value) else value for value in values[1:]]
    if len(inside) and is_strided_nested(values[1]) and not target.is_same_size(values[1]):
        message = f"{name} does not support broadcasting when given a NestedTensor"
        raise RuntimeError(hinted(message, "the elements of both have the same shapes"))
    _whole_buffer(target)
    run_inplace(op, op.parsed, [memory_of(target), *inside], name)
    return target


def refuse_strided_out(op, values, targets):
    """Refuse the ``out=`` form where a strided nested tensor is among arguments or results."""
    if _TABLE.among(values) or _TABLE.among(targets):
        raise not_run(op.name + ".out")


def accumulated(present, grad, recording):
    """The sum of two gradients."""
    return present + grad if recording else present.add_(grad)


LAYOUT_PLUGS[StridedArray] = Layout(
    StridedNestedTensor, strided_call, strided_write, refuse_strided_out, copied, accumulated
)
