"""Plans of products: how C is cut into panels, tiles and chunks, by its shape and the layouts of A and B.

C's columns are cut into panels of a few vectors, its rows into tiles of a few rows; a panel and a tile meet in a block
that one call of the micro-kernel computes. Sizes differ by at most one, so no block is much smaller than the others and
two micro-kernel heights and widths do for a whole product.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from ...base.processors import near_bytes

# Number of registers -> vectors in a panel -> rows of the tiles that leave registers for a panel's row and a number of A.
TILE_ROWS = {32: {1: 10, 2: 8, 3: 8, 4: 6, 8: 3}, 16: {1: 10, 2: 6, 3: 4}}
PANEL_VECTORS = {32: (4, 8), 16: (2, 3)}  # vectors in a panel at most, and where one low tile has all rows

DEEPEST = 384  # k at once: longer sums in a row are less accurate, shorter ones read and write C more often
PACK_PARTS = 4  # chunks into which the packing of a shared panel is cut
_TURNED_ROWS = 96  # of transposed sums that wait in the nearest cache
_PACK_STEP = 1024  # bytes between B's rows from which a panel is copied together
_PACK_TILES = 16  # that many tiles must use a packed panel to make up for the copying
# Where a panel's row takes so many bytes, and the multipliers as long as the next one to come from the second-level cache,
# copying pays for rows farther apart, and later (64 x 512 x 784: 127 us with it, 115 without): from so many tiles on, or
# fewer if the panel is more than its sets of the cache hold; of A's columns, where they are so many times what those hold.
_WIDE_BYTES, _WIDE_STEP, _WIDE_TILES, _FULL_TILES, _WIDE_FILLS = 256, 2048, 40, 8, 4
_BLOCK_TILES = 8  # of a block of rows, at least
_WAY_BYTES, _WAYS = 1 << 16, 16  # of a second-level cache: memory so far apart shares a set, which holds so many lines
_WANTED_CHUNKS = 16  # per product, for two or more threads to end at about the same time
_MOST_CHUNKS = 64  # that small parts, of which batches have many, are put together to
_LEAST_CHUNK = 1 << 17  # multiplications that are worth being handed out: 0.7 us of work
_COLUMNS_STEP = 2048  # bytes between A's columns from which tiles are copied together
_FEW_ROWS = 192  # below that they are not cut into blocks for threads where B is packed
_FAR_BYTES = near_bytes() * 3 // 2  # from the first to the last of A's columns: beyond a second-level cache
_PACK_PANELS = 4  # more panels than that must use the packed tiles
_BLOCK_BYTES = near_bytes() * 3 // 4  # of A that stay in a second-level cache while panels of B pass by
_A_TILES = 8  # tiles of A that are packed by one chunk

SIZES = (
    "n k depth deepest panels wide_panels row_blocks tiles big_tiles parts parts_together chunks "
    "lda ldb ldc ld_addend batch_a batch_b batch_c batch_addend "
    "panels_at b_area b_chunks pieces a_area a_chunks a_groups local_at local_area"
).split()  # the numbers of a plan that the program reads, in order


class Shape(NamedTuple):
    """What is known of a product C[batch, m, n] of A[batch, m, k] and B[batch, k, n]; steps are in elements.

    ``lda`` is the step between rows of an A with ``a_form`` "rows", between columns where it is "columns"; ``ldb``
    between rows of B, or columns if ``b_turned``; ``ldc`` between rows of C, or columns if ``c_turned``.
    """

    batch: int
    m: int
    n: int
    k: int
    a_form: str
    lda: int
    batch_a: int
    b_turned: bool
    ldb: int
    batch_b: int
    ldc: int
    batch_c: int
    ld_addend: int
    batch_addend: int
    c_turned: bool = False


class Plan(NamedTuple):
    """A plan: what the program must be compiled for, what it gets as numbers, and the workspaces it needs."""

    widths: tuple  # vectors of the wide panels and of the others
    heights: tuple  # rows of the big tiles and of the others
    a_pack: str | None  # None, "copied" or "turned"
    b_pack: str | None
    b_shared: bool  # whether B is packed as a whole before, not panel by panel by whoever needs it
    whole: bool  # whether C's rows are whole vectors
    resumes: bool
    sizes: tuple
    workspace: int  # elements of workspace
    scratch: int  # and so many more for each thread


def _shared_out(total, parts, most):
    """``total`` in ``parts`` parts that differ by at most one: ((large, small) sizes, how many are large).

    Where ``most`` or the one below it are among the sizes, the pair is (most, most - 1): few pairs, few kernels.
    """
    small, large_count = divmod(total, parts)
    if small == most or (parts == 1 and not large_count):
        return (small, max(small - 1, 1)) if small == most else (small, small), parts
    return (small + 1, small), large_count


def _cut(shape, lanes, registers, wanted):
    """How C is cut up: (vectors, panels, widths, wide panels, tiles, heights, big tiles)."""
    rows_of, (most, widest) = TILE_ROWS[registers], PANEL_VECTORS[registers]
    if shape.m <= rows_of[widest]:
        most = widest
    vectors = -(-shape.n // lanes)
    panels = -(-vectors // most)
    if shape.batch == 1:
        if panels == 1 and shape.b_turned and shape.m < _FEW_ROWS and wanted > 1:
            panels = min(2, vectors)  # so that two threads transpose B
        elif 2 < panels < wanted:
            panels += panels % 2  # an even number of them for two threads
    widths, wide_panels = _shared_out(vectors, panels, most)
    most_rows = next(rows for width, rows in rows_of.items() if width >= widths[0])
    tiles = -(-shape.m // most_rows)
    return vectors, panels, widths, wide_panels, tiles, *_shared_out(shape.m, tiles, most_rows)


def _packing(shape, size, half, pairs, panels, tiles, row_bytes):
    """Whether and how A and B are packed: (for A, for B), each None, "copied" or "turned"; a panel's row has ``row_bytes``."""
    step = shape.ldb * size
    a_far = shape.lda * size >= _COLUMNS_STEP and panels > _PACK_PANELS
    if row_bytes >= _WIDE_BYTES:
        least = _FULL_TILES if _fills(step, _pieces(shape.k)) > 1 else _WIDE_TILES
        b_far = step >= _WIDE_STEP and tiles >= least
        a_far = a_far and _fills(shape.lda * size, shape.k) >= _WIDE_FILLS
    else:
        b_far = step >= _PACK_STEP and tiles >= _PACK_TILES
    b_pack = "turned" if shape.b_turned else "copied" if half or b_far else None
    if pairs and shape.a_form == "rows" and shape.k % 2 == 0:
        return None, b_pack
    if half:
        return "turned" if shape.a_form == "rows" else "copied", b_pack
    return "copied" if shape.a_form == "columns" and a_far else None, b_pack


