"""Fourier transforms of rows and of columns in memory: which program runs, with which numbers. Any length."""

from __future__ import annotations

import numpy as np

from ..compiler.kernel import compiled, pool
from ..language.value_types import NUMPY
from ..machine.host import host
from ..machine.scratch import scratch
from . import plans
from .passes import EVEN
from .plans import tables
from .programs import COLUMNS, ROWS, fourier_blocks, fourier_long_rows, fourier_products

COMPLEX = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}
_THREADED_FROM = 1 << 12  # complex numbers
_CHUNK = 1 << 13  # complex numbers that are one thread's at a time
_SHARED_FROM = 1 << 13  # numbers of a row that all threads work at, if there are few
_FEW = 8  # rows
_LONGEST_COLUMN = 1 << 14  # longer ones are copied into rows
_GROUP = 1 << 20  # numbers of rows of any length that are transformed at once


def lanes_of(scalar):
    return host().vector_bytes // NUMPY[scalar].itemsize


def _compiled(build, scalar, radices, *options):
    """The kernel of a program with these radices, and with all powers of two: they cost little."""
    radices = (*EVEN, *sorted(radices.difference(EVEN)))
    options = (scalar, lanes_of(scalar), radices, *options)
    return compiled((build.__name__, *options), lambda: build(*options))


def _prepared(kernel, count, before, after, area, shared=0):
    """``run(x, out, half=None)`` of a kernel with the arguments that lie between those, and so many numbers of scratch
    memory for each worker, and for all."""
    dtype = before[1].dtype
    halves = isinstance(after[0], np.ndarray)
    if count < _THREADED_FROM and not shared:
        call = kernel.alone
        if halves:
            return lambda x, out, half=None: call(x, out, scratch("fourier", area, dtype), *before, half, *after)
        rest = *before, *after
        return lambda x, out: call(x, out, scratch("fourier", area, dtype), *rest)

    def run(x, out, half=None):
        spaces = [scratch("fourier", area * pool().scratch_areas, dtype)]
        if shared:
            spaces.append(scratch("fourier_rows", shared, dtype))
        kernel.threaded(x, out, *spaces, *before, *((half, *after) if halves else after))

    return run


def smooth(length):
    """Whether there are programs for a length."""
    return length > 1 and plans.radices_of(length) is not None


def rows(length, count, scalar, x_row, out_row, inverse, scale, real=None, half_row=0):
    """``run(x, out, half=None)`` that transforms ``count`` rows of ``length`` complex numbers.

    Distances of rows are counted in real numbers. With ``real`` "forward" rows of the result become the spectra of twice
    as many real numbers, with "backward" ``half`` has such spectra, and x is the result.
    """
    lanes = lanes_of(scalar)
    item = 2 * lanes * NUMPY[scalar].itemsize
    part = lanes if inverse else 0
    extra, sizes = (), ()
    if real:
        extra = (tables.remembered(plans.halves_of, length, lanes, scalar_name(scalar), real == "backward"),)
        sizes = (length, half_row)
    cut = plans.best_cut(length, lanes, item)
    total = length * count
    if cut is None or plans.batch_cost(length, count, lanes, item) <= count * cut[2]:
        stages = _stages(length, scalar)
        kernel = _compiled(fourier_blocks, scalar, stages.radices, ROWS, ROWS, real)
        area = 4 * lanes * (length + lanes)
        numbers = (1, count, 0, x_row, 0, 0, out_row, 0, length, len(stages.table), part, area, _chunk(length * lanes))
        return _prepared(kernel, total, (stages.table, stages.twiddles), (*extra, *numbers, *sizes, scale), area)
    n1, n2, _ = cut
    first, second = _stages(n1, scalar), _stages(n2, scalar)
    between = tables.remembered(plans.between_of, n1, n2, lanes, scalar_name(scalar), inverse)
    shared = count < _FEW and length >= _SHARED_FROM
    kernel = _compiled(fourier_long_rows, scalar, first.radices | second.radices, shared, real)
    area = 4 * lanes * (max(n1, n2) + lanes) + (0 if shared else 2 * length)
    numbers = (count, x_row, out_row, n1, n2, len(first.table), len(second.table), part, area)
    numbers += (_CHUNK if shared else _chunk(length),)
    parts = (first.table, first.twiddles, between, second.table, second.twiddles)
    return _prepared(kernel, total, parts, (*extra, *numbers, *sizes, scale), area, 2 * total if shared else 0)


