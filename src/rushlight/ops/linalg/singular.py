"""Singular values, and what is made with them: pseudo-inverse, rank, condition, low-rank approximation."""

import math

import numpy as np

from ...base import dtypes
from ...base.errors import hinted
from ..table import composite, conj, functions, op
from .checks import (
    LinAlgError,
    check_floating,
    check_matrix,
    check_square,
    for_lapack,
    legacy_name,
    with_names,
)
from .solve import pinv_gradient


def _converge(routine, A, name, words):
    """Run a LAPACK iteration; its failure in PyTorch's words."""
    try:
        return routine()
    except np.linalg.LinAlgError:
        if not np.isfinite(A).all() and name == "linalg.svd":
            message = f"{name}: The algorithm failed to converge because the input matrix contained non-finite values."
        else:
            message = (
                f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
                f"repeated {words} (error code: 1)."
            )
        raise LinAlgError(hinted(message, "look for nan, inf or huge elements in the input")) from None


@op("linalg_svd(Tensor A, bool full_matrices) -> Tensor[]", names=(), node="LinalgSvdBackward0")
class svd_parts:
    """U, S, Vh."""

    by_columns = (0, 2)

    def forward(A, full_matrices):
        A, kind = _checked(A)
        found = _converge(lambda: np.linalg.svd(A, full_matrices), A, "linalg.svd", "singular values")
        return tuple(found) if kind == A.dtype else tuple(part.astype(kind) for part in found)

    def d_A(grads, full_matrices, result0, result1, result2):
        g_U, g_S, g_Vh = grads
        count = result1.shape[-1]
        if full_matrices:
            g_U = None if g_U is None else g_U[..., :count]
            g_Vh = None if g_Vh is None else g_Vh[..., :count, :]
        return svd_gradient(g_U, g_S, g_Vh, result0[..., :count], result1, result2[..., :count, :])


@op("svd_values(Tensor A) -> Tensor", names=(), node="LinalgSvdBackward0")
class svd_values:
    """The singular values alone."""

    def forward(A):
        A, kind = _checked(A)
        found = _converge(lambda: np.linalg.svd(A, compute_uv=False), A, "linalg.svd", "singular values")
        return found if kind == A.dtype else found.astype(kind)

    def d_A(grad, A):
        return svd_gradient(None, grad, None, *functions.svd_parts(A, False))


def _checked(A):
    check_matrix(A, "linalg.svd")
    check_floating(A, "linalg.svd")
    return for_lapack(A, "linalg_svd_cpu")


def svd_gradient(g_U, g_S, g_Vh, U, S, Vh):
    """The gradient with respect to ``U @ diag(S) @ Vh`` of the thin decomposition (Townsend 2016)."""
    if g_U is None and g_S is None and g_Vh is None:
        return None
    if g_U is None and g_Vh is None:
        return (U * g_S.unsqueeze(-2)) @ Vh
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    across = None if g_U is None else conj(U.mT) @ g_U
    along = None if g_Vh is None else conj((g_Vh @ conj(Vh.mT)).mT)
    squares = S * S
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    gaps = gaps + functions.eye(k, dtype=S.dtype, device=S.device)
    core = functions.zeros_like(gaps) if g_S is None else functions.diag_embed(g_S)
    if across is not None:
        core = core + _skew(across) / gaps * S.unsqueeze(-2)
    if along is not None:
        core = core + S.unsqueeze(-1) * (_skew(along) / gaps)
    if U.is_complex():
        core = core + functions.diag_embed(_phase(across, along, S))
    found = U @ core @ Vh
    if across is not None and m > k:
        outside = (g_U - U @ across) / S.unsqueeze(-2)
        found = found + outside @ Vh
    if along is not None and n > k:
        outside = (g_Vh - conj(along.mT) @ Vh) / S.unsqueeze(-1)
        found = found + U @ outside
    return found


def _skew(x):
    """``x - x^H`` with nothing on the diagonal."""
    difference = x - conj(x.mT)
    return difference - functions.diag_embed(difference.diagonal(0, -2, -1)) if x.is_complex() else difference


def _phase(across, along, S):
    """The diagonal part that complex singular vectors add; refused where the loss depends on their free phases."""
    first, second = (None if x is None else x.diagonal(0, -2, -1).imag for x in (across, along))
    total = first if second is None else second if first is None else first + second
    if functions.elements_of(total.detach().abs()).sum() > 1e-2 * max(1, S.numel()):
        raise RuntimeError(
            hinted(
                "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i "
                "phi}. The specified loss function depends on this phase term, making it ill-defined.",
                "use the vectors only in products in which the phase cancels, as U @ Vh does",
            )
        )
    zero = functions.zeros_like(S)
    difference = (zero if first is None else first) - (zero if second is None else second)
    return functions.complex(zero, difference / (2 * S))


