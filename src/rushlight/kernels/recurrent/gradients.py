"""The gradients of a recurrent layer's parameters, from those of the gates' sums: two products and column sums in one run.

Both products add up over all steps and samples: of the gradients of the sums with the states before (the first step's are
the initial ones, which lie elsewhere), and with the input. Rows of bfloat16 numbers are joined in pairs before.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..compiler.kernel import compiled
from ..elementwise.half_precision import converted
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, scalar_of
from ..machine import host
from ..machine.scratch import scratch
from ..products.matmul import product
from ..products.matmul_micro import PLAIN, micro_kernel
from ..products.matmul_packing import PAIRS, copying
from ..products.matmul_plan import PANEL_VECTORS, TILE_ROWS
from ..rows import reduce
from .programs import compute_scalar

_ALONE = 1 << 18  # multiplications below which other threads are not called in
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


class _Plan:
    """The program for given sizes, ready to run."""

    __slots__ = ("copied_width", "cut", "run")

    def __init__(self, scalar, rows, width, size, inputs, copies, biases):
        lanes, registers = host.lanes(NUMPY[scalar].itemsize), host.vector_registers()
        most = PANEL_VECTORS[registers][0]
        vectors = [-(-columns // lanes) for columns in (size, inputs)]
        panels = [-(-count // most) for count in vectors]
        widths = tuple(-(-count // parts) if parts else 0 for count, parts in zip(vectors, panels))
        tiles = -(-width // min(TILE_ROWS[registers][count] for count in widths if count))
        work = rows * width * (size + inputs)
        wanted = min(_WANTED_CHUNKS, work // _LEAST_CHUNK)
        blocks = max(1, min(tiles, max(-(-wanted // sum(panels)), width // _BLOCK_COLUMNS)))
        self.cut = (*panels, tiles, blocks)
        self.copied_width = vectors[1] * lanes if copies else 0
        key = "recurrent_gradients", scalar, lanes, widths, -(-width // tiles), copies, biases
        kernel = compiled(key, lambda: gradients_program(*key[1:]))
        self.run = kernel.alone if work < _ALONE else kernel.threaded


_plan = functools.lru_cache(1024)(_Plan)


def parameter_gradients(sums, outputs, hidden, reverse, biased, input=None, input_sums=None):
    """The gradients of ``w_hh``, ``w_ih`` (None without ``input``), the hidden part's bias and, where the input's part has
    other ``input_sums``, its bias (each None unless ``biased``).

    ``sums`` and ``input_sums`` are (steps, N, gates), their rows `pitch_of` the gates apart; ``outputs`` and ``hidden``
    are contiguous.
    """
    if host.host().has_tiles and sums.dtype == np.float32:
        return _by_products(sums, outputs, hidden, reverse, biased, input, input_sums)
    if sums.dtype.itemsize == 2:
        return _by_pairs(sums, outputs, hidden, reverse, biased, input, input_sums)
    (steps, rows, width), size, dtype = sums.shape, hidden.shape[1], sums.dtype
    itemsize = dtype.itemsize
    inputs = 0 if input is None else input.shape[2]
    input_step, input_row = (0, 0) if input is None else (stride // itemsize for stride in input.strides[:2])
    if rows == 1:
        input_row = input_step
    copies = steps > 1 and input_step != rows * input_row
    biases = _count_biases(biased, input_sums)
    plan = _plan(scalar_of(dtype), steps * rows, width, size, inputs, copies, biases)
    first, later = (sums[-1], sums[:-1]) if reverse else (sums[0], sums[1:])
    before = outputs[1:] if reverse else outputs[:-1]
    results = _results(width, size, inputs, biases, dtype)
    copied = scratch("recurrent_input", steps * rows * plan.copied_width, dtype) if copies else None
    plan.run(
        sums, first, later, sums if input_sums is None else input_sums, hidden, before, input, copied, *results,
        steps * rows, (steps - 1) * rows, rows, size, inputs, width, sums.strides[1] // itemsize, size,
        input_step, input_row, _longest_chain(steps, rows), *plan.cut,
    )  # fmt: skip
    return results


def _longest_chain(steps, rows):
    """How many rows' products are added up in a row at most: a PyTorch program adds up each step's, then the steps, which
    rounds as a chain of both together does. Three times as many round 1.5 times as much with what is rounded elsewhere."""
    shortest, longest = _CHAINS
    return min(max(shortest, 3 * (steps + rows)), longest)


def _count_biases(biased, input_sums):
    return 0 if not biased else 1 if input_sums is None else 2


def _results(width, size, inputs, biases, dtype):
    weights = [np.empty((width, columns), dtype) if columns else None for columns in (size, inputs)]
    return (*weights, *(np.empty(width, dtype) if count < biases else None for count in range(2)))


def _by_pairs(sums, outputs, hidden, reverse, biased, input, input_sums):
    """As `parameter_gradients`, of bfloat16 numbers: the results are added up in float32."""
    (steps, rows, width), size, dtype = sums.shape, hidden.shape[1], sums.dtype
    before = np.concatenate([outputs[1:], hidden[None]] if reverse else [hidden[None], outputs[:-1]])
    inputs = 0 if input is None else input.shape[2]
    biases, pairs = _count_biases(biased, input_sums), (steps * rows + 1) // 2
    plan = _plan(PAIRS, pairs, width, size, inputs, False, biases)
    joined, pitch = _joined("sums", sums)
    others = joined if input_sums is None else _joined("input_sums", input_sums)[0]
    states, state_row = _joined("states", before)
    input, input_row = (None, 0) if input is None else _joined("input", np.ascontiguousarray(input))
    results = _results(width, size, inputs, biases, NUMPY[compute_scalar(PAIRS)])
    # The states before all steps lie together here: there is nothing to do for a first one alone.
    plan.run(
        joined, joined, joined, others, states, states, input, None, *results,
        pairs, pairs, 0, size, inputs, width, pitch, state_row, 0, input_row, _longest_chain(steps, rows), *plan.cut,
    )  # fmt: skip
    return tuple(None if result is None else converted(result, dtype) for result in results)


def _joined(name, array):
    """The rows of (steps, N, columns) numbers, which lie equally far apart, in pairs: words in scratch memory, and how
    many there are from one pair to the next."""
    (steps, rows, columns), lanes = array.shape, host.lanes(NUMPY[PAIRS].itemsize)
    whole = -(-columns // lanes) * lanes
    pitch, count = pitch_of(whole, NUMPY[PAIRS]), steps * rows
    found = scratch(f"recurrent_{name}", (count + 1) // 2 * pitch, NUMPY[PAIRS])
    kernel = compiled(("recurrent_pairs", lanes), lambda: pairs_program(lanes))
    together = -(-_PAIRED_WORDS // columns) * 2
    run = kernel.alone if count <= together else kernel.threaded
    step = array.strides[1 if rows > 1 else 0] // array.itemsize
    run(array, found, step, pitch, count, columns, together)
    return found, pitch


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


def _by_products(sums, outputs, hidden, reverse, biased, input, input_sums):
    """As `parameter_gradients`, product by product: the tile unit takes large ones, and they are most of the time."""
    input_sums = sums if input_sums is None else input_sums
    width, size = sums.shape[2], hidden.shape[1]
    later, first = (sums[:-1], sums[-1]) if reverse else (sums[1:], sums[0])
    before = outputs[1:] if reverse else outputs[:-1]
    if len(before):
        d_w_hh = product(later.reshape(-1, width).T, before.reshape(-1, size))
        product(first.T, hidden, d_w_hh, accumulate=True)
    else:
        d_w_hh = product(first.T, hidden)
    rows, d_w_ih = input_sums.reshape(-1, width), None
    if input is not None:
        d_w_ih = product(rows.T, np.ascontiguousarray(input).reshape(-1, input.shape[2]))
    d_bias = _column_sums(sums.reshape(-1, width)) if biased else None
    return d_w_hh, d_w_ih, d_bias, d_bias if input_sums is sums or not biased else _column_sums(rows)


def _column_sums(rows):
    found = reduce.sum(rows, (0,), False, None)
    if found is not NotImplemented:
        return found
    with np.errstate(all="ignore"):
        return rows.sum(0)


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
