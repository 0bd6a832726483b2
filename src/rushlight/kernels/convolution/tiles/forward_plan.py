"""Convolutions on the tile unit: how an image is cut into strips, and whether it pays at all."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ...machine.host import host
from ...planning.plan import Launch, Plan
from ...products.tiles.panels import BLOCK, LANES, PANEL, TILE_WORDS
from ...windows.staging import Axis
from .forward import NUMBERS, PARTS, PRODUCTS, build

_INT32 = np.dtype(np.int32)
NANOSECONDS = 1 / 3  # for a cycle
_STRIP_WORDS = 250_000  # of an image's parts that a chunk keeps in the second cache
_FEW_WORDS = 1 << 21  # of all strips, where they are split before
_WANTED_CHUNKS = 8  # so that a few threads end at about the same time
_SMALLEST_STRIP = 128  # windows that are worth their start
_MOST_STEPS = 12  # that are added up one after the other

# Cycles, measured on an Intel Xeon (Emerald Rapids) at 3 GHz, for what a convolution is made of.
_PRODUCT = 75  # one of the products of a step: 32 x 32 x 32 multiplications
_BLOCK = {"dense": 550, "scattered": 1700, "deep": 400}  # 32 windows and 32 outputs besides their steps
_LINE = 45  # 32 channels of a pixel split
_WEIGHTS = 1200  # 32 x 32 weights split
_PLAIN_PER_CYCLE = 25  # multiplications a cycle of the vector units
_FEWEST_MULTIPLICATIONS = 2_000_000


class Phase(NamedTuple):
    """The elements of a result that are computed alike.

    Attributes:
        axes: three, of the source's dimensions. places: for each tap, its number in the kernel.
        start: the first of the elements in the result, from the image's first on.
    """

    axes: tuple
    places: tuple
    start: int


class Layout(NamedTuple):
    """Where an image lies: steps between samples, channels, depths, rows and columns, in elements; ``deep`` says that
    channels lie side by side."""

    sample: int
    channel: int
    depth: int
    row: int
    column: int

    @property
    def deep(self):
        return self.channel == 1 and self.column != 1


def dense(channels, lengths, deep):
    """The Layout of contiguous images of ``channels`` (of all groups) and three lengths, or of channels_last ones."""
    depth, height, width = lengths
    pixels = depth * height * width
    if deep:
        return Layout(channels * pixels, 1, height * width * channels, width * channels, channels)
    return Layout(channels * pixels, pixels, height * width, width, 1)


class Windows:
    """How the windows of all phases lie on the lines of a strip (see ``lines.py``).

    Attributes:
        rows, columns: of windows of a strip. pitch: lines of a staged row. staged_rows: of a slab.
        slabs, residues: tables. lines: of a strip, with those behind the end that blocks of 32 windows read.
        row_strips, column_strips: of an image.
    """

    def __init__(self, phases, rows, columns):
        depth, height, width = self.axes = [_united([p.axes[i] for p in phases]) for i in range(3)]
        self.rows, self.columns = rows, columns
        reach = max(width.taps) // width.stride
        full = columns + reach
        left, right = -width.start, full + width.start - width.length
        share = max(0, min(left, right, reach)) if width.stride == 1 and columns == width.out else 0
        self.pitch = full - share
        self.staged_rows = rows + max(height.taps) // height.stride
        self.slabs = list(dict.fromkeys((d, h % height.stride) for d in depth.taps for h in height.taps))
        self.residues = sorted({w % width.stride for w in width.taps})
        last = len(self.slabs) * len(self.residues) * self.staged_rows * self.pitch
        blocks = -(-rows * self.pitch // PANEL)
        read = max(max(self.taps(phase)) for phase in phases) + blocks * PANEL
        self.slack = max(0, read - last)
        self.lines = last + self.slack
        self.row_strips, self.column_strips = -(-height.out // rows), -(-width.out // columns)

    def taps(self, phase):
        """From which line on the windows of each tap of a phase begin."""
        shifts = [axis.start - whole.start for axis, whole in zip(phase.axes, self.axes)]
        (d_taps, h_taps, w_taps), (_, height, width) = (
            [[tap + shift for tap in axis.taps] for axis, shift in zip(phase.axes, shifts)],
            self.axes,
        )
        found = []
        for d in d_taps:
            for h in h_taps:
                slab = self.slabs.index((d, h % height.stride))
                for w in w_taps:
                    part = slab * len(self.residues) + self.residues.index(w % width.stride)
                    found.append((part * self.staged_rows + h // height.stride) * self.pitch + w // width.stride)
        return found

    def numbers(self, source):
        """What programs read in ``sizes`` of the strips, their axes, and where ``source``, a Layout, has the elements."""
        depth, height, width = self.axes
        return {
            "depth": depth.length, "height": height.length, "width": width.length, "depth_stride": depth.stride,
            "row_stride": height.stride, "column_stride": width.stride, "depth_start": depth.start,
            "row_start": height.start, "column_start": width.start, "x_sample": source.sample,
            "x_channel": source.channel, "x_depth": source.depth, "x_row": source.row, "x_column": source.column,
            "slabs": len(self.slabs), "residues": len(self.residues), "rows": self.staged_rows, "pitch": self.pitch,
            "part_words": self.lines * LANES, "slack": self.slack, "row_strips": self.row_strips,
            "column_strips": self.column_strips, "tile_rows": self.rows, "tile_columns": self.columns,
            "depth_out": depth.out,
        }  # fmt: skip


def _united(axes):
    """An Axis with all windows and taps of axes of one length and stride."""
    start = min(a.start for a in axes)
    taps = sorted({tap + a.start - start for a in axes for tap in a.taps})
    return Axis(axes[0].length, max(a.out for a in axes), axes[0].stride, start, tuple(taps))


def cut(phases, images, words, most, pieces=1):
    """The Windows of strips that stay in the cache, with no more than ``most`` words, and make enough chunks of
    ``images`` images. ``words``: for each line; ``pieces``: of an image, at least, if there is more than a pixel."""
    first = Windows(phases, 1, 1)
    depth, height, width = (axis.out for axis in first.axes)
    while True:
        columns = -(-width // max(1, -(-pieces // height)))
        windows = Windows(phases, -(-height // min(pieces, height)), columns)
        size = windows.rows * windows.pitch
        few = images * depth * pieces < _WANTED_CHUNKS and size >= 2 * _SMALLEST_STRIP
        if (windows.rows == columns == 1) or not (few or windows.lines * words > most):
            return windows
        pieces += 1


class Convolution:
    """A convolution of given shapes, ready to run, or the gradient of its input.

    Args:
        samples, groups, inputs, outputs: how many; inputs and outputs (the result's channels) are those of one group.
        phases: see Phase. source, result: Layouts. steps: those of the result from window to window: depth, row, column.
        weights: steps of (group, output, input) in the weights, and the number of taps.
        scalar, backward, storing: see Form.
    """

    def __init__(self, samples, groups, inputs, outputs, phases, source, result, steps, weights, form):
        scalar = form.scalar
        parts, channel_groups, out_blocks = PARTS[scalar], -(-inputs // PANEL), -(-outputs // PANEL)
        *w_steps, taps = weights
        windows = cut(phases, samples * groups, channel_groups * parts * LANES, _STRIP_WORDS)
        all_taps = sum(len(phase.places) for phase in phases)
        image_strips = windows.axes[0].out * windows.row_strips * windows.column_strips
        strips = samples * groups * image_strips
        group_words = parts * windows.lines * LANES
        strip_words = channel_groups * group_words
        panel_words = all_taps * 2 * parts * TILE_WORDS
        all_panels = groups * out_blocks * channel_groups * panel_words
        few = strips * strip_words < min(all_panels, _FEW_WORDS) and groups * out_blocks > 1
        head = (taps + 3) * BLOCK
        own = head + (channel_groups * panel_words if few else strip_words)
        self.own, self.shared = -(-own // LANES) * LANES, strips * strip_words if few else all_panels
        self.chunks = groups * out_blocks if few else strips
        values = {
            **windows.numbers(source), "groups": groups, "inputs": inputs, "outputs": outputs, "taps": taps,
            "all_taps": all_taps, "w_group": w_steps[0], "w_output": w_steps[1], "w_input": w_steps[2],
            "phases": len(phases), "strips": strips, "image_strips": image_strips, "x_group": inputs * source.channel,
            "y_sample": result.sample, "y_group": outputs * result.channel, "y_channel": result.channel,
            "y_depth": steps[0], "y_row": steps[1], "y_column": steps[2], "group_words": group_words,
            "panel_words": panel_words, "strip_words": strip_words, "scratch_words": self.own,
        }  # fmt: skip
        self.sizes = np.array([values[name] for name in NUMBERS], np.int64)
        self.form = form._replace(few=few)
        self._tables(phases, windows, steps[1:], channel_groups, group_words, panel_words)
        self.cycles = self._estimate(phases, windows, parts, samples * groups, channel_groups, out_blocks)

    def _tables(self, phases, windows, row_and_column, groups, group_words, panel_words):
        self.taps = np.concatenate([phase.places for phase in phases]).astype(np.int64)
        step_words = 2 * PARTS[self.form.scalar] * TILE_WORDS
        steps, tables, numbers, first = [], [], [], 0
        for phase in phases:
            depth, height, width = (axis.out for axis in phase.axes)
            table = _table(windows.rows, windows.pitch, min(width, windows.columns), self.form.storing, *row_and_column)
            panel = (first + np.arange(len(phase.places))) * step_words
            both = np.stack([np.array(windows.taps(phase)) * LANES, panel], 1)
            numbers_of_groups = np.arange(groups)[:, None, None]
            steps.append((both + numbers_of_groups * [group_words, panel_words]).reshape(-1, 2))
            values = (
                len(steps[-1]),
                first * groups,
                few_steps(len(steps[-1])),
                depth,
                height,
                width,
                phase.start,
                sum(map(len, tables)),
            )
            numbers.append(values)
            tables.append(table)
            first += len(phase.places)
        self.steps = np.concatenate(steps).astype(np.int64)
        self.phases = np.array(numbers, np.int64)
        self.table = np.concatenate(tables)
        self.slabs = np.array(windows.slabs, np.int64)
        self.residues = np.array(windows.residues, np.int64)

    def _estimate(self, phases, windows, parts, images, channel_groups, out_blocks):
        """Cycles of one core that it takes."""
        strips = images * windows.axes[0].out * windows.row_strips * windows.column_strips
        blocks = strips * out_blocks * -(-windows.rows * windows.pitch // PANEL)
        steps = sum(len(phase.places) for phase in phases) * channel_groups
        cycles = blocks * (steps * max(2, len(PRODUCTS[parts])) * _PRODUCT + len(phases) * _BLOCK[self.form.storing])
        return cycles + strips * windows.lines * channel_groups * _LINE + out_blocks * steps * _WEIGHTS

    def plan(self, x, w, bias, y):
        """The Plan for arrays of these names; a number of its "flags" is not 0 where blocks are not finite, which must be
        computed in another way."""
        tables = self.table, self.taps, self.steps, self.phases, self.slabs, self.residues, self.sizes
        arguments = x, w, bias, y, "flags", "shared_tiles", "tiles", *tables
        own = [("tiles", self.own, _INT32), ("shared_tiles", 0, _INT32, self.shared)]
        launch = Launch(build, (self.form,), arguments, self.cycles * NANOSECONDS, "tile_convolution")
        return Plan([launch], {}, [("flags", self.chunks, _INT32)], own, zeroed=("flags",))

    @property
    def is_exact(self):
        """Whether blocks are finite if the result is."""
        return PARTS[self.form.scalar] == 1


def few_steps(steps):
    """How many steps are added up in tiles before they are added to the others."""
    return -(-steps // -(-steps // _MOST_STEPS))


@functools.lru_cache(256)
def _table(rows, pitch, columns, storing, row_step, column_step):
    """Where windows go: see ``store_windows``."""
    windows = np.arange(-(-rows * pitch // PANEL) * PANEL)
    row, column = windows // pitch, windows % pitch
    counts = (column < columns) & (row < rows)
    if storing != "dense":
        return np.where(counts, row * row_step + column * column_step, -1).astype(np.int32)
    counts, row, column = (a.reshape(-1, LANES) for a in (counts, row, column))
    first = row[:, 0] * columns + np.minimum(column[:, 0], columns)
    bits = (counts.astype(np.int64) << np.arange(LANES)).sum(1)
    return np.ascontiguousarray(np.stack([first, bits, counts.sum(1)], 1).astype(np.int32)).reshape(-1)


def storing_of(result, steps, axes):
    """The ``storing`` of a Form for a Layout of the result and steps from window to window."""
    if result.deep:
        return "deep"
    return "dense" if steps[2] == 1 and (steps[1] == axes[2].out or axes[1].out == 1) else "scattered"


def pays(plan, multiplications):
    """Whether the tile unit wins over the vector units, which take so many multiplications."""
    plain = multiplications / _PLAIN_PER_CYCLE
    return multiplications > _FEWEST_MULTIPLICATIONS and plan.cycles < plain


def is_there():
    machine = host()
    return machine is not None and machine.has_tiles
