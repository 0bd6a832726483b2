"""Functions that the rooms above need from this one, reached through ``functions``: dependency turned around."""

from __future__ import annotations

import numpy as np

from ..autograd import gradients
from ..autograd.modes import enable_grad, is_grad_enabled, state
from ..autograd.node import UNTOUCHED, VersionCounter
from ..base import dtypes, shapes
from ..ops.table import functions
from ..random import generator as random_generator
from . import dispatch
from .base import new_tensor, wrap


def internal(function):
    setattr(functions, function.__name__, function)
    return function


internal(wrap)
random_generator.use_tensors(wrap, lambda state: state._array)
functions.wrap_dim = shapes.wrap_dim
functions.bump_version = dispatch.bump
functions.finfo = dtypes.finfo
functions.is_grad_enabled = is_grad_enabled


@internal
def share_version(tensor, alias):
    """Let ``alias``, on the same memory, count versions together with ``tensor``."""
    if tensor._version_counter is UNTOUCHED:
        tensor._version_counter = VersionCounter()
    alias._version_counter = tensor._version_counter


@internal
def empty_instance(cls):
    """An empty float tensor of class ``cls``: what ``Tensor()`` makes."""
    made = object.__new__(cls)
    made._array = np.empty(0, np.float32)
    return made


@internal
def cast_array_dtype(tensor, dtype):
    """``tensor`` converted to a NumPy dtype, through the recorded ``to``."""
    return tensor.to(dispatch.dtypes.from_numpy(dtype))


@internal
def write_outputs(found, out, name):
    """Write a result (one tensor or a tuple) into ``out=`` tensors, which are returned."""
    many = isinstance(found, tuple)
    for target, value in zip(out if many else (out,), found if many else (found,)):
        dispatch.write_result(target, value._array, name)
    return type(found)(*out) if many else out


@internal
def differentiate_gradient(formula, inputs, grad, outer):
    """The derivatives of a fused gradient operation, found by differentiating the plain ``formula`` it stands for.

    ``formula(*inputs)`` is the forward computation (None inputs are absent), ``grad`` the gradient of its result; the fused
    operation returned the gradients of ``inputs``, and ``outer`` (None where nothing flowed) are the gradients of those.

    Returns the gradients with respect to ``(grad, *inputs)``.
    """
    create_graph = state.grad
    with enable_grad():
        given = [grad, *inputs]
        # Fresh aliases: the graph of the inputs' own history is not walked again.
        leaves = [None if t is None else t.detach().requires_grad_(True) for t in given]
        if create_graph:
            leaves = [None if t is None else (t if t.requires_grad else leaf) for t, leaf in zip(given, leaves)]
        variables = [t for t in leaves[1:] if t is not None]
        result = formula(*leaves[1:])
        first = gradients.grad(result, variables, leaves[0], create_graph=True, allow_unused=True)
        present = iter(first)
        pairs = [
            (g, o) for leaf, o in zip(leaves[1:], outer) for g in ([next(present)] if leaf is not None else [None])
        ]
        pairs = [(g, o) for g, o in pairs if g is not None and o is not None and g.requires_grad]
        wanted = [t for t in leaves if t is not None]
        found = iter(
            gradients.grad(
                [g for g, _ in pairs], wanted, [o for _, o in pairs], create_graph=create_graph, allow_unused=True
            )
        )
    return tuple(None if t is None else next(found) for t in leaves)


@internal
def unit_gradient(output):
    """A one in the shape and dtype of ``output``, which has one element."""
    array = output._array
    made = new_tensor()
    made._edge = None
    made._array = np.array(1, array.dtype) if array.ndim == 0 else np.ones(array.shape, array.dtype)
    return made


@internal
def copied_gradient(variable, grad):
    """A copy of ``grad``, outside the graph and in the memory layout of ``variable``."""
    array = np.empty_like(variable._array)
    array[...] = grad._array
    made = new_tensor()
    made._array, made._edge = array, None
    return made
