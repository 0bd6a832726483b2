"""Indexing as kernels: rows and elements picked by their positions."""

from __future__ import annotations

import math

import numpy as np

from ...base.shapes import wrap_dim
from ...ops import embedding as embedding_ops
from ...ops import index as index_ops
from ..language.value_types import NUMPY
from ..machine.host import lanes
from ..planning.layout import Layout, Layouts
from ..planning.plan import Check, Condition, Launch, Made, Passed, Plan
from ..planning.runner import plan_for
from ..rows.extremes import all_inside
from . import indexing_programs as programs
from . import selection

MOVED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}  # an element's size -> as what it is moved
ADDED = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
POSITIONS = {np.dtype(np.int32): "i32", np.dtype(np.int64): "i64"}
NANOSECONDS = 0.305  # for an element
ALONE = 1 << 14  # elements up to which other threads are not called in
WORTHWHILE = 1 << 12  # elements of a result below which NumPy has copied them by the time that a kernel is called
_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)
_PICKING_CHUNKS = 64
_PICKED_LINES = 8  # of single numbers: fewer would not divide the work


def around(shape, axis):
    """The lengths before and after a dimension, multiplied."""
    return math.prod(shape[:axis]), math.prod(shape[axis + 1 :])


def launch_of(build, scalar, position, options, arguments, elements):
    """The Launch of a program of indexing, for elements and positions of given scalars."""
    return Launch(build, (scalar, position, lanes(NUMPY[scalar].itemsize), *options), arguments, elements * NANOSECONDS)


def _copies(source, axis, index, names):
    """The Plan of a new array with the slices of ``source`` at ``index``, whose positions exist; ``names`` are the operands'."""
    moved, position = MOVED.get(source.itemsize), POSITIONS.get(index.dtype)
    if moved is None or position is None or not (source.is_plain and index.is_plain):
        return None
    outer, width = around(source.shape, axis)
    out = Layout((*source.shape[:axis], *index.shape, *source.shape[axis + 1 :]), source.dtype)
    if not out.size:
        return None
    arguments = *names, "out", outer, source.shape[axis]
    if width == 1 and outer < _PICKED_LINES:
        launch = launch_of(programs.copy_numbers, moved, position, (), (*arguments, index.size), out.size)
    elif width == 1:
        plan = _picks(source, index, out, outer, source.shape[axis], 1, index.size, 0, names)
        return plan._replace(pays=out.size >= WORTHWHILE)
    else:
        launch = launch_of(programs.copy_rows, moved, position, (), (*arguments, width, index.size), out.size)
    return Plan([launch], {"out": out}, pays=out.size >= WORTHWHILE)


def _picks(source, index, out, outer, length, width, count, step, names, check=()):
    """The Plan of the program ``pick``, or of ``pick_ones`` where it fits; ``check`` has the function that refuses positions
    which do not exist, and its arguments."""
    moved, position = MOVED[source.itemsize], POSITIONS[index.dtype]
    arguments = *names, "out", "outside", outer, length
    if width == count == step == 1:
        chunks = max(1, min(outer >> 10, _PICKING_CHUNKS))
        launch = launch_of(programs.pick_ones, moved, position, (), (*arguments, chunks), 4 * outer)
    else:
        chunks = min(outer if width == 1 else outer * count, _PICKING_CHUNKS)
        arguments = *arguments, width, count, chunks, step
        launch = launch_of(programs.pick, moved, position, (width == 1,), arguments, outer * count * width)
    check = Check("outside", *check) if check else None
    return Plan([launch], {"out": out}, [("outside", chunks, _BOOL)], check=check)


@plan_for("embedding")
def embedding(weight: Layout, indices: Layout, padding_idx: Passed, scale_grad_by_freq: Passed, sparse: Passed):
    if weight.ndim != 2:
        return None
    plan = _copies(weight, 0, indices, ("weight", "indices"))
    return plan and plan._replace(conditions=[Condition(embedding_ops.check_lookup, ("weight", "indices"))])


