"""Which kernel computes which operation: what dispatch asks when an operand reaches its threshold.

A kernel takes what the operation's ``forward`` takes and returns what that returns, or NotImplemented where it has no
program for these dtypes, layouts or options; then NumPy computes. ``forward`` runs with NumPy's floating-point warnings
off, a kernel does not: what it leaves to NumPy's arithmetic goes into an ``np.errstate(all="ignore")``. The modules with
kernels are imported at the first large call, and llvmlite where a kernel has to be compiled: ``import rushlight`` pays for
neither.

From how many elements of its first operand an operation leaves NumPy, and why, stands in the table of its family. Measured
on two cores of an Intel Xeon (Emerald Rapids); where a kernel wins on one machine at such sizes, it is not far from winning
on others. Kernels may still decline what they are offered.
"""

from __future__ import annotations

import functools
import importlib

import numpy as np

from ..ops import moving
from . import (
    convolution,
    elementwise,
    fourier,
    places,
    pooling,
    products,
    random_numbers,
    recurrent,
    rows,
    sampling,
    sorting,
)
from .machine.host import host
from .planning.registry import KERNELS

FAMILIES = (
    rows,
    elementwise,
    products,
    places,
    sorting,
    convolution,
    pooling,
    sampling,
    recurrent,
    fourier,
    random_numbers,
)
NEVER = 1 << 62
_TABLES = [(f"{family.__name__}.{module}", table) for family in FAMILIES for module, table in family.ELEMENTS.items()]
ELEMENTS = {name: elements for _, table in _TABLES for name, elements in table.items()}
MODULE_OF = {name: module for module, table in _TABLES for name in table}


def elements_of(name):
    """From how many elements of an operand on an operation asks its kernel: more than any has where there is none."""
    return ELEMENTS.get(name, NEVER)


@functools.cache
def kernel_of(name):
    """The kernel of an operation; one that declines everything where generated kernels are off or missing."""
    if host() is None:
        return _declined
    importlib.import_module(MODULE_OF[name])
    return KERNELS[name]


def plan_of(name):
    """The function that plans an operation: of its arguments, with a `planning.layout.Layout` for each array, it makes the
    `planning.plan.Plan`, None where there is no program. None for operations whose kernels have no plans."""
    return getattr(kernel_of(name), "plan", None)


def _declined(*arrays, **options):
    return NotImplemented


def prepared_step(params, parts, formula):
    """A function ``step(grads, constants)`` that takes an optimizer's step on these parameters again and again.

    ``parts`` has a list for each state, with its array for each parameter. All are contiguous, of one dtype and apart
    from each other; where a gradient is not contiguous, or not like its parameter, the function returns False and has done
    nothing. None where there is no kernel.
    """
    if host() is None:
        return None
    return importlib.import_module(".elementwise.optimizer", __package__).prepared(params, parts, formula)


@functools.cache
def _function(module, name):
    """A function of this room, looked up once; what declines everything where generated kernels are off or missing."""
    return _declined if host() is None else getattr(importlib.import_module("." + module, __package__), name)


def _entry_of(op, array, options):
    """`elementwise.calls.entry_of`; None without generated kernels."""
    if host() is None:
        return None
    return importlib.import_module(".elementwise.calls", __package__).entry_of(op, array, options)


def run_elementwise(op, arrays, options, dtype=None, result=None, out=None):
    """What `elementwise.calls.run` gives, NotImplemented without generated kernels; its arguments."""
    return _function("elementwise.calls", "run")(op, arrays, options, dtype, result, out)


def route_elementwise(op, evaluate, count, options):
    """(elements, function) of an elementwise operation: where an operand has so many elements, call ``function``.

    It takes ``count`` operands, then the other arguments (``options`` where they are left out), all operands of the dtype
    in which the operation is computed. What has no kernel goes to ``evaluate``, with the arguments as they came.
    """

    def large(*values):
        run = _function("elementwise.calls", "run")
        found = run(op, values[:count], values[count:] or options)
        return evaluate(*values) if found is NotImplemented else found

    return elementwise.elementwise_elements(op), _on_one_array(op, large, options) if count == 1 else large


_MOST_OPTIONS = 256  # values of options whose kernels an operation remembers


def _on_one_array(op, otherwise, options):
    """``otherwise`` for one array and other arguments, on a shorter way where the array is contiguous."""
    entries = {}  # dtype, other arguments -> what computes such arrays, None where nothing does

    def large_one(array, *others):
        key = (array.dtype, *others) if others else array.dtype
        entry = entries.get(key)
        if entry is None and key not in entries:
            if len(entries) >= _MOST_OPTIONS:
                entries.clear()
            if 0.0 not in others:  # zeros of both signs are equal
                entry = entries[key] = _entry_of(op, array, others or options)
        if entry is None or not array.flags.c_contiguous:
            return otherwise(array, *others)
        return entry.run_flat((array,), np.empty(array.shape, entry.dtype))

    return large_one


def _copy(source, target):
    return _function("elementwise.calls", "copy")(source, out=target)


def _progression(out, base, step, first, direction, computed, fused):
    if np.dtype(computed).kind == "c":
        return NotImplemented
    return _function("elementwise.progressions", "fill")(out, base, step, first, direction, computed, fused)


def _vectors(out, base, step, group, whole):
    return _function("elementwise.progressions", "fill_vectors")(out, base, step, group, whole)


def _ramps(out, firsts, starts, step):
    return _function("elementwise.progressions", "fill_ramps")(out, firsts, starts, step)


moving.kernels["copy"] = ELEMENTS["copy_from"], _copy
moving.kernels["convert"] = elementwise.HALVES, _copy
moving.kernels["fill"] = ELEMENTS["fill_number"], _copy
moving.kernels["vectors"] = 1, _vectors
moving.kernels["progression"] = elementwise.PROGRESSIONS, _progression
moving.kernels["ramps"] = elementwise.RAMPS, _ramps


def mask_positions(mask):
    """``mask.nonzero()``: an int64 array for each dimension of a mask, with the positions of its True elements."""
    if mask.size >= ELEMENTS["nonzero_rows"] and host() is not None:
        found = importlib.import_module(".places.selection", __package__).positions(mask)
        if found is not None:
            return tuple(found)
    return mask.nonzero()


def random_kernels():
    """The module of random numbers' kernels; None where generated kernels are off or missing."""
    return None if host() is None else importlib.import_module(".random_numbers.numbers", __package__).load()
