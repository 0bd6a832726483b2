"""The loop programs of elementwise operations: a flat one for equal layouts, one of tiles for any strides."""

from __future__ import annotations

from ...base.processors import shared_cache_bytes
from ..compiler.trace import Emission
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import vector

# Where operands and result are far more than the shared cache holds, results go past the caches: a sum of 8,000,000 takes
# 1250 us against 1490. One of 5,000,000, twice the cache, still finds half of it there: 360 us, and 410 past the caches.
# Machines that share the cache with strangers name more than they give.
STREAM_BYTES = min(2 * shared_cache_bytes(), 64 << 20)

# How a strided operand lies along the columns (see `strided`): with stride 0, 1, -1, a small one that is known, or any.
FIXED, DENSE, REVERSED, SPACED = "fixed", "dense", "reversed", "spaced"
NEAR = {2: "every second", 3: "every third", 4: "every fourth"}
_APART = {kind: stride for stride, kind in NEAR.items()}


class Signature:
    """What determines an elementwise program, besides the layout.

    ``operands`` are pairs ``(scalar in memory, scalar of computation)`` for arrays and ``("number", scalar)`` for 0-dim
    ones, ``None`` where an operand is absent; ``formula(m, *elements)`` gets an element or None for each. ``numbers``
    says how many parameters come on top, from options; ``computed`` is the scalar that they and the result have,
    ``result`` the scalar in which it is stored.
    """

    def __init__(self, name, formula, operands, computed, result, numbers):
        self.name, self.formula, self.operands = name, formula, operands
        self.computed, self.result, self.numbers = computed, result, numbers

    def lanes(self, vector_bytes):
        """So many that the widest of all elements fill one vector."""
        scalars = {self.computed, self.result}
        scalars.update(scalar for pair in self.operands if pair for scalar in pair if scalar != "number")
        return vector_bytes // max(vector(scalar, 1).size for scalar in scalars)

    @property
    def number_type(self):
        """The type of parameters that are options."""
        return "f64" if self.computed == "f64" else "f32"

    def parameters(self):
        """Names and types of the entry's parameters: operands, ``out``."""
        found = []
        for i, pair in enumerate(self.operands):
            if pair is None:
                continue
            memory, computed = pair
            if memory == "number":
                memory = "f64" if computed == "f64" else "f32" if computed in ("f32", "f16", "bf16") else "i64"
                found.append((f"x{i}", memory))
            else:
                found.append((f"x{i}", memory + "*"))
        return [*found, ("out", self.result + "*")]

    def option_parameters(self):
        return [(f"number{i}", self.number_type) for i in range(self.numbers)]


class _Body:
    """The formula between loads and a store. Numbers are spread over the lanes once, where this is made."""

    def __init__(self, builder, signature, lanes, operands, options):
        self.builder, self.signature, self.lanes = builder, signature, lanes
        self.type = vector(signature.computed, lanes)
        self.numbers = [builder.splat(builder.convert(value, signature.computed), lanes) for value in options]
        self.fixed = {}  # operands that are numbers, ready for the formula
        self.pointers = []  # (position, pointer) of the others
        values = iter(operands)
        for position, pair in enumerate(signature.operands):
            if pair is None:
                self.fixed[position] = None
                continue
            value = next(values)
            if pair[0] == "number":
                self.fixed[position] = builder.splat(builder.convert(value, pair[1]), lanes)
            else:
                self.pointers.append((position, value))

    def convert(self, position, value):
        """What was loaded of an operand, as it enters the formula."""
        return self.builder.convert(value, self.signature.operands[position][1])

    def result(self, loaded):
        """The formula's value for what was loaded: a dict from position to value."""
        emission = Emission(self.builder, self.type, self.numbers)
        elements = []
        for position in range(len(self.signature.operands)):
            value = loaded[position] if position in loaded else self.fixed[position]
            elements.append(None if value is None else emission.element(value))
        found = self.signature.formula(emission, *elements)
        value = emission.lifted(found, self.type)
        return self.builder.convert(value, self.signature.result)


