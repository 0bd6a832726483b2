"""The text of elementwise operations' short paths: any number of operands of one dtype, numbers among them, and options.

That of ``lerp``, behind what finds its values, reads

    first = given0._array
    dtype, shape, size = first.dtype, first.shape, first.size
    if dtype not in op.ready:
        return slow(given0, given1, given2, *rest, **options) if given2 is not MISSING else slow(*as_given(given0, given1, given2), **options)
    array0 = first
    array1 = value1._array
    if array1.dtype is not dtype:
        return slow(given0, given1, given2, *rest, **options) if given2 is not MISSING else slow(*as_given(given0, given1, given2), **options)
    if array1.shape != shape:
        size *= array1.size
    ...

and that of ``lerp_`` writes the result into ``first`` where nothing is recorded. See short_text.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..autograd.modes import state
from ..base import dtypes
from ..base.arrays import in_result_order
from ..base.scalars import NUMBER_ARRAYS, SAFE, number_array
from ..kernels.elementwise import elementwise_elements
from ..kernels.routing import route_elementwise, run_elementwise
from ..ops import table
from ..ops.copy import refuse_overlap, refuse_partly_shared
from .base import new_tensor, quiet, quietly
from .classes import MISSING, PLAIN_CLASSES, as_given
from .compute import default_rule, ndarray, schema_of
from .dispatch import general, record_result
from .elementwise import array_function, broadcast_size
from .interposers import INTERPOSERS
from .refusals import refuse_failed
from .short_paths import Path
from .short_text import arguments_of, code_of, fitting
from .writes import bump, is_tracked

asarray, cached = np.asarray, NUMBER_ARRAYS.get
NATIVE_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
BOOL = dtypes.BOOL_ARRAY
RULES = (table.PROMOTE, table.FLOAT, table.COMPARE, table.INTEGRAL)


def ready_dtypes(op, among):
    """The NumPy dtypes that a short path may take: those of ``among`` that the operation does not refuse or check."""
    refused = {dtypes.NAMES[name].numpy for name in op.refuse if name != "bfloat16"}
    return among - refused - (dtypes.COMPLEXES if op.check is not None else frozenset())


def route(op, evaluate, count):
    """`route_elementwise` for an operation whose first ``count`` arguments are its operands."""
    return route_elementwise(op, evaluate, count, tuple(a.default for a in schema_of(op).arguments[count:]))


def elementwise(op):
    """The function of an operation with any number of operands and options: short where all operands have one dtype."""
    slow = general(op)
    if default_rule(op) not in (*RULES, table.MASKED) or op.patterns is not None:
        return slow
    evaluate = op.numpy or array_function(op)
    op.ready = ready_dtypes(op, NATIVE_FLOATS)
    op.large = route(op, quietly(evaluate), sum(argument.is_tensor for argument in schema_of(op).arguments))[1]
    return Path(op, op.name, evaluate, slow, globals(), partial(_code, op, op.name, False)).function


def elementwise_composite(op, entry, name, general):
    """`short_paths.short_composite` for an operation of this kind."""
    return Path(
        op, name, op.numpy or array_function(op), general, globals(), partial(_code, op, name, False, entry)
    ).function


def written(op, slow, among):
    """The in-place form of an operation that keeps the dtype of its first operand, on plain operands of dtypes ``among``."""
    op.ready_for_writes = ready_dtypes(op, among)
    name, evaluate = op.name + "_", op.numpy or array_function(op)
    return Path(op, name, evaluate, slow, globals(), partial(_code, op, name, True)).function


def _code(op, name, writes, entry=None):
    return code_of(name, *text_of(op, schema_of(op), writes, entry))


def text_of(op, schema, writes, entry=None):
    """The names of the arguments given by place and the body of a short path, of the in-place form if it ``writes``.

    ``entry`` is the composite whose short path it is.
    """
    given, parts, leave = arguments_of(schema, entry)
    operands = [part for part in parts if part.is_tensor]
    masks = int(default_rule(op) == table.MASKED)  # how many masks stand before the operands
    conditions = ["INTERPOSERS", "left", "rest", *(condition for part in parts for condition in _unfit(part))]
    leading, lines = _leading(operands[masks:], writes, leave)
    body = [
        "left = len(options)",
        *(line for part in parts for line in part.taken()),
        f"if {' or '.join(conditions)}:",
        f"    {leave}",
        *lines,
        f"first = {leading}._array",
        "dtype, shape, size = first.dtype, first.shape, first.size",
        f"if dtype not in op.{'ready_for_writes' if writes else 'ready'}:",
        f"    {leave}",
    ]
    for place, part in enumerate(operands):
        known = part.value == leading
        body += [f"{part.array} = first"] if known else _array(part, place < masks, writes, leave)
    body += fitting(entry, leave)
    finish = _write if writes else _result
    return given, body + finish(op, parts, operands, leave)


def _unfit(part):
    """The conditions under which an argument goes the general way; numbers among operands are looked at later."""
    if part.type == "Operand":
        return []
    numbers = {"Scalar": ("float", "int"), "float": ("float",), "int": ("int",)}.get(part.type)
    if numbers is None:
        return part.unfit()
    of_class = " or ".join(f"{part.value}.__class__ is {number}" for number in numbers)
    found = f"not (({of_class}) and -SAFE < {part.value} < SAFE)"
    return [f"({part.value} is not None and {found})" if part.may_be_none else found]


def _leading(candidates, writes, leave):
    """The operand whose dtype is that of the computation, the first tensor, and the lines that find it."""
    first = candidates[0]
    if first.type == "Tensor":
        return first.value, []
    if writes:  # a number has no memory to write into
        return first.value, [f"if {first.value}.__class__ not in PLAIN_CLASSES:", f"    {leave}"]
    *others, last = [part.value for part in candidates if part.is_tensor]
    choices = "".join(f"{value} if {value}.__class__ in PLAIN_CLASSES else " for value in others)
    return "leading", [f"leading = {choices}{last}", "if leading.__class__ not in PLAIN_CLASSES:", f"    {leave}"]


def _array(part, is_mask, writes, leave):
    """The lines that make an array of an operand, of the dtype of the first, and count the elements of the result."""
    array, value = part.array, part.value
    if writes:
        fits = f"{array}.shape == shape or {array}.shape == shape[len(shape) - {array}.ndim :]"
        measure = [f"if not ({fits}):", f"    {leave}"]
    else:
        measure = [f"if {array}.shape != shape:", f"    size *= {array}.size"]
    tensor = [
        f"{array} = {value}._array",
        f"if {array}.dtype is not dtype{f' and {array}.dtype is not BOOL' if is_mask else ''}:",
        f"    {leave}",
        *measure,
    ]
    if part.type == "Tensor":
        return tensor
    floats = f"({value}.__class__ is float and dtype in NATIVE_FLOATS)" if writes else f"{value}.__class__ is float"
    return [
        f"if {value}.__class__ in PLAIN_CLASSES:",
        *(f"    {line}" for line in tensor),
        f"elif {floats} or {value}.__class__ is int:",
        f"    {array} = cached(({value}, dtype))",
        f"    if {array} is None:",
        f"        if not -SAFE < {value} < SAFE:",
        f"            {leave}",
        f"        {array} = number_array(dtype, {value})",
        *([f"elif {value} is None:", f"    {array} = None"] if part.may_be_none else []),
        "else:",
        f"    {leave}",
    ]


def _check(op, parts):
    return [] if op.check is None else [f"op.check({', '.join(part.value for part in parts)})"]


def _result(op, parts, operands, leave):
    """The lines that compute, by NumPy or by a kernel, and make a Tensor of the result and, if it is tracked, a node."""
    arrays, values = (", ".join([getattr(part, form) for part in parts]) for form in ("array", "value"))
    elements = elementwise_elements(op)
    measured, decides = ", ".join(part.array for part in operands), operands[0].array
    return [
        *_check(op, parts),
        "try:",
        f"    if size < {elements} or (first.size < {elements} and joint_size({measured}) < {elements}):",
        f"        found = quiet().run(forward, {arrays})",
        f"        if found.ndim > 1 and not ({decides}.flags.c_contiguous and {decides}.shape == found.shape):",
        f"            found = in_result_order(found, [a for a in ({', '.join(part.array for part in operands)},) if a is not None])",
        "    else:",
        f"        found = op.large({arrays})",
        "except ValueError:",
        f"    {leave}",
        "result = new_tensor()",
        "result._array, result._edge = found if found.__class__ is ndarray else asarray(found), None",
        f"if ({' or '.join(part.tracked() for part in operands)}) and state.recording:",
        f"    record_result(op, op.parsed, [{values}], result)",
        "return result",
    ]


def _write(op, parts, operands, leave):
    """The lines that compute into the first array, where nothing is recorded and no other memory is shared."""
    arrays, options, values = (
        ", ".join(found)
        for found in (
            [part.array for part in operands],
            [part.value for part in parts if not part.is_tensor],
            [part.array for part in parts],
        )
    )
    tracked = " or ".join(f"({part.tracked()} and is_tracked({part.value}._edge))" for part in operands)
    shared = " or ".join(
        f"({part.value}.__class__ in PLAIN_CLASSES and {part.array}.base is not None)"
        if part.type == "Operand"
        else f"{part.array}.base is not None"
        for part in operands
    )
    return [
        f"if ({tracked}) and state.recording:",
        f"    {leave}",
        *_check(op, parts),
        f"if {shared}:",
        f"    refuse_sharing({arrays})",
        f"if size < {elementwise_elements(op)}:",
        f"    first[...] = quiet().run(forward, {values})",
        f"elif run_elementwise(op, ({arrays},), ({options}{',' * bool(options)}), out=first) is NotImplemented:",
        f"    {leave}",
        f"bump(given0, '{op.name}_')",
        "return given0",
    ]


# ---------------------------------------------------------------- what the text calls, beside the names imported above


def joint_size(*arrays):
    """How many elements operands are broadcast to, None aside; ValueError where they are not."""
    return broadcast_size(*[array for array in arrays if array is not None])


def refuse_sharing(target, *operands):
    """Refuse operands that share some of the memory that is written; arrays that look into no other's share none."""
    looking = [array for array in operands if array is not None and array.base is not None]
    if looking or target.base is not None:
        refuse_overlap(target)
        for array in operands if target.base is not None else looking:
            if array is not None and array is not target:
                refuse_partly_shared(target, array)
