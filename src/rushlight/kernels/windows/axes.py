"""How the windows of a convolution lie along its dimensions, and those of its input's gradient."""

from __future__ import annotations

import itertools
import math

import numpy as np

from .staging import SINGLE, Axis


def equal_windows(lengths, out):
    """The windows of adaptive pooling where all of them are of one size, else None."""
    if any(m == 0 or n % m for n, m in zip(lengths, out)):
        return None
    return tuple(n // m for n, m in zip(lengths, out))


def three(axes):
    """One to three axes with those that are missing in front."""
    return (*[SINGLE] * (3 - len(axes)), *axes)


def out_lengths(lengths, kernel, stride, padding, dilation):
    """The lengths of a convolution's output."""
    given = zip(lengths, kernel, stride, padding, dilation)
    return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in given)


def forward_axes(lengths, out, kernel, stride, padding, dilation):
    """The Axes of a convolution."""
    given = zip(lengths, out, kernel, stride, padding, dilation)
    return three([Axis(n, m, s, -p, tuple(range(0, k * d, d))) for n, m, k, s, p, d in given])


def lines(axes):
    """Axes of a convolution with one tap: as one line, if windows are elements."""
    if all(a.taps == (0,) and a.stride == 1 and a.start == 0 and a.out == a.length for a in axes):
        length = math.prod(a.length for a in axes)
        return (SINGLE, SINGLE, Axis(length, length, 1, 0, (0,)))
    return axes


def dense_steps(axes):
    """Steps between channels, depths, rows and columns of an output without gaps."""
    depth, height, width = (a.out for a in axes)
    return depth * height * width, height * width, width, 1


def _phases(length, out, taps, stride, padding, dilation):
    """For each residue of the input's positions modulo the stride that any tap meets: (its Axis over the output's
    gradient, the taps that meet it, the residue)."""
    meeting = {}  # residue -> taps
    for tap in range(taps):
        meeting.setdefault((tap * dilation - padding) % stride, []).append(tap)
    for residue, met in sorted(meeting.items()):
        if residue < length:
            places = [(residue + padding - t * dilation) // stride for t in met]
            start = min(places)
            count = -(-(length - residue) // stride)
            yield Axis(out, count, 1, start, tuple(p - start for p in places)), met, residue


def combined_phases(lengths, out, kernel, stride, padding, dilation):
    """The elements of a convolution's input, by how its gradient is computed: for each combination of residues modulo
    the stride, three Axes over the output's gradient, for each tap its number in the kernel, and three residues."""
    numbers = np.arange(math.prod(kernel)).reshape(kernel)
    by_axis = [list(_phases(*each)) for each in zip(lengths, out, kernel, stride, padding, dilation)]
    for phase in itertools.product(*by_axis):
        axes, taps, residues = zip(*phase)
        places = tuple(numbers[np.ix_(*taps)].reshape(-1).tolist())
        yield three(axes), places, (0,) * (3 - len(residues)) + residues
