"""What the attention programs share: tiles of any number of rows, panels of queries, blocks of scores.

Scores are held transposed, a row for each key and a lane for each query. So the softmax runs down the rows, with vectors
of maxima and sums and nothing across lanes; keys and values are read as they lie; only a block of queries is transposed
on the way in, and of outputs on the way out.
"""

from __future__ import annotations

from typing import NamedTuple

from ..language.value_types import vector
from ..vector_math.exponential import scaled_exp
from .matmul_micro import PLAIN, micro_kernel
from .matmul_packing import turning

HEIGHT = 4  # rows of a micro-kernel: what is left of any number of rows goes one by one. Six are no faster

_LEAST = {"f32": -87.0, "f64": -708.0}  # e to these is just above the smallest normal number


class Form(NamedTuple):
    """What attention programs are compiled for.

    ``vectors`` of queries in a block; ``mask``: whether there is one, added to the scores; ``causal``: whether query i
    looks at keys 0 to i only; ``size_vectors`` and ``value_vectors``: how wide the panels of gradients of keys and of
    values are (0 where the program computes none), ``even`` whether those fill whole vectors.
    """

    scalar: str
    lanes: int
    vectors: int
    mask: bool
    causal: bool
    size_vectors: int = 0
    value_vectors: int = 0
    even: bool = True


class Parts:
    """The functions of one program, made when first called, and the idioms of both programs."""

    def __init__(self, builder, layout):
        self.builder, self.layout = builder, layout
        self.functions = {}
        self.width = layout.vectors * layout.lanes  # queries in a block

    def splat(self, number):
        return self.builder.constant(number, vector(self.layout.scalar, self.layout.lanes))

    def _micro(self, rows, vectors, form, even):
        key = ("micro", rows, vectors, form, even)
        if key not in self.functions:
            scalar, lanes = self.layout.scalar, self.layout.lanes
            function = micro_kernel(scalar, scalar, lanes, rows, vectors, form, PLAIN, True, vectors if even else None)
            function.name = f"{form}_{rows}x{vectors}{'' if even else '_cut'}"
            self.functions[key] = function
        return self.functions[key]

    def product(self, form, a, lda, b, ldb, c, ldc, rows, depth, columns, vectors, resume=0, even=True):
        """C = A B for any number of rows; added to C where ``resume`` is not 0.

        ``columns`` are cut into panels of ``vectors`` vectors, of which only the last may be cut off, if not ``even``.
        """
        builder, lanes = self.builder, self.layout.lanes

        def tile(row, column, height):
            left = builder.offset(a, row * lda if form == "rows" else row)
            place = builder.offset(builder.offset(c, row * ldc), column)
            here = builder.minimum(columns - column, vectors * lanes)
            function = self._micro(height, vectors, form, even)
            right = builder.offset(b, column)
            builder.call(function, left, lda, right, ldb, place, ldc, depth, here, resume, 1, c, c, 0, 1.0)

        with builder.loop(0, columns, vectors * lanes) as panel:
            self.tiles(rows, lambda row, height: tile(row, panel.index, height))

    def tiles(self, rows, body):
        """``body(first row, height)`` until all rows are done."""
        whole = rows // HEIGHT * HEIGHT
        with self.builder.loop(0, whole, HEIGHT) as loop:
            body(loop.index, HEIGHT)
        with self.builder.loop(whole, rows) as loop:
            body(loop.index, 1)

    def turn(self, source, step, target, pitch, depth, width, stored):
        """Transpose up to ``lanes`` rows of ``depth`` elements: see ``matmul_packing.turning``."""
        if "turn" not in self.functions:
            self.functions["turn"] = turning(self.layout.scalar, self.layout.scalar, self.layout.lanes, None)
        self.builder.call(self.functions["turn"], source, target, step, pitch, depth, width, stored)

    def query_panel(self, source, step, first, count, size, panel):
        """The block's rows of a (queries, size) matrix as a panel (size, width); beyond the last, the last row again."""
        builder, lanes = self.builder, self.layout.lanes
        with builder.loop(0, self.width, lanes) as strip:
            row = builder.minimum(first + strip.index, count - 1)
            width = builder.minimum(count - row, lanes)
            place = builder.offset(panel, strip.index)
            self.turn(builder.offset(source, row * step), step, place, self.width, size, width, lanes)

    def rows_out(self, panel, target, step, queries, size):
        """A panel (size, width) written as rows of a (queries, size) matrix."""
        builder, lanes = self.builder, self.layout.lanes
        with builder.loop(0, size, lanes) as strip:
            width = builder.minimum(size - strip.index, lanes)
            source = builder.offset(panel, strip.index * self.width)
            self.turn(source, self.width, builder.offset(target, strip.index), step, queries, width, width)

    def each_vector(self, pointer):
        """The block's vectors at a pointer."""
        lanes = self.layout.lanes
        return [self.builder.load(pointer, j * lanes, lanes) for j in range(self.layout.vectors)]

    def store_vectors(self, values, pointer):
        for j, value in enumerate(values):
            self.builder.store(value, pointer, j * self.layout.lanes)

    def scale_rows(self, panel, rows, factors):
        """Multiply each row of a panel by the block's factors."""
        with self.builder.loop(0, rows) as row:
            place = self.builder.offset(panel, row.index * self.width)
            self.store_vectors([v * f for v, f in zip(self.each_vector(place), factors)], place)

    def weight(self, x):
        """``e**x`` for x <= 0, and 0 where that is no normal number: to compute denormal ones takes ten times as long."""
        least = self.splat(_LEAST[self.layout.scalar])
        found = scaled_exp(self.builder, self.builder.maximum(least, x))  # in this order NaN stays NaN
        return self.builder.select(x < least, self.splat(0), found)

    def hidden(self, scores, mask, first_query, key):
        """A row of scores with the masks applied: minus infinity where a query may not look at the key."""
        builder, layout = self.builder, self.layout
        if layout.mask:
            scores = [s + m for s, m in zip(scores, mask)]
        if layout.causal:
            ahead = builder.iota(f"i32x{layout.lanes}")
            for j in range(layout.vectors):
                distance = builder.convert(key - first_query - j * layout.lanes, "i32")
                seen = ahead >= builder.splat(distance, layout.lanes)
                scores[j] = builder.select(seen, scores[j], self.splat(float("-inf")))
        return scores
