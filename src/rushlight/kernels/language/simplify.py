"""Passes that make loop programs smaller: constants folded, invariants hoisted, repetitions shared, dead code removed.

Each pass is a function from a Function to a new one and walks it once. Passes never change a value that is computed, not
by one bit: floating-point arithmetic is folded by the instructions' own meaning and reordered nowhere. What has an
effect (stores, calls, prefetches) stays as it is, and so do loads.
"""

from __future__ import annotations

import math

import numpy as np

from .instructions import OPCODES, TILES, TRANSCENDENTAL
from .interpret import compute
from .program import Block, Function, Instruction, Program

_PURE = frozenset(
    (*OPCODES, "constant", "offset", "reinterpret", "splat", "iota", "extract", "shuffle", "reduce", "compress")
)
_FOLDED = _PURE - {
    "constant",
    "offset",
    "reinterpret",
    "iota",
    *TRANSCENDENTAL,
}  # NumPy's exp need not be the machine's
_EFFECTS = frozenset((*TILES, "store", "scatter", "prefetch", "call"))
_NO_CONSTANTS = ("f16", "bf16")


def simplify(program):
    """The program after all passes; the same meaning in fewer instructions."""
    with np.errstate(all="ignore"):
        return Program(program.name, [_simplified(function) for function in program.functions])


def _simplified(function):
    for a_pass in (fold, hoist, share, remove_dead):
        function = a_pass(function)
    return function


def _with_body(function, body):
    found = Function(function.name, function.parameters)
    found.body = body
    return found


def _copy(block, instructions, yields):
    found = Block(block.arguments)
    found.instructions, found.yields = instructions, yields
    return found


def _rebuilt(instruction, operands, blocks):
    return Instruction(instruction.opcode, operands, instruction.results, instruction.attributes, blocks)


def _operands(instruction, replaced):
    """The instruction with the values that stand for its operands now."""
    if replaced and not replaced.keys().isdisjoint(instruction.operands):
        return _rebuilt(instruction, tuple(replaced.get(v, v) for v in instruction.operands), instruction.blocks)
    return instruction


# ---- fold


def fold(function):
    """Compute what depends on constants alone, drop what changes nothing (x + 0, x * 1), take branches that are known.

    x + 0 is dropped for integers only: for floats it turns -0.0 into 0.0. x - 0.0, x * 1.0 and x / 1.0 are exact.
    """
    return _with_body(function, _Fold().block(function.body))


# opcode -> the second operand that makes it the identity, for integers and for floats; None for never
_NEUTRAL = {
    "add": (0, -0.0),
    "sub": (0, 0.0),
    "mul": (1, 1.0),
    "div": (1, 1.0),
    "or": (0, None),
    "xor": (0, None),
    "shl": (0, None),
    "shr": (0, None),
    "offset": (0, None),
}
_COMMUTATIVE = frozenset(("add", "mul", "or", "xor"))


class _Fold:
    """One walk over a function. ``constants``: the instructions that define constants; ``replaced``: values that others
    stand for now."""

    def __init__(self):
        self.constants, self.replaced = {}, {}

    def block(self, block):
        instructions = []
        self.into(instructions, block)
        return _copy(block, instructions, self.current(block.yields))

    def current(self, values):
        replaced = self.replaced
        return [replaced.get(v, v) for v in values] if replaced else values

    def into(self, instructions, block):
        """Append the block's instructions, simplified."""
        constants, replaced = self.constants, self.replaced
        for instruction in block.instructions:
            opcode = instruction.opcode
            if opcode == "constant":
                constants[instruction.results[0]] = instruction
            elif instruction.blocks:
                self.structure(instructions, instruction)
                continue
            else:
                instruction = _operands(instruction, replaced)
                if opcode in ("select", "convert") or not constants.keys().isdisjoint(instruction.operands):
                    instruction = self.known(instruction)
            if instruction is not None:
                instructions.append(instruction)

    def known(self, instruction):
        """The instruction as a constant, or None where one of its operands replaces it, or the instruction."""
        same = self.neutral(instruction)
        if same is not None:
            self.replaced[instruction.results[0]] = same
            return None
        if instruction.opcode in _FOLDED and all(v in self.constants for v in instruction.operands):
            return self.computed(instruction)
        return instruction

    def number(self, value):
        """The number that all lanes of a value have, or None."""
        constant = self.constants.get(value)
        number = None if constant is None else constant.attributes["value"]
        return None if isinstance(number, tuple) else number

    def neutral(self, instruction):
        """The operand that the result equals, or None."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "select":
            condition, first, second = operands
            known = self.number(condition)
            return first if first is second or known else second if known is not None else None
        if opcode == "convert":
            return operands[0] if operands[0].type is instruction.results[0].type else None
        if opcode not in _NEUTRAL:
            return None
        wanted = _NEUTRAL[opcode][instruction.results[0].type.is_float]
        first, second = operands
        if wanted is not None and _equal(self.number(second), wanted):
            return first
        return second if opcode in _COMMUTATIVE and wanted is not None and _equal(self.number(first), wanted) else None

    def computed(self, instruction):
        """The instruction as a constant; itself where its meaning is the machine's affair."""
        result, operands = instruction.results[0], instruction.operands
        if result.type.scalar in _NO_CONSTANTS or operands[0].type.scalar in _NO_CONSTANTS:
            return instruction
        arrays = [compute(self.constants[v], ()) for v in operands]
        if instruction.opcode in ("div", "rem") and result.type.is_integer and not arrays[1].all():
            return instruction
        found = compute(instruction, arrays)
        to_integer = instruction.opcode == "convert" and operands[0].type.is_float and result.type.is_integer
        if to_integer and not np.array_equal(np.trunc(arrays[0]), found.astype(arrays[0].dtype)):
            return instruction  # no such integer: machines differ
        if result.type.is_float and np.isnan(found).any():
            return instruction  # which NaN, too
        constant = Instruction("constant", (), instruction.results, {"value": _value(found)})
        self.constants[result] = constant
        return constant

    # ---- structure

    def structure(self, instructions, instruction):
        operands = tuple(self.current(instruction.operands))
        if instruction.opcode == "if" and operands[0] in self.constants:
            taken = instruction.blocks[0 if self.number(operands[0]) else 1]
            self.into(instructions, taken)
            self.replaced.update(zip(instruction.results, self.current(taken.yields)))
        elif instruction.opcode == "loop" and self.rounds(operands) == 0:
            self.replaced.update(zip(instruction.results, operands[3:]))
        elif instruction.opcode == "loop" and self.rounds(operands) == 1:
            block = instruction.blocks[0]
            self.replaced.update(zip(block.arguments, (operands[0], *operands[3:])))
            self.into(instructions, block)
            self.replaced.update(zip(instruction.results, self.current(block.yields)))
        else:
            blocks = tuple(self.block(block) for block in instruction.blocks)
            instructions.append(_rebuilt(instruction, operands, blocks))

    def rounds(self, operands):
        """How many rounds (0, 1 or more, then 2) a loop runs; None where that is not known."""
        first, end, step = (self.number(v) for v in operands[:3])
        if first is None or end is None or step is None:
            return None
        return min(2, len(range(first, end, step)))


