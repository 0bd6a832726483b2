"""Linear systems: square, triangular, in least squares, and of tensors."""

import math

import numpy as np

from ...base.errors import hinted
from ...base.shapes import broadcast_shapes
from ..table import columns, composite, conj, functions, op
from . import lu_arrays
from .checks import (
    LinAlgError,
    check_floating,
    check_kernel,
    check_matrix,
    check_right_sides,
    check_same_dtype,
    check_square,
    first_failure,
    for_lapack,
    legacy_name,
    raise_no_inverse,
    solve_arrays,
    with_names,
)
from .deprecated import tell_successor


def _check_fit(a_shape, b_shape, left, name):
    """Refuse right-hand sides with the wrong number of rows (columns where ``left`` is False)."""
    if a_shape[-1] != b_shape[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            hinted(
                f"{name}: Incompatible shapes of A and B for the equation {equation} ({a_shape[-2]}x{a_shape[-1]} and "
                f"{b_shape[-2]}x{b_shape[-1]})",
                f"the shapes are {list(a_shape)} and {list(b_shape)}",
            )
        )


# ---------------------------------------------------------------- square systems


@op("linalg_solve_ex(Tensor A, Tensor B, bool vector=False) -> Tensor[]", names=(), node="LinalgSolveExBackward0")
class solve_parts:
    """X with A X = B for batches of matrices that have the same batch shape; and error codes.

    X lies column by column. Where it is a ``vector``, as a matrix of one column, the vectors of a batch do so, as in PyTorch.
    """

    def forward(A, B, vector):
        A, kind = for_lapack(A, "lu_cpu")
        info = np.zeros(A.shape[:-2], np.int32)
        if not A.size:
            return np.empty((*A.shape[:-2], *B.shape[-2:]), kind), info
        try:
            found = np.linalg.solve(A, B)
        except np.linalg.LinAlgError:
            code = lu_arrays.factor(A)[2]
            found, info = solve_arrays(A, B), np.where(code == 0, 0, code).astype(np.int32)
        return columns(found[..., 0])[..., None] if vector else columns(found), info

    def gradients(grads, A, result0, needs):
        if grads[0] is None:
            return None, None
        g_B = functions.solve_parts(conj(A.mT), grads[0])[0]
        return -(g_B @ conj(result0.mT)) if needs[0] else None, g_B


def _info_of(A, info, batch):
    """The codes of matrices that were broadcast to ``batch``, one for each of them alone."""
    if 0 in batch:
        return functions.lu_packed(A.detach())[2]
    shape = A.shape[:-2]
    return info[(0,) * (len(batch) - len(shape)) + tuple(slice(n) for n in shape)]


def _solve(A, B, left):
    check_square(A, "linalg.solve")
    check_floating(A, "linalg.solve")
    check_same_dtype(A, B, "linalg.solve")
    a_shape, b_shape = tuple(A.shape), tuple(B.shape)
    vector = len(b_shape) == 1 or (len(b_shape) == len(a_shape) - 1 and b_shape == a_shape[:-1])
    if vector:
        B = B.unsqueeze(-1)
        _check_fit(a_shape, tuple(B.shape), True, "linalg.solve")
    else:
        check_matrix(B, "linalg.solve", "B")
        _check_fit(a_shape, b_shape, left, "linalg.solve")
        if not left:
            A, B = A.mT, B.mT
    batch = broadcast_shapes(tuple(B.shape[:-2]), a_shape[:-2])
    own = A
    A, B = (x if tuple(x.shape[:-2]) == batch else x.expand((*batch, *x.shape[-2:])) for x in (A, B))
    X, info = functions.solve_parts(A, B, vector)
    info = info if A is own else _info_of(own, info, batch)
    return X.squeeze(-1) if vector else X if left else X.mT, info


def _raise_singular(info):
    failure = first_failure(info)
    if failure is not None:
        raise LinAlgError(
            hinted(
                f"torch.linalg.solve: {failure[0]}The solver failed because the input matrix is singular.",
                "the system has no solution or many; torch.linalg.lstsq finds the best one",
            )
        )


