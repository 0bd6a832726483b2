"""Views: results that look into the memory of their first argument, so that a write to one shows in the other."""

import math
import warnings

import numpy as np

from ..base.arrays import element_strides, expand_view, storage_bytes, strided_view
from ..base.errors import hinted
from ..base.size import Size
from ..base.shapes import broadcast_shapes, infer_view_shape, sizes_argument, view_strides, wrap_dim, wrap_dims
from .table import VIEW, composite, functions, op


def window(array, shape, strides, offset=0):
    """A view of ``array`` with element strides; ``offset`` counts elements from its first one."""
    size = array.itemsize
    return strided_view(array, tuple(shape), tuple(s * size for s in strides), offset * size)


@op("as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor", kind=VIEW, names=("torch", "Tensor"))
class as_strided:
    """A view with the given sizes, strides and offset, counted in elements from the start of the storage."""

    def forward(self, size, stride, storage_offset):
        if len(size) != len(stride):
            raise RuntimeError(f"mismatch in length of strides and shape")
        if any(s < 0 for s in stride):
            raise RuntimeError(
                f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
            )
        own = storage_bytes(self)[1] // self.itemsize
        return window(self, size, stride, 0 if storage_offset is None else storage_offset - own)

    def d_self(grad, self, size, stride, storage_offset):
        offset = 0 if storage_offset is None else storage_offset - self.storage_offset()
        return functions.as_strided_gradient(grad, list(self.shape), list(self.stride()), size, stride, offset)


def flat_positions(shape, strides, offset):
    """The element offset of every element of a strided window, as an int64 array of ``shape``."""
    positions = np.full((), offset, np.int64)
    for axis, (length, stride) in enumerate(zip(shape, strides)):
        positions = np.add.outer(positions, np.arange(length, dtype=np.int64) * stride)
    return positions


@op("as_strided_gradient(Tensor self, int[] base_size, int[] base_stride, int[] size, int[] stride, int offset) -> Tensor", names=())
class as_strided_gradient:
    """The gradient of a strided window with respect to the tensor it looks into: overlapping elements add up."""

    def forward(self, base_size, base_stride, size, stride, offset):
        target = flat_positions(base_size, base_stride, 0)
        source = flat_positions(size, stride, offset)
        low = min(target.min(initial=0), source.min(initial=0))
        length = max(target.max(initial=0), source.max(initial=0)) - low + 1
        memory = np.zeros(length, self.dtype)
        np.add.at(memory, source.reshape(-1) - low, self.reshape(-1))
        found = memory[target - low]
        if 0 in base_stride or math.prod(base_size) > length:
            counts = np.bincount(target.reshape(-1) - low, minlength=length)
            found = found / np.maximum(counts, 1)[target - low].astype(self.dtype)
        return found.astype(self.dtype, copy=False)

    def d_self(grad, base_stride, size, stride, offset):
        compact = grad.new_empty_strided(grad.shape, base_stride).copy_(grad)
        return compact.as_strided(size, stride, offset).clone()


# ---------------------------------------------------------------- shapes


@op("view(Tensor self, int[]* size) -> Tensor", kind=VIEW, names=(), node="ViewBackward0")
class view_shape:
    """The same elements under another shape, without copying."""

    def forward(self, size):
        shape = infer_view_shape(size, self.size)
        strides = view_strides(self.shape, element_strides(self), shape)
        if strides is None:
            raise RuntimeError(
                hinted(
                    "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                    "contiguous subspaces). Use .reshape(...) instead.",
                    f"a tensor of shape {list(self.shape)} and strides {list(element_strides(self))} has no view of shape "
                    f"{list(shape)}: reshape() copies it",
                )
            )
        if self.flags.c_contiguous:
            return self.reshape(shape)
        return window(self, shape, strides)

    def d_self(grad, self):
        return grad.reshape(self.shape)


