"""Products of matrices: sparse by dense, dense by sparse, and two sparse ones."""

from __future__ import annotations

import numpy as np

from ..base.device import sparse_coo, sparse_csr
from ..base.errors import hinted
from ..ops.table import conj, functions
from ..tensor.base import wrap
from .calls import BACKENDS, is_sparse, not_run, takes, unavailable
from .conversion import coalesce, compressed, to_sparse
from .patterns import Coordinates
from .row_products import line_products, line_sums
from .tensors import record, values_of, with_values


@record("sparse_product(Tensor values, any pattern, int axis, Tensor dense, any name) -> Tensor",
        node=lambda values, pattern, axis, dense, name: name)  # fmt: skip
class product_of:
    """The product with ``dense`` of the matrix that has ``values`` on a pattern (``axis`` 0), or of its transpose (1)."""

    def forward(values, pattern, axis, dense, name):
        return line_sums(values, pattern, axis, dense)

    def d_values(grad, pattern, axis, dense):
        return products_at(grad, conj(dense), pattern, axis)

    def d_dense(grad, values, pattern, axis):
        return product_of(conj(values), pattern, 1 - axis, grad, "MmBackward0")


@record(
    "sparse_products_at(Tensor left, Tensor right, any pattern, int axis) -> Tensor", node="SparseSampledAddmmBackward0"
)
class products_at:
    """``(left @ right.T)`` where a pattern (``axis`` 1: its transpose) has its entries: in the order of its values."""

    def forward(left, right, pattern, axis):
        return line_products(left, right, pattern, axis)

    def d_left(grad, right, pattern, axis):
        return product_of(grad, pattern, axis, conj(right), "MmBackward0")

    def d_right(grad, left, pattern, axis):
        return product_of(grad, pattern, 1 - axis, conj(left), "MmBackward0")


def check_matrices(one, two):
    """Refuse what are no two matrices that fit each other, and dtypes that differ."""
    for name, each in (("mat1", one), ("mat2", two)):
        if each.ndim != 2:
            message = f"{name} must be a matrix, got {each.ndim}-D tensor"
            raise RuntimeError(hinted(message, f"it has the shape {list(each.shape)}"))
    if one.shape[1] != two.shape[0]:
        if one.layout is sparse_coo and not is_sparse(two):
            message = f"addmm: Argument #3 (dense): Expected dim 0 size {one.shape[1]}, got {two.shape[0]}"
        else:
            sizes = f"{one.shape[0]}x{one.shape[1]} and {two.shape[0]}x{two.shape[1]}"
            message = f"mat1 and mat2 shapes cannot be multiplied ({sizes})"
        raise RuntimeError(hinted(message, f"the inner lengths {one.shape[1]} and {two.shape[0]} must be equal"))
    check_dtypes(one, two)


def check_dtypes(one, two):
    """Refuse factors of two dtypes."""
    if one.dtype is not two.dtype:
        message = f"expected scalar type {one.dtype.legacy_name} but found {two.dtype.legacy_name}"
        raise RuntimeError(hinted(message, "convert one of them"))


# What PyTorch's ``mm`` and ``mv`` give: the gradient of the sparse factor is dense.


@record("sparse_mm(Tensor self, Tensor mat2) -> Tensor", node="MmBackward0")
class _by_dense:
    """A sparse matrix times a dense one."""

    def forward(self, mat2):
        return line_sums(self.values, self.pattern, 0, mat2)

    def d_self(grad, mat2):
        return grad.mm(conj(mat2).t())

    def d_mat2(grad, self):
        return product_of(conj(values_of(self, "")), self._array.pattern, 1, grad, "MmBackward0")


@record("sparse_mv(Tensor self, Tensor vec) -> Tensor", node="MvBackward0")
class _by_vector:
    """A sparse matrix times a vector."""

    def forward(self, vec):
        return line_sums(self.values, self.pattern, 0, vec[:, None])[:, 0]

    def d_self(grad, vec):
        return grad.unsqueeze(1) * conj(vec)

    def d_vec(grad, self):
        values = conj(values_of(self, ""))
        return product_of(values, self._array.pattern, 1, grad.unsqueeze(1), "MmBackward0").squeeze(1)


@record("dense_by_sparse(Tensor self, Tensor mat2) -> Tensor", node="MmBackward0")
class _by_sparse:
    """A dense matrix times a sparse one."""

    def forward(self, mat2):
        return np.ascontiguousarray(line_sums(mat2.values, mat2.pattern, 1, self.T).T)

    def d_self(grad, mat2):
        return product_of(conj(values_of(mat2, "")), mat2._array.pattern, 0, grad.t(), "MmBackward0").t()

    def d_mat2(grad, self):
        return conj(self).t().mm(grad)


@takes("mm")
def mm(self, mat2, *others):
    check_matrices(self, mat2)
    if not is_sparse(mat2):
        return _by_dense(self, mat2)
    if not is_sparse(self):
        return _by_sparse(self, mat2)
    return _two_sparse(self, mat2, "MmBackward0")


