"""The functions of elementwise operations: a short path for plain tensors before the general one.

The short path asks only what it must: exact classes, one dtype, nothing switched on. Shapes that do not broadcast send
the call to the general path, which says what is wrong. Sums, products and comparisons call NumPy directly: its floating-
point warnings there are filtered (below), and where somebody makes them errors, the general path computes again with
warnings off.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np

from ..autograd.modes import PLAIN, SPECIAL, state
from ..autograd.node import Node, next_sequence, node_class
from ..base import dtypes
from ..base.arrays import converted, in_result_order
from ..base.lazy import LazyDtype
from ..base.limits import refusal_of
from ..base.scalars import NUMBER_ARRAYS, SAFE, number_array
from ..kernels.routing import elements_of, kernel_of
from ..ops import table
from ..ops.schema import is_number
from ..ops.table import functions
from . import fast_halves
from .base import Tensor, new_tensor, quiet, quietly, wrap
from .classes import MISSING, PLAIN_CLASSES, as_given
from .compute import default_rule, schema_of
from .dispatch import general, named
from .elementwise import array_function, broadcast_size, laid_out, no_number
from .fast_nodes import binary_recorders, node_name, tracked_unary
from .interposers import INTERPOSERS
from .overrides import torch_function
from .refusals import refuse
from .short_elementwise import NATIVE_FLOATS, RULES, elementwise, ready_dtypes, route
from .short_paths import short

ndarray, asarray = np.ndarray, np.asarray
INTEGERS = frozenset(np.dtype(kind) for kind in "bhilBHIL")
BOOL, COMPLEXES = dtypes.BOOL_ARRAY, dtypes.COMPLEXES
BITS = INTEGERS | {BOOL}
NOTHING = ()
# The dtypes in which operations of two operands are computed as they are, by dtype rule.
READY = {
    table.PROMOTE: NATIVE_FLOATS | INTEGERS | COMPLEXES,
    table.FLOAT: NATIVE_FLOATS,
    table.COMPARE: NATIVE_FLOATS | BITS | COMPLEXES,
    table.INTEGRAL: BITS,
    table.LOGICAL: NATIVE_FLOATS | BITS,
}

warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"rushlight\.")

# What NumPy raises where the general path has to say what is wrong, or has to compute without warnings.
NUMPY_REFUSES = (ValueError, OverflowError, MemoryError, RuntimeWarning, FloatingPointError)

# Operations that hardly ever make NumPy warn: they call it directly, the others with its warnings off.
CALM = frozenset(
    (np.add, np.subtract, np.multiply, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
     np.bitwise_and, np.bitwise_or, np.bitwise_xor)
)  # fmt: skip

# The classes of Python numbers that tensors of a dtype take whatever their value.
WITH_NUMBERS = {np.dtype(np.float32): (int, float), np.dtype(np.float64): (int, float), np.dtype(np.int64): (int,)}


def by_name(op, function, given, names, options):
    """``function`` on what is given and the options, arguments of these ``names``; errors call those by their names alone."""
    try:
        return function(*given, *[options[name] for name in names])
    except Exception:
        refuse(op.name, given, options)
        raise


def _otherwise(op, slow):
    """What a function of one operand does with calls that are not short: ``input`` may have been named."""

    def otherwise(call, input, rest, options):
        if input is not MISSING:
            return slow(input, *rest, **options)
        if "input" in options and len(options) == 1 and not rest:
            return by_name(op, call, (), ("input",), options)
        return slow(*rest, **options)

    return otherwise


def unary(op):
    """The function of a one-operand operation."""
    slow = general(op)
    compute, rule = op.ufunc, default_rule(op)
    ready = ready_dtypes(op, BITS if rule == table.INTEGRAL else NATIVE_FLOATS)
    if compute is None and op.element is not None:
        compute = array_function(op)
    if compute is None or rule not in RULES:
        return slow
    tracked, otherwise = tracked_unary(op), _otherwise(op, slow)
    never_tracked, patterned = not op.differentiable, op.patterns is not None
    elements, large = route(op, laid_out(quietly(compute)), 1)
    is_ufunc = isinstance(compute, np.ufunc)  # it keeps the order of the dimensions of arrays that are whole
    halves = fast_halves.unary(op, slow, tracked)

    def call(input=MISSING, /, *rest, **options):
        if input.__class__ in PLAIN_CLASSES and not rest and not options and not INTERPOSERS:
            array = input._array
            if array.dtype not in ready:
                return halves(input)
            edge = input._edge
            if edge is not None and not never_tracked and state.recording:
                if tracked is None or state.recording != PLAIN:
                    return slow(input)
                if edge.__class__ is not tuple:
                    edge = edge.resolve(input)
            else:
                edge = None
            if patterned and array.ndim > 1 and not array.flags.c_contiguous:
                return slow(input)
            try:
                found = quiet().run(compute, array) if array.size < elements else large(array)
                if (array.base is not None or not is_ufunc) and array.ndim > 1 and not array.flags.c_contiguous:
                    found = in_result_order(found, (array,))
            except MemoryError as error:
                raise refusal_of(error) from None
            result = new_tensor()
            result._array = found if found.__class__ is ndarray else asarray(found)
            result._edge = None if edge is None else (tracked(input, result, edge), 0)
            return result
        return otherwise(call, input, rest, options)

    return named(call, op)


def fused(op):
    """The function of a formula that runs at once on arrays of one dtype; recorded ones go the general way."""
    slow = general(op)
    element = array_function(op)
    count = sum(a.is_tensor for a in schema_of(op).arguments)
    elements, large = route(op, quietly(element), count)
    halves = fast_halves.fused(op, slow, count)

    def call(*values):
        if state.recording or INTERPOSERS:
            return slow(*values)
        if values[0]._array.dtype not in NATIVE_FLOATS:
            return halves(*values)
        dtype, arrays = values[0]._array.dtype, []
        for value in values:
            if value.__class__ in PLAIN_CLASSES:
                value = value._array
                if value.dtype is not dtype:
                    return slow(*values)
            elif len(arrays) < count and value is not None:
                if hasattr(value, "_edge"):  # of a room with arrays of its own
                    return slow(*values)
                value = number_array(dtype, value)
            arrays.append(value)
        return wrap(quiet().run(element, *arrays) if arrays[0].size < elements else large(*arrays))

    return named(call, op)


def binary(op, operator=False):
    """The function of a two-operand operation, or its ``operator`` form, which leaves foreign operands alone."""
    slow = operator_form(general(op)) if operator else general(op)
    compute, rule = op.ufunc or op.numpy or array_function(op), default_rule(op)
    compute = compute if isinstance(compute, np.ufunc) else laid_out(compute)
    if rule not in READY:
        return slow
    ready = ready_dtypes(op, READY[rule])
    operate = _operate(op, slow, compute, ready, op.differentiable and rule != table.COMPARE)
    if operator:
        made = named(operate, op)
        del made.__wrapped__  # an operator has no options: its own arguments are the signature
        return made
    with_options = elementwise(op) if len(schema_of(op).arguments) > 2 else slow
    second = schema_of(op).arguments[1].name

    def call(input=MISSING, other=MISSING, /, *rest, **options):
        if options or other is MISSING or rest:
            if other is not MISSING and not rest:
                return with_options(input, other, **options)
            if second in options and not rest:
                if len(options) == 1 and input is not MISSING:
                    return by_name(op, operate, (input,), (second,), options)
                if len(options) == 2 and hasattr(options.get("input"), "_edge"):  # PyTorch's numbers have another name
                    return by_name(op, operate, (), ("input", second), options)
            return slow(*as_given(input, other), *rest, **options)
        return operate(input, other)

    return named(call, op)


def _calmly(function):
    """`quietly` for a function of two operands: naming them takes 0.2 us less than any number of them."""

    def compute(x, y):
        return quiet().run(function, x, y)

    return compute


@functools.cache
def _common(first, second):
    """The dtype in which arrays of two dtypes that have dimensions meet; None where they cannot, or are to be resolved first."""
    if LazyDtype in (first.__class__, second.__class__):
        return None
    try:
        return dtypes.promote_types(dtypes.from_numpy(first), dtypes.from_numpy(second)).numpy
    except RuntimeError:
        return None


def _mixed(op, slow, compute, ready, elements):
    """The short path of two small tensors with dimensions, of two dtypes, where nothing is recorded; else ``slow``."""
    check, options = op.check, tuple(a.default for a in schema_of(op).arguments[2:])

    if op.patterns is not None:
        return slow

    def operate(input, other):
        x, y = input._array, other._array
        common = _common(x.dtype, y.dtype)
        tracked = (input._edge is not None or other._edge is not None) and state.recording
        size = x.size if x.shape == y.shape else x.size * y.size
        if common not in ready or tracked or not x.ndim or not y.ndim or size >= elements:
            return slow(input, other)
        if check is not None:
            check(input, other, *options)
        x = x if x.dtype is common else converted(x, common)
        y = y if y.dtype is common else converted(y, common)
        try:
            return wrap(in_result_order(compute(x, y), (x, y)))
        except NUMPY_REFUSES:
            return slow(input, other)

    return operate


def _operate(op, slow, compute, ready, may_track):
    """The short path of two operands: compute at once, then make a node if one of them is tracked."""
    second, with_number = schema_of(op).arguments[1], op.with_number
    limited = second.name in op.numbers
    ready_pairs = ready if op.patterns is None else NOTHING
    # The classes of numbers that are second operands; a formula of its own for numbers is one for floats.
    numbers = {d: WITH_NUMBERS[d] for d in ready & (WITH_NUMBERS.keys() if with_number is None else NATIVE_FLOATS)}
    if second.type != "Operand":
        numbers = {}
    check = op.check if op.ufunc is None else None
    pair, number = binary_recorders(op)
    compute = compute if compute in CALM else _calmly(compute)
    elements, large = route(op, compute, 2)
    large_pair = large if with_number is None else lambda x, y: large(x, no_number(y))
    cached = NUMBER_ARRAYS.get
    halves = fast_halves.binary(op, slow, (pair, number))
    mixed = _mixed(op, halves, compute, ready, elements)

    def operate(input, other):
        if input.__class__ not in PLAIN_CLASSES or INTERPOSERS:
            return slow(input, other)
        x = input._array
        dtype, kind = x.dtype, other.__class__
        if kind in PLAIN_CLASSES:
            y = other._array
            if y.dtype is not dtype or dtype not in ready_pairs:
                return mixed(input, other)
            if check is not None:
                check(input, other)
            try:
                size = total = x.size
                if size < elements and size * y.size >= elements and x.shape != y.shape:
                    total = broadcast_size(x, y)
                found = compute(x, y) if total < elements else large_pair(x, y)
                if x.ndim > 1:
                    by_rows = x.flags.c_contiguous or (y.flags.c_contiguous and not any(x.strides))
                    if not by_rows or found.size != size:  # else NumPy writes row by row, too
                        found = in_result_order(found, (x, y))
                elif y.ndim > 1 and not y.flags.c_contiguous:
                    found = in_result_order(found, (y,))
            except NUMPY_REFUSES:
                return slow(input, other)
            edge, other_edge, record = input._edge, other._edge, pair
        elif kind in numbers.get(dtype, NOTHING):
            if with_number is None or x.size >= elements:
                y = cached((other, dtype))
                if y is None:
                    if other and not -SAFE < other < SAFE and (limited or kind is int):
                        return slow(input, other)
                    y = number_array(dtype, other)
                if check is not None:
                    check(input, other)
                try:
                    found = compute(x, y) if x.size < elements else large(x, y)
                except NUMPY_REFUSES:
                    return slow(input, other)
            else:
                found = quiet().run(with_number, x, other)
            if x.base is not None and x.ndim > 1 and not x.flags.c_contiguous:
                found = in_result_order(found, (x,))
            edge, other_edge, record = input._edge, None, number
        else:
            return halves(input, other)
        result = new_tensor()
        result._array, result._edge = found if found.__class__ is ndarray else asarray(found), None
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
    elements, defaults, otherwise = elements_of(op.name), schema_of(op).defaults[1:], _otherwise(op, slow)

    class WholeNode(Node):
        __slots__ = ("shape",)

        def apply(self, grad):
            return (spread(grad, self.shape),)

    node_type = node_class(node_name(op, *defaults), WholeNode, op=op)

    def call(input=MISSING, /, *rest, **options):
        if rest or options or input.__class__ not in PLAIN_CLASSES or INTERPOSERS:
            return otherwise(call, input, rest, options) if input is MISSING else slow(input, *rest, **options)
        array = input._array
        if array.dtype not in NATIVE_FLOATS or (input._edge is not None and state.recording == SPECIAL):
            return slow(input)
        found = NotImplemented
        if array.size >= elements:
            found = kernel_of(own_name)(array, *defaults)
        result = new_tensor()
        result._array = quiet().run(whole, array) if found is NotImplemented else found
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
    """``function`` as an operator's method: numbers and tensors are operands, all else is left to the other operand.

    ``==`` also takes NumPy arrays, as PyTorch's does; every other operator leaves them to NumPy's reflected one.
    """
    takes_arrays = function.__name__ == "eq"

    def call(input, other):
        if hasattr(other, "_edge") or is_number(other) or hasattr(other, "__torch_function__"):
            return function(input, other)
        if takes_arrays and isinstance(other, ndarray):
            return function(input, functions.as_tensor(other))
        return NotImplemented

    call.__doc__ = function.__doc__
    return call


def reflected(function, name, operands=is_number):
    """``function`` as the reflected operator ``name``: ``2 % x`` calls it with (2, x). ``operands`` tells which values it takes.

    What overrides operations gets the operator, since it is called with (x, 2).
    """

    def call(input, other):
        if input.__class__ not in PLAIN_CLASSES:
            found = torch_function(getattr(Tensor, name), (input, other), {}, PLAIN_CLASSES)
            if found is not NotImplemented:
                return found
        return function(other, input) if hasattr(other, "_edge") or operands(other) else NotImplemented

    call.__doc__ = function.__doc__
    return call


def is_number_or_array(value):
    """Whether a value counts as a number beside tensors, or is a NumPy array."""
    return isinstance(value, ndarray) or is_number(value)


def product_operator(matmul, backwards=False):
    """``@``, which takes tensors alone, or its reflected form."""

    def call(self, other):
        plain = other.__class__ in PLAIN_CLASSES
        if not plain and not hasattr(other, "_edge") and not hasattr(other, "__torch_function__"):
            return NotImplemented
        return matmul(other, self) if backwards else matmul(self, other)

    call.__doc__ = matmul.__doc__
    return call
