"""Kernels of Fourier transforms over any axes: `fft_c2c`, `fft_r2c` and `fft_c2r`, as steps over rows and columns."""

from __future__ import annotations

import math

import numpy as np

from ..ops.fft import layout_of, scale_of
from ..ops.moving import copied, write
from . import fourier_rows
from .fourier_plans import tables
from .fourier_programs import ROWS
from .routing import kernel_for
from .value_types import NUMPY, scalar_of

_COMPLEX = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}
_SCALARS = {dtype: scalar for scalar, dtype in _COMPLEX.items()}


class _Plan:
    """A transform of arrays of one layout: the result's shape in memory's order, the steps that write it, and the axes by
    which the result is seen (None: as it lies)."""

    __slots__ = ("axes", "dtype", "shape", "steps")

    def __init__(self, shape, dtype, order):
        self.shape, self.dtype, self.steps = tuple(shape), dtype, []
        self.axes = None if list(order) == [*range(len(order))] else tuple(int(a) for a in np.argsort(order))

    def run(self, array):
        out = np.empty(self.shape, self.dtype)
        for step in self.steps:
            step(array, out)
            array = out
        return out if self.axes is None else out.transpose(self.axes)


def _planned(make, array, *arguments):
    """What ``make`` plans for an array of this layout; NotImplemented where it gives None."""
    key = make, array.shape, array.strides, array.dtype, *arguments
    plan = tables.planned.get(key)
    if plan is None:
        plan = make(array, *arguments) if array.size and array.dtype.isnative else None
        tables.planned[key] = plan = plan or NotImplemented
    if plan is NotImplemented or not array.flags.aligned:
        return NotImplemented
    return plan.run(array)


@kernel_for("fft_c2c")
def fft_c2c(self, dim, norm, forward):
    return _planned(_plan_c2c, self, tuple(dim), norm, forward)


@kernel_for("fft_r2c")
def fft_r2c(self, dim, norm, onesided):
    return _planned(_plan_r2c, self, tuple(dim), norm, onesided)


@kernel_for("fft_c2r")
def fft_c2r(self, dim, norm, length):
    if len(dim) > 1 and length > 1:
        self = fft_c2c(self, dim[:-1], norm, False)
        if self is NotImplemented:
            return self
    return _planned(_plan_c2r, self, tuple(dim[-1:]), norm, length)


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
    """Shape and strides (in ``unit`` bytes) of an array seen in another order of its axes; None where these are no multiples."""
    if any(stride % unit for stride in array.strides):
        return None, None
    return [array.shape[d] for d in order], [array.strides[d] // unit for d in order]


def _lies_in_rows(shape, strides, element):
    """Whether the last axis lies side by side and rows lie at one distance."""
    return strides is not None and strides[-1] == element and _uniform(shape[:-1], strides[:-1]) is not None


# ---------------------------------------------------------------- steps


def _row_step(length, count, scalar, x_row, inverse, scale, view):
    """A step over rows of complex numbers, of any length; ``view`` gives the array by rows."""
    if fourier_rows.smooth(length):
        return fourier_rows.rows(length, count, scalar, x_row, 2 * length, inverse, scale)
    run = fourier_rows.chirped_rows(length, count, inverse, scale)
    return lambda x, out: run(view(x).reshape(count, length), out.reshape(count, length))


def _first_step(array, order, scalar, inverse, scale):
    """The step over the last axis of the order, from an array of complex numbers into the result."""
    size = NUMPY[scalar].itemsize
    shape, strides = _in_order(array, order, size)
    length, count = shape[-1] if shape else array.shape[order[-1]], array.size // array.shape[order[-1]]
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
    """The step over another axis of the result, in place."""
    length, inner = shape[axis], math.prod(shape[axis + 1 :])
    outer = math.prod(shape[:axis])
    if fourier_rows.takes_columns(length, inner, scalar):
        distances = 2 * length * inner, 2 * inner
        return fourier_rows.columns(length, outer, inner, scalar, distances, distances, inverse, scale)
    run = _row_step(length, outer * inner, scalar, 2 * length, inverse, scale, lambda x: x)

    def through_rows(x, out):
        view = np.moveaxis(out, axis, -1)
        turned = np.empty(view.shape, view.dtype)
        _copy(view, turned)
        run(turned, turned)
        _copy(turned, view)

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
    if scalar not in _COMPLEX or min(array.shape[d] for d in dims) < 2:
        return None
    order = layout_of(array, dims, last)
    length = array.shape[last]
    shape = [array.shape[d] for d in order]
    count = array.size // length
    kept = length // 2 + 1 if onesided else length
    plan = _Plan([*shape[:-1], kept], _COMPLEX[scalar], order)
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
    if scalar is None or length < 2:
        return None
    order = layout_of(array, dims, dims[0])
    shape = [array.shape[d] for d in order]
    count, half = array.size // shape[-1], length // 2
    plan = _Plan([*shape[:-1], length], NUMPY[scalar], order)
    scale = scale_of(norm, length, False)
    if length % 2 == 0 and fourier_rows.smooth(half):
        _, strides = _in_order(array, order, NUMPY[scalar].itemsize)
        lies = _lies_in_rows(shape, strides, 2)
        half_row = _uniform(shape[:-1], strides[:-1]) if lies else 2 * shape[-1]
        run = fourier_rows.rows(half, count, scalar, length, length, True, 2 * scale, "backward", half_row)
        if lies:
            plan.steps.append(lambda x, out: run(out, out, x))
        else:
            plan.steps.append(lambda x, out: run(out, out, np.ascontiguousarray(x.transpose(order))))
        return plan
    run = _row_step(length, count, scalar, 2 * length, True, scale, lambda x: x)

    def by_whole_spectra(x, out):
        whole, x = np.empty(out.shape, x.dtype), x.transpose(order)
        whole[..., : shape[-1]] = x
        whole[..., 0].imag = 0
        if length % 2 == 0:
            whole[..., half].imag = 0
        np.conjugate(x[..., (length - 1) // 2 : 0 : -1], out=whole[..., half + 1 :])
        run(whole, whole)
        np.copyto(out, whole.real)

    plan.steps.append(by_whole_spectra)
    return plan
