"""Elements written or combined at their positions along a dimension, by kernels: scatter and its like."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...base.settings import get_num_threads
from ...base.shapes import wrap_dim
from ...ops import index as index_ops
from ...ops.table import is_half
from ..machine.host import lanes
from ..planning.in_place import are_apart, on_copy
from ..planning.layout import Layout, copies
from ..planning.plan import Check, Condition, HostStep, Made, Passed, Plan
from ..planning.runner import plan_for
from . import indexing_programs as programs
from .indexing import ADDED, POSITIONS, around, launch_of
from .writing import filler_of, scalar_for

_SINGLE, _BOOL = np.dtype(np.float32), np.dtype(np.bool_)
_STRIP_COLUMNS = 256  # columns of a scatter that a chunk writes
_PARTS = 2  # chunks for each thread
_REDUCTIONS = {  # mode of the programs, what a place begins with that does not count itself
    "sum": ("add", 0),
    "mean": ("add", 0),
    "prod": ("multiply", 1),
    "amax": ("max", -math.inf),
    "amin": ("min", math.inf),
}


def _scatter(x, dim, index, mode, names):
    """(the Launch that writes or combines numbers in an array like ``x``; chunks that tell in "outside" whether a position does
    not exist; the Check of that); None where no program fits. ``names`` are those of the array, positions and numbers."""
    scalar, ndim = scalar_for(x.dtype, mode), x.ndim
    if (
        scalar is None
        or x.itemsize < 4
        or index.dtype not in POSITIONS
        or not index.size
        or ndim != index.ndim
        or not ndim
    ):
        return None
    axis = wrap_dim(dim, ndim)
    if not x.is_plain or x.shape[:axis] != index.shape[:axis] or x.shape[axis + 1 :] != index.shape[axis + 1 :]:
        return None
    outer, width = around(x.shape, axis)
    count, line, build = lanes(x.itemsize), (), programs.scatter_numbers
    if width > 1:
        # Strips of whole cache lines, so that threads keep out of each other's; wide ones fetch stretches of memory.
        wanted = math.ceil(width * outer / (_PARTS * get_num_threads()))
        line, build = (max(count, min(wanted, _STRIP_COLUMNS) // count * count),), programs.scatter_lines
    chunks = outer * math.ceil(width / (line[0] if line else 1))
    arguments = *names, "outside", outer, x.shape[axis], width, index.shape[axis], *line
    launch = launch_of(build, scalar, POSITIONS[index.dtype], (mode,), arguments, index.size)
    return launch, chunks, Check("outside", index_ops.refuse_outside, (names[1], x.shape[axis], axis))


def _scatters(x, dim, index, source, mode, name="src", **fields):
    """The Plan of writing into ``self``; of half precision, where numbers are added, on copies in float32."""
    copied, layouts = {}, {"index": index} if source is None else {"index": index, name: source}
    if source is not None and (source.dtype != x.dtype or source.shape != index.shape):
        return None
    if mode == "add" and is_half(x.dtype):
        copied, x = {"self": _SINGLE, name: _SINGLE}, Layout(x.shape, _SINGLE)
    found = _scatter(x, dim, index, mode, ("self", "index", name))
    if found is None:
        return None
    launch, chunks, check = found
    return Plan([launch], {}, [("outside", chunks, _BOOL)], zeroed=("outside",), check=check, in_place=("self",),
                copied={**copies(**layouts), **copied}, conditions=[Condition(are_apart, ("self", *layouts))], **fields)  # fmt: skip


@plan_for("scatter_src_")
def scatter_src_(self: Layout, dim, index: Layout, src: Layout):
    return _scatters(self, dim, index, src, "set")


@plan_for("scatter_add_")
def scatter_add_(self: Layout, dim, index: Layout, src: Layout):
    return _scatters(self, dim, index, src, "add")


@plan_for("scatter_value_")
def scatter_value_(self: Layout, dim, index: Layout, value: Passed):
    return _scatters(self, dim, index, None, "fill", "filler", made={"filler": Made(filler_of, (self.dtype, value))})


@plan_for("placed")
def placed(self: Layout, dim, index: Layout, shape):
    axis, out = wrap_dim(dim, len(shape)), Layout(tuple(shape), self.dtype)
    copied, given = copies(self=self, index=index), {}
    if is_half(out.dtype):
        copied["self"], given["out"], out = _SINGLE, out, Layout(out.shape, _SINGLE)
    whole = (
        (*out.shape[:axis], 1, *out.shape[axis + 1 :]) if index.ndim < out.ndim else index.shape
    )  # see ops.gather.placed
    found = _scatter(out, axis, Layout(whole, index.dtype), "add", ("out", "index", "self"))
    if found is None or self.shape != index.shape or math.prod(whole) != index.size:
        return None
    launch, chunks, check = found
    return Plan([launch], {"out": out}, [("outside", chunks, _BOOL)], zeroed=("out", "outside"), check=check,
                copied=copied, given=given)  # fmt: skip


def _divided(sums, counts):
    """Sums divided by how many numbers they are of, by 1 where there are none."""
    with np.errstate(all="ignore"):
        np.divide(sums, np.maximum(counts, 1, out=counts), out=sums)


@plan_for("scatter_reduce_")
def scatter_reduce_(self: Layout, dim, index: Layout, src: Layout, reduce, include_self):
    if reduce not in _REDUCTIONS or self.dtype not in ADDED:
        return None
    mode, start = _REDUCTIONS[reduce]
    plan = _scatters(self, dim, index, src, mode)
    if plan is None:
        return None
    launches, made = [], {}

    def add(name, mode, numbers, value, like):
        """A launch that scatters ``numbers``, an array of which each is ``value``, into the array ``name``."""
        made[numbers] = Made(partial(np.full, like.shape, value, self.dtype), ())
        launches.append(_scatter(self, dim, index, mode, (name, "index", numbers))[0])

    one = Layout((1,), self.dtype)
    if not include_self:
        add("self", "fill", "start", start, one)
    launches += plan.launches
    if reduce == "mean":
        made["counts"] = Made(partial(np.full, self.shape, 1, self.dtype), ())
        if not include_self:
            add("counts", "fill", "none", 0, one)
        add("counts", "add", "ones", 1, index)
        launches.append(HostStep(_divided, ("self", "counts")))
    return plan._replace(launches=launches, made=made)


scatter_src = plan_for("scatter_src")(on_copy(scatter_src_.plan))
scatter_add = plan_for("scatter_add")(on_copy(scatter_add_.plan))
scatter_value = plan_for("scatter_value")(on_copy(scatter_value_.plan))
scatter_reduce = plan_for("scatter_reduce")(on_copy(scatter_reduce_.plan))