def flat(signature, lanes, stream=False, together=1):
    """The program for contiguous operands of one shape: parameters ``count``, ``chunk`` and ``head`` follow ``out``.

    All three count elements. The first ``head`` (fewer than ``lanes``) are computed on their own, so that what follows is
    stored at multiples of a vector's size. With ``stream``, where that must be so, with chunks of whole vectors, the
    result goes to memory past the caches. So many vectors as ``together`` says are loaded before the first is stored.
    """
    extents = [("count", "i64"), ("chunk", "i64"), ("head", "i64")]
    builder = Builder(signature.name, [*signature.parameters(), *extents, *signature.option_parameters()])
    given = len(signature.parameters())
    operands, out = builder.parameters[: given - 1], builder.parameters[given - 1]
    count, chunk, head = builder.parameters[given : given + 3]
    body = _Body(builder, signature, lanes, operands, builder.parameters[given + 3 :])
    bytes_stored = out.type.element.size * lanes

    def computed(index, mask):
        loaded = {}
        for position, pointer in body.pointers:
            loaded[position] = body.convert(position, builder.load(pointer, index, lanes, mask))
        return body.result(loaded)

    def each(begin, end, vectors):
        """Compute what lies in whole groups of so many vectors; where they end."""
        step = vectors * lanes
        stop = begin + (end - begin) // step * step
        with builder.loop(begin, stop, step) as loop:
            places = [loop.index + k * lanes for k in range(vectors)]
            for place, value in zip(places, [computed(place, None) for place in places]):
                builder.store(value, out, place, stream=stream, align=bytes_stored if stream else None)
        return stop

    with builder.parallel((count - head + chunk - 1) // chunk) as number:
        first = head + number * chunk
        end = builder.minimum(first + chunk, count)
        whole = each(each(first, end, together) if together > 1 else first, end, 1)
        if lanes > 1:
            with builder.loop(0, 2) as piece:  # the head, in the first chunk, and what is left behind the last vector
                is_head = piece.index.equals(0)
                left = builder.select(is_head, builder.select(number.equals(0), head, 0), end - whole)
                with builder.when(left > 0):
                    place, mask = builder.select(is_head, 0, whole), builder.first_lanes(left, lanes)
                    builder.store(computed(place, mask), out, place, mask)
    return Program(signature.name, [builder.function])


# ---------------------------------------------------------------- any strides

EXTENTS = ("outer", "rows", "columns", "row_block", "column_block", "row_blocks", "column_blocks", "tiles", "share")


def strided(signature, kinds, lanes):
    """The program for operands of any strides, seen as stacks of matrices: (outer..., rows, columns).

    It works in tiles of ``row_block`` by ``column_block``, ``share`` tiles a chunk. ``layout`` (i64*) holds the lengths
    of the ``outer`` dimensions, then for each array and for the result its strides in elements: along the outer
    dimensions, rows and columns. ``kinds`` says for each of them what its stride along the columns is; where the result's
    is neither 0 nor 1, ``lanes`` must be 1.

    A tile goes row by row, unless an operand is spaced: then it goes by columns of one vector's width, so that the
    cache lines that a gather touches serve the next rows too.
    """
    extents = [("layout", "i64*"), *((name, "i64") for name in EXTENTS)]
    builder = Builder(signature.name, [*signature.parameters(), *extents, *signature.option_parameters()])
    given = len(signature.parameters())
    operands, out = builder.parameters[: given - 1], builder.parameters[given - 1]
    layout, *sizes = builder.parameters[given : given + 1 + len(EXTENTS)]
    outer, rows, columns, row_block, column_block, row_blocks, column_blocks, tiles, share = sizes
    body = _Body(builder, signature, lanes, operands, builder.parameters[given + 1 + len(EXTENTS) :])
    pointers = [pointer for _, pointer in body.pointers] + [out]
    starts = [outer + (outer + 2) * k for k in range(len(pointers))]  # of each pointer's strides in the layout
    row_strides = [builder.load(layout, start + outer) for start in starts]
    column_strides = [builder.load(layout, start + outer + 1) for start in starts]
    tile_code = _Tile(builder, body, kinds, lanes, row_strides, column_strides)
    with builder.parallel((tiles + share - 1) // share) as chunk:
        first = chunk * share
        with builder.loop(first, builder.minimum(first + share, tiles)) as tile:
            matrix, row = _divided(builder, tile.index // column_blocks, row_blocks)
            column = tile.index % column_blocks * column_block
            row = row * row_block
            offsets = _offsets(builder, layout, outer, starts, matrix)
            places = []
            for k, pointer in enumerate(pointers):
                place = offsets[k] + row * row_strides[k] + column * column_strides[k]
                places.append(builder.offset(pointer, place))
            height = builder.minimum(rows - row, row_block)
            tile_code.emit(places, height, builder.minimum(columns - column, column_block))
    return Program(signature.name, [builder.function])


def _divided(builder, number, by):
    return number // by, number % by


def _offsets(builder, layout, outer, starts, matrix):
    """Where matrix number ``matrix`` of the stack begins in each array, in elements."""
    zero = builder.constant(0)
    with builder.loop(0, outer, carry=[matrix, *(zero for _ in starts)]) as loop:
        dimension = outer - 1 - loop.index
        rest, place = _divided(builder, loop.carry[0], builder.load(layout, dimension))
        offsets = [
            offset + place * builder.load(layout, start + dimension) for offset, start in zip(loop.carry[1:], starts)
        ]
        loop.carry = [rest, *offsets]
    return loop.results[1:]


class _Tile:
    """The code of one tile."""

    def __init__(self, builder, body, kinds, lanes, row_strides, column_strides):
        self.builder, self.body, self.kinds, self.lanes = builder, body, kinds, lanes
        self.row_strides, self.column_strides = row_strides, column_strides
        self.steps = {}  # number of a pointer -> the distances of its lanes' elements
        for k, kind in enumerate(kinds):
            if kind == SPACED and lanes > 1:
                stride = builder.convert(column_strides[k], "i32")
                self.steps[k] = builder.iota(f"i32x{lanes}") * builder.splat(stride, lanes)

    def emit(self, places, height, width):
        builder, lanes = self.builder, self.lanes
        if self.steps:

            def by_columns(column, mask, carry):
                left = None if mask is None else width - column
                with builder.loop(0, height) as row:
                    self._vector(self._row(places, row.index), column, mask, left, {})

            builder.for_lanes(0, width, lanes, by_columns)
            return
        whole = width // lanes * lanes  # rows may be short: what they have in common is found once
        mask = builder.first_lanes(width - whole, lanes) if lanes > 1 else None
        with builder.loop(0, height) as row:
            places = self._row(places, row.index)
            fixed = {k: self._fixed(places[k]) for k, kind in enumerate(self.kinds[:-1]) if kind == FIXED}
            with builder.loop(0, whole, lanes) as loop:
                self._vector(places, loop.index, None, None, fixed)
            if mask is not None:
                with builder.when(whole < width):
                    self._vector(places, whole, mask, width - whole, fixed)

    def _row(self, places, row):
        return [self.builder.offset(place, row * stride) for place, stride in zip(places, self.row_strides)]

    def _fixed(self, place):
        return self.builder.splat(self.builder.load(place), self.lanes)

    def _turned(self, vector):
        return self.builder.shuffle(vector, vector, range(self.lanes - 1, -1, -1))

    def _near(self, place, column, apart, left):
        """Elements so few places ``apart`` that what lies between them is read too, in less time than it takes to gather:
        whole vectors, the last one ending with the last element wanted, and of each a shuffle picks its own. Only
        ``left`` of them are wanted, where that is given."""
        builder, lanes, found = self.builder, self.lanes, None
        for number in range(apart):
            mine = range(-(-number * lanes // apart), -(-(number + 1) * lanes // apart))
            if not mine:
                continue
            start = min(number * lanes, apart * (lanes - 1) + 1 - lanes)
            mask = None if left is None else builder.first_lanes((left - 1) * apart + 1 - start, lanes)
            loaded = builder.load(place, column * apart + start, lanes, mask)
            picked = [lanes + lane * apart - start if lane in mine else lane for lane in range(lanes)]
            found = builder.shuffle(loaded if found is None else found, loaded, picked)
        return found

    def _vector(self, places, column, mask, left, fixed):
        """One vector of results at ``column`` of a row; ``left`` of them, where there is a mask."""
        builder, lanes, loaded = self.builder, self.lanes, {}
        for k, (position, _) in enumerate(self.body.pointers):
            kind = self.kinds[k]
            if kind == FIXED:
                value = fixed[k] if k in fixed else self._fixed(places[k])
            elif kind == DENSE:
                value = builder.load(places[k], column, lanes, mask)
            elif lanes == 1:
                value = builder.load(places[k], column * self.column_strides[k])
            elif kind in _APART:
                value = self._near(places[k], column, _APART[kind], left)
            elif kind == REVERSED:
                turned = None if mask is None else self._turned(mask)
                value = self._turned(builder.load(places[k], 1 - lanes - column, lanes, turned))
            else:
                steps = self.steps[k]
                if mask is not None:  # lanes beyond the end read the first lane's element
                    steps = builder.select(mask, steps, builder.constant(0, steps.type))
                value = builder.gather(builder.offset(places[k], column * self.column_strides[k]), steps)
            loaded[position] = self.body.convert(position, value)
        place = column if self.kinds[-1] == DENSE else column * self.column_strides[-1]
        builder.store(self.body.result(loaded), places[-1], place, mask)
