"""What the multiply-add units of this machine can do: what the rates of products are measured against."""

from __future__ import annotations

import functools
import time

import numpy as np

from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, vector
from ..machine import host

_CHAINS = {32: 24, 16: 12}  # number of registers -> sums that wait for nothing but themselves
_ROUNDS, _CHUNKS = 1 << 14, 16  # one chunk takes about 0.1 ms
_RUNS = 20  # of which the fastest counts: neighbours and slow clocks only ever add time


def rate_program(scalar, lanes, chains):
    """Chunks of independent multiply-adds on registers: ``chains`` of them in each round, for ``rounds`` rounds."""
    builder = Builder("multiply_add_rate", [("out", f"{scalar}*"), ("rounds", "i64"), ("chunks", "i64")])
    out, rounds, chunks = builder.parameters
    kind = vector(scalar, lanes)
    with builder.parallel(chunks) as chunk:
        factor = builder.splat(builder.load(out, chunk), lanes)
        with builder.loop(0, rounds, carry=[builder.constant(float(n), kind) for n in range(chains)]) as loop:
            loop.carry[:] = [builder.fma(each, factor, factor) for each in loop.carry]
        total = loop.results[0]
        for each in loop.results[1:]:
            total = total + each
        builder.store(builder.reduce(total), out, chunk)
    return Program("multiply_add_rate", [builder.function])


@functools.cache
def multiply_add_rate(scalar="f32", threads=1):
    """Floating point operations in a second (two for each multiply-add), measured once: on one thread, or on all if more.

    The tile unit, where there is one, is not asked.
    """
    lanes, chains = host.lanes(NUMPY[scalar].itemsize), _CHAINS[host.vector_registers()]
    kernel = compiled(("multiply_add_rate", scalar, lanes, chains), lambda: rate_program(scalar, lanes, chains))
    launch = kernel.alone if threads == 1 else kernel.threaded
    took = []
    for _ in range(_RUNS):
        numbers = np.full(_CHUNKS, 0.5, NUMPY[scalar])
        began = time.perf_counter()
        launch(numbers, _ROUNDS, _CHUNKS)
        took.append(time.perf_counter() - began)
    return 2 * lanes * chains * _ROUNDS * _CHUNKS / min(took)
