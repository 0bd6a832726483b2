"""Indexing with tensors: what ``x[...]`` does beyond views, and index_select, index_add, index_copy, index_fill."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted, kind_name
from ..base.scalars import fitted
from ..base.shapes import wrap_dim, wrap_own_dim
from .index_layout import in_order_of
from .schema import number_of
from .table import composite, functions, is_half, op, widened
from .writing import WARN, writes


def type_name(array):
    """How PyTorch's messages call the dtype of an array: ``Float``, ``Long``, ..."""
    return dtypes.from_numpy(array.dtype).legacy_name


_UINT32, _UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)


def first_outside(index, low, high):
    """The first position of ``index`` that is not in [low, high), or None."""
    if not index.size:
        return None
    if low == 0 and is_position_dtype(index.dtype):
        if largest_unsigned(index) < high:
            return None
    elif int(index.min()) >= low and int(index.max()) < high:
        return None
    flat = index.reshape(-1)
    return int(flat[np.flatnonzero((flat < low) | (flat >= high))[0]])


def largest_unsigned(index):
    """The largest position, negative ones being huge: where it is costs NumPy less than to take it."""
    unsigned = index.view(_UINT64 if index.itemsize == 8 else _UINT32)
    return unsigned.item(unsigned.argmax())


def refuse_outside(index, length, dim, error=RuntimeError, name=""):
    """Refuse positions outside 0 to ``length - 1`` of dimension ``dim``."""
    bad = first_outside(index, 0, length)
    if bad is not None:
        raise error(
            hinted(
                f"{name}index {bad} is out of bounds for dimension {dim} with size {length}",
                f"positions along dimension {dim} are 0 to {length - 1}; negative ones do not count from the end here",
            )
        )


def is_position_dtype(dtype):
    """Whether arrays of this dtype count positions: int32 or int64."""
    return dtype.kind == "i" and dtype.itemsize >= 4


# ---------------------------------------------------------------- x[indices]


@op("index(Tensor self, positions indices) -> Tensor", names=())
class index:
    """The elements at ``indices``: a tuple with an int64 array, or None for a whole dimension, for each dimension."""

    frees_values = True

    def forward(self, indices):
        if len(indices) == 1 and self.flags.c_contiguous:
            return self.take(indices[0], 0)
        found = self[_numpy_key(indices)]
        if not found.size:
            return np.empty(found.shape, found.dtype)
        found = np.ascontiguousarray(found)
        if not self.flags.c_contiguous:
            return in_order_of(found, self, indices)
        # NumPy leaves odd strides to dimensions of length 1.
        return found.reshape(-1).reshape(found.shape) if 1 in found.shape else found

    def d_self(grad, shape, indices):
        return functions.index_put_arrays_(grad.new_zeros(shape), indices, grad, True)


_WHOLE = slice(None)


def _numpy_key(indices):
    return tuple([_WHOLE if i is None else i for i in indices])


@writes(
    "index_put(Tensor self, positions indices, Tensor values, bool accumulate=False) -> Tensor",
    names=(),
    inplace_names=(),
    node="IndexPutBackward0",
    memory=WARN,
)
class index_put_arrays:
    """A copy of the tensor with ``values`` at ``indices``, added where ``accumulate``."""

    frees_values = True

    def write(self, indices, values, accumulate):
        values = values.astype(self.dtype, copy=False)
        if accumulate:
            add_at(self, indices, values)
        else:
            self[_numpy_key(indices)] = values

    def d_self(grad, indices, values_shape, accumulate):
        if accumulate:
            return grad
        return functions.index_put_arrays(
            grad, indices, functions.zeros((), dtype=grad.dtype, device=grad.device).expand(values_shape), False
        )

    def d_values(grad, indices, values_shape):
        return functions.index(grad, indices).sum_to_size(values_shape)


_FEW, _BLOCK = 64, 16384  # elements: of short ways, and of flat positions that stay in the cache


def add_at(target, indices, values):
    """``target[indices] += values`` with repeated positions counted each time."""
    rows_first = target.flags.c_contiguous and target.size and all(i is not None for i in indices)
    if not rows_first or (values.size <= _FEW and values.shape[:1] == indices[0].shape[:1]):
        add_at_key(target, _numpy_key(indices), values)
        return
    # The indexed dimensions come first: they are one dimension of rows.
    covered = target.shape[: len(indices)]
    arrays = indices if len(indices) == 1 else np.broadcast_arrays(*indices)
    rows = 0
    for array, length in zip(arrays, covered):
        rows = rows * length + np.where(array < 0, array + length, array)
    rest = target.shape[len(indices) :]
    values = np.broadcast_to(values, (*arrays[0].shape, *rest)).reshape(rows.size, *rest)
    add_rows(target.reshape(-1, *rest), rows.reshape(-1), values)


