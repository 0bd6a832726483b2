"""LU factorization with partial pivoting, and triangular systems, on NumPy arrays."""

import math

import numpy as np

_PANEL = 32  # columns factored one by one before the rest of the matrix is updated with one product
_DIRECT = 64  # triangular systems up to this size are one call of LAPACK


def factor(a):
    """``(LU, pivots, info)`` of matrices (..., m, n): packed factors, 1-based int32 row exchanges, first zero pivot
    or 0."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    lu = np.array(a, copy=True, order="C").reshape(math.prod(batch), m, n)
    count = min(m, n)
    pivots = np.empty((len(lu), count), np.int32)
    info = np.zeros(len(lu), np.int32)
    if len(lu) > 1 and count <= _PANEL:
        _factor_many(lu, pivots, info)
    else:
        for i, matrix in enumerate(lu):
            info[i] = _factor_one(matrix, pivots[i], count)
    return lu.reshape(a.shape), pivots.reshape(*batch, count), info.reshape(batch)


def _sizes(values):
    """What pivots are compared by: absolute values; of complex numbers the sum of those of both parts, as LAPACK
    does."""
    return np.abs(values.real) + np.abs(values.imag) if values.dtype.kind == "c" else np.abs(values)


def _factor_many(lu, pivots, info):
    """Many small matrices at once, column by column."""
    each = np.arange(len(lu))
    for k in range(pivots.shape[1]):
        best = k + _sizes(lu[:, k:, k]).argmax(1)
        pivots[:, k] = best + 1
        lu[each, k], lu[each, best] = lu[each, best], lu[each, k].copy()
        pivot = lu[:, k, k, None]
        info[(pivot[:, 0] == 0) & (info == 0)] = k + 1
        lu[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        lu[:, k + 1 :, k + 1 :] -= lu[:, k + 1 :, k, None] * lu[:, k, None, k + 1 :]


def _factor_one(matrix, pivots, count):
    """One matrix, a panel of columns at a time; the rest is updated with one product for each."""
    info = 0
    for start in range(0, count, _PANEL):
        stop = min(start + _PANEL, count)
        panel = matrix[start:, start:stop].T.copy()
        order, zero = _factor_panel(panel, pivots[start:stop])
        pivots[start:stop] += start + 1
        info = info or (zero and start + zero)
        matrix[start:] = matrix[start:][order]
        matrix[start:, start:stop] = panel.T
        if stop < matrix.shape[1]:
            right = solve_triangular(matrix[start:stop, start:stop], matrix[start:stop, stop:], False, True)
            matrix[start:stop, stop:] = right
            if stop < matrix.shape[0]:
                matrix[stop:, stop:] -= matrix[stop:, start:stop] @ right
    return info


def _factor_panel(panel, pivots):
    """Factor a panel, whose columns are the rows of ``panel``: the order of the matrix's rows then, the first zero
    pivot or 0."""
    width, rows = panel.shape
    order, info = np.arange(rows), 0
    for k in range(width):
        best = k + int(_sizes(panel[k, k:]).argmax())
        pivots[k] = best
        if best != k:
            panel[:, [k, best]] = panel[:, [best, k]]
            order[[k, best]] = order[[best, k]]
        pivot = panel[k, k]
        if pivot == 0:
            info = info or k + 1
            continue
        panel[k, k + 1 :] /= pivot
        if k + 1 < width:
            panel[k + 1 :, k + 1 :] -= panel[k + 1 :, k, None] * panel[k, k + 1 :]
    return order, info


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
