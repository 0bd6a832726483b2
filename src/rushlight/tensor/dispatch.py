"""The waist: every call of a table operation becomes arrays, a computation, a Tensor and, if tracked, a graph node.

For each kind of operation a factory here builds the function that users call. Small operations on plain tensors take the
first lines of such a function (exact classes, equal dtypes, nothing switched on); anything else, errors included, takes
the general path, `run`, which promotes, broadcasts, checks and explains.
"""

from __future__ import annotations

import warnings
from functools import partial
from operator import attrgetter
from types import FunctionType

import numpy as np

from ..autograd.hints import NOTED_WRITES
from ..autograd.modes import state
from ..autograd.names import described
from ..autograd.node import INFERENCE, UNTOUCHED, VersionCounter, edge_of
from ..autograd.op_node import node_class_of, op_node_class, plan_of, record
from ..autograd.views import MULTI_OUTPUT, View, check_inplace, made_now, rebase
from ..base import dtypes
from ..base.arrays import resized
from ..base.errors import hinted
from ..base.shapes import broadcast_shapes
from ..base.size import Size
from ..base.user_code import user_place
from ..kernels.routing import NEVER, elements_of, kernel_of
from ..ops import table
from ..ops.copy import dense_copy, refuse_overlap, refuse_partly_shared
from ..ops.outputs import DTYPE_FROM_OUT, UNSHARED, check_out_dtype
from ..ops.schema import OPTIONAL_TENSOR_CLASSES, TENSOR_CLASSES, Schema
from ..ops.table import functions
from ..ops.tensor_math import tensor_math
from .base import Tensor, new_tensor, quiet, wrap
from .elementwise import elementwise_result
from .interposers import INTERPOSERS, innermost
from .overrides import torch_function

ndarray = np.ndarray
asarray = np.asarray
array_of, size_of = attrgetter("_array"), attrgetter("size")

# Classes that behave as Tensor itself: Tensor and Parameter.
PLAIN_CLASSES = TENSOR_CLASSES
PLAIN_CLASSES.add(Tensor)
OPTIONAL_TENSOR_CLASSES.add(Tensor)
# Classes of arguments that cannot override operations: no need to ask them for __torch_function__.
_INERT_CLASSES = {Tensor, int, float, bool, complex, str, tuple, list, type(None), dtypes.DType, Size}
_LEVEL_CLASSES = set()  # empty until a transform is used
_SEQUENCES = frozenset((list, tuple))
ELEMENTWISE_KINDS = frozenset((table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED))
FLOATS, COMPLEXES = dtypes.FLOATS, dtypes.COMPLEXES


def register_plain_class(cls):
    """Let a Tensor subclass that changes no operation (Parameter) take the fast paths."""
    for classes in (PLAIN_CLASSES, OPTIONAL_TENSOR_CLASSES, _INERT_CLASSES):
        classes.add(cls)


def register_level_class(cls):
    """Let the interposers handle tensors of this class: they are those of a transform's level."""
    _INERT_CLASSES.add(cls)
    _LEVEL_CLASSES.add(cls)


def _living(values):
    """``values`` with the tensors of transforms that have ended replaced by what is inside them."""
    return [
        value.living() if value.__class__ in _LEVEL_CLASSES else _living(value) if value.__class__ is list else value
        for value in values
    ]


def _holds_others(items):
    """Whether a list holds anything but plain tensors and values."""
    return any(item.__class__ not in _INERT_CLASSES for item in items)


def schema_of(op):
    """The parsed schema of an operation, made on first use."""
    parsed = op.__dict__.get("parsed")
    if parsed is None:
        parsed = op.parsed = Schema(op.schema)
    return parsed


def default_rule(op):
    """The dtype rule of an elementwise operation when it is called with its operands alone."""
    return op.rule_for(**{a.name: a.default for a in schema_of(op).arguments if not a.is_tensor})


def general(op):
    """The function of any operation: binds arguments by its schema, then runs it."""

    def call(*args, **kwargs):
        schema = op.__dict__.get("parsed") or schema_of(op)
        for value in args:
            if value.__class__ not in _INERT_CLASSES or (value.__class__ in _SEQUENCES and _holds_others(value)):
                overridden = torch_function(getattr(functions, op.name), args, kwargs, PLAIN_CLASSES)
                if overridden is not NotImplemented:
                    return overridden
                break
        out = kwargs.pop("out", None) if kwargs else None
        values = schema.bind(args, kwargs)
        if out is not None:
            return write_out(op, schema, values, out)
        return run(op, schema, values)

    return named(call, op)


