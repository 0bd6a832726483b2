"""Kernels of reductions: sum, mean, prod, extrema, positions, truth, variances, norms, logsumexp."""

from __future__ import annotations

import math
from math import inf

import numpy as np

from ...base import dtypes
from ...base.shapes import reduced_shape
from ...ops.moving import copied
from ...ops.reduce import axes_of
from ...ops.table import TABLE
from ..compiler.kernel import compiled
from ..elementwise import calls as elementwise
from ..elementwise.complex_functions import PARTS
from ..elementwise.complex_numbers import parts_of, whole_of
from ..language.value_types import NUMPY, computed_in, scalar_of
from ..machine.host import host
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from . import complex_reductions
from .reduce_programs import array_plan, build, workspace_size
from .reductions import reduction

_THREADED_FROM = 65536  # elements: below, the calling thread is done before another one has begun
_LONGEST = 2**31  # positions in a part are counted in 32 bits
_COMPLEX_ROW = 32  # numbers in a row; shorter ones are added up as columns of parts
_INT64, _BOOL, _UINT8 = np.dtype(np.int64), np.dtype(np.bool_), np.dtype(np.uint8)
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))

_WITH_PLACES = frozenset(("max_at", "min_at"))  # counted row by row where all elements are looked through

_calls = Plans()  # what is called for a reduction of a shape, False where no program fits


def is_plain(array):
    """Whether a kernel may walk through the array as its elements lie in memory."""
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def undivided(array):
    """A copy of an array without gaps, which takes less time than NumPy's way through it; NotImplemented where one would take
    more memory than the array does."""
    if not array.flags.aligned or 0 in array.strides:
        return NotImplemented
    dense = copied(array)
    return dense if is_plain(dense) else NotImplemented


def _prepared(name, array, dim, keepdim, outputs, scalar):
    """(kernel's call, result shape, result dtypes, workspaces, sizes, count or None), or False where no program fits."""
    shape, source = array.shape, scalar_of(array.dtype)
    axes = axes_of(dim, len(shape))
    if source is None or not axes or not array.size or not array.dtype.isnative:
        return False
    scalar = scalar or computed_in(source)
    lanes = host().vector_bytes // NUMPY[scalar].itemsize
    plan = array_plan(shape, axes, lanes)
    if plan is None or plan.count >= _LONGEST:
        return False
    what = reduction(name, scalar)
    stored = tuple([None if kind is None else scalar_of(kind) for kind in outputs])
    key = ("reduce", name, source, scalar, stored, plan.columns, plan.segmented, plan.split, plan.vectors)
    kernel = compiled(key, lambda: build(f"reduce_{name}", what, source, stored, plan, lanes))
    run = kernel.threaded if array.size >= _THREADED_FROM else kernel.alone
    works = [(workspace_size(plan), NUMPY[state]) for state in what.states] if plan.split else []
    kinds = [kind for kind in outputs if kind is not None]
    return run, reduced_shape(shape, axes, keepdim), kinds, works, plan.sizes, plan.count if what.divides else None


def run(name, array, dim, keepdim, outputs, scalar=None, correction=0):
    """The results of a reduction as a list of arrays; ``outputs`` has a NumPy dtype for each, None for an unwanted one.

    ``dim`` is None or a tuple; ``scalar`` the type of computation where it is not the elements'. NotImplemented where
    no program fits the array.
    """
    key = (name, array.shape, array.dtype, dim, keepdim, outputs)
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _prepared(name, array, dim, keepdim, outputs, scalar)
    if found is False:
        return NotImplemented
    if not is_plain(array):
        return _run_turned(name, array, dim, keepdim, outputs, scalar, correction)
    call, shape, kinds, works, sizes, count = found
    if count is not None and count <= correction:
        return NotImplemented
    given = [np.empty(shape, kind) for kind in kinds]
    outs = given.copy()
    for size, kind in works:
        given.append(np.empty(size, kind))
    if count is None:
        call(array, *given, *sizes)
    else:
        call(array, *given, *sizes, count - correction)
    return outs