def add_at_key(target, key, values):
    """``target[key] += values`` with repeated positions counted each time, half precision added up in float32."""
    wide = widened(target)
    np.add.at(wide, key, values)
    if wide is not target:
        target[...] = wide


def add_rows(target, rows, values):
    """Add ``values[i]`` to ``target[rows[i]]``, one after the other; rows are 0 or more.

    Half precision is summed in float32, row by row, as is what lies in memory in another order.
    """
    if not values.size:
        return
    if rows.ndim != 1 or values.shape != (rows.size, *target.shape[1:]):
        rows = rows.reshape(-1)
        values = values.reshape(rows.size, *target.shape[1:])
    if is_half(target.dtype) or not target.flags.c_contiguous:
        _add_sums(target, rows, values)
    elif target.ndim == 1 or values.size <= _FEW:
        np.add.at(target, rows, values)
    else:
        width = values.size // rows.size
        flat, columns, step = target.reshape(-1), np.arange(width), max(_BLOCK // width, 1)
        for start in range(0, rows.size, step):
            places = np.add.outer(rows[start : start + step].astype(np.int64, copy=False) * width, columns)
            np.add.at(flat, places.reshape(-1), values[start : start + step].reshape(-1))


def _add_sums(target, rows, values):
    """`add_rows` in which the values of each row are summed first."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if starts.size == rows.size:
        target[rows] += values
    else:
        own = ordered[starts]
        sums = np.add.reduceat(widened(values[order]), starts, axis=0)
        target[own] = (widened(target[own]) + sums).astype(target.dtype, copy=False)


# ---------------------------------------------------------------- along one dimension


@op("index_select(Tensor self, int dim, Tensor index) -> Tensor")
class index_select:
    """The slices at the positions ``index`` (1-dim, int32 or int64) of dimension ``dim``, as a copy.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 2, 3]]).index_select(1, torch.tensor([2, 0]))
    tensor([[3, 1]])
    """

    def forward(self, dim, index):
        dim = selected_axis(self, dim, index)
        source = self if self.ndim else self.reshape(1)
        found = source.take(index.reshape(-1), dim)
        return found if self.ndim else found.reshape(())

    def d_self(grad, shape, dim, index):
        return grad.new_zeros(shape).index_add_(dim, index, grad)


def selected_axis(self, dim, index):
    """The axis of ``dim``, after the checks of index_select's arguments."""
    if index.ndim > 1:
        raise IndexError(
            hinted("index_select(): Index is supposed to be a vector", f"it has shape {list(index.shape)}")
        )
    if not is_position_dtype(index.dtype):
        raise RuntimeError(
            hinted(
                "index_select(): Expected dtype int32 or int64 for index",
                f"it has dtype {type_name(index)}; convert it with .long()",
            )
        )
    if self.ndim == 0 and index.size != 1:
        raise RuntimeError(
            hinted(
                f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)",
                "a 0-dim tensor has one element",
            )
        )
    axis = wrap_dim(dim, self.ndim)
    length = self.shape[axis] if self.ndim else 1
    bad = first_outside(index, 0, length)
    if bad is not None and self.ndim > 1 and (not self.size or (self.ndim == 2 and axis == 1)):
        words = (
            f"INDICES element is out of DATA bounds, id={bad} axis_dim={length}"
            if length
            else "index_select(): self indexing axis dim should be positive"
        )
        raise RuntimeError(hinted(words, f"the tensor has the shape {list(self.shape)}"))
    if bad is not None:
        raise IndexError(
            hinted(
                "index out of range in self",
                f"dimension {axis} has {length} positions, index holds {int(index.min())} to {int(index.max())}",
            )
        )
    return axis


def refuse_positions(index, length, axis):
    """Refuse positions that do not exist, with the words for vectors."""
    if first_outside(index, 0, length) is not None:
        raise IndexError(hinted("index out of range in self", f"dimension {axis} has {length} positions, from 0 on"))


def refuse_rows(self):
    """How index_add refuses positions that do not exist in a tensor."""
    return refuse_outside if self.ndim > 1 else refuse_positions


