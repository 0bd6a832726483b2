"""The weights of a correlation, packed as its micro-kernels read them: for each term those of a block's rows, side by side."""

from __future__ import annotations

import numpy as np

from ..products.matmul_packing import turning

_SHORTEST_RUN = 4  # terms that are worth being transposed


def packing_of(operands):
    """(``Form.packing``, how many terms are packed together) for the weights of some Operands."""
    terms = operands.weight_terms
    breaks = np.flatnonzero(np.diff(terms) != 1) + 1
    run = int(np.gcd.reduce([*breaks, len(terms)]))
    if run >= min(_SHORTEST_RUN, len(terms)):
        return "turned", run
    return ("copied" if operands.row_step == 1 else "picked"), 1


def row_lanes(rows):
    """Lanes of a vector for so many rows."""
    return max(4, 1 << (rows - 1).bit_length())


def turning_for(form):
    """The function that transposes runs of weights, None where they are packed otherwise."""
    if form.packing != "turned":
        return None
    return turning(form.element, form.element, row_lanes(form.rows), False)


def pack_weights(builder, n, form, turn, weight, packed, weight_terms):
    """The weights of each block: for each term those of the block's rows, side by side; see ``Form.packing``."""
    with builder.parallel(n["groups"] * n["blocks"]) as chunk:
        group, block = chunk // n["blocks"], chunk % n["blocks"]
        # the blocks after the high ones have a row less
        channel = block * form.rows - builder.maximum(block - n["high_blocks"], 0)
        rows = builder.select(block < n["high_blocks"], builder.constant(form.rows), form.rows - 1)
        begin = builder.offset(weight, group * n["group_step"] + channel * n["row_step"])
        target = builder.offset(packed, (group * n["out_channels"] + channel) * n["terms"])
        lanes = row_lanes(form.rows)
        mask = builder.first_lanes(rows, lanes)
        with builder.loop(0, n["terms"], n["run"]) as term:
            place = builder.offset(begin, builder.load(weight_terms, term.index))
            to = builder.offset(target, term.index * rows)
            if form.packing == "turned":
                builder.call(turn, place, to, n["row_step"], rows, n["run"], rows)
            elif form.packing == "copied":
                builder.store(builder.load(place, 0, lanes, mask), to, 0, mask)
            else:
                with builder.loop(0, rows) as row:
                    builder.store(builder.load(place, row.index * n["row_step"]), to, row.index)