def _run_turned(name, array, dim, keepdim, outputs, scalar, correction):
    """`run` for an array whose dimensions lie in memory in another order; for one with gaps, of a copy without."""
    ndim = array.ndim
    order = sorted(range(ndim), key=lambda axis: -array.strides[axis])
    turned = array.transpose(order)
    if not is_plain(turned) or (dim is None and name in _WITH_PLACES):
        dense = undivided(array)
        return dense if dense is NotImplemented else run(name, dense, dim, keepdim, outputs, scalar, correction)
    axes = None if dim is None else axes_of(dim, ndim)
    found = run(name, turned, axes and tuple(map(order.index, axes)), keepdim, outputs, scalar, correction)
    if found is NotImplemented or axes is None:
        return found
    left = [axis for axis in order if keepdim or axis not in axes]
    back = sorted(range(len(left)), key=left.__getitem__)
    return [copied(each.transpose(back)) if back != sorted(back) else each for each in found]


def _first(found):
    return found if found is NotImplemented else found[0]


def _accumulated(name, array, dim, keepdim, dtype):
    """A sum or product: integers and bools in int64, floats in their own dtype or float32."""
    kind = array.dtype
    if kind.kind in "biu":
        if dtype is not None and dtype is not dtypes.int64:
            return NotImplemented
        return _first(run(name, array, dim, keepdim, (_INT64,), "i64"))
    if dtype is not None and dtype.numpy is not kind:
        return NotImplemented
    if kind in PARTS:
        return _of_complex(name, array, dim, keepdim)
    return _first(run(name, array, dim, keepdim, (kind,)))


def _of_complex(name, array, dim, keepdim):
    """A sum, mean or product of complex numbers; sums of rows and columns are those of their parts."""
    if not array.size or not array.ndim or not is_plain(array):
        return NotImplemented
    axes, ndim = axes_of(dim, array.ndim), array.ndim
    columns = math.prod([array.shape[axis] for axis in axes])
    kind, divisor = ("sum", columns) if name == "mean" else (name, 1)
    if len(axes) == ndim:
        return complex_reductions.run(kind, [array], divisor).reshape((1,) * (ndim * keepdim))
    if columns >= _COMPLEX_ROW and sorted(axes) == list(range(ndim - len(axes), ndim)):
        shape = reduced_shape(array.shape, axes, keepdim)
        return complex_reductions.run_rows(kind, array, columns, shape, divisor)
    if name == "prod":
        return NotImplemented
    parts = parts_of(array)
    found = run(name, parts, axes, keepdim, (parts.dtype,))
    return found if found is NotImplemented else whole_of(found[0])


@kernel_for("sum")
def sum(self, dim, keepdim, dtype):
    return _accumulated("sum", self, dim, keepdim, dtype)


@kernel_for("nansum")
def nansum(self, dim, keepdim, dtype):
    if self.dtype.kind == "c":
        return NotImplemented
    return _accumulated("nansum" if scalar_of(self.dtype) in _FLOATS else "sum", self, dim, keepdim, dtype)


@kernel_for("count_nonzero")
def count_nonzero(self, dim):
    unequal = elementwise.run(TABLE["ne"], [self, np.zeros((), self.dtype)])
    if unequal is NotImplemented:
        return NotImplemented
    return _accumulated("sum", unequal, dim or None, False, None)


@kernel_for("mean")
def mean(self, dim, keepdim, dtype):
    if scalar_of(self.dtype) not in _FLOATS and self.dtype.kind != "c":
        return NotImplemented
    return _accumulated("mean", self, dim, keepdim, dtype)


@kernel_for("prod_all")
def prod_all(self, dtype):
    return _accumulated("prod", self, None, False, dtype)


@kernel_for("prod_dim")
def prod_dim(self, dim, keepdim, dtype):
    return _accumulated("prod", self, (dim,), keepdim, dtype)


