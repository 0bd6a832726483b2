"""Kernels of Fourier transforms over any axes: `fft_c2c`, `fft_r2c` and `fft_c2r`, as steps over rows and columns."""

from __future__ import annotations

import math

import numpy as np

from ...ops.fft import layout_of, scale_of
from ...ops.moving import copied, write
from ..language.value_types import NUMPY, scalar_of
from ..planning.registry import kernel_for
from . import rows as fourier_rows
from .plans import tables
from .programs import ROWS
from .rows import COMPLEX

_SCALARS = {dtype: scalar for scalar, dtype in COMPLEX.items()}
empty = np.empty


class _Plan:
    """A transform of arrays of one layout: the result's shape in memory's order, the steps that write it, and the axes by
    which the result is seen (None: as it lies)."""

    __slots__ = ("axes", "dtype", "shape", "steps")

    def __init__(self, shape, dtype, order):
        self.shape, self.dtype, self.steps = tuple(shape), dtype, []
        self.axes = None if list(order) == [*range(len(order))] else tuple(int(a) for a in np.argsort(order))

    def function(self):
        """What computes the transform of an array."""
        shape, dtype, axes = self.shape, self.dtype, self.axes
        first, *others = self.steps

        def run_one(array):
            out = empty(shape, dtype)
            first(array, out)
            return out

        def run_all(array):
            out = run_one(array)
            for step in others:
                step(out, out)
            return out if axes is None else out.transpose(axes)

        return run_all if others or axes else run_one


def _planned(make, array, *arguments):
    """The result of what ``make`` plans for an array of this layout; NotImplemented where it gives None."""
    key = make, array.shape, array.strides, array.dtype, arguments
    run = tables.planned.get(key)
    if run is None:
        plan = make(array, *arguments) if array.size and array.dtype.isnative else None
        run = tables.planned[key] = _declined if plan is None else plan.function()
    return run(array) if array.flags.aligned else NotImplemented


def _declined(array):
    return NotImplemented


@kernel_for("fft_c2c")
def fft_c2c(self, dim, norm, forward):
    return _planned(_plan_c2c, self, tuple(dim), norm, forward)


@kernel_for("fft_r2c")
def fft_r2c(self, dim, norm, onesided):
    return _planned(_plan_r2c, self, tuple(dim), norm, onesided)


@kernel_for("fft_c2r")
def fft_c2r(self, dim, norm, length):
    return _planned(_plan_c2r, self, tuple(dim), norm, length)


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


