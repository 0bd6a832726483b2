"""Correlation: the product at the heart of a convolution and of its input's gradient, as a kernel without columns.

Each output row (an output channel) is a sum over terms: a weight times the source's elements under one tap of one
channel. Two numbers say where a term's elements and its weight lie; so weights are never turned, and strides, dilation,
padding and dimensions are a matter of tables. The micro-kernel holds rows x vectors of neighbouring windows in
registers over all terms.
"""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import vector_registers
from ..planning.layout import lanes_for
from ..planning.plan import Launch, Plan
from ..products.matmul_packing import PAIRS
from ..windows.staging import (
    STAGE_NUMBERS,
    Numbers,
    flat_stage_function,
    stage_function,
    stage_numbers,
    step_class,
    stepped_store,
)
from .correlation_tiles import AREA_ELEMENTS, ENOUGH_CHUNKS, fastest, has_lone_window, source_elements
from .correlation_weights import pack_weights, packing_of, row_lanes, turning_for

_SPAN_ELEMENTS = 1 << 16  # of what all output channels go through together, where a tile is larger than its cache
_LINE_BYTES = 64  # that are fetched together
_WORTH_FETCHING = 64  # terms that take as long as a line of the outputs may
_LONGEST_SUM = 152  # terms that are added up in a row: not quite twice as many as PyTorch does; 7 x 7 x 3 are not cut
NANOSECONDS = 1 / 12  # for a multiplication
_MANY_PRODUCTS = 480_000  # multiplications that are worth being cut into parts for the threads


class Form(NamedTuple):
    """What a correlation program is specialised in.

    Attributes:
        scalar, lanes: the type of sums, and how many make a vector. element: that of source and weights: the same, or
            ``PAIRS`` of channels in bfloat16. result: that of outputs.
        rows: of a block; uneven: whether some blocks have one row less. vectors: of a block.
        step_class: of the staging, None for none; flat: whether whole slabs are copied. kept: whether several chunks read
            a tile, which each thread stages once.
        dense: whether all windows are outputs (else those at rows' ends are not).
        spread: the class of the steps between outputs that do not lie side by side, None if they do.
        biased: whether a number is added to each output row.
        packing: of the weights: "turned" (those of an output row lie in runs in the order of the terms: each is transposed),
            "copied" (those of a term lie side by side) or "picked" (one by one).
        lone: whether a tile's windows are some vectors and one more, whose rows make up a vector (49 = 3 x 16 + 1).
        stretch: how many terms are added up in a row where there are many: short sums round less; 0 for all.
    """

    scalar: str
    element: str
    result: str
    lanes: int
    rows: int
    uneven: bool
    vectors: int
    step_class: int | None
    flat: bool
    kept: bool
    dense: bool
    spread: int | None
    biased: bool
    packing: str
    lone: bool
    stretch: int