def _extreme(name, array, dim, keepdim):
    if array.dtype.kind in "bc":
        return NotImplemented
    return _first(run(name, array, dim, keepdim, (array.dtype,)))


@kernel_for("max_all")
def max_all(self):
    return _extreme("max", self, None, False)


@kernel_for("min_all")
def min_all(self):
    return _extreme("min", self, None, False)


@kernel_for("amax")
def amax(self, dim, keepdim):
    return _extreme("max", self, dim, keepdim)


@kernel_for("amin")
def amin(self, dim, keepdim):
    return _extreme("min", self, dim, keepdim)


def _with_position(name, array, dim, keepdim):
    if array.dtype.kind in "bc":
        return NotImplemented
    found = run(name, array, (dim,), keepdim, (array.dtype, _INT64))
    return found if found is NotImplemented else tuple(found)


@kernel_for("max_dim")
def max_dim(self, dim, keepdim):
    return _with_position("max_at", self, dim, keepdim)


@kernel_for("min_dim")
def min_dim(self, dim, keepdim):
    return _with_position("min_at", self, dim, keepdim)


def _position(name, array, dim, keepdim):
    if array.dtype.kind in "bc":
        return NotImplemented
    return _first(run(name, array, None if dim is None else (dim,), keepdim, (None, _INT64)))


@kernel_for("argmax")
def argmax(self, dim, keepdim):
    return _position("max_at", self, dim, keepdim)


@kernel_for("argmin")
def argmin(self, dim, keepdim):
    return _position("min_at", self, dim, keepdim)


def _truth(name, array, dim, keepdim):
    dims = dim if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims is not None and not dims:
        return NotImplemented  # an empty tuple reduces nothing here
    return _first(run(name, array, dims, keepdim, (_UINT8 if array.dtype == _UINT8 else _BOOL,)))


@kernel_for("any")
def any(self, dim, keepdim):
    return _truth("any", self, dim, keepdim)


@kernel_for("all")
def all(self, dim, keepdim):
    return _truth("all", self, dim, keepdim)


def _variance(name, array, dim, correction, keepdim, with_mean):
    """The variance or deviation, and the mean, computed in float64; declined where NumPy has something to warn about."""
    if scalar_of(array.dtype) not in _FLOATS:
        return NotImplemented
    kind = array.dtype
    return run(name, array, dim, keepdim, (kind, kind if with_mean else None), "f64", correction)


@kernel_for("var_corrected")
def var_corrected(self, dim, correction, keepdim):
    return _first(_variance("var", self, dim, correction, keepdim, False))


@kernel_for("std_corrected")
def std_corrected(self, dim, correction, keepdim):
    return _first(_variance("std", self, dim, correction, keepdim, False))


@kernel_for("var_mean_corrected")
def var_mean_corrected(self, dim, correction, keepdim):
    found = _variance("var", self, dim, correction, keepdim, True)
    return found if found is NotImplemented else tuple(found)


@kernel_for("std_mean_corrected")
def std_mean_corrected(self, dim, correction, keepdim):
    found = _variance("std", self, dim, correction, keepdim, True)
    return found if found is NotImplemented else tuple(found)


_NORMS = {1.0: "norm1", 2.0: "norm2", inf: "norm_max"}


@kernel_for("vector_norm_parts")
def vector_norm(self, ord, dim, keepdim, dtype):
    name = _NORMS.get(ord)
    if name is None or scalar_of(self.dtype) not in _FLOATS or (dtype is not None and dtype.numpy is not self.dtype):
        return NotImplemented
    return _first(run(name, self, dim, keepdim, (self.dtype,)))


@kernel_for("logsumexp")
def logsumexp(self, dim, keepdim):
    if scalar_of(self.dtype) not in _FLOATS:
        return NotImplemented
    return _first(run("logsumexp", self, dim, keepdim, (self.dtype,)))
