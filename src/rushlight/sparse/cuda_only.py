"""What PyTorch has for CUDA alone: here as in its build for CPUs, it can be imported and refuses."""

from __future__ import annotations

from typing import Any

from ..base.absent import AbsentNames
from ..base.errors import hinted
from .calls import BACKENDS, is_sparse, unavailable

_ABSENT = AbsentNames(
    "rushlight.sparse",
    {"": "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS"},
    "it is for GPUs; to_sparse_csr() makes a sparse tensor",
).of("")
SparseSemiStructuredTensor = _ABSENT("SparseSemiStructuredTensor")
SparseSemiStructuredTensorCUSPARSELT = _ABSENT("SparseSemiStructuredTensorCUSPARSELT")
SparseSemiStructuredTensorCUTLASS = _ABSENT("SparseSemiStructuredTensorCUTLASS")


def spsolve(input: Any, other: Any, *, left: bool = True) -> Any:
    """Refused: linear systems with sparse matrices are solved on GPUs alone, in PyTorch, too."""
    raise unavailable("_spsolve", BACKENDS[False] if is_sparse(input) else "CPU")


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    """Refused: matrices with two zeros in four are for GPUs."""
    message = "Error original_tensor.device= cpu is not supported! Only CUDA tensors are currently supported."
    raise RuntimeError(hinted(message, "to_sparse_csr() makes a sparse tensor"))
