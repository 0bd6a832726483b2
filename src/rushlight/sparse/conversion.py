"""From one layout to another: dense, COO, compressed; entries at one place added up; elements of a tensor where another has its own."""

from __future__ import annotations

import numpy as np

from ..base.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import wrap
from .calls import LEGACY_NAMES, is_dense, is_sparse, layout_name, not_run, takes, unavailable
from .patterns import BLOCK_LAYOUTS, ROW_LAYOUTS, Compressed, Coordinates, lines_of
from .row_sums import add_rows
from .tensors import record, values_at, values_of, with_values

COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


def scattered(values, pattern, target=None):
    """The array of all elements: ``values`` added to ``target``, which is written, or to zeros."""
    found = np.zeros(pattern.shape, values.dtype) if target is None else target
    count, flat = len(pattern.places()), pattern.flat()
    if values.size:
        width = int(np.prod(pattern.shape[count:], dtype=np.int64))
        rows = found.reshape(-1, width) if width > 1 else found.reshape(-1)
        values = values.reshape(len(flat), -1) if width > 1 else values.reshape(-1)
        if target is None and pattern.is_distinct():
            rows[flat] = values
        else:
            add_rows(rows, flat, values.astype(rows.dtype, copy=False))
    return found


@record("sparse_to_dense(Tensor values, any pattern) -> Tensor", node="ToDenseBackward0")
class densely:
    """The dense tensor of these values on a pattern."""

    def forward(values, pattern):
        return scattered(values, pattern)

    def d_values(grad, pattern):
        return values_at(grad, pattern)


def to_dense(self, dtype=None, *, masked_grad=None):
    """A dense tensor with the same elements; a dense tensor itself.

    >>> import rushlight as torch
    >>> torch.sparse_coo_tensor([[0, 1]], [3.0, 4.0], (3,)).to_dense()
    tensor([3., 4., 0.])
    """
    if not is_sparse(self):
        return self if dtype is None else self.to(dtype)
    if dtype is not None:
        raise RuntimeError(hinted("dtype argument is not supported by sparse_to_dense", "x.to_dense().to(dtype)"))
    return densely(values_of(self, "ToDenseBackward0"), self._array.pattern)


def coalesce(self):
    """The tensor with its entries sorted, and those at one place added up; itself, where that is so already.

    >>> import rushlight as torch
    >>> torch.sparse_coo_tensor([[1, 0, 1]], [3.0, 4.0, 5.0], (3,)).coalesce()
    tensor(indices=tensor([[0, 1]]),
           values=tensor([4., 8.]),
           size=(3,), nnz=2, layout=torch.sparse_coo)
    """
    expect_coo(self, "coalesce")
    pattern = self._array.pattern
    if pattern.coalesced:
        return self
    merged, groups = pattern.merged()
    values = functions.sum_groups(values_of(self, "CoalesceBackward0"), groups, merged.nnz)
    return with_values(merged, values, "CoalesceBackward0")


def expect_coo(tensor, name):
    """Refuse a tensor of another layout than COO, as PyTorch's function ``name`` does."""
    if tensor.layout is not sparse_coo:
        raise RuntimeError(
            hinted(
                f"{name} expected sparse coordinate tensor layout but got {layout_name(tensor)}",
                "to_sparse() makes a COO tensor of any other",
            )
        )


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """A sparse tensor with the same elements: in the COO layout, or in ``layout``.

    Args:
        sparse_dim: (COO) how many dimensions have indices; the others stay dense. By default all.
        layout: of the result.
        blocksize: (BSR, BSC) height and width of the blocks.

    >>> import rushlight as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0, 1],
                           [1, 0]]),
           values=tensor([2., 3.]),
           size=(2, 2), nnz=2, layout=torch.sparse_coo)
    """
    if sparse_dim is not None and sparse_dim.__class__ is not int:
        layout, sparse_dim = sparse_dim, None
    if layout is strided:
        return to_dense(self)
    if layout in COMPRESSED:
        return compressed(self, layout, blocksize, dense_dim)
    if is_sparse(self):
        return coo_of(self)
    ndim = self.ndim
    count = ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= ndim:
        message = f"dense_to_sparse: sparse_dim argument must be in [0,{ndim}] range, but {count} is given"
        raise RuntimeError(hinted(message, "the dimensions counted are the first ones"))
    if ndim and not count:
        raise RuntimeError(
            hinted("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0", "at least one has indices")
        )
    array = self._array
    there = np.asarray(self.detach()._array) != 0
    if count < ndim:
        there = there.reshape(*array.shape[:count], -1).any(-1)
    places = np.stack(np.nonzero(there)) if ndim else np.zeros((0, int(there)), np.int64)
    pattern = Coordinates(array.shape, places, True)
    return with_values(pattern, values_at(self, pattern), f"ToSparseBackward{int(sparse_dim is None)}")


