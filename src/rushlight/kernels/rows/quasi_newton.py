"""The two loops of L-BFGS as one kernel. Each phase changes the direction by one vector and multiplies it with the next."""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import vector
from ..machine import host
from ..planning.layout import Layout, Layouts
from ..planning.plan import Launch, Plan, View
from ..planning.runner import plan_for
from .reduce_programs import PART, ceiling

_VECTORS = 4  # side by side, so that their additions overlap
_NANOSECONDS = 0.153  # for an element of the direction


@plan_for("two_loop_recursion_")
def two_loop_recursion_(
    direction: Layouts, changes: Layouts, steps: Layouts, inverses: Layouts, shares: Layouts, scale: Layouts
):
    """As `ops.quasi_newton.two_loop_recursion_`."""
    (vector,), number, count = direction, Layout((), direction[0].dtype), len(changes)
    alike = {*changes, *steps} == {vector} and {*inverses, *shares, *scale} == {number}
    if vector.scalar not in ("f32", "f64") or not vector.is_plain or vector.ndim != 1 or not alike:
        return None
    if not count == len(steps) == len(inverses) == len(shares):
        return None
    form = vector.scalar, host.lanes(vector.itemsize) * _VECTORS
    sums = "sums", 2 * ceiling(vector.size, PART), vector.dtype
    arguments = "moved", "changes", "steps", "inverses", "shares", "factor", "sums", count, vector.size
    launch = Launch(program, form, arguments, vector.size * _NANOSECONDS, "two_loop_recursion")
    views = {"moved": View("direction", index=0), "factor": View("scale", index=0)}
    return Plan([launch], {"nothing": None}, [sums], views=views)


class _Recursion:
    """Writes the entry. A vector is cut into parts, whose products are added up in ``sums``: a row for even phases, one for
    odd ones, since a phase reads what the one before it wrote."""

    _POINTERS = {
        "direction": "*",
        "changes": "**",
        "steps": "**",
        "inverses": "**",
        "shares": "**",
        "scale": "*",
        "sums": "*",
    }

    def __init__(self, scalar, lanes):
        parameters = [(name, scalar + stars) for name, stars in self._POINTERS.items()]
        self.builder = Builder("entry", [*parameters, ("count", "i64"), ("size", "i64")])
        self.given = dict(zip((*self._POINTERS, "count", "size"), self.builder.parameters))
        self.scalar, self.lanes, self.type = scalar, lanes, vector(scalar, lanes)
        self.parts = (self.given["size"] + (PART - 1)) // PART

    def program(self):
        builder, given = self.builder, self.given
        count = given["count"]
        last, one = count - 1, builder.constant(1.0, self.scalar)
        self._phase(builder.constant(0), self._vector("steps", last), None)
        with builder.loop(0, count) as loop:
            k = last - loop.index
            is_last = k < 1
            following = builder.select(is_last, 0, k - 1)
            scale = builder.select(is_last, builder.load(given["scale"]), one)

            def without_change(part, total):
                share = total * builder.load(self._vector("inverses", k))
                with builder.when(part.equals(0)):
                    builder.store(share, self._vector("shares", k))
                return -share, self._vector("changes", k), scale

            multiplied = builder.select(is_last, self._vector("changes", 0), self._vector("steps", following))
            self._phase(loop.index + 1, multiplied, without_change)
        with builder.loop(0, count) as loop:
            k = loop.index

            def with_step(part, total):
                excess = total * builder.load(self._vector("inverses", k))
                return builder.load(self._vector("shares", k)) - excess, self._vector("steps", k), one

            self._phase(count + k + 1, self._vector("changes", builder.minimum(k + 1, last)), with_step)
        return Program("two_loop_recursion", [builder.function])

    def _vector(self, name, k):
        """Vector, or number, ``k`` of a list."""
        return self.builder.load(self.given[name], k)

    def _phase(self, number, multiplied, change):
        """Change the direction and add up the products of its elements with those of the vector ``multiplied``.

        ``change(part, total)``, where ``total`` is the sum of the phase before, gives a factor, the vector that is added as
        often, and what the sum is multiplied with; the first phase has None.
        """
        builder, given, lanes = self.builder, self.given, self.lanes
        now, before = number % 2 * self.parts, (number + 1) % 2 * self.parts
        with builder.parallel(self.parts) as part:
            first = part * PART
            place = builder.offset(given["direction"], first)
            multiplied = builder.offset(multiplied, first)
            if change is not None:
                with builder.loop(0, self.parts, 1, [builder.constant(0.0, self.scalar)]) as earlier:
                    earlier.carry = [earlier.carry[0] + builder.load(given["sums"], before + earlier.index)]
                factor, added, scale = change(part, earlier.results[0])
                factor, scale = builder.splat(factor, lanes), builder.splat(scale, lanes)
                added = builder.offset(added, first)

            def step(index, mask, carry):
                value = builder.load(place, index, lanes, mask)
                if change is not None:
                    value = builder.fma(builder.load(added, index, lanes, mask), factor, value) * scale
                    builder.store(value, place, index, mask)
                term = builder.load(multiplied, index, lanes, mask)
                if mask is not None:
                    value, term = (builder.select(mask, x, builder.constant(0.0, self.type)) for x in (value, term))
                return [builder.fma(value, term, carry[0])]

            zero = builder.constant(0.0, self.type)
            found = builder.for_lanes(0, builder.minimum(given["size"] - first, PART), lanes, step, [zero])
            builder.store(builder.reduce(found[0]), given["sums"], now + part)


def program(scalar, lanes):
    """The program: see `ops.quasi_newton.two_loop_recursion_`; ``count`` vectors of ``size`` elements."""
    return _Recursion(scalar, lanes).program()
