"""Orthogonal factorizations: QR, and products of Householder reflectors."""

import numpy as np

from ...base.errors import hinted
from ..table import composite, conj, functions, op
from .checks import check_floating, check_kernel, check_matrix, with_names
from .deprecated import tell_successor

_MODES = ("reduced", "complete", "r")


@op("linalg_qr(Tensor A, str mode) -> Tensor[]", names=(), node="LinalgQrBackward0")
class qr_parts:
    """Q and R; Q is empty in mode "r"."""

    by_columns = (0, 1)

    def forward(A, mode):
        check_matrix(A, "linalg.qr")
        check_floating(A, "linalg.qr")
        if mode not in _MODES:
            raise RuntimeError(
                f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
            )
        check_kernel(A, "geqrf_cpu")
        if mode == "r":
            return np.empty(0, A.dtype), np.linalg.qr(A, "r").astype(A.dtype, copy=False)
        Q, R = np.linalg.qr(A, mode)
        return Q.astype(A.dtype, copy=False), R.astype(A.dtype, copy=False)

    def d_A(grads, mode, result0, result1):
        return _qr_gradient(*grads, result0, result1, mode)


def _qr_gradient(g_Q, g_R, Q, R, mode):
    """The gradient of a QR decomposition (Roberts and Roberts 2020)."""
    if g_Q is None and g_R is None:
        return None
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if m >= n:
        return _tall_gradient(g_Q, g_R, Q, R)
    # A = [X Y] = Q [U V]: V adds to the gradient of Q, for Y = Q V.
    U, g_U = R[..., :m], None if g_R is None else g_R[..., :m]
    if g_R is None:
        rest = functions.zeros((*R.shape[:-1], n - m), dtype=R.dtype, device=R.device)
        return functions.cat([_tall_gradient(g_Q, g_U, Q, U), rest], -1)
    g_V = g_R[..., m:]
    Y = Q @ R[..., m:]
    through = Y @ conj(g_V.mT)
    g_X = _tall_gradient(through if g_Q is None else g_Q + through, g_U, Q, U)
    return functions.cat([g_X, Q @ g_V], -1)


def _tall_gradient(g_Q, g_R, Q, R):
    inside = None if g_R is None else g_R @ conj(R.mT)
    if g_Q is not None:
        across = conj(Q.mT) @ g_Q
        inside = -across if inside is None else inside - across
    upper = inside.triu()
    mirrored = upper + conj(upper.mT) - functions.diag_embed(_real_as(upper.diagonal(0, -2, -1)))
    found = Q @ mirrored
    if g_Q is not None:
        found = found + g_Q
    return functions.linalg_solve_triangular(conj(R.mT), found, upper=False, left=False)


def _real_as(value):
    """The real part, in the dtype of ``value``."""
    return (value + conj(value)) * 0.5 if value.is_complex() else value


@with_names("linalg_qr", "Q R", ("linalg:qr",))
def linalg_qr(A, mode="reduced"):
    """``A = Q @ R`` with orthonormal columns in Q and R upper triangular, of matrices (..., m, n).

    ``mode``: "reduced" (Q of min(m, n) columns), "complete" (Q square) or "r" (no Q).

    >>> import rushlight as torch
    >>> torch.linalg.qr(torch.eye(2)).R.abs()
    tensor([[1., 0.],
            [0., 1.]])
    """
    return functions.qr_parts(A, mode)


@with_names("qr", "Q R", ("torch", "Tensor"))
def qr(input, some=True):
    """The older form of `linalg.qr`: reduced, or complete where ``some`` is False."""
    tell_successor("qr")
    return functions.qr_parts(input, "reduced" if some else "complete")


# ---------------------------------------------------------------- reflectors


@op("geqrf(Tensor A) -> Tensor[]", names=(), node="GeqrfBackward0")
class geqrf_parts:
    """R above and the reflectors below the diagonal, and their factors tau."""

    no_derivative = NotImplementedError, "the derivative for 'geqrf' is not implemented."

    def forward(A):
        if A.ndim < 2:
            raise RuntimeError(hinted("torch.geqrf: input must have at least 2 dimensions.", f"it has {A.ndim}"))
        check_kernel(A, "geqrf_cpu")
        packed, tau = np.linalg.qr(A, "raw")
        # Column by column in memory, as LAPACK writes it and PyTorch shows it.
        return np.ascontiguousarray(packed, A.dtype).swapaxes(-1, -2), tau.astype(A.dtype, "C")


