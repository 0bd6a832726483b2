"""LU factorization with row exchanges, and systems solved with it."""

import numpy as np

from ...base import dtypes
from ...base.errors import hinted
from ...base.shapes import broadcast_shapes
from ..table import columns, composite, conj, functions, op, rows
from . import lu_arrays
from .checks import (
    array_of,
    check_floating,
    check_kernel,
    check_matrix,
    check_same_dtype,
    check_square,
    first_failure,
    for_lapack,
    herm,
    with_names,
)
from .deprecated import tell_successor
from .solve import _check_fit


def _check(A, name):
    if A.ndim < 2:
        raise RuntimeError(
            hinted(
                f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead", "pass a matrix"
            )
        )
    for_lapack(array_of(A), "lu_cpu")


@op("linalg_lu_factor_ex(Tensor A) -> Tensor[]", names=(), node="LinalgLuFactorExBackward0")
class lu_packed:
    """L and U in one matrix, the row exchanges, and the number of the first zero pivot (0: none)."""

    by_columns = (0,)

    def forward(A):
        wide, kind = for_lapack(A, "lu_cpu")
        packed, pivots, info = lu_arrays.factor(wide)
        return packed.astype(kind, copy=False), pivots, info

    def d_A(grads, result0, result1):
        if grads[0] is None:
            return None
        P, L, U = functions.lu_unpack(result0, result1)
        size = min(result0.shape[-2:])
        return lu_gradient(grads[0][..., :size], grads[0][..., :size, :], P, L, U)


def lu_gradient(g_L, g_U, P, L, U):
    """The gradient of ``A = P L U``: of L only the part below the diagonal counts, of U the part on and above it."""
    m, n = L.shape[-2], U.shape[-1]
    k = min(m, n)
    square_L, square_U = L[..., :k, :], U[..., :k]
    L_turned, U_turned = conj(square_L.mT), conj(square_U.mT)
    zeros = functions.zeros((*L.shape[:-2], k, k), dtype=L.dtype, device=L.device)
    first = zeros if g_L is None else L_turned @ g_L[..., :k, :].tril(-1)
    second = zeros if g_U is None else g_U[..., :k].triu() @ U_turned
    solve = functions.linalg_solve_triangular
    if m > n:  # A = [L1; L2] U: L2 = A2 U^-1
        lower = zeros[..., :0, :] if g_L is None else g_L[..., k:, :]
        if g_L is not None:
            second = second - conj(L[..., k:, :].mT) @ lower
        top = solve(L_turned, first.tril(-1) + second.triu(), upper=True, unitriangular=True)
        found = (
            functions.cat([top, lower], -2)
            if g_L is not None
            else functions.cat([top, functions.zeros((*L.shape[:-2], m - k, k), dtype=L.dtype, device=L.device)], -2)
        )
        return P @ solve(U_turned, found, upper=False, left=False)
    if m < n and g_U is not None:  # A = L [U1 U2]: U2 = L^-1 A2
        right = g_U[..., k:]
        first = first - right @ conj(U[..., k:].mT)
    inside = solve(U_turned, first.tril(-1) + second.triu(), upper=False, left=False)
    if m < n:
        rest = (
            functions.zeros((*L.shape[:-2], m, n - k), dtype=L.dtype, device=L.device) if g_U is None else g_U[..., k:]
        )
        inside = functions.cat([inside, rest], -1)
    return P @ solve(L_turned, inside, upper=True, unitriangular=True)


def _factored(A, pivot, name):
    _check(A, "torch.lu_factor")
    if not pivot:
        raise RuntimeError(hinted(f"{name}: LU without pivoting is not implemented on the CPU", "leave pivot=True"))
    return functions.lu_packed(A)


def _raise_singular(info, name):
    failure = first_failure(info)
    if failure is not None:
        raise RuntimeError(
            hinted(
                f"{name}: {failure[0]}U[{failure[1]},{failure[1]}] is zero and using it on lu_solve would result in a "
                "division by zero. If you "
                "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                "linalg.lu_factor_ex(A, pivot)",
                "the matrix is singular",
            )
        )


