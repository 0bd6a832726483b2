"""Copies: clone, conversion between dtypes, writing into existing memory, resizing."""

import numpy as np

from ..base import dtypes
from ..base.arrays import address_of, converted, copyto, in_result_order, may_share_memory, narrowed
from ..base.device import channels_last, channels_last_3d, contiguous_format, preserve_format
from ..base.errors import hinted, kind_name
from ..base.lazy import stored_in
from ..base.scalars import fitted, relaxed
from ..base.shapes import broadcast_shapes, sizes_argument
from .moving import copied
from .table import INPLACE, composite, functions, inplace_op, op


def dense_copy(array):
    """A copy that keeps the order of dimensions in memory, as preserve_format does."""
    if array.flags.c_contiguous:
        return copied(array)
    return in_result_order(array.copy(order="K"), (array,))


@inplace_op(writes=("targets",))
def copy_all_(targets, sources):
    """Write arrays into others of the same shapes."""
    for target, source in zip(targets, sources):
        copyto(target, source)


def laid_out(array, memory_format):
    """A copy of ``array`` in a memory format."""
    if memory_format is None or memory_format is preserve_format:
        return dense_copy(array)
    if memory_format is contiguous_format:
        return copied(array)
    rank = {channels_last: 4, channels_last_3d: 5}[memory_format]
    if array.ndim != rank:
        name = "channels_last" if rank == 4 else "channels_last_3d"
        raise RuntimeError(
            hinted(f"required rank {rank} tensor to use {name} format", f"this one has {array.ndim} dimensions")
        )
    return np.moveaxis(copied(np.moveaxis(array, 1, -1)), -1, 1)


@op("clone(Tensor self, *, any memory_format=None) -> Tensor")
class clone:
    """A copy with memory of its own; gradients flow through it.

    >>> import rushlight as torch
    >>> x = torch.zeros(2)
    >>> x.clone().fill_(1), x
    (tensor([1., 1.]), tensor([0., 0.]))
    """

    def forward(self, memory_format):
        return laid_out(self, memory_format)

    def d_self(grad):
        return grad


@op("to_copy(Tensor self, dtype dtype, *, any memory_format=None) -> Tensor", names=(), node="ToCopyBackward0")
class to_copy:
    """A copy in another dtype."""

    def forward(self, dtype, memory_format):
        kind = dtype.numpy
        found = converted(narrowed(self, kind), kind)
        if memory_format is None or memory_format is preserve_format:
            return found
        return laid_out(found, memory_format)

    def d_self(grad):
        return grad  # the node fits it to the dtype of self


@composite(names=("Tensor",))
def contiguous(input, memory_format=contiguous_format):
    """The tensor itself where its elements lie row by row, else a copy that does."""
    array = input._array
    if array.__class__ is np.ndarray and memory_format is contiguous_format:  # nearly all calls: no method is asked
        in_order = array.flags.c_contiguous
    else:
        in_order = input.is_contiguous(memory_format=memory_format)
    if in_order:
        return input
    return functions.clone(input, memory_format=memory_format)


@composite(names=("Tensor",))
def is_contiguous(input, memory_format=contiguous_format):
    """Whether the elements lie in memory in the order of ``memory_format``, without gaps."""
    array = stored_in(input._array)
    if memory_format is contiguous_format or memory_format is preserve_format:
        return array.flags.c_contiguous
    rank = 4 if memory_format is channels_last else 5
    return array.ndim == rank and np.moveaxis(array, 1, -1).flags.c_contiguous


@op("copy_(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", kind=INPLACE, names=(), node="CopyBackwards")
class copy_from:
    """Write ``src``, broadcast and converted, into the tensor."""

    into_differentiable = True

    def forward(self, src, non_blocking):
        if may_share_memory(self, src):
            if is_same_window(self, src):
                return
            refuse_shared(self, src)
        refuse_overlap(self)
        if src.shape != self.shape:
            _check_fits(src, self)
        copyto(self, narrowed(src, self.dtype), casting="unsafe")

    def d_self(grad):
        return functions.zeros_like(grad)

    def d_src(grad, src_shape):
        return grad.sum_to_size(src_shape)


def is_expanded(array):
    """Whether several elements are one place in memory because a dimension has a step of 0."""
    return 0 in array.strides and array.size > 0 and any(n > 1 and s == 0 for n, s in zip(array.shape, array.strides))


def refuse_overlap(array):
    """Refuse to write into an array, such as an expanded one, of which several elements are one place in memory, and into
    read-only memory."""
    if is_expanded(array):
        raise RuntimeError(
            hinted(
                "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                "Please clone() the tensor before performing the operation.",
                f"the tensor of shape {list(array.shape)} was expanded: its elements are not separate",
            )
        )
    if array.__class__ is np.ndarray and not array.flags.writeable:
        raise RuntimeError(
            hinted(
                "this tensor looks into memory that is read-only",
                "the indices of sparse tensors are, and NumPy arrays may be: clone() it first",
            )
        )


def refuse_shared(target, source):
    """Refuse to write into an array while another one that shares some of its memory is read."""
    if target is source or (may_share_memory(target, source) and _is_dense(target) and _is_dense(source)):
        raise RuntimeError(
            hinted(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation.",
                f"the operand of shape {list(source.shape)} looks into the memory of the tensor that is written",
            )
        )


