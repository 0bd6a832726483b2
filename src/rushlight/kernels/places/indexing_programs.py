"""Loop programs of indexing: rows copied by number, rows added by number, elements picked along a dimension.

Arrays are contiguous, (outer, length, width) around the dimension that is indexed. Elements are moved by their size.
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program

_COPIED = 1 << 15  # elements that a chunk moves
LISTED = 4096  # positions that are looked through at once


def copy_rows(scalar, index_scalar, lanes):
    """``(source, index, out, outer, length, width, count)``: out[o, i, :] = source[o, index[i], :], all within bounds."""
    sizes = [(name, "i64") for name in ("outer", "length", "width", "count")]
    parameters = [("source", f"{scalar}*"), ("index", f"{index_scalar}*"), ("out", f"{scalar}*"), *sizes]
    builder = Builder("entry", parameters)
    source, index, out, outer, length, width, count = builder.parameters
    rows = outer * count
    rows_of_chunk = builder.maximum(builder.constant(_COPIED) // width, 1)
    with builder.parallel((rows + rows_of_chunk - 1) // rows_of_chunk) as chunk:
        first = chunk * rows_of_chunk
        with builder.loop(first, builder.minimum(first + rows_of_chunk, rows)) as row:
            o = row.index // count
            number = builder.convert(builder.load(index, row.index - o * count), "i64")
            place, target = (
                builder.offset(source, (o * length + number) * width),
                builder.offset(out, row.index * width),
            )

            def copied(at, mask, _, place=place, target=target):
                builder.store(builder.load(place, at, lanes, mask), target, at, mask)

            builder.for_lanes(0, width, lanes, copied)
    return Program("copy_rows", [builder.function])


def copy_numbers(scalar, index_scalar, lanes):
    """As ``copy_rows`` where the width is 1, for few outer parts: one number after the other (not ``lanes`` at once: gathers
    take as long), in chunks of some positions."""
    sizes = [(name, "i64") for name in ("outer", "length", "count")]
    parameters = [("source", f"{scalar}*"), ("index", f"{index_scalar}*"), ("out", f"{scalar}*"), *sizes]
    builder = Builder("entry", parameters)
    source, index, out, outer, length, count = builder.parameters
    pieces = (count + (LISTED - 1)) // LISTED
    with builder.parallel(outer * pieces) as chunk:
        o, first = chunk // pieces, chunk % pieces * LISTED
        begin, target = builder.offset(source, o * length), builder.offset(out, o * count)
        with builder.loop(first, builder.minimum(first + LISTED, count)) as each:
            number = builder.convert(builder.load(index, each.index), "i64")
            builder.store(builder.load(begin, number), target, each.index)
    return Program("copy_numbers", [builder.function])


def add_rows(scalar, index_scalar, lanes, vectors, mode="add", owned=False, scaled=False):
    """``(target, index, values, owner, scales, listed, outer, length, width, count, parts, columns, fresh, skipped)``:
    target[o, index[i], :] += values[o, i, :].

    All within bounds and one after the other: a chunk owns one of so many ``parts`` of the rows of an outer part, and so
    many ``columns`` of them, a multiple of ``vectors`` vectors; ``listed`` is for `_each_own`. With ``fresh`` > 0 the target
    is cleared first; the row number ``skipped`` gets nothing. Mode "set" writes the rows in place of adding them, "fill" the
    number values[0]. With ``owned`` what is added at i is values[owner[i], :], with ``scaled`` that times scales[i].
    """
    arrays = [("target", scalar), ("index", index_scalar), ("values", scalar), ("owner", "i64"), ("scales", scalar)]
    sizes = [(name, "i64") for name in ("outer", "length", "width", "count", "parts", "columns", "fresh", "skipped")]
    builder = Builder("entry", [*((name, kind + "*") for name, kind in arrays), ("listed", "i64*"), *sizes])
    target, index, values, owner, scales, listed, *sizes = builder.parameters
    outer, length, width, count, parts, columns, fresh, skipped = sizes
    strips = (width + (columns - 1)) // columns
    with builder.parallel(outer * strips * parts) as chunk:
        rest, part = chunk // parts, chunk % parts
        o, column = rest // strips, rest % strips * columns
        low, high = part * length // parts, (part + 1) * length // parts
        begin = builder.offset(target, o * length * width + column)
        source = builder.offset(values, o * count * width + column)
        mine = builder.offset(listed, builder.worker() * LISTED)
        own = builder.minimum(columns, width - column)
        whole = own // (vectors * lanes) * (vectors * lanes)
        masks = [builder.first_lanes(own - whole - i * lanes, lanes) for i in range(vectors)]

        def along(body):
            """``body(place, mask)`` for the vectors of a row: so many at once, then those that are left."""
            with builder.loop(0, whole, vectors * lanes) as block:
                for i in range(vectors):
                    body(block.index + i * lanes, None)
            with builder.when(whole < own):
                for i, mask in enumerate(masks):
                    body(whole + i * lanes, mask)

        zero = builder.constant(0, target.type.element.with_lanes(lanes))
        with builder.when(fresh > 0), builder.loop(low, high) as row:
            cleared = builder.offset(begin, row.index * width)
            along(lambda at, mask: builder.store(zero, cleared, at, mask))

        def add(position):
            number = builder.convert(builder.load(index, position), "i64")
            place = builder.load(owner, position) if owned else position
            row, addend = builder.offset(begin, number * width), builder.offset(source, place * width)
            scale = builder.splat(builder.load(scales, position), lanes) if scaled else None

            def written(at, mask):
                value = filler if mode == "fill" else builder.load(addend, at, lanes, mask)
                if mode == "add":
                    value = builder.load(row, at, lanes, mask) + (value if scale is None else value * scale)
                builder.store(value, row, at, mask)

            along(written)

        filler = builder.splat(builder.load(values), lanes) if mode == "fill" else None
        all_mine = parts.equals(1) & (skipped < 0)
        with builder.loop(0, builder.select(all_mine, count, 0)) as each:
            add(each.index)
        wide = max(2, lanes * target.type.element.size // 8)
        _each_own(builder, index, builder.select(all_mine, count, 0), count, (low, high, skipped), mine, add, wide)
    return Program("add_rows", [builder.function])


def _each_own(builder, index, first, count, bounds, mine, body, wide):
    """``body(position)`` for the positions from ``first`` to ``count`` whose numbers lie within ``bounds`` and are not skipped.

    Of ``LISTED`` positions it is listed in ``mine`` which these are, ``wide`` at once, before any is taken: guesses of a
    branch would be wrong every other time.
    """
    low, high, skipped = (None if bound is None else builder.splat(bound, wide) for bound in bounds)
    steps = builder.iota(f"i64x{wide}")

    def listed(at, mask, carry):
        number = builder.convert(builder.load(index, at, wide, mask), "i64")
        wanted = (number >= low) & (number < high)
        wanted = wanted if skipped is None else wanted & number.differs(skipped)
        wanted = wanted if mask is None else wanted & mask
        found = builder.convert(builder.reduce(builder.convert(wanted, "i32")), "i64")
        places = builder.compress(steps + builder.splat(at, wide), wanted)
        builder.store(places, mine, carry[0], builder.first_lanes(found, wide))
        return [carry[0] + found]

    with builder.loop(first, count, LISTED) as block:
        end = builder.minimum(block.index + LISTED, count)
        (found,) = builder.for_lanes(block.index, end, wide, listed, [builder.constant(0)])
        with builder.loop(0, found) as each:
            body(builder.load(mine, each.index))


def add_numbers(scalar, index_scalar, lanes, mode="add"):
    """As ``add_rows`` where the width is 1: numbers one after the other (not ``lanes`` at once). A chunk owns one of so many
    ``parts`` of some outer parts."""
    sizes = [(name, "i64") for name in ("outer", "length", "count", "parts")]
    arrays = [("target", f"{scalar}*"), ("index", f"{index_scalar}*"), ("values", f"{scalar}*"), ("listed", "i64*")]
    builder = Builder("entry", [*arrays, *sizes])
    target, index, values, listed, outer, length, count, parts = builder.parameters
    lines = builder.maximum(builder.constant(_COPIED // 8) // builder.maximum(count, 1), 1)
    all_mine = parts.equals(1)
    with builder.parallel((outer + lines - 1) // lines * parts) as chunk:
        part, lines_before = chunk % parts, chunk // parts * lines
        low, high = part * length // parts, (part + 1) * length // parts
        mine = builder.offset(listed, builder.worker() * LISTED)
        filler = builder.load(values) if mode == "fill" else None
        with builder.loop(lines_before, builder.minimum(lines_before + lines, outer)) as o:
            begin, source = builder.offset(target, o.index * length), builder.offset(values, o.index * count)

            def add(position):
                number = builder.convert(builder.load(index, position), "i64")
                value = filler if mode == "fill" else builder.load(source, position)
                builder.store(builder.load(begin, number) + value if mode == "add" else value, begin, number)

            with builder.loop(0, builder.select(all_mine, count, 0)) as each:
                add(each.index)
            wide = max(2, lanes * target.type.element.size // 8)
            _each_own(builder, index, builder.select(all_mine, count, 0), count, (low, high, None), mine, add, wide)
    return Program("add_numbers", [builder.function])


def pick(scalar, index_scalar, lanes, along_lines):
    """``(source, index, out, outside, outer, length, width, count, chunks, step)``: elements picked by number.

    out[o, i, w] = source[o, index[o, i, w], w]. Vectors go over w, or over i with ``along_lines`` (the width is 1 then).
    ``step`` says how far apart the lines of ``index`` are that belong to two neighbouring lines of ``out``.
    ``outside`` gets for each chunk whether a number was out of bounds; such elements are not read.
    """
    sizes = [(name, "i64") for name in ("outer", "length", "width", "count", "chunks", "step")]
    parameters = [("source", f"{scalar}*"), ("index", f"{index_scalar}*"), ("out", f"{scalar}*"), ("outside", "bool*")]
    builder = Builder("entry", [*parameters, *sizes])
    source, index, out, outside, outer, length, width, count, chunks, step = builder.parameters
    lines = outer if along_lines else outer * count
    line = count if along_lines else width
    none = builder.constant(False, f"boolx{lanes}")
    with builder.parallel(chunks) as chunk:
        with builder.loop(chunk * lines // chunks, (chunk + 1) * lines // chunks, 1, [none]) as loop:
            o = loop.index if along_lines else loop.index // count
            begin = builder.offset(source, o * length * width)
            numbers, target = builder.offset(index, loop.index * step), builder.offset(out, loop.index * line)

            def picked(at, mask, carry, begin=begin, numbers=numbers, target=target):
                number = builder.convert(builder.load(numbers, at, lanes, mask), "i64")
                inside = (number >= 0) & (number < builder.splat(length, lanes))
                wrong = ~inside
                if mask is not None:
                    inside, wrong = inside & mask, wrong & mask
                place = number
                if not along_lines:
                    place = number * builder.splat(width, lanes) + builder.iota(number.type) + builder.splat(at, lanes)
                builder.store(builder.gather(begin, place, inside), target, at, mask)
                return [carry[0] | wrong]

            loop.carry = builder.for_lanes(0, line, lanes, picked, loop.carry)
        builder.store(builder.reduce(loop.results[0], "or"), outside, chunk)
    return Program("pick", [builder.function])


def pick_ones(scalar, index_scalar, lanes):
    """``(source, index, out, outside, outer, length, chunks)``: one element of each line: out[o] = source[o, index[o]].

    ``outside`` as of ``pick``.
    """
    sizes = [(name, "i64") for name in ("outer", "length", "chunks")]
    parameters = [("source", f"{scalar}*"), ("index", f"{index_scalar}*"), ("out", f"{scalar}*"), ("outside", "bool*")]
    builder = Builder("entry", [*parameters, *sizes])
    source, index, out, outside, outer, length, chunks = builder.parameters
    none = builder.constant(False, f"boolx{lanes}")
    with builder.parallel(chunks) as chunk:

        def picked(at, mask, carry):
            number = builder.convert(builder.load(index, at, lanes, mask), "i64")
            inside = (number >= 0) & (number < builder.splat(length, lanes))
            wrong = ~inside
            if mask is not None:
                inside, wrong = inside & mask, wrong & mask
            line = builder.iota(number.type) + builder.splat(at, lanes)
            place = line * builder.splat(length, lanes) + number
            builder.store(builder.gather(source, place, inside), out, at, mask)
            return [carry[0] | wrong]

        first, end = chunk * outer // chunks, (chunk + 1) * outer // chunks
        (wrong,) = builder.for_lanes(first, end, lanes, picked, [none])
        builder.store(builder.reduce(wrong, "or"), outside, chunk)
    return Program("pick_ones", [builder.function])


def _scatter_parameters(scalar, index_scalar, *more):
    arrays = [("target", scalar), ("index", index_scalar), ("source", scalar), ("outside", "bool")]
    sizes = [(name, "i64") for name in ("outer", "length", "width", "count", *more)]
    return [*((name, kind + "*") for name, kind in arrays), *sizes]


def _all_inside(builder, numbers, first, end, lanes, length):
    """Whether all numbers from ``first`` to ``end`` are positions: looked at as vectors, so that writing need not look."""

    def looked(at, mask, carry):
        number = builder.convert(builder.load(numbers, at, lanes, mask), "i64")
        wrong = (number < 0) | (number >= builder.splat(length, lanes))
        return [carry[0] | (wrong if mask is None else wrong & mask)]

    none = builder.constant(False, f"boolx{lanes}" if lanes > 1 else "bool")
    return ~builder.reduce(builder.for_lanes(first, end, lanes, looked, [none])[0], "or")


def _scatter(builder, mode, begin, place, value):
    """Write a value at a place, or combine it with what is there."""
    if mode not in ("set", "fill"):
        before, new = builder.load(begin, place), value
        if mode in ("add", "multiply"):
            value = before + new if mode == "add" else before * new
        else:
            value = builder.maximum(before, new) if mode == "max" else builder.minimum(before, new)
            if before.type.is_float:  # NaN stays; the instruction gives the second operand where one is NaN
                value = builder.select(before.differs(before), before, value)
    builder.store(value, begin, place)


def scatter_lines(scalar, index_scalar, lanes, mode):
    """``(target, index, source, outside, outer, length, width, count, columns)``: elements written by number along a
    dimension.

    target[o, index[o, i, w], w] becomes source[o, i, w] ("set"), source[0] ("fill"), or is combined with source[o, i, w]
    ("add", "multiply", "max", "min"): for each o and w one after the other. ``outside`` gets for each chunk, a strip of so
    many ``columns`` of one o, whether a number was out of bounds; nothing of its line is written in this strip then.
    """
    builder = Builder("entry", _scatter_parameters(scalar, index_scalar, "columns"))
    target, index, source, outside, outer, length, width, count, columns = builder.parameters
    strips = (width + (columns - 1)) // columns
    with builder.parallel(outer * strips) as chunk:
        o, column = chunk // strips, chunk % strips * columns
        begin = builder.offset(target, o * length * width)
        end = builder.minimum(column + columns, width)
        with builder.loop(0, count, 1, [builder.constant(False, "bool")]) as loop:
            line = (o * count + loop.index) * width
            numbers = builder.offset(index, line)
            values = source if mode == "fill" else builder.offset(source, line)
            inside = _all_inside(builder, numbers, column, end, lanes, length)
            with builder.loop(builder.select(inside, column, end), end) as strip:
                number = builder.convert(builder.load(numbers, strip.index), "i64")
                value = builder.load(values, 0 if mode == "fill" else strip.index)
                _scatter(builder, mode, begin, number * width + strip.index, value)
            loop.carry = [loop.carry[0] | ~inside]
        builder.store(loop.results[0], outside, chunk)
    return Program("scatter_lines", [builder.function])


def scatter_numbers(scalar, index_scalar, lanes, mode):
    """As ``scatter_lines`` where the width is 1: a chunk for some o, without ``columns``."""
    builder = Builder("entry", _scatter_parameters(scalar, index_scalar))
    target, index, source, outside, outer, length, _, count = builder.parameters
    lines = builder.maximum(builder.constant(_COPIED // 8) // builder.maximum(count, 1), 1)
    with builder.parallel((outer + lines - 1) // lines) as chunk:
        first, end = chunk * lines, builder.minimum((chunk + 1) * lines, outer)
        with builder.loop(first, end, 1, [builder.constant(False, "bool")]) as loop:
            begin = builder.offset(target, loop.index * length)
            numbers = builder.offset(index, loop.index * count)
            values = source if mode == "fill" else builder.offset(source, loop.index * count)
            with builder.loop(0, count, LISTED, loop.carry) as block:
                stop = builder.minimum(block.index + LISTED, count)
                inside = _all_inside(builder, numbers, block.index, stop, lanes, length)
                with builder.loop(builder.select(inside, block.index, stop), stop) as each:
                    number = builder.convert(builder.load(numbers, each.index), "i64")
                    value = builder.load(values, 0 if mode == "fill" else each.index)
                    _scatter(builder, mode, begin, number, value)
                block.carry = [block.carry[0] | ~inside]
            loop.carry = block.results
        builder.store(loop.results[0], outside, chunk)
    return Program("scatter_numbers", [builder.function])
