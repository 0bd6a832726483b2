"""Kernels of Fourier transforms over any axes: `fft_c2c`, `fft_r2c` and `fft_c2r`, as steps over rows and columns."""

from __future__ import annotations

import math

import numpy as np

from ...ops.fft import order_of, scale_of
from ...ops.moving import write
from ..language.value_types import NUMPY
from ..planning.layout import Layout, laid
from ..planning.plan import HostStep, Plan, View
from ..planning.runner import plan_for
from . import rows as fourier_rows
from .plans import tables
from .programs import ROWS
from .rows import COMPLEX, ChirpedRows, Steps

_SCALARS = {dtype: scalar for scalar, dtype in COMPLEX.items()}


class _Transform(Steps):
    """The steps of a transform of "self". The ``shape`` of the result "out" is that in memory, where its axes lie in an
    ``order``; so "memory" has it."""

    def __init__(self, x, order, shape, dtype):
        super().__init__()
        self.order, self.shape = tuple(order), tuple(shape)
        self.is_turned = self.order != tuple(range(len(self.order)))
        self.views = {"turned": View("self", order=self.order), "memory": View("out", order=self.order)}
        self.copied = {}
        seen = tuple([self.shape[self.order.index(axis)] for axis in range(len(self.order))])
        self.out = laid(seen, dtype, self.order) if self.is_turned else Layout(seen, dtype)
        self.memory = "memory" if self.is_turned else "out"
        self.lies = x.turned(self.order)  # the Layout of "self" with its axes in that order
        self.turned = "turned" if self.is_turned else "self"

    def plain(self):
        """The name of a plain array of the operand's numbers, its axes in the order."""
        if not self.lies.is_plain:
            self.copied[self.turned] = None
        return self.turned

    def space(self, name, shape, dtype):
        """The name of memory for the steps alone."""
        self.scratch.append((name, tuple(shape), dtype))
        return name

    def host(self, function, *arguments):
        self.launches.append(HostStep(function, arguments))

    def plan(self):
        used = {name for each in self.launches for name in each.arguments if name.__class__ is str} | {*self.copied}
        used |= {view.of for name, view in self.views.items() if name in used}
        views = {name: view for name, view in self.views.items() if name in used}
        return Plan(self.launches, {"out": self.out}, self.scratch, self.own, views=views, copied=self.copied)


# ---------------------------------------------------------------- layouts


def _uniform(shape, strides):
    """The distance from one to the next of all elements of these dimensions, or None where there is no such."""
    distance, expected = 0, None
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length == 1:
            continue
        if expected is None:
            distance = stride
        elif stride != expected:
            return None
        expected = stride * length
    return distance


