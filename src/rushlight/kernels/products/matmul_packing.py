"""Packing: strips of a matrix copied into the order in which the micro-kernel reads them, transposed if need be.

A strip is a few neighbouring columns of B, or rows of A, over a range of k. Packed, it holds for each k the strip's
elements side by side, ``pitch`` elements after those of the k before. Values are stored in the type of computation; or,
where that is ``PAIRS`` and the matrix is of bfloat16, those of two k as one element, a pitch after those of the pair
before: what the instruction ``dot`` takes. An odd last one is a pair with 0.
"""

from __future__ import annotations

from ..language.builder import Builder

PAIRS = "i32"
_PARAMETERS = [("step", "i64"), ("pitch", "i64"), ("depth", "i64"), ("width", "i64")]


def copying(storage, compute, lanes, vectors):
    """Function ``(source, target, step, pitch, depth, width)``: ``depth`` rows of ``width`` elements, ``step`` apart,
    copied; ``width`` ends in the last of ``vectors`` vectors, which is stored whole, zeros at its end.
    """
    builder = Builder(f"copy_strip{vectors}", [("source", f"{storage}*"), ("target", f"{compute}*"), *_PARAMETERS])
    source, target, step, pitch, depth, width = builder.parameters
    masks = [*[None] * (vectors - 1), builder.first_lanes(width - (vectors - 1) * lanes, lanes)]

    def pack(fetch, packed):
        for j, mask in enumerate(masks):
            builder.store(fetch(j * lanes, mask), packed, j * lanes)

    _for_steps(builder, compute, source, step, depth, lanes, target, pitch, pack)
    return builder.function


def _for_steps(builder, compute, source, step, depth, lanes, target, pitch, pack):
    """``pack(fetch, target)`` for each step of k, or each pair of them, ``target`` going on by a pitch.

    The elements for one k lie side by side, ``step`` apart from those of the next; ``fetch(index, mask)`` gives a vector
    of the step's, as they are packed.
    """

    def fetching(row, following=None):
        def fetch(index, mask):
            values = builder.load(row, index, lanes, mask)
            if compute != PAIRS:
                return builder.convert(values, compute)
            lower = builder.convert(builder.bitcast(values, "u16"), "i32")
            if following is None:
                return lower
            upper = builder.load(following, index, lanes, mask)
            return lower | (builder.convert(builder.bitcast(upper, "u16"), "i32") << 16)

        return fetch

    steps = depth // 2 if compute == PAIRS else depth
    with builder.loop(0, steps, 1, [source, target]) as k:
        row, packed = k.carry
        following = builder.offset(row, step)
        if compute == PAIRS:
            pack(fetching(row, following), packed)
            following = builder.offset(following, step)
        else:
            pack(fetching(row), packed)
        k.carry = [following, builder.offset(packed, pitch)]
    if compute == PAIRS:
        with builder.when(steps * 2 < depth):
            pack(fetching(k.results[0]), k.results[1])


def tiling(storage, compute, lanes, rows):
    """Function ``(source, target, step, depth, count)``: ``count`` tiles of ``rows`` rows each, whose elements for one k
    lie side by side, ``step`` apart from those of the next: each tile is packed over ``depth`` values of k, one tile
    after the other. All tiles move along k together, so that a line of the source is read once.

    Whole vectors are stored, except for the last k: what goes beyond a tile's rows is written over by what follows. Some
    processors take a dozen cycles for a masked store.
    """
    parameters = [("source", f"{storage}*"), ("target", f"{compute}*"), ("step", "i64"), ("depth", "i64")]
    builder = Builder(f"copy_tiles{rows}", [*parameters, ("count", "i64")])
    source, target, step, depth, count = builder.parameters
    starts = range(0, rows, lanes)
    masks = [builder.first_lanes(builder.constant(rows - start), lanes) for start in starts]
    in_step = 2 if compute == PAIRS else 1
    area = (depth + (in_step - 1)) // in_step * rows

    def packing(whole):
        def pack(fetch, packed):
            with builder.loop(0, count, 1, [packed]) as tiles:
                for start, mask in zip(starts, masks):
                    value = fetch(tiles.index * rows + start, mask)
                    builder.store(value, tiles.carry[0], start, None if whole else mask)
                tiles.carry = [builder.offset(tiles.carry[0], area)]

        return pack

    steps = builder.maximum(depth // in_step - -(-lanes // rows), 0)
    last, place = builder.offset(source, steps * in_step * step), builder.offset(target, steps * rows)
    _for_steps(builder, compute, source, step, steps * in_step, lanes, target, rows, packing(True))
    _for_steps(builder, compute, last, step, depth - steps * in_step, lanes, place, rows, packing(False))
    return builder.function


def turning(storage, compute, lanes, padded, extra=(), finish=None, name="turn_strip"):
    """Function ``(source, target, step, pitch, depth, width)``: a strip of at most ``lanes`` rows that lie ``step``
    apart, each contiguous over k, transposed.

    Four values of k (two in float64, four pairs of bfloat16) are taken at once: 16 bytes of each row, laid into vectors so that a transposition
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
    joins = storage == "bf16" and compute == PAIRS
    in_step = 2 if joins else 1  # elements
    whole = depth // (group * in_step) * group
    wide = PAIRS if compute == PAIRS else "f64" if storage == "f64" else "f32"

    def store(values, k, mask):
        values = values if finish is None else finish(builder, values, mask, more)
        builder.store(builder.convert(values, compute), target, k * pitch, mask)

    def turned(k, mask=None):
        """The vectors for the ``group`` steps from k on."""
        pieces = [builder.load(row, k * in_step, group * in_step, mask) for row in rows]
        if joins:
            pieces = [builder.bitcast(piece, PAIRS) for piece in pieces]
        vectors = [_joined(builder, [pieces[i] for i in range(first, lanes, group)]) for first in range(group)]
        return _turned_groups(builder, [builder.convert(vector, wide) for vector in vectors])

    def groups(mask):
        with builder.loop(0, whole, group) as k:
            for i, vector in enumerate(turned(k.index)):
                store(vector, k.index + i, mask)
        return []

    mask = None if padded else builder.first_lanes(stored, lanes)
    if padded:
        groups(None)
    else:  # some processors take a dozen cycles for a masked store
        builder.choose(stored >= lanes, lambda: groups(None), lambda: groups(mask))
    if joins:
        left = depth - whole * in_step
        with builder.when(left > 0):
            for i, vector in enumerate(turned(whole, builder.first_lanes(left, group * in_step))):
                with builder.when(left > i * in_step):
                    store(vector, whole + i, mask)
        return builder.function
    rest = builder.minimum(builder.iota(f"i64x{lanes}"), builder.splat(last, lanes)) * builder.splat(step, lanes)
    with builder.loop(whole, depth) as k:
        store(builder.convert(builder.gather(builder.offset(source, k.index), rest), wide), k.index, mask)
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
