"""Indexing with tensors: gather, scatter, index_select, masks, one_hot, and what ``x[...]`` does beyond views."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import broadcast_shapes, wrap_dim
from .table import composite, functions, op


def check_index(index, length, what="index"):
    """Refuse positions outside ``-length`` to ``length - 1``; NumPy alone would also, in other words."""
    if index.size and (int(index.min()) < -length or int(index.max()) >= length):
        bad = int(index.min()) if int(index.min()) < -length else int(index.max())
        raise IndexError(
            hinted(f"index {bad} is out of bounds for dimension with size {length}", f"valid positions are {-length} to {length - 1}")
        )


def _no_negative(index, length, dim):
    if index.size and (int(index.min()) < 0 or int(index.max()) >= length):
        bad = int(index.min()) if int(index.min()) < 0 else int(index.max())
        raise RuntimeError(
            hinted(
                f"index {bad} is out of bounds for dimension {dim} with size {length}",
                f"positions along dimension {dim} are 0 to {length - 1}; negative ones are not counted from the end here",
            )
        )


def _integers(index, name, kinds="i"):
    if index.dtype.kind not in kinds or index.dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int64 for index")


# ---------------------------------------------------------------- x[indices]


@op("index(Tensor self, any indices) -> Tensor", names=())
class index:
    """The elements at ``indices``: a tuple with an int64 array, or None for a whole dimension, for each dimension."""

    def forward(self, indices):
        return np.ascontiguousarray(self[_numpy_key(indices)])

    def d_self(grad, self, indices):
        return functions.index_put(grad.new_zeros(self.shape), indices, grad, True)


def _numpy_key(indices):
    return tuple(slice(None) if i is None else i for i in indices)


@op("index_put(Tensor self, any indices, Tensor values, bool accumulate=False) -> Tensor", names=(), inplace=True)
class index_put:
    """A copy of the tensor with ``values`` at ``indices``, added where ``accumulate``."""

    def forward(self, indices, values, accumulate):
        result = self.copy(order="C")
        values = values.astype(self.dtype, copy=False)
        if accumulate:
            add_at(result, _numpy_key(indices), values)
        else:
            result[_numpy_key(indices)] = values
        return result

    def d_self(grad, indices, values, accumulate):
        if accumulate:
            return grad
        return functions.index_put(grad, indices, functions.zeros((), dtype=grad.dtype).expand(values.shape), False)

    def d_values(grad, indices, values):
        return functions.index(grad, indices).sum_to_size(values.shape)


def add_at(target, key, values):
    """``target[key] += values`` with repeated positions counted each time."""
    if len(key) == 1 and target.ndim >= 1 and isinstance(key[0], np.ndarray) and target.flags.c_contiguous:
        _add_rows(target, key[0], values)
    else:
        np.add.at(target, key, values)


def _add_rows(target, rows, values):
    """Add whole rows at repeated positions: sorted runs summed at once, faster than element by element."""
    rows = rows.reshape(-1)
    values = np.broadcast_to(values, (*rows.shape, *target.shape[1:])) if values.ndim <= target.ndim and values.shape[:1] != rows.shape else values
    values = values.reshape(rows.size, *target.shape[1:])
    if rows.size == 0:
        return
    rows = np.where(rows < 0, rows + target.shape[0], rows)
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    if starts.size == rows.size:
        target[rows] += values
    else:
        target[ordered[starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=target.dtype)


# ---------------------------------------------------------------- along one dimension


@op("index_select(Tensor self, int dim, Tensor index) -> Tensor")
class index_select:
    """The slices at the positions ``index`` (1-dim, int32 or int64) of dimension ``dim``, as a copy."""

    def forward(self, dim, index):
        if index.ndim > 1:
            raise IndexError("index_select(): Index is supposed to be a vector, but got dim: " + str(index.ndim) + " with type: " + dtypes.from_numpy(index.dtype).legacy_name + " and size: " + str(list(index.shape)))
        if index.dtype.kind != "i" or index.dtype.itemsize < 4:
            raise RuntimeError("index_select(): Expected dtype int32 or int64 for index but got: " + dtypes.from_numpy(index.dtype).legacy_name)
        if self.ndim == 0:
            return self.reshape(1)[index.reshape(-1)].reshape(index.shape if index.size == 1 and index.ndim == 0 else ())
        dim = wrap_dim(dim, self.ndim)
        if index.size and (int(index.min()) < 0 or int(index.max()) >= self.shape[dim]):
            raise IndexError(hinted("index out of range in self", f"dimension {dim} has {self.shape[dim]} positions, index holds {int(index.min())} to {int(index.max())}"))
        return np.take(self, index.reshape(-1), axis=dim)

    def d_self(grad, self, dim, index):
        return functions.index_add(grad.new_zeros(self.shape), dim, index, grad)


@op("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", inplace=True)
class index_add:
    """A copy of the tensor with ``alpha * source`` added at the positions ``index`` of dimension ``dim``."""

    def forward(self, dim, index, source, alpha):
        if index.ndim > 1:
            raise RuntimeError("index_add_(): Index dimension is supposed to be 1, but got " + str(index.ndim))
        if self.dtype != source.dtype:
            raise RuntimeError(f"index_add_(): self ({dtypes.from_numpy(self.dtype).legacy_name}) and source ({dtypes.from_numpy(source.dtype).legacy_name}) must have the same scalar type")
        result = self.copy(order="C")
        axis = wrap_dim(dim, self.ndim)
        flat, values = (result.reshape(1), source.reshape(1)) if self.ndim == 0 else (result, source)
        _no_negative(index, flat.shape[axis], axis)
        values = values if alpha == 1 else values * np.asarray(alpha, values.dtype)
        rows = np.moveaxis(flat, axis, 0)
        if axis == 0:
            _add_rows(flat, index, values)
        else:
            np.add.at(rows, index.reshape(-1), np.moveaxis(values, axis, 0))
        return result

    def d_self(grad):
        return grad

    def d_source(grad, dim, index, source, alpha):
        found = grad.index_select(dim, index).reshape(source.shape)
        return found if alpha == 1 else found * alpha


@op("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", inplace=True)
class index_copy:
    """A copy of the tensor with the slices of ``source`` at the positions ``index`` of dimension ``dim``."""

    def forward(self, dim, index, source):
        if index.dtype != np.int64:
            raise IndexError("index_copy_(): Expected a long tensor for index, but got " + dtypes.from_numpy(index.dtype).legacy_name)
        if self.dtype != source.dtype:
            raise RuntimeError(f"index_copy_(): self and source expected to have the same dtype, but got (self) {dtypes.from_numpy(self.dtype).legacy_name} and (source) {dtypes.from_numpy(source.dtype).legacy_name}")
        result = self.copy(order="C")
        axis = wrap_dim(dim, self.ndim)
        flat = result.reshape(1) if self.ndim == 0 else result
        _no_negative(index, flat.shape[axis], axis)
        np.moveaxis(flat, axis, 0)[index.reshape(-1)] = np.moveaxis(source.reshape(flat.shape if source.ndim == 0 else source.shape), axis, 0)
        return result

    def d_self(grad, dim, index, source):
        return grad.index_copy(dim, index, functions.zeros(source.shape, dtype=grad.dtype))

    def d_source(grad, dim, index, source):
        return grad.index_select(dim, index).reshape(source.shape)


@op("index_fill(Tensor self, int dim, Tensor index, Operand value) -> Tensor", inplace=True)
class index_fill:
    """A copy of the tensor with one value at the positions ``index`` of dimension ``dim``."""

    def forward(self, dim, index, value):
        if getattr(value, "ndim", 0):
            raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
        result = self.copy(order="C")
        flat = result.reshape(1) if self.ndim == 0 else result
        check_index(index, flat.shape[wrap_dim(dim, self.ndim)])
        np.moveaxis(flat, wrap_dim(dim, self.ndim), 0)[index.reshape(-1)] = value
        return result

    def d_self(grad, dim, index):
        return grad.index_fill(dim, index, 0)

    def d_value(grad, dim, index):
        return grad.index_select(dim, index.reshape(-1).unique()).sum()


def _along(self, dim, index, name):
    """Check a gather or scatter index, and give (axis, positions for NumPy's advanced indexing)."""
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError(
            hinted(
                "Index tensor must have the same number of dimensions as input tensor"
                if name == "gather"
                else "Index tensor must have the same number of dimensions as self tensor",
                f"input has shape {list(self.shape)}, index {list(index.shape)}",
            )
        )
    return wrap_dim(dim, max(self.ndim, 1))


def _grid(index, axis):
    """For each dimension the positions that ``index`` stands for: itself along ``axis``, its own place elsewhere."""
    return tuple(index if d == axis else np.arange(n).reshape((-1,) + (1,) * (index.ndim - d - 1)) for d, n in enumerate(index.shape))


@op("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor")
class gather:
    """Along ``dim``, the elements at ``index``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``."""

    def forward(self, dim, index, sparse_grad):
        if index.size == 0:
            return np.empty(index.shape, self.dtype)
        axis = _along(self, dim, index, "gather")
        source, where = (self if self.ndim else self.reshape(1)), (index if index.ndim else index.reshape(1))
        for d in range(where.ndim):
            if d != axis and where.shape[d] > source.shape[d]:
                raise RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                    f"{list(self.shape)} apart from dimension {axis}"
                )
        _no_negative(where, source.shape[axis], axis)
        return source[_grid(where, axis)].reshape(index.shape)

    def d_self(grad, self, dim, index):
        return grad.new_zeros(self.shape).scatter_add(dim, index, grad)


