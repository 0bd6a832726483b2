"""Windows over images: where each tap finds its elements, and the staging of an image so that every tap reads rows.

Convolution and pooling look at windows. With padding or a stride, the elements that one tap of neighbouring windows
needs are not side by side; staged they are. A staged image holds, for each channel, one slab for each residue of the
taps modulo the stride: the rows of the image of that residue, each with its columns of that residue, and zeros (or
another filling) for what lies outside. Windows are numbered through all rows of a slab, ``pitch`` to a row: a vector of
windows is one load for every tap. The few windows between the end of one row and the start of the next are computed and
dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..language.builder import Builder

_AHEAD = 512  # elements that are fetched before they are copied


MOST_STEP = 8  # elements so far apart are shuffled out of vectors; gathers take as long where they are farther


class Axis(NamedTuple):
    """How windows lie along one dimension.

    Attributes:
        length: of the source. out: how many windows. stride: from one window to the next.
        start: where the first window begins; negative with padding.
        taps: the offsets of the window's taps from its beginning, none negative.
    """

    length: int
    out: int
    stride: int
    start: int
    taps: tuple


SINGLE = Axis(1, 1, 1, 0, (0,))  # a dimension that is not there


class Staging:
    """The layout of windows over one channel of a source of three dimensions, for tiles of ``tile_rows`` output rows.

    With ``in_place`` (all windows must be inside) nothing is copied whatever the stride, and rows are read one by one.
    With ``dense`` each tap along the width has slabs of its own, which hold its elements of each window and no more: the
    windows of a tile fill vectors without gaps.

    Attributes:
        direct: the source serves as it lies: nothing is copied.
        flat: (of dense ones) a slab's rows lie in the source as in the slab, but for a shift: it is copied as a whole.
        pitch: windows from one output row to the next. rows: of one slab. channel_size: elements of a staged channel.
        share: how many columns at a row's end are the filling at the next one's start.
        slabs: an int64 table (slab, 5): depth and row of the first element, then of each row the first column that is
            inside, how many are, and which column of the source the first of them is.
    """

    def __init__(self, axes, tile_rows, in_place=False, dense=False):
        depth, height, width = self.axes = axes
        reach = max(width.taps) // width.stride
        full = width.out + reach
        self.tile_rows = tile_rows
        self.in_place, self.dense = in_place, dense
        self.flat = dense and height.stride == width.stride == 1 and width.out == width.length
        self.direct = in_place or (not dense and height.stride == width.stride == 1 and all(map(is_inside, axes)))
        if self.direct:
            self.pitch, self.share, self.rows = width.out if in_place else width.length, 0, height.length
            self.channel_size = depth.length * height.length * width.length
            self.slabs, self._slab_numbers = np.zeros((0, 5), np.int64), {}
            return
        left, right = max(0, -width.start), max(0, full + width.start - width.length)
        self.share = min(left, right, reach) if width.stride == 1 and not dense else 0
        self.pitch = width.out if dense else full - self.share
        self.rows = tile_rows + max(height.taps) // height.stride
        keys = [self._key(d, h, w) for d in depth.taps for h in height.taps for w in width.taps]
        self._slab_numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        self.slabs = np.array([self._slab(*key) for key in self._slab_numbers], np.int64)
        self.channel_size = len(self.slabs) * self.rows * self.pitch

    def _key(self, depth, row, column):
        """The slab of a tap: its depth, the residue of its row and of its column (or the column itself)."""
        _, height, width = self.axes
        return depth, row % height.stride, column if self.dense else column % width.stride

    def _slab(self, depth, row, column):
        width = self.axes[2]
        start = width.start + column
        first = min(max(0, -(start // width.stride)), self.pitch)
        inside = -(-(width.length - start) // width.stride)
        count = max(0, min(inside, self.pitch) - first)
        return self.axes[0].start + depth, self.axes[1].start + row, first, count, first * width.stride + start

    def tap_offsets(self):
        """For each tap, in order, where its elements begin within a channel (an int64 array)."""
        depth, height, width = self.axes
        found = []
        for d in depth.taps:
            for h in height.taps:
                for w in width.taps:
                    if self.direct:
                        found.append((d * height.length + h) * width.length + w)
                        continue
                    row = self._slab_numbers[self._key(d, h, w)] * self.rows + h // height.stride
                    found.append(row * self.pitch + (0 if self.dense else w // width.stride))
        return np.array(found, np.int64)

    def squeezing(self, lanes):
        """``valid``: which of a tile's windows are in the output, up to whole vectors; ``starts``: for each vector, how
        many valid ones come before it."""
        flat = -(-self.tile_rows * self.pitch // lanes) * lanes + lanes
        valid = np.arange(flat) % self.pitch < self.axes[2].out
        starts = np.concatenate([[0], np.cumsum(valid)])[::lanes].astype(np.int64)
        return valid, starts

    def inside_columns(self, lanes):
        """For each slab of a flat staging, which of its elements lie inside of the source's columns: a table of rows of
        ``rows * pitch`` and some more."""
        elements = np.arange(self.rows * self.pitch + lanes) % self.pitch
        first, count = self.slabs[:, 2:3], self.slabs[:, 3:4]
        return (elements >= first) & (elements < first + count)

    @property
    def step_class(self):
        """The class of its rows' steps."""
        return step_class(self.axes[2].stride)


