"""The two loops of L-BFGS as one kernel. Each phase changes the direction by one vector and multiplies it with the next."""

from __future__ import annotations

from operator import attrgetter

from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import scalar_of, vector
from ..machine import host
from ..machine.scratch import scratch
from ..planning.registry import kernel_for
from .reduce_programs import PART, ceiling

_VECTORS = 4  # side by side, so that their additions overlap
_THREADED_FROM = 32768  # elements

_dtype_of, _shape_of = attrgetter("dtype"), attrgetter("shape")
_is_contiguous = attrgetter("flags.c_contiguous")


@kernel_for("two_loop_recursion_")
def two_loop_recursion_(direction, changes, steps, inverses, shares, scale):
    """As `ops.quasi_newton.two_loop_recursion_`."""
    vectors, numbers = (*direction, *changes, *steps), (*inverses, *shares, *scale)
    dtype, size = direction[0].dtype, direction[0].size
    scalar = scalar_of(dtype)
    if scalar not in ("f32", "f64") or not all(map(_is_contiguous, vectors)):
        return NotImplemented
    if len({*map(_dtype_of, vectors), *map(_dtype_of, numbers)}) > 1 or {*map(_shape_of, vectors)} != {(size,)}:
        return NotImplemented
    if {*map(_shape_of, numbers)} != {()} or not len(changes) == len(steps) == len(inverses) == len(shares):
        return NotImplemented
    lanes = host.lanes(dtype.itemsize) * _VECTORS
    kernel = compiled(("two_loop_recursion", scalar, lanes), lambda: program(scalar, lanes))
    sums = scratch("two_loop_recursion", 2 * ceiling(size, PART), dtype)
    run = kernel.threaded if size >= _THREADED_FROM else kernel.alone
    run(direction[0], changes, steps, inverses, shares, scale[0], sums, len(changes), size)
    return None


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