@composite(names=("torch", "Tensor"))
def take_along_dim(input, indices, dim=None):
    """The elements at ``indices`` along ``dim``, with broadcasting of the other dimensions; flat where ``dim`` is None."""
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.legacy_name}")
    if input.ndim != indices.ndim:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {input.ndim} dimensions for "
            f"input, and {indices.ndim} dimensions for indices"
        )
    dim = wrap_dim(dim, input.ndim)
    others = broadcast_shapes(
        *[tuple(1 if d == dim else n for d, n in enumerate(t.shape)) for t in (input, indices)]
    )
    resized = [t.expand((*others[:dim], t.shape[dim], *others[dim + 1 :])) for t in (input, indices)]
    return resized[0].gather(dim, resized[1])


def _scatter_into(self, dim, index, src, name):
    """A copy of self, the NumPy key that ``index`` means there, and the values of ``src`` that it takes."""
    result = self.copy(order="C")
    if index.size == 0:
        return result, None, None
    axis = _along(self, dim, index, name)
    flat, where = (result if self.ndim else result.reshape(1)), (index if index.ndim else index.reshape(1))
    _no_negative(where, flat.shape[axis], axis)
    if isinstance(src, np.ndarray) and src.ndim == 0 and index.ndim:
        values = src
    elif isinstance(src, np.ndarray):
        source = src if src.ndim else src.reshape(1)
        if any(n > m for n, m in zip(where.shape, source.shape)) or any(
            n > m for d, (n, m) in enumerate(zip(where.shape, flat.shape)) if d != axis
        ):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {axis} and to "
                f"be no larger size than src {list(src.shape)}"
            )
        values = source[tuple(slice(0, n) for n in where.shape)]
    else:
        values = src
    return result, (flat, _grid(where, axis)), values


