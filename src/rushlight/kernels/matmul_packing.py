"""Packing: strips of a matrix copied into the order in which the micro-kernel reads them, transposed if need be.

A strip is a few neighbouring columns of B, or rows of A, over a range of k. Packed, it holds for each k the strip's
elements side by side, ``pitch`` elements after those of the k before. Values are stored in the type of computation.
"""

from __future__ import annotations

from .builder import Builder

_PARAMETERS = [("step", "i64"), ("pitch", "i64"), ("depth", "i64"), ("width", "i64")]


def copying(storage, compute, lanes, vectors):
    """Function ``(source, target, step, pitch, depth, width)``: ``depth`` rows of ``width`` elements, ``step`` apart,
    copied; ``width`` ends in the last of ``vectors`` vectors, which is stored whole, zeros at its end.
    """
    builder = Builder(f"copy_strip{vectors}", [("source", f"{storage}*"), ("target", f"{compute}*"), *_PARAMETERS])
    source, target, step, pitch, depth, width = builder.parameters
    masks = [*[None] * (vectors - 1), builder.first_lanes(width - (vectors - 1) * lanes, lanes)]
    with builder.loop(0, depth, 1, [source, target]) as k:
        row, packed = k.carry
        for j, mask in enumerate(masks):
            values = builder.convert(builder.load(row, j * lanes, lanes, mask), compute)
            builder.store(values, packed, j * lanes)
        k.carry = [builder.offset(row, step), builder.offset(packed, pitch)]
    return builder.function


def tiling(storage, compute, lanes, rows):
    """Function ``(source, target, step, depth, count)``: ``count`` tiles of ``rows`` rows each, whose elements for one k
    lie side by side, ``step`` apart from those of the next: each tile is packed over ``depth`` values of k, one tile
    after the other. All tiles move along k together, so that a line of the source is read once.
    """
    parameters = [("source", f"{storage}*"), ("target", f"{compute}*"), ("step", "i64"), ("depth", "i64")]
    builder = Builder(f"copy_tiles{rows}", [*parameters, ("count", "i64")])
    source, target, step, depth, count = builder.parameters
    starts = range(0, rows, lanes)
    masks = [builder.first_lanes(builder.constant(rows - start), lanes) for start in starts]
    with builder.loop(0, depth, 1, [source, target]) as k:
        row, packed = k.carry
        with builder.loop(0, count, 1, [row, packed]) as tiles:
            values, place = tiles.carry
            for start, mask in zip(starts, masks):
                builder.store(builder.convert(builder.load(values, start, lanes, mask), compute), place, start, mask)
            tiles.carry = [builder.offset(values, rows), builder.offset(place, depth * rows)]
        k.carry = [builder.offset(row, step), builder.offset(packed, rows)]
    return builder.function


def turning(storage, compute, lanes, padded, extra=(), finish=None, name="turn_strip"):
    """Function ``(source, target, step, pitch, depth, width)``: a strip of at most ``lanes`` rows that lie ``step``
    apart, each contiguous over k, transposed.

    Four values of k (two in float64) are taken at once: 16 bytes of each row, laid into vectors so that a transposition
    inside of 16-byte lanes is all that is left. With ``padded`` whole vectors are stored: the last row repeats. Where that
    is None, one more parameter, ``stored``, says how many lanes are.

    ``finish(builder, values, mask, extra)`` may change what is stored; ``extra`` are more parameters, for that.
    """
    parameters = [("source", f"{storage}*"), ("target", f"{compute}*"), *_PARAMETERS, *extra]
    builder = Builder(name, [*parameters, ("stored", "i64")] if padded is None else parameters)
    source, target, step, pitch, depth, width, *more = builder.parameters
    stored = more.pop() if padded is None else width
    group = 2 if compute == "f64" else 4
    last = width - 1
    rows = [builder.offset(source, builder.minimum(last, i) * step) for i in range(lanes)]
    mask = None if padded else builder.first_lanes(stored, lanes)
    whole = depth // group * group
    wide = "f64" if storage == "f64" else "f32"

    def store(values, k):
        values = values if finish is None else finish(builder, values, mask, more)
        builder.store(builder.convert(values, compute), target, k * pitch, mask)

    with builder.loop(0, whole, group) as k:
        pieces = [builder.load(row, k.index, group) for row in rows]
        vectors = [
            builder.convert(_joined(builder, [pieces[i] for i in range(first, lanes, group)]), wide)
            for first in range(group)
        ]
        for i, vector in enumerate(_turned_groups(builder, vectors)):
            store(vector, k.index + i)
    rest = builder.minimum(builder.iota(f"i64x{lanes}"), builder.splat(last, lanes)) * builder.splat(step, lanes)
    with builder.loop(whole, depth) as k:
        store(builder.convert(builder.gather(builder.offset(source, k.index), rest), wide), k.index)
    return builder.function


def _joined(builder, pieces):
    """Short vectors one after the other in one."""
    while len(pieces) > 1:
        lanes = range(2 * pieces[0].type.lanes)
        pieces = [builder.shuffle(pieces[i], pieces[i + 1], lanes) for i in range(0, len(pieces), 2)]
    return pieces[0]


def _turned_groups(builder, vectors):
    """Transpose each group of ``len(vectors)`` lanes: lane i of a group of vector j becomes its lane j of vector i."""
    size, lanes = len(vectors), vectors[0].type.lanes
    groups = range(0, lanes, size)
    if size == 2:
        first, second = vectors
        low = [lane for g in groups for lane in (g, lanes + g)]
        high = [lane + 1 for lane in low]
        return [builder.shuffle(first, second, low), builder.shuffle(first, second, high)]
    a, b, c, d = vectors
    low = [lane for g in groups for lane in (g, lanes + g, g + 1, lanes + g + 1)]
    high = [lane + 2 for lane in low]
    front = [lane for g in groups for lane in (g, g + 1, lanes + g, lanes + g + 1)]
    back = [lane + 2 for lane in front]
    ab_low, cd_low = builder.shuffle(a, b, low), builder.shuffle(c, d, low)
    ab_high, cd_high = builder.shuffle(a, b, high), builder.shuffle(c, d, high)
    return [
        builder.shuffle(ab_low, cd_low, front),
        builder.shuffle(ab_low, cd_low, back),
        builder.shuffle(ab_high, cd_high, front),
        builder.shuffle(ab_high, cd_high, back),
    ]
