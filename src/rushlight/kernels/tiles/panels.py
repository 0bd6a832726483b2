"""Float32 matrix products on Intel's tile unit (AMX), which multiplies bfloat16 numbers and adds in float32.

A float32 number of 24 significant bits is the exact sum of three bfloat16 numbers of 8 bits each, high + middle + low.
Of the nine products of two such sums the six largest are computed: what is left out is below 2^-23 of the product, about
the rounding of float32 itself (the method of Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence
Datatype For Higher-Precision Computations", 2019). Six tile products in place of one float32 product are still 2.6 times
as many multiplications a second as the vector units do.

Infinities, NaNs and sums that overflow come out as NaN on this way; blocks that hold one are computed again in plain
float32. Numbers below 2^-110 or so lose low bits, for the unit takes denormal numbers for 0.

Layout: a panel is 32 rows of A (or 32 columns of B) over all k, as steps of 32 k; a step is three parts (high, middle,
low) of two tiles of 16 rows of 64 bytes. Lane r of a tile's row holds the numbers of k and k + 16 for k = r in one 32 bit
word, in A along the row, in B from row to row: so both are split and joined without any shuffling when A's k lie side by
side in memory and B's columns do. The other two layouts take a transposition of 16 x 16 words after that.
"""

from __future__ import annotations

from ..builder import Builder

PANEL = 32  # rows or columns of a panel, and k of a step
TILE_WORDS = 256  # 16 rows of 16 words
STEP_WORDS = 6 * TILE_WORDS
PARTS = 3
SHARED_GROUP = 2  # panels of the shared operand that a chunk packs
SCRATCH_HEAD = 2 * PANEL * PANEL + PANEL  # words of a worker's scratch memory before its panels
LANES = 16
_ROUND, _HIGH = 0x8000, -0x10000  # half of a bfloat16's last place, and the mask of its bits, in those of a float32


def split(b, value):
    """The high, middle and low part of a float32 vector, as words whose upper halves are bfloat16 numbers."""
    parts = []
    for _ in range(PARTS - 1):
        word = (b.bitcast(value, "i32") + _ROUND) & _HIGH
        parts.append(word)
        value = value - b.bitcast(word, "f32")
    return [*parts, b.bitcast(value, "i32")]


def join(b, first, second):
    """Words with the bfloat16 numbers of ``first`` in their lower halves and those of ``second`` in their upper."""
    lower = b.bitcast(b.bitcast(first, "u32") >> 16, "i32")
    return lower | (second & _HIGH)


def store_parts(b, first, second, target, at, part_words=2 * TILE_WORDS):
    """Split two vectors and store their joined parts, ``part_words`` apart, the first of them at ``target + at``."""
    start = b.offset(target, at)
    for part, (low, high) in enumerate(zip(split(b, first), split(b, second))):
        b.store(join(b, low, high), b.offset(start, part_words * part))


def _tail_of(b, depth):
    """The whole steps in ``depth``, and how many k are left after them."""
    whole = depth // PANEL
    return whole, depth - whole * PANEL


def pack_rows():
    """pack_rows(source, stride, rows, depth, target): rows with k side by side to A's tiles, one half panel (16 rows).

    Of the 16 only ``rows`` are there; zeros take the place of the others, and of k beyond ``depth``.
    """
    names = [("source", "f32*"), ("stride", "i64"), ("rows", "i64"), ("depth", "i64"), ("target", "i32*")]
    b = Builder("pack_rows", names)
    source, stride, rows, depth, target = b.parameters
    present = b.minimum(rows, LANES)
    whole, rest = _tail_of(b, depth)

    def pack(row, step, masks):
        start = b.offset(source, row * stride + step * PANEL)
        first, second = (b.load(start, half * LANES, LANES, mask) for half, mask in enumerate(masks))
        store_parts(b, first, second, target, step * STEP_WORDS + row * LANES)

    # A few steps of each row at a time: reading runs along, writing stays within a few pages.
    with b.loop(0, whole, 4) as block:
        end = b.minimum(block.index + 4, whole)
        with b.loop(0, present) as row, b.loop(block.index, end) as step:
            pack(row.index, step.index, (None, None))
    with b.when(rest > 0):
        masks = (b.first_lanes(rest, LANES), b.first_lanes(rest - LANES, LANES))
        with b.loop(0, present) as row:
            pack(row.index, whole, masks)
    with b.loop(0, whole + b.convert(rest > 0, "i64")) as step, b.loop(b.maximum(rows, 0), LANES) as row:
        for part in range(PARTS):
            at = step.index * STEP_WORDS + row.index * LANES + part * 2 * TILE_WORDS
            b.store(b.constant(0, "i32x16"), target, at)
    return b.function


