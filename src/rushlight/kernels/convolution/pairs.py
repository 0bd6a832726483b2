"""Convolutions in bfloat16 by the instruction ``dot``: images and weights whose channels are joined in pairs.

Two neighbouring channels make one of 32-bit words, so that an image takes no more memory than before; an odd last channel
is paired with zeros. Correlations then go over half as many channels, and know nothing else of it.
"""

from __future__ import annotations

import math

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY
from ..machine import host
from ..planning.layout import Layout
from ..planning.plan import Launch
from ..products.matmul_packing import PAIRS

_LEAST = 1 << 13  # elements of a chunk
_NANOSECONDS = 0.3  # for an element


def pays(scalar, channels):
    """Whether to convolve in pairs where so many channels (of a group) are added up."""
    return scalar == "bf16" and channels > 1 and host.has_dots()


def plan_pairs(name, layout, found, groups=1, axis=1):
    """(Launch, Layout) of an array "found", int32: the channels along a dimension (the first or the second) of a plain one of
    that name, those of each group for themselves, in pairs."""
    shape, dtype = layout.shape, NUMPY[PAIRS]
    outer, channels = math.prod(shape[:axis]) * groups, shape[axis] // groups
    length, pairs = math.prod(shape[axis + 1 :]), (channels + 1) // 2
    arguments = name, found, outer, channels, length, max(1, _LEAST // (channels * length))
    launch = Launch(pairs_program, (host.lanes(4),), arguments, layout.size * _NANOSECONDS, "convolution_pairs")
    return launch, Layout((*shape[:axis], groups * pairs, *shape[axis + 1 :]), dtype)


def pairs_program(lanes):
    """Entry ``(source, target, outer, channels, length, together)``: ``outer`` times so many rows, joined in pairs; for so
    many of them ``together`` a chunk."""
    names = ("outer", "channels", "length", "together")
    b = Builder("convolution_pairs", [("source", "bf16*"), ("target", f"{PAIRS}*"), *((name, "i64") for name in names)])
    source, target, outer, channels, length, together = b.parameters
    pairs = (channels + 1) // 2

    def words(row, index, mask):
        return b.convert(b.bitcast(b.load(row, index, lanes, mask), "u16"), PAIRS)

    with b.parallel((outer + together - 1) // together) as chunk:
        first = chunk * together
        with b.loop(first, b.minimum(first + together, outer)) as one, b.loop(0, pairs) as pair:
            row = b.offset(source, (one.index * channels + pair.index * 2) * length)
            place = b.offset(target, (one.index * pairs + pair.index) * length)
            following = b.offset(row, length)

            def join(index, mask, _):
                b.store(words(row, index, mask) | (words(following, index, mask) << 16), place, index, mask)

            def keep(index, mask, _):
                b.store(words(row, index, mask), place, index, mask)

            for last, body in ((pair.index * 2 + 1 < channels, join), (pair.index * 2 + 1 >= channels, keep)):
                with b.when(last):
                    b.for_lanes(0, length, lanes, body)
    return Program("convolution_pairs", [b.function])
