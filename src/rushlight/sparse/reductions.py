"""Sums, norms and softmax of sparse tensors: over the entries that are there."""

from __future__ import annotations

import numpy as np

from ..base.device import sparse_coo
from ..base.errors import hinted
from ..base.shapes import wrap_dim
from ..ops.table import functions
from ..tensor.base import wrap
from .calls import BACKENDS, is_sparse, not_run, takes, unavailable
from .conversion import coalesce, compressed, expect_coo, to_sparse
from .elementwise import coalesced
from .patterns import Coordinates
from .row_sums import add_rows
from .tensors import record, values_of, with_values


def _dims(dim, ndim):
    dims = (dim,) if dim.__class__ is int else tuple(dim)
    return tuple(sorted({wrap_dim(each, ndim) for each in dims}))


@record("sparse_sum(Tensor self) -> Tensor", node="SumBackward0")
class _sum_of_all:
    """The sum of all elements; its gradient is dense, as PyTorch's."""

    def forward(self):
        return np.asarray(self.values.sum(dtype=self.dtype if self.dtype.kind in "fc" else None))

    def d_self(grad, shape):
        return grad.expand(shape)


@takes("sum")
def _sum(self, dim=None, keepdim=False, dtype=None):
    if dtype is not None:
        self = self.to(dtype)
    if dim is None or dim == ():
        found = values_of(self, "").sum() if self.dtype.itemsize == 2 else _sum_of_all(self)
        return found.reshape((1,) * self.ndim) if keepdim else found
    if self.layout is not sparse_coo:
        if not keepdim:
            message = "reduction operations on CSR tensors with keepdim=False is unsupported"
            raise RuntimeError(hinted(message, "keepdim=True, or to_sparse() first"))
        return compressed(_sum_over(to_sparse(self), _dims(dim, self.ndim), True), self.layout)
    return _sum_over(self, _dims(dim, self.ndim), keepdim)


def _sum_over(self, dims, keepdim=False):
    """The sum over some dimensions: a sparse tensor, or a dense one where no sparse dimension is left."""
    pattern, name = self._array.pattern, "SparseSumBackward0"
    values, count = values_of(self, name), pattern.sparse_dim
    over = [dim for dim in dims if dim < count]
    dense = [dim - count + 1 for dim in dims if dim >= count]
    if dense:
        values = values.sum(dense, keepdim=keepdim)
    if not over:
        shape = (*pattern.shape[:count], *values.shape[1:])
        return with_values(Coordinates(shape, pattern.indices, pattern.coalesced), values, name)
    if len(over) == count and not keepdim:
        return values.sum(0)
    if keepdim:
        indices = pattern.indices.copy()
        indices[over] = 0
        lengths = [1 if dim in over else length for dim, length in enumerate(pattern.shape[:count])]
    else:
        kept = [dim for dim in range(count) if dim not in over]
        indices, lengths = pattern.indices[kept], [pattern.shape[dim] for dim in kept]
    merged, groups = pattern.rearranged((*lengths, *values.shape[1:]), indices).merged()
    return with_values(merged, functions.sum_groups(values, groups, merged.nnz), name)


def sparse_sum(input, dim=None, dtype=None):
    """The sum of the elements of a sparse tensor: of all, or over the dimensions ``dim``. Its gradient is sparse.

    Args:
        input: a COO tensor.
        dim: an int or several. Where sparse dimensions are left, the result is sparse.
        dtype: that of the result.

    >>> import rushlight as torch
    >>> torch.sparse.sum(torch.sparse_coo_tensor([[0, 1], [2, 2]], [3.0, 4.0], (2, 3)), 0)
    tensor(indices=tensor([[2]]),
           values=tensor([7.]),
           size=(3,), nnz=1, layout=torch.sparse_coo)
    """
    if not is_sparse(input):
        expect_coo(input, "coalesce")
    if input.layout is not sparse_coo:
        raise not_run("_indices", [input])
    if dtype is not None:
        input = input.to(dtype)
    if dim is None:
        return values_of(input, "SparseSumBackward0").sum()
    return _sum_over(input, _dims(dim, input.ndim))


@takes("norm")
def _norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    if dim not in (None, ()) and len(_dims(dim, input.ndim)) != input.ndim:
        message = (
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of "
            "the input"
        )
        raise RuntimeError(hinted(message, "to_dense() has norms of rows"))
    return values_of(coalesced(input), "NormBackward1").reshape(-1).norm(p, dtype=dtype)


@takes("any")
def _any(self, dim=None, keepdim=False):
    if dim is not None:
        raise not_run("any.dim", [self])
    return values_of(self, "").any()


def _softmax_groups(tensor, dim):
    """The number of each entry's fibre along a sparse dimension, and how many fibres there are."""
    pattern = tensor._array.pattern
    others = [each for each in range(pattern.sparse_dim) if each != dim]
    if not others:
        return np.zeros(pattern.nnz, np.int64), 1
    lengths = [pattern.shape[each] for each in others]
    merged, groups = pattern.rearranged(lengths, pattern.indices[others]).merged()
    return groups, merged.nnz


def _largest(values, groups, count):
    found = np.full((count, *values.shape[1:]), -np.inf, values.dtype)
    np.maximum.at(found, groups, values)
    return found


@record("sparse_softmax(Tensor values, any groups, int count, bool log, any name) -> Tensor",
        node=lambda values, groups, count, log, name: name)  # fmt: skip
class _grouped_softmax:
    """Softmax, or its logarithm, of the rows of ``values`` that have the same number in ``groups``."""

    def forward(values, groups, count, log, name):
        shifted = values - _largest(values, groups, count)[groups]
        powers = np.exp(shifted)
        sums = np.zeros((count, *values.shape[1:]), values.dtype)
        add_rows(sums, groups, powers)
        return shifted - np.log(sums)[groups] if log else powers / sums[groups]

    def d_values(grad, result, groups, count, log):
        if log:
            return grad - result.exp() * functions.sum_groups(grad, groups, count)[wrap(groups)]
        return result * (grad - functions.sum_groups(grad * result, groups, count)[wrap(groups)])


def _softmax(input, dim, dtype, log):
    name = "log_softmax" if log else "softmax"
    if not is_sparse(input) or input.layout is not sparse_coo:
        raise unavailable(f"_sparse_{name}", BACKENDS[False] if is_sparse(input) else "CPU")
    dim = wrap_dim(dim, input.ndim)
    input = coalesce(input if dtype is None else input.to(dtype))
    pattern, node = input._array.pattern, f"Sparse{'Log' * log}SoftmaxBackward0"
    values = values_of(input, node)
    if dim >= pattern.sparse_dim:
        found = getattr(functions, name)(values, dim - pattern.sparse_dim + 1)
    else:
        found = _grouped_softmax(values, *_softmax_groups(input, dim), log, node)
    return with_values(pattern, found, node)


def softmax(input, dim, *, dtype=None):
    """Softmax along ``dim`` of a COO tensor: over the entries that are there, as if all others were minus infinity.

    >>> import rushlight as torch
    >>> torch.sparse.softmax(torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3)), 1).values()
    tensor([0.5000, 0.5000])
    """
    return _softmax(input, dim, dtype, False)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of `softmax`, along ``dim`` of a COO tensor.

    >>> import rushlight as torch
    >>> torch.sparse.log_softmax(torch.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3)), 1).values()
    tensor([-0.6931, -0.6931])
    """
    return _softmax(input, dim, dtype, True)
