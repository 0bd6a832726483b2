"""Other shapes of jagged tensors: dimensions exchanged, added, split and picked, elements of the batch, joins."""

from __future__ import annotations

from math import prod

import numpy as np

from ..autograd.views import MULTI_OUTPUT
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from ..ops.table import functions
from ..tensor.base import wrap
from ..tensor.dispatch import link_view
from .calls import not_run, raggedness_matches, takes
from .checks import dim_inside, expect_plain, number_of
from .creation import jagged_from_list
from .jagged import is_jagged, jagged, packed
from .padding import record
from .structures import Jagged


@record("nested_unbind(Tensor self, any structure, any name) -> Tensor[]", node=lambda self, structure, name: name)
class _elements:
    """The elements of the batch, each a view of the values. ``name`` is that of the node."""

    def forward(self, structure, name):
        dim = structure.ragged - 1
        before = (slice(None),) * dim
        ends = zip(structure.starts().tolist(), structure.counts().tolist())
        return tuple([self.values[(*before, slice(start, start + count))] for start, count in ends])

    def gradients(grads, structure, shape):
        return (_put_together(grads, structure, shape),)


def _put_together(grads, structure, shape):
    """The jagged tensor of gradients of its elements, some of which may be None."""
    present = next(grad for grad in grads if grad is not None)
    dim, counts = structure.ragged - 1, structure.counts().tolist()
    parts = [
        present.new_zeros([*shape[1 : dim + 1], count, *shape[dim + 2 :]]) if grad is None else grad
        for grad, count in zip(grads, counts)
    ]
    if structure.lengths is None:
        return jagged(structure, functions.cat(parts, dim))
    rows = np.concatenate([np.arange(each, each + count) for each, count in zip(structure.starts(), counts)])
    total = max(int(structure.offsets._array[-1]), int(rows.max(initial=-1)) + 1)
    whole = present.new_zeros([*shape[1 : dim + 1], total, *shape[dim + 2 :]])
    return jagged(structure, whole.index_add(dim, wrap(rows), functions.cat(parts, dim)))


def _check_within(self):
    structure, total = self._array.structure, self._array.values.shape[self._array.structure.ragged - 1]
    ends = structure.starts() + structure.counts()
    if structure.lengths is not None and len(ends) and ends.max() > total:
        message = "unbind(): nested tensor offsets and lengths do not match ragged_idx dimension"
        raise RuntimeError(hinted(message, f"an element ends at {int(ends.max())}, the values have {total} positions"))


@takes("unbind")
def _unbind(self, dim=0):
    if dim != 0:
        raise RuntimeError(hinted("unbind(): only supported for NestedTensor on dim=0", "the batch is dimension 0"))
    return _linked(self, "UnbindBackwardAutogradNestedTensor0")


def _linked(self, name):
    """The elements of the batch as views; ``name`` is that of their node."""
    _check_within(self)
    found = _elements(self, self._array.structure, name)
    for each in found:
        link_view(self, each, each._edge, MULTI_OUTPUT)
    return found


@takes("select")
def _select(self, dim, index):
    structure = self._array.structure
    if wrap_dim(dim, self.ndim) == 0:
        count = structure.batch
        if not -count <= index < count:
            raise IndexError(hinted("tuple index out of range", f"the batch has {count} elements"))
        return _linked(self, "SelectBackwardAutogradNestedTensor0")[index]
    inside = dim_inside(self, dim, "select")
    if structure.lengths is not None:
        message = "select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes"
        raise ValueError(hinted(message, "contiguous() closes the holes"))
    found = functions.select(packed(self), inside, index)
    kept = structure.at(structure.ragged - (inside < structure.ragged - 1))
    return jagged(kept, found, "SelectBackwardAutogradNestedTensor0")


@takes("slice_dim")
def _slice(self, dim, start, end, step):
    signature = "slice_tensor(self: jt, dim: any?, start: any?, end: any?, step: any?)"
    expect_plain(self, signature, "self")
    inside = dim_inside(self, dim, "slice")
    found = functions.slice_dim(packed(self), inside, start, end, step)
    return jagged(self._array.structure, found, "SliceBackwardAutogradNestedTensor0")


@takes("narrow")
def _narrow(input, dim, start, length):
    expect_plain(input, "narrow(self: jt, dim: any, start: any, length: any)", "self")
    found = functions.narrow(packed(input), dim_inside(input, dim, "narrow"), start, length)
    return jagged(input._array.structure, found, "NarrowBackwardAutogradNestedTensor0")


