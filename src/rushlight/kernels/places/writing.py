"""Rows and numbers written or added up at their positions, by kernels: index_add, index_copy, index_fill, x[indices] = values."""

from __future__ import annotations

import math

import numpy as np

from ...base.scalars import fitted
from ...base.settings import get_num_threads
from ...base.shapes import wrap_dim
from ...ops import index as index_ops
from ...ops.table import is_half
from ..machine.host import lanes
from ..planning.in_place import are_apart, on_copy
from ..planning.layout import Layout, Layouts, copies
from ..planning.plan import Condition, Made, Passed, Plan, View
from ..planning.precision import in_single_precision
from ..planning.runner import plan_for
from ..rows.extremes import all_inside
from . import indexing_programs as programs
from .indexing import ADDED, ALONE, MOVED, POSITIONS, WORTHWHILE, Located, around, launch_of

_SINGLE, _INT64 = np.dtype(np.float32), np.dtype(np.int64)
_STRIP = 4  # vectors of a row to which a chunk adds
_PARTS = 2  # chunks for each thread into which rows are divided that would be one
_ROWS_OF_PART = 8  # rows at least that such a chunk adds to; fewer are divided by columns
_FEW = 4  # times as many elements in a target of half precision make those that are added to it few
LISTED = [("listed", programs.LISTED, _INT64)]  # scratch memory of each thread


def scalar_for(dtype, mode):
    """As what a program treats the elements of an array; None where there is none."""
    return MOVED.get(dtype.itemsize) if mode in ("set", "fill") else ADDED.get(dtype)


def _launch(target, axis, index, mode, names):
    """The Launch that adds slices to those of ``target`` at ``index``; mode "set" writes them, "fill" the only number that is
    given. ``names`` are those of the target, the positions and the numbers. None where there is no program."""
    scalar, position = scalar_for(target.dtype, mode), POSITIONS.get(index.dtype)
    if scalar is None or position is None:
        return None
    outer, width = around(target.shape, axis)
    if width > 1:
        return add_rows(target, index, names, (None, None), outer, target.shape[axis], width, mode=mode)
    work, parts = index.size * outer, 1
    if work > ALONE:
        parts = math.ceil(get_num_threads() / outer)
    sizes = outer, target.shape[axis], index.size, parts
    return launch_of(programs.add_numbers, scalar, position, (mode,), (*names, "listed", *sizes), work)


def add_rows(target, index, names, scaled, outer, length, width, fresh=0, skipped=-1, mode="add"):
    """The Launch of the program `indexing_programs.add_rows`; ``scaled`` are the names of the owners and scales, or None."""
    vectors = min(math.ceil(width / lanes(target.itemsize)), _STRIP)
    options = vectors, mode, *[name is not None for name in scaled]
    work = index.size * outer * width + fresh * target.size // 4
    step = vectors * lanes(target.itemsize)
    parts, columns = 1, math.ceil(width / step) * step
    wanted = math.ceil(_PARTS * get_num_threads() / outer)  # chunks for each outer part
    if work > ALONE and wanted > 1:
        if length >= _ROWS_OF_PART * wanted:
            parts = wanted
        else:
            columns = max(step, math.ceil(width / (wanted * step)) * step)
    sizes = outer, length, width, index.size, parts, columns, fresh, skipped
    scalar, position = scalar_for(target.dtype, mode), POSITIONS[index.dtype]
    return launch_of(programs.add_rows, scalar, position, options, (*names, *scaled, "listed", *sizes), work)


def _writes(x, axis, index, values, mode, names=("index", "source"), **fields):
    """The Plan of writing into ``self``, of half precision on copies in float32, unless those that are added are few."""
    copied = {name: None for name, layout in zip(names, (index, values)) if layout is not None and not layout.is_plain}
    if mode == "add" and is_half(x.dtype) and values.size * _FEW >= x.size and values.dtype == x.dtype:
        copied = {**copied, "self": _SINGLE, names[1]: _SINGLE}
        x, values = Layout(x.shape, _SINGLE), Layout(values.shape, _SINGLE)
    if not x.is_plain or (values is not None and values.dtype != x.dtype):
        return None
    launch = _launch(x, axis, index, mode, ("self", *names))
    return launch and Plan([launch], {}, thread_scratch=LISTED, copied=copied, in_place=("self",), **fields)


@plan_for("embedding_gradient")
@in_single_precision()
def embedding_gradient(grad: Layout, indices: Layout, rows, padding_idx: Passed, scale_grad_by_freq):
    if scale_grad_by_freq or not grad.size or grad.dtype not in ADDED or indices.dtype not in POSITIONS:
        return None
    out = Layout((rows, grad.shape[-1]), grad.dtype)
    names, inside = ("out", "indices", "grad"), [Condition(all_inside, ("indices", rows))]
    launch = add_rows(out, indices, names, (None, None), 1, rows, grad.shape[-1], 1, padding_idx)
    copied = copies(grad=grad, indices=indices)
    return Plan([launch], {"out": out}, thread_scratch=LISTED, copied=copied, conditions=inside)


