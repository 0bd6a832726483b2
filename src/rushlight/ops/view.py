"""Views of the same elements under other shapes: view, reshape, squeeze, expand."""

import functools
import math

from ..base import dtypes
from ..base.arrays import element_strides, expand_view, storage_bytes
from ..base.device import contiguous_format
from ..base.errors import hinted
from ..base.lazy import bits_of, stored_in
from ..base.scalars import type_name
from ..base.shapes import infer_view_shape, view_strides, wrap_dim, wrap_dims
from .strided import window
from .table import VIEW, composite, functions, op


@op("view(Tensor self, int[]* size) -> Tensor", kind=VIEW, names=(), node="ViewBackward0")
class view_shape:
    """The same elements under another shape, without copying."""

    def forward(self, size):
        try:
            if not self.flags.c_contiguous:
                if _has_plain_steps(self, size):
                    return self.reshape(size, copy=False)
            else:
                found = self.reshape(size)
                if found.shape == size or min(size) >= -1:
                    return found
        except ValueError:  # refused: the general way says why
            pass
        shape = infer_view_shape(size, self.size)
        strides = view_strides(self.shape, element_strides(self), shape)
        if strides is None:
            raise RuntimeError(
                hinted(
                    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
                    "across two contiguous subspaces). Use .reshape(...) instead.",
                    f"a tensor of shape {list(self.shape)} and strides {list(element_strides(self))} has no view of "
                    f"shape {list(shape)}: reshape() copies it",
                )
            )
        return window(self, shape, strides)

    def d_self(grad, shape):
        return grad.reshape(shape)


def _has_plain_steps(array, shape):
    """Whether a view of that shape has NumPy's steps: no length is 1 or 0, whose steps mean nothing, or to be inferred."""
    return min(*array.shape, *shape, 2) > 1


def _has_view(array, shape):
    """Whether there is a view of that shape, in which all lengths are known."""
    if not _has_plain_steps(array, shape):
        return view_strides(array.shape, element_strides(array), shape) is not None
    try:
        array.reshape(shape, copy=False)
    except ValueError:
        return False
    return True


@op("reshape_alias(Tensor self, int[] size) -> Tensor", kind=VIEW, names=(), node="ReshapeAliasBackward0")
class reshape_alias:
    """What `reshape` gives as a view of a tensor whose elements do not lie row by row."""

    forward = view_shape.forward

    def d_self(grad, shape):
        return grad.reshape(shape)


_SIZES = frozenset((int, tuple, list))


@composite(names=("Tensor",), explains=True, short="view_shape")
def view(input, *lengths, size=None, dtype=None):
    """The same memory under another shape, or, given a dtype, as elements of that type.

    >>> import rushlight as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if size is not None and not lengths:
        lengths = (size,)
    if (
        dtype is None
        and len(lengths) == 1
        and lengths[0].__class__ not in _SIZES
        and (hasattr(lengths[0], "itemsize") or isinstance(lengths[0], type))
    ):
        dtype = lengths[0]
    try:
        if dtype is not None:
            _refuse_lazy(input)
            read = functions.view_dtype(input, dtype)
            functions.share_version(input, read)
            return read
        return functions.view_shape(input, *lengths)
    except Exception:
        functions.refuse("view", (input, *lengths), {} if lengths or dtype is None else {"dtype": dtype})
        raise


def _refuse_lazy(tensor):
    """PyTorch's error for reading memory with lazy bits as elements of a dtype, even its own."""
    conj, neg = bits_of(tensor._array)
    if conj:
        what = "conjugate view tensors"
    elif neg:
        what = "tensors with negative bit set"
    else:
        return
    raise RuntimeError(
        hinted(
            f"torch.Tensor.view is not supported for {what} when converting to a different dtype.",
            "the bytes hold the numbers turned over: resolve_conj() or resolve_neg() first",
        )
    )


