"""Indexing as kernels: embeddings and their gradients, index_select, index_add, index_put with sums, gather."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...base.scalars import fitted
from ...base.settings import get_num_threads
from ...base.shapes import wrap_dim
from ...ops import embedding as embedding_ops
from ...ops import gather as gather_ops
from ...ops import index as index_ops
from ...ops.copy import dense_copy
from ...ops.moving import filled
from ...ops.table import is_half
from ..compiler.kernel import compiled, pool
from ..elementwise.half_precision import by_single_precision
from ..elementwise.layouts import copied, plain
from ..language.value_types import NUMPY
from ..machine.host import lanes
from ..machine.scratch import scratch
from ..planning.layout import Layout
from ..planning.plan import Check, Condition, Launch, Passed, Plan
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from ..planning.runner import plan_for
from ..rows.extremes import all_inside
from . import indexing_programs as programs
from . import selection

ALONE = 1 << 14  # elements up to which other threads are not called in
_WORTHWHILE = 1 << 12  # elements of a result below which NumPy has copied them by the time that a kernel is called
MOVED = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}  # an element's size -> as what it is moved
ADDED = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
POSITIONS = {np.dtype(np.int32): "i32", np.dtype(np.int64): "i64"}
NANOSECONDS = 0.305  # for an element
_BOOL = np.dtype(np.bool_)
_PICKING_CHUNKS = 64
_scatters = Plans()  # what is called for shapes and dtypes, False where no program fits
_STRIP = 4  # vectors of a row to which a chunk adds
_STRIP_COLUMNS = 256  # columns of a scatter that a chunk writes
_PARTS = 2  # chunks for each thread into which rows are divided that would be one
_ROWS_OF_PART = 8  # rows at least that such a chunk adds to; fewer are divided by columns
_FEW = 4  # times as many elements in a target of half precision make those that are added to it few
_PICKED_LINES = 8  # of single numbers: fewer would not divide the work


@functools.cache
def _kernel(name, scalar, position, *options):
    """A program's kernel for elements and positions of given scalars."""
    width = lanes(NUMPY[scalar].itemsize)
    build = getattr(programs, name)
    return compiled((name, scalar, position, width, *options), lambda: build(scalar, position, width, *options))


def _run(kernel, work):
    return kernel.alone if work <= ALONE else kernel.threaded


def are_plain(*arrays):
    """Whether all arrays are what programs can read as they are."""
    for array in arrays:
        flags = array.flags
        if not (flags.c_contiguous and flags.aligned):
            return False
    return True


def _around(shape, axis):
    """The lengths before and after a dimension, multiplied."""
    return math.prod(shape[:axis]), math.prod(shape[axis + 1 :])


def _copies(source, axis, index, names):
    """The Plan of a new array with the slices of ``source`` at ``index``, whose positions exist; ``names`` are the operands'."""
    moved, position = MOVED.get(source.dtype.itemsize), POSITIONS.get(index.dtype)
    if moved is None or position is None or not (source.is_plain and index.is_plain):
        return None
    outer, width = _around(source.shape, axis)
    out = Layout((*source.shape[:axis], *index.shape, *source.shape[axis + 1 :]), source.dtype)
    if out.size < _WORTHWHILE:
        return None
    arguments = *names, "out", outer, source.shape[axis]
    if width == 1 and outer < _PICKED_LINES:
        launch = _launch("copy_numbers", moved, position, (), (*arguments, index.size), out.size)
    elif width == 1:
        return _picks(source, index, out, outer, source.shape[axis], 1, index.size, 0, names)
    else:
        launch = _launch("copy_rows", moved, position, (), (*arguments, width, index.size), out.size)
    return Plan([launch], {"out": out})


@plan_for()
def _copied(source: Layout, axis, index: Layout):
    return _copies(source, axis, index, ("source", "index"))


def _launch(name, scalar, position, options, arguments, elements):
    form = scalar, position, lanes(NUMPY[scalar].itemsize), *options
    return Launch(getattr(programs, name), form, arguments, elements * NANOSECONDS)


