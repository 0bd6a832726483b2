"""Jagged tensors: packed values beside a structure, and the operations between a nested tensor and its values.

How nested tensors fit in, and why so:

- A jagged tensor is a `NestedTensor`, a subclass of Tensor with a `JaggedArray` in ``_array``: a parted array, which short paths
  and NumPy decline (`base.layouts`). Its shape holds a `NestedInt` where the length differs.
- The waist has one plug (`calls.py`): it looks the operation up in one table, runs whatever works element by element on the
  packed values, and raises PyTorch's error for the rest.
- Operations are written with operations on the values, which are dense: `packed` takes those out, `jagged` puts them into a
  structure. Both are recorded, so derivatives of any order follow, and the gradient of a nested tensor is one of the same structure.
"""

from __future__ import annotations

import numpy as np

from ..autograd.modes import state
from ..base.arrays import element_strides
from ..base.device import contiguous_format, preserve_format
from ..base.device import jagged as jagged_layout
from ..base.errors import hinted
from ..base.layouts import PartedArray
from ..ops.table import functions
from ..tensor.base import Tensor, wrap
from ..tensor.classes import INERT_CLASSES
from ..tensor.dispatch import link_view
from ..tensor.interposers import INTERPOSERS
from ..tensor.layout_calls import deep_copied
from ..tensor.overrides import disabled_torch_function
from .padding import record
from .structures import Jagged

DENSE = "operations that take nested tensors are listed in docs/nested.md; values() and to_padded_tensor() make ordinary tensors"