@composite(names=("Tensor",))
def view(input, *size, dtype=None):
    """The same memory under another shape, or, given a dtype, as elements of that type.

    >>> import rushlight as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if dtype is None and len(size) == 1 and not isinstance(size[0], (int, tuple, list)) and hasattr(size[0], "itemsize"):
        dtype = size[0]
    if dtype is not None:
        return functions.view_dtype(input, dtype)
    return functions.view_shape(input, *size)


@op("view_dtype(Tensor self, dtype dtype) -> Tensor", kind=VIEW, names=())
class view_dtype:
    """The bytes of the tensor read as another dtype."""

    def forward(self, dtype):
        old, new = self.itemsize, dtype.itemsize
        if old == new:
            return self.view(dtype.numpy)
        if self.ndim == 0:
            raise RuntimeError(
                f"self.dim() cannot be 0 to view {self.dtype} as {dtype.name} (different element sizes)"
            )
        if new < old:
            if self.strides[-1] != old:
                raise RuntimeError(
                    f"self.stride(-1) must be 1 to view {self.dtype} as {dtype.name} (different element sizes), but got {self.strides[-1] // old}"
                )
        elif self.shape[-1] * old % new:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {new // old} to view {self.dtype} as {dtype.name} (different element sizes), but got {self.shape[-1]}"
            )
        return self.view(dtype.numpy)


@composite
def reshape(input, *shape):
    """The same elements under another shape: a view where possible, else a copy.

    >>> import rushlight as torch
    >>> torch.arange(4).reshape(2, 2).T.reshape(-1)
    tensor([0, 2, 1, 3])
    """
    shape = infer_view_shape(sizes_argument(shape), input.numel())
    if view_strides(tuple(input.shape), input.stride(), shape) is None:
        return functions.reshape_copy(input, shape)
    return functions.view_shape(input, shape)


@op("reshape_copy(Tensor self, int[] shape) -> Tensor", names=(), node="UnsafeViewBackward0")
class reshape_copy:
    """A contiguous copy under another shape."""

    def forward(self, shape):
        return self.copy().reshape(shape)

    def d_self(grad, self):
        return grad.reshape(self.shape)


@composite(names=("Tensor",))
def view_as(input, other):
    """A view with the shape of ``other``."""
    return input.view(other.shape)


@composite(names=("Tensor",))
def reshape_as(input, other):
    """The elements under the shape of ``other``."""
    return input.reshape(other.shape)


@composite
def flatten(input, start_dim=0, end_dim=-1):
    """Dimensions ``start_dim`` to ``end_dim`` made one.

    >>> import rushlight as torch
    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    shape = tuple(input.shape)
    if not shape:
        return input.reshape(1)
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    return input.reshape((*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


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
        inner = infer_view_shape(tuple(sizes), shape[dim])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the input tensor"
        ) from None
    return input.view((*shape[:dim], *inner, *shape[dim + 1 :]))


@op("unsqueeze(Tensor self, int dim) -> Tensor", kind=VIEW, inplace=False)
class unsqueeze:
    """A view with a new dimension of length 1 at ``dim``."""

    def forward(self, dim):
        dim = wrap_dim(dim, self.ndim + 1)
        strides = element_strides(self)
        step = 1 if dim == self.ndim else self.shape[dim] * strides[dim]
        return window(self, (*self.shape[:dim], 1, *self.shape[dim:]), (*strides[:dim], step, *strides[dim:]))

    def d_self(grad, self, dim):
        return grad.squeeze(wrap_dim(dim, self.ndim + 1))


@op("squeeze(Tensor self, any dim=None) -> Tensor", kind=VIEW)
class squeeze:
    """A view without dimensions of length 1: all of them, or those in ``dim``."""

    def forward(self, dim):
        if dim is None:
            dims = range(self.ndim)
        else:
            dims = wrap_dims(dim if isinstance(dim, (tuple, list)) else (dim,), self.ndim)
        gone = {d for d in dims if self.ndim and self.shape[d] == 1}
        keep = [d for d in range(self.ndim) if d not in gone]
        strides = element_strides(self)
        return window(self, [self.shape[d] for d in keep], [strides[d] for d in keep])

    def d_self(grad, self):
        return grad.reshape(self.shape)


@op("expand(Tensor self, int[]* size, *, bool implicit=False) -> Tensor", kind=VIEW, names=("Tensor",))
class expand:
    """The tensor with dimensions of length 1 repeated to ``size``, without copying; -1 keeps a length.

    >>> import rushlight as torch
    >>> torch.tensor([[1], [2]]).expand(2, 3).stride()
    (1, 0)
    """

    def forward(self, size, implicit):
        missing = len(size) - self.ndim
        if missing < 0:
            raise RuntimeError(
                hinted(
                    f"expand({self.dtype}{list(self.shape)}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
                    f"greater or equal to the number of dimensions in the tensor ({self.ndim})",
                    "name a length, or -1, for every dimension; new ones come first",
                )
            )
        shape = []
        for position, length in enumerate(size):
            own = None if position < missing else self.shape[position - missing]
            if length == -1:
                if own is None:
                    raise RuntimeError(
                        f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {position}"
                    )
                length = own
            elif own is not None and own != length and own != 1:
                raise RuntimeError(
                    hinted(
                        f"The expanded size of the tensor ({length}) must match the existing size ({own}) at non-singleton "
                        f"dimension {position}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}",
                        "only dimensions of length 1 can be expanded",
                    )
                )
            shape.append(length)
        return expand_view(self, tuple(shape))

    def d_self(grad, self):
        return grad.sum_to_size(self.shape)


@composite(names=("Tensor",))
def expand_as(input, other):
    """The tensor expanded to the shape of ``other``."""
    return input.expand(other.shape)


@composite
def broadcast_to(input, size):
    """The tensor expanded to ``size``."""
    return input.expand(size)


# ---------------------------------------------------------------- order of dimensions


@op("permute(Tensor self, int[]* dims) -> Tensor", kind=VIEW)
class permute:
    """A view with the dimensions in the order ``dims``."""

    def forward(self, dims):
        if len(dims) != self.ndim:
            raise RuntimeError(
                hinted(
                    "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                    f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}",
                    "name every dimension once",
                )
            )
        wrapped = tuple(wrap_dim(d, self.ndim) for d in dims)
        if len(set(wrapped)) != len(wrapped):
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        return self.transpose(wrapped)

    def d_self(grad, dims):
        order = [d % len(dims) for d in dims]
        return grad.permute(sorted(range(len(order)), key=order.__getitem__))


@op("transpose(Tensor self, int dim0, int dim1) -> Tensor", kind=VIEW,
    names=("torch", "Tensor", "torch:swapaxes", "Tensor:swapaxes", "torch:swapdims", "Tensor:swapdims"))  # fmt: skip
class transpose:
    """A view with two dimensions exchanged."""

    def forward(self, dim0, dim1):
        dim0, dim1 = wrap_dim(dim0, self.ndim), wrap_dim(dim1, self.ndim)
        return self.swapaxes(dim0, dim1) if self.ndim else self[...]

    def d_self(grad, dim0, dim1):
        return grad.transpose(dim0, dim1)


@op("t(Tensor self) -> Tensor", kind=VIEW)
class t:
    """A matrix transposed; a tensor of fewer dimensions as it is."""

    def forward(self):
        if self.ndim > 2:
            raise RuntimeError(
                hinted(
                    f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D",
                    "use .mT to transpose the last two dimensions, or permute()",
                )
            )
        return self.T

    def d_self(grad):
        return grad.t()


@composite
def movedim(input, source, destination):
    """A view with dimensions ``source`` moved to the places ``destination``."""
    source = (source,) if isinstance(source, int) else tuple(source)
    destination = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number of dims as "
            f"destination ({list(destination)} dims)"
        )
    source, destination = wrap_dims(source, input.ndim), wrap_dims(destination, input.ndim)
    order = [d for d in range(input.ndim) if d not in source]
    for place, dim in sorted(zip(destination, source)):
        order.insert(place, dim)
    return input.permute(order)


