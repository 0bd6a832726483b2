"""Sparse tensors, and the two operations between them and dense ones: what they hold, and a tensor made of that.

How sparse tensors fit in, and why so:

- A sparse tensor is a `SparseTensor`: a subclass of Tensor, in whose ``_array`` a `base.sparse_array.SparseArray` stands. All
  short paths ask for exact classes, so they decline it as they stand, and dense calls pay nothing: no test was added to any of
  them. What reads ``_array`` without knowing better fails, since NumPy is refused there: nothing takes a sparse tensor for a
  dense one.
- The waist has one plug, as for transforms: once this room is loaded, the general path (`tensor.dispatch.run`, and
  `tensor.writes.run_inplace` for writes) asks `calls.sparse_call`, which finds the operation's function in one table or raises
  PyTorch's error for an operation that the layout does not have.
- Operations on sparse tensors are written with operations on their values, which are dense: `values_of` takes those out,
  `with_values` puts values onto a pattern. Both are recorded, so derivatives of any order follow from the ones that dense
  operations have, and the gradient of a sparse tensor is one with the same pattern. Where PyTorch's gradient is dense (``mm``,
  ``sum``), the operation has a record of its own (`records.py`).
- Patterns (`patterns.py`) never change and may be shared: what sorting them tells is found once, and no write can make it stale.
  This is one difference to PyTorch, where ``_indices()`` can be written: here such a write is refused.
- Indices are always checked before they are read: an index outside of the size raises where PyTorch, unless told to check,
  reads other memory. ``type(x)`` is SparseTensor, not Tensor: ``isinstance`` is the way to ask.
"""

from __future__ import annotations

import copy
from functools import partial
from math import prod

import numpy as np

from ..base.device import sparse_coo, sparse_csr
from ..base.errors import hinted
from ..base.size import Size
from ..base.sparse_array import NOT_DENSE, SPARSE, SparseArray
from ..ops.table import Op, functions
from ..tensor.base import Tensor, wrap
from ..tensor.classes import INERT_CLASSES
from ..tensor.layout_calls import deep_copied, recorded
from ..tensor.overrides import disabled_torch_function
from .patterns import Coordinates
from .row_sums import add_rows


