"""LDL factorization of symmetric and Hermitian matrices, with the pivoting of Bunch and Kaufman."""

import numpy as np

from ...base import dtypes
from ...base.errors import hinted
from ...base.shapes import broadcast_shapes
from ..table import composite, functions, op
from .checks import check_floating, check_right_sides, check_square, for_lapack, with_names

_THRESHOLD = (1 + 17**0.5) / 8
_NAME = "torch.linalg.ldl_factor_ex"


def _turned(values, hermitian):
    return values.conj() if hermitian else values


def _size(values):
    return np.abs(values.real) + np.abs(values.imag)


def _exchange(a, k, p, hermitian):
    """Exchange rows and columns ``k`` and ``p > k`` of the trailing matrix whose lower triangle is in ``a``."""
    a[p + 1 :, [k, p]] = a[p + 1 :, [p, k]]
    between = slice(k + 1, p)
    column, row = a[between, k].copy(), a[p, between].copy()
    a[between, k], a[p, between] = _turned(row, hermitian), _turned(column, hermitian)
    a[p, k] = _turned(a[p, k], hermitian)
    a[k, k], a[p, p] = a[p, p], a[k, k]


def _choose(a, k, hermitian):
    """(size of the pivot block, row to exchange with): which keeps the elements from growing."""
    own = abs(a[k, k].real) if hermitian else _size(a[k, k])
    below = _size(a[k + 1 :, k])
    if not below.size:
        return 1, k
    r = k + 1 + int(below.argmax())
    most = below[r - k - 1]
    if max(own, most) == 0 or own >= _THRESHOLD * most:
        return 1, k
    other = max(_size(a[r, k:r]).max(), _size(a[r + 1 :, r]).max(initial=0))
    if own >= _THRESHOLD * most * (most / other):
        return 1, k
    diagonal = abs(a[r, r].real) if hermitian else _size(a[r, r])
    return (1, r) if diagonal >= _THRESHOLD * other else (2, r)


def _factor_one(a, pivots, hermitian):
    """Write the factors over the lower triangle of ``a``; the number of the first zero pivot, or 0."""
    n, k, info = len(a), 0, 0
    while k < n:
        block, p = _choose(a, k, hermitian)
        last = k + block - 1
        if p != last:
            _exchange(a, last, p, hermitian)
            if block == 2:
                a[[last, p], k] = a[[p, last], k]
        if hermitian:
            for d in range(k, last + 1):
                a[d, d] = a[d, d].real
        rest = slice(k + block, n)
        if block == 1:
            pivots[k] = p + 1
            if a[k, k] == 0:
                info = info or k + 1
            else:
                column = a[rest, k] / a[k, k]
                a[rest, rest] -= np.outer(column, _turned(a[rest, k], hermitian))
                a[rest, k] = column
        else:
            pivots[k] = pivots[last] = -(p + 1)
            pair = np.array([[a[k, k], _turned(a[last, k], hermitian)], [a[last, k], a[last, last]]])
            columns = np.linalg.solve(pair.T, a[rest, k : last + 1].T).T
            a[rest, rest] -= columns @ _turned(a[rest, k : last + 1], hermitian).T
            a[rest, k : last + 1] = columns
        k += block
    return info


@op("linalg_ldl_factor_ex(Tensor self, bool hermitian) -> Tensor[]", names=())
class ldl_parts:
    """The packed factors, the exchanges and the number of the first zero pivot."""

    by_columns = (0,)

    no_derivative = RuntimeError, "derivative for aten::linalg_ldl_factor_ex is not implemented"

    def forward(self, hermitian):
        self, kind = for_lapack(self, "ldl_factor_kernel_cpu")
        hermitian = hermitian and self.dtype.kind == "c"
        packed = np.tril(self)
        pivots, info = np.zeros(self.shape[:-1], np.int32), np.zeros(self.shape[:-2], np.int32)
        for place in np.ndindex(*self.shape[:-2]):
            info[place] = _factor_one(packed[place], pivots[place], hermitian)
        return np.tril(packed).astype(kind, copy=False), pivots, info


def _factored(A, hermitian):
    check_square(A, _NAME)
    check_floating(A, _NAME)
    return functions.ldl_parts(A, hermitian)