@composite
def moveaxis(input, source, destination):
    """`movedim` under NumPy's name."""
    return input.movedim(source, destination)


def _mirrored(name, doc, order):
    """A property that views the tensor with its dimensions in another order."""

    @property
    def attribute(self):
        return order(self)

    attribute.__doc__ = doc
    return name, attribute


def _reversed_dims(x):
    return x.permute(tuple(range(x.ndim - 1, -1, -1))) if x.ndim != 2 else x.t()


def _matrix_transposed(x):
    if x.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {x.ndim}-D tensor.")
    return x.transpose(-2, -1)


def _hermitian(x):
    if x.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {x.ndim}-D tensor.")
    return x.adjoint() if x.ndim == 2 else x


# Attributes of Tensor, attached by the tensor room.
PROPERTIES = dict(
    [
        _mirrored("T", "The tensor with its dimensions in reverse order, as a view.", _reversed_dims),
        _mirrored("mT", "The tensor with its last two dimensions exchanged, as a view.", _matrix_transposed),
        _mirrored("H", "A matrix transposed and conjugated.", _hermitian),
        _mirrored("mH", "Matrices transposed and conjugated.", lambda x: x.adjoint()),
    ]
)


@composite
def adjoint(input):
    """The last two dimensions transposed, conjugated where complex."""
    if input.ndim < 2:
        raise RuntimeError(f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor.")
    swapped = input.transpose(-2, -1)
    return swapped.conj() if input.is_complex() else swapped


@op("alias(Tensor self) -> Tensor", kind=VIEW, names=())
class alias:
    """A view of the whole tensor."""

    def forward(self):
        return self[...]

    def d_self(grad):
        return grad


# ---------------------------------------------------------------- parts


@op("select(Tensor self, int dim, int index) -> Tensor", kind=VIEW)
class select:
    """The part of the tensor at ``index`` of dimension ``dim``, which goes away."""

    def forward(self, dim, index):
        if self.ndim == 0:
            raise IndexError("select() cannot be applied to a 0-dim tensor.")
        dim = wrap_dim(dim, self.ndim)
        length = self.shape[dim]
        if not -length <= index < length:
            raise IndexError(
                hinted(
                    f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}",
                    f"valid indices there are {-length} to {length - 1}" if length else "the dimension is empty",
                )
            )
        return self[(slice(None),) * dim + (index, ...)]

    def d_self(grad, self, dim, index):
        full = functions.zeros(self.shape, dtype=grad.dtype)
        return functions.select_scatter(full, grad, dim, index)


