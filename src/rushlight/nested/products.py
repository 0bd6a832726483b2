"""Products of jagged tensors: linear layers on the packed values, matrices by matrices, batches by batches."""

from __future__ import annotations

from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from .calls import graft, raggedness_matches, takes
from .checks import expect_dense, expect_plain
from .jagged import is_jagged, jagged, packed
from .padding import packed_from, padded_from


@takes("linear")
def _linear(input, weight, bias=None):
    signature = "linear_default(input: jt, weight: t, bias: t?)"
    expect_plain(input, signature, "input")
    expect_dense(weight, signature, "weight")
    expect_dense(bias, signature, "bias", optional=True)
    return jagged(input._array.structure, functions.linear(packed(input), weight, bias), "LinearBackward0")


def _by_rectangle(one, other):
    """The product of a jagged tensor and a dense one of as many dimensions, batch by batch."""
    nested = one if is_jagged(one) else other
    structure = nested._array.structure
    values = packed(nested)
    total = values.shape[structure.ragged - 1]
    rectangle = padded_from(values, structure, 0, structure.extremes.get("max", total))
    found = functions.matmul(rectangle, other) if nested is one else functions.matmul(one, rectangle)
    return jagged(structure, packed_from(found, structure, total), "MatmulBackward0")


def _by_elements(one, other):
    """The products of the elements of two jagged tensors, whose ragged dimensions are summed over: a dense batch."""
    pairs = zip(functions.unbind(one, 0), functions.unbind(other, 0))
    return functions.stack([functions.matmul(left, right) for left, right in pairs], 0)


def _product(one, other):
    """The product of two tensors of which one at least is jagged; None where PyTorch has none."""
    if is_jagged(one) and is_jagged(other):
        structure, theirs = one._array.structure, other._array.structure
        if one.ndim > 3 and other.ndim > 3 and raggedness_matches(one, other.shape):
            return jagged(structure, functions.matmul(packed(one), packed(other)), "MatmulBackward0")
        both = one.ndim == other.ndim == 3 and (structure.ragged, theirs.ragged) == (2, 1)
        return _by_elements(one, other) if both and structure.length == theirs.length else None
    if is_jagged(one):
        structure, inside = one._array.structure, one._array.structure.ragged < one.ndim - 1
        if one.ndim >= 3 and one.ndim == other.ndim and inside:
            return _by_rectangle(one, other)
        if other.ndim == 2 and one.ndim > 2 and inside:
            return jagged(structure, functions.matmul(packed(one), other), "MatmulBackward0")
        return None
    structure = other._array.structure
    if other.ndim >= 3 and one.ndim == other.ndim and structure.ragged >= 2:
        return _by_rectangle(one, other)
    if one.ndim == 2 and other.ndim > 2 and structure.ragged >= 2:
        return jagged(structure, functions.matmul(one, packed(other)), "MatmulBackward0")
    return None


def _matmul(input, other, *, out=None):
    found = _product(input, other)
    if found is None:
        shown = tuple(input.shape) if is_jagged(input) else Size(input.shape)
        message = f"matmul(): not supported between inputs of shapes {shown} and {Size(other.shape)}"
        raise RuntimeError(hinted(message, "docs/nested.md lists the products that there are"))
    return found


takes("matmul")(_matmul)


@takes("bmm")
def _bmm(self, mat2):
    for name, value in (("input", self), ("mat2", mat2)):
        if value.ndim != 3:
            raise ValueError(hinted(f"bmm(): {name} must be 3D", f"it has {value.ndim} dimensions"))
    return _matmul(self, mat2)


@takes("functional_embedding")
def _embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    signature = "embedding_default(weight: t, indices: jt, padding_idx: any?, scale_grad_by_freq: any?, sparse: any?)"
    expect_dense(weight, signature, "weight")
    expect_plain(input, signature, "indices")
    found = functions.functional_embedding(
        packed(input), weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
    )
    return jagged(input._array.structure, found, "EmbeddingBackward0")


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False):
    from_nested = functions.jagged_attention
    return from_nested(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


graft(functions.scaled_dot_product_attention, _attention)
