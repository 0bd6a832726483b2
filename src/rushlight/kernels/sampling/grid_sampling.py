"""Sampling of images and volumes at the points of a grid by kernels, and its gradients: by cubics, lines and nearest elements, in all dtypes."""

from __future__ import annotations

import math

import numpy as np

from ..language.value_types import NUMPY, computed_in
from ..planning.layout import FLOATS, Layout, copies, lanes_for
from ..planning.plan import Launch, Plan
from ..planning.runner import plan_for
from . import grid_sampling_programs as programs

_INT32, _SINGLE = np.dtype(np.int32), np.dtype(np.float32)
_NANOSECONDS = 2.4  # for an element of the result
_SHARES = 1 << 11, 1 << 15  # of a chunk: at least, and at most where there are some chunks for each thread
_CHUNKS = 16
_GROUP = 16  # channels, at most, for which a place is found once where gradients are added to the input's
_GROUPS = 16  # chunks that are made of them at least, where there are so many channels


def _form(layouts, lengths, options):
    """The form of the programs; None where there is none for such arrays."""
    scalar, dims = layouts[0].scalar, len(lengths)
    # Elements are counted in 32 bits, those around the borders too.
    if scalar not in FLOATS or dims not in (2, 3) or math.prod(n + 2 for n in lengths) >= 1 << 31:
        return None
    if any(each.dtype != layouts[0].dtype or not each.size for each in layouts):
        return None
    computed = computed_in(scalar)
    return programs.Form(computed, scalar if scalar != computed else None, lanes_for(computed), dims, *options)


def _plan(launch, found, own=(), **operands):
    """The Plan of a launch that makes ``found``; of half precision it reads and writes float32."""
    if launch.form.half is None:
        return Plan([launch], {"found": found}, thread_scratch=own, copied=copies(**operands))
    copied, wide = dict.fromkeys(operands, _SINGLE), Layout(found.shape, _SINGLE)
    return Plan([launch], {"found": wide}, thread_scratch=own, copied=copied, given={"found": found})


def _share(elements, channels, width):
    """How many points a chunk of a result of so many elements takes: whole vectors."""
    fewest, most = _SHARES
    return -(-max(fewest, min(most, elements // _CHUNKS)) // (channels * width)) * width


@plan_for("grid_samples")
def grid_samples(input: Layout, grid: Layout, mode, padding_mode, align_corners):
    (samples, channels, *lengths), out = input.shape, grid.shape[1:-1]
    form = _form((input, grid), lengths, (mode, padding_mode, align_corners))
    if form is None:
        return None
    found, points = Layout((samples, channels, *out), input.dtype), math.prod(out)
    sizes = (samples, channels, *lengths, points, _share(found.size, channels, form.lanes))
    launch = Launch(forward, form, ("input", "grid", "found", *sizes), found.size * _NANOSECONDS)
    return _plan(launch, found, input=input, grid=grid)


@plan_for("grid_samples_input_gradient")
def grid_samples_input_gradient(grad: Layout, grid: Layout, lengths, mode, padding_mode, align_corners):
    (samples, channels), points = grad.shape[:2], math.prod(grad.shape[2:])
    form = _form((grad, grid), lengths, (mode, padding_mode, align_corners))
    if form is None or grid.shape != (samples, *grad.shape[2:], len(lengths)):
        return None
    found = Layout((samples, channels, *lengths), grad.dtype)
    area = form.elements * form.lanes
    own = [("parts", area, NUMPY[form.scalar]), ("targets", area, _INT32)]
    group = max(1, min(channels, _GROUP, samples * channels // _GROUPS))
    arguments = "grad", "grid", "found", "parts", "targets", samples, channels, *lengths, points, group
    launch = Launch(input_gradient, form, arguments, max(found.size, grad.size) * _NANOSECONDS)
    return _plan(launch, found, own, grad=grad, grid=grid)


@plan_for("grid_samples_grid_gradient")
def grid_samples_grid_gradient(grad: Layout, input: Layout, grid: Layout, mode, padding_mode, align_corners):
    (samples, channels, *lengths), points = input.shape, math.prod(grid.shape[1:-1])
    fits = grid.shape[0] == samples and grid.shape[-1] == len(lengths)
    form = _form((grad, input, grid), lengths, (mode, padding_mode, align_corners))
    if mode == programs.NEAREST or not fits or form is None or grad.shape != (samples, channels, *grid.shape[1:-1]):
        return None
    sizes = (samples, channels, *lengths, points, _share(grad.size, channels, form.lanes))
    launch = Launch(grid_gradient, form, ("grad", "input", "grid", "found", *sizes), grad.size * _NANOSECONDS)
    return _plan(launch, grid.plain(), grad=grad, input=input, grid=grid)


def forward(*form):
    return programs.forward_program(programs.Form(*form))


def input_gradient(*form):
    return programs.input_gradient_program(programs.Form(*form))


def grid_gradient(*form):
    return programs.grid_gradient_program(programs.Form(*form))
