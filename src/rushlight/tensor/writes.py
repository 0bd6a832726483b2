"""Writes into tensors: the in-place and ``out=`` forms of operations, with PyTorch's refusals."""

from __future__ import annotations

import warnings
from functools import partial

from ..autograd.hints import NOTED_WRITES
from ..autograd.modes import state
from ..autograd.names import described
from ..autograd.node import INFERENCE, UNTOUCHED, VersionCounter, edge_of
from ..autograd.op_node import node_class_of, op_node_class, plan_of, record
from ..autograd.views import View, check_inplace, rebase
from ..base import dtypes
from ..base.arrays import resized
from ..base.dtypes import STORED
from ..base.errors import hinted, kind_name
from ..base.layouts import LAYOUT_PLUGS
from ..base.lazy import LAZY, as_meta, bits_of, is_meta, meta_array, no_numbers, plain, rebuilt, stored_in
from ..base.shapes import broadcast_shapes
from ..base.user_code import to_user, user_place
from ..ops import table
from ..ops.copy import dense_copy, refuse_overlap, refuse_partly_shared, refuse_shared
from ..ops.moving import write
from ..ops.outputs import APART, DTYPE_FROM_OUT, READ_FIRST, UNSHARED, check_out_dtype
from ..ops.table import functions
from .base import quiet, wrap
from .classes import LEVEL_CLASSES, PLAIN_CLASSES, SEQUENCES, living
from .compute import ELEMENTWISE_KINDS, compute
from .elementwise import elementwise_result, too_small
from .interposers import INTERPOSERS, innermost
from .lazy_calls import holds_meta, is_lazy, meta_calls, resolved, written
from .stored_calls import is_stored


def bump(tensor, name, inside=2):
    """Note that the memory of ``tensor`` was written by operation ``name``, and where; ``inside`` as for `user_place`."""
    counter = tensor._version_counter
    if counter is UNTOUCHED:
        counter = tensor._version_counter = VersionCounter()
    elif counter is INFERENCE:
        functions.refuse_write(name)
        return
    counter.value = times = counter.value + 1
    counter.writer = (name, user_place(inside)) if times <= NOTED_WRITES else name


# bump, around_write, run_inplace, and the function that was called.
_FRAMES_OF_A_WRITE = 4


def run_inplace(op, schema, values, name):
    """Run an operation and write its result into its first argument, with PyTorch's refusals."""
    if LEVEL_CLASSES:
        values = living(values)
    if INTERPOSERS:
        interposer = innermost()
        if interposer is not None:
            again = partial(run_inplace, op, schema, name=name)
            return interposer.call(op, schema, values, again, partial(around_write, op, schema, name), writes=True)
    if LAYOUT_PLUGS:
        for layout in LAYOUT_PLUGS.values():
            found = layout.write(op, name, values)
            if found is not NotImplemented:
                return found
    return around_write(op, schema, name, values, partial(_write, op, schema, name))


def around_write(op, schema, name, values, write):
    """Refuse what autograd cannot follow, ``write(values)``, and note it."""
    self = values[0]
    follows = state.recording and _any_requires_grad(schema, values)
    if not follows or (op.into_differentiable and not dtypes.is_differentiable(self._array.dtype)):
        write(values)
        bump(self, name, _FRAMES_OF_A_WRITE)
        return self
    if op.dtype_rule != table.LOGICAL:  # PyTorch writes these on leaves too
        check_inplace(self, name, values)
    original, needs = None, _needs(schema, values)
    if needs and op.differentiable and plan_of(op, schema, needs, values).keeps_first:
        original = wrap(dense_copy(plain(self._array))) if self.__class__ in PLAIN_CLASSES else self.clone()
        original._edge = edge_of(self)
    write(values)
    node_type = node_class_of(op, values) if op.inplace_node is None else op_node_class(op.inplace_node)
    # Operands are saved with the version they had before: one that shares the written memory is then refused.
    node = record(op, schema, node_type, values, (self,), original, written=1)
    bump(self, name, _FRAMES_OF_A_WRITE)
    if node is not None:
        rebase(self, (node, 0))
    return self


