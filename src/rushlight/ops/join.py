"""Joining and repeating: cat, stack, tile, roll, flip."""

import itertools
import math

import numpy as np

from ..base import dtypes
from ..base.arrays import concatenate, empty_in_result_order, is_channels_last
from ..base.device import contiguous_format
from ..base.errors import hinted
from ..base.lazy import NO_NUMBERS, is_meta, plain
from ..base.shapes import sizes_argument, wrap_dim, wrap_dims, wrap_own_dim
from .moving import copied, filled, ramps, write
from .table import TABLE, composite, functions, op


def common_array_dtype(arrays):
    """The NumPy dtype that arrays promote to, 0-dim ones counting less, as PyTorch's ``result_type``."""
    first = arrays[0].dtype
    if all(array.dtype is first for array in arrays):
        return first
    dimensioned = [dtypes.from_numpy(a.dtype) for a in arrays if a.ndim]
    return dtypes.result_type(dimensioned, [dtypes.from_numpy(a.dtype) for a in arrays if not a.ndim], ()).numpy


_FEW = 1 << 14  # elements of an array that is not copied for itself
APART = 1 << 13  # elements of an array of any layout that is worth a copy of its own


def are_alike(arrays):
    """Whether all arrays have one shape and dtype."""
    first, count = arrays[0], len(arrays)
    same = [array.shape for array in arrays].count(first.shape) == count
    return same and [array.dtype for array in arrays].count(first.dtype) == count


def packed(arrays):
    """Arrays of one shape and dtype along a new first dimension, in one piece; None where shapes or dtypes differ."""
    first = arrays[0]
    try:
        found = np.array(arrays)
    except ValueError:  # shapes that differ
        return None
    return found if found.dtype is first.dtype and found.shape[1:] == first.shape else None


@op("cat(Tensor[] tensors, int dim=0) -> Tensor", names=("torch", "torch:concat", "torch:concatenate"))
class cat:
    """Tensors joined along an existing dimension; all other lengths must agree.

    >>> import rushlight as torch
    >>> torch.cat([torch.zeros(1, 2), torch.ones(1, 2)])
    tensor([[0., 0.],
            [1., 1.]])
    """

    joins = True

    def forward(tensors, dim):
        if not tensors:
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        first = tensors[0]
        if -first.ndim <= dim < first.ndim < 4 and not _are_apart(tensors):
            try:
                found = concatenate(tensors, dim, dtype=first.dtype, casting="no")
                return found if found.flags.c_contiguous else np.ascontiguousarray(found)
            except (TypeError, ValueError):  # other dtypes, empty vectors, or lengths that do not fit
                pass
        kind = common_array_dtype(tensors)
        kept = [t for t in tensors if t.shape != (0,)]  # an empty vector joins anything, for history's sake
        for position, array in enumerate(tensors):
            if array.ndim == 0:
                raise RuntimeError(
                    hinted(
                        f"zero-dimensional tensor (at position {position}) cannot be concatenated",
                        "stack() joins 0-dim tensors along a new dimension",
                    )
                )
        if not kept:
            return np.empty(0, kind)
        dim = wrap_dim(dim, kept[0].ndim)
        _check_joinable(kept, tensors, dim)
        if all(is_channels_last(array) for array in kept):
            turned = [np.moveaxis(array, 1, -1) for array in kept]
            place = 0 if dim == 0 else kept[0].ndim - 1 if dim == 1 else dim - 1
            return np.moveaxis(_joined(turned, place, kind), -1, 1)
        return _joined(kept, dim, kind)

    def d_tensors(grad, tensors_shape, dim):
        lengths = [0 if shape == (0,) else shape[dim] for shape in tensors_shape]
        parts = functions.split_with_sizes(grad, lengths, dim)
        return [part.reshape(shape) if shape == (0,) else part for part, shape in zip(parts, tensors_shape)]


def _are_apart(arrays):
    """Whether each array is best copied to its place by itself: NumPy joins large ones that lie in other orders slowly."""
    return arrays[0].size >= APART and not all(array.flags.c_contiguous for array in arrays)


def _joined(arrays, axis, kind):
    if _are_apart(arrays):
        first, lengths = arrays[0].shape, [array.shape[axis] for array in arrays]
        found, end, before = np.empty((*first[:axis], sum(lengths), *first[axis + 1 :]), kind), 0, (slice(None),) * axis
        for array, length in zip(arrays, lengths):
            begin, end = end, end + length
            write(found[(*before, slice(begin, end))], array)
        return found
    return np.ascontiguousarray(concatenate(arrays, axis=axis, dtype=kind, casting="unsafe"))