def _equal(number, wanted):
    """Whether a number is the wanted one, 0.0 and -0.0 told apart."""
    return number == wanted and math.copysign(1, number) == math.copysign(1, wanted)


def _value(lanes):
    """A constant's attribute: one number where all lanes are the same."""
    if lanes.ndim == 0 or lanes.tobytes() == lanes[:1].tobytes() * len(lanes):
        return lanes.flat[0].item()
    return tuple(lanes.tolist())


# ---- hoist


def hoist(function):
    """Move pure instructions out of the loops (and ``parallel``) in which nothing they depend on changes.

    Integer divisions stay where they are guarded, unless by a constant that cannot trap; so do offsets by constants,
    which cost nothing as part of an address.
    """
    return _with_body(function, _hoisted(function.body, None, {}))


def _hoisted(block, lifted, constants):
    """A copy of the block; what depends on nothing inside of it goes to the list ``lifted`` (None: nothing does)."""
    inside, kept = set(block.arguments), []
    for instruction in block.instructions:
        pending = [instruction]
        if instruction.blocks:
            pending = []
            above = None if instruction.opcode == "if" else pending
            blocks = tuple(_hoisted(inner, above, constants) for inner in instruction.blocks)
            pending.append(_rebuilt(instruction, instruction.operands, blocks))
        elif instruction.opcode == "constant":
            constants[instruction.results[0]] = instruction.attributes["value"]
        for each in pending:
            if lifted is not None and inside.isdisjoint(each.operands) and _is_movable(each, constants):
                lifted.append(each)
            else:
                kept.append(each)
                inside.update(each.results)
    return _copy(block, kept, block.yields)


def _is_movable(instruction, constants):
    opcode = instruction.opcode
    if opcode == "offset":
        return instruction.operands[1] not in constants
    if opcode in ("div", "rem") and instruction.results[0].type.is_integer:
        divisor = constants.get(instruction.operands[1])
        return isinstance(divisor, int) and divisor not in (0, -1)
    return opcode in _PURE


# ---- share


def share(function):
    """Compute nothing twice: a pure instruction that was there before, in the block or around it, is used again."""
    return _with_body(function, _shared(function.body, {}, {}))


def _shared(block, known, replaced):
    """A copy of the block. ``known``: from the content of the instructions in sight to their results."""
    kept, added = [], []
    for instruction in block.instructions:
        instruction = _operands(instruction, replaced)
        if instruction.blocks:
            blocks = tuple(_shared(inner, known, replaced) for inner in instruction.blocks)
            instruction = _rebuilt(instruction, instruction.operands, blocks)
        elif instruction.opcode in _PURE:
            result, attributes = instruction.results[0], instruction.attributes
            # repr tells -0.0 from 0.0
            key = (instruction.opcode, instruction.operands, result.type, repr(attributes) if attributes else None)
            found = known.setdefault(key, result)
            if found is not result:
                replaced[result] = found
                continue
            added.append(key)
        kept.append(instruction)
    for key in added:
        del known[key]
    return _copy(block, kept, [replaced.get(v, v) for v in block.yields])


# ---- remove_dead


def remove_dead(function):
    """Remove what has no effect and gives no value that is used; loads, loops and branches too."""
    return _with_body(function, _live(function.body, set()))


def _live(block, used):
    """A copy of the block, walked backwards; ``used`` collects the values that are needed."""
    used.update(block.yields)
    kept = []
    for instruction in reversed(block.instructions):
        if used.isdisjoint(instruction.results) and not _has_effect(instruction):
            continue
        if instruction.blocks:
            blocks = tuple(_live(inner, used) for inner in instruction.blocks)
            instruction = _rebuilt(instruction, instruction.operands, blocks)
        used.update(instruction.operands)
        kept.append(instruction)
    kept.reverse()
    return _copy(block, kept, block.yields)


def _has_effect(instruction):
    if instruction.opcode in _EFFECTS:
        return True
    return any(_has_effect(inner) for block in instruction.blocks for inner in block.instructions)