@with_names("linalg_svd", "U S Vh", ("linalg:svd",))
def linalg_svd(A, full_matrices=True, *, driver=None):
    """The singular value decomposition ``A = U @ diag(S) @ Vh`` of (..., m, n), values in descending order.

    >>> import rushlight as torch
    >>> torch.linalg.svd(torch.diag(torch.tensor([2.0, 3.0]))).S
    tensor([3., 2.])
    """
    return functions.svd_parts(A, full_matrices)


@composite(names=("linalg:svdvals",), out=True)
def linalg_svdvals(A, *, driver=None):
    """The singular values of matrices (..., m, n), in descending order: (..., min(m, n))."""
    # A gradient needs the vectors: computed at once, they do not depend on what happens to A later.
    return functions.svd_parts(A, False)[1] if A.requires_grad else functions.svd_values(A)


@with_names("svd", "U S V", ("torch", "Tensor"))
def svd(input, some=True, compute_uv=True):
    """The older form of `linalg.svd`: gives V, not its conjugate transpose, and by default the thin decomposition."""
    if input.ndim < 2:
        raise RuntimeError(
            f"linalg.svd: input should have at least 2 dimensions, but has {input.ndim} dimensions instead"
        )
    if not compute_uv:
        batch, m, n = input.shape[:-2], input.shape[-2], input.shape[-1]
        zeros = [functions.zeros((*batch, length, length), dtype=input.dtype, device=input.device) for length in (m, n)]
        return zeros[0], linalg_svdvals(input), zeros[1]
    U, S, Vh = functions.svd_parts(input, not some)
    return U, S, Vh.mH


# ---------------------------------------------------------------- pseudo-inverse, rank, condition


def _relative(A, atol, rtol):
    """``rtol``, by default 0 where an ``atol`` above 0 is given and eps * max(m, n) where not."""
    if rtol is not None:
        return rtol
    if A.dtype.category < dtypes.FLOATING or A.dtype.itemsize == 2:
        raise RuntimeError(
            hinted("This function doesn't handle types other than float and double", f"A holds {A.dtype!r}: A.float()")
        )
    default = float(np.finfo(A.dtype.numpy).eps) * max(A.shape[-2:])
    if hasattr(atol, "_edge"):
        return functions.where(atol > 0, 0.0, default)
    return 0.0 if atol is not None and atol > 0 else default


def _refuse_complex_limits(name, **limits):
    """Refuse complex tensors as sizes up to which singular values count as zero."""
    for argument, limit in limits.items():
        if hasattr(limit, "_edge") and limit.is_complex():
            raise RuntimeError(
                hinted(
                    f"torch.linalg.{name}: {argument} tensor of complex type is not supported. Got {legacy_name(limit)}",
                    "sizes are real: give its abs()",
                )
            )


def _limits(A, atol, rtol, largest):
    """The size up to which a singular value counts as zero."""
    relative = _relative(A, atol, rtol) * largest
    if hasattr(atol, "_edge"):
        return functions.maximum(atol.to(relative.dtype), relative)
    return relative.clamp(min=0.0 if atol is None else atol)


@op(
    "linalg_pinv(Tensor A, Tensor? atol, Tensor? rtol, float cut_atol, float cut_rtol, bool hermitian) -> Tensor",
    names=(),
    node="LinalgPinvBackward0",
)
class pinv_parts:
    """Pseudo-inverses; singular values up to max(atol, rtol * the largest) count as zero."""

    def forward(A, atol, rtol, cut_atol, cut_rtol, hermitian):
        if A.size == 0:
            return np.zeros((*A.shape[:-2], A.shape[-1], A.shape[-2]), A.dtype)
        atol, rtol = cut_atol if atol is None else atol[..., None], cut_rtol if rtol is None else rtol[..., None]
        if hermitian:
            values, U = _converge(lambda: np.linalg.eigh(A), A, "linalg.eigh", "eigenvalues")
            S, turned = np.abs(values), U.conj().swapaxes(-1, -2)
            turned = np.where(values < 0, -1, 1).astype(A.dtype)[..., None] * turned
        else:
            U, S, turned = _converge(lambda: np.linalg.svd(A, False), A, "linalg.svd", "singular values")
        limit = np.maximum(atol, rtol * S.max(-1, keepdims=True))
        inverse = np.where(limit < S, 1 / S, 0).astype(A.dtype)
        found = turned.conj().swapaxes(-1, -2) @ (inverse[..., None] * U.conj().swapaxes(-1, -2))
        return np.ascontiguousarray(found.astype(A.dtype, copy=False))

    def d_A(grad, A, result):
        return pinv_gradient(grad, A, result)