def _check_joinable(kept, tensors, dim):
    first = kept[0]
    for array in kept[1:]:
        if array.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {array.ndim}")
        for axis, (a, b) in enumerate(zip(first.shape, array.shape)):
            if axis != dim and a != b:
                position = next(i for i, t in enumerate(tensors) if t is array)
                raise RuntimeError(
                    hinted(
                        f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor "
                        f"number {position} in the list.",
                        f"the shapes are {' and '.join(str(list(t.shape)) for t in (first, array))}",
                    )
                )


@op("stack(Tensor[] tensors, int dim=0) -> Tensor", names=("torch",))
class stack:
    """Tensors of one shape joined along a new dimension.

    >>> import rushlight as torch
    >>> torch.stack([torch.tensor(1), torch.tensor(2)])
    tensor([1, 2])
    """

    joins = True

    def forward(tensors, dim):
        if not tensors:
            raise RuntimeError("stack expects a non-empty TensorList")
        if dim == 0 and tensors[0].size <= _FEW and tensors[0].ndim < 4:
            found = packed(tensors)
            if found is not None:
                return found
        first, alike = tensors[0], are_alike(tensors)
        for position, array in enumerate(() if alike else tensors):
            if array.shape != first.shape:
                raise RuntimeError(
                    hinted(
                        f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and "
                        f"{list(array.shape)} at entry {position}",
                        "cat() joins tensors whose lengths differ in one dimension",
                    )
                )
        dim = wrap_dim(dim, first.ndim + 1)
        shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
        if 3 < first.ndim < 6 and dim < first.ndim and all(map(is_channels_last, tensors)):
            return TABLE["cat"].forward(tensors, dim).reshape(shape)  # a split dimension is a view
        if alike and dim < first.ndim and not _are_apart(tensors):
            return np.ascontiguousarray(concatenate(tensors, dim)).reshape(shape)
        before, found = (slice(None),) * dim, np.empty(shape, first.dtype if alike else common_array_dtype(tensors))
        for place, array in enumerate(tensors):
            write(found[(*before, place, ...)], array)
        return found

    def d_tensors(grad, dim):
        return list(grad.unbind(dim))


def _stacker(name, prepare, dim_of, doc):
    def join(tensors):
        if hasattr(tensors, "_edge"):
            raise TypeError(
                hinted(
                    f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
                    "put the tensors into a tuple or list",
                )
            )
        tensors = [prepare(t) for t in tensors]
        if not tensors:
            raise RuntimeError(hinted(f"{name} expects a non-empty TensorList", "nothing was given to join"))
        return functions.cat(tensors, dim_of(tensors))

    join.__name__ = join.__qualname__ = name
    join.__doc__ = doc
    return composite(join, names=("torch", "torch:row_stack") if name == "vstack" else ("torch",), out=True)


hstack = _stacker(
    "hstack", lambda t: functions.atleast_1d(t), lambda ts: 0 if ts[0].ndim == 1 else 1, "Tensors side by side."
)


vstack = _stacker("vstack", lambda t: functions.atleast_2d(t), lambda ts: 0, "Tensors one below the other.")


dstack = _stacker("dstack", lambda t: functions.atleast_3d(t), lambda ts: 2, "Tensors one behind the other.")


column_stack = _stacker(
    "column_stack",
    lambda t: t.reshape(t.numel(), 1) if t.ndim <= 1 else t,
    lambda ts: 1,
    "Vectors as columns, matrices side by side.",
)


@op("repeat(Tensor self, int[]* repeats) -> Tensor", names=("Tensor",))
class repeat:
    """The tensor copied ``repeats[i]`` times along each dimension; extra repeats make new first dimensions."""

    def forward(self, repeats):
        if len(repeats) < self.ndim:
            raise RuntimeError(
                hinted(
                    "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor",
                    f"the tensor has {self.ndim} dimensions, repeats are {list(repeats)}",
                )
            )
        if any(r < 0 for r in repeats):
            sizes = [r * n for r, n in zip(repeats, (1,) * (len(repeats) - self.ndim) + self.shape)]
            raise RuntimeError(
                hinted(
                    f"Trying to create tensor with negative dimension {next(n for n in sizes if n < 0)}: {sizes}",
                    f"repeats are 0 or more, not {list(repeats)}",
                )
            )
        inner = (1,) * (len(repeats) - self.ndim) + self.shape
        found = np.empty([r * n for r, n in zip(repeats, inner)], self.dtype)
        spread = found.reshape([n for pair in zip(repeats, inner) for n in pair])
        write(spread, self.reshape([n for length in inner for n in (1, length)]))
        return found

    def d_self(grad, shape, repeats):
        missing = len(repeats) - len(shape)
        if 0 in repeats:
            return grad.new_zeros(shape)
        inner = [n for r, length in zip(repeats, (1,) * missing + shape) for n in (r, length)]
        return grad.reshape(inner).sum(list(range(0, len(inner), 2))).reshape(shape) if inner else grad


