"""Strided nested tensors: elements of any shapes in one buffer, and the operations between a nested tensor, its buffer and its elements.

A `StridedNestedTensor` has a `StridedArray` in ``_array``: the buffer, and for each element of the batch its shape, strides and
place there. As `jagged` does for the other layout, this file has what all operations are written with: `elements_of` takes the
numbers out, one after the other, `put_buffer` puts such numbers under a structure, `viewed` gives the same buffer another one.
"""

from __future__ import annotations

import warnings
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..autograd.modes import state
from ..autograd.views import MULTI_OUTPUT
from ..base.device import contiguous_format, strided
from ..base.errors import hinted
from ..base.layouts import PartedArray
from ..base.user_code import to_user
from ..ops.table import functions
from ..tensor.base import Tensor, wrap
from ..tensor.classes import INERT_CLASSES
from ..tensor.dispatch import link_view
from ..tensor.layout_calls import deep_copied
from ..tensor.overrides import disabled_torch_function
from .jagged import DENSE
from .padding import record


def rows_of(shapes):
    """The strides of dense tensors of these shapes, an array with a row for each, and how many elements each has."""
    if not shapes.shape[1]:
        return shapes.copy(), np.ones(len(shapes), np.int64)
    steps = np.cumprod(shapes[:, ::-1], 1)[:, ::-1]
    strides = np.concatenate((steps[:, 1:], np.ones((len(shapes), 1), np.int64)), 1)
    return strides, steps[:, 0]


class Elements:
    """Shapes, strides and places in the buffer of the elements of a batch: arrays with a row for each. None changes."""

    __slots__ = ("_found", "offsets", "shapes", "strides")

    def __init__(self, shapes, strides=None, offsets=None):
        self.shapes, self._found = shapes, {}
        if strides is None:
            strides, counts = rows_of(shapes)
            offsets = np.cumsum(counts) - counts
        self.strides, self.offsets = strides, offsets

    batch = property(lambda self: self.shapes.shape[0])
    ndim = property(lambda self: self.shapes.shape[1] + 1)

    def _once(self, name, find):
        if name not in self._found:
            self._found[name] = find()
        return self._found[name]

    def counts(self):
        """How many numbers each element of the batch has."""
        return self._once("counts", lambda: self.shapes.prod(1))

    def is_contiguous(self):
        """Whether the elements lie row by row, one after the other."""
        return self._once("contiguous", self._find_contiguous)

    def _find_contiguous(self):
        dense = Elements(self.shapes)
        several = self.shapes != 1
        return bool((self.offsets == dense.offsets).all() and ((self.strides == dense.strides) | ~several).all())

    def length(self, dim):
        """The length of a dimension of the elements that all share; None where they differ."""
        lengths = self.shapes[:, dim]
        return int(lengths[0]) if len(lengths) and (lengths == lengths[0]).all() else None

    def places(self):
        """Where in the buffer each number lies, in the order of the elements."""
        return self._once("places", self._find_places)

    def _find_places(self):
        found = [
            offset + sum((np.arange(n).reshape(-1, *(1,) * (len(shape) - dim - 1)) * step
                          for dim, (n, step) in enumerate(zip(shape, strides))), np.zeros(shape, np.int64))
            for shape, strides, offset in zip(self.shapes.tolist(), self.strides.tolist(), self.offsets.tolist())
        ]  # fmt: skip
        return np.concatenate([each.reshape(-1) for each in found]) if found else np.zeros(0, np.int64)

    def parts(self, buffer):
        """The elements as arrays that look into the buffer."""
        step = buffer.itemsize
        return [
            as_strided(buffer[offset:], shape, [step * each for each in strides])
            for shape, strides, offset in zip(self.shapes.tolist(), self.strides.tolist(), self.offsets.tolist())
        ]


class StridedArray(PartedArray):
    """A buffer ``values``, an array of one dimension, and where the ``elements`` stand in it."""

    __slots__ = ("elements",)
    hint = DENSE
    layout = strided

    def __init__(self, elements, values):
        self.elements, self.values = elements, values

    ndim = property(lambda self: self.elements.ndim)
    size = property(lambda self: int(self.elements.counts().sum()))

    @property
    def shape(self):
        """The lengths, for who compares them: where elements differ, a tuple of all theirs."""
        elements = self.elements
        alike = (elements.length(dim) for dim in range(elements.ndim - 1))
        lengths = zip(alike, elements.shapes.T.tolist())
        return (elements.batch, *[tuple(each) if found is None else found for found, each in lengths])


