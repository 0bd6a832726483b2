"""The level of ``vmap``: tensors with a batch dimension that the function does not see.

A `BatchedTensor` holds its values with the batch dimension first. An operation on it runs once on all of them, by the rule
of its family (batching/); an operation without one runs for each entry of the batch.
"""

from __future__ import annotations

import textwrap

from ..autograd.modes import no_grad
from ..base.errors import hinted
from ..base.lazy import bits_of, rebuilt, stored_in
from ..base.size import Size
from ..ops import table
from ..ops.table import functions
from ..tensor.interposers import INTERPOSERS, below
from . import batching
from .entries import ITEM, entry_of
from .levels import Level, LevelTensor

_ISSUES = "https://github.com/pytorch/pytorch/issues"


class BatchedTensor(LevelTensor):
    """A tensor inside ``vmap``: its value has one dimension more, the first, which is the batch."""

    is_batch = True
    _entry = None  # the array of the value, and the first entry of that
    batch_dim = 0  # where the batch was in the tensor that the function was given; in ``value`` it is first

    # Asked for at every operation: the value knows, without an array made for the answer.
    @property
    def shape(self):
        return Size(self.value.shape[1:])

    @property
    def dtype(self):
        return self.value.dtype

    @property
    def ndim(self):
        return self.value.dim() - 1

    def dim(self):
        """The number of dimensions of an entry."""
        return self.value.dim() - 1

    ndimension = dim

    def given(self):
        """The value with the batch where it was."""
        return self.value.movedim(0, self.batch_dim) if self.batch_dim else self.value

    @property
    def _array(self):
        """An array with the shape, dtype and strides of one entry, which cannot be read."""
        if not self.level.alive:
            raise RuntimeError(
                hinted(
                    "a tensor of a vmap was used after the vmap had ended",
                    "return it from the function that is mapped, instead of keeping it",
                )
            )
        array, known = self.value._array, self._entry
        if known is None or known[0] is not array:
            known = self._entry = (array, rebuilt(entry_of(stored_in(array)), *bits_of(array)))
        return known[1]

    @_array.setter
    def _array(self, array):
        raise RuntimeError(
            hinted(
                "vmap: the memory of a Tensor cannot be exchanged or resized under vmap",
                "make a new tensor instead: resize_(), set_() and assignments to data change what the whole batch lies in",
            )
        )

    def alike(self, made):
        with self.level.lowered(), no_grad():
            copies = made.unsqueeze(0).expand(self.level.size, *made.shape)
            if made.shape != self.shape:
                return self.level.wrap(functions.in_class_of(self.value, copies.clone()))
            target = functions.empty_like(self.value, dtype=made.dtype)  # lies in memory as this batch does
            return self.level.wrap(target.copy_(copies))

    def requires_grad_(self, requires_grad=True):
        raise RuntimeError(
            hinted(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of "
                "a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
                "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
                "transformed instead.",
                "torch.func.vmap(torch.func.grad(f)) gives a gradient for each entry of the batch",
            )
        )

    @property
    def data(self):
        raise RuntimeError(hinted("accessing `data` under vmap transform is not allowed", "detach() leaves the graph"))

    @data.setter
    def data(self, value):
        raise RuntimeError(
            hinted(
                "mutating directly with `.data` under vmap transform is not allowed.",
                "return the new value from the function instead of assigning it",
            )
        )

    def __repr__(self, *, tensor_contents=None):
        with self.level.lowered():
            inside = textwrap.indent(repr(self.given()), "    ")
        return f"BatchedTensor(lvl={self.level.depth}, bdim={self.batch_dim}, value=\n{inside}\n)"