def _picks(source, index, out, outer, length, width, count, step, names, check=()):
    """The Plan of the program ``pick``, or of ``pick_ones`` where it fits; ``check`` has the function that refuses positions
    which do not exist, and its arguments."""
    moved, position = MOVED[source.dtype.itemsize], POSITIONS[index.dtype]
    arguments = *names, "out", "outside", outer, length
    if width == count == step == 1:
        chunks = max(1, min(outer >> 10, _PICKING_CHUNKS))
        launch = _launch("pick_ones", moved, position, (), (*arguments, chunks), 4 * outer)
    else:
        chunks = min(outer if width == 1 else outer * count, _PICKING_CHUNKS)
        arguments = *arguments, width, count, chunks, step
        launch = _launch("pick", moved, position, (width == 1,), arguments, outer * count * width)
    check = Check("outside", *check) if check else None
    return Plan([launch], {"out": out}, [("outside", chunks, _BOOL)], check=check)


def _added(target, axis, index, values, fresh=0, skipped=-1, mode="add"):
    """Add the slices ``values`` to those of ``target`` at ``index`` (checked before); whether that was done. Mode "set"
    writes them there, "fill" the only number in ``values``."""
    if mode == "add" and not fresh and is_half(target.dtype) and values.size * _FEW >= target.size:
        return _in_float32(target, values, lambda wide, added: _added(wide, axis, index, added))
    scalar, position = _scalar(target.dtype, mode), POSITIONS.get(index.dtype)
    if scalar is None or position is None or values.dtype != target.dtype or not are_plain(target, index, values):
        return False
    outer, width = _around(target.shape, axis)
    if width > 1 or fresh or skipped >= 0:
        add_rows(target, index, values, None, None, outer, target.shape[axis], width, fresh, skipped, mode)
    else:
        kernel = _kernel("add_numbers", scalar, position, mode)
        work, parts = index.size * outer, 1
        if work > ALONE:
            parts = math.ceil(get_num_threads() / outer)
        listed = scratch("listed", programs.LISTED * pool().scratch_areas, np.int64)
        _run(kernel, work)(target, index, values, listed, outer, target.shape[axis], index.size, parts)
    return True


def _in_float32(target, values, add):
    """``add(target, values)`` for half precision, on copies in float32; whether that was done."""
    wide = plain(target, np.float32)
    if not are_plain(target) or not add(wide, plain(values, np.float32)):
        return False
    copied(wide, target)
    return True


def _scalar(dtype, mode):
    """As what a program treats the elements of an array; None where there is none."""
    return MOVED.get(dtype.itemsize) if mode in ("set", "fill") else ADDED.get(dtype)


def add_rows(target, index, values, owner, scales, outer, length, width, fresh, skipped=-1, mode="add"):
    """Run the program `indexing_programs.add_rows`."""
    vectors = min(math.ceil(width / lanes(target.itemsize)), _STRIP)
    options = vectors, mode, owner is not None, scales is not None
    kernel = _kernel("add_rows", _scalar(target.dtype, mode), POSITIONS[index.dtype], *options)
    work = index.size * outer * width + fresh * target.size // 4
    step = vectors * lanes(target.itemsize)
    parts, columns = 1, math.ceil(width / step) * step
    wanted = math.ceil(_PARTS * get_num_threads() / outer)  # chunks for each outer part
    if work > ALONE and wanted > 1:
        if length >= _ROWS_OF_PART * wanted:
            parts = wanted
        else:
            columns = max(step, math.ceil(width / (wanted * step)) * step)
    listed = scratch("listed", programs.LISTED * pool().scratch_areas, np.int64)
    sizes = outer, length, width, index.size, parts, columns, fresh, skipped
    _run(kernel, work)(target, index, values, owner, scales, listed, *sizes)


@plan_for("embedding")
def embedding(weight: Layout, indices: Layout, padding_idx: Passed, scale_grad_by_freq: Passed, sparse: Passed):
    if weight.ndim != 2:
        return None
    plan = _copies(weight, 0, indices, ("weight", "indices"))
    return plan and plan._replace(conditions=[Condition(embedding_ops.check_lookup, ("weight", "indices"))])


