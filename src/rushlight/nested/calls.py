"""The plug of jagged tensors at the waist: the function of an operation, element by element on the values, or PyTorch's error."""

from __future__ import annotations

import re

from ..autograd.modes import state
from ..autograd.views import check_inplace
from ..base.errors import hinted
from ..base.layouts import LAYOUT_PLUGS, Layout
from ..ops import table
from ..tensor.base import wrap
from ..tensor.dispatch import run
from ..tensor.layout_calls import LayoutCalls
from ..tensor.writes import run_inplace
from .jagged import DENSE, JaggedArray, NestedTensor, copied, is_jagged, jagged, memory_of, packed
from .padding import NestedOp, packed_from

_TABLE = LayoutCalls(NestedTensor)
takes, writes, graft = _TABLE.takes, _TABLE.writes, _TABLE.graft

_POINTWISE = frozenset((table.UNARY, table.BINARY, table.ELEMENTWISE))
# Operations that work so, too, whatever they are by kind.
_ON_VALUES = frozenset(("to_copy", "fill", "masked_fill"))

# What PyTorch does not take for such, under its names there.
_REFUSED = {
    "_standard_gamma_grad": "_standard_gamma_grad.default", "floor_divide": "floor_divide.default",
    "logsigmoid": "log_sigmoid_forward.default", "hardswish": "hardswish.default",
}  # fmt: skip

# PyTorch's overloads, where they are not those of the kind.
_DEFAULT_OVERLOAD = frozenset(
    ("maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor", "atan2", "logaddexp", "logaddexp2",
     "hypot", "nextafter", "gcd", "lcm", "heaviside", "igamma", "igammac")
)  # fmt: skip
_OVERLOADS = {
    "pow": "pow.Tensor_Tensor", "index": "index.Tensor", "std_corrected": "std.correction", "var_corrected": "var.correction",
    "vector_norm_parts": "linalg_vector_norm.default", "unfold_dim": "unfold.default", "sort_pair": "sort.default", "topk_pair": "topk.default", "masked_fill": "masked_fill.Scalar",
    "bernoulli_each": "bernoulli.default", "median_all": "median.default", "median_dim": "median.dim", "cummax_pair": "cummax.default",
    "cummin_pair": "cummin.default", "lerp": "lerp.Tensor", "std_mean_corrected": "std_mean.correction", "var_mean_corrected": "var_mean.correction",
}  # fmt: skip
# What names of the table end in where the operation is a part of PyTorch's.
_PART = re.compile("_(pair|parts|rows|arrays)$")


def overload(op, values):
    """PyTorch's name of an operation with its overload, as in ``add.Tensor``."""
    found = _OVERLOADS.get(op.name) or _REFUSED.get(op.name)
    if found is not None:
        return found
    if op.kind == table.BINARY and op.name not in _DEFAULT_OVERLOAD:
        return op.name + (".Tensor" if all(hasattr(value, "_edge") for value in values[:2]) else ".Scalar")
    return _PART.sub("", op.name) + ".default"


def not_run(name):
    """PyTorch's error for an operation that jagged tensors do not have."""
    return NotImplementedError(hinted(f"aten.{name}", DENSE))


def jagged_call(op, values):
    """What an operation gives for arguments with a jagged tensor among them; NotImplemented where there is none."""
    if op.__class__ is NestedOp or not _TABLE.among(values):
        return NotImplemented
    function = _TABLE.calls.get(op.name)
    if function is not None:
        return function(*values)
    if (op.name not in _REFUSED and op.kind in _POINTWISE) or op.name in _ON_VALUES:
        return pointwise(op, values)
    raise not_run(overload(op, values))


def pointwise(op, values):
    """An operation that works element by element."""
    places = [place for place, value in enumerate(values) if hasattr(value, "_edge")]
    if len(places) > 2:
        raise not_run(overload(op, values))
    structure, operands = _aligned(overload(op, values), [values[place] for place in places])
    inside = list(values)
    for place, operand in zip(places, operands):
        inside[place] = operand
    return jagged(structure, run(op, op.parsed, inside))


