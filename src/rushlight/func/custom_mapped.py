"""Custom ``autograd.Function``s under ``vmap``: their own rule, or one made by mapping forward, backward and jvp."""

from __future__ import annotations

from typing import NamedTuple

from ..autograd.function import Function
from ..base import trees
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor
from ..tensor.interposers import below, innermost
from .batched import VmapLevel
from .custom import RULES
from .vmap import restore_vmap

_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What the ``vmap`` method of a Function is told: how many entries, and the rule for random numbers."""

    batch_size: int
    randomness: str


def apply_mapped(level, function, args):
    """One call of a Function inside the vmap of ``level``."""
    leaves, structure = trees.flatten(args)
    with below(level):
        if not any(level.owns(leaf) for leaf in leaves):
            return function.apply(*args)
        own_rule = function.vmap is not Function.vmap
        _check_rule(function, own_rule)
        if own_rule:
            inside = trees.unflatten([leaf.given() if level.owns(leaf) else leaf for leaf in leaves], structure)
            in_dims = trees.unflatten([leaf.batch_dim if level.owns(leaf) else None for leaf in leaves], structure)
            result = function.vmap(VmapInfo(level.size, level.randomness), in_dims, *inside)
            output, out_dims = _checked_pair(result)
        else:
            inside = trees.unflatten([level.unwrap(leaf) for leaf in leaves], structure)
            in_dims = trees.unflatten([0 if level.owns(leaf) else None for leaf in leaves], structure)
            mapped = _Mapped(function, in_dims, level.size, level.randomness)
            output = mapped.function().apply(*inside)
            out_dims = mapped.out_dims
        return _wrapped(level, output, out_dims, trees.leaves_of(inside), leaves)


RULES[VmapLevel] = apply_mapped


def _check_rule(function, own_rule):
    name = function.__name__
    if function.generate_vmap_rule and own_rule:
        raise RuntimeError(
            hinted(
                f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
                f"Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. {_MORE}",
                "the method alone says how batches are computed",
            )
        )
    if not (function.generate_vmap_rule or own_rule):
        raise RuntimeError(
            hinted(
                f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap "
                f"staticmethod or set generate_vmap_rule=True. {_MORE}",
                "generate_vmap_rule = True maps forward and backward, if they are made of tensor operations",
            )
        )


def _checked_pair(result):
    expected = "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
    hint = "return (output, out_dims), for example (y, 0)"
    if not isinstance(result, tuple):
        raise RuntimeError(hinted(f"{expected}Got a {type(result)} instead", hint))
    if len(result) != 2:
        raise RuntimeError(hinted(f"{expected}Got {len(result)} returns instead", hint))
    return result


def _wrapped(level, output, out_dims, inside, given):
    """The output as tensors of the level; what was returned as it was given is the argument itself."""
    leaves, structure = trees.flatten(output)
    dims = trees.broadcast_prefix(out_dims, structure)
    if dims is None:
        raise RuntimeError(
            hinted(
                "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
                f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
                f"{trees.flatten(out_dims)[1]} but output has structure {structure}. {_MORE}",
                "give one dimension, or None, for each output",
            )
        )
    found = []
    for leaf, dim in zip(leaves, dims):
        same = next((own for own, value in zip(given, inside) if value is leaf and isinstance(leaf, Tensor)), None)
        if same is not None:
            leaf = same
        elif dim is not None and isinstance(leaf, Tensor):
            leaf = level.wrap(leaf if dim == 0 else leaf.movedim(dim, 0))
        found.append(leaf)
    return trees.unflatten(found, structure)


# ---------------------------------------------------------------- made by mapping


class _Context:
    """A context that passes everything on to another one, but for what is saved."""

    def __init__(self, inner):
        object.__setattr__(self, "_inner", inner)

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __setattr__(self, name, value):
        setattr(self._inner, name, value)


class _SavingContext(_Context):
    """Saves the batches of what it is given, and notes which of it has one."""

    def _batches(self, tensors):
        level = innermost()
        object.__setattr__(self, "dims", tuple(0 if level.owns(tensor) else None for tensor in tensors))
        return [level.unwrap(tensor) for tensor in tensors]

    def save_for_backward(self, *tensors):
        """As that of the context."""
        self._inner.save_for_backward(*self._batches(tensors))

    def save_for_forward(self, *tensors):
        """As that of the context."""
        self._inner.save_for_forward(*self._batches(tensors))


class _ReadingContext(_Context):
    """Shows the entries of what was saved."""

    def __init__(self, inner, saved):
        super().__init__(inner)
        object.__setattr__(self, "saved_tensors", saved)


class _Mapped:
    """A Function that does for whole batches what ``original`` does for their entries."""

    def __init__(self, original, in_dims, size, randomness):
        self.original, self.in_dims, self.size, self.randomness = original, in_dims, size, randomness
        self.out_dims, self.saved_dims, self.shapes = None, (), None

    def function(self):
        """The class; its call sets ``out_dims``."""
        methods = {name: staticmethod(getattr(self, name)) for name in ("forward", "setup_context", "backward", "jvp")}
        return type(f"Vmapped{self.original.__name__}", (Function,), {**methods, "generate_vmap_rule": True})

    def _map(self, method, dims, *args):
        return restore_vmap(method, dims, self.size, self.randomness)(*args)

    def forward(self, *args):
        """Forward on every entry."""
        output, self.out_dims = self._map(self.original.forward, self.in_dims, *args)
        return output

    def setup_context(self, ctx, inputs, output):
        """The context is set up by the shapes of one entry."""

        def inner(inputs, output):
            saving = _SavingContext(ctx)
            self.original.setup_context(saving, inputs, output)
            self.saved_dims = saving.__dict__.get("dims", ())
            self.shapes = [tuple(each.shape) if isinstance(each, Tensor) else None for each in inputs]
            return ()

        self._map(inner, (self.in_dims, self.out_dims), tuple(inputs), output)

    def backward(self, ctx, *grads):
        """Backward on every entry; an argument that all share gets the sum."""

        def inner(saved, grads):
            return self.original.backward(_ReadingContext(ctx, saved), *grads)

        out_dims = self.out_dims if isinstance(self.out_dims, tuple) else (self.out_dims,)
        dims = tuple(None if grad is None else dim for grad, dim in zip(grads, out_dims))
        found, found_dims = self._map(inner, (self.saved_dims, dims), tuple(ctx.saved_tensors), grads)
        return self._fitted(found, found_dims, self.in_dims, self.shapes)

    def jvp(self, ctx, *tangents):
        """jvp on every entry."""

        def inner(saved, tangents):
            return self.original.jvp(_ReadingContext(ctx, saved), *tangents)

        dims = tuple(None if tangent is None else dim for tangent, dim in zip(tangents, self.in_dims))
        found, found_dims = self._map(inner, (self.saved_dims, dims), tuple(ctx.saved_tensors or ()), tangents)
        out_dims = self.out_dims if isinstance(self.out_dims, tuple) else (self.out_dims,)
        fitted = self._fitted(found, found_dims, out_dims, [None] * len(out_dims))
        return fitted if isinstance(self.out_dims, tuple) else fitted[0]

    def _fitted(self, found, found_dims, dims, shapes):
        """Gradients with a batch where what they belong to has one, and its shape."""
        many = isinstance(found, tuple)
        found, found_dims = (found, found_dims) if many else ((found,), (found_dims,))
        return tuple([self._fit(*each) for each in zip(found, found_dims, dims, shapes)])

    def _fit(self, grad, grad_dim, dim, shape):
        if grad is None or not isinstance(grad, Tensor) or (grad_dim is None and dim is None):
            return grad
        if dim is None:
            return grad.sum(0)
        if grad_dim is None:
            grad = grad.unsqueeze(0).expand(self.size, *grad.shape)
        if shape is not None and tuple(grad.shape[1:]) != shape:
            grad = functions.vmap(lambda entry: entry.sum_to_size(shape))(grad)
        return grad
