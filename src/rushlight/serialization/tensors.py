"""The seam between files and tensors: bytes to checked views, tensors to (storage, offset, sizes, strides)."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ..base.dtypes import from_numpy
from ..base.lazy import meta_array
from ..nn.parameter import Parameter
from ..tensor import wrap
from .messages import malformed, shorten

_MAX_DIMENSIONS = 64  # NumPy's
_MAX_BYTES = 1 << 62


class Layout(NamedTuple):
    """Where a tensor's elements stand in its storage, counted in elements."""

    offset: int
    sizes: tuple
    strides: tuple


def view_storage(storage, dtype, layout):
    """A NumPy view of the storage's bytes. Nothing is read or allocated before the layout is known to fit."""
    _check_layout(storage.nbytes(), dtype, layout)
    bytes_ = storage.array(dtype)
    width = dtype.itemsize
    strides = tuple(stride * width for stride in layout.strides)
    offset = layout.offset * width
    if 0 in layout.sizes and offset > len(bytes_):
        offset = 0
    return np.ndarray(layout.sizes, dtype.numpy, bytes_, offset, strides)


def meta_view(dtype, sizes, strides):
    """The array of a tensor of the meta device with these sizes and strides, in elements."""
    _check_layout(_MAX_BYTES, dtype, Layout(0, sizes, strides))
    return meta_array(sizes, dtype.numpy, tuple(stride * dtype.itemsize for stride in strides))


def _check_layout(nbytes, dtype, layout):
    offset, sizes, strides = layout
    if type(sizes) is not tuple or type(strides) is not tuple or len(sizes) != len(strides):
        raise malformed("a tensor whose sizes and strides do not match")
    if len(sizes) > _MAX_DIMENSIONS:
        raise malformed(f"a tensor of {len(sizes)} dimensions, where {_MAX_DIMENSIONS} are possible")
    for number in (offset, *sizes, *strides):
        if type(number) is not int or not 0 <= number < _MAX_BYTES // dtype.itemsize:
            raise malformed(f"a tensor with an impossible size, stride or offset: {shorten(number)}")
    if prod(size for size in sizes if size) * dtype.itemsize >= _MAX_BYTES:
        raise malformed("a tensor with more elements than memory can address")
    if 0 in sizes:
        return
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if (last + 1) * dtype.itemsize > nbytes:
        raise malformed(f"a tensor that reaches element {last} of a storage that has {nbytes // dtype.itemsize}")


def make_tensor(array, requires_grad=False):
    """A leaf Tensor over the array, without a copy."""
    tensor = wrap(array)
    if requires_grad:
        tensor.requires_grad_(True)
    return tensor


def make_parameter(data, requires_grad):
    """A Parameter over the tensor's memory."""
    return Parameter(data, requires_grad)


class StoredView(NamedTuple):
    """A tensor as a file holds it: the identity and bytes of its storage, its dtype, its place in it."""

    identity: tuple
    bytes: np.ndarray
    dtype: object
    layout: Layout


def describe(array):
    """The StoredView of an array. Views of one buffer share an identity; odd layouts are copied first."""
    root = _root(array)
    found = _place(array, root) if root.flags.c_contiguous or root.flags.f_contiguous else None
    if found is None:
        array = root = np.ascontiguousarray(array).reshape(array.shape)
        found = _place(array, root)
    width = array.itemsize
    flat = root.ravel(order="K").view(np.uint8)
    flat = flat[: len(flat) // width * width]
    # Empty arrays may have any address, and so have the same one.
    identity = (_address(root), root.nbytes) if root.nbytes else (id(root), 0)
    return StoredView(identity, flat, from_numpy(array.dtype), found)


def _root(array):
    """The array that the memory belongs to, or the first view of memory that is not NumPy's."""
    while array.base is not None:
        base = array.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # np.lib.stride_tricks puts a plain object in between
            if not isinstance(base, np.ndarray):
                break
        array = base
    return array


def _address(array):
    return array.__array_interface__["data"][0]


def _place(array, root):
    """The Layout of the array in its root, or None where PyTorch could not describe it."""
    width = array.itemsize
    offset = _address(array) - _address(root) if array.size else 0
    if offset % width or any(stride % width or (stride < 0) for stride in array.strides):
        return None
    layout = Layout(offset // width, array.shape, tuple(stride // width for stride in array.strides))
    if array.size:
        last = layout.offset + sum((size - 1) * stride for size, stride in zip(layout.sizes, layout.strides))
        if offset < 0 or (last + 1) * width > root.nbytes // width * width:
            return None
    return layout


def attributes_of(tensor):
    """The plain attributes that a user has put on a tensor, and the mark of a Buffer."""
    return {name: value for name, value in tensor.__dict__.items() if name[0] != "_" or name == "_is_buffer"}
