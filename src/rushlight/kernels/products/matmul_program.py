"""The loop program of products of matrices: pack, then block by block through the micro-kernel."""

from __future__ import annotations

from typing import NamedTuple

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import vector
from .matmul_micro import PLAIN, Epilogue, finisher, micro_kernel
from .matmul_packing import PAIRS, copying, tiling, turning
from .matmul_plan import PACK_PARTS, SIZES

_SUMMED_VECTORS = 4  # of A's rows that are added up at once
_SUMMED_TOGETHER = 32  # of A's columns


class Options(NamedTuple):
    """What a product's program is compiled for; see Plan and Epilogue."""

    storage: str
    compute: str
    packed: str  # the type of packed A and B: ``compute``, or PAIRS
    lanes: int
    widths: tuple
    heights: tuple
    a_form: str
    a_pack: str | None
    b_pack: str | None
    b_shared: bool
    resumes: bool
    c_turned: bool
    epilogue: Epilogue
    sums_rows: bool = False


def matmul_program(*options):
    """The Program for Options. Entry ``(a, b, c, bias, addend, workspace, sizes, alpha, resume, row_sums)``.

    ``workspace`` is for packed tiles and panels, ``sizes`` the plan's numbers (i64), ``resume`` 1 to add to C's contents.
    Where the program ``sums_rows``, ``row_sums`` gets the sums over k of A, which is in "columns".
    """
    return _Writer(Options(*options)).program()