@op("slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", kind=VIEW, names=(), node="SliceBackward0")
class slice_dim:
    """The elements ``start`` to ``end``, every ``step``-th, of dimension ``dim``."""

    def forward(self, dim, start, end, step):
        if self.ndim == 0:
            raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
        return self[(slice(None),) * wrap_dim(dim, self.ndim) + (slice(start, end, step),)]

    def d_self(grad, self, dim, start, end, step):
        full = functions.zeros(self.shape, dtype=grad.dtype)
        return functions.slice_scatter(full, grad, dim, start, end, step)


@composite
def narrow(input, dim, start, length):
    """``length`` elements of dimension ``dim`` from ``start`` on, as a view."""
    if input.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    start = int(start)
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start += size if start < 0 else 0
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return functions.slice_dim(input, dim, start, start + length)


@composite
def narrow_copy(input, dim, start, length):
    """`narrow` as a copy."""
    return input.narrow(dim, start, length).clone()


@op("diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", kind=VIEW)
class diagonal:
    """The diagonals of the planes of ``dim1`` and ``dim2``, as a last dimension."""

    def forward(self, offset, dim1, dim2):
        dim1, dim2 = wrap_dim(dim1, self.ndim), wrap_dim(dim2, self.ndim)
        if dim1 == dim2:
            raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
        strides = element_strides(self)
        rows, columns = self.shape[dim1], self.shape[dim2]
        length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
        start = 0 if length == 0 else offset * strides[dim2] if offset >= 0 else -offset * strides[dim1]
        keep = [d for d in range(self.ndim) if d not in (dim1, dim2)]
        return window(
            self,
            [*(self.shape[d] for d in keep), length],
            [*(strides[d] for d in keep), strides[dim1] + strides[dim2]],
            start,
        )

    def d_self(grad, self, offset, dim1, dim2):
        full = functions.zeros(self.shape, dtype=grad.dtype)
        return functions.diagonal_scatter(full, grad, offset, dim1, dim2)


