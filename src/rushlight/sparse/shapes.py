"""Other orders and parts of sparse tensors: transposed, selected, joined."""

from __future__ import annotations

import numpy as np

from ..base.device import sparse_coo
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from ..ops.table import functions
from ..tensor.base import wrap
from .calls import is_sparse, not_run, takes
from .conversion import coalesce, coo_of
from .patterns import BLOCK_LAYOUTS, Compressed, Coordinates
from .tensors import values_of, with_values


@takes("transpose")
def transpose(self, dim0, dim1):
    return _transposed(self, dim0, dim1, "TransposeBackward0")


def _transposed(self, dim0, dim1, name):
    ndim = self.ndim
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    if dim0 == dim1:
        return functions.alias(self)
    pattern = self._array.pattern
    if self.layout is not sparse_coo:
        return _transposed_lines(self, dim0, dim1, name)
    if max(dim0, dim1) >= pattern.sparse_dim:
        message = f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {pattern.sparse_dim}, d0: {dim0}, d1: {dim1}"
        raise RuntimeError(
            hinted(message, "dense dimensions stay where they are: coalesce(), then values().transpose(...)")
        )
    order = list(range(ndim))
    order[dim0], order[dim1] = dim1, dim0
    return _permuted(self, order, name)


def _transposed_lines(self, dim0, dim1, name):
    """Compressed matrices transposed, or two dimensions of their batch."""
    pattern, values = self._array.pattern, values_of(self, name)
    first = len(pattern.batch)
    if pattern.dense_dim:
        message = "transpose(): hybrid sparse compressed tensors with dense dimensions are not supported"
        raise RuntimeError(hinted(message, "to_sparse() first"))
    if dim0 >= first and dim1 >= first:
        blocks = pattern.layout in BLOCK_LAYOUTS
        return with_values(pattern.transposed(), values.transpose(-1, -2) if blocks else values, name)
    if dim0 >= first or dim1 >= first:
        kinds = [f"{dim}({'Batch' if dim < first else 'Sparse'})" for dim in (dim0, dim1)]
        message = (
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
            f"{' and '.join(kinds)}"
        )
        raise RuntimeError(hinted(message, f"the first {first} dimensions are those of the batch"))
    shape = list(pattern.shape)
    shape[dim0], shape[dim1] = shape[dim1], shape[dim0]
    found = pattern.of_batch(shape, lambda array: array.swapaxes(dim0, dim1))
    return with_values(found, values.transpose(dim0, dim1), name)


def _permuted(self, order, name):
    pattern = self._array.pattern
    count = pattern.sparse_dim
    if tuple(order) == (1, 0):
        found = pattern._once("transposed", pattern.transposed)
    else:
        found = pattern.rearranged([pattern.shape[dim] for dim in order], pattern.indices[list(order[:count])])
    values = values_of(self, name)
    dense = [0, *[dim - count + 1 for dim in order[count:]]]
    return with_values(found, values if dense == sorted(dense) else values.permute(dense), name)


@takes("t")
def _t(self):
    if self.ndim > 2:
        if self.layout is not sparse_coo:
            message = f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D"
            raise RuntimeError(hinted(message, "mT transposes the matrices of a batch"))
        message = f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {self.sparse_dim()} sparse and {self.dense_dim()} dense dimensions"
        raise RuntimeError(hinted(message, "transpose(dim0, dim1) takes more"))
    return functions.alias(self) if self.ndim < 2 else _transposed(self, 0, 1, "TBackward0")