def _write(op, schema, name, values):
    """Compute an operation into the memory of its first argument."""
    if op.kind == table.INPLACE:
        compute(op, schema, values)
        return
    if LAZY and any(map(is_lazy, values)):
        if any(map(holds_meta, values)):
            _write_nothing(op, schema, name, values)
            return
        if is_lazy(values[0]):
            written(values, partial(_write, op, schema, name))
            return
        values = list(map(resolved, values))
    target = values[0]._array
    if op.kind in ELEMENTWISE_KINDS and not (STORED and any(map(is_stored, values))):
        refuse_overlap(target)
        _refuse_shared_operands(target, schema, values)
        found = quiet().run(elementwise_result, op, schema, values, target)
    else:
        found = compute(op, schema, values)
    if found is not target:
        write_array(target, found, name)


def _write_nothing(op, schema, name, values):
    """`_write` where a tensor of the meta device is among the values: what it would check, and nothing more."""
    target = values[0]._array
    if not is_meta(target):
        meta_calls().common_device([value for value in values if hasattr(value, "_edge")])
        raise no_numbers()
    values = [wrap(as_meta(value._array)) if hasattr(value, "_edge") else value for value in values]
    write_array(target, meta_calls().on_meta(op, schema, values), name)


def _any_requires_grad(schema, values):
    """Whether any tensor among the values requires grad; does not look whether its history can be followed."""
    for position in schema.tensor_positions:
        value = values[position]
        for each in value if value.__class__ is list else (value,):
            if is_tracked(getattr(each, "_edge", None)):
                return True
    return False


def is_tracked(edge):
    """Whether a tensor with this edge requires grad; does not look whether its history can be followed."""
    return edge is not None and (edge.__class__ is not View or edge.requires_grad)


def _needs(schema, values):
    """Which tensor arguments need a gradient, as bits; looks up the history of each, so that a bad one raises."""
    needs, bit = 0, 1
    for position in schema.tensor_positions:
        value = values[position]
        for each in value if value.__class__ is list else (value,):
            if hasattr(each, "_edge") and edge_of(each) is not None:
                needs |= bit
        bit += bit
    return needs


def write_array(target, found, name):
    """Copy a result into an existing array; its shape must match and its category must not be higher."""
    refuse_overlap(target)
    if found.shape != target.shape:
        if broadcast_shapes(found.shape, target.shape) != target.shape or found.size != target.size:
            raise too_small(
                target.shape, found.shape, f"{name}() cannot make its tensor larger; use the out-of-place form"
            )
        found = found.reshape(target.shape) if not is_meta(found) else target
    if found.dtype is not target.dtype:
        source, goal = dtypes.from_numpy(found.dtype), dtypes.from_numpy(target.dtype)
        if not dtypes.can_cast(source, goal):
            raise RuntimeError(
                hinted(
                    f"result type {source.legacy_name} can't be cast to the desired output type {goal.legacy_name}",
                    f"{name}() writes into a tensor of {goal!r}; convert it first, or use the out-of-place form",
                )
            )
    quiet().run(write, target, found)