@with_names("linalg_lu_factor", "LU pivots", ("linalg:lu_factor",))
def linalg_lu_factor(A, *, pivot=True):
    """L and U packed in one matrix (..., m, n), and the row exchanges (counted from 1) for `linalg.lu_solve`."""
    LU, pivots, info = _factored(A, pivot, "linalg.lu_factor")
    _raise_singular(functions.elements_of(info), "torch.linalg.lu_factor")
    return LU, pivots


@with_names("linalg_lu_factor_ex", "LU pivots info", ("linalg:lu_factor_ex",))
def linalg_lu_factor_ex(A, *, pivot=True, check_errors=False):
    """`linalg.lu_factor` without complaint about zero pivots: also their numbers, 0 where there is none."""
    LU, pivots, info = _factored(A, pivot, "linalg.lu_factor")
    if check_errors:
        _raise_singular(functions.elements_of(info), "torch.linalg.lu_factor_ex")
    return LU, pivots, info


@composite(names=("torch", "Tensor"))
def lu(input, pivot=True, get_infos=False):
    """Deprecated in PyTorch: `linalg.lu_factor_ex` as a tuple (LU, pivots), with the codes too if ``get_infos``."""
    tell_successor("lu")
    LU, pivots, info = _factored(input, pivot, "linalg.lu_factor")
    return (LU, pivots, info) if get_infos else (LU, pivots)


@op("linalg_lu(Tensor A) -> Tensor[]", names=(), node="LinalgLuBackward0")
class lu_triple:
    """The factors L and U, and the permutation P as indices."""

    def forward(A):
        packed, pivots, _ = lu_arrays.factor(A)
        L, U = _split(packed)
        return L, U, pivots

    def d_A(grads, result0, result1, result2):
        if grads[0] is None and grads[1] is None:
            return None
        P = functions.permutation_of(result2, result0.shape[-2], result0.dtype)
        return lu_gradient(grads[0], grads[1], P, result0, result1)


def _split(packed):
    k = min(packed.shape[-2:])
    L = np.tril(packed[..., :k], -1)
    L[..., np.arange(k), np.arange(k)] = 1
    return L, np.triu(packed[..., :k, :])


@op("permutation_of(Tensor pivots, int rows, dtype dtype) -> Tensor", names=())
class permutation_of:
    """The matrix P of row exchanges."""

    untracked = True

    def forward(pivots, rows, dtype):
        if pivots.size and not 1 <= pivots.min() <= pivots.max() <= rows:
            message = "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"
            raise RuntimeError(hinted(message, f"they count the {rows} rows from 1"))
        return lu_arrays.permutation_matrix(pivots, rows, dtype.numpy)


@with_names("linalg_lu", "P L U", ("linalg:lu",))
def linalg_lu(A, *, pivot=True):
    """``A = P @ L @ U``: a permutation, a lower triangle with ones on its diagonal, an upper triangle."""
    _check(A, "linalg.lu")
    if not pivot:
        raise RuntimeError(hinted("linalg.lu: LU without pivoting is not implemented on the CPU", "leave pivot=True"))
    L, U, pivots = functions.lu_triple(A)
    return functions.permutation_of(pivots, A.shape[-2], A.dtype), L, U


@op("lu_unpack(Tensor LU_data) -> Tensor[]", names=(), node="LuUnpackBackward0")
class lu_halves:
    """The packed matrix as L and U."""

    by_rows = True

    def forward(LU_data):
        return _split(LU_data)

    def d_LU_data(grads, shape):
        m, n = shape[-2:]
        k = min(m, n)
        g_L, g_U = grads
        found = (g_U if g_L is None else g_L).new_zeros(shape)
        if g_L is not None:
            lower = g_L.tril(-1)
            found = found + (lower if n == k else functions.cat([lower, found[..., k:]], -1))
        if g_U is not None:
            upper = g_U.triu()
            found = found + (upper if m == k else functions.cat([upper, functions.zeros_like(found[..., k:, :])], -2))
        return found