class SparseTensor(Tensor):
    """A tensor of which only some elements are in memory; all others are 0. See `rushlight.sparse`.

    Made by ``torch.sparse_coo_tensor``, ``torch.sparse_csr_tensor`` and ``to_sparse()``.
    """

    __torch_function__ = staticmethod(disabled_torch_function)  # as Parameter's: never asked

    @property
    def layout(self):
        return self._array.layout

    @property
    def is_sparse(self):
        """Whether the layout is COO."""
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self):
        """Whether the layout is CSR."""
        return self.layout is sparse_csr

    def sparse_dim(self):
        """The number of dimensions whose places are given by indices."""
        return self._array.pattern.sparse_dim

    def dense_dim(self):
        """The number of dimensions that each given element has of its own."""
        return self._array.pattern.dense_dim

    def numel(self):
        """The number of elements, those that are not given among them."""
        return prod(self.shape)

    nelement = numel

    # Memory: there is no storage, and nothing that strides could step through.

    def stride(self, dim=None):
        """The strides that a dense tensor would have; PyTorch tells as much of COO tensors."""
        self._refuse_compressed("Sparse CSR tensors do not have strides")
        steps, found = 1, []
        for length in reversed(self.shape):
            found.insert(0, 0 if self._is_coo() else steps)
            steps *= length
        return tuple(found) if dim is None else found[functions.wrap_own_dim(dim, len(found))]

    def _is_coo(self):
        return self.layout is sparse_coo

    def _refuse_compressed(self, message):
        if not self._is_coo():
            raise RuntimeError(hinted(message, NOT_DENSE))

    def storage_offset(self):
        return 0

    def data_ptr(self):
        raise RuntimeError(
            hinted(
                "Cannot access data pointer of Tensor that doesn't have storage", "values() has memory, and indices()"
            )
        )

    def untyped_storage(self):
        raise NotImplementedError(
            hinted(
                f"Cannot access storage of {'SparseTensorImpl' if self._is_coo() else 'SparseCsrTensorImpl'}",
                "values() has memory, and indices()",
            )
        )

    storage = _typed_storage = untyped_storage

    @property
    def nbytes(self):
        message = (
            "nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the nbytes of "
            "the indices and values.  If you want the size of the  equivalent dense tensor, multiply numel() by element_size()"
        )
        raise RuntimeError(hinted(message, "_values().nbytes is what the elements take"))

    def numpy(self, *args, **kwargs):
        kind = "Sparse" if self._is_coo() else "SparseCsr"
        raise TypeError(
            hinted(f"can't convert {kind} layout tensor to numpy. Use Tensor.to_dense() first.", "x.to_dense().numpy()")
        )

    def __array__(self, dtype=None):
        return self.numpy()

    def item(self):
        """The only element as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(
                hinted(
                    f"a Tensor with {self.numel()} elements cannot be converted to Scalar", "to_dense() has them all"
                )
            )
        return self.to_dense().item()

    def __bool__(self):
        return bool(self.item())

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def tolist(self):
        raise RuntimeError(
            hinted(
                "Cannot access data pointer of Tensor that doesn't have storage",
                "to_dense().tolist() lists all elements",
            )
        )

    def is_shared(self):
        return self.untyped_storage()

    share_memory_ = is_shared

    def set_(self, *args, **kwargs):
        raise functions.sparse_unavailable("set_", [self])

    def type(self, dtype=None, non_blocking=False):
        """The name of the legacy type, or the tensor converted to ``dtype``, which may be such a name."""
        if dtype is None:
            self._refuse_compressed("Unimplemented backend SparseCsrCPU")
            return f"torch.sparse.{self.dtype.legacy_name}Tensor"
        return super().type(dtype.replace("torch.sparse.", "torch.") if isinstance(dtype, str) else dtype)

    def is_contiguous(self, memory_format=None):
        """False: there is no memory of all elements."""
        self._refuse_compressed("Sparse CSR tensors do not have is_contiguous")
        return False

    def contiguous(self, memory_format=None):
        raise RuntimeError(hinted("unsupported memory format option Contiguous", "there is no memory of all elements"))

    def reshape(self, *shape):
        raise RuntimeError(hinted("reshape is not implemented for sparse tensors", "to_dense() can be reshaped"))

    def new_empty(self, *size, dtype=None, device=None, requires_grad=False, **others):
        """A COO tensor without entries, of this size."""
        size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
        return functions.sparse_empty(size, dtype or self.dtype, device, requires_grad)

    new_zeros = new_empty

    def __getitem__(self, key):
        found, dim = self, 0
        keys = key if key.__class__ is tuple else (key,)
        given = sum(each is not None and each is not Ellipsis for each in keys)
        for each in keys:
            if each is None:
                found, dim = functions.unsqueeze(found, dim), dim + 1
            elif each is Ellipsis:
                dim += self.ndim - given
            elif each.__class__ is slice and each == slice(None):
                dim += 1
            elif each.__class__ is int:
                if not -found.shape[dim] <= each < found.shape[dim]:
                    length = found.shape[dim]
                    message = f"index {each} is out of bounds for dimension {dim} with size {length}"
                    raise IndexError(hinted(message, f"there are {length}"))
                found = functions.select(found, dim, each)
            else:
                name = "as_strided" if each.__class__ is slice else "index.Tensor"
                raise functions.sparse_unavailable(name, [self])
        return found

    @property
    def T(self):
        return (
            functions.transpose(self, 0, 1)
            if self.ndim == 2
            else functions.permute(self, tuple(range(self.ndim))[::-1])
        )

    # Python's protocols

    def _text(self, prefix, contents=None):
        from .printing import text_of

        return text_of(self, prefix, contents)

    def __format__(self, spec):
        return object.__format__(self, spec)

    def __repr__(self, *, tensor_contents=None):
        text = self._text("tensor(", tensor_contents)
        return "Parameter containing:\n" + text if getattr(self, "_is_param", False) else text

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        made = deep_copied(self, memo)
        extra = {name: value for name, value in self.__dict__.items() if name[0] != "_" or name == "_is_param"}
        made.__dict__.update(copy.deepcopy(extra, memo))
        return made

    def __reduce_ex__(self, protocol):
        is_parameter = getattr(self, "_is_param", False)
        return _rebuild_sparse, (self.layout, *parts_of(self), self.requires_grad if is_parameter else None)


def _rebuild_sparse(layout, shape, parts, coalesced, parameter):
    """The sparse tensor of pickled parts: as in PyTorch without its ``requires_grad``, unless it is a parameter."""
    made = functions.sparse_from_parts(layout, shape, parts, coalesced)
    if parameter is not None:
        made._is_param = True
        made.requires_grad_(parameter)
    return made


def parts_of(tensor):
    """What a sparse tensor is made of: its size, its index arrays and values as tensors, and whether it is coalesced."""
    array = tensor._array
    pattern = array.pattern
    indices = (pattern.indices,) if pattern.layout is sparse_coo else (pattern.compressed, pattern.plain)
    return Size(pattern.shape), tuple([wrap(each) for each in (*indices, array.values)]), bool(pattern.coalesced)


def copied(tensor):
    """A sparse tensor with values in memory of its own, outside the graph."""
    return sparse(tensor._array.pattern, tensor._array.values.copy())


def sparse(pattern, values):
    """An untracked sparse tensor on an array of values."""
    return wrap(SparseArray(pattern, values))


functions.sparse_parts = parts_of
INERT_CLASSES.add(SparseTensor)
SPARSE.append(True)


# ---------------------------------------------------------------- operations of this room


class SparseOp(Op):
    """A record whose forward takes the arrays of sparse tensors, too: the plug for sparse tensors lets it pass."""


record = partial(recorded, SparseOp)


@record("sparse_values(Tensor self, any name) -> Tensor", node=lambda self, name: name)
class values_of:
    """The values of a sparse tensor: its own memory. ``name`` is that of the node."""

    def forward(self, name):
        return self.values[...]

    def d_self(grad, self, name):
        pattern = self._array.pattern
        merged, first = pattern.places_once()
        return with_values(merged, grad if first is None else grad[wrap(first)], "AliasBackward0")


@record("sparse_with_values(any pattern, Tensor values, any name) -> Tensor", node=lambda pattern, values, name: name)
class with_values:
    """A sparse tensor with these values, on a pattern. ``name`` is that of the node."""

    def forward(pattern, values, name):
        return SparseArray(pattern, values)

    def d_values(grad, pattern, name):
        return values_at(grad, pattern)


def values_at(tensor, pattern):
    """The elements of a tensor, dense or sparse, where a pattern has its entries: in the order of its values."""
    if not isinstance(tensor, SparseTensor):
        places = tuple([wrap(each) for each in pattern.places()])
        found = tensor[places] if places else tensor.unsqueeze(0).expand(pattern.value_shape())
        return found.reshape(pattern.value_shape())
    own = tensor._array.pattern
    values = values_of(tensor, "ValuesBackward0")
    if own is pattern or same_places(own, pattern):
        return values
    mine, theirs = (as_coordinates(each) for each in (own, pattern))
    merged, groups = mine.merged()
    values = functions.sum_groups(values.reshape(mine.value_shape()), groups, merged.nnz)
    numbers, there = theirs.found_in(merged)
    if not merged.nnz:
        return values.new_zeros(pattern.value_shape())
    found = values[wrap(numbers)]
    if not there.all():
        found = found.masked_fill(~wrap(there).reshape(-1, *(1,) * (found.ndim - 1)), 0)
    return found.reshape(pattern.value_shape())


def same_places(one, other):
    """Whether two patterns have the same entries in the same order."""
    if one.layout is not other.layout or one.shape != other.shape or one.nnz != other.nnz:
        return False
    if one.layout is sparse_coo:
        return one.indices is other.indices or np.array_equal(one.indices, other.indices)
    return np.array_equal(one.compressed, other.compressed) and np.array_equal(one.plain, other.plain)


def as_coordinates(pattern):
    """The pattern as that of a COO tensor whose values are those in memory, one after the other."""
    if pattern.layout is sparse_coo:
        return pattern
    return pattern._once("coordinates", lambda: Coordinates(pattern.shape, pattern.places()))


@record("sum_groups(Tensor values, any groups, int count) -> Tensor", node="CoalesceBackward0")
class sum_groups:
    """The sums of the rows of ``values`` that have the same number in ``groups``, an array; ``count`` of them."""

    def forward(values, groups, count):
        if values.shape[0] == count and (groups == np.arange(count)).all():
            return values.copy()
        found = np.zeros((count, *values.shape[1:]), values.dtype)
        if found.size:
            add_rows(found.reshape(count, -1), groups, values.reshape(values.shape[0], -1))
        return found

    def d_values(grad, groups):
        return grad[wrap(groups)]
