"""What PyTorch has for CUDA alone: here as in its build for CPUs, it can be imported and refuses."""

from __future__ import annotations

from typing import Any

from ..base.errors import hinted
from ..tensor import Tensor
from .calls import BACKENDS, is_sparse, unavailable

_LINE = "Error original_tensor.device= cpu is not supported! Only CUDA tensors are currently supported."
_HINT = "to_sparse_csr() makes a sparse tensor"


class SparseSemiStructuredTensor(Tensor):
    """Matrices with two zeros in four, for GPUs: there are none here, as there are none of use in PyTorch's build for CPUs."""

    BACKEND: str

    def __new__(cls, shape: Any, packed: Any, meta: Any, packed_t: Any, meta_t: Any, compressed_swizzled_bitmask: Any,
                fuse_transpose_cusparselt: bool = False, alg_id_cusparselt: int = 0, requires_grad: bool = False) -> Any:  # fmt: skip
        if packed is None and packed_t is None:
            raise ValueError(hinted("At least one of packed or packed_t must be provided", _HINT))
        raise NotImplementedError(hinted("semi-structured sparse tensors are for GPUs", _HINT))

    @classmethod
    def from_dense(cls, original_tensor: Any) -> Any:
        """Refused, as in PyTorch without CUDA."""
        raise RuntimeError(hinted(_LINE, _HINT))


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """`SparseSemiStructuredTensor` for CUTLASS."""

    BACKEND = "cutlass"

    @classmethod
    def prune_dense_static_sort(cls, original_tensor: Any, algorithm: str = "") -> Any:
        """Refused, as in PyTorch without CUDA."""
        raise unavailable("_sparse_semi_structured_tile", "CPU")


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """`SparseSemiStructuredTensor` for cuSPARSELt."""

    BACKEND = "cusparselt"
    prune_dense_static_sort = SparseSemiStructuredTensorCUTLASS.__dict__["prune_dense_static_sort"]


def spsolve(input: Any, other: Any, *, left: bool = True) -> Any:
    """Refused: linear systems with sparse matrices are solved on GPUs alone, in PyTorch, too."""
    raise unavailable("_spsolve", BACKENDS[False] if is_sparse(input) else "CPU")


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    """Refused: matrices with two zeros in four are for GPUs."""
    raise RuntimeError(hinted(_LINE, _HINT))
