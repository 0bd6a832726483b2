"""The builder: writes loop programs with Python's operators and ``with`` statements.

builder = Builder("scale", [("x", "f32*"), ("out", "f32*"), ("n", "i64"), ("factor", "f32")])
x, out, n, factor = builder.parameters
with builder.loop(0, n) as loop:
    builder.store(builder.load(x, loop.index) * factor, out, loop.index)
program = Program("scale", [builder.function])
"""

from __future__ import annotations

from contextlib import contextmanager

from .instructions import OPCODES, result_type
from .program import Block, Function, Instruction, Value
from .value_types import I64, Type, named
from .value_types import pointer as pointer_to


class Loop:
    """A loop being built: ``index``, ``carry`` (a list of values: read it, then assign the next ones) and, after the
    ``with`` statement, ``results``."""

    __slots__ = ("carry", "index", "results")


class Builder:
    """Appends instructions to one function.

    Args:
        name: the function's name.
        parameters: pairs of name and type (a Type or its name).

    ``builder.parameters`` are the parameters' values. Python numbers are taken for constants of the other operand's type.
    """

    def __init__(self, name, parameters):
        values = [Value(t if isinstance(t, Type) else named(t), n, self) for n, t in parameters]
        self.function = Function(name, values)
        self.parameters = values
        self.block = self.function.body
        # Pure instructions by content, one dict for each open block: no value is computed twice.
        self._expressions = [{}]

    def let_go(self):
        """Forget what was built: values still know their builder, but that holds them no longer."""
        self.function = self.block = self.parameters = self._expressions = None

    # ---- plumbing

    def _append(self, opcode, operands, type, attributes=None):
        results = () if type is None else (Value(type, None, self),)
        self.block.instructions.append(Instruction(opcode, operands, results, attributes, ()))
        return results[0] if results else None

    def _pure(self, opcode, operands, type, attributes=None):
        """As ``_append``, for instructions whose result depends on their operands alone: repeated ones are shared."""
        key = (opcode, type, *map(id, operands), attributes and repr(attributes))  # repr tells -0.0 from 0.0
        for known in self._expressions:
            found = known.get(key)
            if found is not None:
                return found
        found = self._expressions[-1][key] = self._append(opcode, operands, type, attributes)
        return found

    @contextmanager
    def inside(self, block):
        """Append to another block for a while."""
        outer, self.block = self.block, block
        self._expressions.append({})
        try:
            yield
        finally:
            self._expressions.pop()
            self.block = outer

    def value(self, number, type):
        """``number`` as a value of ``type``: itself if it is one (scalars are splat), else a constant."""
        if isinstance(number, Value):
            if number.type is not type and type.is_vector and number.type is type.with_lanes(1):
                return self.splat(number, type.lanes)
            return number
        return self.constant(number, type)

    def constant(self, number, type=I64):
        """A constant: a number, or a tuple with one for each lane."""
        type = type if isinstance(type, Type) else named(type)
        if type.is_float:
            number = tuple(map(float, number)) if isinstance(number, tuple) else float(number)
        return self._pure("constant", (), type, {"value": number})

    # ---- arithmetic

    def binary(self, opcode, a, b):
        """Any instruction of two operands; a number or a scalar beside a vector is spread over its lanes."""
        if not isinstance(a, Value):
            a = self.value(a, b.type)
        elif not isinstance(b, Value) or a.type.is_vector:
            b = self.value(b, a.type)
        if b.type.is_vector:
            a = self.value(a, b.type)
        return self._pure(opcode, (a, b), result_type(opcode, (a.type, b.type), None))

    def add(self, a, b):
        """a + b; adding the index 0 changes nothing."""
        if a.__class__ is int and a == 0 and b.type.is_integer:
            return b
        if b.__class__ is int and b == 0 and a.type.is_integer:
            return a
        return self.binary("add", a, b)

    def multiply(self, a, b):
        """a * b; multiplying an index by 1 changes nothing."""
        if a.__class__ is int and a == 1 and b.type.is_integer:
            return b
        if b.__class__ is int and b == 1 and a.type.is_integer:
            return a
        return self.binary("mul", a, b)

    def unary(self, opcode, a):
        return self._pure(opcode, (a,), result_type(opcode, (a.type,), None))

    def fma(self, a, b, c):
        """a * b + c, rounded once. Numbers and scalars are spread to the widest operand's type."""
        widest = max((v.type for v in (a, b, c) if isinstance(v, Value)), key=lambda t: t.lanes)
        a, b, c = (self.value(v, widest) for v in (a, b, c))
        return self._pure("fma", (a, b, c), result_type("fma", (a.type, b.type, c.type), None))

    def dot(self, a, b, total):
        """total + the products of the pairs of bfloat16 numbers in each i32 of a and b."""
        return self._pure("dot", (a, b, total), result_type("dot", (a.type, b.type, total.type), None))

    def round_bfloat16(self, a):
        """float32 numbers as bfloat16, beside `dot`: denormal ones become 0."""
        return self.unary("round_bfloat16", a)

    def select(self, condition, a, b):
        """a where the condition holds, else b."""
        if not isinstance(a, Value) and not isinstance(b, Value):
            raise TypeError("select needs a value among its choices")
        a = self.value(a, b.type) if not isinstance(a, Value) else a
        b = self.value(b, a.type)
        a = self.value(a, b.type)
        return self._pure("select", (condition, a, b), result_type("select", (condition.type, a.type, b.type), None))

    def convert(self, a, scalar):
        """The value in another scalar type (its name); itself if it has that already."""
        if a.type.scalar == scalar:
            return a
        return self._pure("convert", (a,), a.type.with_scalar(scalar), {"to": scalar})

    def bitcast(self, a, scalar):
        attributes = {"to": scalar}
        return self._pure("bitcast", (a,), result_type("bitcast", (a.type,), attributes), attributes)

    def reinterpret(self, pointer, scalar):
        """The same memory as elements of another scalar type."""
        return self._pure("reinterpret", (pointer,), pointer_to(scalar), {"to": scalar})

    def minimum(self, a, b):
        return self.binary("min", a, b)

    def maximum(self, a, b):
        return self.binary("max", a, b)

    def math(self, name, *operands):
        """A function by its opcode: ``builder.math("exp", x)``, ``builder.math("pow", x, 2.0)``."""
        if name not in OPCODES:
            raise ValueError(f"there is no instruction '{name}'")
        return self.unary(name, *operands) if len(operands) == 1 else self.binary(name, *operands)

    # ---- lanes

    def splat(self, scalar, lanes):
        return scalar if lanes == 1 else self._pure("splat", (scalar,), scalar.type.with_lanes(lanes), {"lanes": lanes})

    def iota(self, type):
        """0, 1, 2, ... as an integer vector type."""
        return self._pure("iota", (), type if isinstance(type, Type) else named(type), None)

    def extract(self, vector, lane):
        return self._pure("extract", (vector,), vector.type.with_lanes(1), {"lane": lane})

    def shuffle(self, a, b, lanes):
        """Lanes of two vectors of one type, numbered through both."""
        lanes = tuple(lanes)
        return self._pure("shuffle", (a, b), a.type.with_lanes(len(lanes)), {"lanes": lanes})

    def reduce(self, vector, by="add"):
        """All lanes combined, by a tree of halves; a scalar stays as it is."""
        if not vector.type.is_vector:
            return vector
        return self._pure("reduce", (vector,), vector.type.with_lanes(1), {"by": by})

    def compress(self, vector, mask):
        return self._pure("compress", (vector, mask), vector.type, None)

    def first_lanes(self, count, lanes):
        """A mask that holds in the first ``count`` (i64) lanes."""
        wide = self.convert(count, "i32")
        return self.iota(f"i32x{lanes}") < self.splat(wide, lanes)

    # ---- memory

    def offset(self, pointer, index):
        if index.__class__ is int and index == 0:
            return pointer
        return self._pure("offset", (pointer, self.value(index, I64)), pointer.type)

    def load(self, pointer, index=0, lanes=1, mask=None, align=None):
        """The element (or so many elements in a row) at ``pointer + index``."""
        pointer = self.offset(pointer, index)
        element = pointer.type.element
        type = element.with_lanes(lanes) if lanes > 1 else element
        attributes = {"align": align} if align else None
        return self._append("load", (pointer,) if mask is None else (pointer, mask), type, attributes)

    def store(self, value, pointer, index=0, mask=None, stream=False, align=None):
        pointer = self.offset(pointer, index)
        value = self.value(value, pointer.type.element)
        attributes = {name: given for name, given in (("stream", stream), ("align", align)) if given} or None
        self._append("store", (value, pointer) if mask is None else (value, pointer, mask), None, attributes)

    def gather(self, pointer, indices, mask=None):
        type = pointer.type.element.with_lanes(indices.type.lanes)
        return self._append("gather", (pointer, indices) if mask is None else (pointer, indices, mask), type)

    def scatter(self, value, pointer, indices, mask=None):
        self._append("scatter", (value, pointer, indices) if mask is None else (value, pointer, indices, mask), None)

    def prefetch(self, pointer, index=0, write=False):
        """Fetch the cache line of ``pointer + index``; ``write`` it is to be written soon. Any address will do."""
        self._append("prefetch", (self.offset(pointer, index),), None, {"write": True} if write else None)

    # ---- tiles

    @contextmanager
    def tiles(self):
        """What uses tile registers stands inside; within one chunk."""
        self._append("tiles_begin", (), None)
        yield
        self._append("tiles_end", (), None)

    def tile_zero(self, tile):
        self._append("tile_zero", (), None, {"tile": tile})

    def tile_load(self, tile, pointer, index=0, stride=64):
        """Load 16 rows of 64 bytes that lie ``stride`` bytes apart from ``pointer + index`` on."""
        operands = (self.offset(pointer, index), self.value(stride, I64))
        self._append("tile_load", operands, None, {"tile": tile})

    def tile_store(self, tile, pointer, index=0, stride=64):
        operands = (self.offset(pointer, index), self.value(stride, I64))
        self._append("tile_store", operands, None, {"tile": tile})

    def tile_multiply(self, tile, a, b):
        """Add the product of the bfloat16 tiles ``a`` and ``b`` to the float32 tile ``tile``."""
        self._append("tile_multiply", (), None, {"tile": tile, "a": a, "b": b})

    # ---- structure

    @contextmanager
    def loop(self, first, end, step=1, carry=()):
        """``for index in range(first, end, step)``, with values that go from one round to the next.

        with builder.loop(0, n, carry=[zero]) as loop:
            loop.carry[0] = loop.carry[0] + builder.load(x, loop.index)
        total = loop.results[0]
        """
        first, end, step = (self.value(v, I64) for v in (first, end, step))
        carry = list(carry)
        block = Block([Value(I64, None, self), *(Value(v.type, None, self) for v in carry)])
        loop = Loop()
        loop.index, loop.carry = block.arguments[0], block.arguments[1:]
        with self.inside(block):
            yield loop
            block.yields = [self.value(v, start.type) for v, start in zip(loop.carry, carry, strict=True)]
        results = tuple(Value(v.type, None, self) for v in carry)
        instruction = Instruction("loop", (first, end, step, *carry), results, None, (block,))
        self.block.instructions.append(instruction)
        loop.results = list(results)

    @contextmanager
    def when(self, condition):
        """Run what follows only where the scalar condition holds."""
        block = Block()
        with self.inside(block):
            yield
        self.block.instructions.append(Instruction("if", (condition,), (), None, (block, Block())))

    def choose(self, condition, then, otherwise):
        """The values that ``then()`` or ``otherwise()`` returns (a list each, of the same types); only one is run."""
        blocks = []
        for branch in (then, otherwise):
            block = Block()
            with self.inside(block):
                block.yields = list(branch())
            blocks.append(block)
        results = tuple(Value(v.type, None, self) for v in blocks[0].yields)
        self.block.instructions.append(Instruction("if", (condition,), results, None, tuple(blocks)))
        return list(results)

    @contextmanager
    def parallel(self, count):
        """Hand out ``count`` chunks to the threads; the value is the chunk's number. Ends when all chunks are done."""
        block = Block([Value(I64, None, self)])
        with self.inside(block):
            yield block.arguments[0]
        self.block.instructions.append(Instruction("parallel", (self.value(count, I64),), (), None, (block,)))

    def worker(self):
        """Which thread this is (i64): for the choice of scratch memory."""
        return self._append("worker", (), I64)

    def call(self, function, *arguments):
        """Call another function of the program (a Function); returns what it returns, or None."""
        arguments = tuple(self.value(a, p.type) for a, p in zip(arguments, function.parameters, strict=True))
        return self._append("call", arguments, function.result_type, {"function": function.name})

    def returns(self, value):
        """End the function with a value."""
        self.function.body.yields = [value]

    # ---- idioms

    def for_lanes(self, first, end, lanes, body, carry=()):
        """Go from ``first`` to ``end`` in steps of ``lanes``: whole vectors in a loop, then the rest under a mask.

        ``body(index, mask, carry)`` is called twice, with mask None and with the mask of the rest; it returns the next
        values of the carry (a list). Returns the carry's last values. Masked-off lanes must leave the carry as it was:
        that is for ``body`` to see to.
        """
        first, end = self.value(first, I64), self.value(end, I64)
        if lanes == 1:
            with self.loop(first, end, 1, carry) as loop:
                loop.carry = body(loop.index, None, loop.carry) or []
            return loop.results
        whole = first + (end - first) // lanes * lanes
        with self.loop(first, whole, lanes, carry) as loop:
            loop.carry = body(loop.index, None, loop.carry) or []
        mask = self.first_lanes(end - whole, lanes)
        return self.choose(
            whole < end,
            lambda: [self.value(v, c.type) for v, c in zip(body(whole, mask, loop.results) or [], carry, strict=True)],
            lambda: loop.results,
        )

    def clear(self, target, count, lanes, whole=False):
        """Zeros in ``count`` elements from ``target`` on; ``whole``: the count is known to be a multiple of the lanes."""
        zero = self.constant(0, target.type.element.with_lanes(lanes))
        if not whole:
            self.for_lanes(0, count, lanes, lambda index, mask, _: self.store(zero, target, index, mask))
            return
        with self.loop(0, count, lanes) as place:
            self.store(zero, target, place.index)
