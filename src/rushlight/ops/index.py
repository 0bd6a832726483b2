"""Indexing with tensors: what ``x[...]`` does beyond views, and index_select, index_add, index_copy, index_fill."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from .table import functions, op


def check_index(index, length, what="index"):
    """Refuse positions outside ``-length`` to ``length - 1``; NumPy alone would also, in other words."""
    if index.size and (int(index.min()) < -length or int(index.max()) >= length):
        bad = int(index.min()) if int(index.min()) < -length else int(index.max())
        raise IndexError(
            hinted(
                f"index {bad} is out of bounds for dimension with size {length}",
                f"valid positions are {-length} to {length - 1}",
            )
        )


def refuse_outside(index, length, dim):
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
        add_rows(target, key[0], values)
    else:
        np.add.at(target, key, values)


def add_rows(target, rows, values):
    """Add whole rows at repeated positions: sorted runs summed at once, faster than element by element."""
    rows = rows.reshape(-1)
    values = (
        np.broadcast_to(values, (*rows.shape, *target.shape[1:]))
        if values.ndim <= target.ndim and values.shape[:1] != rows.shape
        else values
    )
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


@op("index_select(Tensor self, int dim, Tensor index) -> Tensor")
class index_select:
    """The slices at the positions ``index`` (1-dim, int32 or int64) of dimension ``dim``, as a copy."""

    def forward(self, dim, index):
        if index.ndim > 1:
            raise IndexError(
                "index_select(): Index is supposed to be a vector, but got dim: "
                + str(index.ndim)
                + " with type: "
                + dtypes.from_numpy(index.dtype).legacy_name
                + " and size: "
                + str(list(index.shape))
            )
        if index.dtype.kind != "i" or index.dtype.itemsize < 4:
            raise RuntimeError(
                "index_select(): Expected dtype int32 or int64 for index but got: "
                + dtypes.from_numpy(index.dtype).legacy_name
            )
        if self.ndim == 0:
            return self.reshape(1)[index.reshape(-1)].reshape(
                index.shape if index.size == 1 and index.ndim == 0 else ()
            )
        dim = wrap_dim(dim, self.ndim)
        if index.size and (int(index.min()) < 0 or int(index.max()) >= self.shape[dim]):
            raise IndexError(
                hinted(
                    "index out of range in self",
                    f"dimension {dim} has {self.shape[dim]} positions, index holds {int(index.min())} to {int(index.max())}",
                )
            )
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
            raise RuntimeError(
                f"index_add_(): self ({dtypes.from_numpy(self.dtype).legacy_name}) and source ({dtypes.from_numpy(source.dtype).legacy_name}) must have the same scalar type"
            )
        result = self.copy(order="C")
        axis = wrap_dim(dim, self.ndim)
        flat, values = (result.reshape(1), source.reshape(1)) if self.ndim == 0 else (result, source)
        refuse_outside(index, flat.shape[axis], axis)
        values = values if alpha == 1 else values * np.asarray(alpha, values.dtype)
        rows = np.moveaxis(flat, axis, 0)
        if axis == 0:
            add_rows(flat, index, values)
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
            raise IndexError(
                "index_copy_(): Expected a long tensor for index, but got " + dtypes.from_numpy(index.dtype).legacy_name
            )
        if self.dtype != source.dtype:
            raise RuntimeError(
                f"index_copy_(): self and source expected to have the same dtype, but got (self) {dtypes.from_numpy(self.dtype).legacy_name} and (source) {dtypes.from_numpy(source.dtype).legacy_name}"
            )
        result = self.copy(order="C")
        axis = wrap_dim(dim, self.ndim)
        flat = result.reshape(1) if self.ndim == 0 else result
        refuse_outside(index, flat.shape[axis], axis)
        np.moveaxis(flat, axis, 0)[index.reshape(-1)] = np.moveaxis(
            source.reshape(flat.shape if source.ndim == 0 else source.shape), axis, 0
        )
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
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
            )
        result = self.copy(order="C")
        flat = result.reshape(1) if self.ndim == 0 else result
        check_index(index, flat.shape[wrap_dim(dim, self.ndim)])
        np.moveaxis(flat, wrap_dim(dim, self.ndim), 0)[index.reshape(-1)] = value
        return result

    def d_self(grad, dim, index):
        return grad.index_fill(dim, index, 0)

    def d_value(grad, dim, index):
        return grad.index_select(dim, index.reshape(-1).unique()).sum()
