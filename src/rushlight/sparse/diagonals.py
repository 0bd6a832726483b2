"""Sparse matrices made of diagonals."""

from __future__ import annotations

import numpy as np

from ..base.device import sparse_coo, sparse_csc, sparse_csr
from ..base.errors import hinted
from ..tensor.base import wrap
from .conversion import compressed
from .patterns import Coordinates
from .tensors import with_values


def spdiags(diagonals, offsets, shape, layout=None):
    """A matrix with the rows of ``diagonals`` as its diagonals.

    Args:
        diagonals: (count, length), or one diagonal (length). Element ``j`` of a row goes into column ``j``.
        offsets: (count) of int64: how far each diagonal is above the main one, all different.
        shape: rows and columns of the result.
        layout: ``torch.sparse_coo``, by default, ``sparse_csr`` or ``sparse_csc``.

    >>> import rushlight as torch
    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 1]), (2, 2)).to_dense()
    tensor([[1., 4.],
            [0., 2.]])
    """
    if len(shape) != 2:
        raise RuntimeError(hinted("Output shape must be 2d", f"it is {tuple(shape)}"))
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        name = str(layout).removeprefix("torch.")
        raise RuntimeError(
            hinted(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {name}", "leave layout away")
        )
    rows = diagonals if diagonals.ndim == 2 else diagonals.unsqueeze(0)
    places = np.asarray(offsets._array).reshape(-1)
    if places.size != rows.shape[0]:
        message = f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({places.size})"
        raise RuntimeError(hinted(message, "each row of diagonals has an offset"))
    if np.unique(places).size != places.size:
        raise RuntimeError(hinted("Offset tensor contains duplicate values", "each diagonal comes once"))
    columns = np.broadcast_to(np.arange(min(rows.shape[1], shape[1])), (places.size, min(rows.shape[1], shape[1])))
    lines = columns - places[:, None]
    there = (lines >= 0) & (lines < shape[0])
    numbers = np.nonzero(there)
    pattern = Coordinates(tuple(shape), np.stack((lines[there], columns[there])))
    values = rows[wrap(numbers[0]), wrap(numbers[1])]
    found = with_values(pattern, values, "SparseCooTensorWithDimsAndTensorsBackward0")
    return found if layout in (None, sparse_coo) else compressed(found, layout)