@op("unfold(Tensor self, int dimension, int size, int step) -> Tensor", kind=VIEW, names=("Tensor:unfold",), node="UnfoldBackward0")
class unfold_dim:
    """All windows of ``size`` elements, ``step`` apart, of dimension ``dimension``; the window is a new last dimension."""

    def forward(self, dimension, size, step):
        dim = wrap_dim(dimension, self.ndim)
        length = self.shape[dim] if self.ndim else 1
        if size > length:
            raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
        if step <= 0:
            raise RuntimeError(f"step is {step} but must be > 0")
        strides = element_strides(self)
        if self.ndim == 0:
            return window(self, (size,), (1,))
        shape = (*self.shape[:dim], (length - size) // step + 1, *self.shape[dim + 1 :], size)
        return window(self, shape, (*strides[:dim], strides[dim] * step, *strides[dim + 1 :], strides[dim]))

    def d_self(grad, self, dimension, size, step):
        return functions.unfold_gradient(grad, list(self.shape), dimension, size, step)


@op("unfold_gradient(Tensor self, int[] shape, int dimension, int size, int step) -> Tensor", names=(), node="UnfoldBackwardBackward0")
class unfold_gradient:
    """The gradient of `unfold`: windows that overlap add up."""

    def forward(self, shape, dimension, size, step):
        found = np.zeros(shape, self.dtype)
        if not shape:
            return np.asarray(self.sum(dtype=self.dtype))
        dim = wrap_dim(dimension, len(shape))
        windows = self.shape[dim]
        for position in range(size):
            part = (slice(None),) * dim + (slice(position, position + (windows - 1) * step + 1, step),)
            if windows:
                found[part] += self[..., position]
        return found

    def d_self(grad, dimension, size, step):
        return grad.unfold(dimension, size, step)


# ---------------------------------------------------------------- several views


@op("unbind(Tensor self, int dim=0) -> Tensor[]", kind=VIEW)
class unbind:
    """The parts along ``dim``, which goes away, as a tuple of views."""

    def forward(self, dim):
        if self.ndim == 0:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return tuple(self[(slice(None),) * wrap_dim(dim, self.ndim) + (i, ...)] for i in range(self.shape[wrap_dim(dim, self.ndim)]))

    def d_self(grads, self, dim):
        return functions.stack(_zeros_for_missing(grads, [self.shape[:dim % self.ndim] + self.shape[dim % self.ndim + 1 :]] * len(grads)), dim)


def _zeros_for_missing(grads, shapes):
    like = next(g for g in grads if g is not None)
    return [like.new_zeros(shape) if g is None else g for g, shape in zip(grads, shapes)]


@op("split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]", kind=VIEW)
class split_with_sizes:
    """Parts of the given lengths along ``dim``, as a tuple of views."""

    def forward(self, split_sizes, dim):
        dim = wrap_dim(dim, self.ndim)
        if sum(split_sizes) != self.shape[dim]:
            raise RuntimeError(
                hinted(
                    f"split_with_sizes expects split_sizes to sum exactly to {self.shape[dim]} (input tensor's size at dimension {dim}), "
                    f"but got split_sizes={list(split_sizes)}",
                    f"these sum to {sum(split_sizes)}",
                )
            )
        if any(n < 0 for n in split_sizes):
            raise RuntimeError(f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(split_sizes)}")
        ends = np.cumsum(split_sizes).tolist()
        head = (slice(None),) * dim
        return tuple(self[(*head, slice(end - length, end))] for end, length in zip(ends, split_sizes))

    def d_self(grads, self, split_sizes, dim):
        return _joined(grads, self, split_sizes, dim)


@op("split(Tensor self, int split_size, int dim=0) -> Tensor[]", kind=VIEW, names=(), node="SplitBackward0")
class split_even:
    """Parts of ``split_size`` along ``dim``, the last maybe shorter, as a tuple of views."""

    def forward(self, split_size, dim):
        if self.ndim == 0:
            raise RuntimeError("split expects at least a 1-dimensional tensor")
        dim = wrap_dim(dim, self.ndim)
        if split_size < 0 or (split_size == 0 and self.shape[dim]):
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={split_size}"
                if split_size < 0
                else f"split_size can only be 0 if dimension size is 0, but got dimension size of {self.shape[dim]}"
            )
        head = (slice(None),) * dim
        return tuple(
            self[(*head, slice(start, start + split_size))] for start in range(0, max(self.shape[dim], 1), max(split_size, 1))
        )

    def d_self(grads, self, split_size, dim):
        length = self.shape[dim]
        return _joined(grads, self, [min(split_size, length - i * split_size) for i in range(len(grads))], dim)


def _joined(grads, self, lengths, dim):
    dim = wrap_dim(dim, self.ndim)
    shapes = [(*self.shape[:dim], length, *self.shape[dim + 1 :]) for length in lengths]
    return functions.cat(_zeros_for_missing(grads, shapes), dim)


