"""Whether parameters, gradients and state fit together; the errors for state that does not: it comes from checkpoints."""

from __future__ import annotations

from itertools import combinations, repeat
from operator import attrgetter, is_

import numpy as np

from ..base.dtypes import float32, float64, get_default_dtype
from ..base.errors import hinted, missing_key
from ..base.lazy import is_meta
from ..ops.copy import is_expanded
from ..ops.table import functions
from ..tensor import Tensor

_array_of, _shape_of, _dtype_of, _base_of = map(attrgetter, ("_array", "shape", "dtype", "base"))


def belong_together(params, grads, scalars=(), states=()):
    """Whether a formula may run on the arrays of these tensors: those of each parameter have its shape and dtype, what is
    written shares no memory with anything else of the parameter, and scalars are single numbers.

    Args:
        params, grads: k tensors each.
        scalars, states: those of parameter 0, then of parameter 1, ...; anything else than a tensor does not fit.
    """
    try:
        params, grads, scalars, states = (list(map(_array_of, each)) for each in (params, grads, scalars, states))
    except AttributeError:  # None, a number, ...
        return False
    if scalars and not _are_numbers(scalars):
        return False
    each = len(states) // len(params)
    lists = [grads, *(states[k::each] for k in range(each))]
    shapes, dtypes = list(map(_shape_of, params)), list(map(_dtype_of, params))
    if any(list(map(_shape_of, arrays)) != shapes or list(map(_dtype_of, arrays)) != dtypes for arrays in lists):
        return False
    written = [*params, *states]
    own = all(map(is_, map(_base_of, written), repeat(None)))
    if own and len({*map(id, written), *map(id, grads)}) == len(written) + len(grads):
        return True  # no array is a view, or there twice: their memories are apart
    if any(map(is_expanded, written)) or any(map(is_meta, written)):
        return False
    return not any(_overlap(param, grads[k], states[k * each : (k + 1) * each]) for k, param in enumerate(params))


def _are_numbers(scalars):
    """Whether the scalars are single numbers, each of its own: what counts for two parameters counts twice a step."""
    single = all(scalar.size == 1 and scalar.dtype.kind in "fi" for scalar in scalars)
    return single and len({*map(id, scalars)}) == len(scalars)


def _overlap(param, grad, states):
    """Whether the memory of a parameter or state is also that of another one, or of the gradient."""
    written = (param, *states)
    pairs = (*combinations(written, 2), *((array, grad) for array in written))
    return any(np.may_share_memory(*pair) for pair in pairs)


def scalar_state(value):
    """A number of the state (a step count, ...) as PyTorch keeps it: a 0-dim tensor of its own, float32.

    With float64 as the default dtype it is float64.
    """
    return functions.full((), float(value), dtype=float64 if get_default_dtype() is float64 else float32)


def make_scalars(state, names, optimizer):
    """Make 0-dim tensors of the numbers called ``names`` in a parameter's state that are none."""
    for name in names:
        if name not in state:
            raise missing_state(name, state, optimizer)
        value = state[name]
        if isinstance(value, Tensor):
            continue
        try:
            state[name] = scalar_state(value)
        except (TypeError, ValueError) as error:
            hint = f"'{name}' of a parameter's state has to be a number or a Tensor with one, and is {value!r:.80}"
            raise type(error)(hinted(str(error), hint)) from None


def missing_state(name, state, optimizer):
    """The error for a parameter's state without the entry ``name``."""
    has = ", ".join(map(repr, state)) or "nothing"
    kind = type(optimizer).__name__
    return missing_key(
        name, f"the state that {kind} has of a parameter holds {has}; was it saved by another optimizer?"
    )


def wrong_state(name, value, param, is_number):
    """The error for something else than a Tensor in the place of the entry ``name`` of a parameter's state."""
    kind = type(value).__name__
    if is_number:
        counted = "state_steps" if name == "step" else f"{name}s"
        return RuntimeError(
            hinted(
                f"API has changed, `{counted}` argument must contain a list of singleton tensors",
                f"'{name}' of a parameter's state has to be a Tensor with one number, and is of type {kind}",
            )
        )
    return TypeError(
        hinted(
            f"'{name}' of a parameter's state has to be a Tensor, not {kind}",
            f"the parameter has the shape {tuple(param.shape)}, and so has what belongs there",
        )
    )
