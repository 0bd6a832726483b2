"""Reads loop programs from text."""

from __future__ import annotations

import json

from ..instructions import TILES, bf16_to_f32, constant_array
from ..program import Block, Function, Instruction, Program, Value
from ..value_types import BOOL, I64, named
from .grammar import (
    ATTRIBUTES,
    IMPLIED,
    PLAIN,
    RESERVED,
    TOKEN,
    ProgramSyntaxError,
    is_type,
    literal_type,
    parameter_types,
)


def read(text):
    """The program that a text is. Raises ProgramSyntaxError; ``verify`` checks what it means."""
    return _Reader(text).program()


class _Line:
    """The tokens of one line, taken one after the other."""

    def __init__(self, number, text):
        self.number, self.text = number, text
        self.indent = len(text) - len(text.lstrip(" "))
        self.tokens, self.position = [], 0
        column = 0
        while column < len(text):
            found = TOKEN.match(text, column)
            if found is None:
                raise self.error("no such character", column)
            if found.lastgroup != "skip":
                self.tokens.append((found.lastgroup, found.group(), column))
            column = found.end()

    def error(self, expected, column=None):
        if column is None:
            found = self.tokens[self.position] if self.position < len(self.tokens) else None
            column = found[2] if found else len(self.text)
            expected = f"expected {expected}, found {repr(found[1]) if found else 'the end of the line'}"
        return ProgramSyntaxError(f"line {self.number}: {expected}\n    {self.text}\n    {' ' * column}^")

    def peek(self):
        return self.tokens[self.position][1] if self.position < len(self.tokens) else ""

    def accept(self, text):
        """Whether the next token is this one; takes it if so."""
        if self.peek() != text:
            return False
        self.position += 1
        return True

    def expect(self, text):
        if not self.accept(text):
            raise self.error(f"'{text}'")

    def take(self, kinds, expected):
        """The next token's text; it has to be of one of the kinds."""
        if self.position == len(self.tokens) or self.tokens[self.position][0] not in kinds:
            raise self.error(expected)
        self.position += 1
        return self.tokens[self.position - 1][1]

    def type(self):
        name = self.take(("word",), "a type")
        if not is_type(name):
            self.position -= 1
            raise self.error("a type")
        return named(name)

    def end(self):
        if self.position < len(self.tokens):
            raise self.error("the end of the line")

    def listed(self, item):
        """``item()`` for each element of a list that commas separate."""
        found = [item()]
        while self.accept(","):
            found.append(item())
        return found

    def in_brackets(self, item):
        self.expect("(")
        found = [] if self.peek() == ")" else self.listed(item)
        self.expect(")")
        return found


class _Number:
    """A number in the place of an operand: its text, and the type if that was written."""

    def __init__(self, texts, type, column):
        self.texts, self.type, self.column = texts, type, column


