"""Random loop programs that verify, and running them."""

import numpy as np
from hypothesis import strategies as st

from rushlight.kernels.language.builder import Builder
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.language.program import Program

SIZE = 64
BINARY = {
    "f32": ["add", "sub", "mul", "div", "min", "max", "copysign"],
    "i32": ["add", "sub", "mul", "min", "max", "and", "or", "xor"],
    "i64": ["add", "sub", "mul", "min", "max", "and", "or", "xor"],
    "bool": ["and", "or", "xor"],
}
UNARY = {
    "f32": ["neg", "abs", "sqrt", "floor", "round"],
    "i32": ["neg", "abs", "not"],
    "i64": ["neg", "not"],
    "bool": ["not"],
}
NUMBERS = {
    "f32": st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.1, float("inf"), float("nan"), 3e38, 1e-45]),
    "i32": st.sampled_from([0, 1, -1, 7, 2**31 - 1, -(2**31)]),
    "i64": st.sampled_from([0, 1, -1, 7, 2**63 - 1]),
    "bool": st.booleans(),
}
TYPES = ["f32", "f32x4", "i32", "i32x4", "i64", "bool", "boolx4"]


class _Random:
    """Appends random statements to a builder; ``values`` are those in sight, by the name of their type."""

    def __init__(self, draw, builder):
        self.draw, self.builder = draw, builder

    def value(self, values, type):
        """A value of a type: one in sight, or a constant."""
        if values.get(type) and self.draw(st.integers(0, 3)):
            return self.draw(st.sampled_from(values[type]))
        number = self.draw(NUMBERS[type.partition("x")[0]])
        return self.builder.constant(number, type)

    def number_in_reach(self, values):
        """An i64 that is a valid index for four elements."""
        return (self.value(values, "i64") & 15) * 4

    def block(self, values, depth):
        """A few statements; returns the values in sight at the end."""
        values = {type: list(found) for type, found in values.items()}
        for _ in range(self.draw(st.integers(1, 5))):
            kinds = ["binary", "unary", "compare", "select", "convert", "lanes", "load", "store"]
            kind = self.draw(st.sampled_from(kinds + ["loop", "branch"] * (depth < 2)))
            for value in getattr(self, kind)(values, depth):
                values.setdefault(str(value.type), []).append(value)
        return values

    def type(self):
        return self.draw(st.sampled_from(TYPES))

    def binary(self, values, depth):
        type = self.type()
        opcode = self.draw(st.sampled_from(BINARY[type.partition("x")[0]]))
        return [self.builder.binary(opcode, self.value(values, type), self.value(values, type))]

    def unary(self, values, depth):
        type = self.type()
        return [self.builder.unary(self.draw(st.sampled_from(UNARY[type.partition("x")[0]])), self.value(values, type))]

    def compare(self, values, depth):
        type = self.draw(st.sampled_from(["f32", "f32x4", "i32", "i64"]))
        opcode = self.draw(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]))
        return [self.builder.binary(opcode, self.value(values, type), self.value(values, type))]

    def select(self, values, depth):
        type = self.type()
        condition = self.value(values, "bool")
        return [self.builder.select(condition, self.value(values, type), self.value(values, type))]

    def convert(self, values, depth):
        to = self.draw(st.sampled_from(["f32", "i64", "u8"]))
        return [self.builder.convert(self.value(values, self.draw(st.sampled_from(["i32", "i64", "bool"]))), to)]

    def lanes(self, values, depth):
        builder, vector = self.builder, self.value(values, "f32x4")
        kind = self.draw(st.integers(0, 4))
        if kind == 0:
            return [builder.reduce(vector, self.draw(st.sampled_from(["add", "mul", "min", "max"])))]
        if kind == 1:
            return [builder.extract(vector, self.draw(st.integers(0, 3)))]
        if kind == 2:
            lanes = self.draw(st.lists(st.integers(0, 7), min_size=4, max_size=4))
            return [builder.shuffle(vector, self.value(values, "f32x4"), lanes)]
        if kind == 3:
            return [builder.compress(vector, self.value(values, "boolx4"))]
        return [builder.splat(self.value(values, "f32"), 4)]

    def load(self, values, depth):
        pointer = self.builder.parameters[self.draw(st.integers(0, 1))]
        mask = self.value(values, "boolx4") if self.draw(st.booleans()) else None
        return [self.builder.load(pointer, self.number_in_reach(values), 4, mask)]

    def store(self, values, depth):
        type = self.draw(st.sampled_from(["f32", "f32x4", "i32", "i32x4"]))
        pointer = self.builder.parameters[type.startswith("i")]
        self.builder.store(self.value(values, type), pointer, self.number_in_reach(values))
        return []

    def loop(self, values, depth):
        types = [self.type() for _ in range(self.draw(st.integers(0, 2)))]
        carry = [self.value(values, type) for type in types]
        first = self.draw(st.integers(-2, 2))
        with self.builder.loop(first, self.draw(st.integers(-2, 6)), self.draw(st.integers(1, 3)), carry) as loop:
            inside = {type: list(found) for type, found in values.items()}
            for value in (loop.index, *loop.carry):
                inside.setdefault(str(value.type), []).append(value)
            inside = self.block(inside, depth + 1)
            loop.carry = [self.value(inside, type) for type in types]
        return loop.results

    def branch(self, values, depth):
        types = [self.type() for _ in range(self.draw(st.integers(0, 2)))]

        def taken():
            inside = self.block(values, depth + 1)
            return [self.value(inside, type) for type in types]

        return self.builder.choose(self.value(values, "bool"), taken, taken)


@st.composite
def programs(draw):
    """A program with parameters ``floats: f32*, integers: i32*, n: i64, factor: f32``."""
    builder = Builder("random", [("floats", "f32*"), ("integers", "i32*"), ("n", "i64"), ("factor", "f32")])
    writer = _Random(draw, builder)
    with builder.parallel(draw(st.integers(0, 2))) as chunk:
        values = writer.block({"i64": [builder.parameters[2], chunk], "f32": [builder.parameters[3]]}, 0)
        for type in ("f32", "f32x4", "i32", "i32x4"):
            for place, value in enumerate(values.get(type, [])[-8:]):
                builder.store(value, builder.parameters[type.startswith("i")], 4 * place)
    return Program("random", [builder.function])


def run(program, execute=interpret):
    """What the two buffers hold after ``execute(program, *arguments)``."""
    floats = np.linspace(-3, 3, SIZE, dtype=np.float32)
    integers = np.arange(-SIZE, SIZE, 2, dtype=np.int32)
    execute(program, floats, integers, 5, 0.75)
    return floats, integers
