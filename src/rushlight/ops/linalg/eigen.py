"""Eigenvalues and eigenvectors, of Hermitian and of any square matrices."""

import numpy as np

from ...base import dtypes
from ...base.errors import hinted
from ..recording import is_recorded
from ..table import composite, conj, functions, op
from .checks import LinAlgError, check_kernel, check_square, for_lapack, legacy_name, with_names


@op("linalg_eigh(Tensor A, str UPLO, bool vectors) -> Tensor[]", names=(), node="LinalgEighBackward0")
class eigh_parts:
    """Eigenvalues (real, ascending) and eigenvectors of Hermitian matrices; without ``vectors`` the latter are
    empty."""

    by_columns = (1,)

    def forward(A, UPLO, vectors):
        check_square(A, "linalg.eigh")
        if UPLO.upper() not in ("L", "U"):
            raise RuntimeError(
                hinted(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}", "it names the triangle that is read")
            )
        A, kind = for_lapack(A, "linalg_eigh_cpu")
        try:
            found = np.linalg.eigh(A, UPLO) if vectors else (np.linalg.eigvalsh(A, UPLO), np.empty(0, A.dtype))
            return tuple(found) if kind == A.dtype else tuple(part.astype(kind) for part in found)
        except np.linalg.LinAlgError:
            raise LinAlgError(
                hinted(
                    "linalg.eigh: The algorithm failed to converge because the input matrix is ill-conditioned or has "
                    f"too many repeated eigenvalues (error code: {2 if vectors else 1}).",
                    "look for nan, inf or huge elements in the input",
                )
            ) from None

    def d_A(grads, result0, result1):
        return _eigh_gradient(*grads, result0, result1)


def _eigh_gradient(g_L, g_V, L, V):
    turned = conj(V.mT)
    if g_V is None:
        return None if g_L is None else (V * g_L.unsqueeze(-2)) @ turned
    across = turned @ g_V
    _check_phase(across, "linalg_eigh_backward")
    gaps = L.unsqueeze(-2) - L.unsqueeze(-1)
    core = across / (gaps + functions.eye(L.shape[-1], dtype=L.dtype, device=L.device))
    core = core - functions.diag_embed(core.diagonal(0, -2, -1))
    core = (core + conj(core.mT)) * 0.5
    if g_L is not None:
        core = core + functions.diag_embed(g_L)
    return V @ core @ turned


def _check_phase(across, name):
    """Refuse losses that depend on the free phases of complex eigenvectors."""
    if not across.is_complex():
        return
    phases = functions.elements_of(across.detach().diagonal(0, -2, -1).imag.abs())
    if phases.sum() > 1e-2 * max(1, across.numel() ** 0.5):
        raise RuntimeError(
            hinted(
                f"{name}: The eigenvectors in the complex case are specified up to multiplication by e^{{i phi}}. The "
                "specified loss function depends on this quantity, so it is ill-defined.",
                "use the vectors only in ways in which the phase cancels, such as their absolute values",
            )
        )


@with_names("linalg_eigh", "eigenvalues eigenvectors", ("linalg:eigh",))
def linalg_eigh(A, UPLO="L"):
    """Eigenvalues (ascending) and orthonormal eigenvectors (columns) of Hermitian matrices (..., n, n), of which one
    triangle is read.

    >>> import rushlight as torch
    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    return functions.eigh_parts(A, UPLO, True)


@composite(names=("linalg:eigvalsh",), out=True)
def linalg_eigvalsh(A, UPLO="L"):
    """The eigenvalues of Hermitian matrices, ascending: real, (..., n)."""
    return functions.eigh_parts(A, UPLO, is_recorded(A))[0]  # a gradient takes the vectors


# ---------------------------------------------------------------- any square matrix


@op("linalg_eig(Tensor A, bool vectors) -> Tensor[]", names=(), node="LinalgEigBackward0")
class eig_parts:
    """Complex eigenvalues and eigenvectors of any square matrices; without ``vectors`` the latter are empty."""

    by_columns = (1,)

    def forward(A, vectors):
        check_square(A, "linalg.eig" if vectors else "linalg.eigvals")
        kind = dtypes.from_numpy(A.dtype)
        if kind.category < dtypes.FLOATING:
            raise RuntimeError(
                hinted(f"Unknown Complex ScalarType for {legacy_name(A)}", "convert the matrix first: A.float()")
            )
        check_kernel(A, "linalg_eig_out_cpu")
        if not np.isfinite(A).all():
            raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
        wide = kind.to_complex().numpy if A.dtype.kind != "c" else A.dtype
        if not vectors:
            return np.linalg.eigvals(A).astype(wide), np.empty(0, wide)
        values, V = np.linalg.eig(A)
        return values.astype(wide), V.astype(wide)

    def d_A(grads, result0, result1):
        return _eig_gradient(*grads, result0, result1)


def _eig_gradient(g_L, g_V, L, V):
    """Eigenvectors have norm 1, which takes from ``V^H gV`` what points along each of them (Boeddeker and others
    2017)."""
    turned = conj(V.mT)
    if g_V is None:
        return None if g_L is None else functions.linalg_solve(turned, g_L.unsqueeze(-1) * turned)
    across = turned @ g_V
    _check_phase(across, "linalg_eig_backward")
    along = across.diagonal(0, -2, -1).real
    core = across - (turned @ V) * along.unsqueeze(-2)
    gaps = L.unsqueeze(-2) - L.unsqueeze(-1)
    core = core / conj(gaps + functions.eye(L.shape[-1], dtype=L.dtype, device=L.device))
    core = core - functions.diag_embed(core.diagonal(0, -2, -1))
    if g_L is not None:
        core = core + functions.diag_embed(g_L)
    return functions.linalg_solve(turned, core @ turned)


@with_names("linalg_eig", "eigenvalues eigenvectors", ("linalg:eig",))
def linalg_eig(A):
    """Complex eigenvalues and eigenvectors (columns of norm 1) of square matrices (..., n, n)."""
    return functions.eig_parts(A, True)


@composite(names=("linalg:eigvals",), out=True)
def linalg_eigvals(A):
    """The complex eigenvalues of square matrices: (..., n)."""
    return functions.eig_parts(A, is_recorded(A))[0]