def checked_rows(self, dim, index, source, name, out_of_range):
    """The axis of ``dim``, after the checks that index_add and index_reduce make of their arguments.

    ``out_of_range(index, length, axis)`` raises where positions do not exist.
    """
    axis = wrap_dim(dim, self.ndim)
    if _are_rows(self, axis, index, source):
        out_of_range(index, self.shape[axis], axis)
        return axis
    if not is_position_dtype(index.dtype):
        raise RuntimeError(
            hinted(
                f"{name}(): Expected dtype int32/int64 for index but got: {type_name(index)}", "convert it with .long()"
            )
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            hinted(
                f"{name}(): self ({type_name(self)}) and source ({type_name(source)}) must have the same scalar type",
                f"convert the source with .to({dtypes.from_numpy(self.dtype)!r})",
            )
        )
    if index.ndim > 1:
        raise IndexError(
            hinted(
                f"{name}(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {type_name(index)} "
                f"and size: {list(index.shape)}",
                "one position for each slice of the source",
            )
        )
    if axis and axis >= source.ndim:
        message = f"{name}(): Indexing dim {axis} is out of bounds of the source tensor with dim {source.ndim}"
        raise RuntimeError(hinted(message, "the source has as many dimensions as the tensor"))
    expected, given = list(self.shape), list(source.shape)
    if self.ndim:
        expected[axis : axis + 1] = []
        given[axis : axis + 1] = []
    count = source.shape[axis] if source.ndim else 1
    if index.size != count:
        wrap_own_dim(axis, source.ndim)
        raise RuntimeError(
            hinted(
                f"{name}(): Number of indices ({index.size}) should be equal to source.size(dim): ({count}), for dim: "
                f"{axis}",
                "one position for each slice of the source",
            )
        )
    if given != expected or source.ndim != self.ndim:
        _refuse_source(self, source, axis)
    if self.size or self.ndim == 1 or out_of_range is not refuse_outside:  # PyTorch's index_add() returns at once
        out_of_range(index, self.shape[axis] if self.ndim else 1, axis)
    return axis


def _are_rows(self, axis, index, source):
    """Whether ``source`` has one slice of ``self``, which is not empty, for each position of a vector."""
    shape, given = self.shape, source.shape
    return (
        index.dtype is dtypes.INT64_ARRAY
        and self.dtype is source.dtype
        and len(shape) == len(given) > 0
        and index.shape == (given[axis],)
        and shape[:axis] == given[:axis]
        and shape[axis + 1 :] == given[axis + 1 :]
        and self.size > 0
    )


def _refuse_source(self, source, axis):
    raise RuntimeError(
        hinted(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}",
            f"only dimension {axis} may differ in length",
        )
    )


def rows_of(array, axis):
    """``array`` with dimension ``axis`` first, as a view; a 0-dim array as its only row."""
    if not axis and array.ndim:
        return array
    return np.moveaxis(array, axis, 0) if array.ndim else array.reshape(1)


@writes("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor")
class index_add:
    """A copy of the tensor with ``alpha * source`` added at the positions ``index`` of dimension ``dim``.

    >>> import rushlight as torch
    >>> torch.zeros(3).index_add(0, torch.tensor([0, 2, 2]), torch.ones(3))
    tensor([1., 0., 2.])
    """

    by_rows = True

    def write(self, dim, index, source, alpha):
        axis = checked_rows(self, dim, index, source, "index_add_", refuse_rows(self))
        values = source if alpha == 1 else source * fitted(source.dtype, alpha)
        if self.size:
            add_rows(rows_of(self, axis), index, rows_of(values, axis))

    def d_self(grad):
        return grad

    def d_source(grad, dim, index, source, alpha):
        found = grad.index_select(dim, index).reshape(source.shape)
        return found if alpha == 1 else found * alpha


def check_index_copy(self, axis, index, source):
    """PyTorch's refusals of arguments of index_copy; not yet of positions that do not exist."""
    name = "index_copy_()"
    if index.ndim > 1:
        raise IndexError(hinted(f"{name}: Index should have dimension 1 or 0 (got {index.ndim})", "it lists positions"))
    count = source.shape[axis] if source.ndim > axis else 1
    if source.ndim == 0 and index.size != 1:
        raise IndexError(
            hinted(
                f"{name}: When source is scalar, index should have one element (got {index.size})",
                "one position for each slice of the source",
            )
        )
    if source.ndim != self.ndim and source.ndim and self.ndim:
        raise IndexError(
            hinted(
                f"{name}: When source and destination are not scalars, their dimensionality must match. Source "
                f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})",
                "only the length of one dimension may differ",
            )
        )
    if index.dtype != np.int64:
        raise RuntimeError(
            hinted(f"{name}: Expected a long tensor for index, but got {type_name(index)}", "convert it with .long()")
        )
    if self.dtype != source.dtype:
        raise RuntimeError(
            hinted(
                f"{name}: self and source expected to have the same dtype, but got (self) {type_name(self)} and "
                f"(source) {type_name(source)}",
                f"convert the source with .to({dtypes.from_numpy(self.dtype)!r})",
            )
        )
    slices = [tuple(n for d, n in enumerate(a.shape) if d != axis) for a in (self, source)]
    if slices[0] != slices[1]:
        shown = [" ".join(map(str, s)) for s in slices]
        raise RuntimeError(
            hinted(
                f"{name}: Source/destination tensor must have same slice shapes. Destination slice shape: {shown[0]} at "
                f"dimension {axis} and source slice shape: {shown[1]} at dimension 0.",
                "only the length of one dimension may differ",
            )
        )
    if source.ndim and index.size != count:
        raise IndexError(
            hinted(
                f"{name}: Number of indices ({index.size}) should be equal to source.size(dim) ({count})",
                "one position for each slice of the source",
            )
        )