@with_names("geqrf", "a tau", ("torch", "Tensor"))
def geqrf(input):
    """LAPACK's packed QR factorization: R and, below its diagonal, the Householder vectors; and their factors tau."""
    return functions.geqrf_parts(input)


def _reflectors(packed):
    """The Householder vectors as columns: ones on the diagonal, zeros above."""
    size = packed.shape[-1]
    return packed.tril(-1) + functions.eye(packed.shape[-2], size, dtype=packed.dtype, device=packed.device)


@composite(names=("linalg:householder_product",), out=True)
def linalg_householder_product(A, tau):
    """The first n columns of the product of reflectors ``I - tau_i v_i v_i^H``, whose vectors are the columns of A
    (..., m, n)."""
    name = "torch.linalg.householder_product"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(
            hinted(
                f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]",
                f"the shape is {list(A.shape)}",
            )
        )
    if A.shape[-1] < tau.size(-1):
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {A.ndim}"
        )
    if tau.shape[:-1] != A.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau.dtype is not A.dtype:
        raise RuntimeError(
            f"{name}: tau dtype {tau.dtype.legacy_name} does not match input dtype {A.dtype.legacy_name}"
        )
    check_kernel(A, "orgqr_cpu")
    vectors = _reflectors(A)
    found = functions.eye(*A.shape[-2:], dtype=A.dtype, device=A.device).expand(A.shape)
    if tau.shape[-1] == 0:  # no reflector: the identity, which still is a function of A
        found = found + A.masked_fill(A == A, 0)
    return functions.in_columns(_apply(vectors, tau, found, range(tau.shape[-1] - 1, -1, -1), False))


@composite(out=True)
def orgqr(input, input2):
    """`linalg.householder_product` under its older name: of the vectors ``input`` and the factors ``input2``."""
    return functions.linalg_householder_product(input, input2)


def _apply(vectors, tau, found, order, conjugated):
    """Reflect ``found`` (from the left) by the vectors in ``order``."""
    for k in order:
        v = vectors[..., k : k + 1]
        factor = tau[..., k, None, None]
        found = found - (conj(factor) if conjugated else factor) * (v @ (conj(v.mT) @ found))
    return found


def _wrong_for_ormqr(input, tau, other, side):
    """What PyTorch refuses of the arguments of ormqr; ``side`` is the dimension of ``other`` that meets Q."""
    for value, name in ((input, "input"), (other, "other")):
        if value.ndim < 2:
            return f"{name} must have at least 2 dimensions."
    if other.shape[side] != input.shape[-2]:
        return f"other.shape[{side}] must be equal to input.shape[-2]"
    if tau.size(-1) != min(other.shape[side], input.shape[-1]):
        return f"tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])"
    if input.ndim - tau.ndim != 1:
        return (
            f"Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and input.ndim is "
            f"equal to {input.ndim}"
        )
    if input.ndim != other.ndim:
        return (
            f"Expected other to have the same number of dimensions as input, but got other.ndim equal to {other.ndim} and "
            f"input.ndim is equal to {input.ndim}"
        )
    for batch, name in ((tau.shape[:-1], "tau"), (other.shape[:-2], "other")):
        if batch != input.shape[:-2]:
            return f"Expected batch dimensions of {name} to be equal to input.shape[:-2], but got {list(batch)}"
    for value, name in ((tau, "tau"), (other, "other")):
        if value.dtype is not input.dtype:
            return (
                f"Expected input and {name} to have the same dtype, but input has dtype{input.dtype.legacy_name} and {name} "
                f"has dtype {value.dtype.legacy_name}"
            )
    return None


@composite(out=True)
def ormqr(input, tau, other, left=True, transpose=False):
    """Q times ``other`` (``other`` times Q where ``left`` is False; Q^H where ``transpose``), of the whole Q that
    `geqrf` packs."""
    wrong = _wrong_for_ormqr(input, tau, other, -2 if left else -1)
    if wrong is not None:
        shapes = f"shapes: input {list(input.shape)}, tau {list(tau.shape)}, other {list(other.shape)}"
        raise RuntimeError(hinted(f"torch.ormqr: {wrong}", f"{shapes}; geqrf() gives input and tau"))
    check_kernel(input, "ormqr_cpu")
    count = tau.shape[-1]
    vectors = _reflectors(input)
    # X Q = (Q^H X^H)^H
    turned = transpose if left else not transpose
    order = range(count) if turned else range(count - 1, -1, -1)
    found = _apply(vectors, tau, other if left else conj(other.mT), order, turned)
    return functions.in_columns(found if left else conj(found.mT))