@composite(names=("linalg:pinv",), out=True)
def linalg_pinv(A, rcond=None, hermitian=False, *, atol=None, rtol=None):
    """The Moore-Penrose pseudo-inverse of matrices (..., m, n): (..., n, m).

    Singular values up to ``max(atol, rtol * largest)`` count as zero; rtol is eps * max(m, n) by default.

    >>> import rushlight as torch
    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    rtol = rcond if rtol is None else rtol
    if A.ndim < 2 or A.dtype.category < dtypes.FLOATING or A.dtype.itemsize == 2:
        raise RuntimeError(
            hinted(
                f"linalg.pinv({legacy_name(A)}{{{list(A.shape)}}}): expected a tensor with 2 or more dimensions of "
                "float, double, cfloat or cdouble types",
                "convert it with .float(), or add a dimension",
            )
        )
    _refuse_complex_limits("pinv", atol=atol, **({"rcond": rtol} if rcond is not None else {"rtol": rtol}))
    if hermitian:
        check_square(A, "linalg.eigh")
    rtol = _relative(A, atol, rtol)
    tensors = [x if hasattr(x, "_edge") else None for x in (atol, rtol)]
    numbers = [0.0 if x is None or hasattr(x, "_edge") else float(x) for x in (atol, rtol)]
    return functions.pinv_parts(A, *tensors, *numbers, hermitian)


@composite
def pinverse(input, rcond=1e-15):
    """The pseudo-inverse, with singular values up to ``rcond`` times the largest taken as zero."""
    return linalg_pinv(input, rcond=rcond)


@composite(names=("linalg:matrix_rank",), out=True)
def linalg_matrix_rank(A, tol=None, hermitian=False, *, atol=None, rtol=None):
    """How many singular values of each matrix exceed ``max(atol, rtol * largest)``; ``tol`` is another name of atol."""
    if A.ndim < 2:
        raise RuntimeError(
            hinted(
                "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.",
                f"its shape is {list(A.shape)}",
            )
        )
    if tol is not None:
        atol, rtol = tol, 0.0
    _refuse_complex_limits("matrix_rank", atol=atol, rtol=rtol)
    rtol = _relative(A, atol, rtol)
    if A.numel() == 0:
        return functions.zeros(A.shape[:-2], dtype=dtypes.int64, device=A.device)
    A = A.detach()
    S = functions.linalg_eigvalsh(A).abs() if hermitian else linalg_svdvals(A)
    limit = _limits(A, atol, rtol, S.amax(-1))
    return (limit.unsqueeze(-1) < S).sum(-1)


@composite(names=("linalg:cond",), out=True)
def linalg_cond(A, p=None):
    """The condition number of matrices in the norm ``p``: None and 2 (largest over smallest singular value), -2,
    "fro", "nuc", inf, 1, ..."""
    if A.ndim < 2:
        raise RuntimeError(
            hinted("linalg.cond: The input tensor must have at least 2 dimensions.", f"its shape is {list(A.shape)}")
        )
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is None or p in (2, -2):
        if A.numel() == 0:
            return functions.zeros(A.shape[:-2], dtype=A.real.dtype, device=A.device)
        values = linalg_svdvals(A)
        found = values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    else:
        check_square(A, f"linalg.cond(ord={p})")
        if A.numel() == 0:
            return functions.zeros(A.shape[:-2], dtype=A.real.dtype, device=A.device)
        inverse, info = functions.inverse_parts(A)
        norm = functions.linalg_matrix_norm
        singular = info != 0
        if functions.elements_of(singular).any():
            inverse = inverse.masked_fill(singular[..., None, None], 0)
        found = norm(A, p) * norm(inverse, p)
        found = functions.where(singular, math.inf, found)
    return found


# ---------------------------------------------------------------- low rank


def _range_of(A, q, niter, M):
    """An orthonormal basis of what A does mostly (Halko, Martinsson and Tropp 2009, algorithm 4.4)."""
    A_minus = (lambda x: functions.matmul(A, x)) if M is None else (lambda x: functions.matmul(A - M, x))
    turned = conj((A if M is None else A - M).mT)
    Q = functions.linalg_qr(A_minus(functions.randn(A.shape[-1], q, dtype=A.dtype)))[0]
    for _ in range(niter):
        Q = functions.linalg_qr(functions.matmul(turned, Q))[0]
        Q = functions.linalg_qr(A_minus(Q))[0]
    return Q


@composite(names=("torch",))
def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S, V of about the ``q`` largest singular values of A (or A - M), from random projections."""
    q = 6 if q is None else q
    if M is not None:
        M = M.broadcast_to(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = _range_of(A, q, niter, M)
    U, S, Vh = functions.svd_parts(conj(Q.mT) @ (A if M is None else A - M), False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


@composite(names=("torch",))
def pca_lowrank(A, q=None, center=True, niter=2):
    """`svd_lowrank` of A with the mean of each column subtracted (unless ``center`` is False): principal components
    in V."""
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
