"""What the writer and the reader of the text form agree on: names, attributes, and when a number needs its type."""

from __future__ import annotations

import re

from ..instructions import COMPARISONS, LANES, MEMORY, OPCODES, TILES
from ..value_types import I64, named

# The attributes that are written out, after the operands; the others follow from the type of the result.
ATTRIBUTES = {
    "align": int,
    "lane": int,
    "lanes": tuple,
    "by": str,
    "stream": bool,
    "write": bool,
    "to": str,
    "tile": int,
    "a": int,
    "b": int,
}
IMPLIED = {"convert": ("to", "scalar"), "bitcast": ("to", "scalar"), "splat": ("lanes", "lanes")}
MASKED = {"load": 1, "store": 2, "gather": 2, "scatter": 3}  # opcode -> how many operands come before the mask
PLAIN = {*OPCODES, *MEMORY, *LANES, *TILES, "worker", "call"}
RESERVED = {"true", "false", "nan", "inf"}
NAME = re.compile(r"[A-Za-z_]\w*")
TOKEN = re.compile(
    r"""(?P<skip>\s+|\#.*)
    | (?P<number>[-+]?(?:inf|nan|\d+(?:\.\d*)?(?:e[-+]?\d+)?)(?![\w.])|(?:true|false)(?!\w))
    | (?P<word>[A-Za-z_]\w*\**)
    | (?P<value>%\w+)
    | (?P<mark>->|[(),:=<])""",
    re.VERBOSE,
)


class ProgramSyntaxError(ValueError):
    """A text that is no program: the message has the line, its number, and what was expected there."""


def literal_type(opcode, position, result, types):
    """The type of a number that is this operand, where the line tells; None where the type has to be written out.

    ``types`` are the operands' types, None for numbers.
    """
    if opcode in COMPARISONS:
        return next((t for t in types if t is not None), None)
    if opcode in ("convert", "bitcast") or (opcode == "select" and position == 0):
        return None
    if opcode == "round_bfloat16":
        return None if result is None else result.with_scalar("f32")
    if opcode == "dot" and position < 2:
        return None if result is None else result.with_scalar("i32")
    if opcode in OPCODES:
        return result
    if opcode == "offset":
        return I64
    if opcode == "store":
        return types[1].element if position == 0 and len(types) > 1 and types[1] is not None else None
    if opcode == "splat" and result is not None:
        return result.with_lanes(1)
    return None


def parameter_types(function, count):
    """The types of a function's parameters; of as many unknown ones where there is no such function."""
    types = [p.type for p in function.parameters] if function else []
    return [*types, *[None] * (count - len(types))]


def is_type(name):
    try:
        named(name)
    except ValueError:
        return False
    return True
