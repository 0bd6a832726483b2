"""Kernels of reductions: sum, mean, prod, extrema, positions, truth, variances, norms, logsumexp."""

from __future__ import annotations

import math
from math import inf

import numpy as np

from ...base import dtypes
from ...base.shapes import reduced_shape
from ...ops.reduce import axes_of
from ...ops.table import TABLE
from ..elementwise import calls as elementwise
from ..elementwise.complex_functions import PARTS
from ..elementwise.evaluation import evaluation
from ..language.value_types import NUMPY, computed_in, scalar_of
from ..planning.layout import FLOATS, Layout, lanes_for
from ..planning.plan import HostStep, Launch, Plan, joined
from ..planning.runner import plan_for
from . import complex_reductions
from .reduce_programs import array_plan, program, workspace_size
from .reductions import reduction

_NANOSECONDS = 0.077  # for an element
_LONGEST = 2**31  # positions in a part are counted in 32 bits
_COMPLEX_ROW = 32  # numbers in a row; shorter ones are added up as columns of parts
_INT64, _BOOL, _UINT8 = np.dtype(np.int64), np.dtype(np.bool_), np.dtype(np.uint8)

_WITH_PLACES = frozenset(("max_at", "min_at"))  # counted row by row where all elements are looked through


def _plan(name, x, dim, keepdim, outputs, scalar=None, correction=0):
    """The Plan of a reduction of ``self``; ``outputs`` has a NumPy dtype for each result, None for an unwanted one.

    ``dim`` is None or a tuple; ``scalar`` the type of computation where it is not the elements'.
    """
    axes = axes_of(dim, x.ndim)
    if x.scalar is None or not axes or not x.size:
        return None
    if not x.is_plain:
        return _plan_turned(name, x, dim, keepdim, outputs, scalar, correction)
    scalar = scalar or computed_in(x.scalar)
    width = lanes_for(scalar)
    walk = array_plan(x.shape, axes, width)
    what = reduction(name, scalar)
    if walk is None or walk.count >= _LONGEST or (what.divides and walk.count <= correction):
        return None
    shape = reduced_shape(x.shape, axes, keepdim)
    results = {f"out{i}": Layout(shape, kind) for i, kind in enumerate(outputs) if kind is not None}
    works = (
        [(f"work{i}", workspace_size(walk), NUMPY[state]) for i, state in enumerate(what.states)] if walk.split else []
    )
    divisor = (walk.count - correction,) if what.divides else ()
    stored = tuple([None if kind is None else scalar_of(kind) for kind in outputs])
    form = name, x.scalar, scalar, stored, (walk.columns, walk.segmented, walk.split, walk.vectors), width
    arguments = ("self", *results, *[work for work, _, _ in works], *walk.sizes, *divisor)
    return Plan([Launch(program, form, arguments, x.size * _NANOSECONDS, f"reduce_{name}")], results, works)


def _plan_turned(name, x, dim, keepdim, outputs, scalar, correction):
    """`_plan` for an array whose dimensions lie in memory in another order; for one with gaps, of a copy without."""
    if 0 in x.strides:
        return None  # a copy would take more memory than the array does
    order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
    turned = x.turned(order)
    if not turned.is_plain or (dim is None and name in _WITH_PLACES):
        plan = _plan(name, x.plain(), dim, keepdim, outputs, scalar, correction)
        return plan and plan._replace(copied={"self": None})
    axes = axes_of(dim, x.ndim)
    plan = _plan(name, turned, tuple(map(order.index, axes)), keepdim, outputs, scalar, correction)
    left = [axis for axis in order if keepdim or axis not in axes]
    back = sorted(range(len(left)), key=left.__getitem__)
    if plan is None or back == sorted(back):
        return plan
    return plan._replace(turned=dict.fromkeys(plan.results, back))


def _accumulated(name, x, dim, keepdim, dtype):
    """A sum or product: integers and bools in int64, floats in their own dtype or float32."""
    kind = x.dtype
    if kind.kind in "biu":
        return _plan(name, x, dim, keepdim, (_INT64,), "i64") if dtype is None or dtype is dtypes.int64 else None
    if dtype is not None and dtype.numpy != kind:
        return None
    return _of_complex(name, x, dim, keepdim) if kind in PARTS else _plan(name, x, dim, keepdim, (kind,))


def _of_complex(name, x, dim, keepdim):
    """A sum, mean or product of complex numbers; sums of rows and columns are those of their parts."""
    if not x.size or not x.ndim or not x.is_plain:
        return None
    axes, ndim = axes_of(dim, x.ndim), x.ndim
    columns = math.prod([x.shape[axis] for axis in axes])
    kind, divisor = ("sum", columns) if name == "mean" else (name, 1)
    if len(axes) == ndim:
        return complex_reductions.plan(kind, {"self": x}, (1,) * (ndim * keepdim), divisor)
    shape = reduced_shape(x.shape, axes, keepdim)
    if columns >= _COMPLEX_ROW and sorted(axes) == list(range(ndim - len(axes), ndim)):
        return complex_reductions.plan_rows(kind, x, columns, shape, divisor)
    if name == "prod":
        return None
    part = PARTS[x.dtype]
    plan = _plan(name, Layout((*x.shape, 2), part), axes, keepdim, (part,))
    return plan and plan._replace(results={"out0": Layout(shape, x.dtype)})


