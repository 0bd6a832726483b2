"""Embeddings: rows of a table looked up by number."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .index import add_rows
from .table import composite, functions, op


@op("embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    names=("torch",))  # fmt: skip
class embedding:
    """The rows of ``weight`` (rows, width) at ``indices``: shape (*indices, width)."""

    def forward(weight, indices, padding_idx, scale_grad_by_freq, sparse):
        check_lookup(weight, indices)
        return weight.take(indices, 0)

    def d_weight(grad, weight_shape, indices, padding_idx, scale_grad_by_freq, sparse):
        if sparse:
            raise NotImplementedError(
                hinted(
                    "the gradient of embedding(sparse=True) is a sparse tensor, which is not implemented",
                    "use sparse=False",
                )
            )
        return functions.embedding_gradient(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


def check_lookup(weight, indices):
    """Refuse a table that is no matrix, and row numbers of a wrong dtype or that are not in the table."""
    if weight.ndim != 2:
        raise RuntimeError(
            hinted("'weight' must be 2-D", f"its shape is {list(weight.shape)}; it holds a vector a row")
        )
    _require_row_numbers(indices, "embedding")
    wide = indices.view(np.uint64) if indices.itemsize == 8 else indices.view(np.uint32)  # negative ones are huge
    if indices.size and np.maximum.reduce(wide, None) >= weight.shape[0]:
        raise IndexError(
            hinted(
                "index out of range in self",
                f"the table has {weight.shape[0]} rows, the indices reach from {indices.min()} to {indices.max()}",
            )
        )


def _require_row_numbers(indices, name):
    if indices.dtype.kind != "i" or indices.itemsize < 4:
        kind = dtypes.from_numpy(indices.dtype).legacy_name
        raise RuntimeError(
            hinted(
                "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
                f"torch.{kind}Tensor instead (while checking arguments for {name})",
                f"{name}() takes row numbers: convert them with .long()",
            )
        )


@op(
    "embedding_gradient(Tensor grad, Tensor indices, int rows, int padding_idx, bool scale_grad_by_freq) -> Tensor",
    names=(),
)
class embedding_gradient:
    """The gradient of a table: what flowed into each row, added up; the padding row gets none."""

    def forward(grad, indices, rows, padding_idx, scale_grad_by_freq):
        width = grad.shape[-1]
        flat, values = indices.reshape(-1), grad.reshape(-1, width)
        if padding_idx >= 0:
            keep = flat != padding_idx
            flat, values = flat[keep], values[keep]
        if scale_grad_by_freq:
            values = values / np.bincount(flat, minlength=rows)[flat][:, None].astype(grad.dtype)
        found = np.zeros((rows, width), grad.dtype)
        add_rows(found, flat, values)
        return found

    def d_grad(grads, indices, rows, padding_idx, scale_grad_by_freq):
        found = functions.embedding(grads[0], indices)
        if scale_grad_by_freq:
            found = found / functions.bincount(indices.reshape(-1), minlength=rows)[indices].unsqueeze(-1)
        return found.masked_fill((indices == padding_idx).unsqueeze(-1), 0) if padding_idx >= 0 else found


@composite(names=("nn.functional:embedding",))
def functional_embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """The rows of ``weight`` at the numbers in ``input``.

    ``padding_idx`` gets no gradient; rows longer than ``max_norm`` are scaled down in place first.

    >>> import rushlight as torch
    >>> torch.nn.functional.embedding(torch.tensor([1]), torch.eye(2))
    tensor([[0., 1.]])
    """
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = padding_idx + rows if padding_idx < 0 else padding_idx
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    return functions.embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def _renormalise(weight, indices, max_norm, norm_type):
    """Scale the rows in use down to ``max_norm``, in place, outside the graph."""
    rows = indices.reshape(-1).unique()
    data = weight.detach()
    data[rows] = data[rows].renorm(norm_type, 0, max_norm)


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
        padding_idx = padding_idx % weight.shape[0]
        keep = flat != padding_idx
        flat, owner = flat[keep], owner[keep]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[keep]
    rows = functional_embedding(flat, weight, None, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    return _pooled(rows, owner, bags, mode)


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
    _require_row_numbers(input._array, "embedding_bag")
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


def _pooled(rows, owner, bags, mode):
    total = rows.new_zeros(bags, rows.shape[1])
    if mode == "max":
        places = owner.unsqueeze(1).expand_as(rows)
        return total.scatter_reduce(0, places, rows, "amax", include_self=False)
    total = total.index_add(0, owner, rows)
    if mode == "sum":
        return total
    counts = rows.new_zeros(bags).index_add(0, owner, rows.new_ones(rows.shape[0]))
    return total / counts.clamp(min=1).unsqueeze(1)