def _numbers(layout, unit):
    """The strides of a layout in ``unit`` bytes; None if these are no multiples."""
    strides = layout.spread().strides
    return None if any(stride % unit for stride in strides) else [stride // unit for stride in strides]


def _lies_in_rows(shape, strides, element):
    """Whether the last axis lies side by side and rows lie at one distance."""
    return strides is not None and strides[-1] == element and _uniform(shape[:-1], strides[:-1]) is not None


# ---------------------------------------------------------------- steps


def _row_step(steps, x, out, length, count, scalar, x_row, inverse, scale):
    """A step over rows of complex numbers, of any length; those of other lengths than there are programs for are plain."""
    if fourier_rows.smooth(length):
        fourier_rows.rows(steps, x, out, length, count, scalar, x_row, 2 * length, inverse, scale)
    else:
        steps.launches.append(ChirpedRows(length, count, scalar, inverse, scale, (x, out)))


def _first_step(steps, scalar, inverse, scale):
    """The step over the last axis of the order, from an array of complex numbers into the result."""
    shape, strides, out = steps.lies.shape, _numbers(steps.lies, NUMPY[scalar].itemsize), steps.memory
    length, count = shape[-1], math.prod(shape[:-1])
    rows = _lies_in_rows(shape, strides, 2)
    if not fourier_rows.smooth(length):
        return _row_step(steps, steps.plain(), out, length, count, scalar, 0, inverse, scale)
    if rows:
        x_row = _uniform(shape[:-1], strides[:-1])
        return _row_step(steps, "self", out, length, count, scalar, x_row, inverse, scale)
    if strides is not None and len(shape) > 1 and strides[-2] == 2 and shape[-2] > 1:
        distance, inner = _uniform(shape[:-2], strides[:-2]), shape[-2]
        if distance is not None and fourier_rows.takes_columns(length, inner, scalar):
            x_steps, out_steps = (distance, strides[-1]), (2 * inner * length, 2 * length)
            sizes = length, count // inner, inner, scalar, x_steps, out_steps, inverse, scale
            return fourier_rows.columns(steps, "self", out, *sizes, ROWS)
    steps.host(_copy, steps.turned, out)
    return fourier_rows.rows(steps, out, out, length, count, scalar, 2 * length, 2 * length, inverse, scale)


def _copy(source, target):
    """Copy complex numbers; those of 8 bytes as real ones, which there is a kernel for."""
    if source.itemsize == 8:
        source, target = source.view(np.float64), target.view(np.float64)
    write(target, source)


def _axis_step(steps, x, out, shape, axis, scalar, inverse, scale):
    """The step over another axis of arrays of a shape, from one into another, or in place."""
    length, inner = shape[axis], math.prod(shape[axis + 1 :])
    outer = math.prod(shape[:axis])
    if fourier_rows.takes_columns(length, inner, scalar):
        distances = 2 * length * inner, 2 * inner
        fourier_rows.columns(steps, x, out, length, outer, inner, scalar, distances, distances, inverse, scale)
        return
    order = tuple([d for d in range(len(shape)) if d != axis] + [axis])
    rows = steps.space(f"rows{axis}", [shape[d] for d in order], COMPLEX[scalar])
    steps.views |= {f"from{axis}": View(x, order=order), f"to{axis}": View(out, order=order)}
    steps.host(_copy, f"from{axis}", rows)
    _row_step(steps, rows, rows, length, outer * inner, scalar, 2 * length, inverse, scale)
    steps.host(_copy, rows, f"to{axis}")


def _add_axes(steps, dims, scalar, inverse):
    """The steps over the axes of the result, but for its last, that stand for ``dims``."""
    for axis in reversed(range(len(steps.shape) - 1)):
        if steps.order[axis] in dims:
            _axis_step(steps, steps.memory, steps.memory, steps.shape, axis, scalar, inverse, 1.0)


@plan_for("fft_c2c")
def fft_c2c(self: Layout, dim, norm, forward):
    scalar, lengths = _SCALARS.get(self.dtype), [self.shape[d] for d in dim]
    if scalar is None or min(lengths, default=1) < 2 or not self.size:
        return None
    order = order_of(self.spread(), dim, None)
    steps = _Transform(self, order, [self.shape[d] for d in order], self.dtype)
    _first_step(steps, scalar, not forward, scale_of(norm, math.prod(lengths), forward))
    _add_axes(steps, dim, scalar, not forward)
    return steps.plan()


# ---------------------------------------------------------------- real numbers


@plan_for("fft_r2c")
def fft_r2c(self: Layout, dim, norm, onesided):
    scalar, (*others, last) = self.scalar, dim
    if scalar not in COMPLEX or min([self.shape[d] for d in dim]) < 2 or not self.size:
        return None
    order = order_of(self.spread(), dim, last)
    length, half = self.shape[last], self.shape[last] // 2
    shape = [self.shape[d] for d in order]
    count, kept = self.size // length, half + 1 if onesided else length
    steps = _Transform(self, order, [*shape[:-1], kept], COMPLEX[scalar])
    scale = scale_of(norm, math.prod([self.shape[d] for d in dim]), True)
    if onesided and length % 2 == 0 and fourier_rows.smooth(half):
        strides = _numbers(steps.lies, NUMPY[scalar].itemsize)
        lies = _lies_in_rows(shape, strides, 1)
        x, x_row = ("self", _uniform(shape[:-1], strides[:-1])) if lies else (steps.plain(), length)
        fourier_rows.rows(steps, x, steps.memory, half, count, scalar, x_row, 2 * kept, False, scale, "forward")
    else:
        space = steps.memory if kept == length else steps.space("whole", shape, COMPLEX[scalar])
        steps.host(np.copyto, space, steps.turned)
        _row_step(steps, space, space, length, count, scalar, 2 * length, False, scale)
        if kept < length:
            steps.views["kept"] = View(space, index=(..., slice(kept)))
            steps.host(np.copyto, steps.memory, "kept")
    _add_axes(steps, others, scalar, False)
    return steps.plan()


@plan_for("fft_c2r")
def fft_c2r(self: Layout, dim, norm, length):
    scalar, (*others, last) = _SCALARS.get(self.dtype), dim
    if scalar is None or length < 2 or min([self.shape[d] for d in others], default=2) < 2 or not self.size:
        return None
    if self.shape[last] <= length // 2:
        return None
    # As if the other axes were transformed first, by a transform of their own.
    order = [d for d in order_of(self.spread(), others or dim, None) if d != last] + [last]
    spectra = [self.shape[d] for d in order]
    steps = _Transform(self, order, [*spectra[:-1], length], NUMPY[scalar])
    scale = scale_of(norm, math.prod([self.shape[d] for d in others]) * length, False)
    source = None
    if others:
        space = steps.space("spectra", spectra, self.dtype)
        source = steps.turned
        if not steps.lies.is_plain:
            steps.host(_copy, source, space)
            source = space
        for axis in reversed(range(len(order) - 1)):
            if order[axis] in others:
                _axis_step(steps, source, space, spectra, axis, scalar, True, 1.0)
                source = space
    _spectra_step(steps, source, spectra, scalar, scale)
    return steps.plan()


def _spectra_step(steps, source, spectra, scalar, scale):
    """The step from halves of spectra, those of "self" or of a plain ``source``, to the real numbers of the result."""
    length, half = steps.shape[-1], steps.shape[-1] // 2
    count, out = math.prod(spectra[:-1]), steps.memory
    if length % 2 == 0 and fourier_rows.smooth(half):
        half_row = 2 * spectra[-1]
        if source is None:
            strides = _numbers(steps.lies, NUMPY[scalar].itemsize)
            if _lies_in_rows(spectra, strides, 2):
                source, half_row = "self", _uniform(spectra[:-1], strides[:-1])
        given = source or steps.plain(), half_row
        fourier_rows.rows(steps, out, out, half, count, scalar, length, length, True, 2 * scale, "backward", *given)
        return
    whole = steps.space("whole", steps.shape, COMPLEX[scalar])
    steps.host(_fill_spectra, source or steps.turned, whole)
    _row_step(steps, whole, whole, length, count, scalar, 2 * length, True, scale)
    steps.host(_real_parts, whole, out)


def _fill_spectra(x, whole):
    """Whole spectra of real numbers, of which ``x`` has halves; numbers that must be real are taken for such."""
    length, half = whole.shape[-1], whole.shape[-1] // 2
    whole[..., : half + 1] = x[..., : half + 1]
    whole[..., 0].imag = 0
    if length % 2 == 0:
        whole[..., half].imag = 0
    np.conjugate(x[..., (length - 1) // 2 : 0 : -1], out=whole[..., half + 1 :])


def _real_parts(whole, out):
    np.copyto(out, whole.real)


tables.forget += [fft_c2c.forget, fft_r2c.forget, fft_c2r.forget]
