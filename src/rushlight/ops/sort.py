"""Sorting and searching: sort, topk, unique, isin, searchsorted, bucketize."""

import math

import numpy as np

from ..base import dtypes
from ..base.arrays import in_result_order
from ..base.errors import hinted
from ..base.notes import warn_once
from ..base.scalars import check_number, wrapped
from ..base.shapes import wrap_dim, wrap_own_dim
from .extrema import at_positions
from .gather import flat_positions
from .results import named_result
from .table import camel_case, composite, functions, op, widened


def sorted_positions(array, axis, descending):
    """Positions that sort ``array`` along ``axis``, equal elements in their order; NaN counts as the largest."""
    array = widened(array)  # bfloat16's own comparisons put NaN anywhere
    if not descending:
        return array.argsort(axis, "stable")
    turned = (*(slice(None),) * axis, slice(None, None, -1))  # reversed twice: descending, and still stable
    return array.shape[axis] - 1 - array[turned].argsort(axis, "stable")[turned]


FEW_OF_NAN = 16  # elements: so few PyTorch sorts by insertion, where NaN stops what moves


def order_by_insertion(rows):
    """The positions that sort rows of numbers by insertion, NaN being neither smaller nor larger than anything."""
    order = []
    for position, row in enumerate(rows):
        if order and _is_before(row, rows[order[0]]):
            order.insert(0, position)
            continue
        place = position
        while place and _is_before(row, rows[order[place - 1]]):
            place -= 1
        order.insert(place, position)
    return order


def _is_before(row, other):
    for mine, theirs in zip(row, other):
        if mine != theirs and mine == mine and theirs == theirs:
            return mine < theirs
    return False


def _elements_at(array, positions, axis):
    """The elements at positions along ``axis``, of which there is one row for each row of the array."""
    if array.flags.c_contiguous:
        return array.take(flat_positions(positions, axis, array.shape))
    return np.take_along_axis(array, positions, axis)


@op("sort(Tensor self, int dim, bool descending, bool stable) -> Tensor[]", names=(), node="SortBackward0")
class sort_pair:
    """The elements in order along one dimension, and where they were."""

    def forward(self, dim, descending, stable):
        if self.dtype.kind == "c":
            raise RuntimeError(" Sort does not support complex dtypes on CPU")
        axis = wrap_dim(dim, self.ndim)
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        positions = np.ascontiguousarray(sorted_positions(self, axis, descending))
        values = _elements_at(self, positions, axis)
        if self.flags.c_contiguous:
            return values, positions
        return in_result_order(values, (self,)), in_result_order(positions, (self,))

    def d_self(grad, shape, dim, result1):
        return at_positions(grad, shape, dim, result1)


_SORT, _TOPK = named_result("sort", "values indices"), named_result("topk", "values indices")


@composite(out=True)
def sort(input, dim=-1, descending=False, stable=False):
    """The elements in order along ``dim``, and the positions they had.

    >>> import rushlight as torch
    >>> torch.tensor([3, 1, 2]).sort().values
    tensor([1, 2, 3])
    """
    return _SORT(*functions.sort_pair(input, dim, descending, bool(stable)))


@composite
def argsort(input, dim=-1, descending=False, stable=False):
    """The positions that put the elements in order along ``dim``."""
    plain = input if input._edge is None else input.detach()
    return functions.sort_pair(plain, dim, descending, stable)[1]


@composite(out=True)
def msort(input):
    """The elements in order along the first dimension."""
    return functions.sort_pair(input, 0, False, False)[0]


def _leading_positions(array, count, axis, largest):
    """Positions of the ``count`` largest or smallest elements, in order; a few of many are found by partition."""
    length = array.shape[axis]
    if count == 0 or length < 4 * count:
        return np.ascontiguousarray(sorted_positions(array, axis, largest).take(range(count), axis))
    cut = length - count if largest else count - 1
    wide = widened(array)
    parts = np.argpartition(wide, cut, axis)
    some = parts.take(range(cut, length) if largest else range(count), axis)
    some.sort(axis)  # equal elements then stay in their order
    order = sorted_positions(np.take_along_axis(wide, some, axis), axis, largest)
    return np.ascontiguousarray(np.take_along_axis(some, order, axis))