def _same_dtype(self, src, name):
    if isinstance(src, np.ndarray) and src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")


@op("scatter(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", names=(), node="ScatterBackward0", inplace=True)
class scatter_src:
    """`scatter` of a tensor."""

    def forward(self, dim, index, src):
        _same_dtype(self, src, "scatter")
        result, place, values = _scatter_into(self, dim, index, src, "scatter")
        if place is not None:
            place[0][place[1]] = values
        return result

    def d_self(grad, dim, index):
        return functions.scatter_value(grad, dim, index, 0)

    def d_src(grad, dim, index, src):
        return _padded(grad.gather(dim, index), src)


@op("scatter(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", names=(), node="ScatterBackward1", inplace=True)
class scatter_value:
    """`scatter` of one number."""

    def forward(self, dim, index, value):
        result, place, _ = _scatter_into(self, dim, index, value, "scatter")
        if place is not None:
            place[0][place[1]] = value
        return result

    def d_self(grad, dim, index):
        return functions.scatter_value(grad, dim, index, 0)


def _padded(grad, src):
    """A gradient for the used corner of ``src``, with zeros for the rest."""
    if grad.shape == src.shape:
        return grad
    full = grad.new_zeros(src.shape)
    full[tuple(slice(0, n) for n in grad.shape)] = grad
    return full


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _scatter(input, dim, index, src=None, *, value=None, reduce=None, inplace=False):
    suffix = "_" if inplace else ""
    if src is None:
        src = value
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        source = src if hasattr(src, "_edge") else input.new_full(index.shape, src)
        if reduce == "add":
            return getattr(functions, "scatter_add" + suffix)(input, dim, index, source)
        return getattr(functions, "scatter_reduce" + suffix)(input, dim, index, source, "prod", include_self=True)
    kind = "scatter_src" if hasattr(src, "_edge") else "scatter_value"
    return getattr(functions, kind + suffix)(input, dim, index, src)