class _Reader:
    """Reads a program, line by line. Knows nothing of types but what the numbers in it need."""

    def __init__(self, text):
        self.raw = text.splitlines()
        self.lines, self.position = [], 0
        self.functions = {}

    def program(self):
        name = self._program_name()
        while self.position < len(self.lines):
            self._function()
        return Program(name, self.functions.values())

    def _program_name(self):
        """The name in the first line; makes lines of those after it."""
        first = next((i for i, text in enumerate(self.raw) if text.strip() and not text.lstrip().startswith("#")), 0)
        text = self.raw[first] if self.raw else ""
        if not text.startswith("program "):
            raise _Line(first + 1, text).error("'program' and a name")
        lines = (_Line(i, line) for i, line in enumerate(self.raw[first + 1 :], first + 2))
        self.lines = [line for line in lines if line.tokens]
        name = text.removeprefix("program ").strip()
        return json.loads(name) if name.startswith('"') else name

    # ---- functions and blocks

    def _function(self):
        line = self._next()
        self.values, self.used, self.constants = {}, set(), []
        line.expect("function")
        name = line.take(("word",), "the function's name")
        if name in self.functions:
            raise line.error(f"there is a function {name} already", 0)
        parameters = line.in_brackets(lambda: self._parameter(line))
        result = line.type() if line.accept("->") else None
        line.end()
        function = Function(name, parameters)
        self._block(function.body, line.indent, "return", [result] if result else [])
        self.functions[name] = function

    def _parameter(self, line):
        name = line.take(("word", "value"), "a parameter's name")
        line.expect(":")
        return self._defined(line, name, line.type())

    def _next(self):
        self.position += 1
        return self.lines[self.position - 1]

    def _block(self, block, outer, keyword, types):
        """The lines that are indented deeper than ``outer``, into the block."""
        known = set(self.values)
        self.constants.append({})
        self.block, parent = block, getattr(self, "block", None)
        indent = None
        while self.position < len(self.lines) and self.lines[self.position].indent > outer:
            line = self._next()
            indent = line.indent if indent is None else indent
            if line.indent != indent:
                raise line.error(f"expected the block's indentation of {indent} spaces", line.indent)
            if block.yields:
                raise line.error(f"no more lines after '{keyword}' in this block", line.indent)
            if line.accept(keyword):
                operands = line.listed(lambda line=line: self._operand(line))
                types = [*types, *[None] * len(operands)]
                block.yields = [self._value(line, o, t) for o, t in zip(operands, types)]
                line.end()
            else:
                self._statement(line, block)
        self.block = parent
        self.constants.pop()
        self.values = {n: v for n, v in self.values.items() if n in known and v not in block.arguments}

    # ---- values

    def _defined(self, line, name, type):
        """A new value called ``name``; digits are no name of its own."""
        if name in self.used or name in RESERVED or is_type(name):
            raise line.error(f"the name {name} is taken", next(c for _, text, c in line.tokens if text == name))
        own = name.lstrip("%")
        value = Value(type, None if own.isdigit() else own)
        self.used.add(name)
        self.values[name] = value
        return value

    def _operand(self, line):
        """The Value of a name, or a _Number."""
        column = line.tokens[line.position][2] if line.position < len(line.tokens) else len(line.text)
        kind = line.tokens[line.position][0] if line.position < len(line.tokens) else None
        text = line.take(("word", "value", "number"), "a value or a number")
        if kind == "number":
            return _Number([text], None, column)
        if text in self.values:
            return self.values[text]
        if kind == "word" and line.peek() == "(" and is_type(text):
            numbers = line.in_brackets(lambda: line.take(("number",), "a number"))
            return _Number(numbers, named(text), column)
        line.position -= 1
        raise line.error("a value that is defined before, in this block or around it")

    def _value(self, line, operand, type):
        """The operand as a Value of the current block: numbers become constants, each once in a block."""
        if isinstance(operand, Value):
            return operand
        type = operand.type or type
        if type is None or type.is_pointer:
            raise line.error("the line does not tell this number's type: write it like f32(0.5)", operand.column)
        numbers = tuple(self._parsed(line, text, type, operand.column) for text in operand.texts)
        if len(numbers) not in (1, type.lanes):
            raise line.error(f"{type} has {type.lanes} lanes, not {len(numbers)}", operand.column)
        number = numbers if len(numbers) > 1 else numbers[0]
        key = (type, repr(number))
        for known in self.constants:
            if key in known:
                return known[key]
        value = self.constants[-1][key] = Value(type)
        self.block.instructions.append(Instruction("constant", (), (value,), {"value": number}))
        return value

    def _parsed(self, line, text, type, column):
        if (type.scalar == "bool") != (text in ("true", "false")):
            raise line.error(f"'{text}' is no {type.with_lanes(1)}", column)
        if type.scalar == "bool":
            return text == "true"
        if type.is_float:
            exact = constant_array(type.with_lanes(1), float(text))
            return float(bf16_to_f32(exact) if type.scalar == "bf16" else exact)
        if not text.lstrip("+-").isdigit():
            raise line.error(f"'{text}' is no {type.with_lanes(1)}", column)
        return int(text)

    # ---- instructions

    def _statement(self, line, block):
        for keyword, method in (("loop", self._loop), ("if", self._if), ("parallel", self._parallel)):
            if line.accept(keyword):
                block.instructions.append(method(line))
                return
        name = None
        if line.tokens[0][0] == "value":
            name = line.take(("value",), "a name")
            line.expect("=")
        opcode = line.take(("word",), "an instruction")
        if opcode not in PLAIN:
            line.position -= 1
            raise line.error("an instruction")
        block.instructions.append(self._plain(line, name, opcode))

    def _plain(self, line, name, opcode):
        attributes = {}
        if opcode == "call":
            attributes["function"] = line.take(("word",), "a function's name")
            operands = line.in_brackets(lambda: self._operand(line))
        else:
            at_end = line.peek() in ("", ":") or (opcode in TILES and line.peek() == "tile")
            operands = [] if at_end else line.listed(lambda: self._operand(line))
            if line.accept("where"):
                operands.append(self._operand(line))
        while line.peek() in ATTRIBUTES:
            attribute = line.take(("word",), "an attribute")
            attributes[attribute] = self._attribute(line, ATTRIBUTES[attribute])
        result = None
        if name is not None:
            line.expect(":")
            result = line.type()
            if opcode in IMPLIED:
                attribute, follows = IMPLIED[opcode]
                attributes[attribute] = getattr(result, follows)
        line.end()
        operands = tuple(self._resolved(line, opcode, operands, attributes, result))
        results = () if name is None else (self._defined(line, name, result),)
        return Instruction(opcode, operands, results, attributes)

    def _resolved(self, line, opcode, operands, attributes, result):
        if opcode == "call":
            expected = parameter_types(self.functions.get(attributes["function"]), len(operands))
        else:
            types = [o.type for o in operands]  # of a number: the written one, or None
            types = [t if isinstance(o, Value) else None for o, t in zip(operands, types)]
            expected = [literal_type(opcode, i, result, types) for i in range(len(operands))]
        return [self._value(line, o, t) for o, t in zip(operands, expected)]

    def _attribute(self, line, kind):
        if kind is bool:
            return True
        if kind is str:
            return line.take(("word",), "a word")
        if kind is tuple:
            return tuple(line.in_brackets(lambda: self._attribute(line, int)))
        text = line.take(("number",), "a whole number")
        if not text.isdigit():
            line.position -= 1
            raise line.error("a whole number")
        return int(text)

    def _loop(self, line):
        index = line.take(("value",), "the name of the index")
        index = self._defined(line, index, I64)
        line.expect("from")
        first = self._value(line, self._operand(line), I64)
        line.expect("to")
        end = self._value(line, self._operand(line), I64)
        one = _Number(["1"], I64, 0)
        step = self._value(line, self._operand(line) if line.accept("step") else one, I64)
        carry = line.in_brackets(lambda: self._carried(line)) if line.accept("carry") else []
        names = []
        if carry:
            line.expect("->")
            names = line.in_brackets(lambda: line.take(("value",), "the name of a result"))
            if len(names) != len(carry):
                raise line.error(f"as many results as are carried ({len(carry)})")
        line.end()
        block = Block([index, *(argument for argument, _ in carry)])
        self._block(block, line.indent, "yield", [argument.type for argument, _ in carry])
        results = tuple(self._defined(line, name, argument.type) for name, (argument, _) in zip(names, carry))
        operands = (first, end, step, *(start for _, start in carry))
        return Instruction("loop", operands, results, None, (block,))

    def _carried(self, line):
        """One carried value, ``%5 = 0.0 : f32``: what the block calls it and what it starts with."""
        name = line.take(("value",), "the name of a carried value")
        line.expect("=")
        start = self._operand(line)
        line.expect(":")
        type = line.type()
        return self._defined(line, name, type), self._value(line, start, type)

    def _if(self, line):
        condition = self._value(line, self._operand(line), BOOL)
        results = line.in_brackets(lambda: self._result(line)) if line.accept("->") else []
        line.end()
        then, otherwise = Block(), Block()
        self._block(then, line.indent, "yield", [type for _, type in results])
        following = self.lines[self.position] if self.position < len(self.lines) else None
        if following and following.indent == line.indent and following.accept("else"):
            following.end()
            self.position += 1
            self._block(otherwise, line.indent, "yield", [type for _, type in results])
        values = tuple(self._defined(line, name, type) for name, type in results)
        return Instruction("if", (condition,), values, None, (then, otherwise))

    def _result(self, line):
        name = line.take(("value",), "the name of a result")
        line.expect(":")
        return name, line.type()

    def _parallel(self, line):
        chunk = line.take(("value",), "the name of the chunk")
        chunk = self._defined(line, chunk, I64)
        line.expect("<")
        count = self._value(line, self._operand(line), I64)
        line.end()
        block = Block([chunk])
        self._block(block, line.indent, "yield", [])
        return Instruction("parallel", (count,), (), None, (block,))
