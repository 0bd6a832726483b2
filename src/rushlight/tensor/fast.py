"""The functions of elementwise operations: a short path for plain tensors before the general one.

The short path asks only what it must: exact classes, one dtype, nothing switched on. Shapes that do not broadcast send
the call to the general path, which says what is wrong. Sums, products and comparisons call NumPy directly: its floating-
point warnings there are filtered (below), and where somebody makes them errors, the general path computes again with
warnings off.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from ..autograd.modes import PLAIN, SPECIAL, state
from ..autograd.node import (
    Node,
    VersionCounter,
    describe_producer,
    modified_in_place,
    next_sequence,
    node_class,
    produced_by,
)
from ..autograd.op_node import WRAPS_NUMBERS
from ..autograd.saved import show_raw
from ..base import dtypes
from ..kernels.routing import elements_of, kernel_of, route_elementwise
from ..ops import table
from ..ops.schema import is_number
from ..ops.table import functions
from .base import new_tensor, quiet, wrap
from .dispatch import INTERPOSERS, PLAIN_CLASSES, default_rule, general, named, record_result, schema_of, short
from .elementwise import array_function

ndarray, asarray = np.ndarray, np.asarray
NATIVE_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
PLAIN_FLOATS = frozenset((*NATIVE_FLOATS, np.dtype(np.float16)))
NUMBERS = frozenset((*PLAIN_FLOATS, *(np.dtype(kind) for kind in "bhilBHILFD")))
COMPLEXES = dtypes.COMPLEXES
MISSING = object()  # the second operand of a call that names it otherwise: pow(x, exponent=2)
BOOL = dtypes.BOOL_ARRAY
RULES = (table.PROMOTE, table.FLOAT, table.COMPARE)

warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"rushlight\.")

# What NumPy raises where the general path has to say what is wrong, or has to compute without warnings.
NUMPY_REFUSES = (ValueError, RuntimeWarning, FloatingPointError)

# Operations that hardly ever make NumPy warn: they call it directly, the others with its warnings off.
_CALM = frozenset(
    (np.add, np.subtract, np.multiply, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
)

_scalars = {}


def number_array(value, dtype):
    """A Python number as a 0-dim array, which NumPy takes faster than the number itself; cached unless it is zero."""
    if not value:
        return np.array(value, dtype)  # 0.0 and -0.0 are equal keys, and different numbers
    found = _scalars.get((value, dtype))
    if found is None:
        if len(_scalars) > 4096:
            _scalars.clear()
        found = _scalars[value, dtype] = np.array(value, dtype)
    return found


def ready_dtypes(op, among):
    """The NumPy dtypes that a short path may take: those of ``among`` that the operation does not refuse or check."""
    refused = {dtypes.NAMES[name].numpy for name in op.refuse if name != "bfloat16"}
    return among - refused - (COMPLEXES if op.check is not None else frozenset())


def _route(op, evaluate, count):
    """`route_elementwise` for an operation whose first ``count`` arguments are its operands."""
    return route_elementwise(op, evaluate, count, tuple(a.default for a in schema_of(op).arguments[count:]))


def unary(op):
    """The function of a one-operand operation."""
    slow = general(op)
    compute, rule = op.ufunc, default_rule(op)
    ready = ready_dtypes(op, PLAIN_FLOATS if compute is not None and rule == table.PROMOTE else NATIVE_FLOATS)
    if compute is None and op.element is not None:
        compute = array_function(op)
    if compute is None or rule not in RULES:
        return slow
    tracked = _tracked_unary(op)
    never_tracked = not op.differentiable
    elements, large = _route(op, partial(quiet.run, compute), 1)

    def call(input, *rest, **options):
        if input.__class__ in PLAIN_CLASSES and not rest and not options and not INTERPOSERS:
            array = input._array
            if array.dtype in ready:
                edge = input._edge
                if edge is not None and not never_tracked and state.recording:
                    if tracked is None or state.recording != PLAIN:
                        return slow(input)
                    if edge.__class__ is not tuple:
                        edge = edge.resolve(input)
                else:
                    edge = None
                found = quiet.run(compute, array) if array.size < elements else large(array)
                result = new_tensor()
                result._array = found if found.__class__ is ndarray else asarray(found)
                result._edge = None if edge is None else (tracked(input, result, edge), 0)
                return result
        return slow(input, *rest, **options)

    return named(call, op)


def elementwise(op):
    """The function of an operation with any number of operands and options: short where all operands have one dtype."""
    slow = general(op)
    schema = schema_of(op)
    rule = default_rule(op)
    if rule not in (*RULES, table.MASKED):
        return slow
    evaluate = op.numpy or array_function(op)
    ready = ready_dtypes(op, PLAIN_FLOATS if op.numpy else NATIVE_FLOATS)
    kinds = tuple(argument.is_tensor for argument in schema.arguments)
    defaults = tuple(argument.default for argument in schema.arguments)
    names = {argument.name: i for i, argument in enumerate(schema.arguments)}
    masked = rule == table.MASKED
    check = op.check
    elements, large = _route(op, partial(quiet.run, evaluate), sum(kinds))

    def call(*args, **kwargs):
        values = [*args, *defaults[len(args) :]]
        for name, value in kwargs.items():
            place = names.get(name, 0)
            if place < len(args) or not place:
                return slow(*args, **kwargs)
            values[place] = value
        first = values[masked] if len(args) > masked else None
        if INTERPOSERS or first.__class__ not in PLAIN_CLASSES or len(values) != len(kinds):
            return slow(*args, **kwargs)
        dtype = first._array.dtype
        if dtype not in ready:
            return slow(*args, **kwargs)
        arrays, tracked = [], False
        for value, is_operand in zip(values, kinds):
            kind = value.__class__
            if kind in PLAIN_CLASSES:
                array = value._array
                if array.dtype is not dtype and not (masked and not arrays and array.dtype is BOOL):
                    return slow(*args, **kwargs)
                tracked = tracked or value._edge is not None
                arrays.append(array)
            elif kind is float or kind is int:
                if is_operand:
                    array = number_array(value, dtype)
                    arrays.append(array)
                else:
                    arrays.append(value)
            elif value is None or (kind is str and not is_operand):
                arrays.append(value)
            else:
                return slow(*args, **kwargs)
        if check is not None:
            check(*values)
        try:
            found = quiet.run(evaluate, *arrays) if first._array.size < elements else large(*arrays)
        except ValueError:
            return slow(*args, **kwargs)
        result = wrap(found)
        if tracked and state.recording:
            record_result(op, schema, values, result)
        return result

    return named(call, op)


def fused(op):
    """The function of a formula that runs at once on arrays of one dtype; recorded ones go the general way."""
    slow = general(op)
    element = array_function(op)
    elements, large = _route(op, partial(quiet.run, element), sum(a.is_tensor for a in schema_of(op).arguments))

    def call(*values):
        if not state.recording and not INTERPOSERS:
            dtype = values[0]._array.dtype
            arrays = []
            for value in values:
                if value.__class__ in PLAIN_CLASSES:
                    value = value._array
                    if value.dtype is not dtype:
                        return slow(*values)
                arrays.append(value)
            if dtype in NATIVE_FLOATS:
                return wrap(quiet.run(element, *arrays) if arrays[0].size < elements else large(*arrays))
        return slow(*values)

    return named(call, op)


def binary(op, operator=False):
    """The function of a two-operand operation, or its ``operator`` form, which leaves foreign operands alone."""
    slow = operator_form(general(op)) if operator else general(op)
    compute, rule = op.ufunc, default_rule(op)
    if compute is None or rule not in RULES:
        return slow
    ready = ready_dtypes(op, PLAIN_FLOATS if rule == table.FLOAT else NUMBERS)
    operate = _operate(op, slow, compute, ready, op.differentiable and rule != table.COMPARE)
    if operator:
        return named(operate, op)

    def call(input, other=MISSING, **options):
        if options or other is MISSING:
            return slow(input, **options) if other is MISSING else slow(input, other, **options)
        return operate(input, other)

    return named(call, op)


def _operate(op, slow, compute, ready, may_track):
    """The short path of two operands: compute at once, then make a node if one of them is tracked."""
    ready_for_number = ready & NATIVE_FLOATS
    with_number = op.with_number
    pair, number = _binary_recorders(op)
    if compute not in _CALM:
        ufunc = compute

        def compute(x, y):
            return quiet.run(ufunc, x, y)

    elements, large = _route(op, compute, 2)
    cached = _scalars.get

    def operate(input, other):
        if input.__class__ not in PLAIN_CLASSES or INTERPOSERS:
            return slow(input, other)
        x = input._array
        dtype = x.dtype
        kind = other.__class__
        if kind in PLAIN_CLASSES:
            y = other._array
            if y.dtype is not dtype or dtype not in ready:
                return slow(input, other)
            try:
                found = compute(x, y) if x.size < elements else large(x, y)
            except NUMPY_REFUSES:
                return slow(input, other)
            edge, other_edge = input._edge, other._edge
            record = pair
        elif (kind is float or kind is int) and dtype in ready_for_number:
            if with_number is None or x.size >= elements:
                y = cached((other, dtype))
                if y is None:
                    y = number_array(other, dtype)
                try:
                    found = compute(x, y) if x.size < elements else large(x, y)
                except NUMPY_REFUSES:
                    return slow(input, other)
            else:
                found = quiet.run(with_number, x, other)
            edge, other_edge = input._edge, None
            record = number
        else:
            return slow(input, other)
        result = new_tensor()
        result._array = found if found.__class__ is ndarray else asarray(found)
        result._edge = None
        if (edge is not None or other_edge is not None) and may_track:
            recording = state.recording
            if recording:
                if recording != PLAIN or record is None:
                    return slow(input, other)
                record(result, input, other, edge, other_edge)
        return result

    return operate


def reduction(op):
    """The function of a reduction: short where it takes all elements of a plain float tensor."""
    slow = short(op)
    whole, spread, own_name = op.whole, op.whole_gradient, op.name
    elements, defaults = elements_of(op.name), schema_of(op).defaults[1:]
    name = op.node_name if op.node_name.__class__ is str else op.node_name(_Placeholder(), *schema_of(op).defaults[1:])

    class WholeNode(Node):
        __slots__ = ("shape",)

        def apply(self, grad):
            return (spread(grad, self.shape),)

    node_type = node_class(name, WholeNode, op=op)

    def call(input, *rest, **options):
        if rest or options or input.__class__ not in PLAIN_CLASSES or INTERPOSERS:
            return slow(input, *rest, **options)
        array = input._array
        if array.dtype not in NATIVE_FLOATS or (input._edge is not None and state.recording == SPECIAL):
            return slow(input)
        found = NotImplemented
        if array.size >= elements:
            found = kernel_of(own_name)(array, *defaults)
        result = new_tensor()
        result._array = quiet.run(whole, array) if found is NotImplemented else found
        result._edge = None
        edge = input._edge
        if edge is not None and state.recording:
            if edge.__class__ is not tuple:
                edge = edge.resolve(input)
            if edge is not None:
                node = node_type()
                node.next_edges = (edge,)
                node.sequence = next_sequence()
                node.saved = None
                node.shape = array.shape
                result._edge = (node, 0)
        return result

    return named(call, op)


def operator_form(function):
    """``function`` as an operator's method: numbers, tensors and NumPy arrays are operands, all else is not ours."""

    def call(input, other):
        if hasattr(other, "_edge") or is_number(other) or hasattr(other, "__torch_function__"):
            return function(input, other)
        if isinstance(other, np.ndarray):
            return function(input, functions.as_tensor(other))
        return NotImplemented

    call.__doc__ = function.__doc__
    return call


