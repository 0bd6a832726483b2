"""What the listed functions do while autocast is on: cast their arguments, then compute with autocast off."""

from __future__ import annotations

import functools

from ..base import dtypes
from ..base.errors import hinted
from ..base.grafts import graft
from ..ops import recurrent_stacks
from ..ops.table import functions
from ..tensor.classes import PLAIN_CLASSES
from ..tensor.short_paths import settle
from .lists import APART, FLOAT32, LOWER, WIDEST
from .state import on_first_use, state

HALVES = frozenset((dtypes.bfloat16, dtypes.float16))
CASTABLE = HALVES | {dtypes.float32}


def _each(value, cast, dtype):
    """``value`` with ``cast(tensor, dtype)`` in place of the tensors in it."""
    if hasattr(value, "_edge"):
        return cast(value, dtype)
    kind = value.__class__
    return kind([_each(item, cast, dtype) for item in value]) if kind is list or kind is tuple else value


def _all(args, kwargs, cast, dtype):
    """The arguments of a call with all tensors cast."""
    args = [cast(v, dtype) if v.__class__ in PLAIN_CLASSES else _each(v, cast, dtype) for v in args]
    return args, {name: _each(v, cast, dtype) for name, v in kwargs.items()} if kwargs else kwargs


def _to_lower(tensor, dtype):
    """``tensor`` in less precision; the cast of a parameter is kept, so that the next call finds it."""
    present = tensor.dtype
    if present is dtype or present not in CASTABLE:
        return tensor
    if tensor._edge is None or not state.cache_enabled:
        return tensor.to(dtype)
    known = state.cache.get((id(tensor), dtype))
    if known is not None:
        return known[1]
    made = tensor.to(dtype)
    is_leaf = tensor.is_leaf and tensor._base is None and present is dtypes.float32
    # Without a graph the cast is one; that of a transform ends with it.
    if is_leaf and made._edge is not None and made.__class__ in PLAIN_CLASSES:
        state.cache[id(tensor), dtype] = tensor, made
    return made


def _to_float32(tensor, _):
    return tensor.float() if tensor.dtype in HALVES else tensor


def _to_given(tensor, dtype):
    """``tensor`` in ``dtype``, if it is floating-point and less wide."""
    return tensor.to(dtype) if tensor.dtype in CASTABLE else tensor


def _tensors(values):
    """The tensors among the arguments of a call and in lists of them."""
    for value in values:
        if hasattr(value, "_edge"):
            yield value
        elif value.__class__ in (list, tuple):
            yield from _tensors(value)


def _wider(dtype, present):
    """The wider of the dtype so far and that of the next tensor."""
    if not present.is_floating_point or present is dtype or dtype is dtypes.float64:
        return dtype
    if present is dtypes.float64:
        return present
    if dtypes.float32 in (dtype, present):
        return dtypes.float32
    raise RuntimeError(
        hinted(
            "Unexpected floating ScalarType in at::autocast::prioritize",
            f"a tensor of {present!r} under autocast to {dtype!r}: convert it before",
        )
    )


# ---------------------------------------------------------------- rules: (dtype, args, kwargs) to the arguments to compute with


def lower(dtype, args, kwargs):
    """Compute in less precision."""
    return _all(args, kwargs, _to_lower, dtype)


def float32(dtype, args, kwargs):
    """Compute in float32 what comes in half precision."""
    return _all(args, kwargs, _to_float32, dtype)


def widest(dtype, args, kwargs):
    """Compute in the widest dtype of all arguments."""
    present = [tensor.dtype for tensor in _tensors((*args, *kwargs.values()))]
    if all(each is dtypes.float32 for each in present):
        return args, kwargs
    return _all(args, kwargs, _to_given, functools.reduce(_wider, present, dtype))


def apart(dtype, args, kwargs):
    """Compute with the arguments as they are."""
    return args, kwargs


def padding(dtype, args, kwargs):
    """``pad``: repeated values are float32's, but for mirrored ones of three dimensions."""
    call = dict(zip(("input", "pad", "mode"), args)) | kwargs
    mode = call.get("mode", "constant")
    mirrors = mode == "reflect" and len(call.get("pad", ())) < 6
    return (float32 if mirrors or mode == "replicate" else apart)(dtype, args, kwargs)


def casting(rule):
    """For `graft`: where autocast is on, arguments go through ``rule``, and what is called inside does not ask."""

    def around(plain):
        def call(args, kwargs):
            dtype = state.casts_to
            if dtype is None or (kwargs and kwargs.get("out") is not None):
                return plain(*args, **kwargs)
            state.casts_to = None
            try:
                args, kwargs = rule(dtype, args, kwargs)
                return plain(*args, **kwargs)
            finally:
                state.casts_to = dtype

        return call

    return around


def recurrent(plain):
    """Recurrent layers: simple ones and LSTMs in less precision; the states of others stay in the dtype that they have."""

    def call(args, kwargs):
        dtype = state.casts_to
        if dtype is None:
            return plain(*args, **kwargs)
        name, input, batch_sizes, states, params, *rest = args
        kept = (input if states is None else states[-1]).dtype
        keeps = name == "gru" or (name == "lstm" and batch_sizes is not None)
        cast, projected = (_to_float32 if keeps else _to_lower), rest[-1]
        state.casts_to = None
        try:
            input, states, params = [_each(value, cast, dtype) for value in (input, states, params)]
            found = plain(name, input, batch_sizes, states, params, *rest, **kwargs)
            if keeps:
                return tuple(each.to(kept) for each in found)
            if name == "lstm" and projected:
                return (*found[:-1], found[-1].to(kept))
            return found
        finally:
            state.casts_to = dtype

    return call


def _begin():
    """Graft the rules onto the functions of the lists."""
    for rule, names in ((lower, LOWER), (float32, FLOAT32), (widest, WIDEST), (apart, APART), (padding, ("pad",))):
        for name in names:
            function = getattr(functions, name)
            settle(function)
            for each in (function, *getattr(function, "copies", ())):
                graft(each, casting(rule))
    graft(recurrent_stacks.recurrent, recurrent)


on_first_use.append(_begin)
