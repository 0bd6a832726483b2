"""Levels: what a transform (grad, jvp, vmap) puts between a function and the operations that it calls.

A transform pushes a `Level` on the thread's stack of interposers and hands the function `LevelTensor`s: its inputs, each
with what the level adds (a place in a graph of its own, a tangent, a batch dimension). An operation goes to the innermost
level, which does its part and lets the levels below compute with the values inside. So transforms nest in any order, as in
"functorch" (the design that PyTorch's torch.func follows).
"""

from __future__ import annotations

import textwrap
from threading import get_ident
from typing import Any

from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..ops import table
from ..ops.table import functions
from ..tensor.base import Tensor
from ..tensor.classes import register_level_class
from ..tensor.interposers import INTERPOSERS, Interposer, below, interposed


class LevelTensor(Tensor):
    """A tensor as one level sees it: ``value`` is the tensor of the levels below.

    Shape, dtype and strides are those of the value; ``_array`` answers questions about them.
    """

    level: Any
    value: Any
    __torch_function__ = None  # type: ignore[assignment]  # the level itself handles every operation
    is_batch = False  # whether the elements are those of several entries

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        register_level_class(cls)

    @property
    def _array(self):
        return self.value._array

    def _alias(self):
        made = self.level.wrap(self.value)
        made._version_counter = self._version_counter
        return made

    def living(self):
        """This tensor while its transform runs; afterwards what is inside it, in the graphs of the levels below."""
        return self if self.level.alive or self.is_batch else living(self.value)

    def _become(self, view):
        self.value = view.value
        if view._tangent is not None:
            self._tangent = view._tangent

    def index_values(self):
        """What the tensor is as an index: an array, or a tensor of a vmap, whose entries have different ones."""
        inside = self
        while isinstance(inside, LevelTensor) and not inside.is_batch:
            inside = inside.value
        return inside if isinstance(inside, LevelTensor) else inside._array

    def elements(self):
        """The elements of all entries, as an array."""
        inside = self
        while isinstance(inside, LevelTensor):
            inside = inside.value
        return inside._array

    def _is_tracked(self):
        return super()._is_tracked() or self.value._is_tracked()

    def alike(self, made):
        """``made``, a new tensor that nothing refers to yet, as a tensor of this level and those below."""
        return self.level.wrap(functions.in_class_of(self.value, self.level.unwrap(made)))

    def detach(self):
        """The same values outside the graphs of all levels."""
        made = self.level.wrap(self.value.detach())
        functions.share_version(self, made)
        return made

    @property
    def data(self):
        """The same values outside the graphs of all levels, with a version counter of their own."""
        return self.level.wrap(self.value.data)

    @data.setter
    def data(self, value):
        raise RuntimeError(
            hinted(
                "mutating directly with `.data` inside functorch transform is not allowed.",
                "return the new value from the function instead of assigning it",
            )
        )

    def retain_grad(self):
        """Refused: ``grad`` collects nothing in tensors."""
        if not self.requires_grad:
            super().retain_grad()
        raise RuntimeError(
            hinted(
                "You are attempting to call Tensor.retain_grad() inside of a function being transformed by a functorch transform. "
                "This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call "
                "retain_grad() outside of a function being transformed instead.",
                "vjp gives gradients by what a function takes: let the rest of it be a function of this tensor",
            )
        )

    def requires_grad_(self, requires_grad=True):
        """Refused: what to differentiate by is what the transform was asked for."""
        raise RuntimeError(
            hinted(
                "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) inside of a "
                "function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
                "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of a function being "
                "transformed instead.",
                "let the function take the tensor as an argument, and differentiate by that",
            )
        )

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Refused: ``grad`` collects nothing in leaves."""
        raise RuntimeError(
            hinted(
                "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
                "instead or call backward() outside of functorch transforms.",
                "torch.func.grad nests in the other transforms",
            )
        )

    def _nested_text(self, name, about):
        inside = textwrap.indent(repr(self.value), "    ")
        return f"{name}({about}, value=\n{inside}\n)"

    def set_(self, *args, **options):
        """Refused: it would cut the tensor off from how it was computed."""
        raise RuntimeError(
            hinted(
                "derivative for set_ is not implemented", "return the other tensor instead of setting this one to it"
            )
        )


def _reader(name):
    plain = getattr(Tensor, name)

    def read(self, *args, **options):
        return getattr(self.value, name)(*args, **options)

    read.__name__ = name
    read.__doc__ = plain.__doc__
    return read


# What looks at the elements themselves: asked of the value, so that a level below can refuse.
READERS = ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__array__", "__format__",
           "__dlpack__", "is_nonzero", "data_ptr")  # fmt: skip
for _name in READERS:
    setattr(LevelTensor, _name, _reader(_name))


def _refusal(name):
    def refuse(self, *args, **options):
        raise NotImplementedError(
            hinted(
                "Cannot access storage of TensorWrapper",
                f"inside a transform a tensor is a value of a computation, without memory of its own: {name} is for outside",
            )
        )

    refuse.__name__ = name
    return refuse


for _name in ("storage", "untyped_storage", "__deepcopy__", "__reduce_ex__"):
    setattr(LevelTensor, _name, _refusal(_name))


class Level(Interposer):
    """One running transform. ``depth`` counts from 1; ``alive`` ends with the transform."""

    tensor_class = LevelTensor

    def __init__(self):
        super().__init__()
        self.depth = 1 + sum(isinstance(other, Level) and other.thread == self.thread for other in INTERPOSERS)
        self.alive, self.entries = True, 0

    def wrap(self, value):
        """``value`` as a tensor of this level."""
        made = object.__new__(self.tensor_class)
        made.value, made.level, made._edge = value, self, None
        return made

    def owns(self, value):
        """Whether ``value`` is a tensor of this level."""
        return isinstance(value, LevelTensor) and value.level is self

    def wrapped(self, found):
        """The results of an operation as tensors of this level."""
        if found.__class__ in (tuple, list):
            return type(found)([self.wrapped(each) for each in found])
        return self.wrap(found) if isinstance(found, Tensor) else found

    def unwrapped(self, values):
        """The argument values of an operation as the levels below see them."""
        return [self.unwrap(value) for value in values]

    def unwrap(self, value):
        """The value inside a tensor of this level; inside lists and tuples too; anything else as it is."""
        if isinstance(value, LevelTensor):
            return value.value if value.level is self else value
        if value.__class__ in (list, tuple):
            return value.__class__([self.unwrap(each) for each in value])
        return value

    def variable(self, tensor, connected):
        with below(self):
            made = functions.variable(self.unwrap(tensor), connected)
        return self.wrap(made) if self.owns(tensor) else made

    def refuse_out(self, name, out, values):
        with below(self):
            functions.refuse_tracked_out(name, self.unwrap(out), self.unwrapped(values))

    def is_above(self, other):
        """Whether this level stands on top of ``other`` in the stack, so that its tensors hold those of the other."""
        if self is other or self not in INTERPOSERS:
            return False
        return other not in INTERPOSERS or INTERPOSERS.index(self) > INTERPOSERS.index(other)

    @contextmanager
    def lowered(self):
        """A context in which this level, wherever it stands in the stack, and those above it do not take part."""
        mine = [other for other in INTERPOSERS if other.thread == self.thread]
        removed = mine[mine.index(self) :] if self in mine else []
        try:
            for other in removed:
                INTERPOSERS.remove(other)
        except BaseException:  # Ctrl-C came in between
            for other in removed:
                if other in INTERPOSERS:
                    INTERPOSERS.remove(other)
            INTERPOSERS.extend(removed)
            raise
        try:
            yield
        finally:
            INTERPOSERS.extend(removed)

    @contextmanager
    def entered(self):
        """A context in which the transform runs; a function that `vjp` gave enters its level again."""
        self.thread = get_ident()
        with interposed(self):
            try:
                self.entries += 1
                self.alive = True
                yield self
            finally:
                self.entries -= 1
                self.alive = self.entries > 0


def refuse_captured(op):
    """The error for writing, inside a transform, into a tensor that comes from outside it."""
    raise RuntimeError(
        hinted(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
            f"(aten::{op.name.rstrip('_')}_{'.Tensor' if op.kind == table.BINARY else ''}) that would mutate a captured Tensor. This is not supported; please rewrite the "
            "function being transformed to explicitly accept the mutated Tensor(s) as inputs.",
            "write into a tensor that the function makes itself, or pass the tensor as an argument",
        )
    )


def living(value):
    """`LevelTensor.living` for any tensor."""
    return value.living() if isinstance(value, LevelTensor) else value


def laid_out(tensor, steps):
    """A copy of ``tensor``, or itself, that lies in memory with the strides ``steps``; inside ``vmap`` each entry does."""
    if tensor.stride() == steps:
        return tensor
    order = sorted(range(tensor.dim()), key=lambda dim: -steps[dim])
    inverse = sorted(range(tensor.dim()), key=order.__getitem__)
    packed = tensor.permute(order).contiguous().permute(inverse)
    if packed.stride() == steps:
        return packed
    span = 1 + sum((length - 1) * step for length, step in zip(tensor.shape, steps)) if tensor.numel() else 0
    return tensor.new_zeros(span).as_strided(tensor.shape, steps).copy_(tensor)


functions.laid_out = laid_out
