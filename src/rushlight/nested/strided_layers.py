"""Layers on strided nested tensors: products, softmax, norms, dropout, attention, sums."""

from __future__ import annotations

import numpy as np

from ..base.errors import hinted
from ..ops.table import functions
from .attention import attend
from .strided import Elements, elements_of, from_parts, is_strided_nested, parts_of, put_buffer
from .strided_calls import graft, not_run, takes
from .strided_shapes import last_length


def _rows(tensor):
    """The numbers of a tensor as rows along its last dimension, which all elements share."""
    return elements_of(tensor).reshape(-1, last_length(tensor._array.elements))


def _with_last(tensor, rows, name):
    """The tensor of rows in place of those of ``tensor``."""
    shapes = tensor._array.elements.shapes.copy()
    shapes[:, -1] = rows.shape[-1]
    return put_buffer(Elements(shapes), rows.reshape(-1), name)


@takes("linear")
def _linear(input, weight, bias=None):
    if input.ndim != 3 or weight.ndim != 2:
        message = (
            "Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: "
            f"{input.ndim}. Dense tensor dim: {weight.ndim}"
        )
        raise RuntimeError(hinted(message, "each element of the batch is a matrix"))
    if bias is not None and bias.is_nested:
        raise RuntimeError(hinted("bias must not be nested", "it is a vector"))
    elements = input._array.elements
    if not elements.is_contiguous():
        raise RuntimeError(hinted("for now linear only supports contiguous nested tensor", "contiguous() makes one"))
    last = last_length(elements)
    if last != weight.shape[1]:
        message = (
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal 'weight.size(1), but got: "
            f"last_dim = {last}, and weight.size(1) = {weight.shape[1]}"
        )
        raise RuntimeError(hinted(message, "the weight is (out, in)"))
    return _with_last(input, functions.linear(_rows(input), weight, bias), "LinearBackward0")


def _refuse_dense(one, other):
    kinds = ["nested" if is_strided_nested(each) else "non-nested" for each in (one, other)]
    if kinds != ["nested"] * 2:
        message = f"Expected both to be nested, but got a {kinds[0]} self and {kinds[1]} other"
        raise RuntimeError(hinted(message, "F.linear takes a dense weight"))


@takes("matmul")
def _matmul(input, other, *, out=None):
    _refuse_dense(input, other)
    one, two = input._array.elements, other._array.elements
    if one.batch != two.batch:
        message = (
            f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {one.batch} but got: {two.batch}."
        )
        raise RuntimeError(hinted(message, "both have as many elements"))
    for left, right in zip(one.shapes.tolist(), two.shapes.tolist()):
        if left[-1] != right[-2]:
            message = f"matmul: Nested tensors cannot be matrix multiplied, last dimension of self has sizes {left[-1]}"
            raise RuntimeError(hinted(message, f"an element {left} meets one {right}"))
    pairs = zip(parts_of(input), parts_of(other))
    return from_parts([functions.matmul(left, right) for left, right in pairs], "MatmulBackward0")


@takes("bmm")
def _bmm(self, mat2):
    for name, value in (("batch1", self), ("batch2", mat2)):
        if value.ndim != 3:
            raise RuntimeError(hinted(f"{name} must be a 3D tensor", f"it has {value.ndim} dimensions"))
    lefts, rights = (parts_of(each) if is_strided_nested(each) else functions.unbind(each, 0) for each in (self, mat2))
    for place, (left, right) in enumerate(zip(lefts, rights)):
        if left.shape[1] != right.shape[0]:
            shapes = f"{left.shape[0]}x{left.shape[1]} and {right.shape[0]}x{right.shape[1]}"
            message = f"{place}-th nested matrices in batch cannot be multiplied ({shapes})"
            raise RuntimeError(hinted(message, "columns of the one are as many as rows of the other"))
    return from_parts([functions.mm(left, right) for left, right in zip(lefts, rights)], "BmmBackward0")


@takes("softmax")
def _softmax(self, dim, dtype=None):
    elements = self._array.elements
    dim = functions.wrap_own_dim(dim, elements.ndim)
    if dim == 0:
        raise RuntimeError(hinted("Cannot apply softmax across nested dimension 0", "the batch is dimension 0"))
    if dim == elements.ndim - 1 and elements.length(-1) is not None:
        return _with_last(self, functions.softmax(_rows(self), -1, dtype=dtype), "SoftmaxBackward0")
    return from_parts([functions.softmax(part, dim - 1, dtype=dtype) for part in parts_of(self)], "SoftmaxBackward0")


