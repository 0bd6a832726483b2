"""Embeddings: rows of a table looked up by number."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.scalars import type_name
from .index import add_rows, largest_unsigned
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
            if scale_grad_by_freq:
                message = "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
                raise RuntimeError(hinted(message, "use sparse=False, or scale_grad_by_freq=False"))
            return functions.sparse_rows(grad, indices, weight_shape, padding_idx)
        return functions.embedding_gradient(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


def check_lookup(weight, indices):
    """Refuse a table that is no matrix, and row numbers of a wrong dtype or that are not in the table."""
    if weight.ndim != 2:
        raise RuntimeError(
            hinted("'weight' must be 2-D", f"its shape is {list(weight.shape)}; it holds a vector a row")
        )
    require_row_numbers(indices, "embedding")
    if indices.size and largest_unsigned(indices) >= weight.shape[0]:
        raise IndexError(
            hinted(
                "index out of range in self",
                f"the table has {weight.shape[0]} rows, the indices reach from {indices.min()} to {indices.max()}",
            )
        )


def require_row_numbers(indices, name, place=1):
    """PyTorch's refusal of the argument number ``place`` where it holds no row numbers."""
    if indices.dtype.kind != "i" or indices.itemsize < 4:
        raise RuntimeError(
            hinted(
                f"Expected tensor for argument #{place} 'indices' to have one of the following scalar types: Long, Int; but "
                f"got {type_name(dtypes.from_numpy(indices.dtype))} instead (while checking arguments for {name})",
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
        renormalise(weight, input, max_norm, norm_type)
    return functions.embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def renormalise(weight, indices, max_norm, norm_type):
    """Scale the rows in use down to ``max_norm``, in place, outside the graph."""
    if weight.ndim != 2:
        raise RuntimeError(
            hinted(
                f"Expected 2-dimensional tensor, but got {weight.ndim}-dimensional tensor for argument #1 'self' (while "
                "checking arguments for embedding_renorm_)",
                "the table holds a vector a row",
            )
        )
    require_row_numbers(indices._array, "embedding_renorm_", 2)
    rows = indices.reshape(-1).unique()
    data = weight.detach()
    data[rows] = data[rows].renorm(norm_type, 0, max_norm)
