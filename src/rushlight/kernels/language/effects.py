"""Which memory the functions of a program read and write, as seen from their pointer parameters."""

from __future__ import annotations

from .instructions import MEMORY, TILES
from .program import walk

NONE = frozenset()
_CONCERNED = frozenset((*MEMORY, *TILES, "select", "loop", "if", "call"))


class Effects:
    """What one function does to memory.

    A place is ``(parameter, depth)``: the memory that the parameter with this number points to (depth 0), the memory
    that the pointers stored there point to (depth 1), and so on. ``origins`` maps the function's pointers to the places
    that they may point to; ``reads`` and ``writes`` are places.
    """

    def __init__(self, function, known):
        """``known`` has the Effects of the functions before, by name."""
        self.known = dict(known)  # not what will come to hold this one, too: a cycle
        self.origins = {p: frozenset({(i, 0)}) for i, p in enumerate(function.parameters) if p.type.is_pointer}
        instructions = [i for _, i in walk(function.body) if i.opcode in _CONCERNED]
        self._follow([flow for instruction in instructions for flow in _flows(instruction)])
        self.reads = NONE.union(*map(self.read_by, instructions))
        self.writes = NONE.union(*map(self.written_by, instructions))

    def _follow(self, flows):
        """Find where pointers point to; more than one round where a loop carries them around."""
        origins, changed = self.origins, True
        while changed:
            changed = False
            for target, source, deeper in flows:
                places = origins.get(source, NONE)
                if deeper:
                    places = frozenset((parameter, depth + 1) for parameter, depth in places)
                known = origins.get(target, NONE)
                if not places <= known:
                    origins[target] = known | places
                    changed = True

    def read_by(self, instruction):
        """The places that one instruction (without its blocks) reads."""
        if instruction.opcode in ("load", "gather", "tile_load"):
            return self.origins.get(instruction.operands[0], NONE)
        return self._called(instruction, "reads")

    def written_by(self, instruction):
        """The places that one instruction (without its blocks) writes."""
        if instruction.opcode == "tile_store":
            return self.origins.get(instruction.operands[0], NONE)
        if instruction.opcode in ("store", "scatter"):
            return self.origins.get(instruction.operands[1], NONE)
        return self._called(instruction, "writes")

    def _called(self, instruction, effect):
        """The effect of a call, told in the places of the caller."""
        if instruction.opcode != "call" or instruction.attributes["function"] not in self.known:
            return NONE
        callee = self.known[instruction.attributes["function"]]
        return frozenset(
            (parameter, depth + deeper)
            for i, deeper in getattr(callee, effect)
            if i < len(instruction.operands)
            for parameter, depth in self.origins.get(instruction.operands[i], NONE)
        )


def _flows(instruction):
    """``(pointer, where it comes from, whether by a load)`` for the pointers that an instruction defines."""
    opcode, operands = instruction.opcode, instruction.operands
    if opcode == "loop":
        block = instruction.blocks[0]
        pairs = [*zip(block.arguments[1:], operands[3:]), *zip(block.arguments[1:], block.yields)]
        pairs += zip(instruction.results, block.arguments[1:])
    elif opcode == "if":
        pairs = [pair for block in instruction.blocks for pair in zip(instruction.results, block.yields)]
    else:
        pairs = [(result, operand) for result in instruction.results for operand in operands]
    return [(to, source, opcode == "load") for to, source in pairs if to.type.is_pointer and source.type.is_pointer]