@takes("layer_norm")
def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    if weight is None or bias is None:
        raise ValueError(hinted("NestedTensor layer_norm requires weight and bias", "ones and zeros change nothing"))
    shape = (normalized_shape,) if normalized_shape.__class__ is int else tuple(normalized_shape)
    elements = input._array.elements
    for place, length in enumerate(shape):
        found = elements.length(place - len(shape))
        if found is None:
            message = "normalized_shape extends into irregular dimensions for the nested tensor"
            raise RuntimeError(hinted(message, "elements differ in them"))
        if found != length:
            message = f"The shape at dimension {place}of normalized_shape doesn't match the input"
            raise RuntimeError(hinted(message, f"the elements have {found} there"))
    rows = functions.layer_norm(elements_of(input).reshape(-1, *shape), shape, weight, bias, eps)
    return put_buffer(Elements(elements.shapes), rows.reshape(-1), "NativeLayerNormBackward0")


@takes("functional_layer_norm")
def _functional_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    return _layer_norm(input, normalized_shape, weight, bias, eps)


@takes("dropout_pair")
def _dropout(self, p, train):
    found = functions.dropout_pair(elements_of(self), p, train)
    return tuple([put_buffer(Elements(self._array.elements.shapes), each) for each in found])


@takes("functional_embedding")
def _embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    indices = elements_of(input)
    rows = functions.functional_embedding(indices, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    shapes = np.insert(input._array.elements.shapes, input.ndim - 1, weight.shape[1], 1)
    return put_buffer(Elements(shapes), rows.reshape(-1), "EmbeddingBackward0")


@takes("sum")
def _sum(self, dim=None, keepdim=False, dtype=None):
    if dim is None:
        raise not_run("sum")
    elements = self._array.elements
    dims = [functions.wrap_own_dim(each, elements.ndim) for each in dim]
    for each in dims:
        if each != elements.ndim - 1:
            message = (
                f"NestedTensor can only be reduced across the last dimension for now got dimension {each} instead."
            )
            raise RuntimeError(hinted(message, "sum(-1, keepdim=True)"))
    if not keepdim:
        raise RuntimeError(hinted("NestedTensor always requires keepdim=True for now.", "sum(-1, keepdim=True)"))
    name = "SumBackwardAutogradNestedTensor1"
    if elements.length(-1) is not None:
        return _with_last(self, functions.sum(_rows(self), -1, True, dtype=dtype), name)
    return from_parts([functions.sum(part, -1, True, dtype=dtype) for part in parts_of(self)], name)


@takes("masked_fill")
def _masked_fill(self, mask, value):
    if not (is_strided_nested(self) and is_strided_nested(mask)):
        raise not_run("masked_fill.Scalar")
    if not self.is_same_size(mask):
        message = "masked_fill does not support broadcasting when given a NestedTensor"
        raise RuntimeError(hinted(message, "the elements of both have the same shapes"))
    found = functions.masked_fill(elements_of(self), elements_of(mask), value)
    return put_buffer(Elements(self._array.elements.shapes), found)


@takes("where_select")
def _where(condition, self, other):
    raise RuntimeError(hinted("self must not be nested", "masked_fill takes a nested mask"))


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    if attn_mask is not None:
        message = "Scaled_dot_product_attention: Nested tensors for query / key are not supported when an explicit attn_mask is set"
        raise RuntimeError(hinted(message, "no element sees another one anyway"))
    if is_causal:
        message = "_scaled_dot_product_attention: Nested tensors for query / key are not supported when is_causal=True"
        raise RuntimeError(hinted(message, "jagged tensors take it: layout=torch.jagged"))
    parts = [parts_of(each) if is_strided_nested(each) else functions.unbind(each, 0) for each in (query, key, value)]
    flat = query.ndim == 3
    if flat:
        parts = [[part.unsqueeze(0) for part in each] for each in parts]
    found = attend(*parts, dropout_p, False, scale, enable_gqa)
    return from_parts([each.squeeze(0) for each in found] if flat else found, "MatmulBackward0")


graft(functions.scaled_dot_product_attention, _attention)