def reflected(function):
    """``function`` as a reflected operator: ``2 - x`` calls it with (2, x)."""

    def call(input, other):
        if hasattr(other, "_edge") or is_number(other):
            return function(other, input)
        if isinstance(other, np.ndarray):
            return function(functions.as_tensor(other), input)
        return NotImplemented

    call.__doc__ = function.__doc__
    return call


# ---------------------------------------------------------------- the nodes of the short path


def _arguments(rule):
    return rule.__code__.co_varnames[: rule.__code__.co_argcount]


def _tracked_unary(op):
    """A function that makes the node of a call, or None where the rule names more than grad, operand and result."""
    schema = schema_of(op)
    first = schema.arguments[0].name
    rule = op.derivatives.get(first)
    options = {a.name: a.default for a in schema.arguments[1:]}
    if rule is None or not set(_arguments(rule)) <= {"grad", first, "result", *options}:
        return None
    names = _arguments(rule)
    keeps_input, keeps_result = first in names, "result" in names
    apply_rule = _positional(rule, names, first, "result", options)
    with_result = keeps_result and not keeps_input and names == ("grad", "result")  # the rule takes these as they are
    node_name = op.node_name if op.node_name.__class__ is str else op.node_name(_Placeholder(), *options.values())

    class UnaryNode(Node):
        __slots__ = ()

        def apply(self, grad):
            value, kept, version, kept_version = self.saved if keeps_input or keeps_result else (None, None, 0, 0)
            if keeps_input and value._version_counter.value != version:
                raise modified_in_place(value, version, describe_producer(value), self)
            if keeps_result:
                if kept._version_counter.value != kept_version:
                    raise modified_in_place(kept, kept_version, produced_by((self, 0)), self)
                if state.grad:
                    kept = kept._alias()
                    kept._edge = (self, 0)
                if with_result:
                    return (rule(grad, kept),)
            return (grad if apply_rule is None else apply_rule(grad, value, kept),)

        if keeps_input:
            _saved_self = property(lambda self: self.saved[0])

        if keeps_result:

            @property
            def _saved_result(self):
                kept = self.saved[1]._alias()
                kept._edge = (self, 0)
                return kept

    keeps = first if keeps_input else None, "result" if keeps_result else None  # names of what is in ``saved``
    node_type = node_class(node_name, UnaryNode, op=op, keeps=keeps)
    show_raw(node_type, names)

    def tracked(input, result, edge):
        node = node_type()
        node.next_edges = (edge,)
        node.sequence = next_sequence()
        if keeps_result:
            # The node holds the result's memory without its edge; both count versions together.
            kept = new_tensor()
            kept._array = result._array
            kept._version_counter = result._version_counter = VersionCounter()
            if keeps_input:
                node.saved = (input, kept, input._version_counter.value, 0)
            else:
                node.saved = (None, kept, 0, 0)
        elif keeps_input:
            node.saved = (input, None, input._version_counter.value, 0)
        else:
            node.saved = None
        return node

    return tracked


