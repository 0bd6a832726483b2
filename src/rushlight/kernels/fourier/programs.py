"""The loop programs of Fourier transforms: blocks of columns or of rows, long rows in two steps, and real numbers.

A block is as many transforms as a vector has lanes. It is loaded into scratch memory as items (see `passes`), taken
through its stages there and stored. Of columns, the numbers of a block's lanes lie side by side; rows are transposed on
the way. The inverse transform is the transform with real and imaginary parts exchanged before and after: for that alone
items may be stored the other way round.

A long row of n = n1 * n2 numbers is a matrix of n1 rows: its columns are transformed in blocks, multiplied by w ** (k1 * j2)
and stored transposed; then the columns of that, which gives the result in its order.
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import pointer
from .passes import ANY, ODD, any_function, pass_function, turned

COLUMNS, ROWS = "columns", "rows"


def _sizes(*names):
    return [(name, "i64") for name in names]


def _numbers(scalar, *names):
    return [(name, pointer(scalar)) for name in names]


class _Block:
    """Writes the function that transforms one block: ``(x, out, area, stages, twiddles, between, ...)``.

    Distances are counted in real numbers. ``between`` has a factor for each number of the block where that is `turned`.
    """

    def __init__(self, name, scalar, lanes, passes, load, store, turned=False):
        parameters = _numbers(scalar, "x", "out", "area") + [("stages", "i64*")]
        parameters += _numbers(scalar, "twiddles", "between")
        parameters += _sizes("n", "count", "x_step", "out_step", "valid", "real") + [("scale", scalar)]
        self.builder = builder = Builder(name, parameters)
        self.lanes, self.passes, self.turned = lanes, passes, turned
        (self.x, self.out, area, self.stages, self.twiddles, self.between, self.n, self.count, self.x_step,
         self.out_step, self.valid, self.real, self.scale) = builder.parameters  # fmt: skip
        self.item, self.imaginary = 2 * lanes, lanes - self.real
        buffers = area, builder.offset(area, (self.n + lanes) * self.item)
        self._either(self._load_columns if load == COLUMNS else self._load_rows, load == COLUMNS, buffers[0])
        found = self._run_stages(buffers)
        self._either(self._store_columns if store == COLUMNS else self._store_rows, store == COLUMNS, found)
        self.function = builder.function

    def _either(self, write, masked, buffer):
        """Write it for whole vectors and, where lanes of columns may be missing, under masks."""
        if not masked:
            write(buffer)
            return
        with self.builder.when(self.valid >= self.lanes):
            write(buffer, (None, None))
        with self.builder.when(self.valid < self.lanes):
            there = self.valid * 2
            write(buffer, [self.builder.first_lanes(there - first, self.lanes) for first in (0, self.lanes)])

    def _run_stages(self, buffers):
        builder = self.builder
        with builder.loop(0, self.count, 1, list(buffers)) as stage:
            source, target = stage.carry
            radix, m, s, first = (builder.load(self.stages, stage.index * 4 + part) for part in range(4))
            for each, function in self.passes.items():
                rest = (radix,) if each == ANY else ()
                with builder.when(radix > max(ODD) if each == ANY else radix.equals(each)):
                    builder.call(function, source, target, builder.offset(self.twiddles, first), m, s, *rest)
            stage.carry = [target, source]
        return stage.results[0]

    def _load_columns(self, buffer, masks):
        builder, lanes = self.builder, self.lanes
        with builder.loop(0, self.n, 1, [self.x, buffer]) as item:
            source, target = item.carry
            pair = [builder.load(source, part * lanes, lanes, mask) for part, mask in enumerate(masks)]
            for part, place in enumerate((self.real, self.imaginary)):
                builder.store(builder.shuffle(*pair, range(part, 2 * lanes, 2)), target, place)
            item.carry = [builder.offset(source, self.x_step), builder.offset(target, self.item)]

    def _store_columns(self, buffer, masks):
        builder, lanes = self.builder, self.lanes
        with builder.loop(0, self.n, 1, [buffer, self.out]) as item:
            source, target = item.carry
            pair = [builder.load(source, place, lanes) * self.scale for place in (self.real, self.imaginary)]
            for part, mask in enumerate(masks):
                order = [lane // 2 + part * lanes // 2 + lane % 2 * lanes for lane in range(lanes)]
                builder.store(builder.shuffle(*pair, order), target, part * lanes, mask)
            item.carry = [builder.offset(source, self.item), builder.offset(target, self.out_step)]

    def _rows(self, start, step):
        """Where the lanes' rows begin; the last one stands for those that are missing."""
        last = self.valid - 1
        return [self.builder.offset(start, self.builder.minimum(last, i) * step) for i in range(self.lanes)]

    def _tiles(self, body):
        """``body(first, mask)`` for each ``lanes`` real numbers of a row; written once, as LLVM is slow at transpositions."""
        total = self.n * 2
        with self.builder.loop(0, total, self.lanes) as tile:
            body(tile.index, self.builder.first_lanes(total - tile.index, self.lanes))

    def _load_rows(self, buffer):
        builder, lanes = self.builder, self.lanes
        rows = self._rows(self.x, self.x_step)

        def tile(first, mask):
            found = transposed(builder, [builder.load(row, first, lanes, mask) for row in rows])
            target = builder.offset(buffer, first * lanes)
            for i, vector in enumerate(found):
                builder.store(vector, target, (self.imaginary if i % 2 else self.real) + i // 2 * self.item)

        self._tiles(tile)

    def _store_rows(self, buffer):
        builder, lanes = self.builder, self.lanes
        rows = self._rows(self.out, self.out_step)

        def tile(first, mask):
            vectors = []
            source = builder.offset(buffer, first * lanes)
            for i in range(lanes // 2):
                here = builder.offset(source, i * self.item)
                value = [builder.load(here, place, lanes) for place in (self.real, self.imaginary)]
                if self.turned:
                    factors = builder.offset(self.between, first * lanes + i * self.item)
                    value = turned(builder, value, [builder.load(factors, part * lanes, lanes) for part in (0, 1)])
                vectors += [part * self.scale for part in value]
            # From the last to the first: what lanes that stand for no row have is overwritten.
            for row, vector in reversed([*zip(rows, transposed(builder, vectors))]):
                builder.store(vector, row, first, mask)

        self._tiles(tile)


def transposed(builder, vectors):
    """The columns of a matrix of as many vectors as each has lanes."""
    lanes, distance = len(vectors), 1
    while distance < lanes:
        low = [lane if not lane & distance else lanes + lane - distance for lane in range(lanes)]
        high = [lane + distance for lane in low]
        found = list(vectors)
        for i in range(lanes):
            if not i & distance:
                pair = vectors[i], vectors[i + distance]
                found[i], found[i + distance] = builder.shuffle(*pair, low), builder.shuffle(*pair, high)
        vectors, distance = found, distance * 2
    return vectors


def halves_function(scalar, lanes, forward):
    """Function ``(source, target, table, h, first, end)``: the spectrum of 2 h real numbers (h + 1 complex ones), from the
    transform of their pairs taken for complex numbers (``forward``, in place), or the other way round, for the numbers
    first, ..., end - 1 <= h / 2 and those that lie opposite. The first of all goes with number 1.

    With A at k and B the conjugate of what is at h - k, (A + B) / 2 + T and (A + B) / 2 - T are what is asked for at k and,
    conjugated, at h - k. T is A - B times a factor, which the table has.
    """
    parameters = _numbers(scalar, "source", "target", "table") + _sizes("h", "first", "end")
    builder = Builder("halves", parameters)
    source, target, table, h, first, end = builder.parameters
    together = lanes // 2
    signs = builder.constant((1.0, -1.0) * together, f"{scalar}x{lanes}")
    backwards = [lane ^ 1 for lane in reversed(range(lanes))]
    swapped = [lane ^ 1 for lane in range(lanes)]

    def body(k, mask, _):
        mirrored = (h - k - (together - 1)) * 2
        opposite = None
        if mask is not None:
            mask = builder.first_lanes((end - k) * 2, lanes)
            opposite = ~builder.first_lanes(lanes - (end - k) * 2, lanes)
        ahead = builder.load(source, k * 2, lanes, mask)
        behind = builder.load(source, mirrored, lanes, opposite)
        behind = builder.shuffle(behind, behind, backwards) * signs
        factors = [builder.load(table, (k - 1) * 4 + part * lanes, lanes) for part in (0, 1)]
        difference = ahead - behind
        half = builder.fma(difference, factors[0], builder.shuffle(difference, difference, swapped) * factors[1])
        even = (ahead + behind) * 0.5
        other = (even - half) * signs
        builder.store(even + half, target, k * 2, mask)
        builder.store(builder.shuffle(other, other, backwards), target, mirrored, opposite)

    with builder.when(first.equals(1)):
        real = builder.load(source)
        other = builder.load(source, 1 if forward else h * 2)
        total, difference = real + other, real - other
        if forward:
            for value, place in ((total, 0), (0.0, 1), (difference, h * 2), (0.0, h * 2 + 1)):
                builder.store(value, target, place)
        else:
            builder.store(total * 0.5, target)
            builder.store(difference * 0.5, target, 1)
    builder.for_lanes(first, end, together, body)
    return builder.function


class _Real:
    """Goes over the rows that real numbers are transformed from, or into; or does nothing for complex numbers."""

    def __init__(self, builder, function, forward, values):
        self.builder, self.function, self.forward = builder, function, forward
        if function is not None:
            self.half, self.table, self.h, self.half_row = values

    @property
    def end(self):
        return self.h // 2 + 1

    def row(self, row, target, target_row):
        """One whole row."""
        builder = self.builder
        target = builder.offset(target, row * target_row)
        source = target if self.forward else builder.offset(self.half, row * self.half_row)
        builder.call(self.function, source, target, self.table, self.h, 1, self.end)

    def rows(self, first, count, target, target_row):
        """So many rows in a row."""
        with self.builder.loop(first, first + count) as row:
            self.row(row.index, target, target_row)

    def pieces(self, rows, target, target_row, piece):
        """All rows, in pieces for the threads."""
        builder = self.builder
        count = (self.end + (piece - 2)) // piece
        count = builder.maximum(count, 1)
        with builder.parallel(rows * count) as task:
            row, first = task // count, task % count * piece + 1
            place = builder.offset(target, row * target_row)
            source = place if self.forward else builder.offset(self.half, row * self.half_row)
            end = builder.minimum(first + piece, self.end)
            builder.call(self.function, source, place, self.table, self.h, first, end)


class _Entry:
    """What the entry functions have in common: parameters, the functions that they call."""

    def __init__(self, name, scalar, lanes, radices, real, pointers, sizes):
        parameters = [(each, "i64*" if each.startswith("stages") else pointer(scalar)) for each in pointers]
        sizes = list(sizes)
        if real:
            parameters += _numbers(scalar, "half", "table")
            sizes += ["h", "half_row"]
        self.builder = Builder(name, parameters + _sizes(*sizes) + [("scale", scalar)])
        named = {
            given: value for (given, _), value in zip(parameters + _sizes(*sizes, "scale"), self.builder.parameters)
        }
        self.passes = {
            radix: any_function(scalar, lanes) if radix == ANY else pass_function(scalar, lanes, radix)
            for radix in radices
        }
        self.functions = [*self.passes.values()]
        halves = halves_function(scalar, lanes, real == "forward") if real else None
        self.functions += [halves] if real else []
        given = [named.pop(each) for each in ("half", "table", "h", "half_row")] if real else None
        self.real = _Real(self.builder, halves, real == "forward", given)
        self.named, self.name = named, name

    def program(self):
        return Program(self.name, [*self.functions, self.builder.function])


BATCH_SIZES = ("outer", "inner", "x_outer", "x_lane", "x_step", "out_outer", "out_lane", "out_step", "n", "count", "part", "area", "chunk")  # fmt: skip


def fourier_blocks(scalar, lanes, radices, load, store, real=None):
    """The Program of ``outer`` times ``inner`` transforms of ``n`` numbers each, in blocks of ``lanes`` of the inner ones."""
    entry = _Entry(
        "fourier_blocks", scalar, lanes, radices, real, ("x", "out", "scratch", "stages", "twiddles"), BATCH_SIZES
    )
    builder, given = entry.builder, entry.named
    block = _Block("block", scalar, lanes, entry.passes, load, store).function
    entry.functions.append(block)
    blocks = (given["inner"] + (lanes - 1)) // lanes
    total, chunk = given["outer"] * blocks, given["chunk"]
    with builder.parallel((total + chunk - 1) // chunk) as number:
        area = builder.offset(given["scratch"], builder.worker() * given["area"])
        first = number * chunk
        with builder.loop(first, builder.minimum(first + chunk, total)) as task:
            outer, lane = task.index // blocks, task.index % blocks * lanes
            x = builder.offset(given["x"], outer * given["x_outer"] + lane * given["x_lane"])
            out = builder.offset(given["out"], outer * given["out_outer"] + lane * given["out_lane"])
            valid = builder.minimum(given["inner"] - lane, lanes)

            if real == "backward":
                entry.real.rows(lane, valid, given["out"], given["out_lane"])
            x_step = given["x_lane"] if load == ROWS else given["x_step"]
            out_step = given["out_lane"] if store == ROWS else given["out_step"]
            builder.call(
                block, x, out, area, given["stages"], given["twiddles"], given["twiddles"], given["n"], given["count"],
                x_step, out_step, valid, given["part"], given["scale"],
            )  # fmt: skip
            if real == "forward":
                entry.real.rows(lane, valid, given["out"], given["out_lane"])
    return entry.program()


SPLIT_POINTERS = ("stages1", "twiddles1", "between", "stages2", "twiddles2")
SPLIT_SIZES = ("rows", "x_row", "out_row", "n1", "n2", "count1", "count2", "part", "area", "piece")


def fourier_long_rows(scalar, lanes, radices, shared, real=None):
    """The Program of transforms of rows of n1 * n2 numbers; ``shared``: all threads work at the same rows.

    These use ``work`` between the steps. Else each row is one thread's, and what lies between is in its scratch memory.
    """
    spaces = ("x", "out", "scratch", "work") if shared else ("x", "out", "scratch")
    entry = _Entry("fourier_long_rows", scalar, lanes, radices, real, (*spaces, *SPLIT_POINTERS), SPLIT_SIZES)
    builder, given = entry.builder, entry.named
    first = _Block("first", scalar, lanes, entry.passes, COLUMNS, ROWS, turned=True).function
    second = _Block("second", scalar, lanes, entry.passes, COLUMNS, COLUMNS).function
    entry.functions += [first, second]
    n1, n2, rows = given["n1"], given["n2"], given["rows"]
    blocks1, blocks2 = (n2 + (lanes - 1)) // lanes, (n1 + (lanes - 1)) // lanes

    def run_first(x, work, area, block):
        builder.call(
            first, builder.offset(x, block * (2 * lanes)), builder.offset(work, block * (2 * lanes) * n1), area,
            given["stages1"], given["twiddles1"], builder.offset(given["between"], block * (2 * lanes) * n1),
            n1, given["count1"], n2 * 2, n1 * 2, builder.minimum(n2 - block * lanes, lanes), given["part"], 1.0,
        )  # fmt: skip

    def run_second(work, out, area, block):
        builder.call(
            second, builder.offset(work, block * (2 * lanes)), builder.offset(out, block * (2 * lanes)), area,
            given["stages2"], given["twiddles2"], given["between"], n2, given["count2"], n1 * 2, n1 * 2,
            builder.minimum(n1 - block * lanes, lanes), given["part"], given["scale"],
        )  # fmt: skip

    def row_of(name, row):
        return builder.offset(given[name], row * given["out_row" if name == "out" else "x_row"])

    def in_chunks(blocks, body):
        with builder.parallel(rows * blocks) as task:
            area = builder.offset(given["scratch"], builder.worker() * given["area"])
            row, block = task // blocks, task % blocks
            body(row, block, builder.offset(given["work"], row * (n1 * n2 * 2)), area)

    if shared:
        if real == "backward":
            entry.real.pieces(rows, given["out"], given["out_row"], given["piece"])
        in_chunks(blocks1, lambda row, block, work, area: run_first(row_of("x", row), work, area, block))
        in_chunks(blocks2, lambda row, block, work, area: run_second(work, row_of("out", row), area, block))
        if real == "forward":
            entry.real.pieces(rows, given["out"], given["out_row"], given["piece"])
        return entry.program()
    piece = given["piece"]
    with builder.parallel((rows + piece - 1) // piece) as chunk:
        start = chunk * piece
        work = builder.offset(given["scratch"], builder.worker() * given["area"])
        area = builder.offset(work, n1 * n2 * 2)
        with builder.loop(start, builder.minimum(start + piece, rows)) as row:
            if real == "backward":
                entry.real.row(row.index, given["out"], given["out_row"])
            with builder.loop(0, blocks1) as block:
                run_first(row_of("x", row.index), work, area, block.index)
            with builder.loop(0, blocks2) as block:
                run_second(work, row_of("out", row.index), area, block.index)
            if real == "forward":
                entry.real.row(row.index, given["out"], given["out_row"])
    return entry.program()


def fourier_products(scalar, lanes):
    """The Program of rows of complex numbers times one row ``y``, with zeros behind them up to ``whole`` real numbers."""
    sizes = ("rows", "x_row", "out_row", "length", "whole", "chunk")
    builder = Builder("fourier_products", _numbers(scalar, "x", "y", "out") + _sizes(*sizes))
    x, y, out, rows, x_row, out_row, length, whole, chunk = builder.parameters
    signs = builder.constant((-1.0, 1.0) * (lanes // 2), f"{scalar}x{lanes}")
    swapped = [lane ^ 1 for lane in range(lanes)]
    with builder.parallel((rows + chunk - 1) // chunk) as number:
        first = number * chunk
        with builder.loop(first, builder.minimum(first + chunk, rows)) as row:
            source, target = builder.offset(x, row.index * x_row), builder.offset(out, row.index * out_row)

            def multiply(at, mask, _, source=source, target=target):
                value, factor = (builder.load(place, at, lanes, mask) for place in (source, y))
                real = builder.shuffle(factor, factor, [lane & ~1 for lane in range(lanes)])
                imaginary = builder.shuffle(factor, factor, [lane | 1 for lane in range(lanes)]) * signs
                turned_value = builder.shuffle(value, value, swapped) * imaginary
                builder.store(builder.fma(value, real, turned_value), target, at, mask)

            builder.for_lanes(0, length, lanes, multiply)
            builder.clear(builder.offset(target, length), whole - length, lanes)
    return Program("fourier_products", [builder.function])
