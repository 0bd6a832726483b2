"""Operations along dimensions that their arguments name: those dimensions move behind the batch."""

from __future__ import annotations

import math

from ...base.shapes import wrap_dim, wrap_dims
from ...ops.table import functions
from .call import each, rule
from .one_by_one import one_by_one

_NAMES = frozenset(("dim", "dim0", "dim1", "dim2", "dimension", "dims"))
# New dimensions are counted in the result, which has this many more.
_NEW_DIMENSIONS = {"unsqueeze": 1, "diag_embed": 1}


def moved(given, ndim):
    """A dimension, or several, counted with the batch."""
    if given.__class__ in (tuple, list):
        return tuple([dim + 1 for dim in wrap_dims(given, ndim)])
    return wrap_dim(given, ndim) + 1


def changes_of(call, ndim):
    """The arguments of a call that name dimensions, moved; those that are None or empty stay."""
    found = {}
    for argument, given in zip(call.schema.arguments, call.values):
        if argument.name in _NAMES and given is not None and given != ():
            found[argument.name] = moved(given, ndim)
    return found


@rule(
    "transpose", "select", "slice_dim", "diagonal", "unfold_dim", "unbind", "split_with_sizes", "split_even",
    "unsafe_split_with_sizes", "unsafe_split", "narrow_copy", "flip", "rot90", "unsqueeze", "diag_embed",
    "select_scatter", "slice_scatter", "diagonal_scatter", "cross_parts", "fft_c2c", "fft_r2c", "fft_c2r", "glu",
    "glu_gradient",
)  # fmt: skip
def along(call):
    """Operations that refuse, or leave alone, tensors without dimensions."""
    ndim = call.values[0].dim()
    if not ndim and call.op.name not in _NEW_DIMENSIONS:
        return _of_scalars(call)
    changes = changes_of(call, ndim + _NEW_DIMENSIONS.get(call.op.name, 0))
    return call.run(**{name: call.batched(name) for name in call.tensors()}, **changes)


def _of_scalars(call):
    """Where entries have no dimensions: views of the whole, or an error."""
    if call.op.name in ("transpose", "permute"):
        call.check_entry()
        return functions.alias(call.inside[0])
    return one_by_one(call)


@rule(
    "softmax", "softmax_gradient", "log_softmax", "log_softmax_gradient", "cumsum", "cumprod", "cummax_pair",
    "cummin_pair", "logcumsumexp", "sort_pair", "topk_pair", "median_dim", "nanmedian_dim", "kthvalue_pair", "mode_pair",
    "prod_dim", "max_dim", "min_dim",
)  # fmt: skip
def along_or_scalar(call):
    """Operations that treat a tensor without dimensions as one element: here as a row of one for each entry."""
    ndim = call.values[0].dim()
    changes = {name: call.batched(name) for name in call.tensors()}
    changes.update(changes_of(call, ndim))
    if ndim:
        return call.run(**changes)
    for name in call.tensors():
        changes[name] = changes[name].unsqueeze(1)
    return each(call.run(**changes), lambda part: part.reshape(call.size))


@rule("permute")
def permute(call):
    """The batch stays first."""
    ndim = call.values[0].dim()
    if not ndim:
        return _of_scalars(call)
    return call.run(dims=(0, *moved(call.given("dims"), ndim)))


@rule("t")
def t(call):
    """A transposition of matrices; vectors stay."""
    ndim = call.values[0].dim()
    if ndim > 2:
        call.check_entry()
    return functions.transpose(call.inside[0], 1, 2) if ndim == 2 else functions.alias(call.inside[0])


@rule("squeeze")
def squeeze(call):
    """All dimensions of length 1, or those named; never the batch."""
    value, given = call.values[0], call.given("dim")
    ndim = value.dim()
    if given is None:
        dims = [dim for dim in range(ndim) if value.shape[dim] == 1]
    else:
        dims = wrap_dims(given if given.__class__ in (tuple, list) else (given,), ndim)
    dims = tuple([dim + 1 for dim in dims if ndim])
    return functions.squeeze(call.inside[0], dims) if dims else functions.alias(call.inside[0])


@rule("roll")
def roll(call):
    """Without dimensions, all elements move as one row."""
    value, dims = call.values[0], call.given("dims")
    if dims:
        return call.run(dims=moved(dims, value.dim()))
    shape = (call.size, *value.shape)
    rows = call.inside[0].reshape(call.size, math.prod(value.shape))
    return call.run(self=rows, dims=(1,) * len(call.given("shifts"))).reshape(shape)
