"""Reductions: over dimensions that are named, or over all of an entry."""

from __future__ import annotations

import math

from ...ops.table import functions
from .along import moved
from .call import each, rule


def rows(call, name="self"):
    """A tensor with all elements of an entry as one row."""
    value = call.given(name)
    return call.batched(name).reshape(call.size, math.prod(value.shape))


@rule(
    "sum", "mean", "nansum", "any", "all", "logsumexp", "amax", "amin", "count_nonzero", "vector_norm_parts",
    "var_corrected", "std_corrected", "var_mean_corrected", "std_mean_corrected", "hash_bits",
)  # fmt: skip
def reduction(call):
    """Dimensions that are not named are all of them."""
    ndim, dim = call.values[0].dim(), call.given("dim")
    if not ndim:
        if dim not in (None, ()):
            moved(dim, 0)
        changes = {"keepdim": False} if "keepdim" in call.schema.index else {}
        return call.run(self=call.inside[0].unsqueeze(1), dim=(1,), **changes)
    return call.run(dim=tuple(range(1, ndim + 1)) if dim in (None, ()) else moved(dim, ndim))


@rule("argmax", "argmin")
def place(call):
    """Without a dimension, the place among all elements."""
    value, dim, keepdim = call.values[0], call.given("dim"), call.given("keepdim")
    ndim = value.dim()
    if dim is not None and ndim:
        return call.run(dim=moved(dim, ndim))
    if dim is not None:
        moved(dim, 0)
    found = call.run(self=rows(call), dim=1, keepdim=False)
    return found.reshape(call.size, *[1] * ndim) if keepdim else found


@rule("aminmax_pair")
def least_and_greatest(call):
    """Without a dimension, over all elements."""
    dim, keepdim = call.given("dim"), call.given("keepdim")
    ndim = call.values[0].dim()
    if dim is not None and ndim:
        return call.run(dim=moved(dim, ndim))
    found = call.run(self=rows(call), dim=1, keepdim=False)
    return each(found, lambda part: part.reshape(call.size, *[1] * ndim)) if keepdim else found


def _of_rows(function):
    def over_all(call):
        return function(rows(call), call)

    return over_all


rule("max_all")(_of_rows(lambda found, call: functions.amax(found, 1)))
rule("min_all")(_of_rows(lambda found, call: functions.amin(found, 1)))
rule("prod_all")(_of_rows(lambda found, call: functions.prod_dim(found, 1, dtype=call.given("dtype"))))
rule("median_all")(_of_rows(lambda found, call: functions.median_dim(found, 1)[0]))
rule("nanmedian_all")(_of_rows(lambda found, call: functions.nanmedian_dim(found, 1)[0]))


@rule("trace")
def trace(call):
    """The sum of the diagonal."""
    if call.values[0].dim() != 2:
        call.check_entry()
    return functions.diagonal(call.inside[0], 0, 1, 2).sum(1)