def step_class(stride):
    """How elements so far apart are copied: the step, or 0 with gathers."""
    return stride if stride <= MOST_STEP else 0


def is_inside(axis):
    """Whether every window lies inside the source, the first at its beginning."""
    return axis.start == 0 and (axis.out - 1) * axis.stride + max(axis.taps) < axis.length


STAGE_NUMBERS = ("depth", "height", "width", "row_stride", "column_stride", "rows", "pitch", "slabs", "share")


def stage_numbers(staging):
    """The values of STAGE_NUMBERS."""
    depth, height, width = staging.axes
    lengths = (depth.length, height.length, width.length)
    return (*lengths, height.stride, width.stride, staging.rows, staging.pitch, len(staging.slabs), staging.share)


class Numbers:
    """The numbers of a plan, by name. They are loaded where they are asked for: dozens of values that live through a
    whole program would take the compiler long to find registers for."""

    def __init__(self, builder, pointer, names):
        self._builder, self._pointer = builder, pointer
        self._places = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name):
        return self._builder.load(self._pointer, self._places[name])


def stage_function(scalar, lanes, step_class, filling=0.0):
    """Function that copies channels of a source into the staged layout.

    Its parameters:
        source, target: the first channel, and where it goes. channels: how many.
        slab_table, numbers: ``Staging.slabs`` and the values of STAGE_NUMBERS.
        depth_start, row_start: of the tile's first window in the source.
    Up to two vectors behind the target's end are written.
    """
    parameters = [("source", f"{scalar}*"), ("target", f"{scalar}*"), ("channels", "i64"), ("slab_table", "i64*")]
    parameters += [("numbers", "i64*"), ("depth_start", "i64"), ("row_start", "i64")]
    builder = Builder("stage", parameters)
    source, target, channels, slab_table, numbers, depth_start, row_start = builder.parameters
    number = Numbers(builder, numbers, STAGE_NUMBERS)
    height, width, rows, pitch, slabs = (number[name] for name in ("height", "width", "rows", "pitch", "slabs"))
    plane = height * width
    empty = builder.constant(filling, f"{scalar}x{lanes}")

    def fill(row, first, end):
        with builder.loop(first, end, lanes) as place:
            builder.store(empty, row, place.index)

    def stage_row(from_row, to_row, first, count):
        fill(to_row, 0, first)
        inside = builder.offset(to_row, first)

        def piece(index, mask, _):
            builder.prefetch(from_row, index + _AHEAD)
            left = None if mask is None else count - index
            values = stepped_load(builder, from_row, index, number["column_stride"], lanes, step_class, mask, left)
            if mask is not None and filling != 0:
                values = builder.select(mask, values, empty)
            builder.store(values, inside, index)

        builder.for_lanes(0, count, lanes, piece)
        fill(to_row, first + (count + (lanes - 1)) // lanes * lanes, pitch)

    with builder.loop(0, channels) as channel:
        with builder.loop(0, slabs) as slab:
            place = builder.offset(slab_table, slab.index * 5)
            depth = depth_start + builder.load(place, 0)
            first_row = row_start + builder.load(place, 1)
            first, count, column = (builder.load(place, i) for i in (2, 3, 4))
            depth_inside = (depth >= 0) & (depth < number["depth"])
            staged = builder.offset(target, (channel.index * slabs + slab.index) * rows * pitch)
            volume = builder.offset(source, (channel.index * number["depth"] + depth) * plane)
            with builder.loop(0, rows) as row:
                position = first_row + row.index * number["row_stride"]
                inside = depth_inside & (position >= 0) & (position < height)
                to_row = builder.offset(staged, row.index * pitch)
                with builder.when(inside):
                    stage_row(builder.offset(volume, position * width + column), to_row, first, count)
                with builder.when(~inside):
                    fill(to_row, 0, pitch)
    size = channels * slabs * rows * pitch
    fill(target, size, size + number["share"])
    return builder.function


def flat_stage_function(scalar, lanes):
    """Function that copies channels of a source into a staged layout that is flat.

    Its parameters are those of `stage_function`, and ``inside_columns``, the table of that name of the Staging. Up to two
    vectors behind the target's end are written.
    """
    parameters = [("source", f"{scalar}*"), ("target", f"{scalar}*"), ("channels", "i64"), ("slab_table", "i64*")]
    parameters += [("numbers", "i64*"), ("depth_start", "i64"), ("row_start", "i64"), ("inside_columns", "bool*")]
    builder = Builder("stage_flat", parameters)
    source, target, channels, slab_table, numbers, depth_start, row_start, inside_columns = builder.parameters
    number = Numbers(builder, numbers, STAGE_NUMBERS)
    depth, height, rows, pitch, slabs = (number[name] for name in ("depth", "height", "rows", "pitch", "slabs"))
    empty = builder.constant(0, f"{scalar}x{lanes}")

    def fill(slab, first, end):
        with builder.loop(first, end, lanes) as place:
            builder.store(empty, slab, place.index)

    with builder.loop(0, channels) as channel, builder.loop(0, slabs) as slab:
        place = builder.offset(slab_table, slab.index * 5)
        here, first_row = depth_start + builder.load(place, 0), row_start + builder.load(place, 1)
        shift = builder.load(place, 4) - builder.load(place, 2)
        top = builder.minimum(builder.maximum(0 - first_row, 0), rows)
        end = builder.maximum(builder.minimum(height - first_row, rows), top)
        end = builder.select((here >= 0) & (here < depth), end, top)
        staged = builder.offset(target, (channel.index * slabs + slab.index) * rows * pitch)
        inside = builder.offset(inside_columns, slab.index * (rows * pitch + lanes))
        begin = ((channel.index * depth + here) * height + first_row + top) * pitch + shift
        begin, to = builder.offset(source, begin), builder.offset(staged, top * pitch)
        fill(staged, 0, top * pitch)

        def piece(index, mask, _, begin=begin, to=to, inside=inside):
            builder.prefetch(begin, index + _AHEAD)
            chosen = builder.load(inside, index, lanes)
            chosen = chosen if mask is None else chosen & mask
            builder.store(builder.load(begin, index, lanes, chosen), to, index)

        builder.for_lanes(0, (end - top) * pitch, lanes, piece)
        fill(staged, end * pitch, rows * pitch)
    return builder.function


def stepped_load(builder, row, index, stride, lanes, step_class, mask, left):
    """``lanes`` elements, ``stride`` apart, from the row's element ``index * stride`` on; under a mask, ``left``."""
    if step_class == 1:
        return builder.load(row, index, lanes, mask)
    if step_class:
        return _every_so_many(builder, builder.offset(row, index * step_class), step_class, lanes, mask, left)
    places = builder.iota(f"i64x{lanes}") * builder.splat(stride, lanes)
    return builder.gather(builder.offset(row, index * stride), places, mask)


def _every_so_many(builder, row, step, lanes, mask, left):
    """``lanes`` elements, ``step`` apart: whole vectors, of which shuffles choose. The last one ends where they do."""
    begins = [min(lane * step // lanes * lanes, (lanes - 1) * (step - 1)) for lane in range(lanes)]
    found, places = None, [lane * step for lane in range(lanes)]
    for begin in sorted(set(begins)):
        within = None if mask is None else builder.first_lanes((left - 1) * step + 1 - begin, lanes)
        part = builder.load(row, begin, lanes, within)
        if found is None:
            found = part
            continue
        here = [lanes + lane * step - begin if begins[lane] == begin else 0 for lane in range(lanes)]
        earlier = [place if begins[lane] < begin else 0 for lane, place in enumerate(places)]
        found, places = builder.shuffle(found, part, [max(pair) for pair in zip(here, earlier)]), range(lanes)
    return found


def stepped_store(builder, values, row, index, stride, lanes, step_class, mask, left):
    """A vector to places ``stride`` apart, from the row's element ``index * stride`` on; under a mask, ``left``."""
    if step_class == 1:
        builder.store(values, row, index, mask)
        return
    start = builder.offset(row, index * stride)
    if not step_class:
        builder.scatter(values, start, builder.iota(f"i64x{lanes}") * builder.splat(stride, lanes), mask)
        return
    for begin in range(0, (lanes - 1) * step_class + 1, lanes):
        owners = [divmod(begin + lane, step_class) for lane in range(lanes)]
        owned = builder.constant(tuple(not rest for _, rest in owners), f"boolx{lanes}")
        if mask is not None:
            owned = owned & builder.first_lanes((left - 1) * step_class + 1 - begin, lanes)
        spread = builder.shuffle(values, values, [0 if rest else lane for lane, rest in owners])
        builder.store(spread, start, begin, owned)