def block_shape(out_channels, registers):
    """(rows, uneven, vectors) of the blocks for so many output rows: as many sums as registers hold."""
    many, most = registers * 3 // 4, registers // 4
    blocks = -(-out_channels // most)
    rows = -(-out_channels // blocks)
    return rows, out_channels % blocks != 0, min(8, many // rows)


def stretch_of(terms):
    """``Form.stretch`` for so many terms: equal ones, for few forms a multiple of eight long."""
    return 0 if terms <= _LONGEST_SUM else 8 * -(-terms // (8 * -(-terms // _LONGEST_SUM)))


_TABLES = [("terms", "i64*"), ("valid", "bool*"), ("starts", "i64*")]
_STAGED_STEP = 8  # between the numbers of the tiles that threads have staged: each lies on a cache line of its own


def micro_kernel(form, rows, vectors, lone=False):
    """Function that computes ``rows`` output rows and ``vectors`` vectors of windows; ``lone``: and the one behind them.

    Its parameters:
        source: the first window's beginning. terms, depth: where in the source each term's elements begin; how many.
        weight: packed: for each term the rows' weights side by side.
        bias, out, out_step: the rows' biases and outputs, and from one output row to the next.
        first: the block's first vector in the tile; columns, total: how many windows, and outputs, the tile has.
        valid, starts: see ``Staging.squeezing``.
    """
    scalar, element, lanes = form.scalar, form.element, form.lanes
    parameters = [("source", f"{element}*"), ("depth", "i64"), ("weight", f"{element}*")]
    stored = form.result if form.spread is None else scalar
    parameters += [("bias", f"{scalar}*"), ("out", f"{stored}*"), ("out_step", "i64"), ("first", "i64")]
    parameters += [("columns", "i64"), ("total", "i64"), *_TABLES]
    builder = Builder(f"correlate_{rows}x{vectors}{'_lone' * lone}", parameters)
    source, depth, weight, bias, out, out_step, first, columns, total, *tables = builder.parameters
    masks = [*[None] * (vectors - 1), builder.first_lanes(columns - (first + (vectors - 1)) * lanes, lanes)]
    together = row_lanes(rows)
    reads = [masks[0]] if vectors == 1 else [None] * vectors  # zeroing lanes would cost a multiplication's place
    zero = builder.constant(0, f"{scalar}x{lanes}")
    if form.biased:
        starts = [builder.splat(builder.load(bias, r), lanes) for r in range(rows) for _ in range(vectors)]
    else:
        starts = [zero] * (rows * vectors)
    if lone:
        start = builder.constant(0, f"{scalar}x{together}")
        if form.biased:
            start = builder.load(bias, 0, together, builder.first_lanes(builder.constant(rows), together))
        starts.append(start)
    multiply = builder.dot if element == PAIRS else builder.fma
    source = builder.offset(source, first * lanes)
    out_rows = [builder.offset(out, out_step * r) for r in range(rows)]
    with builder.when(depth >= _WORTH_FETCHING):
        _fetch_outputs(builder, form, out_rows, first, vectors, tables)

    def multiplied(begin, end, weight, starts):
        """The loop over some terms: the weights behind theirs, and the sums."""
        with builder.loop(begin, end, 1, [weight, *starts]) as term:
            weights, *sums = term.carry
            at = builder.offset(source, builder.load(tables[0], term.index))
            right = [builder.load(at, j * lanes, lanes, reads[j]) for j in range(vectors)]
            for r in range(rows):
                left = builder.splat(builder.load(weights, r), lanes)
                for j in range(vectors):
                    sums[r * vectors + j] = multiply(left, right[j], sums[r * vectors + j])
            if lone:
                window = builder.splat(builder.load(at, vectors * lanes), together)
                sums[-1] = multiply(window, builder.load(weights, 0, together), sums[-1])
            term.carry = [builder.offset(weights, rows), *sums]
        return term.results

    if form.stretch:
        zeros = [builder.constant(0, start.type) for start in starts]
        with builder.loop(0, depth, form.stretch, [weight, *starts]) as piece:
            end = builder.minimum(piece.index + form.stretch, depth)
            weights, *sums = multiplied(piece.index, end, piece.carry[0], zeros)
            piece.carry = [weights, *(total + value for total, value in zip(piece.carry[1:], sums))]
        sums = piece.results[1:]
    else:
        sums = multiplied(0, depth, weight, starts)[1:]
    for j in range(vectors):
        values = [sums[r * vectors + j] for r in range(rows)]
        _store(builder, form.dense, values, out_rows, first + j, masks[j], total, tables, lanes)
    for r in range(rows * lone):
        builder.store(builder.convert(builder.extract(sums[-1], r), stored), out_rows[r], (first + vectors) * lanes)
    return builder.function


def _micro_kernels(form):
    """All micro-kernels of a form, by their rows and vectors and whether they take a lone window along."""
    rows = (form.rows, form.rows - 1) if form.uneven else (form.rows,)
    shapes = itertools.product(rows, {form.vectors, form.vectors - 1, 1}, {False, form.lone})
    return {shape: micro_kernel(form, *shape) for shape in shapes}


def _fetch_outputs(builder, form, out_rows, first, vectors, tables):
    """Ask for the lines that the outputs go to: stores that wait for theirs would hold up the next block's sums."""
    begin = first * form.lanes if form.dense else builder.load(tables[2], first)
    for row in out_rows:
        for j in range(vectors + 1):
            builder.prefetch(row, begin + j * form.lanes, write=True)


def _store(builder, dense, values, out_rows, vector, mask, total, tables, lanes):
    """One vector of each output row to where its windows' outputs go."""
    _, valid, starts = tables
    first = vector * lanes
    if dense:
        for value, row in zip(values, out_rows):
            builder.store(builder.convert(value, row.type.element.scalar), row, first, mask)
        return
    chosen = builder.load(valid, first, lanes)
    begin = builder.load(starts, vector)
    kept = builder.first_lanes(builder.minimum(builder.load(starts, vector + 1), total) - begin, lanes)
    for value, row in zip(values, out_rows):
        packed = builder.compress(value, chosen)
        builder.store(builder.convert(packed, row.type.element.scalar), row, begin, kept)


NUMBERS = (
    *STAGE_NUMBERS,
    "depth_stride",
    "depth_out",
    "height_out",
    "width_out",
    "tile_rows",
    "tiles",
    "parts",  # in how many the blocks of output channels of a tile are taken
    "groups",
    "channels",  # of one group of the source
    "channel_volume",
    "source_elements",
    "reach",  # of one channel's taps
    "terms",
    "run",  # terms whose weights are packed together
    "out_channels",  # of one group
    "blocks",  # of output channels
    "high_blocks",  # those with the full number of rows
    "row_step",
    "group_step",  # of the weight
    "area",
    "out_start",
    "out_channel_step",
    "out_depth_step",
    "out_row_step",
    "out_column_step",
    "staged_area",
    "tile_outputs",
    "chunks",
    "span",  # how many vectors all output channels take before the next ones
)


def correlation_program(form):
    """The program ``(source, weight, bias, out, scratch, packed, weight_terms, slab_table, numbers, inside_columns, staged,
    terms, valid, starts)``: first the weights are packed, then the tiles computed. ``staged`` is the number of the tile
    that each thread has in its scratch memory, counted from 1; 0 for none."""
    scalar, element = form.scalar, form.element
    functions = []
    stage = None
    if form.step_class is not None:
        if form.flat:
            stage = flat_stage_function(element, form.lanes)
        else:
            stage = stage_function(element, form.lanes, form.step_class)
        functions.append(stage)
    spread = None
    if form.spread is not None:
        spread = spreading(form)
        functions.append(spread)
    micros = _micro_kernels(form)
    functions.extend(micros.values())
    arrays = [("source", f"{element}*"), ("weight", f"{element}*"), ("bias", f"{scalar}*"), ("out", f"{form.result}*")]
    arrays += [("scratch", f"{element}*"), ("packed", f"{element}*")]
    more = [("weight_terms", "i64*"), ("slab_table", "i64*"), ("numbers", "i64*"), ("inside_columns", "bool*")]
    builder = Builder("correlation", [*arrays, *more, ("staged", "i64*"), *_TABLES])
    source, weight, bias, out, own, packed, weight_terms, *more = builder.parameters
    slab_table, numbers, inside_columns, staged, *tables = more
    n = Numbers(builder, numbers, NUMBERS)
    turn = turning_for(form)
    if turn is not None:
        functions.append(turn)
    pack_weights(builder, n, form, turn, weight, packed, weight_terms)
    with builder.parallel(n["chunks"]) as chunk:
        part, row, depth, image = _tile_of(n, chunk)
        group = image % n["groups"]
        rows = builder.minimum(n["tile_rows"], n["height_out"] - row)
        columns = (rows - 1) * n["pitch"] + n["width_out"]
        area = builder.offset(own, builder.worker() * n["area"])
        if stage is None:
            begin, readable = _as_it_lies(builder, n, form, source, image, depth, row, columns)
        else:
            begin = builder.offset(source, image * n["channels"] * n["channel_volume"])
            depth_start, row_start = depth * n["depth_stride"], row * n["row_stride"]
            arguments = (begin, area, n["channels"], slab_table, numbers, depth_start, row_start)
            arguments = (*arguments, inside_columns) if form.flat else arguments
            if form.kept:
                known = builder.offset(staged, builder.worker() * _STAGED_STEP)
                tile = chunk // n["parts"] + 1
                with builder.when(builder.load(known).differs(tile)):
                    builder.call(stage, *arguments)
                    builder.store(tile, known)
            else:
                builder.call(stage, *arguments)
            begin, readable = area, (columns + (form.lanes - 1)) // form.lanes
        place = n["out_start"] + depth * n["out_depth_step"] + row * n["out_row_step"]
        target = builder.offset(out, place + image * n["out_channels"] * n["out_channel_step"])
        weights = builder.offset(packed, group * n["out_channels"] * n["terms"])
        biases = builder.offset(bias, group * n["out_channels"]) if form.biased else bias
        together = None
        if spread is not None:
            sums = builder.offset(area, n["staged_area"])
            together = (sums if element == scalar else builder.reinterpret(sums, scalar), spread, rows, numbers)
        tile_values = (begin, readable, weights, biases, target, together, columns, rows * n["width_out"], tables)
        first, end = part * n["blocks"] // n["parts"], (part + 1) * n["blocks"] // n["parts"]
        high_end, low_first = builder.minimum(end, n["high_blocks"]), builder.maximum(first, n["high_blocks"])
        vectors = (columns + (0 if form.lone else form.lanes - 1)) // form.lanes
        with builder.loop(0, vectors, n["span"]) as span:
            vectors = (span.index, builder.minimum(span.index + n["span"], vectors))
            _blocks(builder, n, form, micros, form.rows, 0, (first, high_end), vectors, tile_values)
            if form.uneven:
                _blocks(
                    builder, n, form, micros, form.rows - 1, n["high_blocks"], (low_first, end), vectors, tile_values
                )
    return Program("correlation", [*functions, builder.function])


def _tile_of(n, chunk):
    """What a chunk of work is about: the part of the output channels, the first row of a tile, its depth and image."""
    part, rest = chunk % n["parts"], chunk // n["parts"]
    tile, rest = rest % n["tiles"], rest // n["tiles"]
    return part, tile * n["tile_rows"], rest % n["depth_out"], rest // n["depth_out"]


def spreading(form):
    """Function that lays a block's finished sums apart, a line of each output row after the other.

    Its parameters:
        source, target: where the sums are, and where the first one goes. channels, lines: how many rows, lines of each.
    """
    parameters = [("source", f"{form.scalar}*"), ("target", f"{form.result}*"), ("channels", "i64"), ("lines", "i64")]
    builder = Builder("spread", [*parameters, ("numbers", "i64*")])
    source, target, channels, lines, numbers = builder.parameters
    n = Numbers(builder, numbers, NUMBERS)
    width, step = n["width_out"], n["out_column_step"]
    with builder.loop(0, channels) as channel, builder.loop(0, lines) as line:
        near = builder.offset(source, channel.index * n["tile_outputs"] + line.index * width)
        far = builder.offset(target, channel.index * n["out_channel_step"] + line.index * n["out_row_step"])

        def piece(index, mask, _):
            values = builder.convert(builder.load(near, index, form.lanes, mask), form.result)
            stepped_store(builder, values, far, index, step, form.lanes, form.spread, mask, width - index)

        builder.for_lanes(0, width, form.lanes, piece)
    return builder.function


def _as_it_lies(builder, n, form, source, image, depth, row, columns):
    """(where a tile begins in the source, how many of its vectors may be read whole); the tile is fetched.

    Nothing behind the source's end may be read. Elements come faster one after the other than in the order of the sums.
    """
    place = image * n["channels"] * n["channel_volume"] + (depth * n["depth_stride"] * n["height"] + row) * n["width"]
    begin = builder.offset(source, place)
    with builder.loop(0, n["channels"]) as channel:
        plane = builder.offset(begin, channel.index * n["channel_volume"])
        with builder.loop(0, n["reach"] + columns, _LINE_BYTES // (8 if form.element == "f64" else 4)) as line:
            builder.prefetch(plane, line.index)
    vectors = (columns + (form.lanes - 1)) // form.lanes
    end = place + (n["channels"] - 1) * n["channel_volume"] + n["reach"] + vectors * form.lanes
    return begin, builder.select(end <= n["source_elements"], vectors, columns // form.lanes)


def _blocks(builder, n, form, micros, rows, shift, blocks, vectors, tile_values):
    """A range of blocks of output channels, all of ``rows`` rows, on a range of vectors; ``shift`` blocks have one more."""
    begin, readable, weights, biases, target, together, columns, total, tables = tile_values
    first, end = vectors
    wide, narrow = shared_out(builder, builder.minimum(readable, end) - first, form.vectors)
    wide_end = first + wide * form.vectors
    narrow_end = wide_end + narrow * (form.vectors - 1)
    with builder.loop(*blocks) as block:
        channel = block.index * rows + shift
        weight = builder.offset(weights, channel * n["terms"])
        bias = builder.offset(biases, channel) if form.biased else biases
        out, out_step = builder.offset(target, channel * n["out_channel_step"]), n["out_channel_step"]
        block_out = (out, out_step) if together is None else (together[0], n["tile_outputs"])
        for width, start, stop in (
            (form.vectors, first, wide_end), (form.vectors - 1, wide_end, narrow_end), (1, narrow_end, end)
        ):  # fmt: skip
            with builder.loop(start, stop, width) as vector:
                arguments = (begin, n["terms"], weight, bias, *block_out, vector.index)
                for lone in {False, form.lone}:
                    last = vector.index + width >= columns // form.lanes
                    with builder.when(last if lone else ~last) if form.lone else nullcontext():
                        builder.call(micros[rows, width, lone], *arguments, columns, total, *tables)
        if together is not None:
            sums, spread, lines, numbers = together
            builder.call(spread, sums, out, rows, lines, numbers)


def shared_out(builder, count, most):
    """How many blocks of ``most`` and of one vector less make up ``count``; where none do, there are single ones left."""
    blocks = (count + (most - 1)) // most
    narrow = blocks * most - count
    possible = narrow <= blocks
    return (
        builder.maximum(builder.select(possible, blocks - narrow, count // most), 0),
        builder.maximum(builder.select(possible, narrow, 0), 0),
    )


class Operands(NamedTuple):
    """What is correlated with what.

    Attributes:
        samples, groups, channels, out_channels: how many; the channels are those of one group.
        axes: three, of the source's dimensions.
        weight_terms: for each channel and tap (the taps in order), the place of its weight in a group's first row.
        row_step, group_step: from one output channel's weights to the next one's, one group's to the next one's.
        out_start, out_steps: where the first output lies, and the steps to the next channel, depth, row and column.
    """

    samples: int
    groups: int
    channels: int
    out_channels: int
    axes: tuple
    weight_terms: np.ndarray
    row_step: int
    group_step: int
    out_start: int
    out_steps: tuple


class Correlation:
    """How a correlation of one shape is computed.

    ``dtype`` is that of source and weight: int32 for pairs of channels in bfloat16, whose outputs are that, too,
    with a bias in float32.
    """

    def __init__(self, operands, dtype, biased):
        o = operands
        depth, height, width = o.axes
        scalar = "f32" if dtype.itemsize == 4 else "f64"
        lanes = lanes_for(scalar)
        rows, uneven, vectors = block_shape(o.out_channels, vector_registers())
        blocks = -(-o.out_channels // rows)
        self.staging = staging = fastest(o.axes, o.samples * o.groups, o.channels, o.out_channels, lanes)
        tiles = -(-height.out // staging.tile_rows)
        chunks = o.samples * o.groups * depth.out * tiles
        products = o.samples * o.groups * o.out_channels * len(o.weight_terms) * depth.out * height.out * width.out
        parts = min(blocks, -(-2 * ENOUGH_CHUNKS // chunks)) if products > _MANY_PRODUCTS else 1
        apart = o.out_steps[3] != 1 or (o.out_steps[2] != width.out and staging.tile_rows > 1)
        staged = 0 if staging.direct else o.channels * staging.channel_size + staging.share + 4 * lanes
        staged, outputs = -(-staged // 16) * 16, -(-staging.tile_rows * width.out // 16) * 16
        self.area = staged + (rows * outputs if apart else 0)
        packing, run = packing_of(o)
        volume, taps = depth.length * height.length * width.length, staging.tap_offsets()
        values = {
            **dict(zip(STAGE_NUMBERS, stage_numbers(staging))),
            "depth_stride": depth.stride, "depth_out": depth.out, "height_out": height.out, "width_out": width.out,
            "tile_rows": staging.tile_rows, "tiles": tiles, "parts": parts, "groups": o.groups, "channels": o.channels,
            "channel_volume": volume, "source_elements": o.samples * o.groups * o.channels * volume,
            "reach": taps.max(), "terms": len(o.weight_terms), "run": run,
            "out_channels": o.out_channels, "blocks": blocks,
            "high_blocks": o.out_channels - blocks * (rows - 1), "row_step": o.row_step, "group_step": o.group_step,
            "area": self.area, "out_start": o.out_start, "out_channel_step": o.out_steps[0],
            "out_depth_step": o.out_steps[1], "out_row_step": o.out_steps[2],
            "out_column_step": o.out_steps[3], "staged_area": staged, "tile_outputs": outputs, "chunks": chunks * parts,
        }  # fmt: skip
        whole_vectors = -(-staging.tile_rows * staging.pitch // lanes)
        elements = source_elements(staging, o.channels)
        fitting = whole_vectors * _SPAN_ELEMENTS // elements
        values["span"] = whole_vectors if apart or elements <= AREA_ELEMENTS else max(1, fitting // vectors) * vectors
        self.numbers = np.array([values[name] for name in NUMBERS], np.int64)
        self.terms = (np.arange(o.channels)[:, None] * staging.channel_size + taps).reshape(-1)
        self.weight_terms = o.weight_terms
        # The last block is read as a whole vector.
        self.packed_weights = o.groups * o.out_channels * len(o.weight_terms) + row_lanes(rows)
        self.valid, self.starts = staging.squeezing(lanes)
        self.kept = parts > 1 and not staging.direct
        self.inside_columns = staging.inside_columns(lanes) if staging.flat else None
        stage_class = None if staging.direct else staging.step_class
        spread = step_class(o.out_steps[3]) if apart else None
        dense = staging.pitch == width.out
        lone = has_lone_window(staging, lanes)
        types = (scalar, PAIRS, "bf16") if dtype.kind == "i" else (scalar,) * 3
        form = Form(
            *types,
            lanes,
            rows,
            uneven,
            vectors,
            stage_class,
            staging.flat,
            self.kept,
            dense,
            spread,
            biased,
            packing,
            lone,
            stretch_of(len(o.weight_terms)),
        )
        self.form, self.dtype, self.nanoseconds, self.number = form, dtype, products * NANOSECONDS, o.out_start

    def plan(self, source, weight, bias, out):
        """The Plan for arrays of these names; the bias may be None, and what is written is no result of it."""
        own, staged = [("packed_weights", 0, self.dtype, self.packed_weights)], f"staged{self.number}"
        if self.area:
            own.append(("windows", self.area, self.dtype))
        if self.kept:
            own.append((staged, _STAGED_STEP, np.dtype(np.int64)))
        tables = self.weight_terms, self.staging.slabs, self.numbers, self.inside_columns, staged if self.kept else None
        arguments = source, weight, bias, out, "windows" if self.area else None, "packed_weights", *tables
        arguments = *arguments, self.terms, self.valid, self.starts
        launch = Launch(correlation_program, (self.form,), arguments, self.nanoseconds, "correlation")
        return Plan([launch], {}, thread_scratch=own, zeroed=(staged,) if self.kept else ())