def scalar_name(scalar):
    return NUMPY[scalar].name


def _stages(length, scalar):
    return tables.remembered(plans.stages_of, length, scalar_name(scalar))


def _chunk(numbers):
    return max(1, _CHUNK // numbers)


def columns(length, outer, inner, scalar, x, out, inverse, scale, store=COLUMNS):
    """``run(x, out)`` that transforms ``outer`` times ``inner`` columns; those of x lie side by side.

    ``x`` and ``out`` are distances in real numbers: from one outer one to the next, and from one of a column's numbers to the
    next; for results by rows, from one row to the next.
    """
    lanes = lanes_of(scalar)
    stages = _stages(length, scalar)
    kernel = _compiled(fourier_blocks, scalar, stages.radices, COLUMNS, store, None)
    area = 4 * lanes * (length + lanes)
    lane = out[1] if store == ROWS else 2
    numbers = (outer, inner, x[0], 2, x[1], out[0], lane, out[1], length, len(stages.table))
    numbers += (lanes if inverse else 0, area, _chunk(length * lanes))
    total = length * outer * inner
    return _prepared(kernel, total, (stages.table, stages.twiddles), (*numbers, scale), area)


def takes_columns(length, inner, scalar):
    """Whether `columns` takes such columns, and does not leave most of a vector's lanes empty."""
    return smooth(length) and length <= _LONGEST_COLUMN and 4 * inner >= lanes_of(scalar)


def chirped_rows(length, count, scalar, inverse, scale):
    """``run(x, out)`` on matrices of ``count`` rows of any length (Bluestein's algorithm).

    As j * k = (j * j + k * k - (k - j) ** 2) / 2, a transform is a convolution with a chirp, between products with it; and
    convolutions are products of transforms, of comfortable lengths.
    """
    size, dtype = plans.comfortable_length(2 * length - 1), COMPLEX[scalar]
    group = max(1, min(count, _GROUP // size))
    chirp, spectrum = tables.remembered(_chirp_of, length, size, scalar, inverse)
    last = (chirp * scale).astype(dtype, copy=False)

    def run(x, out):
        for first in range(0, count, group):
            some, target = x[first : first + group], out[first : first + group]
            space = np.empty((len(some), size), dtype)
            _multiply(some, chirp, space, length, scalar)
            _whole_rows(size, len(some), scalar, False)(space, space)
            _multiply(space, spectrum, space, size, scalar)
            _whole_rows(size, len(some), scalar, True)(space, space)
            _multiply(space, last, target, length, scalar)

    return run


def _multiply(x, row, out, length, scalar):
    """The first numbers of x's rows times those of one row, and zeros behind them."""
    kernel = compiled(
        ("fourier_products", scalar, lanes_of(scalar)), lambda: fourier_products(scalar, lanes_of(scalar))
    )
    whole = 2 * out.shape[1]
    call = kernel.threaded if out.size >= _THREADED_FROM else kernel.alone
    call(x, row, out, len(x), 2 * x.shape[1], whole, 2 * length, whole, _chunk(length))


def _whole_rows(length, count, scalar, inverse):
    """`rows` of contiguous matrices. Plans do not hold it: it is forgotten with its tables, and made anew."""
    key = "rows", length, count, scalar, inverse
    found = tables.planned.get(key)
    if found is None:
        scale = 1 / length if inverse else 1.0
        found = tables.planned[key] = rows(length, count, scalar, 2 * length, 2 * length, inverse, scale)
    return found


def _chirp_of(length, size, scalar, inverse):
    """The chirp of a length, and the transform of its conjugate laid around a circle of ``size`` numbers."""
    numbers = np.arange(length)
    chirp = plans.roots(numbers * numbers, 2 * length)
    if inverse:
        chirp = chirp.conj()
    spectrum = np.zeros((1, size), np.complex128)
    spectrum[0, :length] = chirp.conj()
    spectrum[0, size - length + 1 :] = chirp[:0:-1].conj()
    _whole_rows(size, 1, "f64", False)(spectrum, spectrum)
    return chirp.astype(COMPLEX[scalar]), spectrum[0].astype(COMPLEX[scalar])
