"""Embedding bags: rows of a table looked up by number, each bag of them summed, averaged or maximised."""

import numpy as np

from ..base.errors import hinted
from .embedding import renormalise, require_row_numbers
from .index import add_rows
from .table import composite, functions, op

_SIGNATURE = (
    "embedding_bag(Tensor weight, Tensor rows, Tensor owner, Tensor? factors, int bags, str mode, bool scale_grad_by_freq)"
    " -> Tensor[]"
)


@op(_SIGNATURE, names=(), node="EmbeddingBagBackward0")
class pooled_rows:
    """The rows ``rows`` of ``weight``, times ``factors`` if there, pooled over those with the same ``owner``.

    The second result says, for "max", which of ``rows`` gave each element; -1 in empty bags.
    """

    def forward(weight, rows, owner, factors, bags, mode, scale_grad_by_freq):
        values = weight.take(rows, 0)
        if factors is not None:
            values = values * factors[:, None]
        found = np.zeros((bags, weight.shape[1]), weight.dtype)
        places = np.full(found.shape if mode == "max" else (0,), -1, np.int64)
        if mode == "max":
            for place, (bag, row) in enumerate(zip(owner, values)):
                better = (places[bag] < 0) | (row > found[bag])
                found[bag, better], places[bag, better] = row[better], place
        else:
            add_rows(found, owner, values)
        if mode == "mean":
            found /= _counts(owner, bags).astype(weight.dtype)[:, None]
        return found, places

    def d_weight(grad, weight_shape, rows, owner, factors, bags, mode, scale_grad_by_freq, result1):
        values = _of_each_row(grad, owner, bags, mode, result1)
        if factors is not None:
            values = values * factors.unsqueeze(1)
        return functions.embedding_gradient(values, rows, weight_shape[0], -1, scale_grad_by_freq)

    def d_factors(grad, weight, rows, owner):
        return (grad.index_select(0, owner) * weight.index_select(0, rows)).sum(1)


def _counts(owner, bags):
    return np.maximum(np.bincount(owner, minlength=bags), 1)


def _of_each_row(grad, owner, bags, mode, places):
    """The gradient of each looked-up row, given those of the bags."""
    if mode == "max":
        kept = functions.where(places < 0, 0, grad)
        return (
            grad.new_zeros(owner.shape[0], grad.shape[1]).scatter_add(0, places.clamp(min=0), kept)
            if owner.numel()
            else (grad.new_zeros(0, grad.shape[1]))
        )
    if mode == "mean":
        grad = grad / functions.from_numpy(_counts(owner._array, bags)).to(grad.dtype).unsqueeze(1)
    return grad.index_select(0, owner)


@composite(names=("nn.functional",))
def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
                  per_sample_weights=None, include_last_offset=False, padding_idx=None):  # fmt: skip
    """Rows of ``weight`` looked up in bags, each bag summed, averaged or maximised.

    ``input`` is (bags, width), or 1-dim with the start of each bag in ``offsets``.
    """
    _check_bags(input, weight, offsets, mode, per_sample_weights)
    if input.ndim == 2:
        bags, width = input.shape
        owner = functions.arange(bags).repeat_interleave(width)
        flat = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        flat, owner, bags = input, *_owners(offsets, input.shape[0], include_last_offset)
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                hinted(
                    f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}",
                    f"it is the number of a row of the weight, which has {rows}",
                )
            )
        padding_idx = padding_idx % rows
        keep = flat != padding_idx
        flat, owner = flat[keep], owner[keep]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[keep]
    if max_norm is not None:
        renormalise(weight, flat, max_norm, norm_type)
    if sparse and functions.is_grad_enabled() and weight.requires_grad:
        raise NotImplementedError(
            hinted(
                "the gradient of embedding_bag(sparse=True) is a sparse tensor, which is not implemented",
                "use sparse=False",
            )
        )
    return functions.pooled_rows(weight, flat, owner, per_sample_weights, bags, mode, scale_grad_by_freq)[0]


def _check_bags(input, weight, offsets, mode, per_sample_weights):
    """PyTorch's refusals of arguments that do not belong together."""
    if per_sample_weights is not None and tuple(input.shape) != tuple(per_sample_weights.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same "
            f"shape as the input ({input.shape})"
        )
    if input.ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if input.ndim == 2 and offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
            f"However, found offsets of type {type(offsets)}"
        )
    if input.ndim == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, "
            f"Double; but got torch.{weight.dtype.legacy_name}Tensor instead (while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            hinted(
                "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
                f"but type {weight.type()} does not equal {per_sample_weights.type()} (while checking arguments for embedding_bag)",
                f"convert the weights with .to({weight.dtype!r})",
            )
        )
    require_row_numbers(input._array, "embedding_bag")
    if offsets is not None and offsets.numel() and int(offsets[0]) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{int(offsets[0])}"
        )
    numbers = input._array.reshape(-1)
    wrong = np.flatnonzero((numbers < 0) | (numbers >= weight.shape[0]))
    if wrong.size:
        raise RuntimeError(
            f"Index {wrong[0]} of input takes value {numbers[wrong[0]]} which is not in the valid range [0, "
            f"{weight.shape[0]})"
        )


def _owners(offsets, length, include_last_offset):
    """For each looked-up row the bag that it belongs to, and the number of bags."""
    starts = offsets._array
    bags = starts.size - 1 if include_last_offset else starts.size
    ends = starts[1:] if include_last_offset else np.append(starts[1:], length)
    return functions.from_numpy(np.repeat(np.arange(bags), ends[:bags] - starts[:bags])), bags