@plan_for("index_select")
def index_select(self: Layout, dim, index: Layout):
    if not self.ndim or index.ndim > 1:
        return None
    rows = Layout((index.size,), index.dtype, index.strides)
    plan = _copies(self, wrap_dim(dim, self.ndim), rows, ("self", "index"))
    return plan and plan._replace(conditions=[Condition(index_ops.selected_axis, ("self", dim, "index"))])


@plan_for("gather")
def gather(self: Layout, dim, index: Layout, sparse_grad: Passed):
    shape, picked, ndim = self.shape, index.shape, self.ndim
    fits = self.itemsize in MOVED and index.dtype in POSITIONS
    if not fits or 0 in picked or ndim != index.ndim or not ndim or not (self.is_plain and index.is_plain):
        return None
    axis = wrap_dim(dim, ndim)
    if shape[:axis] + shape[axis + 1 :] != picked[:axis] + picked[axis + 1 :]:
        return None
    (outer, width), count = around(shape, axis), picked[axis]
    step, length = count if width == 1 else width, shape[axis]
    check = index_ops.refuse_outside, ("index", length, axis)
    plan = _picks(self, index, Layout(picked, self.dtype), outer, length, width, count, step, ("self", "index"), check)
    return plan._replace(pays=width > 1 or outer >= _PICKED_LINES or count <= ALONE)


# ---------------------------------------------------------------- x[indices]


class Located:
    """Neighbouring dimensions of an array, indexed by arrays of positions, as one: ``merged`` is the Layout with that one, its
    number ``axis``, and ``rows`` the Layout of the positions along it, which a plan has from `Rows`."""

    def __init__(self, x, indices):
        places = [dim for dim, index in enumerate(indices) if index is not None]
        first, end = places[0], places[-1] + 1
        arrays, self.lengths, self.axis = indices[first:end], x.shape[first:end], first
        self.fits = len(arrays) == len(places) and x.size > 0 and x.is_plain
        self.fits = self.fits and all(index.dtype in POSITIONS for index in arrays)
        if not self.fits:
            return
        dtype = arrays[0].dtype if len(arrays) == 1 else _INT64
        self.rows = Layout(np.broadcast_shapes(*[index.shape for index in arrays]), dtype)
        self.merged = Layout((*x.shape[:first], math.prod(self.lengths), *x.shape[end:]), x.dtype)
        self.picked = Layout((*x.shape[:first], *self.rows.shape, *x.shape[end:]), x.dtype)

    def made(self, indices):
        """What the plan has the host make of the array or list of that name."""
        return {"rows": Made(Rows(self.axis, self.lengths), (indices,))}


class Rows:
    """A function of positions in dimensions from ``first`` on, of some ``lengths``, an array or a list with one for each
    dimension: of what they mean along all of these as one. It gives NotImplemented where one does not exist."""

    def __init__(self, first, lengths):
        self.first, self.lengths = first, lengths

    def __call__(self, indices):
        arrays = indices
        if indices.__class__ is np.ndarray:
            arrays = [indices]
        elif self.first or len(indices) > len(self.lengths):
            arrays = indices[self.first : self.first + len(self.lengths)]
        (first, *others) = arrays
        if not others and all_inside(first, self.lengths[0]):  # none counts from the end
            return np.ascontiguousarray(first)
        arrays = [index.astype(_INT64, copy=False) for index in np.broadcast_arrays(*arrays)]
        found = selection.flat_places(arrays, self.lengths)
        return found if others or found is NotImplemented else found.astype(first.dtype, copy=False)


@plan_for("index")
def index(self: Layout, indices: Layouts):
    if len(indices) > 1:
        found = selection.taken(self, indices)
        if found is not None and found.pays:
            return found
    located = Located(self, indices)
    if not located.fits:
        return None
    plan = _copies(located.merged, located.axis, located.rows, ("self", "rows"))
    return plan and plan._replace(results={"out": located.picked}, made=located.made("indices"))


@plan_for("take")
def take(self: Layout, index: Layout):
    located = Located(Layout((self.size,), self.dtype, self.strides), (index,))
    plan = _copies(located.merged, 0, located.rows, ("self", "rows")) if located.fits else None
    return plan and plan._replace(made=located.made("index"))
