"""LU factorization with partial pivoting, and triangular systems, on NumPy arrays."""

import math

import numpy as np

_PANEL = 48  # columns factored one by one before the rest of the matrix is updated with one product
_DIRECT = 64  # triangular systems up to this size are one call of LAPACK


def factor(a):
    """``(LU, pivots, info)`` of matrices (..., m, n): packed factors, 1-based int32 row exchanges, first zero pivot or 0."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    lu = np.array(a, copy=True, order="C").reshape(math.prod(batch), m, n)
    count = min(m, n)
    pivots = np.empty((len(lu), count), np.int32)
    info = np.zeros(len(lu), np.int32)
    for i, matrix in enumerate(lu):
        info[i] = _factor_one(matrix, pivots[i], count)
    return lu.reshape(a.shape), pivots.reshape(*batch, count), info.reshape(batch)


def _factor_one(matrix, pivots, count):
    info = 0
    for start in range(0, count, _PANEL):
        stop = min(start + _PANEL, count)
        for k in range(start, stop):
            column = matrix[k:, k]
            best = k + int(np.argmax(np.abs(column.real) + np.abs(column.imag) if column.dtype.kind == "c" else np.abs(column)))
            pivots[k] = best + 1
            if best != k:
                matrix[[k, best]] = matrix[[best, k]]
            pivot = matrix[k, k]
            if pivot == 0:
                info = info or k + 1
                continue
            matrix[k + 1 :, k] /= pivot
            if k + 1 < stop:
                matrix[k + 1 :, k + 1 : stop] -= matrix[k + 1 :, k, None] * matrix[k, k + 1 : stop]
        if stop < matrix.shape[1]:
            right = matrix[start:stop, stop:]
            for k in range(start + 1, stop):
                right[k - start] -= matrix[k, start:k] @ right[: k - start]
            if stop < matrix.shape[0]:
                matrix[stop:, stop:] -= matrix[stop:, start:stop] @ right
    return info


def permutation(pivots, rows):
    """Row ``i`` of the permuted matrix is row ``permutation[..., i]`` of the original one."""
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), pivots.shape[-1])
    order = np.tile(np.arange(rows), (len(flat), 1))
    each = np.arange(len(flat))
    for k in range(flat.shape[1]):
        other = flat[:, k] - 1
        order[each, k], order[each, other] = order[each, other], order[each, k].copy()
    return order.reshape(*pivots.shape[:-1], rows)


def permutation_matrix(pivots, rows, dtype):
    """P with ``A = P @ L @ U``."""
    order = permutation(pivots, rows)
    return (np.arange(rows)[:, None] == order[..., None, :]).astype(dtype)


def solve_triangular(a, b, upper, unit):
    """X with ``a @ X = b`` where only one triangle of ``a`` counts; both have the same batch shape or broadcast.

    A zero on the diagonal gives inf and nan, as substitution does.
    """
    size = a.shape[-1]
    if size == 0:
        return np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *b.shape[-2:]), b.dtype)
    if size <= _DIRECT:
        return _solve_small(a, b, upper, unit)
    half = size // 2
    first, last = (slice(half, None), slice(None, half)) if upper else (slice(None, half), slice(half, None))
    x = solve_triangular(a[..., first, first], b[..., first, :], upper, unit)
    y = solve_triangular(a[..., last, last], b[..., last, :] - a[..., last, first] @ x, upper, unit)
    return np.concatenate((y, x) if upper else (x, y), axis=-2)


def _solve_small(a, b, upper, unit):
    if not upper:  # turned upside down, so that LAPACK meets an upper triangle, on which pivoting exchanges nothing
        return _solve_small(a[..., ::-1, ::-1], b[..., ::-1, :], True, unit)[..., ::-1, :].copy()
    triangle = np.triu(a, 1)
    size = a.shape[-1]
    diagonal = np.ones(a.shape[:-1], a.dtype) if unit else a[..., np.arange(size), np.arange(size)]
    if (diagonal == 0).any():
        return _substitute(triangle, diagonal, b)
    triangle[..., np.arange(size), np.arange(size)] = diagonal
    return np.linalg.solve(triangle, b)


def _substitute(triangle, diagonal, b):
    shape = np.broadcast_shapes(triangle.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*shape, *b.shape[-2:])))
    for k in range(triangle.shape[-1] - 1, -1, -1):
        x[..., k, :] /= diagonal[..., k, None]
        x[..., :k, :] -= triangle[..., :k, k, None] * x[..., k, None, :]
    return x