@op("topk(Tensor self, int k, int dim, bool largest, bool sorted) -> Tensor[]", names=(), node="TopkBackward0")
class topk_pair:
    """The k largest (or smallest) elements along one dimension, and where they are."""

    def forward(self, k, dim, largest, sorted):
        if self.dtype.kind in "cb":
            name = " topk does not support complex" if self.dtype.kind == "c" else "topk does not support bool"
            raise RuntimeError(f"{name} dtypes on CPU")
        axis = wrap_dim(dim, self.ndim)
        if not 0 <= k <= (self.shape[axis] if self.ndim else 1):
            raise RuntimeError(
                hinted(
                    "selected index k out of range",
                    f"k is {k}, the dimension has {self.shape[axis] if self.ndim else 1} elements",
                )
            )
        if self.ndim == 0:
            return self.copy(), np.zeros((), np.int64)
        positions = _leading_positions(self, k, axis, largest)
        return _elements_at(self, positions, axis), positions

    def d_self(grad, shape, dim, result1):
        return at_positions(grad, shape, dim, result1)


@composite(out=True)
def topk(input, k, dim=-1, largest=True, sorted=True):
    """The ``k`` largest elements along ``dim`` (the smallest where ``largest`` is False), in order, and where they are."""
    return _TOPK(*functions.topk_pair(input, k, dim, largest, sorted))


# ---------------------------------------------------------------- unique elements


def _unique_name(self, dim, consecutive, *options):
    """PyTorch's operation."""
    if consecutive:
        return "unique_consecutive"
    return "_unique2" if dim is None else "unique_dim"


def _unique_node(*values):
    return camel_case(_unique_name(*values)) + "Backward0"


@op(
    "unique(Tensor self, int? dim, bool consecutive, bool inverse, bool counts) -> Tensor[]",
    names=(),
    node=_unique_node,
)
class unique_parts:
    """The different elements (or slices along ``dim``); if asked which of them each element is, and how often each occurs."""

    def no_derivative(*values):
        return NotImplementedError, f"the derivative for '{_unique_name(*values)}' is not implemented."

    def forward(self, dim, consecutive, inverse, counts):
        if self.dtype.kind == "c":
            name = "unique" if dim is None else "unique_dim"
            dtype = dtypes.from_numpy(self.dtype)
            raise NotImplementedError(
                hinted(f"\"{name}\" not implemented for '{dtype.legacy_name}'", "complex numbers have no order")
            )
        if dim is None:
            rows, shape = self.ravel(), self.shape
        else:
            axis = wrap_own_dim(dim, self.ndim)
            if self.size == 0:
                _refuse_empty_slices(self.shape, axis)
            rows, shape = np.moveaxis(self, axis, 0), (self.shape[axis],)
        if consecutive:
            values, lengths = _runs(rows)
            numbers = _run_numbers(lengths) if inverse else None
        elif dim is None:
            values, lengths, numbers = _sorted_runs(rows, inverse)
        else:
            values, numbers, lengths = _different_rows(rows)
        if dim is not None:
            values = np.moveaxis(np.ascontiguousarray(values), 0, axis)
        found = [values, numbers.reshape(shape)] if inverse else [values]
        return (*found, lengths) if counts else tuple(found)


def _refuse_empty_slices(shape, axis):
    """Refuse to compare slices without elements."""
    if shape[axis]:
        first = "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
    elif shape.count(0) > 1:
        first = "Number of zero sized dimensions is more than one, so unique cannot be applied "
    else:
        return
    raise RuntimeError(hinted(first, f"the shape is {list(shape)}"))


def _different_rows(rows):
    """The different rows of an array in order, which of them each one is, and how often each occurs."""
    wide = widened(rows)
    if len(rows) <= FEW_OF_NAN and wide.dtype.kind == "f" and np.isnan(wide).any():
        order = np.array(order_by_insertion(wide.reshape(len(rows), -1).tolist()))
        values, lengths = _runs(rows[order])
        numbers = np.empty(len(rows), np.int64)
        numbers[order] = _run_numbers(lengths)
        return values, numbers, lengths
    values, numbers, lengths = np.unique(wide, return_inverse=True, return_counts=True, axis=0, equal_nan=False)
    return values.astype(rows.dtype, copy=False), numbers, lengths