@composite(names=("linalg:solve",), out=True)
def linalg_solve(A, B, *, left=True):
    """X with ``A @ X = B`` (``X @ A = B`` where ``left`` is False). A (..., n, n), B (..., n, k), (..., n) or (n).

    >>> import rushlight as torch
    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    found, info = _solve(A, B, left)
    _raise_singular(functions.elements_of(info))
    return found


@with_names("linalg_solve_ex", "result info", ("linalg:solve_ex",))
def linalg_solve_ex(A, B, *, left=True, check_errors=False):
    """`linalg.solve` without complaint about singular matrices: also a tensor of codes, 0 where one was solved."""
    found, info = _solve(A, B, left)
    if check_errors:
        _raise_singular(functions.elements_of(info))
    return found, info


# ---------------------------------------------------------------- triangular systems


@op(
    "linalg_solve_triangular(Tensor A, Tensor B, bool upper, bool left, bool unitriangular) -> Tensor",
    names=(),
    node="LinalgSolveTriangularBackward0",
)
class triangular_parts:
    """X with A X = B (X A = B where ``left`` is False), of triangular A; batch shapes broadcast."""

    by_columns = (0,)

    def forward(A, B, upper, left, unitriangular):
        check_kernel(A, "triangular_solve_cpu")
        B = B.astype(A.dtype, copy=False)
        if left:
            return lu_arrays.solve_triangular(A, B, upper, unitriangular)
        return lu_arrays.solve_triangular(A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper, unitriangular).swapaxes(
            -1, -2
        )

    def gradients(grad, A, upper, left, unitriangular, result, needs):
        g_B = functions.triangular_parts(conj(A.mT), grad, not upper, left, unitriangular)
        if not needs[0]:
            return None, g_B
        g_A = -(g_B @ conj(result.mT)) if left else -(conj(result.mT) @ g_B)
        least = 1 if unitriangular else 0
        return g_A.triu(least) if upper else g_A.tril(-least), g_B


@composite(names=("linalg:solve_triangular",), out=True)
def linalg_solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """X with ``A @ X = B`` (``X @ A = B`` where ``left`` is False) of which only one triangle of A counts.

    >>> import rushlight as torch
    >>> torch.linalg.solve_triangular(torch.tensor([[2.0, 1.0], [0.0, 4.0]]), torch.ones(2, 1), upper=True)
    tensor([[0.3750],
            [0.2500]])
    """
    name = "linalg.solve_triangular"
    check_square(A, name)
    check_matrix(B, name, "B")
    _check_fit(tuple(A.shape), tuple(B.shape), left, name)
    broadcast_shapes(tuple(B.shape[:-2]), tuple(A.shape[:-2]))
    return functions.triangular_parts(A, B, upper, left, unitriangular)


@op("triangular_solve(Tensor self, Tensor A, bool upper, bool transpose, bool unitriangular) -> Tensor[]",
    names=(), node="TriangularSolveBackward0")  # fmt: skip
class triangular_solve_parts:
    """X with A X = B, or with the transpose of A, and a copy of A."""

    by_columns = (0, 1)

    def forward(self, A, upper, transpose, unitriangular):
        matrix = A.swapaxes(-1, -2) if transpose else A
        found = triangular_parts.forward(matrix, self, upper != transpose, True, unitriangular)
        return found, np.array(np.broadcast_to(A, (*found.shape[:-2], *A.shape[-2:])))

    def gradients(grads, self, A, upper, transpose, unitriangular, result0, needs):
        (grad, g_copy), g_self = grads, None
        if grad is not None:
            matrix = conj(A) if transpose else conj(A.mT)
            g_self = functions.triangular_parts(matrix, grad, upper == transpose, True, unitriangular)
            if needs[1]:
                g_A = -(conj(result0) @ g_self.mT) if transpose else -(g_self @ conj(result0.mT))
                least = 1 if unitriangular else 0
                g_A = g_A.triu(least) if upper else g_A.tril(-least)
                g_copy = g_A if g_copy is None else g_copy + g_A
        return functions.zeros_like(self) if g_self is None else g_self, g_copy


@with_names("triangular_solve", "solution cloned_coefficient", ("torch", "Tensor"))
def triangular_solve(input, A, upper=True, transpose=False, unitriangular=False):
    """Deprecated in PyTorch: `linalg.solve_triangular` with the arguments the other way round; also a copy of A."""
    for value, name in ((input, "b"), (A, "A")):
        if value.ndim < 2:
            raise RuntimeError(
                hinted(
                    f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {value.ndim} "
                    "dimensions instead",
                    f"its shape is {list(value.shape)}; a matrix is (rows, columns)",
                )
            )
    check_right_sides(input, A, "triangular_solve")
    broadcast_shapes(tuple(input.shape[:-2]), tuple(A.shape[:-2]))
    tell_successor("triangular_solve")
    return functions.triangular_solve_parts(input, A, upper, transpose, unitriangular)


@op("in_columns(Tensor self) -> Tensor", names=(), node="CloneBackward0")
class in_columns:
    """A copy of matrices that lies column by column, as LAPACK writes them."""

    def forward(self):
        return self.swapaxes(-1, -2).copy().swapaxes(-1, -2)

    def d_self(grad):
        return grad


# ---------------------------------------------------------------- least squares

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@op("linalg_lstsq(Tensor A, Tensor B, float? rcond, str driver) -> Tensor[]", names=(), node="LinalgLstsqBackward0")
class lstsq_parts:
    """The least-squares solution, its residuals, the ranks and singular values: those that ``driver`` gives.

    As LAPACK leaves it, the solution lies column by column in memory that had room for those of B.
    """

    keeps = ("result0",)

    def forward(A, B, rcond, driver):
        batch, (m, n), k = A.shape[:-2], A.shape[-2:], B.shape[-1]
        real = A.real.dtype
        cut = np.finfo(real).eps * max(m, n) if rcond is None else rcond
        solution = np.zeros((*batch, k, max(m, n)), A.dtype)[..., :n].swapaxes(-1, -2)
        ranks, values = np.zeros(batch, np.int64), np.zeros((*batch, min(m, n)), real)
        for place in np.ndindex(*batch):
            if m and n:
                found = np.linalg.lstsq(A[place], B[place], rcond=cut)
                solution[place], ranks[place], values[place] = found[0], found[2], found[3]
                if driver == "gels" and 0 < ranks[place] < min(m, n):
                    _refuse_zero_pivots(A[place])
        residuals = np.zeros(0, real)
        if driver != "gelsy" and m > n and (driver == "gels" or (ranks == n).all()):
            residuals = np.square(np.abs(B - A @ solution)).sum(-2)
        none = np.zeros(0, np.int64)
        return (
            solution,
            residuals,
            none if driver == "gels" else ranks,
            values if driver in ("gelsd", "gelss") else np.zeros(0, real),
        )

    def gradients(grads, A, B, needs):
        g_solution, g_residuals = grads[0], grads[1]
        inverse = functions.linalg_pinv(A)
        g_A = g_B = None
        if g_solution is not None:
            g_B = conj(inverse.mT) @ g_solution
            if needs[0]:
                g_A = pinv_gradient(g_solution @ conj(B.mT), A, inverse)
        if g_residuals is not None and g_residuals.numel():
            # At the best X the residuals do not change with X: A and B themselves count alone.
            X = inverse @ B
            error = 2 * g_residuals.unsqueeze(-2) * (A @ X - B)
            g_B = -error if g_B is None else g_B - error
            through = error @ conj(X.mT)
            g_A = through if g_A is None else g_A + through
        return g_A, g_B


def _refuse_zero_pivots(matrix):
    """LAPACK's gels solves by the triangle of a QR decomposition, which it refuses where a number on its diagonal is exactly 0."""
    tall = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    zeros = np.flatnonzero(np.linalg.qr(tall, mode="r").diagonal() == 0)
    if zeros.size:
        raise LinAlgError(
            hinted(
                "torch.linalg.lstsq: The least squares solution could not be computed because the input matrix does not "
                f"have full rank (error code: {zeros[0] + 1}).",
                "driver='gelsd' gives the smallest of all solutions",
            )
        )