def refused(what):
    """PyTorch's error where sizes or strides of a strided nested tensor as a whole are asked for."""
    message = f"Internal error: NestedTensorImpl doesn't support {what}. Please file an issue."
    return RuntimeError(hinted(message, "elements of the batch differ: size(dim) tells lengths that they share"))


class StridedNestedTensor(Tensor):
    """A batch of dense tensors that may differ in every dimension. See `rushlight.nested`.

    Made by ``torch.nested.nested_tensor`` and ``torch.nested.as_nested_tensor``.
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # as Parameter's: never asked
    is_nested = True

    def size(self, dim=None):
        """The length of a dimension that all elements share."""
        if dim is None:
            raise refused("sizes")
        elements = self._array.elements
        dim = functions.wrap_own_dim(dim, elements.ndim)
        found = elements.batch if dim == 0 else elements.length(dim - 1)
        if found is None:
            message = f"Given dimension {dim} is irregular and does not have a size."
            raise RuntimeError(hinted(message, "_nested_tensor_size() has the lengths of each element"))
        return found

    @property
    def shape(self):
        raise refused("sizes")

    def stride(self, dim=None):
        raise refused("strides")

    def storage_offset(self):
        return 0

    def values(self):
        """The buffer: all elements one after the other, in one dimension."""
        found = buffer_of(self)
        link_view(self, found, found._edge)
        return found

    def _nested_tensor_size(self):
        return wrap(self._array.elements.shapes.copy())

    def _nested_tensor_strides(self):
        return wrap(self._array.elements.strides.copy())

    def _nested_tensor_storage_offsets(self):
        return wrap(self._array.elements.offsets.copy())

    def is_contiguous(self, memory_format=contiguous_format):
        """Whether the elements lie row by row, one after the other."""
        return self._array.elements.is_contiguous()

    def contiguous(self, memory_format=contiguous_format):
        """The tensor with its elements row by row; itself where they are."""
        return self if self.is_contiguous() else functions.clone(self, memory_format=contiguous_format)

    def is_same_size(self, other):
        """Whether the elements of two nested tensors have the same shapes."""
        return other.is_nested and np.array_equal(self._array.elements.shapes, other._array.elements.shapes)

    def data_ptr(self):
        return wrap(self._array.values).data_ptr()

    def untyped_storage(self):
        return wrap(self._array.values).untyped_storage()

    def to_dense(self, dtype=None, *, masked_grad=None):
        return self

    def numpy(self, *args, **kwargs):
        raise refused("sizes")

    def tolist(self):
        raise refused("strides")

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def item(self):
        """The only element as a Python number."""
        if self.numel() != 1:
            message = f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            raise RuntimeError(hinted(message, "values() has them all"))
        return elements_of(self).item()

    def __bool__(self):
        if self.numel() != 1:
            message = "Boolean value of Tensor with more than one value is ambiguous"
            raise RuntimeError(hinted(message, "values() has them all"))
        return bool(self.item())

    def __len__(self):
        raise refused("sizes")

    def __iter__(self):
        raise refused("sizes")

    def __getitem__(self, key):
        return functions.strided_part(self, key)

    def __setitem__(self, key, value):
        functions.strided_put(self, key, value)

    def __repr__(self, *, tensor_contents=None):
        tracked = self.requires_grad
        parts = [wrap(part).requires_grad_(tracked) for part in self._array.elements.parts(self._array.values)]
        inside = ",\n".join("  " + repr(part).replace("\n", "\n  ") for part in parts)
        node = self.grad_fn
        suffix = f", grad_fn=<{type(node).__name__}>" if node is not None else ", requires_grad=True" * tracked
        return f"nested_tensor([\n{inside}\n]{suffix})"

    def __format__(self, spec):
        return object.__format__(self, spec)

    def __deepcopy__(self, memo):
        return deep_copied(self, memo)

    def __reduce_ex__(self, protocol):
        elements = self._array.elements
        parts = elements.shapes, elements.strides, elements.offsets
        return strided_of, (wrap(self._array.values), *map(wrap, parts), self.requires_grad)


INERT_CLASSES.add(StridedNestedTensor)


def strided_of(buffer, shapes, strides, offsets, requires_grad=False):
    """The strided nested tensor of such tensors."""
    made = wrap(StridedArray(Elements(shapes._array, strides._array, offsets._array), buffer._array))
    return made.requires_grad_() if requires_grad else made


def copied(tensor):
    """A strided nested tensor with memory of its own, outside the graph."""
    array = tensor._array
    return wrap(StridedArray(array.elements, array.values.copy()))


def is_strided_nested(value):
    """Whether a value is a nested tensor of the strided layout."""
    return value.__class__ is StridedNestedTensor


_warned: list[bool] = []


def warn_prototype():
    """PyTorch's warning, once, that strided nested tensors are a prototype."""
    if not _warned:
        _warned.append(True)
        warnings.warn(
            "The PyTorch API of nested tensors is in prototype stage and will change in the near future. We recommend specifying "
            "layout=torch.jagged when constructing a nested tensor, as this layout receives active development, has better operator "
            "coverage, and works with torch.compile.",
            stacklevel=to_user(),
        )


