"""Writes loop programs as text."""

from __future__ import annotations

import json
import re

from ..instructions import bf16_to_f32, constant_array
from ..program import Block, Value
from ..value_types import BOOL, I64
from .grammar import ATTRIBUTES, IMPLIED, MASKED, NAME, RESERVED, is_type, literal_type, parameter_types


def write(program):
    """The program as text; ``read`` gives it back."""
    name = program.name if re.fullmatch(r"[\w.:/-]+", program.name) else json.dumps(program.name)
    return "\n".join([f"program {name}\n", *(_Writer(f, program).text() for f in program.functions)])


def describe(function, instruction, program=None):
    """The line of one instruction of a function, as ``write`` writes it."""
    writer = _Writer(function, program)
    writer.text()
    if instruction.opcode == "constant":
        return f"constant {writer.operand(instruction.results[0])}"
    return writer.lines[writer.line_of[instruction]].strip()


def number_text(type, number):
    """One number of a scalar type, in the fewest digits that give it back."""
    if type.scalar == "bool":
        return "true" if number else "false"
    if not type.is_float:
        return str(int(number))
    exact = constant_array(type, number)
    return str(bf16_to_f32(exact) if type.scalar == "bf16" else exact[()])


def _padded(found, count, missing):
    """At least ``count`` of what an instruction should have."""
    return [*found, *[missing] * (count - len(found))]


class _Writer:
    """Writes one function. Also programs that are wrong, as well as it can: error messages quote them."""

    def __init__(self, function, program=None):
        self.function = function
        self.callees = {f.name: f for f in program.functions} if program else {}
        self.lines, self.line_of = [], {}
        self.names, self.taken, self.constants = {}, set(), {}
        self.count = 0

    def text(self):
        function = self.function
        for parameter in function.parameters:
            self._name_parameter(parameter)
        parameters = ", ".join(f"{self.names[p]}: {p.type}" for p in function.parameters)
        result = f" -> {function.result_type}" if function.body.yields else ""
        self.lines.append(f"function {function.name}({parameters}){result}")
        self._block(function.body, 1, "return", [v.type for v in function.body.yields])
        return "\n".join(self.lines) + "\n"

    def _name_parameter(self, value):
        name = value.name
        if name and NAME.fullmatch(name) and name not in self.taken and name not in RESERVED and not is_type(name):
            self.names[value] = name
            self.taken.add(name)
        else:
            self._define(value)

    def _define(self, value):
        """Give a value its name: ``%`` and its own, or the next number."""
        name = f"%{value.name}"
        if not (value.name and NAME.fullmatch(value.name) and name not in self.taken):
            name = f"%{self.count}"
            self.count += 1
        self.taken.add(name)
        self.names[value] = name
        return name

    def operand(self, value, expected=None):
        constant = self.constants.get(value)
        if constant is None:
            return self.names.get(value, "%undefined")
        number = constant.attributes["value"]
        numbers = number if isinstance(number, tuple) else (number,)
        scalar = value.type.with_lanes(1) if value.type.is_vector else value.type
        text = ", ".join(number_text(scalar, n) for n in numbers)
        return text if value.type is expected and not isinstance(number, tuple) else f"{value.type}({text})"

    def _line(self, depth, text):
        self.lines.append("  " * depth + text)

    def _block(self, block, depth, keyword, types):
        for instruction in block.instructions:
            self.line_of[instruction] = len(self.lines)
            if instruction.opcode == "constant":
                self.constants[instruction.results[0]] = instruction  # it has no line, but stands where it is used
            elif instruction.opcode in ("loop", "if", "parallel"):
                getattr(self, f"_{instruction.opcode}")(instruction, depth)
            else:
                self._line(depth, self._plain(instruction))
        if block.yields:
            types = [*types, *[None] * len(block.yields)]
            values = ", ".join(self.operand(v, t) for v, t in zip(block.yields, types))
            self._line(depth, f"{keyword} {values}")

    def _plain(self, instruction):
        opcode, operands = instruction.opcode, instruction.operands
        type = instruction.results[0].type if instruction.results else None
        if opcode == "call":
            text = self._call(instruction)
        else:
            types = [None if v in self.constants else v.type for v in operands]
            texts = [self.operand(v, literal_type(opcode, i, type, types)) for i, v in enumerate(operands)]
            before = MASKED.get(opcode, len(texts))
            text = f"{opcode} {', '.join(texts[:before])}".rstrip()
            if len(texts) > before:
                text += " where " + ", ".join(texts[before:])
        text += "".join(self._attributes(instruction))
        return text if type is None else f"{self._define(instruction.results[0])} = {text} : {type}"

    def _call(self, instruction):
        name = instruction.attributes["function"]
        types = parameter_types(self.callees.get(name), len(instruction.operands))
        return f"call {name}({', '.join(self.operand(v, t) for v, t in zip(instruction.operands, types))})"

    def _attributes(self, instruction):
        implied = IMPLIED.get(instruction.opcode, ("function",))[0]
        for name, value in instruction.attributes.items():
            if name == implied or value is None or value is False:
                continue
            if name not in ATTRIBUTES:
                raise ValueError(f"the text form knows no attribute '{name}' (of {instruction.opcode})")
            written = f"({', '.join(map(str, value))})" if isinstance(value, tuple) else str(value)
            yield f" {name}" if value is True else f" {name} {written}"

    def _loop(self, instruction, depth):
        first, end, step, *starts = _padded(instruction.operands, 3, Value(I64))
        (block,) = _padded(instruction.blocks, 1, Block())
        index, *carry = _padded(block.arguments, 1, Value(I64))
        text = f"loop {self._define(index)} from {self.operand(first, I64)} to {self.operand(end, I64)}"
        stride = self.operand(step, I64)
        if stride != "1":
            text += f" step {stride}"
        if carry:
            values = [f"{self._define(c)} = {self.operand(s, c.type)} : {c.type}" for c, s in zip(carry, starts)]
            text += f" carry ({', '.join(values)}) -> ({', '.join(self._define(r) for r in instruction.results)})"
        self._line(depth, text)
        self._block(block, depth + 1, "yield", [c.type for c in carry])

    def _if(self, instruction, depth):
        text = f"if {self.operand(_padded(instruction.operands, 1, None)[0], BOOL)}"
        if instruction.results:
            text += f" -> ({', '.join(f'{self._define(r)} : {r.type}' for r in instruction.results)})"
        self._line(depth, text)
        types = [r.type for r in instruction.results]
        then, otherwise = _padded(instruction.blocks, 2, Block())
        self._block(then, depth + 1, "yield", types)
        if otherwise.instructions or otherwise.yields:
            self._line(depth, "else")
            self._block(otherwise, depth + 1, "yield", types)

    def _parallel(self, instruction, depth):
        (block,) = _padded(instruction.blocks, 1, Block())
        chunk = _padded(block.arguments, 1, Value(I64))[0]
        count = self.operand(_padded(instruction.operands, 1, None)[0], I64)
        self._line(depth, f"parallel {self._define(chunk)} < {count}")
        self._block(block, depth + 1, "yield", [])