def refuse_partly_shared(target, source):
    """As `refuse_shared`, but the very same elements in the same order are no harm."""
    if target is not source and may_share_memory(target, source) and not is_same_window(target, source):
        refuse_shared(target, source)


def is_same_window(array, other):
    """Whether two arrays are the same elements of the same memory."""
    same = array.shape == other.shape and array.strides == other.strides and array.dtype == other.dtype
    return same and address_of(array) == address_of(other)


def _is_dense(array):
    """Whether the elements fill a stretch of memory without gaps or repeats, in any order of dimensions."""
    expected = array.itemsize
    for stride, length in sorted((s, n) for s, n in zip(array.strides, array.shape) if n != 1):
        if stride != expected:
            return False
        expected *= length
    return True


def _check_fits(source, target):
    common = broadcast_shapes(target.shape, source.shape)
    if common != target.shape:
        raise RuntimeError(
            hinted(
                f"output with shape {list(target.shape)} doesn't match the broadcast shape {list(common)}",
                "writing cannot make a tensor larger",
            )
        )


@composite(names=("Tensor",))
def copy_(input, src, non_blocking=False):
    """Write the elements of ``src``, broadcast and converted, into this tensor."""
    if isinstance(src, (bool, int, float, complex)):
        src = functions.full((), src, dtype=dtypes.PYTHON[type(src)])
    if not hasattr(src, "_edge"):
        raise TypeError(
            hinted(
                f"copy_(): argument 'other' (position 1) must be Tensor, not {kind_name(src)}",
                "fill_() writes a number, torch.as_tensor() makes a tensor of a list",
            )
        )
    return functions.copy_from(input, src)


def filler(size, dtype, value):
    """A Python number as what fills ``size`` elements: a single one of half precision takes infinities for large numbers."""
    return relaxed(dtype, value) if size == 1 else fitted(dtype, value)


@op("fill_(Tensor self, Scalar value) -> Tensor", kind=INPLACE, names=(), node="FillBackward2")
class fill_number:
    """Write one number everywhere."""

    def forward(self, value):
        copyto(self, filler(self.size, self.dtype, value))

    def d_self(grad):
        return functions.zeros_like(grad)


@op("fill_(Tensor self, Tensor value) -> Tensor", kind=INPLACE, names=(), node="FillBackward3")
class fill_tensor:
    """Write the value of a 0-dim tensor everywhere."""

    def forward(self, value):
        refuse_overlap(self)
        copyto(self, narrowed(value, self.dtype), casting="unsafe")

    def d_self(grad):
        return functions.zeros_like(grad)

    def d_value(grad):
        return grad.sum()


@composite(names=("torch", "Tensor"))
def fill_(input, value):
    """Write a number, or the value of a 0-dim tensor, into every element."""
    if hasattr(value, "_edge"):
        if value.ndim:
            raise RuntimeError(
                hinted(
                    f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.",
                    "copy_() writes a tensor of the same shape",
                )
            )
        return functions.fill_tensor(input, value)
    return functions.fill_number(input, value.item() if isinstance(value, np.generic) else value)


def _fill_node(self, value):
    return "FillBackward1" if hasattr(value, "_edge") else "FillBackward0"


@op("fill(Tensor self, Operand value) -> Tensor", names=("torch",), node=_fill_node)
class fill:
    """A tensor of the same shape and dtype with ``value`` (a number or 0-dim tensor) everywhere."""

    def forward(self, value):
        result = np.empty_like(self)
        copyto(
            result, value if isinstance(value, np.ndarray) else filler(self.size, self.dtype, value), casting="unsafe"
        )
        return result

    def d_self(grad):
        return functions.zeros_like(grad)

    def d_value(grad):
        return grad.sum()


@op("zero_(Tensor self) -> Tensor", kind=INPLACE, names=("torch", "Tensor"))
class zero_:
    """Write zeros everywhere."""

    def forward(self):
        self[...] = 0

    def d_self(grad):
        return functions.zeros_like(grad)


@composite(names=("Tensor",))
def sum_to_size(input, *size):
    """Sum so that the result has ``size``, to which the tensor's shape could be expanded."""
    target = size[0] if size and size[0].__class__ is tuple else sizes_argument(size)
    found = functions.unexpanded(input, target)
    return found.reshape(target) if target and input._array.ndim != len(target) else found


@composite(names=())
def unexpanded(input, target):
    """`sum_to_size`, where it does not matter whether the result is a view: the gradient of an expansion."""
    shape = input._array.shape
    if shape == target and (
        shape or input._array.dtype.kind not in "biu"
    ):  # a 0-dim integer becomes int64, as in a sum
        return input
    if not target:
        return input.sum()
    missing = len(shape) - len(target)
    dims = tuple([d for d, length in enumerate(shape) if d < missing or (target[d - missing] == 1 and length != 1)])
    if missing < 0 or any(shape[missing + d] != length and length != 1 for d, length in enumerate(target)):
        raise RuntimeError(
            hinted(
                f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.",
                "counted from the right, lengths must be equal or 1",
            )
        )
    if len(dims) == missing:  # dimensions that lie before those of the size, and no others
        return input.sum(dims) if missing else input
    if dims:
        input = input.sum(dims, True)
    return input.reshape(target) if missing else input


@composite(names=("Tensor",))
def module_load(input, other, assign=False):
    """What ``load_state_dict`` puts in the place of this tensor: ``other`` copied into it, or, with ``assign``, ``other`` itself."""
    return other.detach() if assign else input.copy_(other).detach()
