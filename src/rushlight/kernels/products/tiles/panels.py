"""Float32 matrix products on Intel's tile unit (AMX), which multiplies bfloat16 numbers and adds in float32.

A float32 number of 24 significant bits is the exact sum of three bfloat16 numbers of 8 bits each, high + middle + low.
Of the nine products of two such sums the six largest are computed: what is left out is below 2^-23 of the product, about
the rounding of float32 itself (the method of Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence
Datatype For Higher-Precision Computations", 2019). Six tile products in place of one float32 product are still 2.6 times
as many multiplications a second as the vector units do.

Infinities, NaNs and sums that overflow cannot be had this way: blocks of results that are not finite are computed again
in plain float32. Numbers below 2^-110 or so lose low bits, for the unit takes denormal numbers for 0.

Layout: a panel is 32 rows of A (or 32 columns of B) over all k, as steps of 32 k; a step is three parts (high, middle,
low) of two tiles of 16 rows of 64 bytes. Lane r of a tile's row holds the numbers of k and k + 16 for k = r in one 32 bit
word, in A along the row, in B from row to row: so both are split and joined without any shuffling when A's k lie side by
side in memory and B's columns do. The other two layouts are transposed before that, in blocks of 32 by 32.
"""

from __future__ import annotations

from ...language.builder import Builder

PANEL = 32  # rows or columns of a panel, and k of a step
BLOCK = PANEL * PANEL
TILE_WORDS = 256  # 16 rows of 16 words
STEP_WORDS = 6 * TILE_WORDS
PARTS = 3
LANES = 16
FEW_BLOCKS = 4  # that are split together
_ROUND, _HIGH = 0x8000, -0x10000  # half of a bfloat16's last place, and the mask of its bits, in those of a float32


def split(b, value):
    """The high, middle and low part of a float32 vector, as words whose upper halves are bfloat16 numbers.

    The high part is rounded, so that the rest has any sign, the middle part cut off: what is left still fits.
    """
    high = (b.bitcast(value, "i32") + _ROUND) & _HIGH
    rest = value - b.bitcast(high, "f32")
    middle = b.bitcast(rest, "i32") & _HIGH
    return [high, middle, b.bitcast(rest - b.bitcast(middle, "f32"), "i32")]


def join(b, first, second):
    """Words with the bfloat16 numbers of ``first`` in their lower halves and those of ``second`` in their upper."""
    lower = b.bitcast(b.bitcast(first, "u32") >> 16, "i32")
    return lower | (second & _HIGH)


def store_parts(b, first, second, target, at, part_words=2 * TILE_WORDS):
    """Split two vectors and store their joined parts, ``part_words`` apart, the first of them at ``target + at``."""
    start = b.offset(target, at)
    for part, (low, high) in enumerate(zip(split(b, first), split(b, second))):
        b.store(join(b, low, high), b.offset(start, part_words * part))


PRODUCTS = ((2, 0), (1, 0), (1, 1), (0, 1), (0, 2), (0, 0))  # of parts: small ones first, one operand stays in place


def multiply_parts(b, load_left, load_right, meanwhile=None, products=PRODUCTS):
    """A step: 32 x 32 sums in tiles 0 to 3 grow by the six products of parts; tiles 4 to 7 hold what is multiplied.

    ``load_left(tile, part, half)`` loads one tile of A's part, ``load_right`` of B's. Small products come first, in an
    order in which one operand stays where it is. After each, ``meanwhile`` writes a piece of other work.
    """
    held = [None, None]
    for parts in products:
        for side, load in enumerate((load_left, load_right)):
            if held[side] != parts[side]:
                for half in range(2):
                    load(4 + 2 * side + half, parts[side], half)
        held = parts
        for row in range(2):
            for column in range(2):
                b.tile_multiply(2 * row + column, 4 + row, 6 + column)
        if meanwhile:
            next(meanwhile, None)


