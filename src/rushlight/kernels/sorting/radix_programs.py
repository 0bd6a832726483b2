"""The loop programs of sorting: stable radix sort by digits of eight bits, the lowest first.

Elements become unsigned keys in whose order they stand; a pass counts the digits of all keys, adds the counts up to the
places where each digit begins, and moves keys and positions there. The last pass writes the sorted elements instead.
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..rows.reduce_programs import chunked

DIGITS = 256
PARTS = 16  # of one long row, which threads share


class Sorter:
    """A program being built: parameters, keys, passes.

    ``scalar`` is the elements' type, ``passes`` how many digits a key has. Integers are counted from the parameter
    ``base``; ``flip`` has the bits of keys that are turned over, all where the order is descending.
    """

    def __init__(self, name, scalar, passes, sizes):
        self.scalar, self.passes = scalar, passes
        self.key = "u32" if passes <= 4 else "u64"
        kinds = {"source": scalar, "values": scalar, "places": "i64", "counts": "i64"}
        kinds |= {"keys0": self.key, "keys1": self.key, "order0": "u32", "order1": "u32"}
        numbers = [(size, "i64") for size in (*sizes, "base", "flip")]
        self.builder = Builder(name, [*((name, kind + "*") for name, kind in kinds.items()), *numbers])
        named = dict(zip([*kinds, *sizes, "base", "flip"], self.builder.parameters))
        self.source, self.values, self.places, self.counts = (named[n] for n in list(kinds)[:4])
        self.keys, self.order = [named["keys0"], named["keys1"]], [named["order0"], named["order1"]]
        self.sizes = [named[size] for size in sizes]
        self.base, self.flip = named["base"], self.builder.convert(named["flip"], self.key)

    def _key_of(self, x):
        builder = self.builder
        if not x.type.is_float:
            return builder.convert(builder.convert(x, "i64") - self.base, self.key) ^ self.flip
        whole, top = ("i32", 31) if self.scalar == "f32" else ("i64", 63)
        x = builder.select(x.equals(0), builder.constant(0, x.type), x)  # zeros of both signs are equal
        bits = builder.bitcast(x, whole)
        bits = bits ^ ((bits >> top) | -(1 << top))
        last = builder.constant(-1, bits.type)  # NaN is larger than all numbers
        return builder.bitcast(builder.select(x.differs(x), last, bits), self.key) ^ self.flip

    def make_keys(self, source, area, first, end):
        """Keys and positions of the elements from ``first`` to ``end``; scratch memory begins at ``area``."""
        builder = self.builder
        keys, order = builder.offset(self.keys[0], area), builder.offset(self.order[0], area)
        with builder.loop(first, end) as loop:
            builder.store(self._key_of(builder.load(source, loop.index)), keys, loop.index)
            builder.store(builder.convert(loop.index, "u32"), order, loop.index)

    def _digit(self, key, number):
        return self.builder.convert((key >> (8 * number)) & (DIGITS - 1), "i64")

    def count(self, number, area, counts, first, end):
        """How often each value of digit ``number`` occurs, into ``counts``."""
        builder = self.builder
        keys = builder.offset(self.keys[number % 2], area)
        builder.clear(counts, DIGITS, 8)
        with builder.loop(first, end) as loop:
            place = builder.offset(counts, self._digit(builder.load(keys, loop.index), number))
            builder.store(builder.load(place) + 1, place)

    def add_up(self, counts, parts):
        """Counts of ``parts`` parts as the places where each part's digits begin."""
        builder = self.builder
        with builder.loop(0, DIGITS, 1, [builder.constant(0)]) as digits:
            with builder.loop(0, parts, 1, digits.carry) as loop:
                place = builder.offset(counts, loop.index * DIGITS + digits.index)
                following = loop.carry[0] + builder.load(place)
                builder.store(loop.carry[0], place)
                loop.carry = [following]
            digits.carry = loop.results

    def move(self, number, row, area, counts, first, end):
        """Move keys and positions, or in the last pass the elements of the row that begins at ``row``."""
        builder = self.builder
        keys, order = (builder.offset(two[number % 2], area) for two in (self.keys, self.order))
        to_keys, to_order = (builder.offset(two[1 - number % 2], area) for two in (self.keys, self.order))
        source, values, places = (builder.offset(p, row) for p in (self.source, self.values, self.places))
        with builder.loop(first, end) as loop:
            key, position = builder.load(keys, loop.index), builder.load(order, loop.index)
            counter = builder.offset(counts, self._digit(key, number))
            place = builder.load(counter)
            builder.store(place + 1, counter)
            if number < self.passes - 1:
                builder.store(key, to_keys, place)
                builder.store(position, to_order, place)
            else:
                position = builder.convert(position, "i64")
                builder.store(builder.load(source, position), values, place)
                builder.store(position, places, place)


