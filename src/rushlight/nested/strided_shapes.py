"""Other shapes of strided nested tensors: views of the buffer under other shapes, strides and places, elements, copies."""

from __future__ import annotations

from math import prod

import numpy as np

from ..base.errors import hinted
from ..base.shapes import wrap_dim
from ..ops.table import functions
from .checks import number_of
from .strided import (
    Elements,
    buffer_of,
    elements_of,
    from_parts,
    is_strided_nested,
    parts_of,
    put_buffer,
    refused,
    viewed,
)
from .strided_calls import not_run, takes


def _dim(tensor, dim):
    return wrap_dim(dim, tensor._array.elements.ndim)


@takes("unbind")
def _unbind(self, dim=0):
    dim = _dim(self, dim)
    if dim:
        message = f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
        raise RuntimeError(hinted(message, "the batch is dimension 0"))
    return parts_of(self)


@takes("select")
def _select(self, dim, index):
    elements, dim, name = self._array.elements, _dim(self, dim), "SelectBackwardAutogradNestedTensor0"
    if dim == 0:
        count = elements.batch
        if not -count <= index < count:
            message = f"index {index} is out of bounds for dimension 0 with size {count}"
            raise IndexError(hinted(message, f"the batch has {count} elements"))
        return parts_of(self, name)[index]
    lengths = elements.shapes[:, dim - 1]
    for place, length in enumerate(lengths.tolist()):
        if not -length <= index < length:
            message = f"index {index} is out of bounds for dimension {dim - 1} of the {place}th constituent tensor with size {length}"
            raise IndexError(hinted(message, "every element has to have it"))
    at = np.where(index < 0, lengths + index, index)
    kept = [each for each in range(elements.ndim - 1) if each != dim - 1]
    offsets = elements.offsets + at * elements.strides[:, dim - 1]
    return viewed(self, Elements(elements.shapes[:, kept], elements.strides[:, kept], offsets), name)


def _part(self, key):
    """``x[key]``: numbers and ``...``; a slice only behind the number of an element."""
    keys = key if key.__class__ is tuple else (key,)
    found, dim = self, 0
    given = sum(each is not None and each is not Ellipsis for each in keys)
    for place, each in enumerate(keys):
        if not is_strided_nested(found):
            return found[keys[place:]]
        if each is Ellipsis:
            dim += self.ndim - given
        elif each is None:
            found, dim = functions.unsqueeze(found, dim), dim + 1
        else:
            number = number_of(each)
            if number is None:
                raise not_run("slice.Tensor" if each.__class__ is slice else "index.Tensor")
            found = functions.select(found, dim, number)
    return found


def _put(self, key, value):
    """``x[key] = value`` where PyTorch has it: several numbers, or a tensor that is one."""
    first = key[0] if key.__class__ is tuple and key else key
    if first is None or first is Ellipsis or (key is first and key.__class__ in (int, slice)):
        raise refused("sizes")
    part = _part(self, key)
    if is_strided_nested(part):
        raise not_run("index_put_")
    part[...] = value


functions.strided_part, functions.strided_put = _part, _put


@takes("narrow")
def _narrow(input, dim, start, length):
    if dim != 0:
        message = f"narrow(): only dim=0 supported for nested tensors, but got: {dim}"
        raise RuntimeError(hinted(message, "layout=torch.jagged narrows dimension 1"))
    elements, part = input._array.elements, slice(start, start + length)
    kept = Elements(elements.shapes[part], elements.strides[part], elements.offsets[part])
    return viewed(input, kept, "NarrowBackwardAutogradNestedTensor0")


@takes("transpose")
def _transpose(self, dim0, dim1):
    elements, dims = self._array.elements, (_dim(self, dim0), _dim(self, dim1))
    if 0 in dims:
        raise RuntimeError(hinted("Nested tensor dimension 0 cannot be transposed", "the batch stays dimension 0"))
    order = list(range(elements.ndim - 1))
    order[dims[0] - 1], order[dims[1] - 1] = dims[1] - 1, dims[0] - 1
    found = Elements(elements.shapes[:, order], elements.strides[:, order], elements.offsets)
    return viewed(self, found, "TransposeBackward0")


def _refuse_batch(name, verb):
    message = (
        f"{name}(): For nested tensors, {verb} dimension 0 is not supported at the moment if you need this feature, please open an "
        "issue on github describing your use case."
    )
    return RuntimeError(hinted(message, "the batch stays dimension 0"))


@takes("unsqueeze")
def _unsqueeze(self, dim):
    elements = self._array.elements
    dim = wrap_dim(dim, elements.ndim + 1)
    if dim == 0:
        raise _refuse_batch("unsqueeze", "unsqueezing")
    last = dim == elements.ndim
    steps = np.ones(elements.batch, np.int64) if last else elements.shapes[:, dim - 1] * elements.strides[:, dim - 1]
    found = Elements(
        np.insert(elements.shapes, dim - 1, 1, 1), np.insert(elements.strides, dim - 1, steps, 1), elements.offsets
    )
    return viewed(self, found, "UnsqueezeBackward0")