class JaggedArray(PartedArray):
    """Packed ``values`` (an array) and their ``structure``, a `Jagged`."""

    __slots__ = ("structure",)
    hint = DENSE
    layout = jagged_layout

    def __init__(self, structure, values):
        self.structure, self.values = structure, values

    shape = property(lambda self: self.structure.shape_of(self.values.shape))
    ndim = property(lambda self: self.values.ndim + 1)

    @property
    def size(self):
        """The number of elements that belong to the batch."""
        if self.structure.lengths is None:
            return self.values.size
        total = self.values.shape[self.structure.ragged - 1]
        return int(self.structure.counts().sum()) * (self.values.size // total if total else 0)


class NestedTensor(Tensor):
    """A batch whose elements differ in the length of one dimension, packed one after the other. See `rushlight.nested`.

    Made by ``torch.nested.nested_tensor(..., layout=torch.jagged)`` and ``torch.nested.nested_tensor_from_jagged``.
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # as Parameter's: never asked
    is_nested = True

    @property
    def layout(self):
        return jagged_layout

    @property
    def _ragged_idx(self):
        return self._array.structure.ragged

    def values(self):
        """The packed values: the elements one after the other, in one dense tensor of a dimension less."""
        found = values_of(self)
        link_view(self, found, found._edge)
        return found

    def offsets(self):
        """Where each element of the batch begins in the values, and where the last one ends: (batch + 1)."""
        return self._array.structure.offsets

    def lengths(self):
        """The length of each element of the batch where that does not follow from the offsets; else None."""
        return self._array.structure.lengths

    def _get_max_seqlen(self):
        return self._array.structure.extreme("max")

    def _get_min_seqlen(self):
        return self._array.structure.extreme("min")

    @property
    def _maybe_max_seqlen(self):
        return self._array.structure.extremes.get("max")

    @property
    def _maybe_min_seqlen(self):
        return self._array.structure.extremes.get("min")

    def stride(self, dim=None):
        """Steps between neighbours, in elements; that of the batch is as many as an element is long."""
        array = self._array
        steps = element_strides(array.values)
        steps = (array.structure.length * steps[array.structure.ragged - 1], *steps)
        return steps if dim is None else steps[functions.wrap_own_dim(dim, len(steps))]

    def is_contiguous(self, memory_format=contiguous_format):
        """Whether the values lie row by row, without gaps between the elements of the batch."""
        if self._array.structure.lengths is not None:
            return False
        return memory_format is preserve_format or wrap(self._array.values).is_contiguous(memory_format=memory_format)

    def contiguous(self, memory_format=contiguous_format):
        """The tensor with its values row by row and without gaps; itself where they are."""
        return self if self.is_contiguous(memory_format) else self.clone(memory_format=memory_format)

    def storage_offset(self):
        return wrap(self._array.values).storage_offset()

    def data_ptr(self):
        return 0

    def untyped_storage(self):
        return wrap(self._array.values).untyped_storage()

    @property
    def nbytes(self):
        return self._array.size * self._array.itemsize

    def numpy(self, *args, **kwargs):
        raise RuntimeError(hinted(".numpy() is not supported for tensor subclasses.", "values().numpy()"))

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def tolist(self):
        message = ".tolist() is not supported for tensor subclasses, got NestedTensor"
        raise RuntimeError(hinted(message, "[part.tolist() for part in x.unbind()]"))

    def item(self):
        """The only element as a Python number."""
        if self.numel() != 1:
            message = f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            raise RuntimeError(hinted(message, "values() has them all"))
        return self.values().item()

    def __bool__(self):
        if self.numel() != 1:
            message = "Boolean value of Tensor with more than one value is ambiguous"
            raise RuntimeError(hinted(message, "x.any() and x.all() are one value"))
        return bool(self.item())

    def is_shared(self):
        return False

    def to_dense(self, dtype=None, *, masked_grad=None):
        raise RuntimeError(hinted("to_dense does not support layout Jagged", "to_padded_tensor(0.0) is dense"))

    def __getitem__(self, key):
        return functions.jagged_part(self, key)

    def __setitem__(self, key, value):
        functions.jagged_put(self, key, value)

    @property
    def T(self):
        return functions.permute(self, tuple(range(self.ndim))[::-1])

    def __repr__(self, *, tensor_contents=None):
        node = self.grad_fn
        tracked = f", requires_grad={self.requires_grad}" if self.requires_grad else ""
        if node is not None:
            tracked = f", grad_fn={node}"
        contiguous = self.is_contiguous()
        return f"NestedTensor(size={tuple(self.shape)}, offsets={self.offsets()}{tracked}, contiguous={contiguous})"

    def __format__(self, spec):
        return object.__format__(self, spec)

    def __deepcopy__(self, memo):
        return deep_copied(self, memo)

    def __reduce_ex__(self, protocol):
        return jagged_of, (*parts_of(self), self.requires_grad)


INERT_CLASSES.add(NestedTensor)


def parts_of(tensor):
    """What a jagged tensor is made of: values, offsets, lengths, ragged dimension, and the extremes that are known."""
    structure = tensor._array.structure
    return wrap(tensor._array.values), structure.offsets, structure.lengths, structure.ragged, dict(structure.extremes)


def jagged_of(values, offsets, lengths, ragged, extremes, requires_grad):
    """The jagged tensor of such parts."""
    made = wrap(JaggedArray(Jagged(offsets, lengths, ragged, extremes), values._array))
    return made.requires_grad_() if requires_grad else made


def copied(tensor):
    """A jagged tensor with values in memory of its own, outside the graph."""
    return wrap(JaggedArray(tensor._array.structure, np.copy(tensor._array.values)))


@record("nested_values(Tensor self, any structure, any name) -> Tensor", node=lambda self, structure, name: name)
class take_values:
    """The packed values of a nested tensor with this structure: its own memory. ``name`` is that of the node."""

    def forward(self, structure, name):
        return self.values[...]

    def d_self(grad, structure):
        return put_into(structure, grad, "NestedViewFromJaggedBackward0")


def values_of(tensor, name="NestedGetValuesBackward0"):
    """The packed values of a jagged tensor, recorded under ``name``."""
    return take_values(tensor, tensor._array.structure, name)


@record("nested_view(any structure, Tensor values, any name) -> Tensor", node=lambda structure, values, name: name)
class put_into:
    """A jagged tensor with these packed values. ``name`` is that of the node."""

    def forward(structure, values, name):
        return JaggedArray(structure, values)

    def d_values(grad):
        return values_of(grad)


@record("nested_result(Tensor self, any name) -> Tensor", node=lambda self, name: name)
class named:
    """A dense result of an operation on a nested tensor, under a node with the name that PyTorch's has."""

    def forward(self, name):
        return self[...]

    def d_self(grad):
        return grad


def memory_of(tensor):
    """The packed values as they lie in memory, outside the graph; a write into them counts as one into the tensor."""
    alias = wrap(tensor._array.values)
    functions.share_version(tensor, alias)
    return alias


def packed(tensor):
    """The packed values of a jagged tensor for an operation on them."""
    if tensor._edge is None and not INTERPOSERS:
        return memory_of(tensor)
    alias = values_of(tensor)
    functions.share_version(tensor, alias)
    return alias


def jagged(structure, values, name=None):
    """A jagged tensor of packed values; its node has the name of theirs, or ``name``."""
    if values._edge is None and not INTERPOSERS:
        made = wrap(JaggedArray(structure, values._array))
    else:
        if name is None:
            node = values.grad_fn if state.recording else None
            name = "NestedViewFromJaggedBackward0" if node is None else type(node).__name__
        made = put_into(structure, values, name)
    functions.share_version(values, made)
    made._base = values._base  # of a view, into which autograd follows no write
    return made


def is_jagged(value):
    """Whether a value is a nested tensor of the jagged layout."""
    return value.__class__ is NestedTensor