def pinv_gradient(grad, A, inverse):
    """The gradient of the pseudo-inverse with respect to A (Golub and Pereyra 1973)."""
    turned, grad_turned = conj(inverse.mT), conj(grad.mT)
    around = grad_turned @ inverse  # (m, m) and (n, n): what is projected out of it
    found = -(turned @ grad @ turned)
    left = around @ turned
    found = found + left - A @ (inverse @ left)
    right = turned @ (inverse @ grad_turned)
    return found + right - (right @ inverse) @ A


@with_names("linalg_lstsq", "solution residuals rank singular_values", ("linalg:lstsq",))
def linalg_lstsq(A, B, rcond=None, *, driver=None):
    """The X that makes ``A @ X`` closest to B, of A (..., m, n) and B (..., m, k) or (..., m).

    ``driver`` says which parts of the result PyTorch's LAPACK routine of that name fills: gels residuals, gelsy
    (default)
    ranks, gelsd and gelss residuals, ranks and singular values; the solution is computed the same way for all.

    >>> import rushlight as torch
    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [3.0]])).solution
    tensor([[2.]])
    """
    name = "torch.linalg.lstsq"
    if A.ndim < 2:
        raise RuntimeError(hinted(f"{name}: input must have at least 2 dimensions.", f"its shape is {list(A.shape)}"))
    if B.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {legacy_name(A)} and "
            f"other's dtype {legacy_name(B)}"
        )
    if not 0 <= A.ndim - B.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    fits = 1 if B.ndim == 1 or B.shape == A.shape[:-1] else 2  # the dimension of B that is as long as A's columns
    if A.shape[-2] != B.shape[-fits]:
        raise RuntimeError(
            hinted(
                f"{name}: input.size(-2) should match other.size(-{fits})",
                f"the shapes are {list(A.shape)} and {list(B.shape)}",
            )
        )
    vector = B.ndim == A.ndim - 1
    B = B.unsqueeze(-1) if vector else B
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    if not (A.is_floating_point() or A.is_complex()) or A.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    batch = broadcast_shapes(tuple(A.shape[:-2]), tuple(B.shape[:-2]))
    A, B = (x if tuple(x.shape[:-2]) == batch else x.expand((*batch, *x.shape[-2:])) for x in (A, B))
    solution, residuals, rank, values = functions.lstsq_parts(A, B, rcond, driver)
    return solution.squeeze(-1) if vector else solution, residuals, rank, values.detach()