@takes("squeeze")
def _squeeze(self, dim=None):
    if dim.__class__ is not int:
        message = (
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however you can use "
            "squeeze(Tensor self, int dim) instead if you need this feature, please open an issue on github describing your use case."
        )
        raise RuntimeError(hinted(message, "one dimension at a time"))
    elements, dim = self._array.elements, _dim(self, dim)
    if dim == 0:
        raise _refuse_batch("squeeze", "squeezing")
    kept = list(range(elements.ndim - 1))
    if elements.length(dim - 1) == 1:
        kept.remove(dim - 1)
    found = Elements(elements.shapes[:, kept], elements.strides[:, kept], elements.offsets)
    return viewed(self, found, "SqueezeBackwardAutogradNestedTensor0")


def _shapes_asked(elements, size, name):
    """The shapes of the elements that a size means, in which -1 stands for the length that a dimension has."""
    if not size or size[0] != elements.batch:
        message = f"{name}: For now nested {name} cannot change or infer the implicit batch dimension"
        raise RuntimeError(hinted(message, f"the size begins with {elements.batch}"))
    inside, found = size[1:], []
    for shape in elements.shapes.tolist():
        if inside.count(-1) > 1 and len(inside) != len(shape):
            raise RuntimeError(hinted("only one dimension can be inferred", "the others follow from nothing"))
        lengths = [shape[dim] if each == -1 and dim < len(shape) else each for dim, each in enumerate(inside)]
        total = prod(shape)
        if -1 in lengths:
            rest = -prod(lengths)
            lengths[lengths.index(-1)] = total // rest if rest else 0
        if prod(lengths) != total:
            raise RuntimeError(
                hinted(
                    f"shape '{list(size)}' is invalid for input of size {total}", f"an element has the shape {shape}"
                )
            )
        found.append(lengths)
    return np.array(found, np.int64).reshape(elements.batch, len(inside))


def _given_size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def _reshaped(tensor, size, name):
    shapes = _shapes_asked(tensor._array.elements, size, name)
    if not tensor._array.elements.is_contiguous():
        if name == "view":
            message = (
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
                "subspaces). Use .reshape(...) instead."
            )
            raise RuntimeError(hinted(message, "reshape() copies where it has to"))
        tensor = tensor.contiguous()
    return viewed(tensor, Elements(shapes), "ViewBackwardAutogradNestedTensor0")


@takes("view", "view_shape", "unsafe_view")
def _view(input, *size, dtype=None):
    if dtype is not None or (len(size) == 1 and hasattr(size[0], "itemsize")):
        raise not_run("view.dtype")
    return _reshaped(input, _given_size(size), "view")


@takes("reshape")
def _reshape(input, *shape):
    return _reshaped(input, _given_size(shape), "reshape")


@takes("reshape_as")
def _reshape_as(input, other):
    elements = other._array.elements
    if input._array.elements.counts().tolist() != elements.counts().tolist():
        raise refused("sizes")
    return viewed(input.contiguous(), Elements(elements.shapes), "ViewBackwardAutogradNestedTensor0")


@takes("chunk")
def _chunk(input, chunks, dim=0):
    elements, dim = input._array.elements, _dim(input, dim)
    if dim != elements.ndim - 1:
        message = "Chunk for nested tensors is currently only supported for the last dimension."
        raise RuntimeError(hinted(message, "chunk(chunks, -1)"))
    if chunks <= 0:
        raise RuntimeError(hinted("chunk expects `chunks` to be greater than 0, got: " + str(chunks), "so many parts"))
    if not elements.is_contiguous():
        raise RuntimeError(hinted("chunk expects `self` to be contiguous.", "contiguous() makes one"))
    last = last_length(elements)
    if last % chunks:
        message = (
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by chunks, got: "
            f"{last} % {chunks} != 0"
        )
        raise RuntimeError(hinted(message, "all parts have one length"))
    shapes, width = elements.shapes.copy(), last // chunks
    shapes[:, -1] = width
    return tuple(
        [
            viewed(
                input,
                Elements(shapes, elements.strides, elements.offsets + width * part),
                "ChunkBackwardAutogradNestedTensor0",
            )
            for part in range(chunks)
        ]
    )


def last_length(elements):
    """The length of the last dimension; RuntimeError where elements differ in it."""
    found = elements.length(-1)
    if found is None:
        message = (
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals:  "
            f"{int(elements.shapes[0, -1])}"
        )
        raise RuntimeError(hinted(message, "elements differ in it"))
    return found


@takes("contiguous")
def _contiguous(input, *args, **kwargs):
    return input.contiguous()


@takes("clone")
def _clone(self, memory_format=None):
    elements = self._array.elements
    if elements.is_contiguous() or str(memory_format) == "torch.contiguous_format":
        return put_buffer(Elements(elements.shapes), elements_of(self).clone(), "CloneBackward0")
    return put_buffer(elements, buffer_of(self).clone(), "CloneBackward0")


def _refuses_sizes(name):
    @takes(name)
    def call(*args, **kwargs):
        raise refused("sizes")


for _name in ("expand_as", "flatten", "rms_norm", "unflatten", "view_as"):
    _refuses_sizes(_name)


def _refused(name, shown):
    @takes(name)
    def call(*args, **kwargs):
        raise not_run(shown)


for _name, _shown in {
    "split_even": "split.Tensor",
    "split_with_sizes": "split_with_sizes",
    "slice_dim": "slice.Tensor",
}.items():
    _refused(_name, _shown)


@takes("cat")
def _cat(tensors, dim=0):
    if dim != 0 or not all(map(is_strided_nested, tensors)):
        raise refused("sizes")
    return from_parts([part for each in tensors for part in parts_of(each)], "CatBackward0")
