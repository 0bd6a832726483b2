"""Memory that is read conjugated or negated: what a tensor has in place of its array while its lazy bits are set.

- ``x.conj()`` and ``x.conj().imag`` copy nothing: their ``_array`` is a `LazyArray`, the array in memory (``stored``) beside
  two bits that say how it is read. A tensor without bits has a NumPy array as ever, and no path asks it anything more.
- A LazyArray is no NumPy array, and its dtype no NumPy dtype (`LazyDtype`): short paths and kernels, which ask for dtypes that
  they know, decline it. So memory with a bit never passes for plain numbers; where an operation was not thought of, it fails.
- It is resolved in one place: the waist (`tensor.compute`, which all general paths end in) hands operations plain arrays.
- Views are made of ``stored`` and keep the bits; a record may say what becomes of them (``bits``, see `ops.table`).
- What is written goes in through `ops.moving.write`, conjugated or negated; operations that write work on a resolved copy.
- Who only moves or compares memory (storages, sharing, files) asks `stored_in` for it, and `rebuilt` puts the bits on again.
- Reading by NumPy itself (``__array__``) resolves, too, so that what looks at a tensor's numbers sees the right ones.
"""

from __future__ import annotations

import functools

import numpy as np

from .dtypes import from_numpy, register_lazy
from .errors import hinted

# Not empty once there has been a LazyArray in this process: all that the short paths test that would not decline by dtype.
LAZY = []


class LazyDtype:
    """The dtype of a LazyArray: tells kind and size as the one in memory does, and is equal to no other."""

    __slots__ = ("char", "itemsize", "kind", "numpy")
    isbuiltin = 0

    def __init__(self, dtype):
        self.numpy, self.kind, self.itemsize, self.char = dtype, dtype.kind, dtype.itemsize, dtype.char

    def __repr__(self):
        return f"lazy {self.numpy}"


@functools.cache
def _lazy_dtype(dtype):
    found = LazyDtype(dtype)
    register_lazy(found, from_numpy(dtype))
    return found


class LazyArray:
    """An array in memory, ``stored``, and whether it is read conjugated (``conj``) and negated (``neg``); one of them is set."""

    # `NOTHING` is never set and comes first in memory: where somebody took this for an array, it would have the address 0.
    __slots__ = ("NOTHING", "conj", "dtype", "neg", "stored")

    def __init__(self, stored, conj, neg):
        self.stored, self.conj, self.neg = stored, conj, neg
        self.dtype = _lazy_dtype(stored.dtype)
        if not LAZY:
            LAZY.append(True)

    shape = property(lambda self: self.stored.shape)
    strides = property(lambda self: self.stored.strides)
    ndim = property(lambda self: self.stored.ndim)
    size = property(lambda self: self.stored.size)
    itemsize = property(lambda self: self.stored.itemsize)
    nbytes = property(lambda self: self.stored.nbytes)
    flags = property(lambda self: self.stored.flags)
    base = property(lambda self: self.stored)

    def __len__(self):
        return len(self.stored)

    def __array__(self, dtype=None, copy=None):
        return self.resolved() if dtype is None else self.resolved().astype(dtype, copy=False)

    def resolved(self):
        """The numbers as they are read, in new memory of the same layout."""
        found = self.stored
        if self.conj:
            found = np.conjugate(found)
        if self.neg:
            if found.dtype.kind == "b":
                raise NotImplementedError(
                    hinted("\"neg_cpu\" not implemented for 'Bool'", "bools have no sign that _neg_view() could change")
                )
            found = np.negative(found)
        return found if found.__class__ is np.ndarray else np.asarray(found)

    def item(self):
        """The only element as a Python number."""
        return self.resolved().item()

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return self.resolved().tolist()


def rebuilt(stored, conj, neg):
    """``stored`` itself, or a LazyArray of it where a bit is set."""
    return LazyArray(stored, conj, neg) if conj or neg else stored


def bits_of(array):
    """The bits ``(conj, neg)`` with which an array is read."""
    return (array.conj, array.neg) if array.__class__ is LazyArray else (False, False)


def stored_in(array):
    """The array in memory, whose numbers may not be read as they are."""
    return array.stored if array.__class__ is LazyArray else array


def plain(array):
    """An array of the numbers as they are read: the array itself, where it has no bits."""
    return array.resolved() if array.__class__ is LazyArray else array