def coo_of(tensor):
    """A sparse tensor of any layout in the COO layout."""
    if tensor.layout is sparse_coo:
        return tensor
    pattern = tensor._array.pattern
    places = pattern.places()
    values = values_of(tensor, "ToSparseBackward1").reshape(places.shape[1], *pattern.shape[len(places) :])
    if pattern.layout in BLOCK_LAYOUTS and not pattern.batch:  # as in PyTorch, which leaves batches as they are
        order = np.lexsort(places[::-1])
        places, values = places[:, order], values[wrap(order)]
    coordinates = Coordinates(pattern.shape, places)
    coordinates.coalesced = coordinates.checked_coalesced()
    return with_values(coordinates, values, "ToSparseBackward1")


def _node(layout):
    """The name of the node of a conversion to a compressed layout."""
    return f"ToSparse{str(layout)[-3:].title()}Backward0"


def compressed(tensor, layout, blocksize=None, dense_dim=None):
    """A matrix, or a batch of them, in one of the compressed layouts; of a dense tensor, the last dimensions may stay dense."""
    name, most = str(layout).removeprefix("torch."), tensor.ndim - 2
    if tensor.ndim < 2:
        raise IndexError(
            hinted(f"dense_to_{name}: a compressed tensor is a matrix", f"this tensor has {tensor.ndim} dimensions")
        )
    if is_dense(tensor):
        dense_dim = dense_dim or 0
        if not 0 <= dense_dim <= most:
            message = f"dense_to_{name}: dense_dim argument must be in [0,{most}] range, but {dense_dim} is given"
            raise RuntimeError(hinted(message, "two dimensions are sparse; those before them make a batch"))
    else:
        dense_dim = tensor.dense_dim()
        if tensor.layout is sparse_coo and dense_dim != most:
            message = (
                f"coo_to_{name}: conversion from Sparse to {LEGACY_NAMES[layout.name]} for input tensors with sparse_dim()!=2 is not "
                "supported"
            )
            raise RuntimeError(hinted(message, "x.to_dense() can be converted"))
    return recompressed(tensor, layout, blocksize, dense_dim)


def recompressed(tensor, layout, blocksize, dense_dim=0):
    """The tensor in a compressed layout; all dimensions but the last two and ``dense_dim`` more are those of a batch."""
    if layout in BLOCK_LAYOUTS:
        return _blocks(tensor, layout, blocksize, dense_dim)
    if tensor.layout is layout:
        return tensor
    source = to_sparse(tensor, tensor.ndim - dense_dim) if is_dense(tensor) else coalesce(coo_of(tensor))
    found = source._array.pattern
    starts, plain, order = found._once(
        ("lines", layout), lines_of, layout, found.shape[: found.sparse_dim], found.indices
    )
    pattern, values = Compressed(layout, found.shape, starts, plain), values_of(source, _node(layout))
    if layout not in ROW_LAYOUTS:
        values = values[wrap(order)]
    return with_values(pattern, values.reshape(pattern.value_shape()), _node(layout))