@takes("mv")
def mv(self, vec):
    if not is_sparse(self) or is_sparse(vec):
        raise not_run("mv", (self, vec))
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(
            hinted(f"vector + matrix @ vector expected, got 1, {self.ndim}, {vec.ndim}", "a matrix and a vector")
        )
    if self.shape[1] != vec.shape[0]:
        message = "mv: expected self.size(-1) == vec.size(-1)"
        raise RuntimeError(
            hinted(message, f"the matrix has {self.shape[1]} columns, the vector {vec.shape[0]} elements")
        )
    check_dtypes(self, vec)
    return _by_vector(self, vec)


@takes("addmm")
def addmm(self, mat1, mat2, beta=1, alpha=1):
    return _added(self, mm(mat1, mat2), beta, alpha)


def _added(bias, product, beta, alpha):
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return functions.add(bias if beta == 1 else bias * beta, product)


@takes("transposed_mm")
def _transposed_mm(self, mat2):
    return mm(functions.t(self), mat2)


@takes("linear_rows")
def _linear(input, weight, bias=None):
    if is_sparse(bias) or (is_sparse(input) and is_sparse(weight)):
        raise not_run("linear", (input, weight, bias))
    found = mm(input, functions.t(weight))
    return found if bias is None else found + bias


@takes("bmm")
def _bmm(self, mat2, *others):
    for each in (self, mat2):
        if is_sparse(each) and each.layout is not sparse_coo:
            raise not_run("bmm.out", [each])
    if is_sparse(mat2):
        raise RuntimeError(hinted("bmm_sparse: Tensor 'mat2' must be dense", "mat2.to_dense()"))
    if self._array.pattern.dense_dim:
        raise not_run("bmm", [self])
    if self.ndim != 3 or mat2.ndim != 3 or self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            hinted(
                f"bmm: batches of {list(self.shape)} and {list(mat2.shape)} cannot be multiplied",
                "inner lengths differ",
            )
        )
    check_dtypes(self, mat2)
    batch, rows, columns = self.shape
    numbers, line, column = self._array.pattern.indices
    # The batch is one matrix with the blocks on its diagonal.
    diagonal = Coordinates(
        (batch * rows, batch * columns), np.stack((numbers * rows + line, numbers * columns + column))
    )
    found = product_of(values_of(self, "BmmBackward0"), diagonal, 0, mat2.reshape(batch * columns, -1), "BmmBackward0")
    return found.reshape(batch, rows, -1)


def sparse_mm(mat1, mat2, reduce=None):
    """The product of two matrices, the first or both sparse; the gradient of a sparse one has its pattern.

    Args:
        mat1: sparse, (n, m); or dense, where ``mat2`` is sparse.
        mat2: dense or sparse, (m, p).
        reduce: how the products of a row are joined where ``mat1`` is CSR and ``mat2`` dense: "sum", "mean", by the number of entries
            of the row, "amax" or "amin", of the entries alone. Rows without entries are 0.

    Returns:
        (n, p): dense, or of the layout of ``mat1`` where both are sparse.

    >>> import rushlight as torch
    >>> adjacency = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.mm(adjacency, torch.ones(2, 2))
    tensor([[2., 2.],
            [3., 3.]])
    """
    if reduce == "prod":
        raise RuntimeError(
            hinted("sparse_mm_reduce: reduce type of prod has not been enabled.", "multiply dense matrices")
        )
    if reduce not in (None, "sum", "mean", "amax", "amin"):
        words = f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        raise RuntimeError(hinted(words, "PyTorch takes prod for none"))
    check_matrices(mat1, mat2)
    if reduce in ("amax", "amin"):
        return _extreme(mat1, mat2, reduce)
    if reduce == "mean":
        counts = np.maximum(np.diff(mat1._array.pattern.lines(0).starts), 1)
        return sparse_mm(mat1, mat2) / wrap(counts).unsqueeze(1).to(mat2.dtype)
    if is_sparse(mat1) and is_sparse(mat2):
        return _two_sparse(mat1, mat2, "SparseSparseMatmulBackward0")
    if is_sparse(mat1):
        return product_of(values_of(mat1, ""), mat1._array.pattern, 0, mat2, "SparseAddmmBackward0")
    if is_sparse(mat2):
        return product_of(values_of(mat2, ""), mat2._array.pattern, 1, mat1.t(), "SparseAddmmBackward0").t()
    return functions.mm(mat1, mat2)


def _extreme(mat1, mat2, reduce):
    """The largest or smallest product of each row of a CSR matrix with each column of a dense one."""
    if mat1.layout is not sparse_csr:
        raise unavailable("_sparse_mm_reduce_impl", BACKENDS[mat1.layout is sparse_coo] if is_sparse(mat1) else "CPU")
    starts = mat1._array.pattern.lines(0).starts
    rows = np.repeat(np.arange(mat1.shape[0]), np.diff(starts))
    products = values_of(mat1, "").unsqueeze(1) * mat2[mat1.col_indices()]
    places = wrap(rows).unsqueeze(1).expand(products.shape)
    zeros = functions.zeros((mat1.shape[0], mat2.shape[1]), dtype=products.dtype)
    return functions.scatter_reduce(zeros, 0, places, products, reduce, include_self=False)