def sort_rows(scalar, passes):
    """Rows one after the other: ``rows``, of ``length``, shared out as ``chunks`` with scratch memory for one row each."""
    sorter = Sorter("sort_rows", scalar, passes, ("rows", "length", "chunks"))
    builder = sorter.builder
    rows, length, chunks = sorter.sizes
    with builder.parallel(chunks) as chunk:
        area, counts = chunk * length, builder.offset(sorter.counts, chunk * DIGITS)
        with builder.loop(chunk * rows // chunks, (chunk + 1) * rows // chunks) as row:
            start = row.index * length
            sorter.make_keys(builder.offset(sorter.source, start), area, 0, length)
            for number in range(passes):
                sorter.count(number, area, counts, 0, length)
                sorter.add_up(counts, 1)
                sorter.move(number, start, area, counts, 0, length)
    return Program("sort_rows", [builder.function])


def sort_long(scalar, passes):
    """One row, of ``length``, in parts that count and move their elements by themselves."""
    sorter = Sorter("sort_long", scalar, passes, ("length",))
    builder = sorter.builder
    (length,) = sorter.sizes

    def in_parts(body):
        with builder.parallel(builder.constant(PARTS)) as part:
            counts = builder.offset(sorter.counts, part * DIGITS)
            body(counts, part * length // PARTS, (part + 1) * length // PARTS)

    in_parts(lambda counts, first, end: sorter.make_keys(sorter.source, 0, first, end))
    for number in range(passes):
        in_parts(lambda counts, first, end, number=number: sorter.count(number, 0, counts, first, end))
        with builder.parallel(builder.constant(1)):
            sorter.add_up(sorter.counts, PARTS)
        in_parts(lambda counts, first, end, number=number: sorter.move(number, 0, 0, counts, first, end))
    return Program("sort_long", [builder.function])


def longest_runs(scalar):
    """``(values, places, rows, length, chunk, found, positions)``: of each row in order the element that occurs most often,
    the first one of several, and the place of the last of them."""
    arrays = [("values", f"{scalar}*"), ("places", "i64*")]
    sizes = [(size, "i64") for size in ("rows", "length", "chunk")]
    builder = Builder("longest_runs", [*arrays, *sizes, ("found", f"{scalar}*"), ("positions", "i64*")])
    values, places, rows, length, chunk, found, positions = builder.parameters

    def row(index):
        ordered, order = (builder.offset(each, index * length) for each in (values, places))
        zero = builder.constant(0)
        with builder.loop(0, length, 1, [zero, zero - 1, zero]) as loop:
            begin, longest, end = loop.carry
            before = builder.load(ordered, builder.maximum(loop.index, 1) - 1)
            begin = builder.select(builder.load(ordered, loop.index).differs(before), loop.index, begin)
            is_longer = loop.index - begin > longest
            longest = builder.select(is_longer, loop.index - begin, longest)
            loop.carry = [begin, longest, builder.select(is_longer, loop.index, end)]
        end = loop.results[2]
        builder.store(builder.load(ordered, end), found, index)
        builder.store(builder.load(order, end), positions, index)

    chunked(builder, rows, chunk, row)
    return Program("longest_runs", [builder.function])