@kernel_for("embedding_gradient")
@by_single_precision()
def embedding_gradient(grad, indices, rows, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq or not grad.size or not all_inside(indices, rows):
        return NotImplemented
    found = np.empty((rows, grad.shape[-1]), grad.dtype)
    done = _added(found, 0, np.ascontiguousarray(indices), np.ascontiguousarray(grad), 1, padding_idx)
    return found if done else NotImplemented


def _located(self, indices, fewest):
    """(``self`` with the indexed dimensions as one, that one's number, the positions along it, all 0 or more), where
    neighbouring dimensions are indexed, and ``fewest`` elements or more; else None."""
    places = [dim for dim, index in enumerate(indices) if index is not None]
    first, end = places[0], places[-1] + 1
    if end - first != len(places) or not self.size or not self.flags.c_contiguous:
        return None
    arrays = indices[first:end]
    outer, width = math.prod(self.shape[:first]), math.prod(self.shape[end:])
    if max(index.size for index in arrays) * outer * width < fewest:
        return None
    if any(index.dtype not in POSITIONS for index in arrays):
        return None
    rows = arrays[0]
    if len(arrays) > 1 or not all_inside(rows, self.shape[first]):  # negative ones may be among them
        arrays = [index.astype(np.int64, copy=False) for index in np.broadcast_arrays(*arrays)]
        rows = selection.flat_places(arrays, self.shape[first:end])
    if rows is None:
        return None
    return self.reshape(*self.shape[:first], -1, *self.shape[end:]), first, np.ascontiguousarray(rows)


def _picked_shape(merged, axis, rows):
    return (*merged.shape[:axis], *rows.shape, *merged.shape[axis + 1 :])


@kernel_for("index")
def index(self, indices):
    found = selection.taken(self, indices) if len(indices) > 1 else None
    if found is not None:
        return found
    located = _located(self, indices, _WORTHWHILE)
    if located is None:
        return NotImplemented
    return _copied(*located)


@kernel_for("index_put_arrays_")
def index_put_arrays_(self, indices, values, accumulate):
    if not accumulate and (is_half(self.dtype) or values.dtype != self.dtype):
        return NotImplemented
    located = _located(self, indices, 0 if accumulate else _WORTHWHILE)
    if located is None:
        return NotImplemented
    merged, axis, rows = located
    mode = "add" if accumulate else "set" if values.size > 1 else "fill"
    if mode != "fill":
        shape = _picked_shape(*located)
        values = np.ascontiguousarray(values if values.shape == shape else np.broadcast_to(values, shape))
    return None if _added(merged, axis, rows, values.reshape(-1), mode=mode) else NotImplemented


@kernel_for("index_put_arrays")
def index_put_arrays(self, indices, values, accumulate):
    result = dense_copy(self)
    return NotImplemented if index_put_arrays_(result, indices, values, accumulate) is NotImplemented else result


@kernel_for("take")
def take(self, index):
    located = _located(self.reshape(-1), (index,), _WORTHWHILE) if self.flags.c_contiguous else None
    return NotImplemented if located is None else _copied(*located)


@kernel_for("put_")
def put_(self, index, source, accumulate):
    if source.dtype != self.dtype or index.size != source.size or not self.flags.c_contiguous:
        return NotImplemented
    if not _is_apart(self, index, source):
        return NotImplemented
    located = _located(self.reshape(-1), (index.reshape(-1),), _WORTHWHILE)
    if located is None:
        return NotImplemented
    values = np.ascontiguousarray(source).reshape(-1)
    return None if _added(*located, values, mode="add" if accumulate else "set") else NotImplemented


@kernel_for("put")
def put(self, index, source, accumulate):
    result = dense_copy(self)
    return NotImplemented if put_(result, index, source, accumulate) is NotImplemented else result


@plan_for("index_select")
def index_select(self: Layout, dim, index: Layout):
    if not self.ndim or index.ndim > 1:
        return None
    rows = Layout((index.size,), index.dtype, index.strides)
    plan = _copies(self, wrap_dim(dim, self.ndim), rows, ("self", "index"))
    return plan and plan._replace(conditions=[Condition(index_ops.selected_axis, ("self", dim, "index"))])


def _on_copy(name, in_place):
    """The kernel of the operation called ``name``: that of its form in place, on a copy."""

    def copying(self, *arguments):
        result = dense_copy(self)
        return NotImplemented if in_place(result, *arguments) is NotImplemented else result

    return kernel_for(name)(copying)


@kernel_for("index_add_")
def index_add_(self, dim, index, source, alpha):
    if self.ndim != source.ndim or not self.ndim or alpha != 1:
        return NotImplemented
    axis = index_ops.checked_rows(self, dim, index, source, "index_add_", index_ops.refuse_rows(self))
    if not _is_apart(self, index, source):
        return NotImplemented
    return None if _added(self, axis, index, np.ascontiguousarray(source)) else NotImplemented


index_add = _on_copy("index_add", index_add_)


@kernel_for("index_copy_")
def index_copy_(self, dim, index, source):
    if self.ndim != source.ndim or not self.size or not index.ndim or index.dtype != np.int64:
        return NotImplemented
    axis = wrap_dim(dim, self.ndim)
    index_ops.check_index_copy(self, axis, index, source)
    if not all_inside(index, self.shape[axis]) or not _is_apart(self, index, source):
        return NotImplemented
    return None if _added(self, axis, index, np.ascontiguousarray(source), mode="set") else NotImplemented


index_copy = _on_copy("index_copy", index_copy_)


@kernel_for("index_fill_")
def index_fill_(self, dim, index, value):
    filler = _fill_value(self, value)
    if filler is None or not self.ndim or not self.size or index.ndim != 1 or index.dtype != np.int64:
        return NotImplemented
    axis = wrap_dim(dim, self.ndim)
    if np.minimum.reduce(index, initial=0) < 0:
        index = np.where(index < 0, index + self.shape[axis], index)
    if not all_inside(index, self.shape[axis]) or np.may_share_memory(self, index):
        return NotImplemented
    return None if _added(self, axis, index, filler, mode="fill") else NotImplemented


index_fill = _on_copy("index_fill", index_fill_)


@plan_for("gather")
def gather(self: Layout, dim, index: Layout, sparse_grad: Passed):
    shape, picked, ndim = self.shape, index.shape, self.ndim
    if (
        self.dtype.itemsize not in MOVED
        or index.dtype not in POSITIONS
        or 0 in picked
        or ndim != index.ndim
        or not ndim
    ):
        return None
    axis = wrap_dim(dim, ndim)
    if shape[:axis] + shape[axis + 1 :] != picked[:axis] + picked[axis + 1 :] or not (self.is_plain and index.is_plain):
        return None
    (outer, width), count = _around(shape, axis), picked[axis]
    if width == 1 and outer < _PICKED_LINES and count > ALONE:
        return None
    step, length = count if width == 1 else width, shape[axis]
    check = index_ops.refuse_outside, ("index", length, axis)
    return _picks(self, index, Layout(picked, self.dtype), outer, length, width, count, step, ("self", "index"), check)


# ---------------------------------------------------------------- scatter


def _scattered(self, dim, index, source, mode, fresh=False):
    """Write ``source`` (an array, for "fill" of one element) along ``dim``; whether that was done.

    A ``fresh`` array shares its memory with none.
    """
    key = self.shape, self.dtype, dim, index.shape, index.dtype, mode, get_num_threads()
    plan = _scatters.remembered(key, _scattering)
    if source.dtype is not self.dtype and source.dtype != self.dtype:
        return False
    if not plan:
        if mode != "add" or not is_half(self.dtype):
            return False
        return _in_float32(self, source, lambda wide, added: _scattered(wide, dim, index, added, mode))
    if mode != "fill" and source.shape != index.shape:
        return False
    if not are_plain(self, index) or not (fresh or _is_apart(self, index, source)):
        return False
    run, chunks, sizes, axis = plan
    outside = np.zeros(chunks, np.bool_)
    run(self, index, source if are_plain(source) else source.copy(), outside, *sizes)
    if np.count_nonzero(outside):
        index_ops.refuse_outside(index, self.shape[axis], axis)
    return True


def _is_apart(target, *others):
    """Whether an array that is written shares no memory with others."""
    return not any(map(functools.partial(np.may_share_memory, target), others))


def _scattering(shape, dtype, dim, written, position, mode, threads):
    """What `_scattered` runs, its number of chunks, the sizes that it gets, and the axis; False where no program fits."""
    scalar, ndim = _scalar(dtype, mode), len(shape)
    if (
        scalar is None
        or dtype.itemsize < 4
        or position not in POSITIONS
        or 0 in written
        or ndim != len(written)
        or not ndim
    ):
        return False
    axis = wrap_dim(dim, ndim)
    if shape[:axis] != written[:axis] or shape[axis + 1 :] != written[axis + 1 :]:
        return False
    outer, width = _around(shape, axis)
    count, line = lanes(dtype.itemsize), ()
    if width > 1:
        # Strips of whole cache lines, so that threads keep out of each other's; wide ones fetch stretches of memory.
        wanted = math.ceil(width * outer / (_PARTS * threads))
        line = (max(count, min(wanted, _STRIP_COLUMNS) // count * count),)
    chunks = outer * math.ceil(width / (line[0] if line else 1))
    kernel = _kernel("scatter_lines" if width > 1 else "scatter_numbers", scalar, POSITIONS[position], mode)
    sizes = outer, shape[axis], width, written[axis], *line
    return _run(kernel, math.prod(written)), chunks, sizes, axis


def _scatter_kernels(name, mode, prepared=lambda self, source: source):
    """The kernels of a scatter operation: the one in place, and that on a copy. ``prepared`` makes an array of what is
    written, None where there is none."""

    def in_place(self, dim, index, source):
        source = prepared(self, source)
        return None if source is not None and _scattered(self, dim, index, source, mode) else NotImplemented

    def copying(self, dim, index, source):
        result, source = dense_copy(self), prepared(self, source)
        return result if source is not None and _scattered(result, dim, index, source, mode, True) else NotImplemented

    return kernel_for(name)(copying), kernel_for(name + "_")(in_place)


@kernel_for("placed")
def placed(self, dim, index, shape):
    axis, ndim, result = wrap_dim(dim, len(shape)), len(shape), filled(shape, 0, self.dtype)
    index, values = (gather_ops.with_axis(array, axis, ndim) for array in (index, self))
    return result if _scattered(result, axis, index, values, "add", True) else NotImplemented


def _fill_value(self, value):
    """A number as an array of one element, or None where PyTorch has something to say about it."""
    kind = self.dtype.kind
    if kind in "iu" and value.__class__ is int:
        bounds = np.iinfo(self.dtype)
        return np.full(1, value, self.dtype) if bounds.min <= value <= bounds.max else None
    if kind != "f" or value.__class__ not in (int, float):
        return None
    return fitted(self.dtype, value)


scatter_src, _ = _scatter_kernels("scatter_src", "set")
scatter_add, _ = _scatter_kernels("scatter_add", "add")
scatter_value, scatter_value_ = _scatter_kernels("scatter_value", "fill", _fill_value)


_REDUCTIONS = {  # mode of the programs, what a place begins with that does not count itself
    "sum": ("add", 0),
    "mean": ("add", 0),
    "prod": ("multiply", 1),
    "amax": ("max", -math.inf),
    "amin": ("min", math.inf),
}


@kernel_for("scatter_reduce_")
def scatter_reduce_(self, dim, index, src, reduce, include_self):
    if reduce not in _REDUCTIONS or self.dtype not in ADDED or src.dtype != self.dtype:
        return NotImplemented
    if src.shape != index.shape or np.may_share_memory(self, src):  # before anything is written
        return NotImplemented
    mode, start = _REDUCTIONS[reduce]
    counts = np.ones_like(self) if reduce == "mean" else None
    for array, first in () if include_self else ((self, start), (counts, 0)):
        if array is not None and not _scattered(array, dim, index, np.full(1, first, self.dtype), "fill"):
            return NotImplemented
    if not _scattered(self, dim, index, src, mode):
        return NotImplemented
    if counts is not None:
        _scattered(counts, dim, index, np.ones_like(src), "add")
        with np.errstate(all="ignore"):
            np.divide(self, np.maximum(counts, 1, out=counts), out=self)
    return None


scatter_reduce = _on_copy("scatter_reduce", scatter_reduce_)
