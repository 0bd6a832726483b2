"""The gradients of a recurrent layer's parameters, from those of the gates' sums: two products and column sums in one run.

Both products add up over all steps and samples: of the gradients of the sums with the states before (the first step's are
the initial ones, which lie elsewhere), and with the input. Rows of bfloat16 numbers are joined in pairs before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, scalar_of
from ..machine import host
from ..planning.layout import Layout, strided
from ..planning.plan import Launch, View
from ..products.matmul import plan_product_of
from ..products.matmul_micro import PLAIN, micro_kernel
from ..products.matmul_packing import PAIRS, copying
from ..products.matmul_plan import PANEL_VECTORS, TILE_ROWS
from ..rows import reduce
from .programs import compute_scalar

THREADED = 5000  # nanoseconds from which other threads are called in
NANOSECONDS = THREADED / (1 << 18)  # for a multiplication
_WANTED_CHUNKS = 24  # for two or more threads to end at about the same time
_LEAST_CHUNK = 1 << 17  # multiplications that are worth being handed out
_CHAINS = 64, 256  # rows, between which what is added up in a row lies
_DEEPEST = 512  # rows of the sums that are multiplied at once
_BIAS_CHAIN = 16  # of them that are added up in a row: short chains of additions round less
_BLOCK_COLUMNS = 96  # of the sums, over so many rows: they stay in a second-level cache
_BIAS_VECTORS = 4  # columns that are added up together
_PAIRED_WORDS = 1 << 14  # of a chunk

_RESULTS = "d_w_hh", "d_w_ih", "d_bias", "d_input_bias"
_ARRAYS = (*"sums first_sums later_sums input_sums hidden before input copied".split(), *_RESULTS)
_NUMBERS = (
    "rows later_rows first_rows size inputs width pitch state_row input_step input_row "
    "longest state_panels input_panels tiles blocks"
).split()


def pitch_of(width, dtype):
    """How many elements the rows of the sums' gradients should lie apart: rows that are powers of two would meet in few
    sets of a cache where a product reads them column by column."""
    return width + 64 // dtype.itemsize if width * dtype.itemsize % 1024 == 0 else width


def _program(scalar, rows, width, size, inputs, copies, biases):
    """What computes the gradients of such sizes: the form of its program, how the results are cut up, the columns of the
    input's copy, and the nanoseconds that count."""
    lanes, registers = host.lanes(NUMPY[scalar].itemsize), host.vector_registers()
    most = PANEL_VECTORS[registers][0]
    vectors = [-(-columns // lanes) for columns in (size, inputs)]
    panels = [-(-count // most) for count in vectors]
    widths = tuple(-(-count // parts) if parts else 0 for count, parts in zip(vectors, panels))
    tiles = -(-width // min(TILE_ROWS[registers][count] for count in widths if count))
    work = rows * width * (size + inputs)
    wanted = min(_WANTED_CHUNKS, work // _LEAST_CHUNK)
    blocks = max(1, min(tiles, max(-(-wanted // sum(panels)), width // _BLOCK_COLUMNS)))
    form = scalar, lanes, widths, -(-width // tiles), copies, biases
    return form, (*panels, tiles, blocks), vectors[1] * lanes if copies else 0, work * NANOSECONDS


def parameter_gradients(pieces, reverse, biased, input=None, input_sums="sums"):
    """Add the gradients of ``w_hh``, ``w_ih`` (not without the Layout of an ``input``), the hidden part's bias and, where the
    input's part has other ``input_sums``, its bias (both if ``biased``) to the pieces of a plan: as "d_w_hh", "d_w_ih",
    "d_bias" and "d_input_bias".

    Among the pieces are "sums" and ``input_sums``, (steps, N, gates), their rows `pitch_of` the gates apart, "outputs" and
    "hidden", which lie as they are read.
    """
    sums = pieces.layouts["sums"]
    biases = ("d_bias", "d_input_bias")[: 0 if not biased else 1 if input_sums == "sums" else 2]
    if host.host().has_tiles and sums.scalar == "f32":
        way, operand = _by_products, pieces.plain
    elif sums.scalar == "bf16":
        way, operand = _by_pairs, pieces.plain
    else:
        way, operand = _by_program, pieces.row_by_row
    if input is not None:
        operand(input=input)
    way(pieces, reverse, biases, input and "input", input_sums)


def _by_program(pieces, reverse, biases, input, input_sums):
    (steps, rows, width), size = pieces.layouts["sums"].shape, pieces.layouts["hidden"].shape[1]
    inputs, input_step, input_row = 0, 0, 0
    if input is not None:
        inputs, (input_step, input_row, _) = pieces.layouts[input].shape[2], pieces.layouts[input].steps
    if rows == 1:
        input_row = input_step
    copies = steps > 1 and input_step != rows * input_row
    scalar, dtype = scalar_of(pieces.dtype), pieces.dtype
    form, cut, copied_width, nanoseconds = _program(scalar, steps * rows, width, size, inputs, copies, len(biases))
    results = _results(pieces, width, size, inputs, biases)
    first, later, before = _around_first(pieces, steps, reverse)
    arguments = "sums", first, later, input_sums, "hidden", before, input, "copied_input" if copies else None
    numbers = (
        steps * rows, (steps - 1) * rows, rows, size, inputs, width, pieces.layouts["sums"].steps[1], size,
        input_step, input_row, _longest_chain(steps, rows), *cut,
    )  # fmt: skip
    own = [("copied_input", 0, dtype, steps * rows * copied_width)] if copies else ()
    pieces.launch(
        Launch(gradients_program, form, (*arguments, *results, *numbers), nanoseconds, "recurrent_gradients"), own
    )


def _around_first(pieces, steps, reverse):
    """The names of the sums of the first step that is taken, of the later ones, and of the states before those."""
    first, later, before = (steps - 1, 0, 1) if reverse else (0, 1, 0)
    return pieces.from_step("sums", first), pieces.from_step("sums", later), pieces.from_step("outputs", before)


def _longest_chain(steps, rows):
    """How many rows' products are added up in a row at most: a PyTorch program adds up each step's, then the steps, which
    rounds as a chain of both together does. Three times as many round 1.5 times as much with what is rounded elsewhere."""
    shortest, longest = _CHAINS
    return min(max(shortest, 3 * (steps + rows)), longest)


def _results(pieces, width, size, inputs, biases):
    """The names of the results in the program's order; they are computed in ``pieces.compute``."""
    shapes = {"d_w_hh": (width, size), "d_w_ih": (width, inputs) if inputs else None}
    shapes |= {name: (width,) if name in biases else None for name in _RESULTS[2:]}
    for name, shape in shapes.items():
        if shape:
            pieces.result(name, shape, pieces.compute)
    return [name if shape else None for name, shape in shapes.items()]


def _by_pairs(pieces, reverse, biases, input, input_sums):
    """As `parameter_gradients`, of bfloat16 numbers: the results are added up in float32."""
    layouts = pieces.layouts
    (steps, rows, width), size = layouts["sums"].shape, layouts["hidden"].shape[1]
    inputs, pairs = layouts[input].shape[2] if input else 0, (steps * rows + 1) // 2
    form, cut, _, nanoseconds = _program(PAIRS, pairs, width, size, inputs, False, len(biases))
    # The states before all steps lie together here: there is nothing to do for a first one alone.
    hidden = None if "hidden" in pieces.zeroed else "hidden"
    pieces.make("states", Layout((steps, rows, size), pieces.dtype), _states_before, "outputs", hidden, reverse)
    sums, pitch = _joined(pieces, "sums")
    others = sums if input_sums == "sums" else _joined(pieces, input_sums)[0]
    states, state_row = _joined(pieces, "states")
    words, input_row = _joined(pieces, input) if input else (None, 0)
    results = _results(pieces, width, size, inputs, biases)
    numbers = pairs, pairs, 0, size, inputs, width, pitch, state_row, 0, input_row, _longest_chain(steps, rows), *cut
    arguments = sums, sums, sums, others, states, states, words, None, *results, *numbers
    pieces.launch(Launch(gradients_program, form, arguments, nanoseconds, "recurrent_gradients"))


def _states_before(outputs, hidden, reverse):
    """The states before each step."""
    first = np.zeros_like(outputs[:1]) if hidden is None else hidden[None]
    return np.concatenate([outputs[1:], first] if reverse else [first, outputs[:-1]])


def _joined(pieces, name):
    """The rows of (steps, N, columns) numbers, which lie equally far apart, in pairs: what the words in scratch memory are
    called, and how many there are from one pair to the next."""
    (steps, rows, columns), lanes = pieces.layouts[name].shape, host.lanes(NUMPY[PAIRS].itemsize)
    whole = -(-columns // lanes) * lanes
    pitch, count = pitch_of(whole, NUMPY[PAIRS]), steps * rows
    together = -(-_PAIRED_WORDS // columns) * 2
    step = pieces.layouts[name].steps[1 if rows > 1 else 0]
    arguments = name, f"{name}_pairs", step, pitch, count, columns, together
    nanoseconds = THREADED if count > together else 0
    own = [(f"{name}_pairs", 0, NUMPY[PAIRS], (count + 1) // 2 * pitch)]
    pieces.launch(Launch(pairs_program, (lanes,), arguments, nanoseconds, "recurrent_pairs"), own)
    return f"{name}_pairs", pitch


def pairs_program(lanes):
    """Entry ``(source, target, step, pitch, rows, columns, together)``: the rows of a matrix, ``step`` apart, joined in pairs
    that are a ``pitch`` apart; ``together`` (an even number of) rows are a chunk."""
    join = copying("bf16", PAIRS, lanes, 1)
    names = ("step", "pitch", "rows", "columns", "together")
    b = Builder("recurrent_pairs", [("source", "bf16*"), ("target", f"{PAIRS}*"), *((name, "i64") for name in names)])
    source, target, step, pitch, rows, columns, together = b.parameters
    with b.parallel((rows + (together - 1)) // together) as chunk:
        first = chunk * together
        count = b.minimum(rows - first, together)
        source, target = b.offset(source, first * step), b.offset(target, first // 2 * pitch)
        with b.loop(0, columns, lanes) as strip:
            at = strip.index
            b.call(join, b.offset(source, at), b.offset(target, at), step, pitch, count, b.minimum(columns - at, lanes))
    return Program("recurrent_pairs", [join, b.function])


def _by_products(pieces, reverse, biases, input, input_sums):
    """As `parameter_gradients`, product by product: the tile unit takes large ones, and they are most of the time."""
    (steps, rows, width), size = pieces.layouts["sums"].shape, pieces.layouts["hidden"].shape[1]
    pitch = pieces.layouts["sums"].steps[1]

    def sums(count):
        return strided((count, width), pieces.dtype, (pitch * pieces.dtype.itemsize, pieces.dtype.itemsize))

    first, later, before = _around_first(pieces, steps, reverse)
    inputs = pieces.layouts[input].shape[2] if input else 0
    _results(pieces, width, size, inputs, biases)
    out, initial = ("d_w_hh", pieces.layouts["d_w_hh"]), ("hidden", pieces.layouts["hidden"])
    if steps > 1:
        states = before, Layout(((steps - 1) * rows, size), pieces.dtype)
        pieces.plans.append(plan_product_of((later, sums((steps - 1) * rows), True), states, out))
    accumulate = steps > 1
    pieces.plans.append(plan_product_of((first, sums(rows), True), initial, out, accumulate=accumulate))
    if input:
        given = input, Layout((steps * rows, inputs), pieces.dtype)
        out = "d_w_ih", pieces.layouts["d_w_ih"]
        pieces.plans.append(plan_product_of((input_sums, sums(steps * rows), True), given, out))
    for name, source in zip(biases, ("sums", input_sums)):
        _add_columns(pieces, name, source, Layout((steps * rows, pitch), pieces.dtype))


def _add_columns(pieces, name, source, rows):
    """A bias's gradient: of the sums of the columns of whole rows, what lies between them included, those that count."""
    padded, width = f"{name}_padded", pieces.layouts[name].shape[0]
    if rows.shape[0] == 1:
        pieces.taken[name] = View(source, index=slice(width) if pieces.is_kept(source) else (0, 0))
        return
    plan = reduce.sum.plan(rows, (0,), False, None)
    works = {work: f"{work}_{name}" for work, *_ in plan.scratch}
    pieces.plans.append(plan.named({"self": source, "out0": padded, **works})._replace(results={}))
    pieces.scratch.append((padded, rows.shape[1], pieces.dtype))
    pieces.taken[name] = View(padded, index=slice(width))


class _Product(NamedTuple):
    """A part of one of the products: a panel of the result's columns, ``width`` vectors at most, and a block of its rows."""

    result: str
    columns: str
    panels: str
    width: int
    panel: object
    block: object


class _Writer:
    """Writes the entry; ``widths`` are the vectors in a panel of the states and of the input, ``height`` a tile's rows."""

    def __init__(self, scalar, lanes, widths, height, copies, biases):
        self.scalar, self.compute = scalar, compute_scalar(scalar)
        parameters = [(name, f"{self.compute if name in _RESULTS else scalar}*") for name in _ARRAYS]
        self.builder = Builder("entry", [*parameters, *((name, "i64") for name in _NUMBERS)])
        self.given = dict(zip((*_ARRAYS, *_NUMBERS), self.builder.parameters))
        self.lanes, self.widths, self.copies, self.biases = lanes, widths, copies, biases
        self.heights = (height, height - 1) if height > 1 else (height,)
        self.functions = {}

    def program(self):
        builder, given = self.builder, self.given
        if self.copies:
            self._copy_input()
        panels = given["state_panels"] + given["input_panels"]
        products = panels * given["blocks"]
        bias_chunks = (given["width"] + (self._bias_columns - 1)) // self._bias_columns
        sums = bias_chunks * self.biases
        half = products // 2
        with builder.loop(0, given["rows"], _DEEPEST) as piece, builder.parallel(products + sums) as chunk:
            # The small chunks, column sums, are taken last: threads meet in the middle.
            product = builder.select(chunk < half, chunk, chunk - sums)
            is_product = (chunk < half) | (chunk >= half + sums)
            panel, block = product % panels, product // panels  # so that one panel after the other finds the same sums
            with builder.when(is_product & (panel < given["state_panels"])):
                self._states_product(panel, block, piece.index)
            if self.widths[1]:
                with builder.when(is_product & (panel >= given["state_panels"])):
                    self._input_product(panel - given["state_panels"], block, piece.index)
            for number, (name, source) in enumerate(
                (("d_bias", "sums"), ("d_input_bias", "input_sums"))[: self.biases]
            ):
                at = chunk - half - bias_chunks * number
                with builder.when((at >= 0) & (at < bias_chunks)):
                    self._column_sums(given[source], given[name], at * self._bias_columns, piece.index)
        return Program("recurrent_gradients", [*self.functions.values(), builder.function])

    @property
    def _bias_columns(self):
        return _BIAS_VECTORS * self.lanes

    def _copied_width(self):
        return (self.given["inputs"] + (self.lanes - 1)) // self.lanes * self.lanes

    def _copy_input(self):
        """Lay the rows of the input side by side in the order of the sums' rows."""
        builder, given, width = self.builder, self.given, self._copied_width()
        with (
            builder.parallel(given["rows"] // given["first_rows"]) as step,
            builder.loop(0, given["first_rows"]) as row,
        ):
            source = builder.offset(given["input"], step * given["input_step"] + row.index * given["input_row"])
            target = builder.offset(given["copied"], (step * given["first_rows"] + row.index) * width)
            with builder.loop(0, width, self.lanes) as column:
                mask = builder.first_lanes(given["inputs"] - column.index, self.lanes)
                builder.store(builder.load(source, column.index, self.lanes, mask), target, column.index)

    def _states_product(self, panel, block, first):
        """A panel of the gradient of ``w_hh``, some of its rows: what _DEEPEST rows of the sums give, after the first step."""
        builder, given = self.builder, self.given
        product = _Product("d_w_hh", "size", "state_panels", self.widths[0], panel, block)
        with builder.when(first.equals(0)):
            self._tiles(product, given["first_sums"], given["hidden"], given["state_row"], given["first_rows"], 0)
        self._piece(product, first, "later_rows", "later_sums", "before", given["state_row"], builder.constant(1))

    def _input_product(self, panel, block, first):
        """As `_states_product`, of the gradient of ``w_ih``."""
        builder = self.builder
        product = _Product("d_w_ih", "inputs", "input_panels", self.widths[1], panel, block)
        source, step = ("copied", self._copied_width()) if self.copies else ("input", self.given["input_row"])
        self._piece(
            product, first, "rows", "input_sums", source, step, builder.select(first > 0, builder.constant(1), 0)
        )

    def _piece(self, product, first, rows, sums, source, step, resume):
        """Multiply the rows of the sums from ``first`` on with those of a matrix, which lie ``step`` apart."""
        builder, given = self.builder, self.given
        left = builder.offset(given[sums], first * given["pitch"])
        right = builder.offset(given[source], first * step)
        deep = builder.minimum(given[rows] - first, _DEEPEST)
        self._tiles(product, left, right, step, deep, resume)

    def _tiles(self, product, sums, right, step, deep, resume):
        """Multiply so many rows of the sums, tile by tile of a block of their columns, with a panel of a matrix's."""
        builder, given, lanes = self.builder, self.given, self.lanes
        columns, panels, tiles, blocks = (given[n] for n in (product.columns, product.panels, "tiles", "blocks"))
        vectors = (columns + (lanes - 1)) // lanes
        first = product.panel * vectors // panels
        wide = ((product.panel + 1) * vectors // panels - first).equals(product.width)
        column = first * lanes
        right = builder.offset(right, column)
        chains = builder.maximum((deep + (given["longest"] - 1)) // given["longest"], 1)
        chain = builder.maximum((deep + (chains - 1)) // chains, 1)
        with builder.loop(product.block * tiles // blocks, (product.block + 1) * tiles // blocks) as tile:
            row = tile.index * given["width"] // tiles
            high = ((tile.index + 1) * given["width"] // tiles - row).equals(self.heights[0])
            target = builder.offset(given[product.result], row * columns + column)
            for height in self.heights:
                for width in (product.width, product.width - 1) if product.width > 1 else (1,):
                    fits = (high if height == self.heights[0] else ~high) & (wide if width == product.width else ~wide)
                    # Of no rows, where nothing is resumed, the result is 0: that is written, too.
                    with builder.when(fits), builder.loop(0, builder.maximum(deep, 1), chain) as loop:
                        k, unused = loop.index, (1, target, target, 0, 1.0)
                        left, these = builder.offset(sums, row + k * given["pitch"]), builder.minimum(deep - k, chain)
                        rest = builder.offset(right, k * step), step, target, columns, these, columns - column
                        more = builder.select(k > 0, builder.constant(1), resume)
                        builder.call(self._micro_kernel(height, width), left, given["pitch"], *rest, more, *unused)

    def _micro_kernel(self, rows, vectors):
        key = rows, vectors
        if key not in self.functions:
            kinds = self.compute, self.compute, self.lanes
            self.functions[key] = micro_kernel(*kinds, rows, vectors, "columns", PLAIN, True, packed=self.scalar)
        return self.functions[key]

    def _column_sums(self, source, target, column, first):
        """Add the sums of some columns over _DEEPEST rows to those of the rows before."""
        builder, given, lanes = self.builder, self.given, self.lanes
        starts = range(0, self._bias_columns, lanes)
        masks = [builder.first_lanes(given["width"] - column - start, lanes) for start in starts]
        target = builder.offset(target, column)
        zeros = [builder.constant(0.0, f"{self.compute}x{lanes}")] * len(masks)

        def before():
            return [builder.load(target, start, lanes, mask) for start, mask in zip(starts, masks)]

        totals = builder.choose(first > 0, before, lambda: zeros)
        end = builder.minimum(given["rows"], first + _DEEPEST)
        with builder.loop(first, end, _BIAS_CHAIN, zeros) as block:
            with builder.loop(block.index, builder.minimum(end, block.index + _BIAS_CHAIN), 1, zeros) as row:
                place = builder.offset(source, row.index * given["pitch"] + column)
                values = [self._number(builder.load(place, start, lanes, mask)) for start, mask in zip(starts, masks)]
                row.carry = [total + value for total, value in zip(row.carry, values)]
            block.carry = [total + sum for total, sum in zip(block.carry, row.results)]
        for start, mask, total, sum in zip(starts, masks, totals, block.results):
            builder.store(total + sum, target, start, mask)

    def _number(self, values):
        """What a row, or a pair of them, adds to its columns' sums."""
        if self.scalar != PAIRS:
            return values
        lower, upper = values << 16, values & -0x10000
        return self.builder.bitcast(lower, self.compute) + self.builder.bitcast(upper, self.compute)


def gradients_program(scalar, lanes, widths, height, copies, biases):
    """The program: ``copies`` says whether the input's rows are first laid side by side, ``biases`` how many there are.

    Where ``scalar`` is PAIRS, rows are pairs of rows of bfloat16 numbers, and the results float32.
    """
    return _Writer(scalar, lanes, widths, height, copies, biases).program()
