"""Methods that tensors have for the sake of sparse and nested ones: their rooms are imported when somebody first asks for one."""

from __future__ import annotations

from importlib import import_module

from .names import Pending, expect, give
from .refusals import guarded

METHODS = {  # by their modules
    "sparse.conversion": (
        "coalesce", "sparse_mask", "to_dense", "to_sparse", "to_sparse_bsc", "to_sparse_bsr", "to_sparse_csc", "to_sparse_csr",
    ),
    "sparse.methods": (
        "_coalesced_", "_indices", "_nnz", "_values", "ccol_indices", "col_indices", "crow_indices", "indices", "is_coalesced",
        "row_indices", "smm", "sspaddmm", "to_sparse_coo", "values",
    ),
    "sparse.writes": ("sparse_resize_", "sparse_resize_and_clear_"),
    "nested.methods": ("to_padded_tensor",),
}  # fmt: skip


def _bind(pending):
    module, name = pending.entry
    room, _, part = module.partition(".")
    function = getattr(getattr(import_module(f"rushlight.{room}"), part), name)
    give("Tensor", name, pending, guarded(function, "Tensor", name))


for _module, _names in METHODS.items():
    for _name in _names:
        expect("Tensor", _name, Pending(_bind, (_module, _name)))
