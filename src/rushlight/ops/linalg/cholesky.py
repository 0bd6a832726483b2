"""The Cholesky factorization of positive-definite matrices, and what is solved with it."""

import numpy as np

from ...base.errors import hinted
from ...base.shapes import broadcast_shapes
from ..table import composite, conj, functions, op
from . import lu_arrays
from .checks import (
    LinAlgError,
    check_floating,
    check_kernel,
    check_right_sides,
    check_square,
    first_failure,
    for_lapack,
    herm,
    with_names,
)
from .deprecated import tell_successor


def _column_by_column(matrix):
    """The lower factor as far as it exists, and the order of the first minor that is not positive (0: none)."""
    size = len(matrix)
    lower = np.tril(matrix)
    for k in range(size):
        row = lower[k, :k]
        square = (lower[k, k] - row @ row.conj()).real
        if not square > 0:
            lower[k, k] = square  # as LAPACK leaves it
            return lower, k + 1
        lower[k, k] = np.sqrt(square)
        lower[k + 1 :, k] = (lower[k + 1 :, k] - lower[k + 1 :, :k] @ row.conj()) / lower[k, k]
    return lower, 0


@op("linalg_cholesky_ex(Tensor A, bool upper) -> Tensor[]", names=(), node="LinalgCholeskyExBackward0")
class cholesky_parts:
    """The factor of each matrix, and the order of its first minor that is not positive-definite (0 where all are)."""

    by_columns = (0,)

    def forward(A, upper):
        A, kind = for_lapack(A, "cholesky_cpu")
        source = herm(A) if upper else A
        info = np.zeros(A.shape[:-2], np.int32)
        try:
            lower = np.linalg.cholesky(source)
        except np.linalg.LinAlgError:
            lower = np.empty(A.shape, A.dtype)
            for place in np.ndindex(*A.shape[:-2]):
                lower[place], info[place] = _column_by_column(source[place])
        return (np.ascontiguousarray(herm(lower)) if upper else lower).astype(kind, copy=False), info

    def d_A(grads, upper, result0):
        if grads[0] is None:
            return None
        return cholesky_gradient(grads[0], result0, upper)


def cholesky_gradient(grad, factor, upper):
    """The gradient with respect to the factored matrix (Murray 2016)."""
    lower = conj(factor.mT) if upper else factor
    grad = conj(grad.mT) if upper else grad
    inside = (conj(lower.mT) @ grad).tril()
    inside = inside + conj(inside.tril(-1).mT)
    turned = conj(lower.mT)
    half = functions.linalg_solve_triangular(turned, inside, upper=True)
    return functions.linalg_solve_triangular(lower, half, upper=False, left=False) * 0.5


def _raise_indefinite(info, name):
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(
            hinted(
                f"{name}: {failure[0]}The factorization could not be completed because the input is not "
                f"positive-definite (the leading minor of order {failure[1]} is not positive-definite).",
                "a covariance matrix often becomes so with a little added to its diagonal: A + 1e-6 * torch.eye(n)",
            )
        )


@with_names("linalg_cholesky_ex", "L info", ("linalg:cholesky_ex",))
def linalg_cholesky_ex(A, *, upper=False, check_errors=False):
    """`linalg.cholesky` without complaint: also a tensor of codes, 0 where a matrix is positive-definite."""
    check_square(A, "linalg.cholesky")
    check_floating(A, "linalg.cholesky")
    L, info = functions.cholesky_parts(A, upper)
    if check_errors:
        _raise_indefinite(functions.elements_of(info), "linalg.cholesky_ex")
    return L, info