@composite
def scatter(input, dim, index, src=None, *, value=None, reduce=None):
    """A copy of the tensor with ``src`` (a tensor or a number) written at ``index`` along ``dim``.

    ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``; of values for one place, any may win.
    """
    return _scatter(input, dim, index, src, value=value, reduce=reduce)


@composite(names=("Tensor",))
def scatter_(input, dim, index, src=None, *, value=None, reduce=None):
    """In-place form of `scatter`."""
    return _scatter(input, dim, index, src, value=value, reduce=reduce, inplace=True)


@op("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", inplace=True)
class scatter_add:
    """A copy of the tensor with ``src`` added at ``index`` along ``dim``; repeated places add up."""

    def forward(self, dim, index, src):
        _same_dtype(self, src, "scatter")
        result, place, values = _scatter_into(self, dim, index, src, "scatter_add")
        if place is not None:
            np.add.at(place[0], place[1], values)
        return result

    def d_self(grad):
        return grad

    def d_src(grad, dim, index, src):
        return _padded(grad.gather(dim, index), src)


@op("scatter_reduce(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", inplace=True)
class scatter_reduce:
    """A copy of the tensor in which ``src`` at ``index`` along ``dim`` is combined by sum, prod, mean, amax or amin."""

    def forward(self, dim, index, src, reduce, include_self):
        if reduce not in _REDUCTIONS:
            raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
        _same_dtype(self, src, "scatter")
        result, place, values = _scatter_into(self, dim, index, src, "scatter_reduce")
        if place is None:
            return result
        flat, key = place
        if not include_self:
            flat[key] = _identity(reduce, self.dtype)
        ufunc = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}[reduce]
        ufunc.at(flat, key, values)
        if reduce == "mean":
            counts = np.ones(flat.shape, np.int64)
            if not include_self:
                counts[key] = 0
            np.add.at(counts, key, 1)
            np.maximum(counts, 1, out=counts)
            flat[...] = np.floor_divide(flat, counts) if self.dtype.kind in "iu" else flat / counts.astype(self.dtype)
        return result

    def gradients(grad, self, dim, index, src, reduce, include_self, result, needs):
        return functions.scatter_reduce_gradients(grad, self, dim, index, src, reduce, include_self, result)


def _identity(reduce, dtype):
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    info = np.iinfo(dtype)
    return info.min if reduce == "amax" else info.max


