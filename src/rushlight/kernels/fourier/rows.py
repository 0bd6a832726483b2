"""Fourier transforms of rows and of columns in memory: which program runs, with which numbers. Any length."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..language.value_types import NUMPY
from ..planning.layout import Layout, lanes_for
from ..planning.plan import Launch, Plan
from ..planning.runner import operation, runner
from . import plans
from .passes import EVEN
from .plans import tables
from .programs import COLUMNS, ROWS, fourier_blocks, fourier_long_rows, fourier_products

COMPLEX = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}
_SCALARS = {dtype: scalar for scalar, dtype in COMPLEX.items()}
_NANOSECONDS = 1.25  # for a complex number
_CHUNK = 1 << 13  # complex numbers that are one thread's at a time
_SHARED_FROM = 1 << 13  # numbers of a row that all threads work at, if there are few
_FEW = 8  # rows
_LONGEST_COLUMN = 1 << 14  # longer ones are copied into rows
_GROUP = 1 << 20  # numbers of rows of any length that are transformed at once


class Steps:
    """What a transform does, one thing after the other, while it is put together: the launches, the memory that they need for
    themselves (``scratch``) and in each thread (``own``)."""

    def __init__(self):
        self.launches, self.scratch, self.own = [], [], []

    def launch(self, build, form, x, out, before, after, area, shared=0):
        """Add a launch on arrays of these names: the other arguments lie before and after the ``form``'s pointers to spectra.
        ``area`` and ``shared``: numbers of scratch memory for each thread, and for all."""
        scalar, radices, total, *options = form
        radices = (*EVEN, *sorted(radices.difference(EVEN)))
        self.own += [("fourier", area, NUMPY[scalar])] + (
            [("fourier_rows", 0, NUMPY[scalar], shared)] if shared else []
        )
        spaces = ("fourier", "fourier_rows") if shared else ("fourier",)
        form = scalar, lanes_for(scalar), radices, *options
        self.launches.append(
            Launch(build, form, (x, out, *spaces, *before, *after), total * _NANOSECONDS, build.__name__)
        )


def smooth(length):
    """Whether there are programs for a length."""
    return length > 1 and plans.radices_of(length) is not None


def rows(steps, x, out, length, count, scalar, x_row, out_row, inverse, scale, real=None, half=None, half_row=0):
    """Let ``count`` rows of ``length`` complex numbers be transformed; ``x``, ``out``, ``half``: names of arrays.

    Distances of rows are counted in real numbers. With ``real`` "forward" rows of the result become the spectra of twice
    as many real numbers, with "backward" ``half`` has such spectra, and x is the result.
    """
    lanes = lanes_for(scalar)
    item = 2 * lanes * NUMPY[scalar].itemsize
    part = lanes if inverse else 0
    extra, sizes = (), (scale,)
    if real:
        table = tables.remembered(plans.halves_of, length, lanes, scalar_name(scalar), real == "backward")
        extra, sizes = (half, table), (length, half_row, scale)
    cut = plans.best_cut(length, lanes, item)
    total = length * count
    if cut is None or plans.batch_cost(length, count, lanes, item) <= count * cut[2]:
        stages = _stages(length, scalar)
        area = 4 * lanes * (length + lanes)
        numbers = (1, count, 0, x_row, 0, 0, out_row, 0, length, len(stages.table), part, area, _chunk(length * lanes))
        form = scalar, stages.radices, total, ROWS, ROWS, real
        steps.launch(fourier_blocks, form, x, out, (stages.table, stages.twiddles), (*extra, *numbers, *sizes), area)
        return
    n1, n2, _ = cut
    first, second = _stages(n1, scalar), _stages(n2, scalar)
    between = tables.remembered(plans.between_of, n1, n2, lanes, scalar_name(scalar), inverse)
    shared = count < _FEW and length >= _SHARED_FROM
    area = 4 * lanes * (max(n1, n2) + lanes) + (0 if shared else 2 * length)
    numbers = (count, x_row, out_row, n1, n2, len(first.table), len(second.table), part, area)
    numbers += (_CHUNK if shared else _chunk(length),)
    parts = (first.table, first.twiddles, between, second.table, second.twiddles)
    form = scalar, first.radices | second.radices, total, shared, real
    steps.launch(fourier_long_rows, form, x, out, parts, (*extra, *numbers, *sizes), area, 2 * total if shared else 0)


def scalar_name(scalar):
    return NUMPY[scalar].name


def _stages(length, scalar):
    return tables.remembered(plans.stages_of, length, scalar_name(scalar))


def _chunk(numbers):
    return max(1, _CHUNK // numbers)


def columns(steps, x, out, length, outer, inner, scalar, x_steps, out_steps, inverse, scale, store=COLUMNS):
    """Let ``outer`` times ``inner`` columns be transformed; those of x lie side by side.

    ``x_steps``, ``out_steps``: distances in real numbers, from one outer one to the next, and from one of a column's numbers to
    the next; for results by rows, from one row to the next.
    """
    lanes = lanes_for(scalar)
    stages = _stages(length, scalar)
    area = 4 * lanes * (length + lanes)
    lane = out_steps[1] if store == ROWS else 2
    numbers = (outer, inner, x_steps[0], 2, x_steps[1], out_steps[0], lane, out_steps[1], length, len(stages.table))
    numbers += (lanes if inverse else 0, area, _chunk(length * lanes), scale)
    form = scalar, stages.radices, length * outer * inner, COLUMNS, store, None
    steps.launch(fourier_blocks, form, x, out, (stages.table, stages.twiddles), numbers, area)


def takes_columns(length, inner, scalar):
    """Whether `columns` takes such columns, and does not leave most of a vector's lanes empty."""
    return smooth(length) and length <= _LONGEST_COLUMN and 4 * inner >= lanes_for(scalar)


