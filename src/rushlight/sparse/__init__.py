"""Sparse tensors: COO and compressed layouts over dense values, their operations and derivatives; ``torch.sparse``.

>>> import rushlight as torch
>>> adjacency = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 1.0], (2, 2))
>>> adjacency @ torch.tensor([[1.0], [2.0]])
tensor([[2.],
        [1.]])
"""

from __future__ import annotations

from ..tensor.refusals import guard
from . import calls, conversion, creation, elementwise, methods, products, reductions, shapes, tensors, writes
from .checking import as_sparse_gradcheck
from .creation import (
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from .cuda_only import (
    SparseSemiStructuredTensor,
    SparseSemiStructuredTensorCUSPARSELT,
    SparseSemiStructuredTensorCUTLASS,
    spsolve,
    to_sparse_semi_structured,
)
from .diagonals import spdiags
from .invariants import check_sparse_tensor_invariants
from .legacy import LEGACY
from .methods import (
    ccol_indices_copy,
    col_indices_copy,
    crow_indices_copy,
    indices_copy,
    row_indices_copy,
    smm,
    sspaddmm,
    values_copy,
)
from .products import hspmm, sampled_addmm, sparse_addmm as addmm, sparse_mm as mm
from .reductions import log_softmax, softmax, sparse_sum as sum

guard(
    globals(), "torch", "ccol_indices_copy", "col_indices_copy", "crow_indices_copy", "hspmm", "indices_copy", "row_indices_copy",
    "smm", "sspaddmm", "values_copy",
)  # fmt: skip
guard(globals(), "sparse", "addmm", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags")
spmm = dsmm = mm
globals().update(LEGACY)

__all__ = [
    "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT", "SparseSemiStructuredTensorCUTLASS", "addmm",
    "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax", "spdiags", "spsolve", "sum",
    "to_sparse_semi_structured", *LEGACY,
]  # fmt: skip