@composite
def split(tensor, split_size_or_sections, dim=0):
    """Parts along ``dim`` as views: of one length (an int), or of the given lengths (a list).

    >>> import rushlight as torch
    >>> [part.tolist() for part in torch.arange(5).split(2)]
    [[0, 1], [2, 3], [4]]
    """
    if isinstance(split_size_or_sections, (tuple, list)):
        return functions.split_with_sizes(tensor, split_size_or_sections, dim)
    return functions.split_even(tensor, split_size_or_sections, dim)


@composite
def chunk(input, chunks, dim=0):
    """At most ``chunks`` equal parts along ``dim``, the last maybe shorter, as views."""
    if input.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim(dim, input.ndim)
    length = input.shape[dim]
    each = -(-length // chunks)
    if each == 0:
        return functions.split_with_sizes(input, [0] * chunks, dim)
    return functions.split_even(input, each, dim)


@composite
def tensor_split(input, indices_or_sections, dim=0):
    """Parts along ``dim``: so many of nearly equal length (an int), or cut at the given indices."""
    if input.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, input.ndim)
    if hasattr(indices_or_sections, "tolist"):
        indices_or_sections = indices_or_sections.tolist()
    length = input.shape[dim]
    if isinstance(indices_or_sections, int):
        sections = indices_or_sections
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        each, extra = divmod(length, sections)
        starts = [i * each + min(i, extra) for i in range(sections)]
        return tuple(functions.slice_dim(input, dim, s, s + each + (i < extra)) for i, s in enumerate(starts))
    cuts = [0, *indices_or_sections, length]
    return tuple(functions.slice_dim(input, dim, start, end) for start, end in zip(cuts, cuts[1:]))


def _numpy_split(name, least, dim_of):
    def split_like(input, indices_or_sections):
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension{'s' * (least > 1)}, but got a tensor with {input.ndim} dimensions!"
            )
        dim = dim_of(input)
        if isinstance(indices_or_sections, int) and (indices_or_sections == 0 or input.shape[dim] % indices_or_sections):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} is not "
                f"divisible by the split_size {indices_or_sections}!"
            )
        return functions.tensor_split(input, indices_or_sections, dim)

    split_like.__name__ = split_like.__qualname__ = name
    split_like.__doc__ = f"`tensor_split` along the dimension that NumPy's ``{name}`` cuts."
    return composite(split_like)


hsplit = _numpy_split("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)
vsplit = _numpy_split("vsplit", 2, lambda x: 0)
dsplit = _numpy_split("dsplit", 3, lambda x: 2)


# ---------------------------------------------------------------- more dimensions


@composite
def atleast_1d(*tensors):
    """Each tensor with at least one dimension."""
    return _at_least(tensors, lambda t: t.reshape(1) if t.ndim == 0 else t)


@composite
def atleast_2d(*tensors):
    """Each tensor with at least two dimensions."""
    return _at_least(tensors, lambda t: t.reshape(1, 1) if t.ndim == 0 else t.unsqueeze(0) if t.ndim == 1 else t)


@composite
def atleast_3d(*tensors):
    """Each tensor with at least three dimensions."""

    def grow(t):
        if t.ndim == 0:
            return t.reshape(1, 1, 1)
        if t.ndim == 1:
            return t.unsqueeze(0).unsqueeze(-1)
        return t.unsqueeze(-1) if t.ndim == 2 else t

    return _at_least(tensors, grow)


def _at_least(tensors, grow):
    if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
        return grow(tensors[0])
    if len(tensors) == 1:
        tensors = tensors[0]
    return tuple(grow(t) for t in tensors)


@composite(names=("torch",))
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    shape = broadcast_shapes(*[t._array.shape for t in tensors])
    return tuple(t.expand(shape) for t in tensors)


@composite(names=("torch:broadcast_shapes",))
def common_shape(*shapes):
    """The shape that all given shapes expand to."""
    return Size(broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


@composite(names=("torch",))
def meshgrid(*tensors, indexing=None):
    """Grids of the coordinates in 1-dim tensors: one tensor of the common shape for each."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument. (Triggered internally)", stacklevel=2
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) >= 2
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = [t.numel() for t in ordered]
    grids = [
        t.reshape([t.numel() if d == axis else 1 for d in range(len(ordered))]).expand(shape) for axis, t in enumerate(ordered)
    ]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
        grids = [g.transpose(0, 1) for g in grids]
    return tuple(grids)
