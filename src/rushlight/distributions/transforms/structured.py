"""Transforms of vectors and matrices: reshaping, simplexes, Cholesky factors, positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

from ...base.dtypes import finfo
from ...base.errors import hinted
from ...base.size import Size
from ...nn.functional import logsigmoid, pad, softplus
from ...ops.table import functions
from ...tensor import Tensor
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .base import Transform, check_dimensions
from .elementwise import _inside

__all__ = [
    "CorrCholeskyTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "ReshapeTransform",
    "SoftmaxTransform",
    "StickBreakingTransform",
]


class ReshapeTransform(Transform):
    """Events of ``in_shape`` as events of ``out_shape``; ValueError unless they have as many elements.

    Follows ``torch.distributions.ReshapeTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError(
                hinted(
                    "in_shape, out_shape have different numbers of elements",
                    f"they have {self.in_shape.numel()} and {self.out_shape.numel()}",
                )
            )
        super().__init__(cache_size=cache_size)

    def _copy(self, cache_size):
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape, old, new):
    """A shape that ends in ``old``, ending in ``new``."""
    check_dimensions(len(shape), len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(
            hinted(f"Shape mismatch: expected {shape[cut:]} but got {old}", f"an event here has the shape {old}")
        )
    return shape[:cut] + new


class SoftmaxTransform(Transform):
    """``y = softmax(x)``, and ``log(y)`` for the way back, which is not the only one. Follows ``torch.distributions.SoftmaxTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.SoftmaxTransform()(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        check_dimensions(len(shape), 1)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        check_dimensions(len(shape), 1)
        return shape


class StickBreakingTransform(Transform):
    """Vectors to probability vectors with one more element: each number says which share of what is left is broken off.

    Follows ``torch.distributions.StickBreakingTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.StickBreakingTransform()(torch.zeros(3))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    def _left(self, x):
        """The number of pieces that are left to be made after each of a vector like ``x``: n, n - 1, ..., 1."""
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def _call(self, x: Tensor) -> Tensor:
        share = _inside((x - self._left(x).log()).sigmoid())
        rest = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        rest = (1 - broken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return broken.log() - rest.log() + self._left(broken).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._left(x).log()
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        check_dimensions(len(shape), 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        check_dimensions(len(shape), 1)
        return shape[:-1] + (shape[-1] - 1,)


class CorrCholeskyTransform(Transform):
    """Vectors of n (n - 1) / 2 numbers to Cholesky factors of correlation matrices, n by n.

    Each row of the factor is a point on a sphere, found from its numbers as in stick breaking. After Lewandowski, Kurowicka
    and Joe (2009) and Stan's reference manual. Follows ``torch.distributions.CorrCholeskyTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.CorrCholeskyTransform()(torch.tensor([0.5, 0.0, 0.0]))
    tensor([[1.0000, 0.0000, 0.0000],
            [0.4621, 0.8868, 0.0000],
            [0.0000, 0.0000, 1.0000]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = x.tanh()
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - partial**2).sqrt().cumprod(-1)
        partial = partial + functions.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(rest, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        rest = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        tanh = -2 * (x + softplus(-2 * x) - math.log(2)).sum(dim=-1)
        return 0.5 * rest.log().sum(-1) + tanh

    def forward_shape(self, shape: Any) -> Any:
        check_dimensions(len(shape), 1)
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError(
                hinted("Input is not a flattened lower-diagonal number", "there are 1, 3, 6, 10, ... below a diagonal")
            )
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape: Any) -> Any:
        check_dimensions(len(shape), 2)
        if shape[-2] != shape[-1]:
            raise ValueError(hinted("Input is not square", f"its last two sizes are {shape[-2]} and {shape[-1]}"))
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones with positive diagonals, by ``exp`` of the diagonal.

    Follows ``torch.distributions.LowerCholeskyTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones: the products of `LowerCholeskyTransform`'s factors.

    Follows ``torch.distributions.PositiveDefiniteTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0.0, 0.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(functions.linalg_cholesky(y))
