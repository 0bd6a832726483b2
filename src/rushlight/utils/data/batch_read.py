"""Whole-batch reads: finding a dataset's ``__getbatch__`` and putting partial batches together."""

from __future__ import annotations

import numpy as np

from ...ops.table import functions
from ...tensor import Tensor, wrap


def batch_reader(dataset):
    """The dataset's ``__getbatch__`` if it may stand in for ``__getitem__``, else None.

    The class whose ``__getitem__`` is in use must itself define ``__getbatch__``: a subclass that overrides
    ``__getitem__`` or ``__getitems__`` alone does not get its parent's batched read. A plain Tensor is read as one
    column.
    """
    kind = type(dataset)
    if kind is Tensor:
        return lambda indices: select_rows(dataset, np.array(indices))
    for owner in kind.__mro__:
        methods = owner.__dict__
        if "__getbatch__" in methods:
            replaced = "__getitem__" not in methods or "__getitems__" in getattr(dataset, "__dict__", ())
            return None if replaced else dataset.__getbatch__
        if "__getitem__" in methods or "__getitems__" in methods:
            return None
    return None


def select_rows(tensor, indices):
    """``stack([tensor[i] for i in indices])`` in one read, or NotImplemented where that might differ.

    ``indices`` is a NumPy array of integers, negative ones counting from the end. Refused: Tensor subclasses, tensors
    under autograd, and indices out of range (reading one by one raises the right error).
    """
    if type(tensor) is not Tensor or tensor.requires_grad or tensor.ndim == 0:
        return NotImplemented
    array = tensor._array  # only bytes are moved, so the way round by the op table is saved
    try:
        # `take` is faster, but would first make a packed copy of the whole of an array that is not packed.
        rows = array.take(indices, 0) if array.flags.c_contiguous else np.ascontiguousarray(array[indices])
    except IndexError:
        return NotImplemented
    return wrap(rows)


def interleave(parts, order):
    """The batch whose row ``i`` is row ``order[i]`` of the collated ``parts`` laid end to end, or NotImplemented.

    ``order`` is a NumPy array. Parts are Tensors of one dtype and row shape, or lists and dicts of such, of one form.
    """
    first = parts[0]
    kind = type(first)
    if any(type(part) is not kind for part in parts):
        return NotImplemented
    if kind is Tensor:
        if any(part.dtype != first.dtype or part.shape[1:] != first.shape[1:] for part in parts):
            return NotImplemented
        return select_rows(functions.cat(parts, 0), order)
    if kind is dict:
        if any(list(part) != list(first) for part in parts):
            return NotImplemented
        columns = [interleave([part[key] for part in parts], order) for key in first]
        return NotImplemented if any(column is NotImplemented for column in columns) else dict(zip(first, columns))
    if kind is list:
        if any(len(part) != len(first) for part in parts):
            return NotImplemented
        columns = [interleave(column, order) for column in zip(*parts)]
        return NotImplemented if any(column is NotImplemented for column in columns) else columns
    return NotImplemented