def _in_order(array, order, unit):
    """Shape and strides of an array seen in another order of its axes; in ``unit`` bytes, None if these are no multiples."""
    shape = [array.shape[d] for d in order]
    if any(stride % unit for stride in array.strides):
        return shape, None
    return shape, [array.strides[d] // unit for d in order]


def _lies_in_rows(shape, strides, element):
    """Whether the last axis lies side by side and rows lie at one distance."""
    return strides is not None and strides[-1] == element and _uniform(shape[:-1], strides[:-1]) is not None


# ---------------------------------------------------------------- steps


def _row_step(length, count, scalar, x_row, inverse, scale, view):
    """A step over rows of complex numbers, of any length; ``view`` gives the array by rows."""
    if fourier_rows.smooth(length):
        return fourier_rows.rows(length, count, scalar, x_row, 2 * length, inverse, scale)
    run = fourier_rows.chirped_rows(length, count, scalar, inverse, scale)
    return lambda x, out: run(np.ascontiguousarray(view(x)).reshape(count, length), out.reshape(count, length))


def _first_step(array, order, scalar, inverse, scale):
    """The step over the last axis of the order, from an array of complex numbers into the result."""
    size = NUMPY[scalar].itemsize
    shape, strides = _in_order(array, order, size)
    length, count = shape[-1], math.prod(shape[:-1])
    rows = _lies_in_rows(shape, strides, 2)
    if rows or not fourier_rows.smooth(length):
        x_row = _uniform(shape[:-1], strides[:-1]) if rows else 0
        return _row_step(length, count, scalar, x_row, inverse, scale, lambda x: x.transpose(order))
    if strides is not None and len(shape) > 1 and strides[-2] == 2 and shape[-2] > 1:
        distance, inner = _uniform(shape[:-2], strides[:-2]), shape[-2]
        if distance is not None and fourier_rows.takes_columns(length, inner, scalar):
            outer = count // inner
            x, out = (distance, strides[-1]), (2 * inner * length, 2 * length)
            return fourier_rows.columns(length, outer, inner, scalar, x, out, inverse, scale, ROWS)
    run = fourier_rows.rows(length, count, scalar, 2 * length, 2 * length, inverse, scale)

    def copied_first(x, out):
        _copy(x.transpose(order), out)
        run(out, out)

    return copied_first


def _copy(source, target):
    """Copy complex numbers; those of 8 bytes as real ones, which there is a kernel for."""
    if source.itemsize == 8:
        source, target = source.view(np.float64), target.view(np.float64)
    write(target, source)


def _axis_step(shape, axis, scalar, inverse, scale):
    """The step over another axis of the result, from what lies as it does, or in place."""
    length, inner = shape[axis], math.prod(shape[axis + 1 :])
    outer = math.prod(shape[:axis])
    if fourier_rows.takes_columns(length, inner, scalar):
        distances = 2 * length * inner, 2 * inner
        return fourier_rows.columns(length, outer, inner, scalar, distances, distances, inverse, scale)
    run = _row_step(length, outer * inner, scalar, 2 * length, inverse, scale, lambda x: x)

    def through_rows(x, out):
        view = np.moveaxis(x, axis, -1)
        turned = np.empty(view.shape, view.dtype)
        _copy(view, turned)
        run(turned, turned)
        _copy(turned, np.moveaxis(out, axis, -1))

    return through_rows


def _add_axes(plan, order, dims, scalar, inverse, scale):
    """The steps over the axes of the result that stand for ``dims``."""
    for d in dims:
        plan.steps.append(_axis_step(plan.shape, order.index(d), scalar, inverse, scale))
        scale = 1.0


def _plan_c2c(array, dims, norm, forward):
    scalar = _SCALARS.get(array.dtype)
    order = layout_of(array, dims, None)
    lengths = [array.shape[d] for d in dims]
    if scalar is None or min(lengths, default=1) < 2:
        return None
    plan = _Plan([array.shape[d] for d in order], array.dtype, order)
    plan.steps.append(_first_step(array, order, scalar, not forward, scale_of(norm, math.prod(lengths), forward)))
    _add_axes(plan, order, [d for d in reversed(order[:-1]) if d in dims], scalar, not forward, 1.0)
    return plan


# ---------------------------------------------------------------- real numbers


def _plan_r2c(array, dims, norm, onesided):
    scalar = scalar_of(array.dtype)
    last, others = dims[-1], dims[:-1]
    if scalar not in COMPLEX or min(array.shape[d] for d in dims) < 2:
        return None
    order = layout_of(array, dims, last)
    length = array.shape[last]
    shape = [array.shape[d] for d in order]
    count = array.size // length
    kept = length // 2 + 1 if onesided else length
    plan = _Plan([*shape[:-1], kept], COMPLEX[scalar], order)
    scale = scale_of(norm, math.prod([array.shape[d] for d in dims]), True)
    half = length // 2
    if onesided and length % 2 == 0 and fourier_rows.smooth(half):
        _, strides = _in_order(array, order, NUMPY[scalar].itemsize)
        lies = _lies_in_rows(shape, strides, 1)
        x_row = _uniform(shape[:-1], strides[:-1]) if lies else length
        run = fourier_rows.rows(half, count, scalar, x_row, 2 * kept, False, scale, "forward", 0)
        plan.steps.append(run if lies else lambda x, out: run(copied(x.transpose(order)), out))
    else:
        run = _row_step(length, count, scalar, 2 * length, False, scale, lambda x: x)

        def by_complex_numbers(x, out):
            space = out if kept == length else np.empty(shape, out.dtype)
            np.copyto(space, x.transpose(order))
            run(space, space)
            if space is not out:
                np.copyto(out, space[..., :kept])

        plan.steps.append(by_complex_numbers)
    _add_axes(plan, order, [d for d in reversed(order[:-1]) if d in others], scalar, False, 1.0)
    return plan


def _plan_c2r(array, dims, norm, length):
    scalar = _SCALARS.get(array.dtype)
    last, others = dims[-1], dims[:-1]
    if scalar is None or length < 2 or min([array.shape[d] for d in others], default=2) < 2:
        return None
    if array.shape[last] <= length // 2:
        return None
    # As if the other axes were transformed first, by a transform of their own.
    order = [d for d in layout_of(array, others or dims, None) if d != last] + [last]
    spectra = [array.shape[d] for d in order]
    plan = _Plan([*spectra[:-1], length], NUMPY[scalar], order)
    scale = scale_of(norm, math.prod([array.shape[d] for d in others]) * length, False)
    through = _Plan(spectra, array.dtype, order)
    _add_axes(through, order, [d for d in reversed(order) if d in others], scalar, True, 1.0)
    finish = _spectra_step(array, order, plan.shape, scalar, scale, bool(others))
    if not others:
        plan.steps.append(finish)
        return plan

    def after_the_others(x, out):
        x, space = x.transpose(order), np.empty(spectra, x.dtype)
        if not x.flags.c_contiguous:
            _copy(x, space)
            x = space
        for step in through.steps:
            step(x, space)
            x = space
        finish(space, out)

    plan.steps.append(after_the_others)
    return plan


def _spectra_step(array, order, shape, scalar, scale, ordered):
    """The step from halves of spectra to real numbers of ``shape``; ``ordered``: they lie in that order, else as in the array."""
    length, half = shape[-1], shape[-1] // 2
    spectra = [array.shape[d] for d in order]
    count = math.prod(spectra[:-1])
    axes = [*range(len(order))] if ordered else order
    if length % 2 == 0 and fourier_rows.smooth(half):
        _, strides = _in_order(array, order, NUMPY[scalar].itemsize)
        lies = ordered or _lies_in_rows(spectra, strides, 2)
        half_row = 2 * spectra[-1] if ordered or not lies else _uniform(spectra[:-1], strides[:-1])
        run = fourier_rows.rows(half, count, scalar, length, length, True, 2 * scale, "backward", half_row)
        if lies:
            return lambda x, out: run(out, out, x)
        return lambda x, out: run(out, out, np.ascontiguousarray(x.transpose(axes)))
    run = _row_step(length, count, scalar, 2 * length, True, scale, lambda x: x)

    def by_whole_spectra(x, out):
        whole, x = np.empty(shape, x.dtype), x.transpose(axes)
        whole[..., : half + 1] = x[..., : half + 1]
        whole[..., 0].imag = 0
        if length % 2 == 0:
            whole[..., half].imag = 0
        np.conjugate(x[..., (length - 1) // 2 : 0 : -1], out=whole[..., half + 1 :])
        run(whole, whole)
        np.copyto(out, whole.real)

    return by_whole_spectra
