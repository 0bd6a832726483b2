"""Attention forward: block by block over the keys, with running maxima and sums, so that no row of scores is kept.

After Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness" (2022).
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..rows.spans import add_each
from .attention_parts import Form, Parts

_CHAIN = 16  # weights that are added up in a row: what is wrong with their sum is wrong with all of a query's outputs
SIZES = (
    "heads groups queries keys size value_size key_block blocks chunks area "
    "q_batch q_head q_row k_batch k_head k_row v_batch v_head v_row o_batch o_head o_row m_batch m_head m_row"
).split()  # the numbers that the program reads; groups: query heads to a key head


def forward_area(width, size, value_size, key_block, mask):
    """Elements of scratch memory for one thread."""
    return width * (size + value_size + key_block * (2 if mask else 1) + 2)


def forward_program(*form):
    """The Program for a Form. Entry ``(query, key, value, mask, out, logsumexp, scratch, sizes, scale)``.

    logsumexp (batch, heads, queries) is contiguous; plus infinity for a query that may look nowhere, whose output is 0.
    """
    return _Forward(Form(*form)).program()


class _Forward:
    def __init__(self, layout):
        pointer = f"{layout.scalar}*"
        names = ("query", "key", "value", "mask", "out", "logsumexp", "scratch")
        parameters = [*((name, pointer) for name in names), ("sizes", "i64*"), ("scale", layout.scalar)]
        self.builder = Builder("attention", parameters)
        self.layout, self.parts = layout, Parts(self.builder, layout)
        *self.pointers, sizes, self.scale = self.builder.parameters
        self.size = {name: self.builder.load(sizes, i) for i, name in enumerate(SIZES)}

    def program(self):
        builder, size = self.builder, self.size
        with builder.parallel(size["chunks"]) as chunk:
            matrix, block = chunk // size["blocks"], chunk % size["blocks"]
            batch, head = matrix // size["heads"], matrix % size["heads"]
            self._block(batch, head, block * self.parts.width)
        return Program("attention", [*self.parts.functions.values(), builder.function])

    def _at(self, pointer, letter, batch, head):
        size = self.size
        return self.builder.offset(pointer, batch * size[f"{letter}_batch"] + head * size[f"{letter}_head"])

    def _block(self, batch, head, first):
        """The outputs of one block of queries."""
        builder, size, parts, width = self.builder, self.size, self.parts, self.parts.width
        query, key, value, mask, out, logsumexp, scratch = self.pointers
        kv_head = head // size["groups"]
        query, mask, out = (self._at(p, letter, batch, head) for p, letter in ((query, "q"), (mask, "m"), (out, "o")))
        key, value = self._at(key, "k", batch, kv_head), self._at(value, "v", batch, kv_head)
        panel = builder.offset(scratch, builder.worker() * size["area"])
        output = builder.offset(panel, size["size"] * width)
        maxima = builder.offset(output, size["value_size"] * width)
        sums = builder.offset(maxima, width)
        scores = builder.offset(sums, width)
        mask_panel = builder.offset(scores, size["key_block"] * width)

        parts.query_panel(query, size["q_row"], first, size["queries"], size["size"], panel)
        parts.scale_rows(panel, size["size"], [self.scale] * self.layout.vectors)
        parts.store_vectors([parts.splat(float("-inf"))] * self.layout.vectors, maxima)
        parts.store_vectors([parts.splat(0)] * self.layout.vectors, sums)
        end = builder.minimum(size["keys"], first + width) if self.layout.causal else size["keys"]
        with builder.loop(0, end, size["key_block"]) as loop:
            start = loop.index
            count = builder.minimum(size["key_block"], end - start)
            keys = builder.offset(key, start * size["k_row"])
            parts.product(
                "rows",
                keys,
                size["k_row"],
                panel,
                width,
                scores,
                width,
                count,
                size["size"],
                width,
                self.layout.vectors,
            )
            if self.layout.mask:
                source = builder.offset(mask, start)
                parts.query_panel(source, size["m_row"], first, size["queries"], count, mask_panel)
            self._soften(scores, mask_panel, maxima, sums, output, first, start, count)
            values = builder.offset(value, start * size["v_row"])
            parts.product(
                "columns", values, size["v_row"], scores, width, output, width, size["value_size"], count, width,
                self.layout.vectors, resume=start,
            )  # fmt: skip
        self._finish(maxima, sums, output, batch, head, first, logsumexp)
        queries = builder.minimum(size["queries"] - first, width)
        parts.rows_out(output, builder.offset(out, first * size["o_row"]), size["o_row"], queries, size["value_size"])

    def _soften(self, scores, mask, maxima, sums, output, first, start, count):
        """Scores to exp(score - maximum); what was added up for earlier keys is scaled to the new maximum."""
        builder, parts, width = self.builder, self.parts, self.parts.width
        before = parts.each_vector(maxima)
        with builder.loop(0, count, 1, before) as row:
            place = builder.offset(scores, row.index * width)
            found = parts.each_vector(place)
            if self.layout.mask or self.layout.causal:
                added = parts.each_vector(builder.offset(mask, row.index * width)) if self.layout.mask else None
                found = parts.hidden(found, added, first, start + row.index)
                parts.store_vectors(found, place)
            row.carry = [builder.maximum(s, m) for s, m in zip(found, row.carry)]
        after = row.results
        parts.store_vectors(after, maxima)
        base = [builder.select(m.equals(float("-inf")), parts.splat(0), m) for m in after]
        zeros = [parts.splat(0)] * len(base)
        with builder.loop(0, count, _CHAIN, zeros) as chain:
            with builder.loop(chain.index, builder.minimum(count, chain.index + _CHAIN), 1, zeros) as row:
                place = builder.offset(scores, row.index * width)
                weights = [parts.weight(s - m) for s, m in zip(parts.each_vector(place), base)]
                parts.store_vectors(weights, place)
                row.carry = add_each(row.carry, weights)
            chain.carry = add_each(chain.carry, row.results)
        fade = [parts.weight(b - m) for b, m in zip(before, base)]
        parts.store_vectors(
            [builder.fma(s, f, t) for s, f, t in zip(parts.each_vector(sums), fade, chain.results)], sums
        )
        with builder.when(start > 0):
            parts.scale_rows(output, self.size["value_size"], fade)

    def _finish(self, maxima, sums, output, batch, head, first, logsumexp):
        """Divide by the sums; logsumexp of each query."""
        builder, parts, size, lanes = self.builder, self.parts, self.size, self.layout.lanes
        totals = parts.each_vector(sums)
        blind = [t.equals(0) for t in totals]
        factors = [builder.select(b, parts.splat(0), 1.0 / t) for b, t in zip(blind, totals)]
        parts.scale_rows(output, size["value_size"], factors)
        target = builder.offset(logsumexp, (batch * size["heads"] + head) * size["queries"])
        for j, (m, t, b) in enumerate(zip(parts.each_vector(maxima), totals, blind)):
            value = builder.select(b, parts.splat(float("inf")), m + builder.math("log", t))
            place = first + j * lanes
            builder.store(value, target, place, builder.first_lanes(size["queries"] - place, lanes))
