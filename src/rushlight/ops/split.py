"""Several views at once: unbind, split, chunk and NumPy's ways to cut."""

import itertools

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim, wrap_own_dim
from .table import VIEW, composite, functions, op


@op("unbind(Tensor self, int dim=0) -> Tensor[]", kind=VIEW)
class unbind:
    """The parts along ``dim``, which goes away, as a tuple of views.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 2], [3, 4]]).unbind(1)
    (tensor([1, 3]), tensor([2, 4]))
    """

    def forward(self, dim):
        shape = self.shape
        dim = wrap_dim(dim, len(shape))
        if not shape:
            wrap_own_dim(dim, 0)
        if dim == 0:
            return tuple([self[i, ...] for i in range(shape[0])])
        head = (slice(None),) * dim
        return tuple([self[(*head, i, ...)] for i in range(shape[dim])])

    def d_self(grads, shape, dim):
        dim = wrap_dim(dim, len(shape))
        return functions.stack(_zeros_for_missing(grads, [shape[:dim] + shape[dim + 1 :]] * len(grads)), dim)


def _zeros_for_missing(grads, shapes):
    like = next(g for g in grads if g is not None)
    return [like.new_zeros(shape) if g is None else g for g, shape in zip(grads, shapes)]


def _cut(array, lengths, dim):
    """Views of ``array`` of the given lengths along ``dim``, one after the other."""
    head = (slice(None),) * dim
    parts, start = [], 0
    for length in lengths:
        parts.append(array[(*head, slice(start, start + length))])
        start += length
    return tuple(parts)


def _joined(grads, shape, lengths, dim):
    """The gradients of parts put together; ``lengths()`` are those of all parts."""
    dim = wrap_dim(dim, len(shape))
    if any(grad is None for grad in grads):
        shapes = [(*shape[:dim], length, *shape[dim + 1 :]) for length in lengths()]
        grads = _zeros_for_missing(grads, shapes)
    return functions.cat(grads, dim)


def _given_lengths(shape, split_sizes, dim):
    """``split_sizes``, refused unless they are lengths that add up to that of dimension ``dim``."""
    if not shape:
        raise RuntimeError(hinted("split expects at least a 1-dimensional tensor", "a 0-dim tensor has no parts"))
    length = shape[wrap_dim(dim, len(shape))]
    if split_sizes and min(split_sizes) < 0:
        raise RuntimeError(
            hinted(
                "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes="
                f"{list(split_sizes)}",
                "each is the length of a part",
            )
        )
    if sum(split_sizes) != length:
        raise RuntimeError(
            hinted(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
                f"{dim}), but got split_sizes={list(split_sizes)}",
                f"these sum to {sum(split_sizes)}",
            )
        )
    return split_sizes


def _even_starts(shape, split_size, dim):
    """Where parts of ``split_size`` along ``dim`` begin."""
    if not shape:
        raise RuntimeError(hinted("split expects at least a 1-dimensional tensor", "a 0-dim tensor has no parts"))
    length = shape[wrap_dim(dim, len(shape))]
    if split_size < 0:
        raise RuntimeError(
            hinted(
                f"split expects split_size be non-negative, but got split_size={split_size}", "it is a part's length"
            )
        )
    if split_size == 0 and length:
        raise RuntimeError(
            hinted(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}",
                "parts of length 0 would never end",
            )
        )
    return range(0, length or 1, split_size or 1)


def _even_lengths(shape, split_size, dim):
    """The lengths of parts of ``split_size`` along ``dim``, the last maybe shorter."""
    length = shape[dim]
    return [min(split_size, length - start) for start in _even_starts(shape, split_size, dim)]


def _cut_evenly(array, split_size, dim):
    """Views of ``array``, each ``split_size`` long along ``dim``, the last maybe shorter."""
    starts, dim = _even_starts(array.shape, split_size, dim), wrap_dim(dim, array.ndim)
    if dim == 0:
        return tuple([array[start : start + split_size] for start in starts])
    head = (slice(None),) * dim
    return tuple([array[(*head, slice(start, start + split_size))] for start in starts])


@op("split_with_sizes(Tensor self, int[0] split_sizes, int dim=0) -> Tensor[]", kind=VIEW)
class split_with_sizes:
    """Parts of the given lengths along ``dim``, as a tuple of views."""

    def forward(self, split_sizes, dim):
        return _cut(self, _given_lengths(self.shape, split_sizes, dim), wrap_dim(dim, self.ndim))

    def d_self(grads, shape, split_sizes, dim):
        return _joined(grads, shape, lambda: split_sizes, dim)


@op("split(Tensor self, int split_size, int dim=0) -> Tensor[]", kind=VIEW, names=(), node="SplitBackward0")
class split_even:
    """Parts of ``split_size`` along ``dim``, the last maybe shorter, as a tuple of views."""

    def forward(self, split_size, dim):
        return _cut_evenly(self, split_size, dim)

    def d_self(grads, shape, split_size, dim):
        return _joined(grads, shape, lambda: _even_lengths(shape, split_size, dim), dim)


@op("unsafe_split_with_sizes(Tensor self, int[0] split_sizes, int dim=0) -> Tensor[]")
class unsafe_split_with_sizes:
    """`split_with_sizes` whose parts share memory with the tensor, but are no views for autograd: it counts writes of each."""

    def forward(self, split_sizes, dim):
        return _cut(self, _given_lengths(self.shape, split_sizes, dim), wrap_dim(dim, self.ndim))

    def d_self(grads, shape, split_sizes, dim):
        return _joined(grads, shape, lambda: split_sizes, dim)