def _part(self, key):
    """``x[key]``: numbers, slices, None and ``...``, one dimension after the other."""
    keys = key if key.__class__ is tuple else (key,)
    found, dim = self, 0
    given = sum(each is not None and each is not Ellipsis for each in keys)
    for each in keys:
        if each is Ellipsis:
            dim += self.ndim - given
        elif each is None:
            found, dim = functions.unsqueeze(found, dim), dim + 1
        elif each.__class__ is slice:
            step = 1 if each.step is None else each.step
            start = 0 if each.start is None else each.start
            stop = (1 << 63) - 1 if each.stop is None else each.stop
            found, dim = functions.slice_dim(found, dim, start, stop, step), dim + 1
        else:
            number = number_of(each)
            if number is None:
                raise not_run("index.Tensor")
            found = functions.select(found, dim, number)
    return found


def _put(self, key, value):
    """``x[key] = value``: the part is a view, into which the value is written."""
    part = self if key.__class__ is slice and key == slice(None) else _part(self, key)
    if not part.is_nested:
        part[...] = value
    elif getattr(value, "is_nested", False):
        part.copy_(value)
    else:
        raise not_run("fill_.Tensor")


functions.jagged_part, functions.jagged_put = _part, _put


@takes("alias")
def _alias(self):
    return jagged(self._array.structure, functions.alias(packed(self)))


# ---------------------------------------------------------------- dimensions


@takes("transpose")
def _transpose(self, dim0, dim1):
    structure, ndim = self._array.structure, self.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    if structure.ragged not in (first, second):
        first, second = (dim_inside(self, dim, "transpose") for dim in (first, second))
        return jagged(structure, functions.transpose(packed(self), first, second))
    if 0 in (first, second):
        message = "Transpose is not supported on the batch dimension for jagged NT"
        raise ValueError(hinted(message, "the batch stays dimension 0"))
    other = second if first == structure.ragged else first
    found = functions.transpose(packed(self), first - 1, second - 1)
    return jagged(structure.at(other), found)


@takes("permute")
def _permute(self, dims):
    structure, ndim = self._array.structure, self.ndim
    if ndim != len(dims):
        message = (
            f"permute(): number of dimensions in the tensor input ({ndim}) does not match the length of the desired ordering of "
            f"dimensions ({len(dims)})."
        )
        raise ValueError(hinted(message, "each dimension comes once"))
    order = [wrap_dim(dim, ndim) for dim in dims]
    for wrong, message in (
        (len(set(order)) != ndim, "permute(): duplicate dims are not allowed."),
        (structure.lengths is not None, "permute(): not supported on jagged layout nested tensor with holes"),
        (order[0] != 0, "Permute is not supported on the batch dimension for jagged NT"),
    ):
        if wrong:
            raise ValueError(hinted(message, "the batch stays dimension 0, the others come once each"))
    found = functions.permute(packed(self), [dim - 1 for dim in order[1:]])
    return jagged(structure.at(order.index(structure.ragged)), found)


@takes("unsqueeze")
def _unsqueeze(self, dim):
    structure = self._array.structure
    inside = dim_inside(self, dim, "unsqueeze", ndim=self.ndim + 1, ragged_too=True)
    kept = structure.at(structure.ragged + (inside <= structure.ragged - 1))
    return jagged(kept, functions.unsqueeze(packed(self), inside))


@takes("squeeze")
def _squeeze(self, dim=None):
    if dim.__class__ is not int:
        raise not_run("squeeze.default" if dim is None else "squeeze.dims")
    expect_plain(self, "squeeze_dim(self: jt, dim: any)", "self")
    found = functions.squeeze(packed(self), dim_inside(self, dim, "squeeze"))
    return jagged(self._array.structure, found, "SqueezeBackwardAutogradNestedTensor0")


def _given_size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


@takes("view_shape", "view", "reshape", "unsafe_view")
def _view(input, *size, dtype=None):
    size, structure = _given_size(size), input._array.structure
    if dtype is not None or (len(size) == 1 and hasattr(size[0], "itemsize")):
        raise not_run("view.dtype")
    own = tuple(input.shape)
    if structure.ragged != 1 and own != size:
        message = f"view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is ({own}) and size is ({list(size)})."
        raise RuntimeError(hinted(message, "transpose the ragged dimension to 1 first"))
    if len(size) < 3 or not raggedness_matches(input, size):
        message = f"view(): cannot view shape {own} as {list(size)}"
        raise RuntimeError(hinted(message, "batch and ragged dimension stay; -1 may stand for the latter"))
    values = packed(input)
    inside = [values.shape[0] if dim == structure.ragged else length for dim, length in enumerate(size)][1:]
    return jagged(structure, values.reshape(inside), "ViewBackwardAutogradNestedTensor0")