@composite
def tile(input, *dims):
    """The tensor copied along each dimension as NumPy's ``tile``: missing repeats are 1."""
    dims = sizes_argument(dims)
    return input.repeat((1,) * (input.ndim - len(dims)) + dims)


@composite
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None):
    """Each element (or slice along ``dim``) repeated ``repeats`` times in a row.

    Args:
        input: the tensor; alone, a 1-dim tensor of counts: the result names each of its positions so many times.
        repeats: a number, or an integer tensor with a count for each element.
        dim: the dimension; by default the tensor is flattened.
        output_size: the length of the result along ``dim``, checked where given.

    >>> import rushlight as torch
    >>> torch.tensor([1, 2]).repeat_interleave(2)
    tensor([1, 1, 2, 2])
    """
    if repeats is None:
        repeats, dim = input, 0
        input = functions.arange(repeats.numel(), dtype=repeats.dtype if repeats.dtype is dtypes.int32 else None)
    if dim is None:
        input, dim = input.flatten(), 0
    named, dim = dim, wrap_dim(dim, input.ndim)
    length = input.shape[dim] if input.ndim else 1
    if not hasattr(repeats, "_edge"):
        if repeats < 0:
            raise RuntimeError(hinted("Repeats must be non-negative", f"it is {repeats}"))
        if output_size is not None and output_size != repeats * length:
            raise RuntimeError(
                hinted(
                    f"repeat_interleave: Invalid output_size, expected {repeats * length} but got {output_size}",
                    "it is the length of the result along dim",
                )
            )
        shape = (*input.shape[: dim + 1], repeats, *input.shape[dim + 1 :])
        spread = input.unsqueeze(dim + 1).expand(shape).clone(memory_format=contiguous_format)
        return spread.flatten(dim, dim + 1)
    counts = _counts(repeats, length, named, output_size)
    total = int(counts.sum())
    _check_output_size(output_size, total)
    if (counts < 0).any():
        raise RuntimeError(hinted("repeats can not be negative", f"the smallest is {counts.min()}"))
    positions = np.empty(total, np.int64)
    ramps(positions, np.arange(length), counts, 0)
    return input.index_select(dim, functions.from_numpy(positions))


def _counts(repeats, length, dim, output_size):
    """The array of how often each of ``length`` slices is repeated."""
    if repeats.ndim > 1:
        raise RuntimeError(hinted("repeats must be 0-dim or 1-dim tensor", f"it has shape {list(repeats.shape)}"))
    if is_meta(repeats._array):
        raise RuntimeError(hinted("cannot repeat_interleave a meta tensor without output_size", NO_NUMBERS))
    counts = plain(repeats._array)
    if counts.size == 1:
        counts = np.broadcast_to(counts.reshape(-1), (length,))
    if counts.size != length:
        raise RuntimeError(
            hinted(
                f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
                f"input.size({dim}) = {length}",
                "one count for each slice",
            )
        )
    if counts.dtype.kind != "i" or counts.dtype.itemsize < 4:
        raise NotImplementedError(
            hinted(
                f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.legacy_name}'",
                "convert it with .long()",
            )
        )
    if output_size is not None and output_size < 0:
        raise RuntimeError(
            hinted(f"Trying to create tensor with negative dimension {output_size}: [{output_size}]", "it is a length")
        )
    return counts


def _check_output_size(output_size, length):
    if output_size is not None and output_size != length:
        raise RuntimeError(
            hinted("allocated size does not match required size", f"the result has {length} slices, not {output_size}")
        )


def _rolled(array, shifts, axes):
    """The array in windows that keep together: along each axis what stays and what comes in at the other end."""
    if is_channels_last(array) and not array.flags.c_contiguous:
        place = [0, array.ndim - 1, *range(1, array.ndim - 1)]
        return np.moveaxis(_rolled(np.moveaxis(array, 1, -1), shifts, [place[axis] for axis in axes]), -1, 1)
    if len(axes) == 1 and array.size < _FEW:
        axis, length = axes[0], array.shape[axes[0]]
        cut = -shifts[0] % length if length else 0
        turned = array if axis == 0 else array.swapaxes(0, axis)
        joined = concatenate((turned[cut:], turned[:cut]))
        return np.ascontiguousarray(joined if axis == 0 else joined.swapaxes(0, axis))
    moves = dict.fromkeys(axes, 0)
    for shift, axis in zip(shifts, axes):
        moves[axis] += shift
    windows = []
    for axis, length in enumerate(array.shape):
        cut = moves.get(axis, 0) % length if length else 0
        stays = slice(0, length - cut), slice(cut, length)
        windows.append([stays, (slice(length - cut, length), slice(0, cut))] if cut else [stays])
    found = np.empty(array.shape, array.dtype)
    for pairs in itertools.product(*windows):
        sources, targets = zip(*pairs)
        write(found[targets], array[sources])
    return found


