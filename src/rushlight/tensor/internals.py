"""Functions that the rooms above need from this one, reached through ``functions``: dependency turned around."""

from __future__ import annotations

import numpy as np

from ..autograd import gradients
from ..autograd.leaves import set_requires_grad
from ..autograd.modes import enable_grad, is_grad_enabled, state
from ..autograd.node import UNTOUCHED, VersionCounter
from ..base import dtypes, shapes
from ..base.arrays import is_dense
from ..base.device import DEFAULTS
from ..base.layouts import LAYOUT_PLUGS
from ..base.lazy import as_meta, bits_of, is_meta, meta_array, plain, rebuilt, stored_in
from ..ops.create import negative_size
from ..ops.moving import filled, write
from ..ops.table import functions
from ..random import generator as random_generator
from . import writes
from .base import new_tensor, wrap
from .interposers import INTERPOSERS, innermost


def internal(function):
    setattr(functions, function.__name__, function)
    return function


internal(wrap)
functions.interposers = INTERPOSERS
random_generator.use_tensors(wrap, lambda state: plain(state._array))
functions.wrap_dim = shapes.wrap_dim
functions.wrap_own_dim = shapes.wrap_own_dim
functions.bump_version = writes.bump
functions.refuse_tracked_out = writes.refuse_tracked_out
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
    return tensor.to(writes.dtypes.from_numpy(dtype))


@internal
def write_outputs(found, out, name):
    """Write a result (one tensor or a tuple) into ``out=`` tensors, which are returned."""
    many = isinstance(found, tuple)
    for target, value in zip(out if many else (out,), found if many else (found,)):
        writes.write_result(target, plain(value._array), name, False)
    if not many:
        return out
    return found._make(out) if hasattr(found, "_make") else tuple(out)


@internal
def in_layout(tensor, strides):
    """A copy of ``tensor`` that lies in memory with these strides."""
    if hasattr(tensor, "level"):  # inside a transform
        return functions.laid_out(tensor.clone(), strides)
    return functions.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


@internal
def variable(tensor, connected):
    """``tensor`` as something to differentiate by in the innermost graph, whose own history is not walked again.

    An alias: where ``connected`` and gradients flow to the tensor, one that they flow on from; else a leaf.
    """
    interposer = innermost() if INTERPOSERS else None
    if interposer is not None:
        return interposer.variable(tensor, connected)
    if connected and tensor.requires_grad:
        return functions.alias(tensor)
    alias = wrap(tensor._array)
    set_requires_grad(alias, True)
    return alias


@internal
def written_into(out, name, function, *args, **kwargs):
    """The ``out=`` form of a call of ``function``: its result, written into given tensors, which are returned.

    ``function.into(out, ...)`` is asked first where there is one; it returns None for calls that it does not know.
    """
    into = getattr(function, "into", None)
    if into is not None and into(out, *args, **kwargs) is not None:
        return out
    writes.refuse_tracked_out(name, out, (*args, *kwargs.values()))
    found, named = function(*args, **kwargs), dict(zip(function.__code__.co_varnames, args))
    writes.refuse_operands(name, out if isinstance(out, (tuple, list)) else (out,), {**named, **kwargs})
    return write_outputs(found, out, name)


@internal
def differentiate_gradient(formula, inputs, grad, outer):
    """The derivatives of a fused gradient operation, found by differentiating the plain ``formula`` it stands for.

    ``formula(*inputs)`` is the forward computation (None inputs are absent), ``grad`` the gradient of its result; the fused
    operation returned the gradients of ``inputs``, and ``outer`` (None where nothing flowed) are the gradients of those.

    Returns the gradients with respect to ``(grad, *inputs)``.
    """
    create_graph = state.grad
    with enable_grad():
        leaves = [None if t is None else variable(t, create_graph) for t in (grad, *inputs)]
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
    interposer = innermost() if INTERPOSERS else None
    elsewhere = output._array.__class__ in LAYOUT_PLUGS and (output._array.divided or output._array.absent)
    if elsewhere or (interposer is not None and interposer.sees_creation):
        return functions.ones_like(output)
    array = stored_in(output._array)
    made = new_tensor()
    made._edge = None
    if is_meta(output._array):
        made._array = meta_array(array.shape, array.dtype)
        return made
    made._array = np.array(1, array.dtype) if array.ndim == 0 else np.ones(array.shape, array.dtype)
    return made


@internal
def copied_gradient(variable, grad):
    """A copy of ``grad``, outside the graph and in the memory layout of ``variable``: row by row where that has gaps."""
    layout = LAYOUT_PLUGS.get(grad._array.__class__)
    if layout is not None:
        return layout.copied(grad)
    stored = stored_in(grad._array)
    like = stored_in(variable._array)
    if like.__class__ in LAYOUT_PLUGS:
        like = stored
    made = new_tensor()
    if is_meta(grad._array):
        made._array, made._edge = as_meta(like), None
        return made
    array = np.empty_like(like, stored.dtype) if is_dense(like) else np.empty(like.shape, stored.dtype)
    write(array, stored)
    made._array, made._edge = rebuilt(array, *bits_of(grad._array)), None
    return made


@internal
def zeros_beside(tensor, size, options):
    """What ``tensor.new_zeros(*size, **options)`` makes, ``options`` having a dtype: derivative rules begin with that."""
    shape = size[0] if len(size) == 1 and size[0].__class__ is tuple else size
    if (
        len(options) > 1
        or INTERPOSERS
        or DEFAULTS
        or is_meta(tensor._array)
        or any(n.__class__ is not int or n < 0 for n in shape)
    ):
        shape = shapes.sizes_argument(size)
        if any(n < 0 for n in shape):
            raise negative_size(shape, None)
        return functions.zeros(shape, **options)
    made = new_tensor()
    dtype = options["dtype"]
    made._array, made._edge = filled(shape, 0, dtypes.PYTHON.get(dtype, dtype).numpy), None
    return made


@internal
def elements_of(tensor):
    """The elements of a tensor as an array; of a tensor inside vmap those of every entry: for checks that hold for all."""
    elements = getattr(tensor, "elements", None)
    if is_meta(tensor._array):
        return tensor._array.stored  # zeros: nothing that a check would find
    return plain(tensor._array) if elements is None else elements()


@internal
def is_mapped(tensor):
    """Whether a tensor has another value in each entry of a running vmap."""
    return getattr(tensor, "index_values", None) is not None and hasattr(tensor.index_values(), "_edge")