@op("unsafe_split(Tensor self, int split_size, int dim=0) -> Tensor[]")
class unsafe_split:
    """`split` into equal parts that share memory with the tensor, but are no views for autograd: it counts writes of each."""

    def forward(self, split_size, dim):
        return _cut_evenly(self, split_size, dim)

    def d_self(grads, shape, split_size, dim):
        return _joined(grads, shape, lambda: _even_lengths(shape, split_size, dim), dim)


@composite(names=("Tensor:split",))
def split_method(input, split_size, dim=0):
    """`split`, whose length or lengths the method calls ``split_size``."""
    return functions.split(input, split_size, dim)


@composite(names=("torch",))
def split(tensor, split_size_or_sections, dim=0):
    """Parts along ``dim`` as views: of one length (an int), or of the given lengths (a list).

    >>> import rushlight as torch
    >>> [part.tolist() for part in torch.arange(5).split(2)]
    [[0, 1], [2, 3], [4]]
    """
    if split_size_or_sections.__class__ is int or (
        not isinstance(split_size_or_sections, (tuple, list, bool, float))
        and hasattr(split_size_or_sections, "__index__")
    ):
        return functions.split_even(tensor, split_size_or_sections, dim)
    return functions.split_with_sizes(tensor, split_size_or_sections, dim)


def _chunked(input, chunks, dim, even, sized):
    shape = input._array.shape
    if not shape:
        raise RuntimeError(hinted("chunk expects at least a 1-dimensional tensor", "a 0-dim tensor has no parts"))
    if chunks <= 0:
        raise RuntimeError(
            hinted(f"chunk expects `chunks` to be greater than 0, got: {chunks}", "it is the number of parts")
        )
    length = shape[wrap_dim(dim, len(shape))]
    each = -(-length // chunks)
    return sized(input, [0] * chunks, dim) if each == 0 else even(input, each, dim)


@composite
def chunk(input, chunks, dim=0):
    """At most ``chunks`` equal parts along ``dim``, the last maybe shorter, as views.

    >>> import rushlight as torch
    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    return _chunked(input, chunks, dim, functions.split_even, functions.split_with_sizes)


@composite
def unsafe_chunk(input, chunks, dim=0):
    """`chunk` whose parts share memory with the tensor, but are no views for autograd: it counts writes of each."""
    return _chunked(input, chunks, dim, functions.unsafe_split, functions.unsafe_split_with_sizes)


@composite
def tensor_split(input, indices_or_sections=None, dim=0, *, indices=None, sections=None):
    """Parts along ``dim``: so many of nearly equal length (an int), or cut at the given indices.

    >>> import rushlight as torch
    >>> [part.tolist() for part in torch.arange(5).tensor_split(3)]
    [[0, 1], [2, 3], [4]]
    """
    cuts = next((v for v in (indices_or_sections, indices, sections) if v is not None), None)
    if input.ndim == 0:
        raise RuntimeError(
            hinted(
                "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims",
                "a 0-dim tensor has no parts",
            )
        )
    dim = wrap_dim(dim, input.ndim)
    if hasattr(cuts, "_edge"):
        cuts = _cuts_of_tensor(cuts)
    length = input._array.shape[dim]
    if isinstance(cuts, int):
        if cuts <= 0:
            raise RuntimeError(
                hinted(f"number of sections must be larger than 0, got {cuts}", "it is the number of parts")
            )
        each, extra = divmod(length, cuts)
        starts = [i * each + min(i, extra) for i in range(cuts)]
        return tuple(functions.slice_dim(input, dim, s, s + each + (i < extra), 1) for i, s in enumerate(starts))
    cuts = [0, *cuts, length]
    return tuple(functions.slice_dim(input, dim, start, end, 1) for start, end in itertools.pairwise(cuts))


def _cuts_of_tensor(tensor):
    expected = "tensor_split expected tensor_indices_or_sections to"
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError(
            hinted(f"{expected} have dtype of long, but got {tensor.dtype.legacy_name}", "call .long() on it")
        )
    if tensor.ndim > 1:
        raise RuntimeError(
            hinted(
                f"{expected} be a zero-dimensional or one-dimensional tensor, but got a tensor with {tensor.ndim} dims",
                "positions to cut at form one row",
            )
        )
    return tensor.tolist()


def _numpy_split(name, least, dim_of):
    def split_like(input, indices_or_sections):
        if input.ndim < least:
            raise RuntimeError(
                hinted(
                    f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with "
                    f"{input.ndim} dimensions!",
                    "tensor_split() cuts along any dimension",
                )
            )
        dim = dim_of(input)
        if isinstance(indices_or_sections, int) and (
            indices_or_sections == 0 or input.shape[dim] % indices_or_sections
        ):
            raise RuntimeError(
                hinted(
                    f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                    f"{input.shape[dim]} is not divisible by the split_size {indices_or_sections}!",
                    "tensor_split() makes parts of nearly equal length",
                )
            )
        return functions.tensor_split(input, indices_or_sections, dim)

    split_like.__name__ = split_like.__qualname__ = name
    split_like.__doc__ = f"`tensor_split` along the dimension that NumPy's ``{name}`` cuts."
    return composite(split_like)


hsplit = _numpy_split("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)


vsplit = _numpy_split("vsplit", 2, lambda x: 0)


dsplit = _numpy_split("dsplit", 3, lambda x: 2)