@composite(names=())
def scatter_reduce_gradients(grad, self, dim, index, src, reduce, include_self, result):
    """The gradients of `scatter_reduce` with respect to (self, src), in differentiable operations."""
    if reduce == "sum":
        return (grad if include_self else functions.scatter_value(grad, dim, index, 0)), _padded(grad.gather(dim, index), src)
    ones_like = functions.ones_like
    if reduce == "mean":
        counts = ones_like(self) if include_self else functions.scatter_value(ones_like(self), dim, index, 0)
        counts = counts.scatter_add(dim, index, ones_like(src)).clamp(min=1)
        scaled = grad / counts
        own = scaled if include_self else functions.scatter_value(scaled, dim, index, 0)
        return own, _padded(scaled.gather(dim, index), src)
    if reduce == "prod":
        own = grad * result / self
        masked = functions.where(self == 0, functions.ones_like(self), self)
        product = masked.scatter_reduce(dim, index, src, "prod", include_self=include_self)
        own = functions.where(self == 0, grad * product, own)
        own = own if include_self else functions.scatter_value(own, dim, index, 0)
        zeros = (src == 0).to(src.dtype)
        count = functions.zeros_like(self).scatter_add(dim, index, zeros).gather(dim, index)
        without_zero = functions.where(src == 0, functions.ones_like(src), src)
        start = self if include_self else functions.ones_like(self)
        rest = start.scatter_reduce(dim, index, without_zero, "prod", include_self=include_self).gather(dim, index)
        single = (src == 0) & (count == 1)
        found = functions.where(single, grad.gather(dim, index) * rest, (grad * result).gather(dim, index) / without_zero)
        return own, functions.where((src == 0) & (count > 1), functions.zeros_like(found), found)
    value = result.gather(dim, index)
    hit = (src == value).to(src.dtype)
    own_hit = (self == result).to(self.dtype)
    counts = own_hit if include_self else functions.scatter_value(own_hit, dim, index, 0)
    counts = counts.scatter_add(dim, index, hit).clamp(min=1)
    shared = grad / counts
    own = own_hit * shared
    own = own if include_self else functions.scatter_value(own, dim, index, 0)
    return own, hit * shared.gather(dim, index)


# ---------------------------------------------------------------- masks and positions


@op("masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor", inplace=True)
class masked_fill:
    """A copy of the tensor with ``value`` (a number or 0-dim tensor) where ``mask`` is True."""

    def forward(self, mask, value):
        if mask.dtype.kind != "b":
            raise RuntimeError(hinted(f"masked_fill_ only supports boolean masks, but got mask with dtype {dtypes.from_numpy(mask.dtype).name}", "compare, or call .bool()"))
        if getattr(value, "ndim", 0):
            raise RuntimeError(f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s).")
        if isinstance(value, complex) and self.dtype.kind != "c":
            raise RuntimeError("value cannot be converted to type float without overflow")
        shape = broadcast_shapes(self.shape, mask.shape)
        filler = np.asarray(value)
        if filler.dtype.kind == "f" and self.dtype.kind in "iub" and not isinstance(value, np.ndarray) and self.dtype.kind != "b":
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        result = np.array(np.broadcast_to(self, shape), order="C", copy=True)
        np.copyto(result, filler.astype(self.dtype), where=np.broadcast_to(mask, shape))
        return result

    def d_self(grad, self, mask):
        return grad.masked_fill(mask, 0).sum_to_size(self.shape)

    def d_value(grad, mask):
        return functions.where(mask, grad, functions.zeros_like(grad)).sum()


@op("masked_select(Tensor self, Tensor mask) -> Tensor")
class masked_select:
    """The elements where ``mask`` (bool, broadcast) is True, as a 1-dim copy."""

    def forward(self, mask):
        if mask.dtype.kind != "b":
            raise RuntimeError("masked_select: expected BoolTensor for mask")
        shape = broadcast_shapes(self.shape, mask.shape)
        return np.broadcast_to(self, shape)[np.broadcast_to(mask, shape)]

    def d_self(grad, self, mask):
        shape = broadcast_shapes(tuple(self.shape), tuple(mask.shape))
        return functions.masked_scatter(grad.new_zeros(shape), mask.expand(shape), grad).sum_to_size(self.shape)


