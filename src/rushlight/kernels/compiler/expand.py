"""Expansion: functions without a machine instruction, rewritten with those that have one."""

from __future__ import annotations

from ..language.builder import Builder
from ..language.instructions import TRANSCENDENTAL
from ..language.program import Block, Function, Instruction, Program, walk
from ..vector_math import EXPANSIONS

_NAMES = frozenset(TRANSCENDENTAL)


def expand(program):
    """The program with every transcendental instruction replaced by its expansion; itself if there is none."""
    functions = [_expanded(function) for function in program.functions]
    return program if functions == program.functions else Program(program.name, functions)


def _expanded(function):
    if not any(instruction.opcode in _NAMES for _, instruction in walk(function.body)):
        return function
    builder = Builder(function.name, [])
    builder.function = result = Function(function.name, function.parameters)
    result.body = _block(builder, function.body, {})
    builder.let_go()
    return result


def _block(builder, block, replaced):
    """A copy of the block in which functions are expanded; ``replaced`` maps their results to the new values."""
    copy = Block(block.arguments)
    with builder.inside(copy):
        for instruction in block.instructions:
            operands = tuple(replaced.get(id(v), v) for v in instruction.operands)
            if instruction.opcode in _NAMES:
                found = EXPANSIONS[instruction.opcode](builder, *(_bound(builder, v) for v in operands))
                replaced[id(instruction.results[0])] = found
                continue
            blocks = tuple(_block(builder, inner, replaced) for inner in instruction.blocks)
            copy.instructions.append(
                Instruction(instruction.opcode, operands, instruction.results, instruction.attributes, blocks)
            )
        copy.yields = [replaced.get(id(v), v) for v in block.yields]
    return copy


def _bound(builder, value):
    """The value, made to append its arithmetic to this builder."""
    value.builder = builder
    return value
