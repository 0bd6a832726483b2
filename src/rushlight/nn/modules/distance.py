"""Distances between vectors: PairwiseDistance, CosineSimilarity."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    r"""The p-norm of ``x1 - x2 + eps`` over the last dimension: (N, D) and (N, D) to (N,).

    Args:
        p (float): the order of the norm. Default: 2
        eps (float): keeps the gradient finite where both are equal. Default: 1e-6
        keepdim (bool): keep the last dimension, with length 1. Default: ``False``

    Follows ``torch.nn.PairwiseDistance``.

    >>> import rushlight as torch
    >>> torch.nn.PairwiseDistance()(torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    r"""The cosine of the angle between ``x1`` and ``x2`` along ``dim``: ``x1 . x2 / max(|x1| |x2|, eps)``.

    Follows ``torch.nn.CosineSimilarity``.

    >>> import rushlight as torch
    >>> torch.nn.CosineSimilarity(dim=0)(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 0.0]))
    tensor(1.)
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
