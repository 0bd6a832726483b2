"""Sums, products and dot products of all elements of complex arrays."""

from __future__ import annotations

from ..elementwise.complex_functions import SCALARS
from ..language.builder import Builder
from ..language.program import Program
from ..planning.layout import Layout, lanes_for
from ..planning.plan import Launch, Plan
from ..planning.runner import plan_for
from .reduce_programs import PART, ceiling
from .spans import RowSpan, add_each

_NANOSECONDS = 0.153  # for a number
_VECTORS = 4  # side by side, so that their additions overlap


def _multiplied(a, b):
    return [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]


def _multiplied_conjugate(a, b):
    return [a[0] * b[0] + a[1] * b[1], a[0] * b[1] - a[1] * b[0]]


# name -> what makes a term of the operands (None: it is the operand), how terms are merged, the empty one
_REDUCTIONS = {
    "sum": (None, add_each, (0.0, 0.0)),
    "prod": (None, _multiplied, (1.0, 0.0)),
    "dot": (_multiplied, add_each, (0.0, 0.0)),
    "vdot": (_multiplied_conjugate, add_each, (0.0, 0.0)),
}


def _reducer(builder, name, scalar, lanes):
    """A function ``reduced(pointers, end, term)``: the parts of what ``end`` numbers from the pointers on are reduced to."""
    _, merge, empty = _REDUCTIONS[name]
    even, odd = [2 * lane for lane in range(lanes)], [2 * lane + 1 for lane in range(lanes)]

    def reduced(pointers, end, term):
        span = RowSpan(builder, pointers, end, lanes, scalar)
        starts = [builder.constant(part, span.type) for part in empty]

        def take(pointers, index, mask, carry):
            both = None if mask is None else builder.first_lanes((end - index) * 2, 2 * lanes)
            loaded = [builder.load(pointer, index * 2, 2 * lanes, both) for pointer in pointers]
            numbers = [[builder.shuffle(each, each, side) for side in (even, odd)] for each in loaded]
            value = numbers[0] if term is None else term(*numbers)
            return merge(carry, [span.only(mask, part, start) for part, start in zip(value, starts)])

        return span.merged(starts, take, merge)

    return reduced


def program(name, scalar, lanes):
    """``(x, work, out, count, divisor)``, with ``y`` behind ``x`` where there are two operands: a reduction of ``count`` complex
    numbers whose parts are ``scalar``, divided by a real number. ``work`` has room for one of each part of `PART`."""
    term = _REDUCTIONS[name][0]
    given = ["x"] if term is None else ["x", "y"]
    arrays = [(array, f"{scalar}*") for array in (*given, "work", "out")]
    builder = Builder(f"complex_{name}", [*arrays, ("count", "i64"), ("divisor", scalar)])
    *pointers, work, out, count, divisor = builder.parameters
    reduced = _reducer(builder, name, scalar, lanes)
    parts = (count + (PART - 1)) // PART
    with builder.parallel(parts) as number:
        first = number * PART
        moved = [builder.offset(pointer, first * 2) for pointer in pointers]
        for side, part in enumerate(reduced(moved, builder.minimum(count - first, PART), term)):
            builder.store(part, work, number * 2 + side)
    with builder.parallel(1):
        for side, part in enumerate(reduced([work], parts, None)):
            builder.store(part / divisor, out, side)
    return Program(f"complex_{name}", [builder.function])


def rows_program(name, scalar, lanes):
    """``(x, out, rows, columns, share, divisor)``: each row of a matrix of complex numbers reduced, ``share`` rows a chunk."""
    extents = [*((extent, "i64") for extent in ("rows", "columns", "share")), ("divisor", scalar)]
    builder = Builder(f"complex_rows_{name}", [("x", f"{scalar}*"), ("out", f"{scalar}*"), *extents])
    x, out, rows, columns, share, divisor = builder.parameters
    reduced = _reducer(builder, name, scalar, lanes)
    with builder.parallel((rows + share - 1) // share) as number:
        first = number * share
        with builder.loop(first, builder.minimum(first + share, rows)) as row:
            found = reduced([builder.offset(x, row.index * columns * 2)], columns, None)
            for side, part in enumerate(found):
                builder.store(part / divisor, out, row.index * 2 + side)
    return Program(f"complex_rows_{name}", [builder.function])


def _launch(name, x, build, arguments):
    form = name, SCALARS[x.dtype], lanes_for(SCALARS[x.dtype]) * _VECTORS
    return Launch(build, form, arguments, x.size * _NANOSECONDS, f"complex_{name}")


def plan(name, operands, shape=(), divisor=1):
    """The Plan of a reduction of all elements: ``operands`` maps names to Layouts of one complex dtype and shape."""
    x, *others = operands.values()
    if not (x.size and x.is_plain) or any(each != x for each in others):
        return None
    works = [("work", ceiling(x.size, PART), x.dtype)]
    launch = _launch(name, x, program, (*operands, "work", "out", x.size, float(divisor)))
    return Plan([launch], {"out": Layout(shape, x.dtype)}, works)


def plan_rows(name, x, columns, shape, divisor=1):
    """The Plan of reducing each ``columns`` numbers in a row of ``self`` to one element of a shape."""
    arguments = "self", "out", x.size // columns, columns, max(1, PART // columns), float(divisor)
    return Plan([_launch(name, x, rows_program, arguments)], {"out": Layout(shape, x.dtype)})


@plan_for()
def dot(first: Layout, second: Layout):
    return plan("dot", {"first": first, "second": second})


@plan_for()
def vdot(first: Layout, second: Layout):
    return plan("vdot", {"first": first, "second": second})