def pack_columns():
    """pack_columns(source, stride, columns, depth, target, panel_words): columns side by side to B's tiles.

    Fills whole panels, ``panel_words`` apart, with zeros where columns or k are missing.
    """
    names = [("source", "f32*"), ("stride", "i64"), ("columns", "i64"), ("depth", "i64"), ("target", "i32*")]
    b = Builder("pack_columns", [*names, ("panel_words", "i64")])
    source, stride, columns, depth, target, panel_words = b.parameters
    whole_panels = columns // PANEL

    def pack(panel, at, row, load):
        """Row ``row`` of both tiles of a panel; ``load(start, half)`` loads 16 columns of the row at ``start``."""
        start = b.offset(source, row * stride + panel * PANEL)
        other = b.offset(start, stride * LANES)
        for half in range(2):
            first, second = load(start, row, half), load(other, row + LANES, half)
            store_parts(b, first, second, target, at + panel * panel_words + half * TILE_WORDS)

    def load_all(start, row, half):
        return b.load(start, half * LANES, LANES)

    def load_present(masks):
        def load(start, row, half):
            zero = b.constant(0.0, "f32x16")
            return b.choose(row < depth, lambda: [b.load(start, half * LANES, LANES, masks[half])], lambda: [zero])[0]

        return load

    whole_steps, rest = _tail_of(b, depth)
    rest_columns = columns - whole_panels * PANEL
    every = [b.constant(True, "boolx16")] * 2
    some = [b.first_lanes(rest_columns - half * LANES, LANES) for half in range(2)]
    with b.loop(0, whole_steps + b.convert(rest > 0, "i64")) as step, b.loop(0, LANES) as lane:
        row = step.index * PANEL + lane.index
        at = step.index * STEP_WORDS + lane.index * LANES

        def panels(load, row=row, at=at):
            with b.loop(0, whole_panels) as panel:
                pack(panel.index, at, row, load)
            return []

        b.choose(step.index < whole_steps, lambda: panels(load_all), lambda: panels(load_present(every)))
        with b.when(rest_columns > 0):
            pack(whole_panels, at, row, load_present(some))
    return b.function


def transposed_vectors(b, rows):
    """The columns of 16 vectors of 16 lanes: pairs of lanes, then fours, then eights change places."""
    for width in (1, 2, 4, 8):
        changed = list(rows)
        for i in range(LANES):
            if i & width:
                continue
            low, high = rows[i], rows[i + width]
            changed[i] = b.shuffle(
                low, high, [lane if not lane & width else lane - width + LANES for lane in range(LANES)]
            )
            changed[i + width] = b.shuffle(
                low, high, [lane + width if not lane & width else lane + LANES for lane in range(LANES)]
            )
        rows = changed
    return rows


def transpose_tile():
    """transpose_tile(tile): 16 x 16 words in place."""
    b = Builder("transpose_tile", [("tile", "i32*")])
    (tile,) = b.parameters
    rows = [b.load(tile, row * LANES, LANES) for row in range(LANES)]
    for row, value in enumerate(transposed_vectors(b, rows)):
        b.store(value, tile, row * LANES)
    return b.function


def has_nan():
    """has_nan(c, stride): 1 if there is a NaN in the 32 x 32 block whose rows are ``stride`` elements apart, else 0."""
    b = Builder("has_nan", [("c", "f32*"), ("stride", "i64")])
    c, stride = b.parameters
    with b.loop(0, PANEL, 4, carry=[b.constant(False, "boolx16")] * 2) as loop:
        for row in range(4):
            for half in range(2):
                value = b.load(c, (loop.index + row) * stride + half * LANES, LANES)
                loop.carry[half] = loop.carry[half] | value.differs(value)
    b.returns(b.convert(b.reduce(loop.results[0] | loop.results[1], "or"), "i64"))
    return b.function