# ---------------------------------------------------------------- tensors as matrices


@composite(names=("linalg:tensorinv",), out=True)
def linalg_tensorinv(A, ind=2):
    """The inverse of A seen as a matrix from its dimensions after the first ``ind`` to the first ``ind``."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    if ind > A.ndim:
        message = f"ArrayRef: invalid slice, N = {ind}; size = {A.ndim}"
        raise RuntimeError(hinted(message, f"ind says how many of the {A.ndim} dimensions are rows"))
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            hinted(
                "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                f"{math.prod(last)} != {math.prod(first)}",
                f"the shape is {list(A.shape)}, split after {ind} dimensions",
            )
        )
    found, info = functions.inverse_parts(A.reshape(math.prod(last), math.prod(first)))
    raise_no_inverse(functions.elements_of(info), "inv")
    return found.reshape((*last, *first))


@composite(names=("linalg:tensorsolve",), out=True)
def linalg_tensorsolve(A, B, dims=None):
    """X with ``tensordot(A, X, X.ndim) = B``; ``dims`` of A are moved to its end first."""
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(A.ndim - len(dims), A.ndim)))
    if B.ndim > A.ndim:
        message = "cannot create std::vector larger than max_size()"
        raise RuntimeError(hinted(message, f"A has {A.ndim} dimensions, B already {B.ndim}; the rest of A's are X's"))
    inner = tuple(A.shape[B.ndim :])
    if math.prod(inner) != B.numel():
        raise RuntimeError(
            hinted(
                "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                f"prod(self.shape[:other.ndim]), but got {math.prod(inner)} != {B.numel()}",
                f"the shapes are {list(A.shape)} and {list(B.shape)}",
            )
        )
    found = linalg_solve(A.reshape(B.numel(), B.numel()), B.reshape(-1)).reshape(inner)
    return found