def _sorted_runs(flat, inverse):
    """The runs of equal elements of a vector in order, nans being all different; and, if asked, which one each is in."""
    wide = widened(flat)
    if not inverse:
        ordered = wide.copy()
        ordered.sort()
        return *_runs(ordered.astype(flat.dtype, copy=False)), None
    order = wide.argsort()
    values, counts = _runs(flat.take(order))
    numbers = np.empty(flat.size, np.int64)
    numbers[order] = _run_numbers(counts)
    return values, counts, numbers


def _runs(rows):
    """Runs of equal neighbours along the first axis: their first rows and their lengths."""
    length = rows.shape[0]
    is_first = np.empty(length, np.bool_)
    is_first[:1] = True
    changes = rows[1:] != rows[:-1]
    is_first[1:] = changes if rows.ndim == 1 else changes.any(tuple(range(1, rows.ndim)))
    starts = is_first.nonzero()[0]
    counts = np.empty(starts.size, np.int64)
    np.subtract(starts[1:], starts[:-1], counts[:-1])
    counts[-1:] = length - starts[-1:]
    return rows[starts], counts


def _run_numbers(counts):
    """For each element of runs of these lengths, which run it is in."""
    return np.arange(counts.size).repeat(counts)


def _unique(input, consecutive, return_inverse, return_counts, dim):
    found = tuple(functions.unique_parts(input, dim, consecutive, return_inverse, return_counts))
    return found if return_inverse or return_counts else found[0]


@composite
def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order; on request which of them each element is, and how often each occurs.

    >>> import rushlight as torch
    >>> torch.unique(torch.tensor([2, 1, 2]), return_counts=True)
    (tensor([1, 2]), tensor([1, 2]))
    """
    return _unique(input, False, return_inverse, return_counts, dim)


@composite
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without repeats of their predecessor."""
    return _unique(input, True, return_inverse, return_counts, dim)


def _refuse_unordered(given):
    """PyTorch's refusal to look among bools and complex numbers, which it does not sort."""
    is_tensor = hasattr(given, "_edge")
    dtype = given.dtype if is_tensor else dtypes.of_scalar(given)
    if dtype is dtypes.bool_ or dtype.is_complex:
        name = dtype.legacy_name if is_tensor or not dtype.is_complex else dtypes.complex128.legacy_name
        raise RuntimeError(
            hinted(f"Unsupported input type encountered for isin(): {name}", "compare with == and any() instead")
        )


@composite(names=("torch",), out=True)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """For each element whether it is among ``test_elements``."""
    for given in (elements, test_elements):
        check_number(given)
    for given in (elements, test_elements):
        _refuse_unordered(given)
    return functions.is_among(*_in_one_dtype(elements, test_elements), invert)


@op("isin(Tensor elements, Tensor test_elements, bool invert) -> Tensor", names=())
class is_among:
    """For each element whether it is among others of the same dtype."""

    def forward(elements, test_elements, invert):
        return np.asarray(np.isin(widened(elements), widened(test_elements), invert=invert))


def _in_one_dtype(*values):
    """Tensors, and numbers among them, as tensors of the dtype in which they are compared."""
    dtype = functions.result_type(*values)
    return [v.to(dtype) if hasattr(v, "_edge") else functions.wrap(wrapped(dtype.numpy, v)) for v in values]


# ---------------------------------------------------------------- search and count


def ends_in_nan(sequence):
    """Whether a row of a sorted array ends in NaN."""
    if sequence.dtype.kind != "f" or not sequence.size:
        return False
    last = sequence[..., -1]
    return bool((last != last).any())


def _bisected(sequence, values, right):
    """Where values belong in rows in which NaN stands: as PyTorch's search finds it, to which nothing is above NaN."""
    rows = np.arange(math.prod(sequence.shape[:-1]))[:, None]
    flat, wanted = sequence.reshape(len(rows), -1), values.reshape(len(rows), -1)
    low, high = np.zeros(wanted.shape, np.int64), np.full(wanted.shape, flat.shape[1])
    for _ in range(flat.shape[1].bit_length()):
        middle = (low + high) >> 1
        found = flat[rows, np.minimum(middle, flat.shape[1] - 1)]
        above = found > wanted if right else found >= wanted
        is_open = low < high
        low, high = np.where(is_open & ~above, middle + 1, low), np.where(is_open & above, middle, high)
    return low.reshape(values.shape)


