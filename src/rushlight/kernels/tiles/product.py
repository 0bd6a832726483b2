"""The program of a matrix product on the tile unit."""

from __future__ import annotations

from ..builder import Builder
from ..program import Program
from .panels import (
    LANES,
    PANEL,
    PARTS,
    SCRATCH_HEAD,
    SHARED_GROUP,
    STEP_WORDS,
    TILE_WORDS,
    has_nan,
    pack_columns,
    pack_rows,
    transpose_tile,
    transposed_vectors,
)


def multiply_panels():
    """multiply_panels(a, b, steps, initial, initial_stride, c, stride): a 32 x 32 block of A B, added to ``initial``.

    Strides are the bytes from row to row; 0 for ``initial`` takes one row for all of them.
    """
    names = [("a", "i32*"), ("b", "i32*"), ("steps", "i64"), ("initial", "f32*"), ("initial_stride", "i64")]
    b = Builder("multiply_panels", [*names, ("c", "f32*"), ("stride", "i64")])
    left, right, steps, initial, initial_stride, c, stride = b.parameters
    a_tile, b_tile = 4, 6  # and the next; 0 to 3 hold the four quarters of the product
    quarters = [(2 * i + j, i * LANES, j * LANES) for i in range(2) for j in range(2)]
    for tile, row, column in quarters:
        b.tile_load(tile, initial, initial_stride // 4 * row + column, initial_stride)
    with b.loop(0, steps) as loop:
        a_step = b.offset(left, loop.index * STEP_WORDS)
        b_step = b.offset(right, loop.index * STEP_WORDS)
        held = {a_tile: None, b_tile: None}
        # Small products first, in an order in which one operand stays where it is.
        for a_part, b_part in ((2, 0), (1, 0), (1, 1), (0, 1), (0, 2), (0, 0)):
            for first, step, part in ((a_tile, a_step, a_part), (b_tile, b_step, b_part)):
                if held[first] != part:
                    for i in range(2):
                        b.tile_load(first + i, step, (part * 2 + i) * TILE_WORDS)
                    held[first] = part
            for i in range(2):
                for j in range(2):
                    b.tile_multiply(2 * i + j, a_tile + i, b_tile + j)
    for tile, row, column in quarters:
        b.tile_store(tile, c, stride // 4 * row + column, stride)
    return b.function


class _Operand:
    """How one operand is packed: by rows (k side by side) or by columns, turned around where its role asks for it."""

    def __init__(self, functions, contiguous_depth, is_left):
        self.functions, self.contiguous_depth, self.turned = functions, contiguous_depth, contiguous_depth != is_left

    def pack(self, b, source, stride, extent, depth, target, panel_words):
        """Pack ``extent`` rows or columns, ``depth`` k, into as many panels as they fill, ``panel_words`` apart."""
        if not self.contiguous_depth:
            b.call(self.functions["pack_columns"], source, stride, extent, depth, target, panel_words)
        with b.loop(0, extent, PANEL) as first, b.loop(0, PANEL, LANES) as half:
            tile = b.offset(target, first.index // PANEL * panel_words + half.index // LANES * TILE_WORDS)
            if self.contiguous_depth:
                row = first.index + half.index
                start = b.offset(source, row * stride)
                b.call(self.functions["pack_rows"], start, stride, extent - row, depth, tile)
            if self.turned:
                with b.loop(0, (depth + (PANEL - 1)) // PANEL) as step, b.loop(0, PARTS) as part:
                    at = step.index * STEP_WORDS + part.index * 2 * TILE_WORDS
                    b.call(self.functions["transpose_tile"], b.offset(tile, at))


def plain_block():
    """plain_block(a, a_row, a_depth, b, b_depth, b_column, rows, columns, depth, c, c_row): up to 32 x 32, plain float32.

    For what the tile unit cannot say: infinities, and sums near the largest float32. Strides count elements.
    """
    names = ("a_row", "a_depth", "b_depth", "b_column", "rows", "columns", "depth")
    left_and_right = [("a", "f32*"), ("b", "f32*")]
    b = Builder("plain_block", [*left_and_right, *((n, "i64") for n in names), ("c", "f32*"), ("c_row", "i64")])
    left, right, a_row, a_depth, b_depth, b_column, rows, columns, depth, c, c_row = b.parameters
    lanes = b.iota("i64x16") * b.splat(b_column, LANES)
    with b.loop(0, rows) as row, b.loop(0, columns, LANES) as column:
        mask = b.first_lanes(columns - column.index, LANES)
        start = b.offset(right, column.index * b_column)
        with b.loop(0, depth, carry=[b.constant(0.0, "f32x16")]) as step:
            first = b.splat(b.load(left, row.index * a_row + step.index * a_depth), LANES)
            second = b.gather(b.offset(start, step.index * b_depth), lanes, mask)
            step.carry[0] = b.fma(first, second, step.carry[0])
        b.store(step.results[0], c, row.index * c_row + column.index, mask)
    return b.function


def turn_block():
    """turn_block(source, target): the transpose of a 32 x 32 block."""
    b = Builder("turn_block", [("source", "f32*"), ("target", "f32*")])
    source, target = b.parameters
    with b.loop(0, PANEL, LANES) as down, b.loop(0, PANEL, LANES) as across:
        start = b.offset(source, down.index * PANEL + across.index)
        end = b.offset(target, across.index * PANEL + down.index)
        rows = [b.load(start, row * PANEL, LANES) for row in range(LANES)]
        for row, value in enumerate(transposed_vectors(b, rows)):
            b.store(value, end, row * PANEL)
    return b.function


def add_bias_to_block():
    """add_bias_to_block(c, stride, bias): the bias of each column, to a 32 x 32 block."""
    b = Builder("add_bias_to_block", [("c", "f32*"), ("stride", "i64"), ("bias", "f32*")])
    c, stride, bias = b.parameters
    with b.loop(0, PANEL) as row, b.loop(0, PANEL) as column:
        at = row.index * stride + column.index
        b.store(b.load(c, at) + b.load(bias, column.index), c, at)
    return b.function


def finish_block(epilogue):
    """finish_block(block, c, stride, rows, columns, bias, add, last): a 32 x 32 block into the result.

    Adds what is there already where ``add`` is 1; where ``last`` is 1, ``epilogue(builder, value, bias, row, column,
    mask)`` gives what is stored.
    """
    names = ("stride", "rows", "columns", "add", "last")
    b = Builder("finish_block", [("block", "f32*"), ("c", "f32*"), ("bias", "f32*"), *((n, "i64") for n in names)])
    block, c, bias, stride, rows, columns, add, last = b.parameters
    masks = [b.first_lanes(columns - half * LANES, LANES) for half in range(2)]
    with b.loop(0, rows) as row:
        for half in range(2):
            column, mask = half * LANES, masks[half]
            at = row.index * stride + column
            value = b.load(block, row.index * PANEL + column, LANES)
            value = b.choose(add > 0, lambda: [value + b.load(c, at, LANES, mask)], lambda: [value])[0]
            if epilogue is not None:
                value = b.choose(
                    last > 0,
                    lambda: [epilogue(b, value, bias, row.index, column, mask)],
                    lambda: [value],
                )[0]
            b.store(value, c, at, mask)
    return b.function


def add_bias(b, value, bias, row, column, mask):
    """Epilogue: add the bias of the column."""
    return value + b.load(bias, column, LANES, mask)


def add_row_bias(b, value, bias, row, column, mask):
    """Epilogue: add the bias of the row."""
    return value + b.splat(b.load(bias, row), LANES)


EPILOGUES = {None: None, "bias": add_bias, "row_bias": add_row_bias}

PARAMETERS = (
    ("a", "f32*"), ("b_", "f32*"), ("c", "f32*"), ("bias", "f32*"), ("shared", "i32*"), ("scratch", "i32*"),
    ("rows", "i64"), ("columns", "i64"), ("depth", "i64"), ("a_stride", "i64"), ("b_stride", "i64"), ("c_stride", "i64"),
    ("a_batch", "i64"), ("b_batch", "i64"), ("c_batch", "i64"), ("batch", "i64"),
    ("group", "i64"), ("block_steps", "i64"), ("scratch_words", "i64"), ("add", "i64"),
)  # fmt: skip


class _Product:
    """Writes the entry of a product of matrices, C = A B for each of a batch.

    One operand is packed whole at first, by all threads, and shared; of the other each chunk packs a group of panels for
    itself. ``left_depth`` and ``right_depth`` say whose k lie side by side, ``stream_left`` which operand is the one
    that chunks pack, ``turned`` that C's rows and columns have changed places in memory.
    """

    def __init__(self, left_depth, right_depth, stream_left, turned, epilogue):
        self.shared_functions = [
            pack_rows(), pack_columns(), transpose_tile(), multiply_panels(), plain_block(), has_nan(), turn_block(), add_bias_to_block(),
            finish_block(EPILOGUES[epilogue]),
        ]  # fmt: skip
        functions = self.functions = {function.name: function for function in self.shared_functions}
        self.left = _Operand(functions, left_depth, is_left=True)
        self.right = _Operand(functions, right_depth, is_left=False)
        self.stream_left, self.turned = stream_left, turned
        self.bias_at = epilogue
        self.b = Builder("tile_product", PARAMETERS)
        for (name, _), value in zip(PARAMETERS, self.b.parameters):
            setattr(self, name, value)

    def program(self):
        b = self.b
        self.steps = (self.depth + (PANEL - 1)) // PANEL
        self.panel_words = self.steps * STEP_WORDS
        streamed, shared = (self.rows, self.columns) if self.stream_left else (self.columns, self.rows)
        self.streamed_extent, self.shared_extent = streamed, shared
        self.shared_panels = (shared + (PANEL - 1)) // PANEL
        packs = (self.shared_panels + (SHARED_GROUP - 1)) // SHARED_GROUP
        with b.parallel(self.batch * packs) as chunk:
            self._pack_shared(chunk // packs, chunk % packs * SHARED_GROUP)
        groups = (streamed + (self.group * PANEL - 1)) // (self.group * PANEL)
        with b.parallel(self.batch * groups) as chunk, b.tiles():
            self._multiply_group(chunk // groups, chunk % groups)
        return Program("tile_product", [*self.shared_functions, b.function])

    def _source(self, is_left, batch, first, along):
        """Pointer to the operand's row (column) ``first`` at k ``along``."""
        b = self.b
        operand = self.left if is_left else self.right
        pointer, stride = (self.a, self.a_stride) if is_left else (self.b_, self.b_stride)
        base = b.offset(pointer, batch * (self.a_batch if is_left else self.b_batch))
        at = first * stride + along if operand.contiguous_depth else along * stride + first
        return b.offset(base, at), stride, operand

    def _pack_shared(self, batch, panel):
        b = self.b
        source, stride, operand = self._source(not self.stream_left, batch, panel * PANEL, 0)
        target = b.offset(self.shared, (batch * self.shared_panels + panel) * self.panel_words)
        extent = b.minimum(self.shared_extent - panel * PANEL, SHARED_GROUP * PANEL)
        operand.pack(b, source, stride, extent, self.depth, target, self.panel_words)

    def _multiply_group(self, batch, group):
        b = self.b
        scratch = b.offset(self.scratch, b.worker() * self.scratch_words)
        # The scratch memory's first words hold two blocks of results and a row of zeros, the rest the packed panels.
        block, turned_block, self.zeros = (b.offset(b.reinterpret(scratch, "f32"), i * PANEL * PANEL) for i in range(3))
        for half in range(2):
            b.store(b.constant(0.0, "f32x16"), self.zeros, half * LANES)
        packed = b.offset(scratch, SCRATCH_HEAD)
        first_panel = group * self.group
        panels = b.minimum(self.group, (self.streamed_extent - first_panel * PANEL + (PANEL - 1)) // PANEL)
        with b.loop(0, self.steps, self.block_steps) as begin:
            steps = b.minimum(self.block_steps, self.steps - begin.index)
            along = begin.index * PANEL
            depth = b.minimum(steps * PANEL, self.depth - along)
            source, stride, operand = self._source(self.stream_left, batch, first_panel * PANEL, along)
            extent = b.minimum(self.streamed_extent - first_panel * PANEL, self.group * PANEL)
            operand.pack(b, source, stride, extent, depth, packed, steps * STEP_WORDS)
            with b.loop(0, self.shared_panels) as other, b.loop(0, panels) as panel:
                mine = b.offset(packed, panel.index * steps * STEP_WORDS)
                theirs = (batch * self.shared_panels + other.index) * self.panel_words + begin.index * STEP_WORDS
                theirs = b.offset(self.shared, theirs)
                streamed, shared = (first_panel + panel.index) * PANEL, other.index * PANEL
                if self.stream_left:
                    self._one_block(
                        batch, mine, theirs, streamed, shared, begin.index, steps, depth, block, turned_block
                    )
                else:
                    self._one_block(
                        batch, theirs, mine, shared, streamed, begin.index, steps, depth, block, turned_block
                    )

    def _one_block(self, batch, left, right, row, column, begin, steps, depth, block, turned_block):
        """Multiply two panels' steps into C: straight into memory where the block is whole and needs no epilogue."""
        b, call = self.b, self.functions
        rows, columns = b.minimum(self.rows - row, PANEL), b.minimum(self.columns - column, PANEL)
        at = (column, row) if self.turned else (row, column)
        result = b.offset(self.c, batch * self.c_batch + at[0] * self.c_stride + at[1])
        place = (batch, row, column, begin, depth)

        def by_way_of_scratch():
            b.call(call["multiply_panels"], left, right, steps, self.zeros, 0, block, PANEL * 4)
            self._mend(block, PANEL, rows, columns, *place)
            self._finish(block, turned_block, result, rows, columns, row, column, begin, steps)

        if self.turned or self.bias_at == "row_bias":
            by_way_of_scratch()
            return
        whole = (b.minimum(rows, columns).equals(PANEL)) & self.add.equals(0)

        def straight():
            bias = self.zeros if not self.bias_at else b.offset(self.bias, column)
            stride = self.c_stride * 4
            first = begin.equals(0)
            initial, step = b.select(first, bias, result), b.select(first, b.constant(0), stride)
            b.call(call["multiply_panels"], left, right, steps, initial, step, result, stride)
            with b.when(b.call(call["has_nan"], result, self.c_stride) > 0):
                # What was added so far may be lost: begin again from k = 0.
                self._plain(
                    result, self.c_stride, rows, columns, batch, row, column, b.constant(0), begin * PANEL + depth
                )
                if self.bias_at:
                    b.call(call["add_bias_to_block"], result, self.c_stride, bias)
            return []

        b.choose(whole, straight, lambda: by_way_of_scratch() or [])

    def _mend(self, block, stride, rows, columns, batch, row, column, begin, depth):
        b = self.b
        with b.when(b.call(self.functions["has_nan"], block, stride) > 0):
            self._plain(block, b.constant(stride), rows, columns, batch, row, column, begin * PANEL, depth)

    def _plain(self, block, stride, rows, columns, batch, row, column, along, depth):
        b = self.b
        a_at, a_stride, a = self._source(True, batch, row, along)
        b_at, b_stride, other = self._source(False, batch, column, along)
        a_strides = (a_stride, 1) if a.contiguous_depth else (1, a_stride)
        b_strides = (1, b_stride) if other.contiguous_depth else (b_stride, 1)
        b.call(self.functions["plain_block"], a_at, b_at, *a_strides, *b_strides, rows, columns, depth, block, stride)

    def _finish(self, block, turned_block, result, rows, columns, row, column, begin, steps):
        b = self.b
        if self.turned:
            b.call(self.functions["turn_block"], block, turned_block)
            block, rows, columns, row, column = turned_block, columns, rows, column, row
        add = b.convert((begin > 0) | (self.add > 0), "i64")
        last = b.convert((begin + steps).equals(self.steps), "i64")
        bias = self.bias if not self.bias_at else b.offset(self.bias, {"bias": column, "row_bias": row}[self.bias_at])
        b.call(self.functions["finish_block"], block, result, bias, self.c_stride, rows, columns, add, last)


def build(left_depth, right_depth, stream_left, turned, epilogue):
    """The Program of a product: see ``_Product``."""
    return _Product(left_depth, right_depth, stream_left, turned, epilogue).program()
