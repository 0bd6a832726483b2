"""Sums, means, extremes and softmax of jagged tensors: over dimensions of the values, over the ragged one, over all elements."""

from __future__ import annotations

import math

from ..base import dtypes
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from ..ops.table import functions
from ..tensor.base import wrap
from .calls import takes
from .checks import inner_dim
from .jagged import is_jagged, jagged, named, packed
from .padding import packed_from, padded_from


def _jagged_padded(input, padding, output_size=None):
    structure = input._array.structure
    if structure.lengths is not None:
        message = "to_padded_tensor(): not supported for nested tensors with holes"
        raise RuntimeError(hinted(message, "contiguous() closes the holes"))
    values = packed(input)
    if output_size is not None:
        length = output_size[structure.ragged]
    else:
        length = structure.extremes.get("max", values.shape[0])
    return padded_from(values, structure, padding, length)


functions.jagged_padded = _jagged_padded


class _Dims:
    """The dimensions to reduce over: of the values (``inside``), and whether batch, ragged and other ones are among them."""

    def __init__(self, tensor, dims):
        ndim, ragged = tensor.ndim, tensor._array.structure.ragged
        wrapped = [wrap_dim(dim, ndim) for dim in dims]
        self.batch, self.ragged = 0 in wrapped, ragged in wrapped
        self.others = any(dim not in (0, ragged) for dim in wrapped)
        self.inside = tuple(dict.fromkeys(inner_dim(ndim, dim, ragged) for dim in wrapped))


def _reduced(name, identity, input, dim, keepdim, reduce):
    """A reduction of a jagged tensor: ``reduce(dense, dims, keepdim)``, ``identity`` where elements are shorter than others.

    Dense, where the ragged dimension is among ``dim``, a tuple or an int.
    """
    structure = input._array.structure
    if dim is None or dim == ():
        found = reduce(packed(input), None if dim is None else (), keepdim)
        return _mapped(lambda each: each.unsqueeze(structure.ragged), found) if keepdim else found
    several = dim.__class__ in (tuple, list)
    dims = _Dims(input, dim if several else [dim])
    over = dims.inside if several else dims.inside[0]
    if dims.ragged:
        if structure.lengths is not None:
            message = f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with holes"
            raise RuntimeError(hinted(message, "contiguous() closes the holes"))
        if dims.batch:
            found = reduce(packed(input), over, keepdim)
            return _mapped(lambda each: each.unsqueeze(0), found) if keepdim else found
        if dims.others:
            message = f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
            raise RuntimeError(hinted(message, "reduce over one after the other"))
        ragged = structure.ragged
        return reduce(_jagged_padded(input, identity), [ragged] if several else ragged, keepdim)
    if dims.batch:
        message = f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
        raise RuntimeError(
            hinted(message, "elements of the batch have different lengths: reduce over the ragged one, too")
        )
    found = reduce(packed(input), over, keepdim)
    lost = 0 if keepdim else sum(each < structure.ragged - 1 for each in dims.inside)
    return _mapped(lambda each: jagged(structure.at(structure.ragged - lost), each), found)


def _mapped(function, found):
    return tuple(map(function, found)) if found.__class__ is tuple else function(found)


def _under(name, found):
    """The result of a reduction, its node called ``name``."""
    if is_jagged(found):
        return jagged(found._array.structure, packed(found), name)
    return named(found, name) if found.requires_grad else found


@takes("sum")
def _sum(self, dim=None, keepdim=False, dtype=None):
    found = _reduced("sum", 0, self, dim, keepdim, lambda x, dim, keep: functions.sum(x, dim, keep, dtype=dtype))
    return _under(f"SumBackwardAutogradNestedTensor{int(dim is not None)}", found)