def write_out(op, schema, values, out):
    """The ``out=`` form: results go into given tensors, resized where they do not fit."""
    targets = (out,) if hasattr(out, "_edge") else tuple(out)
    if not targets or not all(hasattr(target, "_edge") for target in targets):
        raise TypeError(f"{op.name}(): argument 'out' must be Tensor, not {kind_name(out)}")
    refuse_tracked_out(op.name, out, values)
    if schema.name in READ_FIRST:
        place = schema.index[READ_FIRST[schema.name]]
        values[place] = values[place].clone() if values[place] is out else values[place]
    if schema.name in DTYPE_FROM_OUT and values[-1] is None:
        values[-1] = out.dtype
    if LAZY and any(map(is_lazy, [*values, *targets])):
        if any(map(holds_meta, [*values, *targets])):
            return _write_no_results(op, schema, values, out, targets)
        values = list(map(resolved, values))
    for layout in LAYOUT_PLUGS.values():
        if layout.write_out(op, values, targets):
            return out
    casting = op.kind in ELEMENTWISE_KINDS
    if casting and not (STORED and any(map(is_stored, [*values, out]))):
        refuse_overlap(out._array)
        _refuse_shared_operands(out._array, schema, values)
        found = quiet().run(elementwise_result, op, schema, values, None if is_lazy(out) else out._array)
        if found is out._array:
            bump(out, schema.name)
            return out
    else:
        found = compute(op, schema, values)
    operand = getattr(values[0], "dtype", None)
    refuse_operands(schema.name, targets, dict(zip(schema.index, values)))
    for target, array in zip(targets, found if found.__class__ is tuple else (found,)):
        if schema.name in UNSHARED:
            _refuse_shared_operands(target._array, schema, values)
        write_result(target, array, schema.name, casting, operand)
    return out


def _write_no_results(op, schema, values, out, targets):
    """`write_out` where a tensor of the meta device is among the values or targets."""
    found = compute(op, schema, values)
    for target, array in zip(targets, found if found.__class__ is tuple else (found,)):
        if is_meta(target._array) is not is_meta(array):
            meta_calls().common_device([target, wrap(array)])
        write_result(target, array, schema.name, op.kind in ELEMENTWISE_KINDS)
    return out


def _refuse_shared_operands(target, schema, values):
    """Refuse to write into an array that shares a part of an operand's memory."""
    for position in schema.tensor_positions:
        value = values[position]
        for each in value if value.__class__ is list else (value,):
            if hasattr(each, "_edge") and target.size:
                refuse_partly_shared(target, each._array)


def refuse_operands(name, targets, values):
    """Refuse ``out=`` tensors that share memory with an operand of those that stand `APART` in an operation; values by names."""
    for operand in APART.get(name, ()):
        for each in _tensors_among((values.get(operand),)):
            for target in targets:
                if target._array.size:
                    refuse_shared(target._array, each._array)


def refuse_tracked_out(name, out, values):
    """PyTorch's error where ``out=`` meets a tensor that requires grad."""
    if INTERPOSERS:
        interposer = innermost()
        if interposer is not None:
            interposer.refuse_out(name, out, values)
    tracked = next((t for t in _tensors_among([*values, out]) if t.requires_grad), None) if state.grad else None
    if tracked is not None:
        raise RuntimeError(
            hinted(
                f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad.",
                f"{described(tracked)} requires grad: leave out= away, or compute under torch.no_grad()",
            )
        )


def _tensors_among(values):
    for value in values:
        for each in value if value.__class__ in SEQUENCES else (value,):
            if hasattr(each, "_edge"):
                yield each


def _resize(target, shape):
    """Give an ``out=`` tensor another shape; only an empty one may change silently."""
    if target._array.size:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target._array.shape)}, which does not "
            f"match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
            "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
            "inplace, to zero elements with t.resize_(0).",
            stacklevel=to_user(),
        )
    array = target._array
    if is_meta(array):
        target._array = meta_array(shape, array.dtype.numpy)
        return
    target._array = rebuilt(resized(stored_in(array), shape, is_resizable(target)), *bits_of(array))


def is_resizable(tensor):
    """Whether a tensor's memory may be exchanged for more: not where NumPy or a buffer's owner looks at it too."""
    return tensor._resizable and (tensor._base is None or tensor._base._resizable)


def write_result(target, array, name, casting, operand=None):
    """Write one result into an ``out=`` tensor; ``casting`` and ``operand`` as `check_out_dtype` takes them."""
    source, goal = dtypes.from_numpy(array.dtype), target.dtype
    if source is not goal:
        check_out_dtype(name, source, goal, casting, operand)
    if target._array.shape != array.shape:
        _resize(target, array.shape)
    refuse_overlap(target._array)
    quiet().run(write, target._array, array)
    bump(target, name)
