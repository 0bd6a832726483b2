"""Attention backward: the weights are computed again from queries, keys and logsumexp, block by block.

One thread does all of a key head, and adds up the gradients of its keys and values in a fixed order. After Dao et al.,
"FlashAttention" (2022): with P the weights and D the sum of grad * out over a query's elements, the scores' gradient is
P * (grad value^T - D).
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..rows.spans import add_each
from .attention_parts import Form, Parts

_CHAIN = 8  # products that are added up in a row: what is wrong with D is wrong with all of a query's slopes

SIZES = (
    "heads kv_heads groups queries keys size value_size key_block chunks area "
    "q_batch q_head q_row k_batch k_head k_row v_batch v_head v_row o_batch o_head o_row m_batch m_head m_row "
    "g_batch g_head g_row dq_batch dq_head dq_row dk_batch dk_head dk_row dv_batch dv_head dv_row"
).split()  # the numbers that the program reads; g: the output's gradient


def backward_area(width, size, value_size, key_block, mask):
    """Elements of scratch memory for one thread."""
    return width * (2 * size + 2 * value_size + key_block * (3 if mask else 2) + 1)


def backward_program(*form):
    """The Program for a Form. Entry ``(grad, query, key, value, mask, out, logsumexp, d_query, d_key, d_value, scratch, sizes, scale)``.

    logsumexp (batch, heads, rows) is contiguous.
    """
    return _Backward(Form(*form)).program()


class _Backward:
    def __init__(self, layout):
        pointer = f"{layout.scalar}*"
        names = ("grad", "query", "key", "value", "mask", "out", "logsumexp", "d_query", "d_key", "d_value", "scratch")
        parameters = [*((name, pointer) for name in names), ("sizes", "i64*"), ("scale", layout.scalar)]
        self.builder = Builder("attention_backward", parameters)
        self.layout, self.parts = layout, Parts(self.builder, layout)
        *pointers, sizes, self.scale = self.builder.parameters
        self.pointers = dict(zip(names, pointers))
        self.size = {name: self.builder.load(sizes, i) for i, name in enumerate(SIZES)}

    def program(self):
        builder, size = self.builder, self.size
        with builder.parallel(size["chunks"]) as chunk:
            batch, kv_head = chunk // size["kv_heads"], chunk % size["kv_heads"]
            self._key_head(batch, kv_head)
        return Program("attention_backward", [*self.parts.functions.values(), builder.function])

    def _at(self, name, letters, batch, head):
        size = self.size
        begin = batch * size[f"{letters}_batch"] + head * size[f"{letters}_head"]
        return self.builder.offset(self.pointers[name], begin)

    def _key_head(self, batch, kv_head):
        """The gradients of one head of keys and values, and of all queries that look at it."""
        builder, size, parts = self.builder, self.size, self.parts
        d_key = self._cleared("d_key", "dk", batch, kv_head, "size")
        d_value = self._cleared("d_value", "dv", batch, kv_head, "value_size")
        keys, values = self._at("key", "k", batch, kv_head), self._at("value", "v", batch, kv_head)
        with builder.loop(0, size["groups"]) as group:
            head = kv_head * size["groups"] + group.index
            with builder.loop(0, size["queries"], parts.width) as block:
                self._block(batch, head, block.index, keys, values, d_key, d_value)

    def _cleared(self, name, letters, batch, head, columns):
        """One matrix of a gradient, filled with zeros."""
        builder, lanes = self.builder, self.layout.lanes
        place = self._at(name, letters, batch, head)
        with builder.loop(0, self.size["keys"]) as loop:
            row = builder.offset(place, loop.index * self.size[f"{letters}_row"])
            builder.clear(row, self.size[columns], lanes)
        return place

    def _areas(self):
        """The parts of the thread's scratch memory, by name."""
        builder, size = self.builder, self.size
        place = builder.offset(self.pointers["scratch"], builder.worker() * size["area"])
        found = {}
        for name, rows in (
            ("query", size["size"]),
            ("grad", size["value_size"]),
            ("out", size["value_size"]),
            ("d_query", size["size"]),
            ("scores", size["key_block"]),
            ("slopes", size["key_block"]),
            ("dots", 1),
            ("mask", size["key_block"]),
        ):
            found[name] = place
            place = builder.offset(place, rows * self.parts.width)
        return found

    def _block(self, batch, head, first, keys, values, d_key, d_value):
        """One block of queries against all keys."""
        builder, size, parts, width = self.builder, self.size, self.parts, self.parts.width
        query, grad, out = (self._at(*pair, batch, head) for pair in (("query", "q"), ("grad", "g"), ("out", "o")))
        mask = self._at("mask", "m", batch, head)
        areas, queries = self._areas(), size["queries"]
        parts.query_panel(query, size["q_row"], first, queries, size["size"], areas["query"])
        parts.scale_rows(areas["query"], size["size"], [self.scale] * self.layout.vectors)
        parts.query_panel(grad, size["g_row"], first, queries, size["value_size"], areas["grad"])
        parts.query_panel(out, size["o_row"], first, queries, size["value_size"], areas["out"])
        self._dots(areas)
        count = builder.minimum(queries - first, width)
        end = builder.minimum(size["keys"], first + width) if self.layout.causal else size["keys"]
        row = (batch * size["heads"] + head) * queries + first
        here = (
            builder.offset(query, first * size["q_row"]),
            builder.offset(grad, first * size["g_row"]),
            builder.offset(self.pointers["logsumexp"], row),
        )
        with builder.loop(0, end, size["key_block"]) as loop:
            start = loop.index
            these = builder.minimum(size["key_block"], end - start)
            if self.layout.mask:
                source = builder.offset(mask, start)
                parts.query_panel(source, size["m_row"], first, queries, these, areas["mask"])
            pair = builder.offset(keys, start * size["k_row"]), builder.offset(values, start * size["v_row"])
            gradients = builder.offset(d_key, start * size["dk_row"]), builder.offset(d_value, start * size["dv_row"])
            self._keys(areas, here, pair, gradients, first, start, these, count)
        target = builder.offset(self._at("d_query", "dq", batch, head), first * size["dq_row"])
        parts.rows_out(areas["d_query"], target, size["dq_row"], count, size["size"])

    def _dots(self, areas):
        """D: for each query the sum of grad * out."""
        builder, parts, count = self.builder, self.parts, self.size["value_size"]
        zeros = [parts.splat(0)] * self.layout.vectors
        with builder.loop(0, count, _CHAIN, zeros) as chain:
            with builder.loop(chain.index, builder.minimum(count, chain.index + _CHAIN), 1, zeros) as row:
                place = row.index * parts.width
                grad, out = (parts.each_vector(builder.offset(areas[n], place)) for n in ("grad", "out"))
                row.carry = [builder.fma(g, o, total) for g, o, total in zip(grad, out, row.carry)]
            chain.carry = add_each(chain.carry, row.results)
        parts.store_vectors(chain.results, areas["dots"])

    def _keys(self, areas, here, pair, gradients, first, start, these, count):
        """One block of queries against one block of keys."""
        size, layout, parts, width = self.size, self.layout, self.parts, self.parts.width
        (query, grad, logsumexp), (keys, values), (d_key, d_value) = here, pair, gradients
        scores, slopes = areas["scores"], areas["slopes"]
        wide = width, layout.vectors
        parts.product("rows", keys, size["k_row"], areas["query"], width, scores, width, these, size["size"], *wide)
        parts.product(
            "rows", values, size["v_row"], areas["grad"], width, slopes, width, these, size["value_size"], *wide
        )
        self._weigh(areas, logsumexp, first, start, these, count)
        for found, other, pitch, target, step, columns, vectors in (
            (scores, grad, size["g_row"], d_value, size["dv_row"], size["value_size"], layout.value_vectors),
            (slopes, query, size["q_row"], d_key, size["dk_row"], size["size"], layout.size_vectors),
        ):
            panels = columns, vectors, 1, layout.even
            parts.product("rows", found, width, other, pitch, target, step, these, count, *panels)
        step = size["size"]
        parts.product("columns", keys, size["k_row"], slopes, width, areas["d_query"], width, step, these, *wide, start)

    def _weigh(self, areas, logsumexp, first, start, these, count):
        """Scores to weights, and the weights' gradients to those of the unscaled scores."""
        builder, parts, width, lanes = self.builder, self.parts, self.parts.width, self.layout.lanes
        offsets = [j * lanes for j in range(self.layout.vectors)]
        bases = [builder.load(logsumexp, at, lanes, builder.first_lanes(count - at, lanes)) for at in offsets]
        dots = parts.each_vector(areas["dots"])
        factor = builder.splat(self.scale, lanes)
        with builder.loop(0, these) as row:
            score_row, slope_row = (builder.offset(areas[n], row.index * width) for n in ("scores", "slopes"))
            found = parts.each_vector(score_row)
            if self.layout.mask or self.layout.causal:
                added = (
                    parts.each_vector(builder.offset(areas["mask"], row.index * width)) if self.layout.mask else None
                )
                found = parts.hidden(found, added, first, start + row.index)
            weights = [parts.weight(s - base) for s, base in zip(found, bases)]
            parts.store_vectors(weights, score_row)
            slopes = parts.each_vector(slope_row)
            parts.store_vectors([w * (s - d) * factor for w, s, d in zip(weights, slopes, dots)], slope_row)