class _Writer:
    def __init__(self, options):
        self.options = options
        storage, compute = options.storage, options.compute
        self.functions = {}
        parameters = [("a", f"{storage}*"), ("b", f"{storage}*"), ("c", f"{storage}*"), ("bias", f"{storage}*")]
        parameters += [("addend", f"{storage}*"), ("workspace", f"{compute}*"), ("sizes", "i64*")]
        parameters += [("alpha", compute), ("resume", "i64"), ("row_sums", f"{storage}*")]
        self.builder = builder = Builder("matmul", parameters)
        a, b, c, bias, addend, workspace, sizes, alpha, resume, self.row_sums = builder.parameters
        self.a, self.b, self.c, self.bias, self.addend = a, b, c, bias, addend
        self.alpha, self.resume = alpha, resume
        self.size = {name: builder.load(sizes, i) for i, name in enumerate(SIZES)}
        self.workspace = workspace
        self.in_step = 2 if options.packed == PAIRS else 1  # of k
        self.packed_a = workspace if options.packed == options.compute else builder.reinterpret(workspace, PAIRS)
        self.packed_b = builder.offset(self.packed_a, self.size["panels_at"])

    def program(self):
        if self.options.sums_rows:
            strip = _SUMMED_VECTORS * self.options.lanes
            with self.builder.parallel((self._rows() + strip - 1) // strip) as chunk:
                self._sum_rows(chunk * strip)
        if self.options.a_pack:
            with self.builder.parallel(self.size["a_chunks"]) as chunk:
                self._pack_rows(chunk)
        if self.options.b_shared:
            with self.builder.parallel(self.size["b_chunks"]) as chunk:
                self._pack_columns(chunk)
        with self.builder.parallel(self.size["chunks"]) as chunk:
            builder, count = self.builder, self.size["parts_together"]
            last = builder.minimum((chunk + 1) * count, self.size["parts"])
            with builder.loop(chunk * count, last) as part:
                self._part(part.index)
        return Program("matmul", [*self.functions.values(), self.builder.function])

    # ---- the functions that are called

    def _packer(self, name, make, *how):
        """The packing function that ``make(storage, packed, lanes, *how)`` gives, under a name of its own."""
        if name not in self.functions:
            options = self.options
            function = self.functions[name] = make(options.storage, options.packed, options.lanes, *how)
            function.name = name
        return self.functions[name]

    def _micro(self, rows, vectors):
        options = self.options
        a_form = "columns" if options.a_pack else options.a_form
        key = rows, vectors
        if key not in self.functions:
            self.functions[key] = micro_kernel(
                options.compute if options.c_turned else options.storage,
                options.compute,
                options.lanes,
                rows,
                vectors,
                a_form,
                PLAIN if options.c_turned else options.epilogue,
                options.resumes,
                packed=options.packed,
                given=options.storage,
            )
        return self.functions[key]

    # ---- geometry

    def _tile_row(self, tile):
        """The first row of a tile."""
        return tile * self.options.heights[1] + self._big_before(tile)

    def _big_before(self, tile):
        big, small = self.options.heights
        return self.builder.minimum(tile, self.size["big_tiles"]) * (big - small)

    def _panel_vector(self, panel):
        """The first vector of a panel."""
        wide, narrow = self.options.widths
        return panel * narrow + self.builder.minimum(panel, self.size["wide_panels"]) * (wide - narrow)

    def _depths(self):
        """The loop over blocks of k: its first k and its length."""
        return self.builder.loop(0, self.builder.maximum(self.size["depth"], 1), self.size["deepest"])

    def _length(self, k):
        return self.builder.minimum(self.size["deepest"], self.size["depth"] - k)

    def _elements(self, k, length):
        """How many of the matrices' elements a block of k from a step on has."""
        if self.in_step == 1:
            return length
        return self.builder.minimum(length * self.in_step, self.size["k"] - k * self.in_step)

    def _tiles(self, first, last, body):
        """``body(tile, rows)`` for the big tiles, then for the small ones, between two tile numbers."""
        for start, end, rows in self._ranges(first, last):
            with self.builder.loop(start, end) as loop:
                body(loop.index, rows)

    def _ranges(self, first, last):
        """The ranges of big tiles and of small ones between two tile numbers: (first, last, rows of each)."""
        builder, (big, small) = self.builder, self.options.heights
        border = builder.minimum(builder.maximum(self.size["big_tiles"], first), last)
        return [(first, border, big)] if small == big else [(first, border, big), (border, last, small)]

    # ---- before all: the sums of A's rows

    def _sum_rows(self, first):
        """The sums of a few vectors of rows: of short stretches first, so that rounding errors stay small."""
        builder, size, lanes = self.builder, self.size, self.options.lanes
        places = [j * lanes for j in range(_SUMMED_VECTORS)]
        masks = [builder.first_lanes(self._rows() - first - place, lanes) for place in places]
        zeros = [builder.constant(0, vector(self.options.compute, lanes))] * _SUMMED_VECTORS
        with builder.loop(0, size["depth"], _SUMMED_TOGETHER, zeros) as stretch:
            end = builder.minimum(stretch.index + _SUMMED_TOGETHER, size["depth"])
            with builder.loop(stretch.index, end, 1, zeros) as k:
                column = self._a_at(self.a, first, k.index)
                k.carry = [
                    total + builder.load(column, place, lanes, mask)
                    for total, place, mask in zip(k.carry, places, masks)
                ]
            stretch.carry = [total + part for total, part in zip(stretch.carry, k.results)]
        target = builder.offset(self.row_sums, first)
        for total, place, mask in zip(stretch.results, places, masks):
            builder.store(total, target, place, mask)

    # ---- phase 1: A in tiles

    def _pack_rows(self, chunk):
        """Pack a group of tiles of A: for each block of k, tile after tile, each over that block."""
        builder, size, options = self.builder, self.size, self.options
        batch, group = chunk // size["a_groups"], chunk % size["a_groups"]
        first = group * size["tiles"] // size["a_groups"]
        last = (group + 1) * size["tiles"] // size["a_groups"]
        source, target = (
            builder.offset(self.a, batch * size["batch_a"]),
            builder.offset(self.packed_a, batch * size["a_area"]),
        )
        with self._depths() as depths:
            length = self._length(depths.index)
            elements = self._elements(depths.index, length)

            def places(tile):
                row = self._tile_row(tile)
                place = builder.offset(target, depths.index * self._rows() + row * length)
                return self._a_at(source, row, depths.index), place, size["lda"]

            def turn(tile, rows):
                packer, lanes = self._packer("turned_a", turning, False), options.lanes
                begin, place, step = places(tile)
                for strip in range(0, rows, lanes):
                    strip_begin, strip_place = builder.offset(begin, step * strip), builder.offset(place, strip)
                    count = min(lanes, rows - strip)
                    builder.call(packer, strip_begin, strip_place, step, rows, elements, count)

            if options.a_pack == "turned":
                self._tiles(first, last, turn)
            else:
                for start, end, rows in self._ranges(first, last):
                    tile_packer = self._packer(f"copied_a{rows}", tiling, rows)
                    builder.call(tile_packer, *places(start), elements, builder.maximum(end - start, 0))

    def _rows(self):
        """The rows of A."""
        big, small = self.options.heights
        return self.size["tiles"] * small + self.size["big_tiles"] * (big - small)

    def _a_at(self, a, row, k):
        lda, k = self.size["lda"], k * self.in_step
        return self.builder.offset(a, row * lda + k if self.options.a_form == "rows" else row + k * lda)

    # ---- phase 2: B in panels

    def _pack_columns(self, chunk):
        """Pack a part of one panel of B over one block of k, for all who will read it."""
        builder, size = self.builder, self.size
        part, whole = chunk % PACK_PARTS, chunk // PACK_PARTS
        per_batch = size["panels"] * size["pieces"]
        batch, rest = whole // per_batch, whole % per_batch
        panel, k = rest % size["panels"], rest // size["panels"] * size["deepest"]
        length = self._length(k)
        share = (length // (4 * PACK_PARTS) + 1) * 4
        first = builder.minimum(part * share, length)
        count = builder.minimum(length - first, share)

        def pack(vectors):
            column, columns, b = self._columns(batch, panel, vectors)
            target = self._shared_panel(batch, column, k, length)
            target = builder.offset(target, first * (vectors * self.options.lanes))
            self._pack_panel(b, k + first, count, vectors, columns, target)

        self._by_width(panel, pack)

    def _shared_panel(self, batch, column, k, length):
        """Where the packed panel that begins with a column is, over the block of k: blocks lie one after the other."""
        size = self.size
        width = ((size["n"] - 1) // self.options.lanes + 1) * self.options.lanes
        return self.builder.offset(self.packed_b, batch * size["b_area"] + k * width + column * length)

    def _by_width(self, panel, body):
        """``body(vectors)`` for a panel's width."""
        wide, narrow = self.options.widths
        is_wide = panel < self.size["wide_panels"]
        with self.builder.when(is_wide):
            body(wide)
        if narrow != wide:
            with self.builder.when(~is_wide):
                body(narrow)

    def _columns(self, batch, panel, vectors):
        """The first column of a panel, how many it has, and where they begin in B."""
        builder, size, options = self.builder, self.size, self.options
        column = self._panel_vector(panel) * options.lanes
        place = column * size["ldb"] if options.b_pack == "turned" else column
        columns = builder.minimum(size["n"] - column, vectors * options.lanes)
        return column, columns, builder.offset(self.b, batch * size["batch_b"] + place)

    def _pack_panel(self, b, k, length, vectors, columns, target):
        """Pack ``columns`` columns at b over a block of k."""
        builder, size, options = self.builder, self.size, self.options
        length, k = self._elements(k, length), k * self.in_step
        pitch, lanes = vectors * options.lanes, options.lanes
        if options.b_pack == "copied":
            packer = self._packer(f"copied_b{vectors}", copying, vectors)
            builder.call(packer, builder.offset(b, k * size["ldb"]), target, size["ldb"], pitch, length, columns)
            return
        packer = self._packer("turned_b", turning, True)
        with builder.loop(0, columns, lanes) as strips:
            strip = builder.offset(b, strips.index * size["ldb"] + k)
            place = builder.offset(target, strips.index)
            width = builder.minimum(columns - strips.index, lanes)
            builder.call(packer, strip, place, size["ldb"], pitch, length, width)

    # ---- phase 3: C in parts of one panel and a range of tiles; small ones share a chunk

    def _part(self, part):
        """One panel's tiles of one block of rows: as long as the block is the same, its rows of A stay in the cache."""
        size = self.size
        per_batch = size["panels"] * size["row_blocks"]
        batch, rest = part // per_batch, part % per_batch
        block, panel = rest // size["panels"], rest % size["panels"]
        first = block * size["tiles"] // size["row_blocks"]
        last = (block + 1) * size["tiles"] // size["row_blocks"]
        self._by_width(panel, lambda vectors: self._panel(batch, panel, first, last, vectors))

    def _panel(self, batch, panel, first, last, vectors):
        """Tiles ``first`` to ``last`` of one panel."""
        builder, size, options = self.builder, self.size, self.options
        column, columns, b = self._columns(batch, panel, vectors)
        c, ldc = builder.offset(self.c, batch * size["batch_c"] + column), size["ldc"]
        top = 0
        if options.c_turned:
            c, ldc, top = (
                self._local(self.workspace, 0 if options.b_shared else size["b_area"]),
                vectors * options.lanes,
                self._tile_row(first),
            )
        bias = builder.offset(self.bias, column) if options.epilogue.bias == "row" else self.bias
        addend = builder.offset(self.addend, batch * size["batch_addend"] + column)
        if options.a_pack:
            a = builder.offset(self.packed_a, batch * size["a_area"])
        else:
            a = builder.offset(self.a, batch * size["batch_a"])
        with self._depths() as depths:
            k = depths.index
            length = self._length(k)
            right, step = self._right(batch, b, column, k, length, vectors, columns)
            resume = builder.select(k > 0, 1, self.resume)
            final = builder.select(k + length >= size["depth"], builder.constant(1), 0)

            def block(tile, rows):
                row = self._tile_row(tile)
                if options.a_pack:
                    left, lda = builder.offset(a, k * self._rows() + row * length), rows
                else:
                    left, lda = self._a_at(a, row, k), size["lda"]
                place = builder.offset(c, (row - top) * ldc if options.c_turned else row * ldc)
                biases = builder.offset(bias, row) if options.epilogue.bias == "column" else bias
                added = builder.offset(addend, row * size["ld_addend"])
                arguments = (left, lda, right, step, place, ldc, length, columns, resume, final)
                arguments += (biases, added, size["ld_addend"], self.alpha)
                builder.call(self._micro(rows, vectors), *arguments)

            self._tiles(first, last, block)
        if options.c_turned:
            target = builder.offset(self.c, batch * size["batch_c"] + column * size["ldc"] + top)
            self._turn_out(c, ldc, target, top, self._tile_row(last) - top, columns)

    def _turn_out(self, sums, pitch, target, top, rows, columns):
        """Finish transposed sums: ``rows`` rows of ``columns``, written as columns of C^T."""
        builder, options = self.builder, self.options
        if "turn_out" not in self.functions:
            extra = [("bias", f"{options.storage}*"), ("alpha", options.compute)]
            finish = finisher(options.epilogue, options.lanes)
            function = turning(options.compute, options.storage, options.lanes, False, extra, finish)
            function.name = "turn_out"
            self.functions["turn_out"] = function
        with builder.loop(0, rows, options.lanes) as strip:
            width = builder.minimum(rows - strip.index, options.lanes)
            bias = builder.offset(self.bias, top + strip.index) if options.epilogue.bias else self.bias
            source, place = builder.offset(sums, strip.index * pitch), builder.offset(target, strip.index)
            step = self.size["ldc"]
            builder.call(self.functions["turn_out"], source, place, pitch, step, columns, width, bias, self.alpha)

    def _local(self, workspace, place):
        """The thread's own part of the workspace, from a place on."""
        size = self.size
        return self.builder.offset(workspace, size["local_at"] + self.builder.worker() * size["local_area"] + place)

    def _right(self, batch, b, column, k, length, vectors, columns):
        """A panel over a block of k, packed if the plan says so: a pointer and the step between its rows."""
        builder, size, options = self.builder, self.size, self.options
        if options.b_pack is None:
            return builder.offset(b, k * size["ldb"]), size["ldb"]
        if options.b_shared:
            return self._shared_panel(batch, column, k, length), vectors * options.lanes
        panel = self._local(self.packed_a, 0)
        self._pack_panel(b, k, length, vectors, columns, panel)
        return panel, vectors * options.lanes