@takes("flatten")
def _flatten(input, start_dim=0, end_dim=-1):
    structure, ndim = input._array.structure, input.ndim
    for dim in (start_dim, end_dim):
        dim_inside(input, dim, "flatten")
    first, last = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if first == last:
        return input
    if first < structure.ragged < last:
        raise not_run("flatten")
    shape = tuple(input.shape)
    return _view(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


@takes("unflatten")
def _unflatten(input, dim, sizes):
    inside = dim_inside(input, dim, "unflatten")
    structure = input._array.structure
    found = functions.unflatten(packed(input), inside, sizes)
    added = found.ndim - input.ndim + 1
    kept = structure.at(structure.ragged + (added if inside < structure.ragged - 1 else 0))
    return jagged(kept, found, "ViewBackwardAutogradNestedTensor0")


@takes("expand")
def _expand(self, size, implicit=False):
    structure = self._array.structure
    if not raggedness_matches(self, size):
        message = f"expand(): cannot expand shape {tuple(self.shape)} -> {list(size)}"
        raise RuntimeError(hinted(message, "batch and ragged dimension stay"))
    inside = [-1 if dim == structure.ragged else size[dim] for dim in range(1, self.ndim)]
    return jagged(structure, functions.expand(packed(self), inside))


@takes("expand_as")
def _expand_as(input, other):
    if is_jagged(input):
        return _expand(input, tuple(other.shape))
    return jagged(other._array.structure, input.expand_as(packed(other)))


@takes("broadcast_to")
def _broadcast_to(input, size):
    if len(size) > input.ndim:
        message = "broadcast_to(): broadcasting to a higher-dim shape is currently not supported for nested tensors with the jagged layout"
        raise ValueError(hinted(message, "unsqueeze() adds dimensions behind the batch"))
    return _expand(input, (*(1,) * (input.ndim - len(size)), *size))


@takes("contiguous")
def _contiguous(input, *args, **kwargs):
    return input.contiguous(*args, **kwargs)


@takes("clone")
def _clone(self, memory_format=None):
    structure = self._array.structure
    if structure.lengths is not None and str(memory_format) == "torch.contiguous_format":
        return jagged_from_list(list(_unbind(self)))
    return jagged(structure, functions.clone(packed(self), memory_format=memory_format))


# ---------------------------------------------------------------- several tensors of one, one of several


def _parts(self, found, name):
    return tuple([jagged(self._array.structure, each, name) for each in found])


@takes("split_even")
def _split_even(self, split_size, dim=0):
    expect_plain(self, "split_tensor(self: jt, split_size: any, dim: any?)", "self")
    found = functions.split_even(packed(self), split_size, dim_inside(self, dim, "split"))
    return _parts(self, found, "SplitBackwardAutogradNestedTensor0")


@takes("split_with_sizes")
def _split_with_sizes(self, split_sizes, dim=0):
    expect_plain(self, "split_with_sizes_default(self: jt, split_sizes: any, dim: any?)", "self")
    found = functions.split_with_sizes(packed(self), split_sizes, dim_inside(self, dim, "split_with_sizes"))
    return _parts(self, found, "SplitWithSizesBackwardAutogradNestedTensor0")


@takes("chunk")
def _chunk(input, chunks, dim=0):
    expect_plain(input, "chunk_default(self: jt, chunks: any, dim: any?)", "self")
    name = "ChunkBackwardAutogradNestedTensor0"
    if wrap_dim(dim, input.ndim) != 0:
        return _parts(input, functions.chunk(packed(input), chunks, dim_inside(input, dim, "chunk")), name)
    counts = [each.tolist() for each in wrap(input._array.structure.counts()).chunk(chunks)]
    found = functions.split_with_sizes(packed(input), [sum(each) for each in counts], 0)
    return tuple([jagged(_plain_structure(each), part, name) for each, part in zip(counts, found)])


def _plain_structure(counts):
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return Jagged(wrap(offsets))


@takes("cat")
def _cat(tensors, dim=0):
    first = next(each for each in tensors if is_jagged(each))
    tensors = [each if is_jagged(each) else functions.expand_as(each, first) for each in tensors]
    inside = dim_inside(first, dim, "cat")
    return jagged(tensors[0]._array.structure, functions.cat([packed(each) for each in tensors], inside))


@takes("stack")
def _stack(tensors, dim=0):
    for each in tensors:
        for wrong, message in (
            (not is_jagged(each), "stack(): expected all nested tensors inputs"),
            (each.ndim != tensors[0].ndim, "stack(): expected all nested tensors to have the same dim"),
        ):
            if wrong:
                raise RuntimeError(hinted(message, "all come with the same offsets tensor"))
        if not raggedness_matches(each, tensors[0].shape):
            message = "stack(): expected all nested tensors to have the same nested structure"
            raise RuntimeError(hinted(message, "all come with the same offsets tensor"))
    inside = dim_inside(tensors[0], dim, "stack", ndim=tensors[0].ndim + 1)
    return jagged(tensors[0]._array.structure, functions.stack([packed(each) for each in tensors], inside))