def _aligned(name, tensors):
    """One structure, and the packed values of one or two tensors in it."""
    if len(tensors) == 1:
        return tensors[0]._array.structure, [packed(tensors[0])]
    one, other = tensors
    if is_jagged(one) and is_jagged(other):
        if not raggedness_matches(one, other.shape):
            raise _mismatch(name, tuple(one.shape), tuple(other.shape))
        return one._array.structure, [packed(one), packed(other)]
    nested, dense = (one, other) if is_jagged(one) else (other, one)
    spread = _spread(name, nested, dense, tensors)
    operands = [packed(nested), spread] if nested is one else [spread, packed(nested)]
    return nested._array.structure, operands


def raggedness_matches(tensor, size):
    """Whether a shape has the batch, the ragged length and what is between of a jagged tensor; -1 stands for any."""
    end = tensor._array.structure.ragged + 1
    own, given = tuple(tensor.shape)[:end], tuple(size)[:end]
    return len(own) == len(given) and all(mine == theirs or theirs == -1 for mine, theirs in zip(own, given))


def _mismatch(name, one, other):
    message = f"cannot call binary pointwise function {name} with inputs of shapes {one} and {other}"
    return RuntimeError(
        hinted(message, "two nested tensors go together where they were made with the same offsets tensor")
    )


def _spread(name, nested, dense, tensors):
    """A dense tensor so that it broadcasts with the packed values of a jagged one."""
    if dense.ndim > nested.ndim:
        message = "NYI: broadcasting NT with T with larger dim"
        raise NotImplementedError(hinted(message, f"the dense tensor may have {nested.ndim} dimensions"))
    kept = dense
    while kept.ndim and kept.shape[0] == 1:
        kept = kept.squeeze(0)
    if nested.ndim >= kept.ndim + 2:
        return kept
    if dense.ndim != nested.ndim or dense.shape[0] != nested.shape[0]:
        raise _mismatch(name, *[each.shape for each in tensors])
    structure = nested._array.structure
    total = nested._array.values.shape[structure.ragged - 1]
    length = structure.extremes.get("max", total)
    lengths = [length if dim == structure.ragged else each for dim, each in enumerate(dense.shape)]
    return packed_from(dense.expand(lengths), structure, total)


def jagged_write(op, name, values):
    """As `jagged_call`, of an operation that writes into its first argument."""
    if not _TABLE.among(values):
        return NotImplemented
    target = values[0]
    if not is_jagged(target):
        raise not_run(name + ".Tensor")
    function = _TABLE.in_place.get(name)
    if function is not None:
        return function(*values)
    tracked = state.recording and any(getattr(value, "requires_grad", False) for value in values)
    if tracked:
        check_inplace(target, name, values)
        _follow(op, name, values)
        return target
    tensors = [value for value in values if hasattr(value, "_edge")]
    if len(tensors) > 2:
        raise not_run(name + ".default")
    operands = _aligned(overload(op, values).replace(".", "_.", 1), tensors)[1] if len(tensors) == 2 else [None]
    inside = [operands[1] if hasattr(value, "_edge") else value for value in values[1:]]
    run_inplace(op, op.parsed, [memory_of(target), *inside], name)
    return target


def _follow(op, name, values):
    """A write that autograd follows: the operation on a copy, whose history and elements the tensor takes over."""
    target = values[0]
    if op.kind == table.INPLACE or target._base is not None:
        what = "a view of a nested tensor" if target._base is not None else "a nested tensor"
        message = f"{name} on {what} that requires grad is not in this version"
        raise NotImplementedError(hinted(message, "write under torch.no_grad(), or into a clone()"))
    found = jagged_call(op, [target.clone(), *values[1:]])
    memory_of(target).copy_(wrap(found._array.values))
    target._edge = found._edge


def refuse_jagged_out(op, values, targets):
    """Refuse the ``out=`` form where a jagged tensor is among arguments or results."""
    if _TABLE.among(values) or _TABLE.among(targets):
        raise not_run(op.name + ".out")


def accumulated(present, grad, recording):
    """The sum of two gradients."""
    return present + grad if recording else present.add_(grad)


LAYOUT_PLUGS[JaggedArray] = Layout(NestedTensor, jagged_call, jagged_write, refuse_jagged_out, copied, accumulated)