class _Placeholder:
    """Stands for a tensor operand where a node's name is asked for."""

    _edge = None


def _binary_recorders(op):
    """Two functions that record a call: with a tensor, and with a number, as second operand.

    None stands for a case whose rules name more than grad, the operands and options that have defaults.
    """
    schema = schema_of(op)
    first, second = schema.arguments[0].name, schema.arguments[1].name
    options = {a.name: a.default for a in schema.arguments[2:]}
    known = {"grad", first, second, *options}
    rules = []
    for name in (first, second):
        rule = op.derivatives.get(name)
        usable = rule is not None and set(_arguments(rule)) <= known
        rules.append(
            (_positional(rule, _arguments(rule), first, second, options), _arguments(rule)) if usable else None
        )
    if rules[0] is None:
        return None, None
    names = [op.node_name, op.node_name]
    if op.node_name.__class__ is not str:
        names = [op.node_name(_Placeholder(), other, *options.values()) for other in (_Placeholder(), 2)]
    with_number = _number_recorder(op, names[1], first, second, rules[0])
    return None if rules[1] is None else _pair_recorder(op, names[0], first, second, *rules), with_number


def _pair_recorder(op, name, first, second, first_rule, second_rule):
    rule_first, first_names = first_rule
    rule_second, second_names = second_rule
    first_for_first, second_for_first = first in first_names, second in first_names
    first_for_second, second_for_second = first in second_names, second in second_names
    keeps_operands = first_for_first or second_for_first or first_for_second or second_for_second
    keeps = (first, second) if keeps_operands else ()
    node_type = node_class(name, _pair_node(rule_first, rule_second, keeps_operands), op=op, keeps=keeps)
    show_raw(node_type, (*first_names, *second_names))

    def record(result, input, other, edge, other_edge):
        if edge is not None and edge.__class__ is not tuple:
            edge = edge.resolve(input)
        if other_edge is not None and other_edge.__class__ is not tuple:
            other_edge = other_edge.resolve(other)
        if edge is None and other_edge is None:
            return
        node = node_type()
        node.next_edges = (edge, other_edge)
        node.sequence = next_sequence()
        node.shapes = (input._array.shape, other._array.shape)
        if keeps_operands:
            a = b = None
            if (edge is not None and first_for_first) or (other_edge is not None and first_for_second):
                a = input
            if (edge is not None and second_for_first) or (other_edge is not None and second_for_second):
                b = other
            node.saved = (a, b, input._version_counter.value, other._version_counter.value)
        else:
            node.saved = None
        result._edge = (node, 0)

    return record