# ---------------------------------------------------------------- buffers and elements


@record("nested_buffer(Tensor self, any elements, any name) -> Tensor", node=lambda self, elements, name: name)
class _take_buffer:
    """The buffer of a strided nested tensor: its own memory. ``name`` is that of the node."""

    def forward(self, elements, name):
        return self.values[...]

    def d_self(grad, elements):
        return put_buffer(elements, grad)


@record("nested_from_buffer(any elements, Tensor buffer, any name) -> Tensor", node=lambda elements, buffer, name: name)
class _put_buffer:
    """A strided nested tensor on a buffer. ``name`` is that of the node."""

    def forward(elements, buffer, name):
        return StridedArray(elements, buffer)

    def d_buffer(grad, elements, buffer_shape):
        if elements.is_contiguous():
            return elements_of(grad)
        return _spread(elements_of(grad), elements, buffer_shape[0])


def _spread(numbers, elements, total):
    """A buffer of ``total`` numbers with those of elements in their places."""
    return numbers.new_zeros(total).index_add(0, wrap(elements.places()), numbers)


def buffer_of(tensor, name="ValuesBackwardAutogradNestedTensor0"):
    """The whole buffer; a write into it counts as one into the tensor."""
    found = _take_buffer(tensor, tensor._array.elements, name)
    functions.share_version(tensor, found)
    return found


def memory_of(tensor):
    """The whole buffer as it lies in memory, outside the graph; a write into it counts as one into the tensor."""
    alias = wrap(tensor._array.values)
    functions.share_version(tensor, alias)
    return alias


def elements_of(tensor):
    """The numbers of all elements, one after the other: the buffer itself where they lie so."""
    elements, buffer = tensor._array.elements, buffer_of(tensor)
    if elements.is_contiguous():
        total = int(elements.counts().sum())
        return buffer if buffer.shape[0] == total else buffer[:total]
    return buffer[wrap(elements.places())]


def put_buffer(elements, buffer, name=None):
    """A strided nested tensor on a buffer; its node has the name of the buffer's, or ``name``."""
    if name is None:
        node = buffer.grad_fn if state.recording else None
        name = "NestedViewFromBufferBackward0" if node is None else type(node).__name__
    made = _put_buffer(elements, buffer, name)
    functions.share_version(buffer, made)
    return made


@record(
    "nested_restrided(Tensor self, any own, any new, int total, any name) -> Tensor",
    node=lambda self, own, new, total, name: name,
)
class _restrided:
    """The same buffer, of ``total`` numbers, under other elements. ``name`` is that of the node."""

    def forward(self, own, new, total, name):
        return StridedArray(new, self.values)

    def d_self(grad, own, new, total):
        return put_buffer(own, _spread(elements_of(grad), new, total))


def viewed(tensor, elements, name):
    """A view of a strided nested tensor with other elements in its buffer; ``name`` is that of the node."""
    found = _restrided(tensor, tensor._array.elements, elements, tensor._array.values.shape[0], name)
    functions.share_version(tensor, found)
    return found


@record("nested_parts(Tensor self, any elements, any name) -> Tensor[]", node=lambda self, elements, name: name)
class _parts:
    """The elements of a strided nested tensor, each a view of the buffer. ``name`` is that of the node."""

    def forward(self, elements, name):
        return tuple(elements.parts(self.values))

    def gradients(grads, elements):
        present = next(grad for grad in grads if grad is not None)
        found = [
            present.new_zeros(prod(shape)) if grad is None else grad.reshape(-1)
            for grad, shape in zip(grads, elements.shapes.tolist())
        ]
        return (put_buffer(Elements(elements.shapes), functions.cat(found, 0)),)


def parts_of(tensor, name="UnbindBackwardAutogradNestedTensor0"):
    """The elements of the batch as dense tensors that look into the buffer."""
    found = _parts(tensor, tensor._array.elements, name)
    for each in found:
        link_view(tensor, each, each._edge, MULTI_OUTPUT)
    return found


def from_parts(parts, name=None):
    """The strided nested tensor of dense tensors, copied one after the other; gradients flow to them."""
    shapes = np.array([tuple(part.shape) for part in parts], np.int64).reshape(len(parts), -1)
    return put_buffer(Elements(shapes), functions.cat([part.reshape(-1) for part in parts], 0), name)
