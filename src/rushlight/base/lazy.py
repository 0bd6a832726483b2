"""Memory that is read conjugated or negated, or not at all: what a tensor has in place of its array while its lazy bits are set.

- ``x.conj()`` and ``x.conj().imag`` copy nothing: their ``_array`` is a `LazyArray`, the array in memory (``stored``) beside
  two bits that say how it is read. A tensor without bits has a NumPy array as ever, and no path asks it anything more.
- A LazyArray is no NumPy array, and its dtype no NumPy dtype (`LazyDtype`): short paths and kernels, which ask for dtypes that
  they know, decline it. So memory with a bit never passes for plain numbers; where an operation was not thought of, it fails.
- It is resolved in one place: the waist (`tensor.compute`, which all general paths end in) hands operations plain arrays.
- Views are made of ``stored`` and keep the bits; a record may say what becomes of them (``bits``, see `ops.table`).
- What is written goes in through `ops.moving.write`, conjugated or negated; operations that write work on a resolved copy.
- Who only moves or compares memory (storages, sharing, files) asks `stored_in` for it, and `rebuilt` puts the bits on again.
- A third bit, ``meta``, says that there are no numbers: tensors of the meta device have a LazyArray over memory that is only
  reserved (`base.reserved`). Reading them raises, writing does nothing, and the waist finds out shapes alone (`tensor.meta_calls`).
- Reading by NumPy itself (``__array__``) resolves, too, so that what looks at a tensor's numbers sees the right ones.
"""

from __future__ import annotations

import functools

import numpy as np

from . import reserved
from .dtypes import UNUSUAL, from_numpy, register_lazy
from .errors import hinted

# Not empty once there has been a LazyArray in this process, or an array of a dtype that is only stored (`base.stored`): all that
# the short paths test that would not decline by dtype.
LAZY = UNUSUAL


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
    """An array in memory, ``stored``, and whether it is read conjugated (``conj``), negated (``neg``) or not (``meta``).

    One of them is set.
    """

    # `NOTHING` is never set and comes first in memory: where somebody took this for an array, it would have the address 0.
    __slots__ = ("NOTHING", "conj", "dtype", "meta", "neg", "stored")

    def __init__(self, stored, conj, neg, meta=False):
        self.stored, self.conj, self.neg, self.meta = stored, conj, neg, meta
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
        if self.meta:
            raise no_numbers()
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
        if self.meta:
            raise RuntimeError(hinted("Tensor.item() cannot be called on meta tensors", NO_NUMBERS))
        return self.resolved().item()

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return self.resolved().tolist()


NO_NUMBERS = "a tensor of the device 'meta' has shape and dtype alone: make it on the CPU, or load values into it"


def no_numbers():
    """PyTorch's error where the elements of a meta tensor are asked for."""
    return NotImplementedError(hinted("Cannot copy out of meta tensor; no data!", NO_NUMBERS))


_UNREGISTERED = (
    "attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel registered. You may have run "
    "into this message while using an operator with PT2 compilation APIs (torch.compile/torch.export); in order to use this "
    "operator with those APIs you'll need to add a fake impl. Please see the following for next steps:  "
    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)
_NONZERO = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct data-independent implementation "
    "does not exist. This implementation returns a fake value, assuming all elements of the tensor are non-zero. To enable this "
    "registration, please set 'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
)


def no_shape(name):
    """PyTorch's error of an operation whose result's shape depends on elements that a meta tensor does not have."""
    text = _NONZERO if name == "nonzero" else f"aten::{name}: {_UNREGISTERED}"
    return NotImplementedError(
        hinted(text, "what it gives depends on the elements, or is found by computing them: use tensors of the CPU")
    )


def is_meta(array):
    """Whether an array is that of a meta tensor."""
    return array.__class__ is LazyArray and array.meta


def rebuilt(stored, conj, neg):
    """``stored`` itself, or a LazyArray of it where a bit is set, or where it lies in memory that is only reserved."""
    meta = bool(reserved.REGION) and reserved.is_reserved(stored)
    return LazyArray(stored, conj, neg, meta) if conj or neg or meta else stored


def meta_array(shape, dtype, strides=None):
    """The array of a new meta tensor; ``strides`` in bytes, row by row where they are None."""
    return LazyArray(reserved.reserve(shape, dtype, strides), False, False, True)


def as_meta(array):
    """The array of a meta tensor that looks as ``array`` does."""
    return meta_array(array.shape, array.dtype if array.__class__ is np.ndarray else array.dtype.numpy, array.strides)


def bits_of(array):
    """The bits ``(conj, neg)`` with which an array is read."""
    return (array.conj, array.neg) if array.__class__ is LazyArray else (False, False)


def stored_in(array):
    """The array in memory, whose numbers may not be read as they are."""
    return array.stored if array.__class__ is LazyArray else array


def plain(array):
    """An array of the numbers as they are read: the array itself, where it has no bits."""
    return array.resolved() if array.__class__ is LazyArray else array