def short(op):
    """The function of an operation on plain tensors and plain values: its short path, then the general one.

    Positional arguments whose classes are exactly those of the schema go to forward at once.
    """
    slow = general(op)
    own_name, forward = op.name, op.forward
    elements, is_view = elements_of(op.name), op.kind == table.VIEW
    known = {}  # classes of the arguments of a call -> its signature, empty where `short` cannot run it

    def call(*args, **kwargs):
        if kwargs or INTERPOSERS:
            return slow(*args, **kwargs)
        classes = (*map(type, args),)
        signature = known.get(classes)
        if signature is None:
            signature = known[classes] = _signature(schema_of(op), op, classes) or ()
        if not signature:
            return slow(*args)
        schema, rest, tensors, int_lists, gathers, node_type = signature
        if gathers:
            args = args[0], args[1:]
        for position in int_lists:
            for item in args[position]:
                if item.__class__ is not int:
                    return slow(*args)
        values = args + rest
        arrays = [*values]
        tracked = large = False
        for position in tensors:
            value = values[position]
            array = arrays[position] = value._array
            if value._edge is not None:
                tracked = True
            if array.size >= elements:
                large = True
        found = kernel_of(own_name)(*arrays) if large else NotImplemented
        if found is NotImplemented:
            found = quiet.run(forward, *arrays)
        if found.__class__ is ndarray:
            result = new_tensor()
            result._array, result._edge = found, None
            if is_view:
                return _link_short(op, schema, values, result, tracked)
            if tracked and state.recording:
                node = record(op, schema, node_type or node_class_of(op, values), values, (result,))
                if node is not None and (found.dtype in FLOATS or found.dtype in COMPLEXES):
                    result._edge = (node, 0)
            return result
        if found.__class__ is tuple and not is_view:
            results = (*map(wrap, found),)
            if tracked and state.recording:
                node = record(op, schema, node_type or node_class_of(op, values), values, results)
                if node is not None:
                    _attach(node, results)
            return results
        return finish(op, schema, values, found)

    return named(call, op)


def _signature(schema, op, classes):
    """How `short` runs a call with positional arguments of these classes; None where it cannot.

    Returns the schema, the values of the arguments left out, the positions of tensors and of lists of ints, whether the
    ints after the first argument are to be gathered into one such list, and the class of the nodes, unless arguments
    decide on it.
    """
    gathers = len(classes) > 1 and schema.varargs == 1 and classes[1] is int
    if gathers:
        if any(cls is not int for cls in classes[1:]):
            return None
        classes = classes[0], tuple
    count, arguments = len(classes), schema.arguments
    if op.refuse or any(a.is_list for a in arguments) or not schema.required <= count <= schema.positional:
        return None
    accepted = [argument.quick_classes() for argument in arguments[: schema.positional]]
    if None in accepted or any(cls not in some for cls, some in zip(classes, accepted)):
        return None
    given = [(i, a) for i, (cls, a) in enumerate(zip(classes, arguments)) if cls is not type(None)]
    tensors = tuple(i for i, a in given if a.is_tensor)
    int_lists = tuple(i for i, a in given if a.type.startswith("int["))
    rest = schema.defaults[count:]
    node_type = None
    if op.node_by_presence:
        node_type = node_class_of(op, (*(None if cls is type(None) else cls for cls in classes), *rest))
    return schema, rest, tensors, int_lists, gathers, node_type


def _link_short(op, schema, values, result, tracked):
    """`link_views` for one result."""
    source = values[0]
    if result._array is source._array:
        result._array = source._array[...]
    edge = None
    if tracked and state.recording:
        node = record(op, schema, node_class_of(op, values), values, (result,))
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
    made.op = op
    return made


def run(op, schema, values):
    """Run an operation on bound argument values: compute, wrap, record."""
    if _LEVEL_CLASSES:
        values = _living(values)
    if INTERPOSERS:
        interposer = innermost()
        if interposer is not None:
            return interposer.call(op, schema, values, partial(run, op, schema), partial(_around, op, schema))
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
        node = record(op, schema, node_class_of(op, values), values, results)
        if node is not None:
            _attach(node, results)
    return found


def record_result(op, schema, values, result):
    """Make the node of a call with one result, if any of its operands needs a gradient."""
    node = record(op, schema, node_class_of(op, values), values, (result,))
    if node is not None and dtypes.is_differentiable(result._array.dtype):
        result._edge = (node, 0)


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


def _attach(node, results):
    """Give outputs that can carry gradients their edges."""
    results = results[: node.plan.op.tracked]
    if len(results) > 1:
        node.set_outputs(len(results))
    for number, result in enumerate(results):
        kind = result._array.dtype
        if kind in FLOATS or kind in COMPLEXES:
            result._edge = (node, number)


def compute(op, schema, values):
    """The array, or tuple of arrays, that an operation gives for bound values; with float warnings off."""
    if op.kind in ELEMENTWISE_KINDS:
        return quiet.run(elementwise_result, op, schema, values)
    arrays, large = values.copy(), False
    elements = elements_of(op.name)
    for position in schema.tensor_positions:
        value = arrays[position]
        if value.__class__ in PLAIN_CLASSES or hasattr(value, "_edge"):
            array = arrays[position] = value._array
            if array.size >= elements:
                large = True
        elif value.__class__ is list:
            listed = arrays[position] = [None if t is None else t._array for t in value]
            if elements is not NEVER and any(array is not None and array.size >= elements for array in listed):
                large = True
    for position in schema.untyped_positions:
        if hasattr(arrays[position], "_edge"):
            arrays[position] = arrays[position]._array
    if op.refuse:
        refuse_dtypes(op, arrays)
    found = kernel_of(op.name)(*arrays) if large else NotImplemented
    return quiet.run(op.forward, *arrays) if found is NotImplemented else found