@composite(names=("linalg:cholesky",), out=True)
def linalg_cholesky(A, *, upper=False):
    """The lower triangular L with ``A = L @ L.mH`` of Hermitian positive-definite matrices (..., n, n); with
    ``upper`` U = L.mH.

    One triangle of A is read, the lower one unless ``upper``.

    >>> import rushlight as torch
    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_square(A, "linalg.cholesky")
    check_floating(A, "linalg.cholesky")
    L, info = functions.cholesky_parts(A, upper)
    _raise_indefinite(functions.elements_of(info), "linalg.cholesky")
    return L


@op("cholesky(Tensor A, bool upper) -> Tensor", names=(), node="CholeskyBackward0")
class cholesky_factor:
    """The factor alone, of an older node name."""

    by_columns = (0,)

    def forward(A, upper):
        if not A.size:  # of any dtype and shape
            return np.empty_like(A)
        factor, info = cholesky_parts.forward(A, upper)
        _raise_indefinite(info, "cholesky")
        return factor

    def d_A(grad, upper, result):
        return cholesky_gradient(grad, result, upper)


@composite(names=("torch", "Tensor"), out=True)
def cholesky(input, upper=False):
    """The older name of `linalg.cholesky`; reads the lower triangle, or with ``upper`` the upper one."""
    tell_successor("cholesky")
    if input.numel():
        check_square(input, "cholesky")
    return functions.cholesky_factor(input, upper)


@op("cholesky_solve(Tensor self, Tensor A, bool upper) -> Tensor", names=(), node="CholeskySolveBackward0")
class cholesky_solution:
    """X with ``(A A^H) X = self``, of a lower factor A (``A^H A`` of an upper one)."""

    keeps = ("self",)
    by_columns = (0,)

    def forward(self, A, upper):
        check_kernel(self, "cholesky_solve_cpu")
        first, last = (herm(A), A) if upper else (A, herm(A))
        half = lu_arrays.solve_triangular(first, self, False, False)
        return lu_arrays.solve_triangular(last, half, True, False)

    def gradients(grad, A, upper, result, needs):
        g_self = functions.cholesky_solution(grad, A, upper)
        if not needs[1]:
            return g_self, None
        common = g_self @ conj(result.mT)
        common = common + conj(common.mT)
        return g_self, -(A @ common) if upper else -(common @ A)


@composite(out=True)
def cholesky_solve(input, input2, upper=False):
    """X with ``(L @ L.mH) @ X = input``, of a Cholesky factor L, ``input2`` (..., n, n), and input (..., n, k); batches
    broadcast."""
    for value, name in ((input, "b"), (input2, "u")):
        if value.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {value.ndim} dimensions instead")
    check_right_sides(input, input2, "cholesky_solve")
    broadcast_shapes(tuple(input.shape[:-2]), tuple(input2.shape[:-2]))
    return functions.cholesky_solution(input, input2, upper)


@op("cholesky_inverse(Tensor self, bool upper) -> Tensor", names=(), node="CholeskyInverseBackward0")
class cholesky_inverse_of:
    """The inverse of ``L L^H`` (``U^H U``) from its factor."""

    by_columns = (0,)

    def forward(self, upper):
        check_kernel(self, "cholesky_inverse_out_cpu")
        lower = herm(np.triu(self)) if upper else np.tril(self)
        size = self.shape[-1]
        zeros = lower[..., np.arange(size), np.arange(size)] == 0
        if zeros.any():
            info = np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0)
            failure = first_failure(info)
            raise LinAlgError(
                f"cholesky_inverse: {failure[0]}The diagonal element {failure[1]} is zero, the inversion could not be "
                "completed because the input matrix is singular."
            )
        inverse = lu_arrays.solve_triangular(lower, np.eye(size, dtype=self.dtype), False, False)
        return herm(inverse) @ inverse

    def d_self(grad, self, upper, result):
        common = result @ (grad + conj(grad.mT)) @ result
        return -(self @ common) if upper else -(common @ self)


@composite(out=True)
def cholesky_inverse(input, upper=False):
    """The inverse of the matrix whose Cholesky factor is given."""
    check_square(input, "cholesky_inverse")
    return functions.cholesky_inverse_of(input, upper)
