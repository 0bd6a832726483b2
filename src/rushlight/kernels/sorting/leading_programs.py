"""The loop programs of `topk`: the first elements of each row in an order, and where they are.

Elements become signed keys in whose order they stand. Few of many are kept in a heap, which an element enters only where
it comes before the last one there: vectors look for such elements. Many are found by the key of the last one.
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program

ROUND = 4  # vectors of keys that are compared with the heap's top at a time
GROUP = 8  # bits of the last key that are found before keys without a chance are left out


def key_scalar(scalar):
    """The type of keys for elements of ``scalar``."""
    return "i64" if scalar in ("f64", "i64", "u64", "u32") else "i32"


def key_of(builder, x, largest):
    """The key of an element or a vector of them: NaN is the largest number, zeros of both signs are equal."""
    scalar, key = x.type.scalar, key_scalar(x.type.scalar)
    if x.type.is_float:
        x = builder.select(x.equals(0), builder.constant(0, x.type), x)
        bits = builder.bitcast(x, key)
        bits = bits ^ ((bits >> (31 if key == "i32" else 63)) & (2 ** (31 if key == "i32" else 63) - 1))
        bits = builder.select(x.differs(x), builder.constant(2 ** (31 if key == "i32" else 63) - 1, bits.type), bits)
    elif scalar == "u64":
        bits = builder.bitcast(x, key) ^ -(1 << 63)
    else:
        bits = builder.convert(x, key)
    return ~bits if largest else bits


class Heap:
    """A binary heap of keys and places in memory, the last one in order on top.

    Which of equal elements are kept, and in what order, follows from how it moves them: as the heaps of C++'s standard
    library do, down to a leaf first and then up, so that places are those that PyTorch gives.
    """

    def __init__(self, builder, keys, places, levels):
        self.builder, self.keys, self.places, self.levels = builder, keys, places, levels

    def _move(self, source, target):
        builder = self.builder
        builder.store(builder.load(self.keys, source), self.keys, target)
        builder.store(builder.load(self.places, source), self.places, target)

    def put(self, top, size, key, place):
        """Put an element into the heap of ``size`` below ``top``, whose own element has been taken out."""
        builder = self.builder
        inner = (size - 1) >> 1  # places before have two children
        with builder.loop(0, self.levels, 1, [top]) as loop:
            (hole,) = loop.carry
            has_two = hole < inner  # without: a move from the hole to itself, sooner done than a branch is mistaken
            left, right = (builder.select(has_two, hole * 2 + side, hole) for side in (1, 2))
            is_left = builder.load(self.keys, right) < builder.load(self.keys, left)
            child = right - builder.convert(is_left, "i64")  # no select, of which LLVM makes a branch
            self._move(child, hole)
            loop.carry = [child]
        (hole,) = loop.results
        has_one = (size & 1).equals(0) & hole.equals((size - 2) >> 1)

        def to_only_child():
            self._move(hole * 2 + 1, hole)
            return [hole * 2 + 1]

        carry = builder.choose(has_one, to_only_child, lambda: [hole])
        with builder.loop(0, self.levels, 1, carry) as loop:
            (hole,) = loop.carry
            parent = (builder.maximum(hole, 1) - 1) >> 1
            rises = (hole > top) & (builder.load(self.keys, parent) < key)

            def up(hole=hole, parent=parent):
                self._move(parent, hole)
                return [parent]

            loop.carry = builder.choose(rises, up, lambda hole=hole: [hole])
        builder.store(key, self.keys, loop.results[0])
        builder.store(place, self.places, loop.results[0])

    def make(self, size):
        """A heap of the elements that lie there."""
        builder = self.builder
        half = size >> 1
        with builder.loop(0, half) as loop:
            top = half - 1 - loop.index
            self.put(top, size, builder.load(self.keys, top), builder.load(self.places, top))

    def sort(self, size):
        """All elements in order."""
        builder = self.builder
        with builder.loop(0, size - 1) as loop:
            last = size - 1 - loop.index
            key, place = builder.load(self.keys, last), builder.load(self.places, last)
            self._move(0, last)
            self.put(builder.constant(0), last, key, place)


PENDING = (ROUND + 1) * 64  # keys, at least of so many vectors, that scratch memory has room for behind a heap or a row


def _signature(name, scalar, scratches, sizes):
    kinds = [("source", f"{scalar}*"), ("values", f"{scalar}*"), ("places", "i64*")]
    kinds += [(each, f"{key_scalar(scalar)}*") for each in scratches]
    return Builder(name, kinds + [(size, "i64") for size in sizes])


def _rows(builder, rows, chunks, body):
    """``body(row, chunk)`` for all rows, shared out as ``chunks``."""
    with builder.parallel(chunks) as chunk:
        with builder.loop(chunk * rows // chunks, (chunk + 1) * rows // chunks) as row:
            body(row.index, chunk)


def _kept(builder, mask):
    """How many lanes of a mask hold."""
    return builder.convert(builder.reduce(builder.convert(mask, "i32")), "i64")


def few(scalar, largest, lanes):
    """The first ``count`` elements by a heap: ``(source, values, places, heap_keys, heap_places, rows, length, count,
    levels, chunks)``, with scratch memory of ``count + PENDING`` for each chunk, and the levels that such a heap has."""
    sizes = ("rows", "length", "count", "levels", "chunks")
    builder = _signature("leading_few", scalar, ("heap_keys", "heap_places"), sizes)
    source, values, places, heap_keys, heap_places, rows, length, count, levels, chunks = builder.parameters
    key = key_scalar(scalar)
    steps = builder.iota(f"{key}x{lanes}")

    def body(row, chunk):
        elements = builder.offset(source, row * length)
        area = chunk * (count + PENDING)
        heap = Heap(builder, builder.offset(heap_keys, area), builder.offset(heap_places, area), levels)
        pending = [builder.offset(memory, count) for memory in (heap.keys, heap.places)]
        with builder.loop(0, count) as loop:
            builder.store(key_of(builder, builder.load(elements, loop.index), largest), heap.keys, loop.index)
            builder.store(builder.convert(loop.index, key), heap.places, loop.index)
        heap.make(count)

        def enter(index, keys, mask, top):
            """Put those of the keys into the heap that come before its top; the new top."""
            filled = builder.constant(0)
            for k, each in enumerate(keys):
                enters = each < top if mask is None else (each < top) & mask

                def compress(each=each, enters=enters, at=index + k * lanes, filled=filled):
                    here = steps + builder.splat(builder.convert(at, key), lanes)
                    builder.store(builder.compress(each, enters), pending[0], filled)
                    builder.store(builder.compress(here, enters), pending[1], filled)
                    return [filled + _kept(builder, enters)]

                (filled,) = builder.choose(builder.reduce(enters, "or"), compress, lambda filled=filled: [filled])
            with builder.loop(0, filled) as loop:
                found = builder.load(pending[0], loop.index)
                with builder.when(found < builder.load(heap.keys)):
                    heap.put(builder.constant(0), count, found, builder.load(pending[1], loop.index))
            return builder.splat(builder.load(heap.keys), lanes)

        def look(index, mask, carry, vectors=1):
            (top,) = carry
            keys = [
                key_of(builder, builder.load(elements, index + k * lanes, lanes, mask), largest) for k in range(vectors)
            ]
            least = keys[0]
            for each in keys[1:]:
                least = builder.minimum(least, each)
            enters = least < top if mask is None else (least < top) & mask
            return builder.choose(builder.reduce(enters, "or"), lambda: [enter(index, keys, mask, top)], lambda: [top])

        whole = count + (length - count) // (lanes * ROUND) * (lanes * ROUND)
        top = builder.splat(builder.load(heap.keys), lanes)
        with builder.loop(count, whole, lanes * ROUND, [top]) as loop:
            loop.carry = look(loop.index, None, loop.carry, ROUND)
        builder.for_lanes(whole, length, lanes, look, loop.results)
        heap.sort(count)
        _write(builder, elements, heap.places, values, places, row * count, count)

    _rows(builder, rows, chunks, body)
    return Program("leading_few", [builder.function])


def _write(builder, elements, found, values, places, start, count):
    """Write ``count`` elements whose places have been found, and these."""
    with builder.loop(0, count) as loop:
        place = builder.convert(builder.load(found, loop.index), "i64")
        builder.store(builder.load(elements, place), values, start + loop.index)
        builder.store(place, places, start + loop.index)


def many(scalar, largest, lanes):
    """The first ``count`` elements in the order of their places, those equal to the last one at the end:
    ``(source, values, places, keys, found, rows, length, count, chunks)``, with scratch memory of ``length + PENDING``
    for each chunk."""
    builder = _signature("leading_many", scalar, ("keys", "found"), ("rows", "length", "count", "chunks"))
    source, values, places, all_keys, all_found, rows, length, count, chunks = builder.parameters

    def body(row, chunk):
        elements = builder.offset(source, row * length)
        keys, found = (builder.offset(memory, chunk * (length + PENDING)) for memory in (all_keys, all_found))

        def make(index, mask, carry):
            builder.store(key_of(builder, builder.load(elements, index, lanes, mask), largest), keys, index, mask)

        builder.for_lanes(0, length, lanes, make)
        last, rank = _last_key(builder, keys, length, count, lanes)
        _collect(builder, elements, length, found, lanes, largest, last, count - rank, count)
        _write(builder, elements, found, values, places, row * count, count)

    _rows(builder, rows, chunks, body)
    return Program("leading_many", [builder.function])


def _last_key(builder, keys, length, count, lanes):
    """(the key that comes as number ``count``, as which of those equal to it); keys that cannot be it are overwritten.

    It is put together bit by bit, from the highest one on: a bit is set where fewer than ``count`` keys are below the
    key that this gives.
    """
    key = keys.type.element.scalar
    bits = 32 if key == "i32" else 64
    one, none = builder.constant(1, key), builder.constant(0, f"{key}x{lanes}")

    def below(bound, left):
        """How many of the keys are less than ``bound``."""
        bound = builder.splat(bound, lanes)

        def count_vector(index, mask, carry):
            less = builder.load(keys, index, lanes, mask) < bound
            return [carry[0] + builder.convert(less if mask is None else less & mask, key)]

        (counts,) = builder.for_lanes(0, left, lanes, count_vector, [none])
        return builder.convert(builder.reduce(counts), "i64")

    lowest = builder.constant(-(1 << bits - 1), key)
    with builder.loop(0, bits // GROUP, 1, [lowest, length, count]) as groups:
        last, left, rank = groups.carry
        shift = builder.convert((bits // GROUP - 1 - groups.index) * GROUP, key)
        with builder.loop(0, GROUP, 1, [last]) as loop:
            bit = builder.binary("shl", one, shift + (GROUP - 1) - builder.convert(loop.index, key))
            bound = loop.carry[0] + bit
            loop.carry = [builder.select(below(bound, left) < rank, bound, loop.carry[0])]
        (last,) = loop.results
        rank = rank - below(last, left)
        final = last + (builder.binary("shl", one, shift) - 1)
        first, final = (builder.splat(bound, lanes) for bound in (last, final))

        def keep(index, mask, carry):
            each = builder.load(keys, index, lanes, mask)
            kept = (each >= first) & (each <= final)
            kept = kept if mask is None else kept & mask
            builder.store(builder.compress(each, kept), keys, carry[0])
            return [carry[0] + _kept(builder, kept)]

        (left,) = builder.for_lanes(0, left, lanes, keep, [builder.constant(0)])
        groups.carry = [last, left, rank]
    return groups.results[0], groups.results[2]


def _collect(builder, elements, length, found, lanes, largest, last, before, count):
    """The places of the ``before`` elements with keys before ``last``, then of as many with that key as make ``count``."""
    steps = builder.iota(last.type.with_lanes(lanes))
    bound = builder.splat(last, lanes)

    def collect(index, mask, carry):
        at, equal_at = carry
        keys = key_of(builder, builder.load(elements, index, lanes, mask), largest)
        here = steps + builder.splat(builder.convert(index, last.type.scalar), lanes)
        less, equal = keys < bound, keys.equals(bound)
        if mask is not None:
            less, equal = less & mask, equal & mask
        kept = _kept(builder, less)
        builder.store(builder.compress(here, less), found, at, builder.first_lanes(kept, lanes))
        kept_equal = builder.minimum(_kept(builder, equal), count - equal_at)
        with builder.when(kept_equal > 0):
            builder.store(builder.compress(here, equal), found, equal_at, builder.first_lanes(kept_equal, lanes))
        return [at + kept, equal_at + kept_equal]

    builder.for_lanes(0, length, lanes, collect, [builder.constant(0), before])