def _blocks(tensor, layout, blocksize, dense_dim):
    name = f"dense_to_{str(layout).removeprefix('torch.')}"
    if blocksize is None and is_dense(tensor):
        message = f"dense_to_sparse: conversion from Strided to {LEGACY_NAMES[layout.name]} without blocksize argument given is not supported"
        raise RuntimeError(hinted(message, "blocksize=(2, 2)"))
    if blocksize is None or len(blocksize) != 2:
        raise RuntimeError(hinted(f"{name}: blocksize needs to be a tuple of size 2, but got {blocksize}", "(2, 2)"))
    dense, count, (height, width) = to_dense(tensor), tensor.ndim - dense_dim - 2, blocksize
    rows, columns = tensor.shape[count : count + 2]
    if rows % height or columns % width:
        message = (
            f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize ({height},{width})"
        )
        raise RuntimeError(hinted(message, "blocks cover the matrix without remainder"))
    batch, lengths = tensor.shape[:count], (rows // height, columns // width)
    split = dense.reshape(*batch, lengths[0], height, lengths[1], width, *tensor.shape[count + 2 :])
    split = split.transpose(count + 1, count + 2)
    there = (np.asarray(split.detach()._array) != 0).any(tuple(range(count + 2, split.ndim)))
    places = np.stack(np.nonzero(there))
    starts, plain, order = lines_of(layout, (*batch, *lengths), places)
    pattern = Compressed(layout, tensor.shape, starts, plain, (height, width))
    values = split[tuple([wrap(each) for each in places[:, order]])]
    return with_values(pattern, values.reshape(pattern.value_shape()), _node(layout))


def to_sparse_csr(self, dense_dim=None):
    """The matrix in the CSR layout: by rows.

    >>> import rushlight as torch
    >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return compressed(self, sparse_csr, None, dense_dim)


def to_sparse_csc(self, dense_dim=None):
    """The matrix in the CSC layout: by columns."""
    return compressed(self, sparse_csc, None, dense_dim)


def to_sparse_bsr(self, blocksize, dense_dim=None):
    """The matrix as dense blocks of shape ``blocksize``, by rows of blocks."""
    return compressed(self, sparse_bsr, blocksize, dense_dim)


def to_sparse_bsc(self, blocksize, dense_dim=None):
    """The matrix as dense blocks of shape ``blocksize``, by columns of blocks."""
    return compressed(self, sparse_bsc, blocksize, dense_dim)


def sparse_mask(self, mask):
    """The elements of this tensor where the sparse tensor ``mask`` has its entries, in its layout.

    >>> import rushlight as torch
    >>> torch.tensor([1.0, 2.0, 3.0]).sparse_mask(torch.sparse_coo_tensor([[0, 2]], [1.0, 1.0], (3,)))
    tensor(indices=tensor([[0, 2]]),
           values=tensor([1., 3.]),
           size=(3,), nnz=2, layout=torch.sparse_coo)
    """
    if not is_sparse(mask):
        raise unavailable("_nnz" if is_sparse(self) else "sparse_mask", "CPU")
    if self.shape != mask.shape:
        message = f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size {list(mask.shape)}"
        raise RuntimeError(hinted(message, "both have one shape"))
    pattern = mask._array.pattern
    return with_values(pattern, values_at(self, pattern), "SparseMaskBackward0")


@takes("clone")
def _clone(self, memory_format=None):
    return with_values(self._array.pattern, values_of(self, "CloneBackward0").clone(), "CloneBackward0")


@takes("to_copy")
def _to_copy(self, dtype, *others):
    return with_values(self._array.pattern, values_of(self, "ToCopyBackward0").to(dtype), "ToCopyBackward0")


@takes("ones_like", "full_like")
def _ones_like(input, *others, **options):
    raise not_run("fill_.Scalar", [input])


@takes("rand_like", "randn_like")
def _rand_like(input, *others, **options):
    raise not_run("uniform_", [input])


@takes("zeros_like", "empty_like")
def _zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, **others):
    if not is_sparse(input) or (layout is not None and layout is not input.layout):
        return functions.zeros(input.shape, dtype=dtype or input.dtype, layout=layout, requires_grad=requires_grad)
    pattern, dtype = input._array.pattern, dtype or input.dtype
    if input.layout is sparse_coo:
        found = Coordinates(input.shape, np.zeros((pattern.sparse_dim, 0), np.int64), True)
    else:
        kinds = pattern.compressed.dtype
        found = Compressed(
            input.layout,
            input.shape,
            np.zeros_like(pattern.compressed),
            np.zeros((*pattern.batch, 0), kinds),
            pattern.block,
        )
    made = with_values(found, wrap(np.zeros(found.value_shape(), dtype.numpy)), "")
    return made.requires_grad_() if requires_grad else made