@takes("permute")
def _permute(self, dims):
    ndim = self.ndim
    dims = dims if isinstance(dims, (list, tuple)) else (dims,)
    if len(dims) != ndim:
        message = (
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
        raise RuntimeError(hinted(message, "name every dimension once"))
    order = [wrap_dim(dim, ndim) for dim in dims]
    if len({*order}) != ndim:
        raise RuntimeError(hinted("permute(): duplicate dims are not allowed.", "name every dimension once"))
    if self.layout is not sparse_coo:
        if ndim > 2:
            raise not_run("as_strided", [self])
        return transpose(self, 0, 1) if order == [1, 0] else functions.alias(self)
    count = self._array.pattern.sparse_dim
    if any((place < count) is not (dim < count) for place, dim in enumerate(order)):
        message = (
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions within "
            "sparse and dense dimensions are supported."
        )
        raise RuntimeError(hinted(message, f"the first {count} dimensions are sparse"))
    return _permuted(self, order, "PermuteBackward0")


@takes("alias")
def _alias(self):
    return with_values(self._array.pattern, values_of(self, "AliasBackward0"), "AliasBackward0")


@takes("unsqueeze")
def _unsqueeze(self, dim):
    pattern, name = _coo(self, "unsqueeze")._array.pattern, "UnsqueezeBackward0"
    dim, count, values = wrap_dim(dim, self.ndim + 1), pattern.sparse_dim, values_of(self, name)
    shape = (*pattern.shape[:dim], 1, *pattern.shape[dim:])
    if dim > count:
        return with_values(
            Coordinates(shape, pattern.indices, pattern.coalesced), values.unsqueeze(dim - count + 1), name
        )
    return with_values(
        pattern.rearranged(shape, np.insert(pattern.indices, dim, 0, axis=0), pattern.coalesced), values, name
    )


def _coo(tensor, name):
    if tensor.layout is not sparse_coo:
        raise not_run(name, [tensor])
    return tensor


def _selected_of_lines(self, dim, index, shape, name):
    """One slice of compressed matrices along a dimension of the batch or a dense one; None along another."""
    pattern, values = self._array.pattern, values_of(self, name)
    first = len(pattern.batch)
    if dim >= first + 2:
        found = Compressed(pattern.layout, shape, pattern.compressed, pattern.plain, pattern.block)
        return with_values(found, values.select(values.ndim - self.ndim + dim, index), name)
    if dim < first:
        found = pattern.of_batch(shape, lambda array: array.take(index, dim))
        return with_values(found, values.select(dim, index), name)
    if first:
        message = "select(): selecting sparse dimensions is not supported for batched sparse compressed tensors."
        raise RuntimeError(hinted(message, "select a matrix of the batch first"))
    return None


@takes("select")
def select(self, dim, index):
    """One slice along a dimension: sparse, or dense where no sparse dimension is left."""
    dim, name = wrap_dim(dim, self.ndim), "SelectBackward0"
    length = self.shape[dim]
    if not -length <= index < length:
        message = f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        raise IndexError(hinted(message, f"there are {length}"))
    index, shape = index % length, _without(self.shape, dim)
    if self.layout is not sparse_coo and self.ndim > 2:
        found = _selected_of_lines(self, dim, index, shape, name)
        if found is not None:
            return found
    self = coo_of(self)
    pattern = self._array.pattern
    count, values = pattern.sparse_dim, values_of(self, name)
    if dim >= count:
        found = values.select(dim - count + 1, index)
        return with_values(Coordinates(shape, pattern.indices, pattern.coalesced), found, name)
    there = pattern.indices[dim] == index
    kept = values[wrap(there)]
    if count == 1:
        return kept.sum(0)
    return with_values(
        pattern.rearranged(shape, np.delete(pattern.indices, dim, 0)[:, there], pattern.coalesced), kept, name
    )


@takes("unbind")
def _unbind(self, dim=0):
    return tuple([select(self, dim, index) for index in range(self.shape[wrap_dim(dim, self.ndim)])])


@takes("index_select")
def _index_select(self, dim, index):
    self = coalesce(_coo(self, "index_select"))
    pattern, name = self._array.pattern, "IndexSelectBackward0"
    dim, count, values = wrap_dim(dim, self.ndim), pattern.sparse_dim, values_of(self, name)
    wanted = np.asarray(index._array).reshape(-1)
    shape = (*pattern.shape[:dim], wanted.size, *pattern.shape[dim + 1 :])
    if dim >= count:
        found = values.index_select(dim - count + 1, index)
        return with_values(Coordinates(shape, pattern.indices, True), found, name)
    length = pattern.shape[dim]
    outside = (wanted < -length) | (wanted >= length)
    if outside.any():
        message = f"index_select(): index contains {wanted[outside][0]} that is out of range for tensor of size {list(self.shape)} at dimension {dim}"
        raise IndexError(hinted(message, f"there are {length}"))
    wanted = wanted % max(length, 1)
    order = np.argsort(pattern.indices[dim], kind="stable")
    starts = np.searchsorted(pattern.indices[dim][order], np.arange(length + 1))
    counts = np.diff(starts)[wanted] if length else np.zeros(0, np.int64)
    places = np.repeat(np.arange(wanted.size), counts)
    offsets = np.arange(places.size) - np.repeat(np.cumsum(counts) - counts, counts)
    entries = order[np.repeat(starts[wanted] if length else counts, counts) + offsets]
    indices = pattern.indices[:, entries]
    indices[dim] = places
    return with_values(pattern.rearranged(shape, indices, dim == 0), values[wrap(entries)], name)


@takes("cat", "concat", "concatenate")
def cat(tensors, dim=0, **others):
    """Sparse tensors one behind the other along a dimension."""
    first, name = tensors[0], "CatBackward0"
    for place, each in enumerate(tensors):
        if not is_sparse(each):
            message = f"Concatenating sparse tensors, but a dense tensor was found at position {place}."
            raise RuntimeError(hinted(message, "to_sparse() it"))
        _coo(each, "cat")
    dim, count = wrap_dim(dim, first.ndim), first.sparse_dim()
    for place, each in enumerate(tensors):
        if each.sparse_dim() != count or _without(each.shape, dim) != _without(first.shape, dim):
            message = f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating dimension), but found shape: {list(each.shape)} at position {place}."
            raise RuntimeError(hinted(message, "sparse and dense dimensions are the same in all"))
    lengths = [each.shape[dim] for each in tensors]
    begins = [sum(lengths[:place]) for place in range(len(lengths))]
    parts, indices = [], []
    for begin, each in zip(begins, tensors):
        pattern, values = each._array.pattern, values_of(each, name)
        places = pattern.indices.copy()
        if dim < count:
            places[dim] += begin
        else:
            wide = values.new_zeros((values.shape[0], *_with(values.shape[1:], dim - count, sum(lengths))))
            axis, at = dim - count + 1, functions.arange(begin, begin + each.shape[dim])
            values = wide.index_copy(axis, at, values)
        parts.append(values)
        indices.append(places)
    found = first._array.pattern.rearranged(_with(first.shape, dim, sum(lengths)), np.concatenate(indices, 1))
    return with_values(found, functions.cat(parts), name)


