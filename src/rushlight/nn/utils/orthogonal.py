"""orthogonal: a parameter kept orthogonal (unitary), by one of three maps from free matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...autograd import no_grad
from ...base.dtypes import finfo
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from ...tensor.names import function_at
from ..modules.module import Module
from . import parametrize

if TYPE_CHECKING:
    from ...nn.modules.module import ModuleT


def _householder_product(reflectors, scales):
    return function_at("linalg", "householder_product")(reflectors, scales)


def _exponential(skew):
    return functions.matrix_exp(skew)


def _cayley(skew):
    identity = functions.eye(skew.size(-1), dtype=skew.dtype, device=skew.device)
    return function_at("linalg", "solve")(identity - skew / 2, identity + skew / 2)


# By name: how a skew-symmetric matrix becomes an orthogonal one; the householder map has no such matrix.
_MAPS = {"matrix_exp": _exponential, "cayley": _cayley, "householder": None}


def _tall(matrix):
    """The matrix, or its transpose, with at least as many rows as columns; and whether it was transposed."""
    return (matrix.mT, True) if matrix.size(-2) < matrix.size(-1) else (matrix, False)


def _is_orthogonal(matrix):
    rows, columns = matrix.shape[-2:]
    identity = functions.eye(columns, dtype=matrix.dtype, device=matrix.device)
    return functions.allclose(matrix.mH @ matrix, identity, atol=10 * rows * finfo(matrix.dtype).eps)


def _orthogonal_factor(matrix):
    """Q of the QR decomposition whose R has a diagonal that is not negative."""
    reflectors, scales = functions.geqrf(matrix)
    return _householder_product(reflectors, scales) * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """An orthogonal matrix of a free one; ``base``, where there is one, is multiplied to it from the left."""

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        free, transposed = _tall(X)
        if self.orthogonal_map == "householder":
            reflectors = free.tril(-1)
            scales = 2 / (1 + (reflectors * reflectors).sum(-2))
            # The signs that right_inverse has put on the diagonal.
            result = _householder_product(reflectors, scales) * free.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            result = self._by_skew_matrix(free)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if transposed else result

    def _by_skew_matrix(self, free):
        rows, columns = free.shape[-2:]
        lower = free.tril()
        if rows != columns:
            lower = functions.cat([lower, lower.new_zeros(*lower.shape[:-1], rows - columns)], dim=-1)
        result = _MAPS[self.orthogonal_map](lower - lower.mH)
        return result if rows == columns else result[..., :columns]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                hinted(
                    f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.",
                    "what is assigned to a parametrized weight has the weight's shape",
                )
            )
        tall, transposed = _tall(Q)
        if hasattr(self, "base"):
            self.base = self._base_for(tall)
            negative = functions.zeros_like(Q)
            negative.diagonal(dim1=-2, dim2=-1).fill_(-1)
            return negative
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                hinted(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False.",
                    "orthogonal(..., use_trivialization=True), which is the default, takes assignments",
                )
            )
        reflectors, scales = functions.geqrf(tall)
        diagonal = reflectors.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[scales == 0] *= -1
        return reflectors.mT if transposed else reflectors

    def _base_for(self, tall):
        """A square orthogonal matrix whose first columns are those of ``tall``, made orthogonal where they are not."""
        rows, columns = tall.shape[-2:]
        if rows == columns:
            return tall.clone() if _is_orthogonal(tall) else _orthogonal_factor(tall)
        filling = functions.randn(*tall.shape[:-1], rows - columns, dtype=tall.dtype, device=tall.device)
        return _orthogonal_factor(functions.cat([tall, filling], dim=-1))


def orthogonal(
    module: ModuleT, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> ModuleT:
    """Keep the parameter ``name`` of ``module`` orthogonal, or unitary where it is complex; return the module.

    The columns are orthonormal where there are at least as many rows, else the rows are. More dimensions are batches of matrices.

    Args:
        orthogonal_map (str): "matrix_exp" or "cayley", maps of a skew-symmetric matrix, or "householder", a product of
            reflections. Default: "matrix_exp" for square and for complex matrices, else "householder"
        use_trivialization (bool): keep a matrix beside, from which training moves away: so the weight can be assigned, and
            starts as what it is made orthogonal. Default: True

    Lezcano-Casado 2019; follows ``torch.nn.utils.parametrizations.orthogonal``.

    >>> import rushlight as torch
    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(20, 40))
    >>> bool(torch.dist(layer.weight.T @ layer.weight, torch.eye(20)) < 1e-4)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            hinted(f"Module '{module}' has no parameter or buffer with name '{name}'", "name a tensor of the module")
        )
    if weight.ndim < 2:
        raise ValueError(
            hinted(
                f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.",
                "a vector cannot be made orthogonal",
            )
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        names = '"matrix_exp", "cayley", "householder"'
        raise ValueError(
            hinted(f"orthogonal_map has to be one of {names}. Got: {orthogonal_map}", "choose one of them")
        )
    if orthogonal_map == "householder" and weight.is_complex():
        raise ValueError(
            hinted("The householder parametrization does not support complex tensors.", 'use "matrix_exp" or "cayley"')
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module
