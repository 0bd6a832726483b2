"""Sparse tensors made of indices and values, and the checks of both."""

from __future__ import annotations

import numpy as np

from ..autograd.leaves import require_grad
from ..base import dtypes
from ..base.device import LAYOUTS, check_device, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import wrap
from ..tensor.creation import as_tensor
from .calls import LEGACY_NAMES
from .invariants import check_compressed, check_coordinates, checks_invariants, index_pair
from .patterns import BLOCK_LAYOUTS, ROW_LAYOUTS, Compressed, Coordinates
from .tensors import with_values


def _tensor(data, dtype=None):
    """What a user gave as indices or values, as a tensor."""
    return data if hasattr(data, "_edge") else as_tensor(data, dtype=dtype)


def _of_entries(pattern, values, requires_grad, name):
    """The sparse tensor of a pattern and values, as a leaf where it is to require grad and the values do not."""
    found = with_values(pattern, values, name)
    return require_grad(found) if requires_grad and not found.requires_grad else found


def _values(data, dtype, device):
    check_device(device)
    values = _tensor(data, dtype)
    return values if dtype is None else values.to(dtype)


def sparse_coo_tensor(
    indices=None, values=None, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False, check_invariants=None,
    is_coalesced=None,
):  # fmt: skip
    """A tensor of the elements ``values`` at ``indices``, all others 0, in the COO layout; follows ``torch.sparse_coo_tensor``.

    Args:
        indices: (sparse dimensions, entries), of whole numbers: a column for each entry. Entries at one place count as their sum.
            Or, with nothing else, the size of a tensor without entries.
        values: (entries, *dense dimensions): shares its memory where it is a tensor. Gradients flow to it.
        size: by default the smallest that holds all entries.
        dtype: by default that of the values.
        requires_grad: whether the result is a leaf to differentiate by.
        check_invariants: whether ``is_coalesced`` is believed without looking. Indices are always checked.
        is_coalesced: whether the entries are sorted by place and distinct.

    Raises:
        RuntimeError: an index is outside of ``size``, or the numbers of entries and dimensions do not fit.

    >>> import rushlight as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if values is None:
        return empty_coo(indices if size is None else size, dtype, device, requires_grad)
    places = np.asarray(_tensor(indices)._array).astype(np.int64, copy=False)
    values = _values(values, dtype, device)
    values = values if values.ndim else values.reshape(1)
    check_coordinates(places, values.shape, size)
    if size is None:
        size = (*(places.max(1, initial=-1) + 1).tolist(), *values.shape[1:])
    pattern = Coordinates(tuple(map(int, size)), places, False)
    if is_coalesced:
        if checks_invariants(check_invariants) and not pattern.checked_coalesced():
            message = "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
            raise RuntimeError(hinted(message, "places occur twice, or are not sorted: coalesce() the tensor instead"))
        pattern.coalesced = pattern.checked_coalesced()
    elif is_coalesced is None and pattern.nnz == 0:
        pattern.coalesced = True
    return _of_entries(pattern, values, requires_grad, "SparseCooTensorWithDimsAndTensorsBackward0")


def empty_coo(size, dtype=None, device=None, requires_grad=False):
    """A COO tensor without entries."""
    check_device(device)
    shape = tuple(size)
    found = np.zeros(0, (dtype or dtypes.get_default_dtype()).numpy)
    return _of_entries(Coordinates(shape, np.zeros((len(shape), 0), np.int64), True), wrap(found), requires_grad, "")


_NEEDS = "give layout=torch.sparse_csr, sparse_csc, sparse_bsr or sparse_bsc"


def sparse_compressed_tensor(
    compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None, pin_memory=False,
    requires_grad=False, check_invariants=None,
):  # fmt: skip
    """A matrix in a compressed layout, or a batch of them: that of ``layout``; follows ``torch.sparse_compressed_tensor``.

    Args:
        compressed_indices: where each row (CSR, BSR) or column (CSC, BSC) begins among the entries, and the end of the last:
            (*batch, lines + 1).
        plain_indices: the column or row of each entry, (*batch, entries).
        values: one for each entry; in the block layouts a block (height, width) for each. Gradients flow to it. Dimensions that
            follow are dense ones: each element of the matrix has them.
        size: (*batch, rows, columns, *dense dimensions); by default the smallest that holds all entries.
        layout: ``torch.sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
        check_invariants: whether it is also checked that the entries of each row or column are sorted and distinct. Bounds
            always are.

    Raises:
        RuntimeError: what the indices say is impossible.

    >>> import rushlight as torch
    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=torch.sparse_csr).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    if layout is None or layout in (strided, sparse_coo) or layout not in LAYOUTS:
        name = "none" if layout is None else LEGACY_NAMES.get(getattr(layout, "name", ""), str(layout))
        raise RuntimeError(
            hinted(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {name}", _NEEDS)
        )
    compressed, plain = index_pair(layout, _tensor(compressed_indices), _tensor(plain_indices))
    values = _values(values, dtype, device)
    batch = max(compressed.ndim - 1, 0)
    block, dense = (1, 1), values.shape[batch + 1 :]
    if layout in BLOCK_LAYOUTS:
        block, dense = dense[:2], dense[2:]
    if size is None:
        height, width = block if len(block) == 2 else (1, 1)
        count, most = max((compressed.shape or (0,))[-1] - 1, 0), int(plain.max(initial=-1)) + 1
        size = (count * height, most * width) if layout in ROW_LAYOUTS else (most * height, count * width)
        size = (*compressed.shape[:batch], *size, *dense)
    size = tuple(map(int, size))
    check_compressed(layout, compressed, plain, values._array.shape, size, checks_invariants(check_invariants))
    pattern = Compressed(layout, size, compressed, plain, block)
    return _of_entries(pattern, values, requires_grad, "SparseCompressedTensorBackward0")


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None):  # fmt: skip
    """A matrix in the CSR layout, by rows: `sparse_compressed_tensor`; follows ``torch.sparse_csr_tensor``.

    >>> import rushlight as torch
    >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0])
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([1, 0]),
           values=tensor([3., 4.]), size=(2, 2), nnz=2, layout=torch.sparse_csr)
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "check_invariants": check_invariants}
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_csr, **options)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None):  # fmt: skip
    """A matrix in the CSC layout, by columns: `sparse_compressed_tensor`; follows ``torch.sparse_csc_tensor``."""
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "check_invariants": check_invariants}
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_csc, **options)


def sparse_bsr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None):  # fmt: skip
    """A matrix of dense blocks, by rows of blocks: `sparse_compressed_tensor`; follows ``torch.sparse_bsr_tensor``."""
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "check_invariants": check_invariants}
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_bsr, **options)


def sparse_bsc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None):  # fmt: skip
    """A matrix of dense blocks, by columns of blocks: `sparse_compressed_tensor`; follows ``torch.sparse_bsc_tensor``."""
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "check_invariants": check_invariants}
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_bsc, **options)


def sparse_from_parts(layout, size, parts, coalesced):
    """The sparse tensor that `tensors.parts_of` took apart; everything is checked, as of any other."""
    if layout is sparse_coo:
        indices, values = parts
        return sparse_coo_tensor(indices, values, size, is_coalesced=coalesced)
    return sparse_compressed_tensor(*parts, size, layout=layout)


functions.sparse_from_parts = sparse_from_parts
functions.sparse_empty = empty_coo


def sparse_rows(grad, indices, shape, padding_idx):
    """The gradient of a table of this shape as a COO tensor: an entry for each row number in ``indices`` but ``padding_idx``."""
    numbers, values = np.asarray(indices._array).reshape(-1), grad.reshape(-1, grad.shape[-1])
    if padding_idx >= 0:
        there = numbers != padding_idx
        numbers, values = numbers[there], values[wrap(there)]
    pattern = Coordinates(shape, numbers.astype(np.int64, copy=False)[None])
    return with_values(pattern, values, "EmbeddingSparseBackward0")


def sparse_created(name, size, dtype, layout, requires_grad):
    """What ``torch.zeros(size, layout=layout)`` makes: a sparse tensor without entries. Other functions have no such form."""
    if name not in ("zeros", "empty"):
        raise RuntimeError(
            hinted("full(...) is not implemented for sparse layout", "to_sparse() makes a sparse tensor")
        )
    size = (size,) if isinstance(size, int) else tuple(size)
    if layout is sparse_coo:
        return empty_coo(size, dtype, None, requires_grad)
    if layout not in (sparse_csr, sparse_csc):
        message = f"{name}_sparse_compressed expected sparse compressed (non-block) tensor layout but got {LEGACY_NAMES[layout.name]}"
        raise RuntimeError(hinted(message, "zeros of block layouts: torch.zeros(size).to_sparse_bsr(blocksize)"))
    lines = size[-2 if layout is sparse_csr else -1] if len(size) > 1 else 0
    starts, nothing = np.zeros((*size[:-2], lines + 1), np.int64), np.zeros((*size[:-2], 0), np.int64)
    values = wrap(np.zeros(nothing.shape, (dtype or dtypes.get_default_dtype()).numpy))
    return sparse_compressed_tensor(
        wrap(starts), wrap(nothing), values, size, layout=layout, requires_grad=requires_grad
    )


functions.sparse_rows = sparse_rows
functions.sparse_created = sparse_created