_CONTROL = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    f"please file an issue at {_ISSUES} ."
)
_POINTER = "Cannot access data pointer of Tensor that doesn't have storage"
_STORAGE = "Cannot access storage of BatchedTensorImpl"
# What asks for the elements themselves, of which there is one for each entry of the batch, and PyTorch's words for each.
_REFUSED = {
    **dict.fromkeys(("__bool__", "is_nonzero"), (RuntimeError, _CONTROL)),
    **dict.fromkeys(("item", "__int__", "__float__", "__complex__", "__index__", "__format__"), (RuntimeError, ITEM)),
    **dict.fromkeys(("tolist", "numpy", "__array__", "__dlpack__", "data_ptr"), (RuntimeError, _POINTER)),
    **dict.fromkeys(("storage", "untyped_storage", "__deepcopy__", "__reduce_ex__"), (NotImplementedError, _STORAGE)),
    "is_set_to": (RuntimeError, "Batching rule not implemented for aten::is_set_to. We could not generate a fallback."),
    "equal": (RuntimeError, "Batching rule not implemented for aten::equal. We could not generate a fallback."),
    "allclose": (
        RuntimeError,
        f"vmap over torch.allclose isn't supported yet. Please file an issue at {_ISSUES} if you need this feature.",
    ),
    "backward": (
        RuntimeError,
        "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
        "instead or call backward() outside of functorch transforms.",
    ),
}


def _refusal(name, kind, first):
    def refuse(self, *args, **options):
        raise kind(
            hinted(
                first,
                "inside vmap a tensor stands for a whole batch: use torch.where in place of if, operations in place of numbers",
            )
        )

    refuse.__name__ = name
    return refuse


for _name, (_kind, _first) in _REFUSED.items():
    setattr(BatchedTensor, _name, _refusal(_name, _kind, _first))


class VmapLevel(Level):
    """Runs operations on whole batches of ``size`` entries."""

    tensor_class = BatchedTensor

    def __init__(self, size, randomness):
        super().__init__()
        self.size, self.randomness = size, randomness

    def call(self, op, schema, values, again, around, writes=False):
        if op.name in batching.RANDOM:
            with below(self):
                return batching.random(self, op, schema, values, again)
        mapped = self.holds(values)
        if mapped and writes and not self.owns(values[0]):
            self._refuse_shared(op, schema)
        try:
            INTERPOSERS.remove(self)  # as `below`, which takes longer
            if not mapped:
                return again(values)
            found = batching.apply(self, op, schema, values, again, writes)
        finally:
            INTERPOSERS.append(self)
        return values[0] if writes else self.wrapped(found)

    def refuse_out(self, name, out, values):
        if self.holds((out, *values)):
            raise RuntimeError(
                hinted(
                    f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops.",
                    "leave out= away, and use what the operation returns",
                )
            )
        super().refuse_out(name, out, values)

    def _refuse_shared(self, op, schema):
        """The error for writing what differs between the entries into a tensor that they share."""
        name, where = schema.name.rstrip("_") + "_", "in a vmap"
        if op.kind in (table.UNARY, table.BINARY, table.ELEMENTWISE) or name in ("copy_", "masked_fill_"):
            name = "inplace arithmetic"
        elif name.startswith("scatter"):
            name, where = f"aten::{name}", f"at level {self.depth}"
        raise RuntimeError(
            hinted(
                f"vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
                "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over "
                f"{where}. Please try to use out-of-place operators instead of {name}. If said operator is being called inside "
                "the PyTorch framework, please file a bug report instead.",
                "the tensor that is written has one value for the whole batch: make it with zeros_like() or new_zeros() of a "
                "mapped one",
            )
        )

    def holds(self, value):
        """Whether a list or tuple has a tensor of this level in it."""
        for each in value:
            kind = each.__class__
            if kind is BatchedTensor:
                if each.level is self:
                    return True
            elif (kind is list or kind is tuple) and self.holds(each):
                return True
        return False

    def owns(self, value):
        return value.__class__ is BatchedTensor and value.level is self

    def batch(self, value):
        """The value of a tensor with the batch first, also where it is none of this level: then repeated by a view."""
        if self.owns(value):
            return value.value
        return value.unsqueeze(0).expand(self.size, *value.shape)
