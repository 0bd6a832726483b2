"""The loop program: values, instructions, blocks, functions. What every kernel is written in and compiled from.

A program is a list of functions. The last one is its entry: run by all threads at once, its parameters are pointers to
buffers and numbers. A function's body is a block: straight-line instructions in static single assignment form, some of
which (``loop``, ``if``, ``parallel``) hold blocks of their own. ``instructions.py`` says what each instruction means,
``text/`` writes a program and reads it back, ``verify.py`` checks it, ``interpret.py`` runs it slowly and defines it,
``emit.py`` turns it into LLVM IR.

Threads: the code outside of ``parallel`` is run by every thread that takes part, and so may not write memory, nor read
what the program writes. ``parallel`` hands out its chunks, each to one thread, and ends when all of them are done. How
many threads there are, and which took which chunk, can therefore change no result.
"""

from __future__ import annotations


class Value:
    """What an instruction, a loop or a parameter defines: a typed number, vector or pointer, defined once.

    While a program is being built, values know their builder, and arithmetic on them appends instructions to it.
    """

    __slots__ = ("builder", "name", "type")

    def __init__(self, type, name=None, builder=None):
        self.type, self.name, self.builder = type, name, builder

    def __repr__(self):
        return f"<{self.name or '%'}: {self.type}>"

    def __add__(self, other):
        return self.builder.add(self, other)

    def __radd__(self, other):
        return self.builder.add(other, self)

    def __sub__(self, other):
        return self.builder.binary("sub", self, other)

    def __rsub__(self, other):
        return self.builder.binary("sub", other, self)

    def __mul__(self, other):
        return self.builder.multiply(self, other)

    def __rmul__(self, other):
        return self.builder.multiply(other, self)

    def __truediv__(self, other):
        return self.builder.binary("div", self, other)

    def __rtruediv__(self, other):
        return self.builder.binary("div", other, self)

    def __floordiv__(self, other):
        return self.builder.binary("div", self, other)

    def __mod__(self, other):
        return self.builder.binary("rem", self, other)

    def __and__(self, other):
        return self.builder.binary("and", self, other)

    def __or__(self, other):
        return self.builder.binary("or", self, other)

    def __xor__(self, other):
        return self.builder.binary("xor", self, other)

    def __lshift__(self, other):
        return self.builder.binary("shl", self, other)

    def __rshift__(self, other):
        return self.builder.binary("shr", self, other)

    def __neg__(self):
        return self.builder.unary("neg", self)

    def __invert__(self):
        return self.builder.unary("not", self)

    def __abs__(self):
        return self.builder.unary("abs", self)

    def __lt__(self, other):
        return self.builder.binary("lt", self, other)

    def __le__(self, other):
        return self.builder.binary("le", self, other)

    def __gt__(self, other):
        return self.builder.binary("gt", self, other)

    def __ge__(self, other):
        return self.builder.binary("ge", self, other)

    def equals(self, other):
        return self.builder.binary("eq", self, other)

    def differs(self, other):
        return self.builder.binary("ne", self, other)

    def __bool__(self):
        raise TypeError("a value of a program being built has no truth value; use builder.when or builder.select")


class Instruction:
    """One step: an opcode, its operands and attributes, the values that it defines and the blocks that it holds.

    Attributes are plain Python values (the lanes of a load, the constant's number, the name of a called function).
    """

    __slots__ = ("attributes", "blocks", "opcode", "operands", "results")

    def __init__(self, opcode, operands=(), results=(), attributes=None, blocks=()):
        self.opcode, self.operands, self.results = opcode, operands, results
        self.attributes, self.blocks = attributes or {}, blocks

    def __repr__(self):
        return f"<{self.opcode} {self.operands} {self.attributes or ''}>"


class Block:
    """Instructions in order, the values that its owner gives it (a loop's index), and those that it hands back."""

    __slots__ = ("arguments", "instructions", "yields")

    def __init__(self, arguments=()):
        self.arguments, self.instructions, self.yields = list(arguments), [], []


class Function:
    """A named block with parameters. ``yields`` of its body are what it returns: nothing, or one value.

    A function stays one piece of machine code, however many places call it: they pay a call and save its size. Functions
    may call only functions before them in the program.
    """

    def __init__(self, name, parameters):
        self.name, self.parameters = name, parameters
        self.body = Block()

    @property
    def result_type(self):
        return self.body.yields[0].type if self.body.yields else None


class Program:
    """Functions in the order of definition; the last is the entry. ``name`` is for people: logs, ``show``, profiles."""

    def __init__(self, name, functions=()):
        self.name, self.functions = name, list(functions)

    @property
    def entry(self):
        return self.functions[-1]

    def let_go(self):
        """End the building: values and their builders hold each other, and only the collector of cycles would free them."""
        for function in self.functions:
            for value in function.parameters:
                if value.builder is not None:
                    value.builder.let_go()

    @property
    def is_parallel(self):
        """Whether the entry hands out any work to other threads."""
        return any(instruction.opcode == "parallel" for _, instruction in walk(self.entry.body))


def walk(block, depth=0):
    """Every instruction of a block and of the blocks inside it, as ``(depth, instruction)``, outer before inner."""
    for instruction in block.instructions:
        yield depth, instruction
        for inner in instruction.blocks:
            yield from walk(inner, depth + 1)
