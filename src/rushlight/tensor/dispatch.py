"""The waist: every call of a table operation becomes arrays, a computation, a Tensor and, if tracked, a graph node.

For each kind of operation a factory here builds the function that users call. Small operations on plain tensors take the
first lines of such a function (exact classes, equal dtypes, nothing switched on); anything else, errors included, takes
the general path, `run`, which promotes, broadcasts, checks and explains.
"""

from __future__ import annotations

from functools import partial
from types import FunctionType

import numpy as np

from ..autograd.modes import state
from ..autograd.node import INFERENCE, UNTOUCHED, VersionCounter
from ..autograd.op_node import node_class_of, record
from ..autograd.views import MULTI_OUTPUT, View, made_now
from ..base import dtypes
from ..base.layouts import LAYOUT_PLUGS
from ..ops import table
from ..ops.outputs import WITHOUT_OUT
from ..ops.tensor_math import tensor_math
from .base import new_tensor, wrap
from .classes import INERT_CLASSES, LEVEL_CLASSES, PLAIN_CLASSES, SEQUENCES, holds_others, living
from .compute import compute, schema_of
from .interposers import INTERPOSERS, innermost
from .overrides import torch_function
from .refusals import called_function, refuse
from .writes import write_out

ndarray = np.ndarray
FLOATS, COMPLEXES = dtypes.FLOATS, dtypes.COMPLEXES


def general(op):
    """The function of any operation: binds arguments by its schema, then runs it."""
    # Most such operations of PyTorch want a tensor among their operands, and call a number in its place by another name.
    number_first = "(Operand " in op.schema

    def call(*args, **kwargs):
        schema = op.__dict__.get("parsed") or schema_of(op)
        overridden = asked(op.name, args, kwargs)
        if overridden is not NotImplemented:
            return overridden
        options = kwargs.copy() if kwargs else kwargs
        try:
            out = options.pop("out", None) if options and op.name not in WITHOUT_OUT else None
            values = schema.bind(args, options)
            if (
                number_first
                and not hasattr(values[0], "_edge")
                and ("input" in kwargs or not hasattr(values[1], "_edge"))
            ):
                refuse(op.name, args, kwargs)
            if out is not None:
                return write_out(op, schema, values, out)
            return run(op, schema, values)
        except Exception:
            refuse(op.name, args, kwargs)
            raise

    return named(call, op)


def asked(name, args, kwargs):
    """What the ``__torch_function__`` of an argument makes of a call of an operation; NotImplemented where none does."""
    for value in (*args, *kwargs.values()):
        if value.__class__ not in INERT_CLASSES or (value.__class__ in SEQUENCES and holds_others(value)):
            return torch_function(called_function(name), args, kwargs, PLAIN_CLASSES)
    return NotImplemented


def link_result(op, values, found, tracked):
    """`link_views` for one result, the array ``found``."""
    source, result = values[0], new_tensor()
    result._array = found if found is not source._array else found[...]
    edge = None
    if tracked and state.recording:
        node = record(op, op.parsed, node_class_of(op, values), values, (result,))
        edge = None if node is None else (node, 0)
    link_view(source, result, edge, made_now())
    return result


def named(call, op, name=None):
    """``call`` with the operation's name and documentation.

    Closures of one factory share their code; a copy of it for each operation shows the right name in tracebacks and
    profiles.
    """
    name = name or op.name
    made = FunctionType(
        call.__code__.replace(co_name=name), call.__globals__, name, call.__defaults__, call.__closure__
    )
    made.__kwdefaults__ = call.__kwdefaults__
    made.__doc__ = op.doc
    made.__wrapped__ = op  # it tells the signature, and where the source is
    return made


def run(op, schema, values):
    """Run an operation on bound argument values: compute, wrap, record."""
    if LEVEL_CLASSES:
        values = living(values)
    if INTERPOSERS:
        interposer = innermost()
        if interposer is not None:
            return interposer.call(op, schema, values, partial(run, op, schema), partial(_around, op, schema))
    if LAYOUT_PLUGS:
        for layout in LAYOUT_PLUGS.values():
            found = layout.call(op, values)
            if found is not NotImplemented:
                return found
    if op.in_parts and state.recording and _any_edge(schema, values):
        return op.element(tensor_math, *values)
    return finish(op, schema, values, compute(op, schema, values))


def _around(op, schema, values, calculate):
    """What `run` does around computing: a recorded formula runs in its parts, other results are recorded."""
    if op.in_parts and state.recording and _any_edge(schema, values):
        return op.element(tensor_math, *values)
    return connect(op, schema, values, calculate(values))


def finish(op, schema, values, found):
    """Wrap what an operation computed, an array or a tuple of them, and record the call."""
    results = (*map(wrap, found),) if found.__class__ is tuple else wrap(found)
    return connect(op, schema, values, results)


def connect(op, schema, values, found):
    """Tie the results of a call, a Tensor or a tuple of them, to its arguments: as views, or by a node of the graph."""
    results = found if found.__class__ is tuple else (found,)
    if op.kind == table.VIEW:
        link_views(op, schema, values, results, found.__class__ is tuple)
    elif state.recording and _any_edge(schema, values):
        record_results(op, schema, values, results)
    return found


def record_result(op, schema, values, result):
    """Make the node of a call with one result, if any of its operands needs a gradient."""
    node = record(op, schema, node_class_of(op, values), values, (result,))
    if node is not None and dtypes.is_differentiable(result._array.dtype):
        result._edge = (node, 0)


def record_results(op, schema, values, results):
    """`record_result` for a tuple of results."""
    node = record(op, schema, node_class_of(op, values), values, results)
    if node is not None:
        _attach(op, node, results)


def _any_edge(schema, values):
    for position in schema.tensor_positions:
        value = values[position]
        if value.__class__ is list:
            for item in value:
                if item is not None and item._edge is not None:
                    return True
        elif getattr(value, "_edge", None) is not None:
            return True
    return False


def _attach(op, node, results):
    """Give outputs that can carry gradients their edges."""
    results = results[: op.tracked]
    if len(results) > 1:
        node.set_outputs(len(results))
    for number, result in enumerate(results):
        if dtypes.is_differentiable(result._array.dtype):
            result._edge = (node, number)


# ---------------------------------------------------------------- views


def link_views(op, schema, values, results, multiple):
    """Tie results that look into the memory of the first argument to it: version counter, base, history."""
    source = values[0]
    if results and results[0]._array is source._array:
        results[0]._array = source._array[...]
    node = None
    if state.recording and source._edge is not None:
        node = record(op, schema, node_class_of(op, values), values, results)
        if node is not None and multiple:
            node.set_outputs(len(results))
    made = made_now()
    for number, result in enumerate(results):
        link_view(
            source,
            result,
            None if node is None else (node, number),
            MULTI_OUTPUT if multiple and made is None else made,
        )


def link_view(source, result, edge, made=None):
    """Make ``result`` a view of ``source`` whose gradient flows along ``edge``."""
    counter = source._version_counter
    if counter is UNTOUCHED:
        counter = source._version_counter = VersionCounter()
    result._version_counter = counter
    if counter is INFERENCE:
        return
    base = source._base
    result._base = source if base is None else base
    if dtypes.is_differentiable(result._array.dtype):
        parent = source._edge
        if parent.__class__ is View and parent.made is not None and made is None:
            made = parent.made
        result._edge = View(result._base, edge, counter.value, made)