def _number_recorder(op, name, first, second, rule):
    rule, names = rule
    keeps_input, keeps_number = first in names, second in names
    node_type = node_class(name, _number_node(rule, keeps_input), op=op, keeps=(first,) if keeps_input else ())
    show_raw(node_type, names)

    def record(result, input, other, edge, other_edge):
        if edge.__class__ is not tuple:
            edge = edge.resolve(input)
            if edge is None:
                return
        node = node_type()
        node.next_edges = (edge,)
        node.sequence = next_sequence()
        node.number = other if keeps_number else None
        node.saved = (input, input._version_counter.value) if keeps_input else None
        result._edge = (node, 0)

    return record


def _passes_on(grad):
    return grad


def _positional(rule, names, first, second, options):
    """``rule`` as a function of (grad, first, second), None for one that hands the gradient on.

    Options that it names take their defaults.
    """
    rest = tuple(options[name] for name in names if name in options)
    head = tuple(name for name in names if name not in options)
    if names != head + tuple(name for name in names if name in options):
        raise ValueError(f"a rule names grad, operands and options in this order, not {names}")
    if head == ("grad",):
        if rule.__code__.co_code == _passes_on.__code__.co_code and not rest:
            return None
        return lambda grad, a, b: rule(grad, *rest)
    if head == ("grad", first):
        return lambda grad, a, b: rule(grad, a, *rest)
    if head == ("grad", second):
        return lambda grad, a, b: rule(grad, b, *rest)
    if head == ("grad", first, second):
        return (lambda grad, a, b: rule(grad, a, b, *rest)) if rest else rule
    raise ValueError(f"a rule names grad, operands and options in this order, not {names}")