def refuse_dtypes(op, arrays):
    """PyTorch's error for a dtype that its kernel does not have."""
    for array in arrays:
        if array.__class__ is ndarray:
            dtype = dtypes.from_numpy(array.dtype)
            if dtype.name in op.refuse:
                raise NotImplementedError(f"\"{op.kernel}\" not implemented for '{dtype.legacy_name}'")
            return


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


# ---------------------------------------------------------------- in place and out=


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


# bump, _around_write, run_inplace, and the function that was called.
_FRAMES_OF_A_WRITE = 4


def run_inplace(op, schema, values, name):
    """Run an operation and write its result into its first argument, with PyTorch's refusals."""
    if _LEVEL_CLASSES:
        values = _living(values)
    if INTERPOSERS:
        interposer = innermost()
        if interposer is not None:
            again = partial(run_inplace, op, schema, name=name)
            return interposer.call(op, schema, values, again, partial(_around_write, op, schema, name), writes=True)
    return _around_write(op, schema, name, values, partial(_write, op, schema, name))


def _around_write(op, schema, name, values, write):
    """Refuse what autograd cannot follow, ``write(values)``, and note it."""
    self = values[0]
    if not (state.recording and _any_requires_grad(schema, values)):
        write(values)
        bump(self, name, _FRAMES_OF_A_WRITE)
        return self
    check_inplace(self, name, values)
    original, needs = None, _needs(schema, values)
    if needs and op.differentiable and plan_of(op, schema, needs).keeps_first:
        original = wrap(dense_copy(self._array)) if self.__class__ in PLAIN_CLASSES else self.clone()
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
    target = values[0]._array
    if op.kind in ELEMENTWISE_KINDS:
        refuse_overlap(target)
        _refuse_shared_operands(target, schema, values)
        found = quiet.run(elementwise_result, op, schema, values, target)
    else:
        found = compute(op, schema, values)
    if found is not target:
        write_array(target, found, name)


def _any_requires_grad(schema, values):
    """Whether any tensor among the values requires grad; does not look whether its history can be followed."""
    for position in schema.tensor_positions:
        value = values[position]
        for each in value if value.__class__ is list else (value,):
            edge = getattr(each, "_edge", None)
            if edge is not None and (edge.__class__ is not View or edge.requires_grad):
                return True
    return False


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
            raise RuntimeError(
                hinted(
                    f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(found.shape)}",
                    f"{name}() cannot make its tensor larger; use the out-of-place form",
                )
            )
        found = found.reshape(target.shape)
    if found.dtype is not target.dtype:
        source, goal = dtypes.from_numpy(found.dtype), dtypes.from_numpy(target.dtype)
        if not dtypes.can_cast(source, goal):
            raise RuntimeError(
                hinted(
                    f"result type {source.legacy_name} can't be cast to the desired output type {goal.legacy_name}",
                    f"{name}() writes into a tensor of {goal!r}; convert it first, or use the out-of-place form",
                )
            )
    quiet.run(copy_unsafe, target, found)


def copy_unsafe(target, source):
    """Copy between arrays, converting as C does: floats are cut to integers, complex numbers lose their imaginary part."""
    np.copyto(target, source, casting="unsafe")


def write_out(op, schema, values, out):
    """The ``out=`` form: results go into given tensors, resized where they do not fit."""
    refuse_tracked_out(op.name, out, values)
    targets = (out,) if hasattr(out, "_edge") else tuple(out)
    if schema.name in DTYPE_FROM_OUT and values[-1] is None:
        values[-1] = out.dtype
    found = compute(op, schema, values)
    casting = op.kind in ELEMENTWISE_KINDS
    for target, array in zip(targets, found if found.__class__ is tuple else (found,)):
        if casting or schema.name in UNSHARED:
            _refuse_shared_operands(target._array, schema, values)
        write_result(target, array, schema.name, casting)
    return out


def _refuse_shared_operands(target, schema, values):
    """Refuse to write into an array that shares a part of an operand's memory."""
    for position in schema.tensor_positions:
        value = values[position]
        for each in value if value.__class__ is list else (value,):
            if hasattr(each, "_edge") and target.size:
                refuse_partly_shared(target, each._array)


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
        for each in value if value.__class__ in _SEQUENCES else (value,):
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
            stacklevel=5,
        )
    target._array = resized(target._array, shape)


def write_result(target, array, name, casting):
    """Write one result into an ``out=`` tensor; ``casting``: of any dtype that it can be cast to."""
    source, goal = dtypes.from_numpy(array.dtype), target.dtype
    if source is not goal:
        check_out_dtype(name, source, goal, casting)
    if target._array.shape != array.shape:
        _resize(target, array.shape)
    refuse_overlap(target._array)
    quiet.run(copy_unsafe, target._array, array)
    bump(target, name)