def multiply_steps(b, left, right, steps, block, meanwhile=None):
    """The 32 x 32 sums over so many steps of two panels into a block; ``meanwhile(step)`` gives a step's other work."""
    for tile in range(4):
        b.tile_zero(tile)
    with b.loop(0, steps) as step:

        def loads(panel, at=step.index * STEP_WORDS):
            start = b.offset(panel, at)
            return lambda tile, part, half: b.tile_load(tile, start, (part * 2 + half) * TILE_WORDS)

        multiply_parts(b, loads(left), loads(right), meanwhile and meanwhile(step.index))
    store_sums(b, block)


def store_sums(b, block):
    """Tiles 0 to 3 into a block of 32 x 32 float32 numbers."""
    for tile in range(4):
        b.tile_store(tile, block, tile // 2 * LANES * PANEL + tile % 2 * LANES, PANEL * 4)


def split_blocks():
    """split_blocks(source, stride, half, pair, count, words, target): 32 x 32 blocks side by side to steps of panels.

    The rows are ``stride`` elements apart, the second tile's numbers ``half`` after those of the first, and the numbers
    of k + 16 ``pair`` after those of k. The steps are ``words`` apart. Row by row, so that memory is read along.
    """
    names = ("stride", "half", "pair", "count", "words")
    b = Builder("split_blocks", [("source", "f32*"), *((n, "i64") for n in names), ("target", "i32*")])
    source, stride, half, pair, count, words, target = b.parameters
    with b.loop(0, LANES) as row, b.loop(0, count) as block, b.loop(0, 2) as tile:
        start = b.offset(source, row.index * stride + block.index * PANEL + tile.index * half)
        first, second = b.load(start, 0, LANES), b.load(b.offset(start, pair), 0, LANES)
        store_parts(b, first, second, target, block.index * words + tile.index * TILE_WORDS + row.index * LANES)
    return b.function


def copy_block():
    """copy_block(source, stride, rows, columns, target): a block with zeros in place of what is not there."""
    b = Builder(
        "copy_block", [("source", "f32*"), *((n, "i64") for n in ("stride", "rows", "columns")), ("target", "f32*")]
    )
    source, stride, rows, columns, target = b.parameters
    with b.loop(0, PANEL) as row, b.loop(0, PANEL, LANES) as column:
        count = b.select(row.index < rows, columns - column.index, b.constant(0))
        value = b.load(source, row.index * stride + column.index, LANES, b.first_lanes(count, LANES))
        b.store(value, target, row.index * PANEL + column.index)
    return b.function


def turn_block():
    """turn_block(source, stride, target): the transpose of a 32 x 32 block."""
    b = Builder("turn_block", [("source", "f32*"), ("stride", "i64"), ("target", "f32*")])
    source, stride, target = b.parameters
    with b.loop(0, PANEL, LANES) as down, b.loop(0, PANEL, 4) as across:
        start = b.offset(source, down.index * stride + across.index)
        for column, value in enumerate(turned_fours(b, start, stride)):
            b.store(value, target, (across.index + column) * PANEL + down.index)
    return b.function


def turned_fours(b, start, stride):
    """Four columns of 16 rows that are ``stride`` apart, as vectors.

    They are loaded as four vectors of four rows each, so that the transpositions left to do are those of 4 x 4 numbers.
    """
    fours = [b.load(start, stride * row, 4) for row in range(LANES)]
    rows = []
    for row in range(4):  # rows row, row + 4, row + 8, row + 12
        first, second = (b.shuffle(fours[row + i], fours[row + i + 4], range(8)) for i in (0, 8))
        rows.append(b.shuffle(first, second, range(16)))
    return _transposed_fours(b, rows)


def _transposed_fours(b, rows):
    """The columns of the 4 x 4 numbers in every four lanes of four vectors: single lanes change places, then pairs."""

    def exchanged(first, second, lanes):
        low = [four + lane for four in range(0, LANES, 4) for lane in lanes]
        return b.shuffle(first, second, low), b.shuffle(first, second, [lane + 2 for lane in low])

    singles, pairs = (0, LANES, 1, LANES + 1), (0, 1, LANES, LANES + 1)
    (one, two), (three, four) = exchanged(*rows[:2], singles), exchanged(*rows[2:], singles)
    return [*exchanged(one, three, pairs), *exchanged(two, four, pairs)]


def pack_panels(split_blocks, copy_block, turn_block):
    """pack_panels(source, stride, lines, length, line_words, along_words, turned, left, stage, target).

    Packs a matrix of ``lines`` lines of ``length`` numbers that lie side by side, in blocks of 32 by 32: 32 lines further
    are ``line_words`` further in the panels, 32 numbers along the line ``along_words``. ``turned`` blocks are transposed
    first; ``left`` says whose panels these are, A's or B's. A few whole blocks are split at a time, the others one by one
    in ``stage``, which has room for two.
    """
    names = ("stride", "lines", "length", "line_words", "along_words", "turned", "left")
    b = Builder(
        "pack_panels", [("source", "f32*"), *((n, "i64") for n in names), ("stage", "f32*"), ("target", "i32*")]
    )
    source, stride, lines, length, line_words, along_words, turned, left, stage, target = b.parameters
    turned_stage = b.offset(stage, BLOCK)
    turned, left = turned > 0, left > 0

    def split(block, step, count, line, along):
        half, pair = b.select(left, step * LANES, LANES), b.select(left, LANES, step * LANES)
        at = line // PANEL * line_words + along // PANEL * along_words
        b.call(split_blocks, block, step, half, pair, count, along_words, b.offset(target, at))

    with b.loop(0, lines, PANEL) as line, b.loop(0, length, FEW_BLOCKS * PANEL) as few:
        rows, end = lines - line.index, b.minimum(few.index + FEW_BLOCKS * PANEL, length)
        start = b.offset(source, line.index * stride)
        directly = b.convert(rows >= PANEL, "i64") * b.convert(~turned, "i64")
        whole = (end - few.index) // PANEL * directly
        split(b.offset(start, few.index), stride, whole, line.index, few.index)
        with b.loop(few.index + whole * PANEL, end, PANEL) as along:
            block, columns = b.offset(start, along.index), length - along.index
            ragged = b.minimum(rows, columns) < PANEL
            with b.when(ragged):
                b.call(copy_block, block, stride, rows, columns, stage)
            block, step = b.select(ragged, stage, block), b.select(ragged, b.constant(PANEL), stride)
            with b.when(turned):
                b.call(turn_block, block, step, turned_stage)
            block, step = b.select(turned, turned_stage, block), b.select(turned, b.constant(PANEL), step)
            split(block, step, 1, line.index, along.index)
    return b.function


def entry(name, pointers, sizes):
    """A Builder for an entry, and its values by name: the pointers, then the numbers that lie in the last of them."""
    b = Builder(name, pointers)
    values = {given: value for (given, _), value in zip(pointers, b.parameters)}
    values.update((given, b.load(b.parameters[-1], i)) for i, given in enumerate(sizes))
    return b, values


def is_finite():
    """is_finite(block): 1 if there is no NaN and no infinity in the 32 x 32 block, else 0."""
    b = Builder("is_finite", [("block", "f32*")])
    (block,) = b.parameters
    with b.loop(0, BLOCK, 4 * LANES, carry=[b.constant(0.0, "f32x16")] * 4) as loop:
        # 0 times a finite number is 0; nothing else is.
        loop.carry = [b.fma(b.load(block, loop.index + i * LANES, LANES), 0.0, sum) for i, sum in enumerate(loop.carry)]
    one, two, three, four = loop.results
    b.returns(b.convert(b.reduce((one + two) + (three + four)).equals(0.0), "i64"))
    return b.function