@takes("stack")
def _stack(tensors, dim=0):
    return cat([functions.unsqueeze(each, dim) for each in tensors], wrap_dim(dim, tensors[0].ndim + 1))


def _without(shape, dim):
    return (*shape[:dim], *shape[dim + 1 :])


def _with(shape, dim, length):
    return (*shape[:dim], length, *shape[dim + 1 :])


@takes("narrow_copy")
def _narrow_copy(self, dim, start, length):
    pattern, name = _coo(self, "narrow_copy")._array.pattern, "NarrowCopyBackward0"
    dim, values = wrap_dim(dim, self.ndim), values_of(self, name)
    most = pattern.shape[dim]
    if not 0 <= start <= most - length or length < 0:
        message = f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {most})."
        raise RuntimeError(hinted(message, f"from {start}, {length} long"))
    shape = _with(pattern.shape, dim, length)
    if dim >= pattern.sparse_dim:
        found = values.narrow(dim - pattern.sparse_dim + 1, start, length)
        return with_values(Coordinates(shape, pattern.indices, pattern.coalesced), found, name)
    there = (pattern.indices[dim] >= start) & (pattern.indices[dim] < start + length)
    indices = pattern.indices[:, there]
    indices[dim] -= start
    return with_values(pattern.rearranged(shape, indices, pattern.coalesced), values[wrap(there)], name)


@takes("expand")
def _expand(self, *sizes, **others):
    raise RuntimeError(hinted("expand is unsupported for Sparse tensors", "to_dense() can be expanded"))