def _pair_node(rule_first, rule_second, keeps_operands):
    class PairNode(Node):
        __slots__ = ("shapes",)

        def apply(self, grad):
            edge, other_edge = self.next_edges
            shape, other_shape = self.shapes
            a = b = found = second = None
            if keeps_operands:
                a, b, version, other_version = self.saved
                if b is not None and b._version_counter.value != other_version:
                    raise modified_in_place(b, other_version, describe_producer(b), self)
                if a is not None and a._version_counter.value != version:
                    raise modified_in_place(a, version, describe_producer(a), self)
            if edge is not None:
                found = grad if rule_first is None else rule_first(grad, a, b)
                if found._array.shape != shape:
                    found = found.sum_to_size(shape) if shape else found.sum()
            if other_edge is not None:
                second = grad if rule_second is None else rule_second(grad, a, b)
                if second._array.shape != other_shape:
                    second = second.sum_to_size(other_shape) if other_shape else second.sum()
            return found, second

        if keeps_operands:
            _saved_self = property(lambda self: self.saved[0])
            _saved_other = property(lambda self: self.saved[1])

    return PairNode


def _number_node(rule, keeps_input):
    class NumberNode(Node):
        __slots__ = ("number",)

        @property
        def next_functions(self):
            following = super().next_functions
            return (*following, (None, 0)) if self.op.name in WRAPS_NUMBERS else following

        def apply(self, grad):
            if not keeps_input:
                return (grad if rule is None else rule(grad, None, self.number),)
            value, version = self.saved
            if value._version_counter.value != version:
                raise modified_in_place(value, version, describe_producer(value), self)
            return (rule(grad, value, self.number),)

        if keeps_input:
            _saved_self = property(lambda self: self.saved[0])
        _saved_other = _saved_exponent = property(lambda self: self.number)

    return NumberNode
