"""Sampling of images and volumes at the points of a grid by kernels, and its gradients: by cubics, lines and nearest elements, in all dtypes."""

from __future__ import annotations

import functools
import math

import numpy as np

from ..compiler.kernel import compiled, pool
from ..elementwise.layouts import common_scalar, plain
from ..language.value_types import NUMPY
from ..machine.host import lanes
from ..machine.scratch import scratch
from ..planning.registry import kernel_for
from . import grid_sampling_programs as programs

_ALONE = 1 << 11  # elements of the result that are computed before another thread has come to help
_SHARES = 1 << 11, 1 << 15  # of a chunk: at least, and at most where there are some chunks for each thread
_CHUNKS = 16
_GROUP = 16  # channels, at most, for which a place is found once where gradients are added to the input's
_GROUPS = 16  # chunks that are made of them at least, where there are so many channels


def _kernel(build, arrays, lengths, options):
    """The compiled program that ``build`` makes; None where there is none for such arrays."""
    scalar = common_scalar(*arrays)
    # Elements are counted in 32 bits, those around the borders too.
    if scalar not in ("f32", "f64") or len(lengths) not in (2, 3) or math.prod(n + 2 for n in lengths) >= 1 << 31:
        return None
    return _compiled(build, scalar, len(lengths), *options)


@functools.cache
def _compiled(build, scalar, *options):
    form = programs.Form(scalar, lanes(NUMPY[scalar].itemsize), *options)
    return compiled(("grid sampling", build.__name__, *form), lambda: build(form))


def _run(kernel, work, *arguments):
    (kernel.alone if work <= _ALONE else kernel.threaded)(*arguments)


def _share(found, width):
    """How many points a chunk of a result (samples, channels, ...) takes: whole vectors."""
    fewest, most = _SHARES
    elements = max(fewest, min(most, found.size // _CHUNKS))
    return -(-elements // (found.shape[1] * width)) * width


@kernel_for("grid_samples")
def grid_samples(input, grid, mode, padding_mode, align_corners):
    (samples, channels, *lengths), out = input.shape, grid.shape[1:-1]
    kernel = _kernel(programs.forward_program, (input, grid), lengths, (mode, padding_mode, align_corners))
    if kernel is None:
        return NotImplemented
    found, points = np.empty((samples, channels, *out), input.dtype), math.prod(out)
    sizes = (samples, channels, *lengths, points, _share(found, lanes(input.itemsize)))
    _run(kernel, found.size, plain(input), plain(grid), found, *sizes)
    return found


@kernel_for("grid_samples_input_gradient")
def grid_samples_input_gradient(grad, grid, lengths, mode, padding_mode, align_corners):
    (samples, channels), points = grad.shape[:2], math.prod(grad.shape[2:])
    kernel = _kernel(programs.input_gradient_program, (grad, grid), lengths, (mode, padding_mode, align_corners))
    if kernel is None or grid.shape != (samples, *grad.shape[2:], len(lengths)):
        return NotImplemented
    found = np.empty((samples, channels, *lengths), grad.dtype)
    area = programs.TAPS[mode] ** len(lengths) * lanes(grad.itemsize) * pool().scratch_areas
    parts, targets = scratch("grid parts", area, grad.dtype), scratch("grid targets", area, np.int32)
    group = max(1, min(channels, _GROUP, samples * channels // _GROUPS))
    sizes = (samples, channels, *lengths, points, group)
    _run(kernel, max(found.size, grad.size), plain(grad), plain(grid), found, parts, targets, *sizes)
    return found


@kernel_for("grid_samples_grid_gradient")
def grid_samples_grid_gradient(grad, input, grid, mode, padding_mode, align_corners):
    (samples, channels, *lengths), points = input.shape, math.prod(grid.shape[1:-1])
    fits = grid.shape[0] == samples and grid.shape[-1] == len(lengths)
    if mode == programs.NEAREST or not fits or grad.shape != (samples, channels, *grid.shape[1:-1]):
        return NotImplemented
    kernel = _kernel(programs.grid_gradient_program, (grad, input, grid), lengths, (mode, padding_mode, align_corners))
    if kernel is None:
        return NotImplemented
    found = np.empty(grid.shape, grid.dtype)
    sizes = (samples, channels, *lengths, points, _share(grad, lanes(grad.itemsize)))
    _run(kernel, grad.size, plain(grad), plain(input), plain(grid), found, *sizes)
    return found
