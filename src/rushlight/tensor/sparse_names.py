"""Methods that tensors have for the sake of sparse ones: their room is imported when somebody first asks for one."""

from __future__ import annotations

from importlib import import_module

from .names import Pending, expect, give

METHODS = (
    "_coalesced_", "_indices", "_nnz", "_values", "ccol_indices", "coalesce", "col_indices", "crow_indices", "indices", "is_coalesced",
    "row_indices", "smm", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "sspaddmm", "to_dense", "to_sparse",
    "to_sparse_bsc", "to_sparse_bsr", "to_sparse_coo", "to_sparse_csc", "to_sparse_csr", "values",
)  # fmt: skip


def _bind(pending):
    name = pending.entry
    give("Tensor", name, pending, getattr(import_module("rushlight.sparse").methods, name))


for _name in METHODS:
    expect("Tensor", _name, Pending(_bind, _name))