def sparse_addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``, whose gradient has its pattern.

    >>> import rushlight as torch
    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])
    """
    return _added(mat, sparse_mm(mat1, mat2), beta, alpha)


def _two_sparse(one, two, name):
    """The product of two sparse matrices: every entry of the first with all in the row of the second that it meets."""
    if one.layout is not sparse_coo or two.layout is not sparse_coo:
        layout, block = one.layout, one._array.pattern.__dict__.get("block")
        return compressed(_two_sparse(to_sparse(one), to_sparse(two), name), layout, block)
    if one._array.pattern.dense_dim or two._array.pattern.dense_dim:
        raise NotImplementedError(hinted("sparse matmul does not take dense dimensions", "to_sparse() has none"))
    one, two = coalesce(one), coalesce(two)
    mine, theirs = one._array.pattern, two._array.pattern
    starts = theirs.lines(0).starts
    rows, inner = mine.indices
    counts = np.diff(starts)[inner]
    left = np.repeat(np.arange(mine.nnz), counts)
    begins = np.concatenate(([0], np.cumsum(counts)[:-1])) if counts.size else counts
    right = np.arange(left.size) - np.repeat(begins - starts[inner], counts)
    places = Coordinates((mine.shape[0], theirs.shape[1]), np.stack((rows[left], theirs.indices[1][right])))
    merged, groups = places.merged()
    products = values_of(one, name)[wrap(left)] * values_of(two, name)[wrap(right)]
    return with_values(merged, functions.sum_groups(products, groups, merged.nnz), name)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """``beta * input + alpha * (mat1 @ mat2)`` where the CSR matrix ``input`` has entries; of batches as well.

    >>> import rushlight as torch
    >>> mask = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(mask, torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if out is not None:
        raise NotImplementedError(
            hinted("torch.sparse.sampled_addmm(out=...) is not in this version", "use its result")
        )
    if not is_sparse(input) or input.layout is sparse_coo:
        raise RuntimeError(
            hinted(
                f"Expected input to have sparse csr layout, but got {str(input.layout).removeprefix('torch.')}",
                "to_sparse_csr()",
            )
        )
    pattern = input._array.pattern
    _check_sampled(input, mat1, mat2)
    found = _products_of_batch(mat1, mat2, pattern) if pattern.batch else products_at(mat1, mat2.t(), pattern, 0)
    values = (found if alpha == 1 else found * alpha).reshape(pattern.value_shape())
    own = values_of(input, "SparseSampledAddmmBackward0")
    return with_values(pattern, own * beta + values if beta else values, "SparseSampledAddmmBackward0")


def _check_sampled(input, mat1, mat2):
    """Refuse factors whose product has not the shape of ``input``, or that are of two dtypes."""

    def fail(message):
        raise RuntimeError(hinted(f"sampled_addmm: {message}", "(*, m, p), (*, m, n) and (*, n, p)"))

    for names, one, two in (("self and mat1", input, mat1), ("mat1 and mat2", mat1, mat2)):
        batches = list(one.shape[:-2]), list(two.shape[:-2])
        if batches[0] != batches[1]:
            fail(f"Expected {names} to have the same batch size, but got {batches[0]} and {batches[1]}")
    (*_, rows, inner), (*_, other, columns) = mat1.shape, mat2.shape
    if inner != other:
        fail(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{columns})")
    for dim, length, name in ((-2, rows, "mat1"), (-1, columns, "mat2")):
        if input.shape[dim] != length:
            fail(f"self.shape[{dim}] must match {name}.shape[{dim}]")
    check_dtypes(mat1, mat2)


def _products_of_batch(mat1, mat2, pattern):
    """The elements of ``mat1 @ mat2``, batches of matrices, where a pattern has its entries."""
    *batch, rows, columns = [wrap(each) for each in pattern.places()]
    return (mat1[(*batch, rows)] * mat2.mT[(*batch, columns)]).sum(-1)


def hspmm(mat1, mat2, *, out=None):
    """The product of a sparse matrix and a dense one as a COO tensor of rows: those of ``mat1`` that have entries.

    >>> import rushlight as torch
    >>> torch.hspmm(torch.sparse_coo_tensor([[1], [0]], [2.0], (2, 2)), torch.ones(2, 2)).indices()
    tensor([[1]])
    """
    if out is not None:
        raise NotImplementedError(hinted("torch.hspmm(out=...) is not in this version", "use its result"))
    mat1 = coalesce(mat1)
    found = np.unique(mat1._array.pattern.indices[0])
    pattern = Coordinates((mat1.shape[0], mat2.shape[1]), found[None], True)
    return with_values(pattern, mm(mat1, mat2)[wrap(found)], "SparseCooTensorWithDimsAndTensorsBackward0")