@with_names("lu_unpack", "P L U", ("torch",))
def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U from what `linalg.lu_factor` gives; parts that are not asked for are empty."""
    if unpack_pivots and LU_pivots.dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    empty = functions.zeros(0, dtype=LU_data.dtype, device=LU_data.device)
    P = functions.permutation_of(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else empty
    L, U = functions.lu_halves(LU_data) if unpack_data else (empty, empty.clone())
    return P, L, U


def _check_pivots(pivots, size):
    """Refuse exchanges with rows that are not there."""
    few = (pivots < 1).any()
    if few or (pivots > size).any():
        bound = "greater or equal to 1" if few else "smaller or equal to LU.size(-2)"
        raise RuntimeError(
            hinted(
                f"Pivots given to lu_solve must all be {bound}. Did you properly pass the result of lu_factor?",
                f"they count the {size} rows from 1",
            )
        )


@op(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool left, bool adjoint) -> Tensor",
    names=(),
    node="LinalgLuSolveBackward0",
)
class lu_solution:
    """X with A X = B (X A = B; A^H for A) of a factored A."""

    unshown = ("pivots",)

    def forward(LU, pivots, B, left, adjoint):
        if not B.size:  # also in dtypes that have no kernel
            return columns(B)
        _check_pivots(pivots, LU.shape[-1])
        if left:
            return columns(_solution(LU, pivots, B, adjoint))
        return rows(herm(_solution(LU, pivots, herm(B), not adjoint)))

    def gradients(grad, LU, pivots, left, adjoint, result, needs):
        g_B = functions.lu_solution(LU, pivots, grad, left, not adjoint)
        if not needs[0]:
            return None, None, g_B
        P, L, U = functions.lu_unpack(LU, pivots)
        # the gradient of A, then from A = P L U those of its factors
        g_A = -(g_B @ conj(result.mT)) if left else -(conj(result.mT) @ g_B)
        g_A = conj(g_A.mT) if adjoint else g_A
        inside = conj(P.mT) @ g_A
        return (inside @ conj(U.mT)).tril(-1) + (conj(L.mT) @ inside).triu(), None, g_B


def _solution(LU, pivots, B, adjoint):
    """X with A X = B, or A^H X = B."""
    order = lu_arrays.permutation(pivots, LU.shape[-1])[..., None]
    if not adjoint:
        B = np.take_along_axis(B, np.broadcast_to(order, (*B.shape[:-1], 1)), -2)
        half = lu_arrays.solve_triangular(LU, B, False, True)
        return lu_arrays.solve_triangular(LU, half, True, False)
    turned = herm(LU)
    half = lu_arrays.solve_triangular(turned, B, False, False)
    found = lu_arrays.solve_triangular(turned, half, True, True)
    return np.take_along_axis(found, np.broadcast_to(np.argsort(order, -2), (*found.shape[:-1], 1)), -2)


@composite(names=("linalg:lu_solve",), out=True)
def linalg_lu_solve(LU, pivots, B, *, left=True, adjoint=False):
    """X with ``A @ X = B``, of the matrix A that `linalg.lu_factor` factored; ``adjoint`` solves with A^H."""
    name = "torch.linalg.lu_solve"
    check_floating(LU, name)
    check_same_dtype(LU, B, "linalg.lu_solve", "LU")
    if pivots.dtype is not dtypes.int32:
        message = "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32"
        raise RuntimeError(hinted(message, f"they have {pivots.dtype!r}: lu_factor() gives them"))
    check_square(LU, name, "A")
    check_matrix(B, "linalg.lu_solve", "B")
    _check_fit(tuple(LU.shape), tuple(B.shape), left, "linalg.lu_solve")
    if LU.shape[-1] != pivots.size(-1):
        message = "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix"
        raise RuntimeError(hinted(message, f"LU has the shape {list(LU.shape)}, pivots {list(pivots.shape)}"))
    if tuple(LU.shape[:-1]) != tuple(pivots.shape):
        message = (
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
        raise RuntimeError(hinted(message, f"LU has the shape {list(LU.shape)}"))
    batch = broadcast_shapes(tuple(B.shape[:-2]), tuple(LU.shape[:-2]))
    LU, B = (x if tuple(x.shape[:-2]) == batch else x.expand((*batch, *x.shape[-2:])) for x in (LU, B))
    pivots = pivots.expand((*batch, pivots.shape[-1]))
    if LU.numel() and B.numel():
        check_kernel(LU, "linalg.lu_solve_cpu")
    return functions.lu_solution(LU, pivots, B, left, adjoint)


@composite(names=("torch", "Tensor"), out=True)
def lu_solve(input, LU_data, LU_pivots):
    """Deprecated in PyTorch: `linalg.lu_solve` with the right-hand side first."""
    tell_successor("lu_solve")
    return linalg_lu_solve(LU_data, LU_pivots, input)