@op("view_dtype(Tensor self, dtype dtype) -> Tensor", names=())
class view_dtype:
    """The bytes of the tensor read as another dtype: the same memory, outside the graph."""

    untracked = True

    def forward(self, dtype):
        old, new = self.itemsize, dtype.itemsize
        if old == new:
            return self.view(dtype.numpy)
        strides = element_strides(self)
        doing = f"to view {dtypes.from_numpy(self.dtype).legacy_name} as {dtype.legacy_name} (different element sizes)"
        if self.ndim == 0:
            raise RuntimeError(
                hinted(f"self.dim() cannot be 0 {doing}", "a last dimension has to hold the new elements")
            )
        if strides[-1] != 1:
            raise RuntimeError(
                hinted(
                    f"self.stride(-1) must be 1 {doing}, but got {strides[-1]}",
                    "the bytes of one element must lie side by side: call contiguous() first",
                )
            )
        if new > old:
            self_offset = storage_bytes(self)[1] // old
            _check_divisible(self.shape[-1], new // old, "self.size(-1)", doing)
            _check_divisible(self_offset, new // old, "self.storage_offset()", doing)
            for dim, stride in enumerate(strides[:-1]):
                _check_divisible(stride, new // old, f"self.stride({dim})", doing)
        found = self.view(dtype.numpy)
        if not found.size:  # NumPy forgets their strides
            found = window(found, found.shape, (*(stride * old // new for stride in strides[:-1]), 1))
        return found


def _check_divisible(number, ratio, what, doing):
    if number % ratio:
        raise RuntimeError(
            hinted(
                f"{what} must be divisible by {ratio} {doing}, but got {number}",
                f"one new element takes {ratio} of the old ones",
            )
        )


@composite(explains=True, short="view_shape", fits="array0.flags.c_contiguous")
def reshape(input, *lengths, shape=None):
    """The same elements under another shape: a view where possible, else a copy.

    >>> import rushlight as torch
    >>> torch.arange(4).reshape(2, 2).T.reshape(-1)
    tensor([0, 2, 1, 3])
    """
    if shape is not None and not lengths:
        lengths = (shape,)
    try:
        if not lengths:
            raise TypeError("reshape() takes a shape: reshape(()) makes a 0-dim tensor")
        array = stored_in(input._array)
        if array.flags.c_contiguous:
            given = lengths[0] if lengths[0].__class__ is not int and isinstance(lengths[0], (tuple, list)) else lengths
            for length in given:
                if length.__class__ is not int:
                    break
            else:
                return functions.view_shape(input, given)
        known = infer_view_shape(_lengths(lengths, "reshape"), array.size)
        if _has_view(array, known):
            alias = functions.view_shape if array.flags.c_contiguous else functions.reshape_alias
            return alias(input, known)
        if input.requires_grad:
            return functions.unsafe_view(input.clone(memory_format=contiguous_format), known)
        return functions.reshape_copy(input, known)
    except Exception:
        functions.refuse("reshape", (input, *lengths), {})
        raise


def _lengths(sizes, name):
    """The lengths meant by varargs or by one sequence, which must be integers."""
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    for position, length in enumerate(given):
        if length.__class__ is not int and (isinstance(length, (bool, float)) or not hasattr(length, "__index__")):
            kind = length.__class__.__name__
            raise TypeError(
                hinted(
                    f"{name}(): argument 'shape' failed to unpack the object at pos {position + 1} with error \"type must be "
                    f'tuple of ints,but got {kind}"',
                    "lengths are integers; -1 stands for the one that follows from the others",
                )
            )
    return tuple([length if length.__class__ is int else length.__index__() for length in given])


@op("reshape_copy(Tensor self, int[] size) -> Tensor", names=(), node="UnsafeViewBackward0")
class reshape_copy:
    """A contiguous copy under another shape."""

    def forward(self, size):
        return self.copy(order="C").reshape(size)

    def d_self(grad, shape):
        return grad.reshape(shape)


@composite(names=("Tensor",))
def view_as(input, other):
    """A view with the shape of ``other``."""
    return input.view(other.shape)


@composite(names=("Tensor",))
def reshape_as(input, other):
    """The elements under the shape of ``other``."""
    return input.reshape(other.shape)


@functools.lru_cache(512)
def _flattened(shape, start_dim, end_dim):
    """``shape`` with some dimensions made one; None where it is one already."""
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return None if start == end else (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])


@composite
def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions ``start_dim`` to ``end_dim`` made one.

    >>> import rushlight as torch
    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    array = stored_in(input._array)
    shape = array.shape
    if not shape:
        wrap_dims((start_dim,), 0)
        wrap_dims((end_dim,), 0)
        return input.reshape(1)
    flat = _flattened(shape, start_dim, end_dim)
    if flat is None:
        return input
    return functions.view_shape(input, flat) if array.flags.c_contiguous else input.reshape(flat)


@composite
def ravel(input):
    """The tensor as one contiguous dimension."""
    return input.contiguous().view(-1)


@composite
def unflatten(input, dim, sizes):
    """Dimension ``dim`` split into ``sizes``, one of which may be -1."""
    shape = tuple(input.shape)
    dim = wrap_dim(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        inner = infer_view_shape(tuple(sizes), input.size(dim))
    except (RuntimeError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        first = "unflatten got an unexpected error:"
        if "is invalid for input" in reason:
            first = (
                f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input "
                "tensor"
            )
        raise RuntimeError(hinted(first, reason)) from None
    return input.view((*shape[:dim], *inner, *shape[dim + 1 :]))


@op("unsqueeze(Tensor self, int dim) -> Tensor", kind=VIEW, inplace=False)
class unsqueeze:
    """A view with a new dimension of length 1 at ``dim``."""

    def forward(self, dim):
        dim = wrap_dim(dim, self.ndim + 1)
        if self.flags.c_contiguous and 1 not in self.shape:  # steps of lengths of 1 are kept below
            return self.reshape((*self.shape[:dim], 1, *self.shape[dim:]))
        strides = element_strides(self)
        step = 1 if dim == self.ndim else self.shape[dim] * strides[dim]
        return window(self, (*self.shape[:dim], 1, *self.shape[dim:]), (*strides[:dim], step, *strides[dim:]))

    def d_self(grad, dim):
        return grad.squeeze(dim)


def _squeeze_node(self, dim):
    kind = 0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1
    return f"SqueezeBackward{kind}"


@op("squeeze(Tensor self, any dim=None) -> Tensor", kind=VIEW, node=_squeeze_node)
class squeeze:
    """A view without dimensions of length 1: all of them, or those in ``dim``."""

    def forward(self, dim):
        if dim is None:
            if 1 not in self.shape:
                return self[...]
            dims = range(self.ndim)
        elif dim.__class__ is bool:
            raise TypeError("squeeze(): argument 'dim' must be int, not bool")
        else:
            dims = wrap_dims(dim if isinstance(dim, (tuple, list)) else (dim,), self.ndim)
        gone = {d for d in dims if self.ndim and self.shape[d] == 1}
        keep = [d for d in range(self.ndim) if d not in gone]
        if self.flags.c_contiguous and len(gone) == self.shape.count(1):
            return self.reshape([self.shape[d] for d in keep])
        strides = element_strides(self)
        return window(self, [self.shape[d] for d in keep], [strides[d] for d in keep])

    def d_self(grad, shape):
        return grad.reshape(shape)


@op("expand(Tensor self, int[]* size, *, bool implicit=False) -> Tensor", kind=VIEW, names=("Tensor",))
class expand:
    """The tensor with dimensions of length 1 repeated to ``size``, without copying; -1 keeps a length.

    >>> import rushlight as torch
    >>> torch.tensor([[1], [2]]).expand(2, 3).stride()
    (1, 0)
    """

    def forward(self, size, implicit):
        if len(size) < self.ndim:
            raise RuntimeError(
                hinted(
                    f"expand({type_name(dtypes.from_numpy(self.dtype))}{{{list(self.shape)}}}, "
                    f"size={list(size)}): the number of sizes provided ({len(size)}) must be greater or equal to the "
                    f"number of dimensions in the tensor ({self.ndim})",
                    "name a length, or -1, for every dimension; new ones come first",
                )
            )
        return expand_view(self, _expanded_shape(self.shape, size if size.__class__ is tuple else tuple(size)))

    def d_self(grad, shape):
        return functions.unexpanded(grad, shape)


@functools.lru_cache(512)
def _expanded_shape(lengths, size):
    """``size`` with the lengths that its -1 stand for, refused where ``lengths`` do not expand to it."""
    missing, shape = len(size) - len(lengths), []
    for position in range(len(size) - 1, -1, -1):  # the error names the last dimension that does not fit
        length = size[position]
        own = None if position < missing else lengths[position - missing]
        if length == -1:
            if own is None:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {position}"
                )
            length = own
        elif own is not None and own != length and own != 1:
            raise RuntimeError(
                hinted(
                    f"The expanded size of the tensor ({length}) must match the existing size ({own}) at "
                    f"non-singleton dimension {position}.  Target sizes: {list(size)}.  Tensor sizes: {list(lengths)}",
                    "only dimensions of length 1 can be expanded",
                )
            )
        shape.append(length)
    return tuple(shape[::-1])


@composite(names=("Tensor",))
def expand_as(input, other):
    """The tensor expanded to the shape of ``other``."""
    return input.expand(other.shape)


@composite
def broadcast_to(input, size):
    """The tensor expanded to ``size``."""
    return input.expand(size)


@op("alias(Tensor self) -> Tensor", kind=VIEW, names=())
class alias:
    """A view of the whole tensor."""

    def forward(self):
        return self[...]

    def d_self(grad):
        return grad
