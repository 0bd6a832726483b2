"""The gradient of a convolution's weight on the tile unit: how images are cut into strips, and what it costs."""

from __future__ import annotations

import numpy as np

from ...planning.plan import Launch, Plan
from ...products.tiles.panels import BLOCK, LANES, PANEL, TILE_WORDS
from .forward import PARTS, PRODUCTS
from .forward_plan import NANOSECONDS, cut, few_steps
from .weight import NUMBERS, WeightForm, build

_INT32 = np.dtype(np.int32)
_STRIP_WORDS = 300_000  # of a pair of strips that a chunk keeps in the second cache
_FEW_WORDS = 1 << 21  # of all strips, where they are split before
_BLOCK_WORDS = 300_000  # of these, what one block of outputs and inputs reads
_SLOTS = 8  # sums of their own, whatever the number of threads
_SUM_ELEMENTS = 4 << 20  # of all slots together: else there are fewer

# Cycles: see ``forward_plan``.
_PRODUCT = 75 / 2  # one of the products of a step of 16 windows of two strips, 32 outputs and 32 inputs: as many
_ADD = 350  # a block's sums added to others
_LINE = 40  # 16 channels of two pixels split
_WINDOWS = 18  # 16 windows of two strips of an output split
_FINISH = 2200  # a block of the result


class WeightGradient:
    """The gradient of a convolution's weight for given shapes, ready to run; both operands are plain.

    Args:
        samples, groups, inputs, outputs: how many; inputs and outputs are those of one group.
        phase: the Phase of the convolution. source, result: Layouts of X and dY. scalar: theirs.
    """

    def __init__(self, samples, groups, inputs, outputs, phase, source, result, scalar):
        parts, taps = PARTS[scalar], len(phase.places)
        input_blocks, output_blocks = -(-inputs // PANEL), -(-outputs // PANEL)
        words = LANES * parts * 2 * (input_blocks + output_blocks)  # of a line with what belongs to it
        windows = cut([phase], samples * groups, words, _STRIP_WORDS, 1 if samples > 1 else 2)
        depth, height, width = windows.axes
        strips = samples * depth.out * windows.row_strips * windows.column_strips
        pairs, steps = -(-strips // 2), -(-windows.rows * windows.pitch // LANES)
        half_words, panel_words = parts * windows.lines * LANES, steps * 2 * parts * TILE_WORDS
        lines_words = input_blocks * 2 * half_words
        pair_words = lines_words + output_blocks * panel_words
        blocks = input_blocks * output_blocks
        few = groups * blocks > 2 and groups * pairs * pair_words < _FEW_WORDS
        few = few and pairs * (2 * half_words + panel_words) < _BLOCK_WORDS
        slots = max(1, min(_SLOTS, pairs, _SUM_ELEMENTS // (groups * blocks * taps * BLOCK)))
        head = steps * 2 * LANES + 2 * BLOCK
        self.own = head + (taps * BLOCK if few else pair_words)
        self.shared = groups * pairs * pair_words if few else 0
        self.sums = 0 if few else groups * slots * blocks * taps * BLOCK
        self.chunks = groups * blocks
        values = {
            **windows.numbers(source), "groups": groups, "inputs": inputs, "outputs": outputs, "taps": taps,
            "strips": strips, "pairs": pairs, "height_out": height.out, "width_out": width.out,
            "x_group": inputs * source.channel, "y_sample": result.sample, "y_group": outputs * result.channel,
            "y_channel": result.channel, "y_depth": result.depth, "y_row": result.row, "slots": slots, "steps": steps,
            "few_steps": few_steps(steps), "half_words": half_words, "group_words": 2 * half_words,
            "panel_words": panel_words, "lines_words": lines_words, "scratch_words": self.own,
        }  # fmt: skip
        self.sizes = np.array([values[name] for name in NUMBERS], np.int64)
        self.taps = np.array(windows.taps(phase), np.int64) * LANES
        self.slabs, self.residues = np.array(windows.slabs, np.int64), np.array(windows.residues, np.int64)
        self.form = WeightForm(scalar, few)
        cycles = blocks * taps * pairs * (steps * max(2, len(PRODUCTS[parts])) * _PRODUCT * 2)
        cycles += blocks * taps * (pairs * -(-steps // few_steps(steps)) * _ADD + _FINISH * (1 if few else slots))
        cycles += pairs * (windows.lines * input_blocks * 2 * _LINE + steps * output_blocks * PANEL * _WINDOWS)
        self.cycles = groups * cycles

    def plan(self):
        """The Plan that writes "found", in float32, from "grad" and "input"; for "flags" see `forward_plan`."""
        tables = self.taps, self.slabs, self.residues, self.sizes
        arguments = "input", "grad", "found", "flags", "sums", "shared_tiles", "tiles", *tables
        own = [("tiles", self.own, _INT32), ("shared_tiles", 0, _INT32, self.shared)]
        own.append(("sums", 0, np.dtype(np.float32), self.sums))
        launch = Launch(build, (self.form,), arguments, self.cycles * NANOSECONDS, "tile_convolution_weight")
        return Plan([launch], {}, [("flags", self.chunks, _INT32)], own, zeroed=("flags",))

    @property
    def is_exact(self):
        """Whether sums are finite if the result is."""
        return PARTS[self.form.scalar] == 1
