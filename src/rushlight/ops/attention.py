"""Scaled dot-product attention in one operation, its gradient in another, and the plain formula that both stand for."""

import math

import numpy as np

from ..base import dtypes
from ..base.arrays import empty_in_result_order
from ..base.errors import hinted
from .matmul import bmm
from .moving import write
from .table import functions, op, widened


def _product(a, b):
    """``a @ b``; of two batches of matrices in fewer steps than `matmul` takes, whose last one a graph still shows."""
    first, second = a._array.shape, b._array.shape
    if not len(first) == len(second) == 3 or first[0] != second[0]:
        return a @ b
    found = functions.bmm(a, b)
    return functions.unsafe_view(found, found._array.shape) if found.requires_grad else found


def attention_formula(query, key, value, mask, is_causal, scale, dropout_p=0.0):
    """Attention as a formula of Tensors, for whatever the operation does not take; the arguments are as there."""
    scores = _product(query * scale, key.transpose(-2, -1))
    blind = None
    if is_causal:
        later = functions.ones(query.shape[-2], key.shape[-2], dtype=dtypes.bool_, device=query.device).triu(1)
        scores = scores.masked_fill(later, -math.inf)
    if mask is not None:
        # Queries that may look nowhere keep finite scores, so that no NaN reaches the gradient; they get zeros at last.
        blind = (mask == -math.inf).all(-1, keepdim=True)
        scores = scores + mask.masked_fill(blind, 0.0)
    weights = scores.softmax(-1)
    if dropout_p > 0.0:
        weights = functions.dropout(weights, dropout_p, True)
    output = _product(weights, value)
    return output if blind is None else output.masked_fill(blind, 0.0)