# ---------------------------------------------------------------- along one dimension


def _fits(x, axis, index, source):
    """Whether ``source`` has one slice of ``x``, which is not empty, for each position of a vector."""
    same = x.shape[:axis] == source.shape[:axis] and x.shape[axis + 1 :] == source.shape[axis + 1 :]
    return x.size > 0 and same and index.dtype in POSITIONS and index.shape == source.shape[axis : axis + 1]


@plan_for("index_add_")
def index_add_(self: Layout, dim, index: Layout, source: Layout, alpha):
    if self.ndim != source.ndim or not self.ndim or alpha != 1:
        return None
    axis = wrap_dim(dim, self.ndim)
    exist = Condition(index_ops.refuse_rows(self), ("index", self.shape[axis], axis))
    conditions = [exist, Condition(are_apart, ("self", "index", "source"))]
    return (
        _writes(self, axis, index, source, "add", conditions=conditions) if _fits(self, axis, index, source) else None
    )


@plan_for("index_copy_")
def index_copy_(self: Layout, dim, index: Layout, source: Layout):
    if self.ndim != source.ndim or not self.ndim or index.dtype != _INT64:
        return None
    axis = wrap_dim(dim, self.ndim)
    conditions = [Condition(all_inside, ("index", self.shape[axis])), Condition(are_apart, ("self", "index", "source"))]
    return (
        _writes(self, axis, index, source, "set", conditions=conditions) if _fits(self, axis, index, source) else None
    )


def filler_of(dtype, value):
    """A number as an array of one element, or NotImplemented where PyTorch has something to say about it."""
    if dtype.kind in "iu" and value.__class__ is int:
        bounds = np.iinfo(dtype)
        return np.full(1, value, dtype) if bounds.min <= value <= bounds.max else NotImplemented
    if dtype.kind != "f" or value.__class__ not in (int, float):
        return NotImplemented
    return fitted(dtype, value)


def _from_the_start(index, length):
    """Positions, negative ones counted from the end; NotImplemented where one does not exist."""
    if np.minimum.reduce(index, initial=0) < 0:
        index = np.where(index < 0, index + length, index)
    return index if all_inside(index, length) else NotImplemented


@plan_for("index_fill_")
def index_fill_(self: Layout, dim, index: Layout, value: Passed):
    if not self.ndim or not self.size or index.ndim != 1 or index.dtype != _INT64:
        return None
    axis = wrap_dim(dim, self.ndim)
    rows = Made(_from_the_start, ("index", self.shape[axis]))
    made = {"filler": Made(filler_of, (self.dtype, value)), "rows": rows}
    apart = [Condition(are_apart, ("self", "index"))]
    return _writes(self, axis, index, None, "fill", ("rows", "filler"), made=made, conditions=apart)


index_add = plan_for("index_add")(on_copy(index_add_.plan))
index_copy = plan_for("index_copy")(on_copy(index_copy_.plan))
index_fill = plan_for("index_fill")(on_copy(index_fill_.plan))


# ---------------------------------------------------------------- x[indices] = values


@plan_for("index_put_arrays_")
def index_put_arrays_(self: Layout, indices: Layouts, values: Layout, accumulate):
    located = Located(self, indices)
    if values.dtype != self.dtype or (not accumulate and is_half(self.dtype)) or not located.fits:
        return None
    mode = "add" if accumulate else "set" if values.size > 1 else "fill"
    name, shape = "values", located.picked.shape
    fields = {"made": located.made("indices"), "pays": bool(accumulate) or located.picked.size >= WORTHWHILE}
    if mode != "fill" and values.shape != shape:
        name, values, fields["views"] = "spread", values.broadcast(shape), {"spread": View("values", shape=shape)}
    return _writes(located.merged, located.axis, located.rows, values, mode, ("rows", name), **fields)


@plan_for("put_")
def put_(self: Layout, index: Layout, source: Layout, accumulate):
    if source.dtype != self.dtype or index.size != source.size:
        return None
    located = Located(Layout((self.size,), self.dtype, self.strides), (index,))
    if not located.fits:
        return None
    fields = {"made": located.made("index"), "pays": index.size >= WORTHWHILE}
    fields["conditions"] = [Condition(are_apart, ("self", "index", "source"))]
    return _writes(
        located.merged, 0, located.rows, source, "add" if accumulate else "set", ("rows", "source"), **fields
    )


index_put_arrays = plan_for("index_put_arrays")(on_copy(index_put_arrays_.plan))
put = plan_for("put")(on_copy(put_.plan))
