"""Other memory for a tensor, or another window on it: ``resize_``, ``set_``, shared and pinned memory."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..autograd.beside import UnfinishedNode
from ..autograd.fitting import keep_form
from ..autograd.modes import state
from ..autograd.node import edge_of, next_sequence
from ..autograd.views import check_inplace, rebase
from ..base.arrays import address_of, bounds, grown, resized, storage_bytes, window_on
from ..base.errors import hinted
from ..base.lazy import bits_of, is_meta, rebuilt, stored_in
from ..base.limits import not_resizable, too_many_elements, too_much_memory
from ..base.scalars import c_name
from ..base.shapes import contiguous_strides, sizes_argument
from ..base.uninitialised import FILLING, fill_new
from ..base.user_code import to_user
from .base import Tensor, method
from .buffers import is_shared_memory, shared_copy
from .storage import TypedStorage, is_storage
from .writes import bump, is_resizable


@method
def is_set_to(self, tensor):
    """Whether ``tensor`` is the same window on the same memory; with lazy bits none is, as PyTorch looks at a resolved copy."""
    mine, other = self._array, tensor._array
    if any(bits_of(mine) + bits_of(other)):
        return False
    same = mine.shape == other.shape and mine.strides == other.strides and mine.dtype == other.dtype
    return same and address_of(mine) == address_of(other)


# ---------------------------------------------------------------- resizing


@method
def resize_(self, *sizes, memory_format=None):
    """Give the tensor another size in place; elements that the memory does not hold yet are not set to anything.

    Where the memory has to grow, the tensor gets new memory and other tensors keep the old one.
    """
    if self.requires_grad:
        raise RuntimeError(
            hinted("cannot resize variables that require grad", "detach() it, or make a new tensor with reshape()")
        )
    if self._tangent is not None:
        raise RuntimeError(
            hinted("cannot resize variables that has a forward grad", "resize the tensor before make_dual()")
        )
    shape = sizes_argument(sizes)
    if any(length < 0 for length in shape):
        raise RuntimeError(
            hinted("numel: integer multiplication overflow", f"lengths are 0 or more, not {list(shape)}")
        )
    if shape != self._array.shape:
        before = stored_in(self._array)
        found = resized(before, shape, is_resizable(self))
        if FILLING and not is_meta(self._array):
            raw, start = storage_bytes(before)
            fill_new(found.reshape(-1)[-((start - raw.size) // found.itemsize) :])
        self._array = rebuilt(found, *bits_of(self._array))
        bump(self, "resize_")
    return self


@method
def resize_as_(self, the_template, *, memory_format=None):
    """Give the tensor the size of another one, in place."""
    return resize_(self, tuple(the_template.shape))


@method
def resize(self, *sizes):
    """Deprecated in PyTorch: `reshape` that must keep the number of elements."""
    warnings.warn("non-inplace resize is deprecated", stacklevel=to_user())
    return _with_sizes(self, sizes_argument(sizes))


def _with_sizes(self, shape):
    count = math.prod(shape)
    if count != self.numel():
        raise RuntimeError(
            hinted(
                f"requested resize to {'x'.join(map(str, shape))} ({count} elements in total), but the given tensor has a "
                f"size of {'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can only change the "
                "shape of a given tensor, while preserving the number of elements. ",
                "resize_() changes the number of elements, outside autograd",
            )
        )
    return self.reshape(shape)


@method
def resize_as(self, tensor):
    """Deprecated in PyTorch: `resize` to the size of another tensor."""
    warnings.warn("non-inplace resize_as is deprecated", stacklevel=to_user())
    return _with_sizes(self, tuple(tensor.shape))


# ---------------------------------------------------------------- set_


@method
def set_(self, source=None, storage_offset=None, size=None, stride=None):
    """Let the tensor look into the memory of a tensor or storage; into none where ``source`` is None.

    Where that memory is too small, the tensor gets new memory that starts as a copy of it, and others keep the old one.

    Args:
        source: a tensor of the same dtype, or a storage.
        storage_offset: where its first element lies, in elements; given together with ``size``.
        size: its lengths; all that the source holds by default.
        stride: its steps; row by row by default.
    """
    if not (source is None or isinstance(source, Tensor) or is_storage(source)) or (storage_offset is None) != (
        size is None
    ):
        raise TypeError(
            hinted(
                f"set_() received an invalid combination of arguments - got ({_given(source, storage_offset, size)}), but "
                "expected one of:",
                "nothing, a tensor or storage, or one of them with storage_offset, size and maybe stride",
            )
        )
    if self._tangent is not None:
        raise NotImplementedError(
            hinted(
                "Trying to use forward AD with set_ that does not support it because it has not been implemented yet.",
                "let the tensor look at other memory before make_dual()",
            )
        )
    if isinstance(source, Tensor) and source.dtype is not self.dtype:
        names = [c_name(t.dtype) for t in (source, self)]
        message = f"Could not set tensor of type {names[0]} to a tensor of type {names[1]}"
        raise RuntimeError(hinted(message, "the dtypes must agree"))
    if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
        raise RuntimeError(
            hinted(
                f"Expected a Storage of type {c_name(self.dtype)} or an UntypedStorage, but got type "
                f"{source.dtype.legacy_name} for argument 1 'storage'",
                "untyped() shows the bytes of a storage",
            )
        )
    whole = isinstance(source, Tensor) and size is None
    tensors = (self, source) if whole else (self,)
    recorded = state.recording and any(tensor.requires_grad for tensor in tensors)
    if recorded:
        check_inplace(self, "set_", tensors)
        edges = tuple([edge_of(tensor) for tensor in tensors])
    array = rebuilt(_window_on(self, source, storage_offset, size, stride), *bits_of(self._array))
    if not recorded:
        keep_form(self, array)
    self._array = array
    self._resizable = source is None or (is_resizable(source) if isinstance(source, Tensor) else source.resizable())
    self._accumulator = None  # a leaf in other memory collects gradients anew
    bump(self, "set_")
    if recorded:
        node = UnfinishedNode()
        node.error = (RuntimeError, "derivative for set_ is not implemented")
        node.next_edges, node.sequence = edges, next_sequence()
        rebase(self, (node, 0))
    return self


def _given(source, storage_offset, size):
    names = ["Tensor" if isinstance(source, Tensor) else type(source).__name__]
    names += ["int"] * (storage_offset is not None)
    return ", ".join(names + [f"size={type(size).__name__}"] * (storage_offset is None and size is not None))


def _window_on(self, source, storage_offset, size, stride):
    kind = stored_in(self._array).dtype
    if source is None:
        return np.empty(0, kind)
    if isinstance(source, Tensor) and size is None:
        return stored_in(source._array)[...]
    raw = storage_bytes(stored_in(source._array))[0] if isinstance(source, Tensor) else source._bytes
    offset, itemsize = storage_offset or 0, kind.itemsize
    if offset < 0:
        raise RuntimeError(hinted(f"Tensor: invalid storage offset {offset}", "it counts elements from the start"))
    shape = (raw.size // itemsize,) if size is None else sizes_argument((size,))
    steps = sizes_argument((stride,)) if stride else contiguous_strides(shape)
    if len(steps) != len(shape):
        message = f"unequal size length ({len(shape)}) and stride length ({len(steps)})"
        raise RuntimeError(hinted(message, "every dimension has one of each"))
    if any(length < 0 for length in shape):
        raise too_many_elements(shape)
    if any(step < 0 for step in steps):
        raise too_much_memory(shape, steps)
    byte_strides = tuple(step * itemsize for step in steps)
    needed = 0 if 0 in shape else bounds(shape, byte_strides, itemsize, offset * itemsize)[1]
    if needed > raw.size:
        if not (is_resizable(source) if isinstance(source, Tensor) else source.resizable()):
            raise not_resizable()
        raw = grown(raw, needed, shape, steps)
    return window_on(raw, shape, kind, offset * itemsize, byte_strides)


# ---------------------------------------------------------------- between processes, for devices


@method
def share_memory_(self):
    """Move the tensor into memory that child processes started by fork share; other tensors keep the old memory."""
    array = stored_in(self._array)
    if not is_shared_memory(array) and array.size:
        raw, offset = storage_bytes(array)
        moved = window_on(shared_copy(raw), array.shape, array.dtype, offset, array.strides)
        self._array = rebuilt(moved, *bits_of(self._array))
    return self


@method
def is_shared(self):
    """Whether the tensor lies in memory that forked processes share."""
    return is_shared_memory(stored_in(self._array))


@method
def pin_memory(self, device=None):
    """Refused: pinned memory serves accelerators, and there is none."""
    raise RuntimeError(
        hinted(
            "Cannot access accelerator device when none is available.", "leave pin_memory away on a CPU-only machine"
        )
    )