class ChirpedRows(NamedTuple):
    """Transforms of so many rows (``number``) of two plain arrays, of any length, by Bluestein's algorithm.

    As j * k = (j * j + k * k - (k - j) ** 2) / 2, a transform is a convolution with a chirp, between products with it; and
    convolutions are products of transforms, of comfortable lengths.
    """

    length: int
    number: int
    scalar: str
    inverse: bool
    scale: float
    arguments: tuple

    def function(self):
        length, count, scalar, inverse, scale, _ = self
        size, dtype = plans.comfortable_length(2 * length - 1), COMPLEX[scalar]
        group = max(1, min(count, _GROUP // size))
        chirp, spectrum = tables.remembered(_chirp_of, length, size, scalar, inverse)
        last = (chirp * scale).astype(dtype, copy=False)

        def run(x, out):
            x, out = x.reshape(count, length), out.reshape(count, length)
            for first in range(0, count, group):
                some, target = x[first : first + group], out[first : first + group]
                space = np.empty((len(some), size), dtype)
                _multiply(some, chirp, space, length)
                _whole_rows(size, len(some), scalar, False)(space)
                _multiply(space, spectrum, space, size)
                _whole_rows(size, len(some), scalar, True)(space)
                _multiply(space, last, target, length)

        return run


@operation
def _multiply(x: Layout, row: Layout, out: Layout, length):
    """The first numbers of x's rows times those of one row, and zeros behind them."""
    scalar, whole = _SCALARS[x.dtype], 2 * out.shape[1]
    sizes = x.shape[0], 2 * x.shape[1], whole, 2 * length, whole, _chunk(length)
    launch = Launch(fourier_products, (scalar, lanes_for(scalar)), ("x", "row", "out", *sizes), out.size * _NANOSECONDS)
    return Plan([launch], {}, in_place=("out",))


def _whole_rows(length, count, scalar, inverse):
    """A function that transforms the rows of a plain array in place. It is forgotten with the tables, and made anew."""
    key = length, count, scalar, inverse
    found = tables.planned.get(key)
    if found is None:
        steps = Steps()
        rows(steps, "x", "x", length, count, scalar, 2 * length, 2 * length, inverse, 1 / length if inverse else 1.0)
        plan = Plan(steps.launches, {}, thread_scratch=steps.own, in_place=("x",))
        found = tables.planned[key] = runner(plan, ("x",))
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
    _whole_rows(size, 1, "f64", False)(spectrum)
    return chirp.astype(COMPLEX[scalar]), spectrum[0].astype(COMPLEX[scalar])