@writes("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor")
class index_copy:
    """A copy of the tensor with the slices of ``source`` at the positions ``index`` of dimension ``dim``."""

    by_rows = True

    def write(self, dim, index, source):
        axis = wrap_dim(dim, self.ndim)
        check_index_copy(self, axis, index, source)
        if not self.size and not source.size:
            return
        refuse_outside(index, self.shape[axis] if self.ndim else 1, axis, IndexError, "index_copy_(): ")
        rows_of(self, axis)[index.reshape(-1)] = rows_of(source, axis)

    def d_self(grad, dim, index, source_shape):
        return grad.index_copy(dim, index, functions.zeros(source_shape, dtype=grad.dtype, device=grad.device))

    def d_source(grad, dim, index, source):
        return grad.index_select(dim, index).reshape(source.shape)


def _index_fill_node(self, dim, index, value):
    return "IndexFillBackward1" if hasattr(value, "_edge") else "IndexFillBackward0"


@writes(
    "index_fill(Tensor self, int dim, Tensor index, Operand value) -> Tensor",
    node=_index_fill_node,
    inplace_node=_index_fill_node,
    memory=WARN,
)
class index_fill:
    """A copy of the tensor with one value at the positions ``index`` of dimension ``dim``."""

    def write(self, dim, index, value):
        if getattr(value, "ndim", 0):
            raise RuntimeError(
                hinted(
                    "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                    f"{value.ndim} dimension(s).",
                    "index_copy_() writes a slice for each position",
                )
            )
        if index.dtype != np.int64:
            raise IndexError(
                hinted("index_fill_(): Expected dtype int64 for index.", f"it holds {type_name(index)}; call .long()")
            )
        if self.dtype.kind != "c" and (isinstance(value, complex) or getattr(value, "dtype", self.dtype).kind == "c"):
            raise RuntimeError(
                hinted(
                    "index_fill_(): Converting complex Scalar to non-complex type is not supported",
                    "take the real part of the value",
                )
            )
        if index.ndim > 1:
            raise RuntimeError(hinted("Index has to be a vector/scalar", f"it has shape {list(index.shape)}"))
        axis = wrap_dim(dim, self.ndim)
        length = self.shape[axis] if self.ndim else 1
        if not self.size and length:
            return
        value = fitted(self.dtype, value.item() if hasattr(value, "dtype") else value)
        bad = first_outside(index, -length, length)
        if bad is not None:
            raise IndexError(
                hinted(
                    f"index {bad} is out of bounds for dimension {axis} with size {length}",
                    f"positions are {-length} to {length - 1}",
                )
            )
        rows_of(self, axis)[index.reshape(-1)] = value

    def d_self(grad, dim, index):
        return grad.index_fill(dim, index, 0)

    def d_value(grad, dim, index):
        filled = functions.index_fill(functions.zeros_like(grad, dtype=dtypes.bool_), dim, index, True)
        return grad.masked_fill(filled.logical_not(), 0).sum()


@composite(names=("Tensor",))
def fill_diagonal_(input, fill_value, wrap=False):
    """Write a number on the main diagonal of a matrix, or of a tensor whose lengths are all equal.

    Args:
        fill_value: the number.
        wrap: in a matrix with more rows than columns, start again after a row that is left out.
    """
    if input.ndim < 2:
        raise RuntimeError(hinted("dimensions must larger than 1", f"the tensor has shape {list(input.shape)}"))
    number = number_of(fill_value)
    if number is None:
        raise TypeError(
            f"fill_diagonal_(): argument 'fill_value' (position 1) must be Number, not {kind_name(fill_value)}"
        )
    lengths, strides = tuple(input.shape), input.stride()
    if input.ndim > 2 and len(set(lengths)) > 1:
        raise RuntimeError(hinted("all dimensions of input must be of equal length", f"they are {list(lengths)}"))
    block = lengths[1] + 1 if wrap and input.ndim == 2 else lengths[0]
    for start in range(0, lengths[0], max(block, 1)):
        count = min(lengths[0] - start, *lengths[1:])
        input.as_strided((count,), (sum(strides),), input.storage_offset() + start * strides[0]).fill_(number)
    return input
