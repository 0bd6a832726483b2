"""Strided windows: views given by sizes, strides and an offset, their gradient, and writes into such a window."""

import math

import numpy as np

from ..base.arrays import storage_bytes, strided_view
from ..base.errors import hinted
from ..base.shapes import contiguous_strides
from .copy import dense_copy, is_expanded, refuse_overlap
from .moving import filled, write
from .table import VIEW, functions, op


def window(array, shape, strides, offset=0):
    """A view of ``array`` with element strides; ``offset`` counts elements from its first one."""
    size = array.itemsize
    return strided_view(array, tuple(shape), tuple(s * size for s in strides), offset * size)


def _check_geometry(size, stride, storage_offset):
    if len(size) != len(stride):
        raise RuntimeError(
            hinted(
                "mismatch in length of strides and shape",
                f"there are {len(size)} sizes and {len(stride)} strides; every dimension has one of each",
            )
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            hinted(
                f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}",
                "torch.flip() copies in reverse order",
            )
        )
    if any(n < 0 for n in size):
        raise RuntimeError(
            hinted(
                f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}",
                "sizes are 0 or more; as_strided() infers none",
            )
        )
    if storage_offset is not None and storage_offset < 0:
        raise RuntimeError(
            hinted(
                f"Tensor: invalid storage offset {storage_offset}",
                "the offset counts elements from the start of the storage",
            )
        )


@op(
    "as_strided(Tensor self, int[0] size, int[0] stride, int? storage_offset=None) -> Tensor",
    kind=VIEW,
    names=("torch", "Tensor"),
)
class as_strided:
    """A view with the given sizes, strides and offset, counted in elements from the start of the storage.

    >>> import rushlight as torch
    >>> torch.arange(4).as_strided((3, 2), (1, 1))
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """

    def forward(self, size, stride, storage_offset):
        _check_geometry(size, stride, storage_offset)
        if storage_offset is None:
            return window(self, size, stride)
        return window(self, size, stride, storage_offset - storage_bytes(self)[1] // self.itemsize)

    def d_self(grad, layout, size, stride, storage_offset):
        base_size, base_stride, start = layout
        offset = 0 if storage_offset is None else storage_offset - start
        return functions.as_strided_gradient(grad, base_size, base_stride, size, stride, offset)


def _may_overlap(size, stride):
    """Whether two elements of a window may share memory: each stride must step over all that smaller ones reach."""
    reach = 1
    for step, length in sorted((step, length) for step, length in zip(stride, size) if length > 1):
        if step < reach:
            return True
        reach += (length - 1) * step
    return False


def flat_positions(shape, strides, offset):
    """The element offset of every element of a strided window, as an int64 array of ``shape``."""
    positions = np.full((), offset, np.int64)
    for length, stride in zip(shape, strides):
        positions = np.add.outer(positions, np.arange(length, dtype=np.int64) * stride)
    return positions


@op(
    "as_strided_gradient(Tensor self, int[] base_size, int[] base_stride, int[] size, int[] stride, int offset) -> Tensor",
    names=(),
)
class as_strided_gradient:
    """The gradient of a strided window with respect to the tensor it looks into: overlapping elements add up."""

    def forward(self, base_size, base_stride, size, stride, offset):
        if contiguous_strides(base_size) == tuple(base_stride) and not _may_overlap(size, stride):
            found = filled(base_size, 0, self.dtype)
            last = offset + sum((length - 1) * step for length, step in zip(size, stride))
            if self.size and found.size and offset >= 0 and last < found.size:
                write(window(found, size, stride, offset), self)
                return found
        target = flat_positions(base_size, base_stride, 0)
        source = flat_positions(size, stride, offset)
        low = min(target.min(initial=0), source.min(initial=0))
        length = max(target.max(initial=0), source.max(initial=0)) - low + 1
        memory = np.zeros(length, self.dtype)
        np.add.at(memory, source.reshape(-1) - low, self.reshape(-1))
        found = memory[target - low]
        if math.prod(base_size) > 1 and (0 in base_stride or math.prod(base_size) > length):
            # Elements of the base that share memory share its gradient.
            counts = np.bincount(target.reshape(-1) - low, minlength=length)
            found = found / np.maximum(counts, 1)[target - low].astype(self.dtype)
        return found.astype(self.dtype, copy=False)

    def d_self(grad, base_stride, size, stride, offset):
        return functions.in_layout(grad, base_stride).as_strided(size, stride, offset).clone()


@op(
    "as_strided_scatter(Tensor self, Tensor src, int[0] size, int[0] stride, int? storage_offset=None) -> Tensor",
    node="AsStridedScatterBackward0",
)
class as_strided_scatter:
    """A copy of the tensor, strides included, in which `as_strided` shows ``src``."""

    def forward(self, src, size, stride, storage_offset):
        _check_geometry(size, stride, storage_offset)
        copied = copy_with_gaps(self)
        start = storage_bytes(copied)[1] // self.itemsize
        part = window(copied, size, stride, 0 if storage_offset is None else storage_offset - start)
        if part.shape != src.shape:
            raise RuntimeError(
                hinted(
                    "expected src to have a size equal to the slice of self. src size = "
                    f"{list(src.shape)}, slice size = {list(part.shape)}",
                    "src fills the whole window",
                )
            )
        refuse_overlap(part)
        write(part, src)
        return copied

    def d_self(grad, layout, size, stride, storage_offset):
        around, offset, before = _around_window(grad, layout, storage_offset)
        found = around.as_strided_scatter(grad.new_zeros(size), size, stride, offset)
        return found[before:].reshape(grad.shape) if before else found

    def d_src(grad, layout, size, stride, storage_offset):
        around, offset, _ = _around_window(grad, layout, storage_offset)
        return around.as_strided(size, stride, offset).clone()


def _around_window(grad, layout, storage_offset):
    """(the gradient row by row, where the window starts in it, 0); (its elements behind zeros, 0, how many) if that is before it."""
    offset, grad = _offset_in_gradient(layout, storage_offset), grad.contiguous()
    if offset >= 0:
        return grad, offset, 0
    return functions.cat([grad.new_zeros(-offset), grad.flatten()]), 0, -offset


def _offset_in_gradient(layout, storage_offset):
    """Where a window of the storage of a tensor of this layout starts in a contiguous gradient of it."""
    shape, strides, start = layout
    plain = zip(shape, strides, contiguous_strides(shape))
    if 0 not in shape and any(size != 1 and step != expected for size, step, expected in plain):
        raise RuntimeError(
            hinted(
                "!self.requires_grad() || self.is_contiguous()",
                "as_strided_scatter() differentiates only with respect to contiguous tensors: call contiguous() first",
            )
        )
    return 0 if storage_offset is None else storage_offset - start


def copy_with_gaps(array):
    """A copy of the whole storage, seen as ``array`` sees its own; of the elements alone where several are one place."""
    if array.base is None or is_expanded(array):
        return dense_copy(array)
    raw, start = storage_bytes(array)
    return strided_view(raw.copy().view(array.dtype), array.shape, array.strides, start)
