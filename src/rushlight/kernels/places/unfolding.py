"""The gradient of `unfold` by a kernel: every place adds up what the windows over it say."""

from __future__ import annotations

import math

from ...base.shapes import wrap_dim
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.layout import Layout, copies
from ..planning.plan import Launch, Plan
from ..planning.runner import plan_for
from .indexing import ADDED

_CHUNK = 1 << 13  # places
_NANOSECONDS = 0.3  # for an element
_LONGEST = 1 << 52  # places that double precision divides exactly


def add_windows(scalar, width):
    """``(values, out, outer, length, windows, size, step, rounds)``: out[o, w * step + j] is the sum of values[o, w, j], the
    first window first; ``rounds`` windows at most lie over a place."""
    sizes = [(name, "i64") for name in ("outer", "length", "windows", "size", "step", "rounds")]
    builder = Builder("entry", [("values", f"{scalar}*"), ("out", f"{scalar}*"), *sizes])
    values, out, outer, length, windows, size, step, rounds = builder.parameters
    pieces = (length + (_CHUNK - 1)) // _CHUNK
    steps = builder.iota(f"i64x{width}")
    with builder.parallel(outer * pieces) as chunk:
        o, first = chunk // pieces, chunk % pieces * _CHUNK
        source, target = builder.offset(values, o * windows * size), builder.offset(out, o * length)
        spread = {
            name: builder.splat(value, width) for name, value in (("step", step), ("size", size), ("windows", windows))
        }

        def body(index, mask, _):
            place = steps + builder.splat(index, width)
            quotient = builder.convert(place, "f64") / builder.convert(spread["step"], "f64")
            latest = builder.convert(builder.unary("trunc", quotient), "i64")
            within = place - latest * spread["step"]
            before = builder.splat(rounds - 1, width)
            first_window, its_number = latest - before, within + before * spread["step"]
            begin = [builder.constant(0, f"{scalar}x{width}"), first_window, its_number]
            with builder.loop(0, rounds, 1, begin) as each:
                found, window, number = each.carry
                exists = (window >= 0) & (window < spread["windows"]) & (number < spread["size"])
                exists = exists if mask is None else exists & mask
                added = found + builder.gather(source, window * spread["size"] + number, exists)
                each.carry = [added, window + 1, number - spread["step"]]
            builder.store(each.results[0], target, index, mask)

        builder.for_lanes(first, builder.minimum(first + _CHUNK, length), width, body)
    return Program("add_windows", [builder.function])


@plan_for("unfold_gradient")
def unfold_gradient(self: Layout, shape, dimension, size, step):
    if not shape or wrap_dim(dimension, len(shape)) != len(shape) - 1 or not self.size or self.dtype not in ADDED:
        return None
    if size <= step or shape[-1] >= _LONGEST:  # windows apart from each other are copied
        return None
    sizes = math.prod(shape[:-1]), shape[-1], self.shape[-2], size, step, math.ceil(size / step)
    form = ADDED[self.dtype], lanes(self.dtype.itemsize)
    launch = Launch(add_windows, form, ("self", "out", *sizes), self.size * _NANOSECONDS)
    return Plan([launch], {"out": Layout(tuple(shape), self.dtype)}, copied=copies(self=self))