@op("roll(Tensor self, int[] shifts, int[] dims=()) -> Tensor")
class roll:
    """Elements moved along dimensions by ``shifts``; what leaves at one end comes in at the other."""

    def forward(self, shifts, dims):
        if not shifts:
            raise RuntimeError(hinted("`shifts` required", "say how far each dimension moves"))
        if (not dims and len(shifts) != 1) or (dims and len(dims) != len(shifts)):
            raise RuntimeError(
                hinted(
                    f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}",
                    "every dimension has one shift",
                )
            )
        if not self.size:
            return self.copy()
        if not dims:
            return _rolled(self.reshape(-1), shifts, (0,)).reshape(self.shape)
        return _rolled(self, shifts, [wrap_own_dim(d, self.ndim) for d in dims])

    def d_self(grad, shifts, dims):
        return grad.roll([-s for s in shifts], dims)


def _flipped(array, dims):
    """A copy of the array with the order reversed along ``dims``; dimensions keep their order in memory."""
    axes = wrap_dims(dims, array.ndim)
    turned = [slice(None, None, -1 if axis in axes else 1) for axis in range(array.ndim)]
    view = array[(*turned, ...)]
    if array.flags.c_contiguous:
        return copied(view)
    return write(empty_in_result_order((array,), array.shape, array.dtype), view)


@op("flip(Tensor self, int[]* dims) -> Tensor")
class flip:
    """The order of elements reversed along ``dims``, as a copy."""

    def forward(self, dims):
        return _flipped(self, dims)

    def d_self(grad, dims):
        return grad.flip(dims)


@composite
def fliplr(input):
    """Columns in reverse order."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip(1)


@composite
def flipud(input):
    """Rows in reverse order."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip(0)


@op("rot90(Tensor self, int k=1, int[0] dims=[0, 1]) -> Tensor")
class rot90:
    """The plane of two dimensions turned by ``k`` right angles, as a copy.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 2], [3, 4]]).rot90()
    tensor([[2, 4],
            [1, 3]])
    """

    def forward(self, k, dims):
        if len(dims) != 2:
            raise RuntimeError(
                hinted(f"expected total rotation dims == 2, but got dims = {len(dims)}", "a plane has two dimensions")
            )
        if self.ndim < 2:
            raise RuntimeError(
                hinted(f"expected total dims >= 2, but got total dims = {self.ndim}", "a plane has two dimensions")
            )
        first, second = (wrap_dim(dim, self.ndim) for dim in dims)
        if first == second:
            raise RuntimeError(
                hinted(
                    f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}",
                    "a plane has two dimensions",
                )
            )
        k %= 4
        if k == 2:
            return _flipped(self, dims)
        if k == 0:
            return copied(self)
        return _flipped(self, (second if k == 1 else first,)).swapaxes(first, second)

    def d_self(grad, k, dims):
        return grad.rot90(-k, dims)


@op("block_diag(Tensor[] tensors) -> Tensor", names=(), node="BlockDiagBackward0")
class block_diagonal:
    """`block_diag` of a list."""

    def forward(tensors):
        for position, array in enumerate(tensors):
            if array.ndim > 2:
                raise RuntimeError(
                    hinted(
                        "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                        f"{position} has {array.ndim} dimensions",
                        "the blocks of a matrix are matrices",
                    )
                )
        if not tensors:
            return np.empty((1, 0), dtypes.get_default_dtype().numpy)
        blocks = [np.atleast_2d(a) for a in tensors]
        result = filled([sum(b.shape[d] for b in blocks) for d in (0, 1)], 0, common_array_dtype(tensors))
        row = column = 0
        for block in blocks:
            height, width = block.shape
            write(result[row : row + height, column : column + width], block)
            row, column = row + height, column + width
        return result

    def d_tensors(grad, tensors_shape):
        found, row, column = [], 0, 0
        for shape in tensors_shape:
            height, width = shape if len(shape) == 2 else (1, math.prod(shape))
            found.append(grad[row : row + height, column : column + width].reshape(shape))
            row, column = row + height, column + width
        return found


@composite(names=("torch",))
def block_diag(*tensors):
    """Matrices (vectors count as rows) along the diagonal of one matrix, zeros elsewhere.

    >>> import rushlight as torch
    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor([3]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    return functions.block_diagonal(list(tensors))