@takes("mean")
def _mean(self, dim=None, keepdim=False, dtype=None):
    def reduce(x, dim, keep):
        return functions.mean(x, dim, keep, dtype=dtype)

    if dim is None:
        return _under("MeanBackwardAutogradNestedTensor0", reduce(packed(self), None, False))
    dims = _Dims(self, dim)
    if not dims.ragged or dims.batch:
        return _reduced("mean", 0, self, dim, keepdim, reduce)
    if dims.others:
        message = "Cannot reduce on both ragged and non-batch dimensions without also reducing on batch"
        raise AssertionError(hinted(message, "reduce over one after the other"))
    sums = _reduced("mean", 0, self, dim, True, lambda x, dim, keep: functions.sum(x, dim, keep, dtype=dtype))
    counts = wrap(self._array.structure.counts()).reshape(-1, *(1,) * (sums.ndim - 1))
    found = sums / counts
    return _under("MeanBackward1", found if keepdim else found.squeeze(self._array.structure.ragged))


@takes("prod_all")
def _prod_of_all(self, dtype=None):
    return functions.prod_all(packed(self), dtype=dtype)


@takes("prod_dim")
def _prod(self, dim, keepdim=False, dtype=None):
    return _reduced("prod", 1, self, dim, keepdim, lambda x, dim, keep: functions.prod_dim(x, dim, keep, dtype=dtype))


@takes("max_all")
def _max_of_all(self):
    return functions.max_all(packed(self))


@takes("min_all")
def _min_of_all(self):
    return functions.min_all(packed(self))


def _extremes(dtype):
    """The least and the largest number of a dtype."""
    if dtype is dtypes.bool_:
        return False, True
    found = (dtypes.finfo if dtype.is_floating_point else dtypes.iinfo)(dtype)
    return found.min, found.max


def _truth(name, identity):
    function = getattr(functions, name)

    @takes(name)
    def call(self, dim=None, keepdim=False):
        if dim is None:
            return function(packed(self))
        return _reduced(name, identity, self, (dim,) if dim.__class__ is int else dim, keepdim, function)


def _extreme(name, shown, largest):
    function = getattr(functions, name)

    @takes(name)
    def call(self, dim=None, keepdim=False):
        return _reduced(shown, _extremes(self.dtype)[not largest], self, dim, keepdim, function)


_truth("any", False)
_truth("all", True)
for _name in ("max_dim", "amax", "argmax"):
    _extreme(_name, _name.removesuffix("_dim"), True)
for _name in ("min_dim", "amin", "argmin"):
    _extreme(_name, _name.removesuffix("_dim"), False)


# ---------------------------------------------------------------- softmax


def _softmax_dim(self, dim, name):
    """The dimension of the values for softmax; None where it is the ragged one. Refuses the batch."""
    dims = _Dims(self, (dim,))
    if dims.batch:
        message = f"{name}(): not supported when reducing across the batch dimension for NestedTensor"
        raise RuntimeError(hinted(message, "elements of the batch have different lengths"))
    return None if dims.ragged else dims.inside[0]


@takes("softmax")
def _softmax(self, dim, dtype=None):
    structure, inside = self._array.structure, _softmax_dim(self, dim, "softmax")
    if inside is not None:
        return jagged(structure, functions.softmax(packed(self), inside, dtype=dtype))
    if structure.ragged > 1:
        message = (
            "softmax(): not supported when reducing along the ragged dimension for ragged_idx > 1 for NestedTensor"
        )
        raise RuntimeError(hinted(message, "transpose the ragged dimension to 1 first"))
    if structure.lengths is not None:
        message = "softmax(): not supported where lengths is not None if reducing across the ragged dimension for NestedTensor"
        raise RuntimeError(hinted(message, "contiguous() closes the holes"))
    values = packed(self)
    rectangle = functions.softmax(padded_from(values, structure, -math.inf, structure.extreme("max")), 1, dtype=dtype)
    return jagged(structure, packed_from(rectangle, structure, values.shape[0]), "SoftmaxBackward0")


@takes("log_softmax")
def _log_softmax(self, dim, dtype=None):
    inside = _softmax_dim(self, dim, "log_softmax")
    if inside is None:
        message = "log_softmax(): not supported when reducing along the ragged dimension for NestedTensor"
        raise RuntimeError(hinted(message, "softmax(dim).log() has it"))
    return jagged(self._array.structure, functions.log_softmax(packed(self), inside, dtype=dtype))