def _fills(step, count):
    """How many times ``count`` lines, ``step`` bytes apart, fill the sets of the second-level cache that they belong to."""
    return count * gcd(step, _WAY_BYTES) / (_WAY_BYTES * _WAYS)


def _blocks_of_rows(shape, size, wanted, chunks, tiles, height, b_pack):
    """Into how many blocks the rows are cut, given ``chunks`` chunks without that."""
    blocks = min(-(-shape.m * shape.k * size // _BLOCK_BYTES), tiles // _BLOCK_TILES) or 1
    if chunks * blocks < wanted:
        most = max(blocks, tiles // (2 * _BLOCK_TILES) if b_pack else tiles // 2)
        blocks = min(most, -(-wanted // chunks))
    return max(blocks, -(-tiles * height // _TURNED_ROWS)) if shape.c_turned else blocks


def plan_product(shape, lanes, registers, size, half, resumes, pairs=False):
    """The Plan for a Shape: ``lanes`` in a vector, so many registers of vectors, ``size`` bytes in an element.

    ``half``: storage must be converted; ``pairs``: to pairs, for the instruction ``dot``.
    """
    depth = (shape.k + 1) // 2 if pairs else shape.k
    wanted = min(_WANTED_CHUNKS, shape.batch * shape.m * shape.n * depth // _LEAST_CHUNK)
    vectors, panels, widths, wide_panels, tiles, heights, big_tiles = _cut(shape, lanes, registers, wanted)
    a_pack, b_pack = _packing(shape, size, half, pairs, panels, tiles, widths[0] * lanes * size)
    row_blocks = _blocks_of_rows(shape, size, wanted, shape.batch * panels, tiles, heights[0], b_pack)
    parts = shape.batch * panels * row_blocks
    together = max(1, parts // _MOST_CHUNKS)
    deepest = depth if half else _pieces(depth)
    pieces = -(-depth // deepest)
    b_shared = bool(b_pack) and row_blocks > 1
    b_area = (vectors * depth if b_shared else widths[0] * deepest) * lanes if b_pack else 0
    a_area = -(-shape.m * depth // lanes) * lanes if a_pack else 0
    c_area = -(-tiles // row_blocks) * heights[0] * widths[0] * lanes if shape.c_turned else 0
    a_groups = -(-tiles // _A_TILES) if a_pack else 0
    batches_of_a, batches_of_b = (shape.batch if step else 1 for step in (shape.batch_a, shape.batch_b))
    workspace = a_area * batches_of_a + (b_area * batches_of_b if b_shared else 0)
    local_area = c_area + (0 if b_shared else b_area)
    sizes = {
        **shape._asdict(),
        "depth": depth,
        "deepest": deepest,
        "panels": panels,
        "wide_panels": wide_panels,
        "row_blocks": row_blocks,
        "tiles": tiles,
        "big_tiles": big_tiles,
        "parts": parts,
        "parts_together": together,
        "chunks": -(-parts // together),
        "panels_at": a_area * batches_of_a,
        "b_area": b_area if shape.batch_b or not b_shared else 0,
        "b_chunks": batches_of_b * panels * pieces * PACK_PARTS,
        "pieces": pieces,
        "a_area": a_area if shape.batch_a else 0,
        "a_chunks": a_groups * batches_of_a,
        "a_groups": a_groups,
        "local_at": workspace,
        "local_area": local_area,
    }
    numbers = tuple(sizes[name] for name in SIZES)
    whole = shape.n % lanes == 0
    return Plan(widths, heights, a_pack, b_pack, b_shared, whole, resumes or pieces > 1, numbers, workspace, local_area)


def _pieces(depth):
    """``depth`` cut into equal pieces of at most DEEPEST: the size of one."""
    count = -(-depth // DEEPEST)
    return depth if count <= 1 else -(-depth // count)


def turns_out(shape, size):
    """Whether to compute C^T = B^T A^T in blocks and transpose those, so that A is packed in place of B.

    That pays where both are contiguous over k and A is much the smaller one, and where A's columns lie so far apart, and
    are so many, that each tile would fetch them from beyond the second-level cache: they meet in few of its sets.
    """
    if shape.a_form == "rows":
        return shape.b_turned and shape.n * shape.k > 2 * shape.m * (shape.n + shape.k)
    step = shape.lda * size
    return not shape.b_turned and step % _COLUMNS_STEP == 0 and step * shape.k >= _FAR_BYTES
