"""Sparse gradients: which parameters have them, the errors of optimizers that do not take them, rows that they name."""

from __future__ import annotations

from typing import Any

from ..base.device import strided
from ..base.errors import hinted
from ..base.sparse_array import SPARSE
from ..ops.table import functions
from ..tensor import Tensor


def is_sparse(tensor: Tensor | None) -> bool:
    """Whether a gradient is there, and sparse."""
    return bool(SPARSE) and tensor is not None and tensor.layout is not strided


def holds_sparse(group: dict[str, Any]) -> bool:
    """Whether a parameter of a group has a sparse gradient."""
    return bool(SPARSE) and any(is_sparse(param._grad) for param in group["params"])


def refusal(optimizer: Any) -> RuntimeError:
    """PyTorch's error of an optimizer that takes dense gradients alone."""
    name, advice = type(optimizer).__name__, ""
    if name in ("Adam", "AdamW"):
        name, advice = "Adam", ", please consider SparseAdam instead"
    return RuntimeError(
        hinted(
            f"{name} does not support sparse gradients{advice}",
            "SparseAdam, SGD and Adagrad do; nn.Embedding(sparse=False) gives dense ones",
        )
    )


def at(tensor: Tensor, grad: Tensor) -> Tensor:
    """The elements of a dense tensor at the places of a coalesced gradient."""
    return tensor.sparse_mask(grad).values()


def sparse_like(grad: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor with other values at the places of a coalesced gradient."""
    return functions.sparse_with_values(grad._array.pattern, values, "")