def repeat_heads(query, other):
    """Keys or values with each head (dimension -3) repeated for its group of query heads. RuntimeError if none fits."""
    wanted, heads = query.size(-3), other.size(-3)
    if heads == 0 or wanted % heads != 0:
        raise RuntimeError(
            hinted(
                "Number of heads in key and value must divide the number of heads in ",
                f"the query has {wanted} heads, key or value {heads}",
            )
        )
    return other if heads == wanted else functions.repeat_interleave(other, wanted // heads, dim=-3)


def _heads_repeated(array, heads):
    groups = heads // array.shape[1]
    return array if groups == 1 else np.repeat(array, groups, 1)


def _scores(query, key, mask, is_causal, scale):
    scores = (query * query.dtype.type(scale)) @ _heads_repeated(key, query.shape[1]).swapaxes(-1, -2)
    if is_causal:
        scores[..., ~np.tri(*scores.shape[-2:], dtype=np.bool_)] = -np.inf
    return scores if mask is None else np.add(scores, widened(mask), out=scores)


def _summed_heads(array, heads):
    """The gradient of heads that were repeated for groups of queries."""
    batch, present, rows, size = array.shape
    return array if present == heads else array.reshape(batch, heads, present // heads, rows, size).sum(2)


# ---------------------------------------------------------------- heads


@op("split_heads(Tensor self, int batch, int count, int heads) -> Tensor[]", names=(), node="UnbindBackward0")
class split_heads:
    """``count`` results of projections that lie side by side, each by heads.

    ``self`` (steps * batch, count * heads * size) gives so many tensors (batch * heads, steps, size), contiguous.
    """

    def forward(self, batch, count, heads):
        rows, width = self.shape
        steps, size = rows // max(batch, 1), width // (count * heads)
        apart = self.reshape(steps, batch, count, heads, size).transpose(2, 1, 3, 0, 4)
        found = np.empty(apart.shape, self.dtype)
        write(found, apart)
        return tuple(found.reshape(count, batch * heads, steps, size))

    def gradients(grads, shape, batch, count, heads):
        present = next(grad for grad in grads if grad is not None)
        if count == 1:
            return (functions.merge_heads(present, batch, heads),)
        zeros = None if None not in grads else functions.zeros_like(present)
        parts = [zeros if grad is None else grad for grad in grads]
        return (functions.merge_heads(functions.cat(parts, 0), batch, heads),)

    def samples():
        yield (np.random.default_rng(0).standard_normal((10, 24)), 2, 3, 4), {}
        yield (np.random.default_rng(1).standard_normal((6, 8)), 2, 1, 2), {}


@op("merge_heads(Tensor self, int batch, int heads) -> Tensor", names=(), node="UnsafeViewBackward0")
class merge_heads:
    """The reverse of `split_heads`, of its results joined along the first dimension."""

    def forward(self, batch, heads):
        copies, steps, size = self.shape
        count = copies // (batch * heads) if batch else 1
        apart = self.reshape(count, batch, heads, steps, size).transpose(3, 1, 0, 2, 4)
        found = np.empty(apart.shape, self.dtype)
        write(found, apart)
        return found.reshape(steps * batch, count * heads * size)

    def d_self(grad, self_shape, batch, heads):
        count = self_shape[0] // (batch * heads)
        parts = functions.split_heads(grad, batch, count, heads)
        return parts[0] if count == 1 else functions.cat(parts, 0)

    def samples():
        yield (np.random.default_rng(0).standard_normal((24, 5, 2)), 2, 4), {}
        yield (np.random.default_rng(1).standard_normal((4, 3, 4)), 2, 2), {}


@op("scaled_scores(Tensor query, Tensor key, float scale) -> Tensor", names=(), node="BmmBackward0")
class scaled_scores:
    """``scale * query @ key'`` for batches of matrices."""

    def forward(query, key, scale):
        return bmm.forward(query * query.dtype.type(scale), key.swapaxes(1, 2))

    def d_query(grad, key, scale):
        return grad.bmm(key) * scale

    def d_key(grad, query, scale):
        return grad.transpose(1, 2).bmm(query) * scale

    def samples():
        draw = np.random.default_rng(0).standard_normal
        yield (draw((2, 4, 3)), draw((2, 5, 3)), 0.5), {}


# ---------------------------------------------------------------- attention in one operation


def empty_output(query, key, value, dtype):
    """Memory for what attention gives: as the query lies where each row of the operands lies together and all rows are of one
    length, which is what PyTorch's own kernel takes, else row by row."""
    shape = (*query.shape[:3], value.shape[3])
    together = all(array.strides[3] == array.itemsize for array in (query, key, value))
    if together and shape == query.shape:
        return empty_in_result_order((query,), shape, dtype)
    return np.empty(shape, dtype)


@op("attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool is_causal, float scale) -> Tensor[]",
    names=(), node="ScaledDotProductFlashAttentionForCpuBackward0")  # fmt: skip
class attention:
    """softmax(query key' * scale + mask) value, and the logarithm of each query's sum of exponentials.

    query (N, H, L, E), key (N, G, S, E), value (N, G, S, V) with H a multiple of G; mask of their dtype, broadcast to
    (N, H, L, S), gets no gradient. A query that may look nowhere gets zeros, and infinity for the logarithm.
    """

    unshown = ("mask",)

    def forward(query, key, value, mask, is_causal, scale):
        kind = query.dtype
        query, key, value = widened(query), widened(key), widened(value)
        weights = _scores(query, key, mask, is_causal, scale)
        highest = weights.max(-1, keepdims=True, initial=-np.inf)
        highest[highest == -np.inf] = 0
        np.exp(np.subtract(weights, highest, out=weights), out=weights)
        total = weights.sum(-1, keepdims=True)
        blind = total == 0
        total[blind] = 1
        logsumexp = highest + np.log(total)
        logsumexp[blind] = np.inf
        found = weights @ _heads_repeated(value, query.shape[1])
        out = empty_output(query, key, value, kind)
        return np.divide(found, total, out=out, casting="same_kind"), logsumexp[..., 0]

    def gradients(grads, query, key, value, mask, is_causal, scale, result0, result1, needs):
        arguments = (grads[0], query, key, value, result0, result1, mask, is_causal, scale)
        return (*functions.attention_backward(*arguments), None)

    def samples():
        draw = np.random.default_rng(0).standard_normal
        query, key, value = draw((2, 4, 5, 3)), draw((2, 2, 6, 3)), draw((2, 2, 6, 2))
        yield (query, key, value, None, False, 0.5), {}
        yield (query, key, value, draw((5, 6)), True, 1.0), {}


@op("attention_backward(Tensor grad, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor? mask, bool is_causal, float scale) -> Tensor[]",
    names=(), node="ScaledDotProductFlashAttentionForCpuBackwardBackward0")  # fmt: skip
class attention_backward:
    """The gradients of query, key and value, given that of the output."""

    def forward(grad, query, key, value, out, logsumexp, mask, is_causal, scale):
        kind, heads, kv_heads = query.dtype, query.shape[1], key.shape[1]
        grad, query, key, value, out = (widened(x) for x in (grad, query, key, value, out))
        scores = _scores(query, key, mask, is_causal, scale)
        weights = np.exp(np.subtract(scores, logsumexp[..., None], out=scores), out=scores)
        slopes = grad @ _heads_repeated(value, heads).swapaxes(-1, -2)
        slopes -= (grad * out).sum(-1, keepdims=True)
        slopes *= weights
        slopes *= slopes.dtype.type(scale)
        d_query = slopes @ _heads_repeated(key, heads)
        d_key = _summed_heads(slopes.swapaxes(-1, -2) @ query, kv_heads)
        d_value = _summed_heads(weights.swapaxes(-1, -2) @ grad, kv_heads)
        return tuple(x.astype(kind, copy=False) for x in (d_query, d_key, d_value))

    def gradients(grads, grad, query, key, value, out, logsumexp, mask, is_causal, scale, needs):
        def formula(q, k, v):
            return attention_formula(q, repeat_heads(q, k), repeat_heads(q, v), mask, is_causal, scale)

        found = functions.differentiate_gradient(formula, (query, key, value), grad, grads)
        return *found, None, None, None