@op("searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False) -> Tensor", names=())
class search_positions:
    """Where values would be put into sorted rows to keep them sorted."""

    def forward(sorted_sequence, self, out_int32, right):
        side, kind = "right" if right else "left", np.int32 if out_int32 else np.int64
        sorted_sequence, self = widened(sorted_sequence), widened(self)
        if ends_in_nan(sorted_sequence):
            return _bisected(sorted_sequence, self, right).astype(kind)
        if sorted_sequence.ndim == 1:
            return np.asarray(np.searchsorted(sorted_sequence, self, side)).astype(kind)
        count = math.prod(sorted_sequence.shape[:-1])
        rows, values = (a.reshape(count, a.shape[-1]) for a in (sorted_sequence, self))
        found = np.empty(values.shape, kind)
        for row, value, places in zip(rows, values, found):
            places[:] = np.searchsorted(row, value, side)
        return found.reshape(self.shape)


def _searched(value, among):
    """The tensor of values that is looked for, or the number, and the tensor ``among`` in the dtype in which they are compared."""
    if not hasattr(value, "_edge"):
        check_number(value)
    if not hasattr(value, "_edge") or value.numel():
        _check_ordered(functions.result_type(value, among))
    return _in_one_dtype(value, among)


def _check_ordered(dtype):
    if dtype.is_complex or dtype is dtypes.bool_:
        raise NotImplementedError(
            hinted(f"\"searchsorted_out_cpu\" not implemented for '{dtype.legacy_name}'", "these have no order")
        )


def _tell_copies(value, among, sorter=None):
    """Warn of what PyTorch copies before it searches, once of each kind of argument."""
    if not hasattr(value, "_edge") or value.numel():
        for tensor, role in ((value, "input value"), (among, "boundary"), (sorter, "sorter")):
            if hasattr(tensor, "_edge") and not tensor.is_contiguous():
                warn_once(
                    f"torch.searchsorted(): {role} tensor is non-contiguous, this will lower the performance due to extra data "
                    f"copy when converting non-contiguous tensor to contiguous, please use contiguous {role} tensor if possible. "
                    "This message will only appear once per program."
                )


def _check_sorter(sorter, sequence):
    """Refuse what does not say in which order the elements of ``sequence`` are sorted."""
    if sorter.shape != sequence.shape:
        raise RuntimeError(
            hinted(
                f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sequence.shape)}and got sorter tensor {list(sorter.shape)}",
                "the sorter is what argsort() gives",
            )
        )
    if sorter.dtype is not dtypes.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype " + sorter.dtype.legacy_name
        )
    places = functions.elements_of(sorter)
    if places.size and not 0 <= places.min() <= places.max() < sequence.shape[-1]:
        raise RuntimeError(
            hinted(
                "torch.searchsorted(): sorter index out of range", f"a row has {sequence.shape[-1]} elements, from 0 on"
            )
        )


@composite(names=("torch",), out=True)
def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """Where each value of ``input`` would be put into ``sorted_sequence`` (its last dimension) to keep it sorted.

    >>> import rushlight as torch
    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if sorter is not None:
        _check_sorter(sorter, sorted_sequence)
    given = input, sorted_sequence
    input, sorted_sequence = _searched(*given)
    if sorter is not None:
        sorted_sequence = sorted_sequence.gather(-1, sorter)
    if input.ndim == 0 and sorted_sequence.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    if sorted_sequence.ndim != 1 and tuple(sorted_sequence.shape[:-1]) != tuple(input.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value "
            f"tensor {list(input.shape)}"
        )
    _tell_copies(*given, sorter)
    return functions.search_positions(sorted_sequence, input, out_int32=out_int32, right=right or side == "right")


@composite(names=("torch",), out=True)
def bucketize(input, boundaries, *, out_int32=False, right=False):
    """The number of the interval between ``boundaries`` (sorted, 1-dim) that each value falls into."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    _tell_copies(input, boundaries)
    input, boundaries = _searched(input, boundaries)
    return functions.search_positions(boundaries, input, out_int32=out_int32, right=right)
