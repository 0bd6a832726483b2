"""Norms and dropout of jagged tensors, choices between two, masks, and tensors like a given one."""

from __future__ import annotations

import numpy as np

from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor.base import wrap
from .calls import not_run, raggedness_matches, takes, writes
from .checks import expect_plain
from .jagged import is_jagged, jagged, memory_of, packed
from .padding import packed_from, padded_from
from .structures import Jagged


@takes("layer_norm")
def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    structure = input._array.structure
    if input.ndim <= 2:
        message = "layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions"
        raise RuntimeError(hinted(message, "unsqueeze(-1) adds one"))
    shape = (normalized_shape,) if normalized_shape.__class__ is int else tuple(normalized_shape)
    if len(shape) == input.ndim:
        message = "layer_norm(): not supported when normalizing over the batch dimension for NestedTensor"
        raise RuntimeError(hinted(message, "normalized_shape is that of the last dimensions"))
    if structure.length not in shape:
        found = functions.layer_norm(packed(input), shape, weight, bias, eps)
        return jagged(structure, found, "NativeLayerNormBackward0")
    if structure.lengths is not None:
        message = "layer_norm(): not supported where lengths is not None if operating on the ragged dimension for NestedTensor"
        raise RuntimeError(hinted(message, "contiguous() closes the holes"))
    return _ragged_norm(input, eps)


def _ragged_norm(input, eps):
    """Each element of the batch less its mean, divided by its standard deviation."""
    structure, values = input._array.structure, packed(input)
    length, width = structure.extreme("max"), values.flatten(structure.ragged).shape[-1]
    counts = wrap(structure.counts() * width).reshape(-1, 1, 1)
    rows = padded_from(values.flatten(structure.ragged), structure, 0, length)
    there = padded_from(values.new_ones(values.shape[0], 1), structure, 0, length)
    centred = (rows - rows.sum((1, 2), keepdim=True) / counts) * there
    deviation = (centred.square().sum((1, 2), keepdim=True) / counts + eps).sqrt()
    found = packed_from(centred / deviation, structure, values.shape[0])
    return jagged(structure, found.reshape(values.shape), "NativeLayerNormBackward0")


@takes("functional_layer_norm")
def _functional_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    return _layer_norm(input, normalized_shape, weight, bias, eps)


@takes("rms_norm")
def _rms_norm(input, normalized_shape, weight=None, eps=None):
    shape = (normalized_shape,) if normalized_shape.__class__ is int else tuple(normalized_shape)
    structure = input._array.structure
    if len(shape) > input.ndim - structure.ragged - 1:
        message = "rms_norm(): Normalization over the ragged dim not supported for nested tensors"
        raise ValueError(hinted(message, "normalized_shape is that of the dimensions behind the ragged one"))
    return jagged(structure, functions.rms_norm(packed(input), shape, weight, eps))


@takes("dropout_pair")
def _dropout(self, p, train):
    expect_plain(self, "native_dropout_default(self: jt, float: any, train: any?)", "self")
    return tuple([jagged(self._array.structure, each) for each in functions.dropout_pair(packed(self), p, train)])


@takes("frexp_parts")
def _frexp(self):
    return tuple([jagged(self._array.structure, each) for each in functions.frexp_parts(packed(self))])


# ---------------------------------------------------------------- choices


@takes("broadcast_tensors")
def _broadcast_tensors(*tensors):
    tensors = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    first = next(each for each in tensors if is_jagged(each))
    return tuple([_broadcast_like(first, each) for each in tensors])


def _broadcast_like(first, tensor):
    """A tensor in the structure of ``first``."""
    structure, values = first._array.structure, packed(first)
    if is_jagged(tensor):
        if not raggedness_matches(tensor, first.shape):
            message = f"expand(): cannot expand shape {tuple(tensor.shape)} -> {Size(first.shape)}"
            raise RuntimeError(hinted(message, "both come with the same offsets tensor"))
        return tensor
    if tensor.ndim >= first.ndim:
        message = "broadcast_tensors(): broadcasting nested tensors with dense tensors of equal or higher dim is not currently supported"
        raise ValueError(hinted(message, f"a dense tensor may have {first.ndim - 1} dimensions here"))
    return jagged(structure, functions.broadcast_to(tensor, values.shape))


@takes("where_select")
def _where(condition, self, other):
    if not is_jagged(condition):
        signature = "where_self(condition: jt_all, self: any, other: any)"
        message = f"NestedTensor {signature}: expected condition to be a jagged layout NestedTensor"
        raise ValueError(hinted(message, "the condition decides about each element"))
    parts = []
    for each in (condition, self, other):
        parts.append(packed(_broadcast_like(condition, each)) if hasattr(each, "_edge") and each.ndim else each)
    return jagged(condition._array.structure, functions.where_select(*parts), "WhereBackward0")


@takes("masked_select")
def _masked_select(self, mask):
    expect_plain(self, "masked_select_default(self: jt, mask: any)", "self")
    if self.ndim > 2:
        message = "masked_select only support 2-D selections currently"
        raise RuntimeError(hinted(message, f"this tensor has {self.ndim} dimensions"))
    if tuple(self.shape) != tuple(mask.shape):
        message = f"Mask with shape {mask.shape} is not compatible with input's shape {self.shape}"
        raise RuntimeError(hinted(message, "both come with the same offsets tensor"))
    structure, chosen = self._array.structure, packed(mask)
    before = np.concatenate(([0], np.cumsum(chosen._array)))
    kept = Jagged(wrap(before[structure.offsets._array]), None, 1)
    return jagged(kept, functions.masked_select(packed(self), chosen), "MaskedSelectBackward0")


# ---------------------------------------------------------------- tensors like a given one


def _like(name):
    function = getattr(functions, name)

    @takes(name)
    def call(input, *args, layout=None, requires_grad=False, memory_format=None, **options):
        structure = input._array.structure
        made = jagged(structure, function(wrap(input._array.values), *args, **options))
        return made.requires_grad_() if requires_grad else made


for _name in ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"):
    _like(_name)


def _new(name):
    function = getattr(functions, name)

    @takes(name)
    def call(input, *size, **options):
        given = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        if len(given):
            message = "new_empty() not supported for NJT with shape != ()"
            raise RuntimeError(hinted(message, "values().new_zeros(...) makes dense ones"))
        return function(wrap(input._array.values), (), **options)


for _name in ("new_empty", "new_zeros", "new_ones"):
    _new(_name)


@takes("copy_")
def _copy(self, src, non_blocking=False):
    if not (is_jagged(self) and is_jagged(src)):
        raise not_run("copy_.default")
    if tuple(self.shape) != tuple(src.shape):
        own, given = ([tuple(each.shape) for each in x.detach().unbind()] for x in (self, src))
        if own != given:
            message = f"copy_(): expected compatible input and src shapes, but got: {self.shape} and {src.shape}"
            raise RuntimeError(hinted(message, "the elements of both have the same shapes"))
    functions.copy_(packed(self) if self.requires_grad else memory_of(self), packed(src))
    return self


def _refused(name, shown):
    @takes(name)
    def call(*args, **kwargs):
        raise not_run(shown)


for _name, _shown in {"equal": "equal.default", "allclose": "allclose.default", "norm": "norm.ScalarOpt_dim"}.items():
    _refused(_name, _shown)


@writes("zero_")
def _zero(self):
    memory_of(self).zero_()
    return self