@with_names("linalg_ldl_factor_ex", "LD pivots info", ("linalg:ldl_factor_ex",))
def linalg_ldl_factor_ex(A, *, hermitian=False, check_errors=False):
    """`linalg.ldl_factor` without complaint: also codes, 0 where no pivot is zero."""
    LD, pivots, info = _factored(A, hermitian)
    if check_errors and (functions.elements_of(info) != 0).any():
        _raise_zero(functions.elements_of(info), _NAME)
    return LD, pivots, info


def _raise_zero(info, name):
    raise RuntimeError(
        f"{name}: the diagonal block {int(info[info != 0].flat[0])} of D is zero: the matrix is singular"
    )


@with_names("linalg_ldl_factor", "LD pivots", ("linalg:ldl_factor",))
def linalg_ldl_factor(A, *, hermitian=False):
    """``A = P L D L^T P^T`` (L^H where ``hermitian``) packed in one matrix, with the exchanges as LAPACK's sytrf
    counts them.

    Only the lower triangle is read. No derivative, as in PyTorch.
    """
    LD, pivots, info = _factored(A, hermitian)
    if (functions.elements_of(info) != 0).any():
        _raise_zero(functions.elements_of(info), "torch.linalg.ldl_factor")
    return LD, pivots


def _solve_one(packed, pivots, x, hermitian):
    n, k, blocks = len(packed), 0, []
    while k < n:
        block = 1 if pivots[k] > 0 else 2
        blocks.append((k, block))
        last, p = k + block - 1, abs(int(pivots[k])) - 1
        x[[last, p]] = x[[p, last]]
        x[k + block :] -= packed[k + block :, k : k + block] @ x[k : k + block]
        if block == 1:
            x[k] /= packed[k, k]
        else:
            off = packed[last, k]
            pair = np.array([[packed[k, k], _turned(off, hermitian)], [off, packed[last, last]]])
            x[k : last + 1] = np.linalg.solve(pair, x[k : last + 1])
        k += block
    for k, block in reversed(blocks):
        last, p = k + block - 1, abs(int(pivots[k])) - 1
        x[k : last + 1] -= _turned(packed[last + 1 :, k : last + 1], hermitian).T @ x[last + 1 :]
        x[[last, p]] = x[[p, last]]


def _check_pivots(pivots, size):
    """Refuse exchanges with rows that are not there."""
    sizes = np.abs(pivots.astype(np.int64))
    bound = "<= LD.size(-2)" if (sizes > size).any() else ">= 1" if (sizes < 1).any() else None
    if bound is not None:
        raise RuntimeError(
            hinted(
                f"Pivots given to ldl_solve must all satisfy |pivot| {bound}. Did you properly pass the result of ldl_factor?",
                f"they count the {size} rows from 1",
            )
        )


@op("linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian) -> Tensor", names=())
class ldl_solution:
    """X with A X = B of a factored A."""

    by_columns = (0,)

    no_derivative = RuntimeError, "derivative for aten::linalg_ldl_solve is not implemented"

    def forward(LD, pivots, B, hermitian):
        LD, kind = for_lapack(LD, "ldl_solve_kernel_cpu")
        hermitian = hermitian and LD.dtype.kind == "c"
        batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
        if LD.size and B.size:
            _check_pivots(pivots, LD.shape[-1])
        found = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])))
        LD, pivots = np.broadcast_to(LD, (*batch, *LD.shape[-2:])), np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
        for place in np.ndindex(*batch):
            _solve_one(LD[place], pivots[place], found[place], hermitian)
        return found.astype(kind, copy=False)


@composite(names=("linalg:ldl_solve",), out=True)
def linalg_ldl_solve(LD, pivots, B, *, hermitian=False):
    """X with ``A @ X = B``, of the matrix that `linalg.ldl_factor` factored."""
    name = "torch.linalg.ldl_solve"
    check_square(LD, name)
    check_floating(LD, name)
    if B.ndim < 2:
        B.size(-2)
        B.size(-1)
    check_right_sides(B, LD, name)
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            hinted(
                f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                f"{list(pivots.shape)} instead",
                f"LD has the shape {list(LD.shape)}: ldl_factor() gives both",
            )
        )
    if pivots.dtype.category not in (dtypes.UNSIGNED, dtypes.SIGNED):
        raise RuntimeError(
            hinted(f"{name}: Expected pivots to be integers. Got {pivots.dtype.legacy_name}", "ldl_factor() gives them")
        )
    broadcast_shapes(tuple(B.shape[:-2]), tuple(LD.shape[:-2]))
    return functions.ldl_solution(LD, pivots, B, hermitian)