@plan_for("sum")
def sum(self: Layout, dim, keepdim, dtype):
    return _accumulated("sum", self, dim, keepdim, dtype)


@plan_for("nansum")
def nansum(self: Layout, dim, keepdim, dtype):
    if self.dtype.kind == "c":
        return None
    return _accumulated("nansum" if self.scalar in FLOATS else "sum", self, dim, keepdim, dtype)


@plan_for("count_nonzero")
def count_nonzero(self: Layout, dim):
    if self.dtype in PARTS:  # whose kernels look at arrays of parts
        step, unequal = HostStep(_differ_from_zero, ("self", "unequal")), Layout(self.shape, _BOOL)
    else:
        found = evaluation(TABLE["ne"], [("self", self), (0, Layout((), self.dtype))])
        if found is None:
            return None
        step, unequal = found[0]._replace(arguments=("self", 0, "unequal")), found[1]
    counted = sum.plan(unequal, dim or None, False, None)
    plan = Plan([step], {}, [("unequal", self.shape, _BOOL)])
    return counted and joined(plan, counted.named({"self": "unequal"}))


def _differ_from_zero(array, out):
    if elementwise.run(TABLE["ne"], [array, np.zeros((), array.dtype)], out=out) is NotImplemented:
        np.not_equal(array, 0, out=out)


@plan_for("mean")
def mean(self: Layout, dim, keepdim, dtype):
    if self.scalar not in FLOATS and self.dtype.kind != "c":
        return None
    return _accumulated("mean", self, dim, keepdim, dtype)


@plan_for("prod_all")
def prod_all(self: Layout, dtype):
    return _accumulated("prod", self, None, False, dtype)


@plan_for("prod_dim")
def prod_dim(self: Layout, dim, keepdim, dtype):
    return _accumulated("prod", self, (dim,), keepdim, dtype)


def _extreme(name, x, dim, keepdim):
    if x.dtype.kind in "bc":
        return None
    return _plan(name, x, dim, keepdim, (x.dtype,))


@plan_for("max_all")
def max_all(self: Layout):
    return _extreme("max", self, None, False)


@plan_for("min_all")
def min_all(self: Layout):
    return _extreme("min", self, None, False)


@plan_for("amax")
def amax(self: Layout, dim, keepdim):
    return _extreme("max", self, dim, keepdim)


@plan_for("amin")
def amin(self: Layout, dim, keepdim):
    return _extreme("min", self, dim, keepdim)


def _with_position(name, x, dim, keepdim):
    if x.dtype.kind in "bc":
        return None
    return _plan(name, x, (dim,), keepdim, (x.dtype, _INT64))


@plan_for("max_dim")
def max_dim(self: Layout, dim, keepdim):
    return _with_position("max_at", self, dim, keepdim)


@plan_for("min_dim")
def min_dim(self: Layout, dim, keepdim):
    return _with_position("min_at", self, dim, keepdim)


def _position(name, x, dim, keepdim):
    if x.dtype.kind in "bc":
        return None
    return _plan(name, x, None if dim is None else (dim,), keepdim, (None, _INT64))


@plan_for("argmax")
def argmax(self: Layout, dim, keepdim):
    return _position("max_at", self, dim, keepdim)


@plan_for("argmin")
def argmin(self: Layout, dim, keepdim):
    return _position("min_at", self, dim, keepdim)


def _truth(name, x, dim, keepdim):
    dims = dim if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims is not None and not dims:
        return None  # an empty tuple reduces nothing here
    return _plan(name, x, dims, keepdim, (_UINT8 if x.dtype == _UINT8 else _BOOL,))


@plan_for("any")
def any(self: Layout, dim, keepdim):
    return _truth("any", self, dim, keepdim)


@plan_for("all")
def all(self: Layout, dim, keepdim):
    return _truth("all", self, dim, keepdim)


def _variance(name, x, dim, correction, keepdim, with_mean):
    """The variance or deviation, and the mean, computed in float64; declined where NumPy has something to warn about."""
    if x.scalar not in FLOATS:
        return None
    kind = x.dtype
    return _plan(name, x, dim, keepdim, (kind, kind if with_mean else None), "f64", correction)


@plan_for("var_corrected")
def var_corrected(self: Layout, dim, correction, keepdim):
    return _variance("var", self, dim, correction, keepdim, False)


@plan_for("std_corrected")
def std_corrected(self: Layout, dim, correction, keepdim):
    return _variance("std", self, dim, correction, keepdim, False)


@plan_for("var_mean_corrected")
def var_mean_corrected(self: Layout, dim, correction, keepdim):
    return _variance("var", self, dim, correction, keepdim, True)


@plan_for("std_mean_corrected")
def std_mean_corrected(self: Layout, dim, correction, keepdim):
    return _variance("std", self, dim, correction, keepdim, True)


_NORMS = {1.0: "norm1", 2.0: "norm2", inf: "norm_max"}


@plan_for("vector_norm_parts")
def vector_norm(self: Layout, ord, dim, keepdim, dtype):
    name = _NORMS.get(ord)
    if name is None or self.scalar not in FLOATS or (dtype is not None and dtype.numpy != self.dtype):
        return None
    return _plan(name, self, dim, keepdim, (self.dtype,))


@plan_for("logsumexp")
def logsumexp(self: Layout, dim, keepdim):
    if self.scalar not in FLOATS:
        return None
    return _plan("logsumexp", self, dim, keepdim, (self.dtype,))
