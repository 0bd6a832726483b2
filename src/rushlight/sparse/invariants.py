"""What indices, values and size have to be for each other: always within bounds, sorted and distinct where one asks for it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .patterns import BLOCK_LAYOUTS, ROW_LAYOUTS

_enabled = False


class check_sparse_tensor_invariants:
    """Whether new sparse tensors are checked completely; a context, a decorator, or ``enable()`` and ``disable()``.

    Indices outside of the size are refused in any case; checked on top is that the entries of compressed rows or columns are
    sorted and distinct, and that ``is_coalesced=True`` is true. Follows ``torch.sparse.check_sparse_tensor_invariants``.

    >>> import rushlight as torch
    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
    True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether everything is checked."""
        return _enabled

    @staticmethod
    def enable() -> None:
        """Check everything from now on."""
        global _enabled
        _enabled = True

    @staticmethod
    def disable() -> None:
        """Check bounds alone from now on."""
        global _enabled
        _enabled = False

    def __enter__(self) -> None:
        global _enabled
        self.before += [_enabled]  # no call: after one Ctrl-C may come, and nobody would leave what was entered
        _enabled = self.state

    def __exit__(self, *error: object) -> None:
        global _enabled
        _enabled = self.before[-1]
        del self.before[-1]

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def checked(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked


def checks_invariants(asked):
    """Whether a call that was given ``check_invariants=asked`` checks everything."""
    return _enabled if asked is None else asked


def _fail(message, hint):
    raise RuntimeError(hinted(message, hint))


def check_coordinates(indices, values_shape, size):
    """Refuse indices and values of a COO tensor that do not fit each other or ``size``, which may be None."""
    if indices.ndim != 2:
        _fail(
            f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}",
            "there is a row for each sparse dimension, and a column for each entry",
        )
    dims, entries = indices.shape
    if entries != values_shape[0]:
        _fail(
            f"indices and values must have same nnz, but got nnz from indices: {entries}, nnz from values: {values_shape[0]}",
            "indices have a column for each entry, values a first dimension",
        )
    if size is not None:
        dense = len(values_shape) - 1
        if len(size) != dims + dense:
            _fail(
                f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {dims}, "
                f"dense_dim = {dense}",
                "indices have a row for each sparse dimension, values a dimension more than there are dense ones",
            )
        if any(length < 0 for length in size):
            _fail("numel: integer multiplication overflow", f"the size {list(size)} has a negative length")
        if tuple(size[dims:]) != tuple(values_shape[1:]):
            _fail(
                f"values has incorrect size, expected {[entries, *size[dims:]]}, got {list(values_shape)}",
                f"the last lengths of the size {list(size)} are those of each entry",
            )
    for dim, places in enumerate(indices):
        if not places.size:
            continue
        if places.min() < 0:
            _fail(f"found negative index {places.min()} for dim {dim}", "indices count from 0")
        if size is not None and places.max() >= size[dim]:
            _fail(
                f"size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index {places.max()}",
                f"indices of dimension {dim} reach up to {size[dim] - 1}",
            )


def index_pair(layout, compressed, plain):
    """The two index tensors of a compressed layout as arrays, refused where they are of other dtypes than they may."""
    arrays = [np.asarray(each._array) for each in (compressed, plain)]
    lines, others = ("crow", "col") if layout in ROW_LAYOUTS else ("ccol", "row")
    kinds = [dtypes.from_numpy(each.dtype) for each in arrays]
    if kinds[0] is not kinds[1]:
        _fail(
            f"{lines}_indices and {others}_indices must have the same dtype, bot got {kinds[0].legacy_name} and "
            f"{kinds[1].legacy_name}, respectively",
            "both are int64, or both int32",
        )
    if kinds[0] not in (dtypes.int32, dtypes.int64):
        _fail(
            f"{lines}_indices and {others}_indices dtype must be Int or Long, but got {kinds[0].legacy_name}",
            "convert them with .long()",
        )
    return arrays


def check_compressed(layout, compressed, plain, values_shape, size, completely):
    """Refuse indices, values and size of a compressed matrix that do not fit; ``completely``: also what is not sorted."""
    by_rows, blocks = layout in ROW_LAYOUTS, layout in BLOCK_LAYOUTS
    line, lines, other = ("crow", "row", "col") if by_rows else ("ccol", "column", "row")
    if compressed.ndim != plain.ndim:
        _fail(
            f"{line}_indices and {other}_indices dimensionalities must be equal but got {compressed.ndim} and {plain.ndim}, "
            "respectively",
            "both have one dimension, and those of the batch before",
        )
    if not compressed.ndim:
        _fail(f"{line}_indices must have dimensionality >= 1 but got 0", "it says where each line begins")
    batch, block = _check_dimensions(line, other, compressed, plain, values_shape, size, 2 * blocks)
    counts = [length // step for length, step in zip(size[batch:], block)]
    rows, columns = counts if by_rows else counts[::-1]
    if compressed.shape[-1] != rows + 1 and (compressed.size or plain.size or rows):
        _fail(
            f"{line}_indices.shape[-1] must be equal to the number of {lines}{' block' * blocks}s + 1 (={rows + 1}), but got "
            f"{compressed.shape[-1]}",
            "it says where each line begins, and where the last ends",
        )
    if plain.shape[-1] != values_shape[batch]:
        _fail(
            f"{other}_indices.shape[-1] must be equal to nnz (={values_shape[batch]}) as defined by values.shape[{batch}], but got "
            f"{plain.shape[-1]}",
            "there is an index for each value",
        )
    _check_lines(compressed, plain, line, other, rows, columns, completely)


def _check_dimensions(line, other, compressed, plain, values_shape, size, block_dims):
    """Refuse a size and values that have not the dimensions of the indices; how many are the batch's, and a block's lengths."""
    batch = compressed.ndim - 1
    dense = len(values_shape) - batch - block_dims - 1
    if dense < 0:
        _fail(
            f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {block_dims}) but got "
            f"{len(values_shape)}",
            "values are (*batch, entries), (*batch, entries, height, width) in the block layouts, and may have more dimensions",
        )
    if len(size) != batch + 2 + dense:
        _fail(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + {dense}) but got {len(size)}",
            "a compressed tensor is a matrix, a batch of them, or one whose elements have dimensions of their own",
        )
    batches = compressed.shape[:-1], plain.shape[:-1], tuple(values_shape[:batch]), tuple(size[:batch])
    if len({*batches}) > 1:
        of_lines, of_others, of_values, of_size = map(list, batches)
        _fail(
            f"all batch dimensions of {line}_indices (={of_lines}), {other}_indices (={of_others}), and values (={of_values}) must be "
            f"equal to tensor batch dimensions (={of_size})",
            "each matrix of a batch has indices and values of its own",
        )
    if dense and tuple(values_shape[-dense:]) != tuple(size[-dense:]):
        _fail(
            f"values have the dense dimensions {list(values_shape[-dense:])}, the tensor {list(size[-dense:])}",
            "the last lengths of the size are those of each element",
        )
    block = values_shape[batch + 1 : batch + 3] if block_dims else (1, 1)
    for dim, (length, step) in enumerate(zip(size[batch:], block)):
        if length % step:
            _fail(
                f"tensor shape[{batch + dim}] (={length}) must be divisible with blocksize[{dim}] (={step}) as defined by values shape",
                "blocks cover the matrix without remainder",
            )
    return batch, block


def _check_lines(compressed, plain, line, other, rows, columns, completely):
    """Refuse line starts that do not count up from 0 to the number of entries, and places outside of a line."""
    hint = "the entries of line i are those from number starts[i] to starts[i + 1]"
    many, most = ("ncols", "nrows") if line == "crow" else ("nrows", "ncols")
    counts = np.diff(compressed)
    if compressed.size:
        if (compressed[..., 0] != 0).any():
            _fail(f"`{line}_indices[..., 0] == 0` is not satisfied.", hint)
        if (compressed[..., -1] != plain.shape[-1]).any():
            _fail(f"`{line}_indices[..., -1] == nnz` is not satisfied.", hint)
        if counts.size and (counts.min() < 0 or (completely and counts.max() > columns)):
            _fail(f"`0 <= {line}_indices[..., 1:] - {line}_indices[..., :-1] <= {many}` is not satisfied.", hint)
    if plain.size and (plain.min() < 0 or plain.max() >= columns):
        _fail(
            f"`0 <= {other}_indices < {many}` is not satisfied.", f"there are {columns}, the largest is {plain.max()}"
        )
    if completely and plain.shape[-1] > 1:
        numbers = np.repeat(np.arange(counts.size), counts.reshape(-1)) * columns + plain.reshape(-1)
        if (numbers[1:] <= numbers[:-1]).any():
            _fail(
                f"`{other}_indices[..., {line}_indices[..., i - 1]:{line}_indices[..., i]] for all i = 1, ..., {most} are sorted "
                "and distinct along the last dimension values` is not satisfied.",
                "sort the entries of each line, and add up what stands at one place",
            )