@op("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", inplace=True)
class masked_scatter:
    """A copy of the tensor with the elements of ``source``, in order, where ``mask`` is True."""

    def forward(self, mask, source):
        if self.dtype != source.dtype:
            raise RuntimeError(
                f"masked_scatter_: expected self and source to have same dtypes but got {dtypes.from_numpy(self.dtype).legacy_name} and {dtypes.from_numpy(source.dtype).legacy_name}"
            )
        if mask.dtype.kind != "b":
            raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {dtypes.from_numpy(mask.dtype).legacy_name}")
        shape = broadcast_shapes(self.shape, mask.shape)
        result = np.array(np.broadcast_to(self, shape), order="C", copy=True)
        where = np.broadcast_to(mask, shape)
        count = int(np.count_nonzero(where))
        if source.size < count:
            raise RuntimeError("Number of elements of source < number of ones in mask")
        result[where] = source.reshape(-1)[:count]
        return result

    def d_self(grad, self, mask):
        return grad.masked_fill(mask, 0).sum_to_size(self.shape)

    def d_source(grad, mask, source):
        taken = grad.masked_select(mask)
        rest = source.numel() - taken.numel()
        return functions.cat([taken, taken.new_zeros(rest)]).reshape(source.shape)


@op("nonzero(Tensor self) -> Tensor", names=())
class nonzero_rows:
    """The positions of elements that are not zero, one row each."""

    def forward(self):
        return np.ascontiguousarray(np.argwhere(self)).astype(np.int64, copy=False)


@composite
def nonzero(input, *, as_tuple=False):
    """The positions of nonzero elements: an N x ndim tensor, or a tuple with one 1-dim tensor for each dimension."""
    if as_tuple:
        found = functions.nonzero_rows(input if input.ndim else input.reshape(1))
        return tuple(found.t().unbind(0)) if found.shape[1] else ()
    return functions.nonzero_rows(input)


@composite
def argwhere(input):
    """The positions of nonzero elements, one row each."""
    return functions.nonzero_rows(input)


@op("count_nonzero(Tensor self, int[]? dim=None) -> Tensor")
class count_nonzero:
    """How many elements are not zero, in all or along ``dim``."""

    def forward(self, dim):
        axes = None if dim is None else tuple(wrap_dim(d, self.ndim) for d in dim)
        return np.asarray(np.count_nonzero(self, axis=axes) if self.ndim else int(self != 0), np.int64)


@op("take(Tensor self, Tensor index) -> Tensor")
class take:
    """The elements at flat positions ``index``."""

    def forward(self, index):
        if index.dtype != np.int64:
            raise RuntimeError(f"take(): Expected a long tensor for index, but got {dtypes.from_numpy(index.dtype).legacy_name}")
        if self.size == 0 and index.size:
            raise IndexError("take(): tried to take from an empty tensor")
        if index.size and (int(index.min()) < -self.size or int(index.max()) >= self.size):
            raise IndexError("out of range: tried to access index " + str(int(index.max())) + " on a tensor of " + str(self.size) + " elements.")
        return np.asarray(self.reshape(-1)[index])

    def d_self(grad, self, index):
        return grad.new_zeros(self.shape).put_(index, grad, True)


@op("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", inplace=True)
class put:
    """A copy of the tensor with ``source`` at the flat positions ``index``, added where ``accumulate``."""

    def forward(self, index, source, accumulate):
        result = self.copy(order="C")
        flat = result.reshape(-1)
        if index.size != source.size:
            raise RuntimeError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.size}, index.numel() = {index.size}")
        check_index(index, self.size)
        if accumulate:
            np.add.at(flat, index.reshape(-1), source.reshape(-1))
        else:
            flat[index.reshape(-1)] = source.reshape(-1)
        return result

    def d_self(grad, index, source, accumulate):
        return grad if accumulate else grad.put(index, functions.zeros(source.shape, dtype=grad.dtype))

    def d_source(grad, index, source):
        return grad.take(index).reshape(source.shape)


@composite(names=("nn.functional",))
def one_hot(tensor, num_classes=-1):
    """Class numbers (int64) as rows with a single 1: shape ``(*, num_classes)``."""
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return functions.zeros((*tensor.shape, num_classes), dtype=dtypes.int64)
    if tensor.min().item() < 0:
        raise RuntimeError("Class values must be non-negative.")
    largest = tensor.max().item()
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError(hinted("Class values must be smaller than num_classes.", f"the largest class is {largest}, num_classes is {num_classes}"))
    return functions.scatter_value(functions.zeros((*tensor.shape, num_classes), dtype=dtypes.int64), -1, tensor.unsqueeze(-1), 1)
