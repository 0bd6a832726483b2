"""Inverses and determinants of square matrices."""

import numpy as np

from ..table import composite, conj, functions, op
from . import lu_arrays
from .checks import check_floating, check_square, for_lapack, raise_no_inverse, with_names


@op("linalg_inv_ex(Tensor A) -> Tensor[]", names=(), node="LinalgInvExBackward0")
class inverse_parts:
    """Inverses, and for each the number of the first zero pivot (0 where the inverse exists)."""

    by_columns = (0,)

    def forward(A):
        check_square(A, "linalg.inv")
        check_floating(A, "linalg.inv", low_precision=False)
        try:
            return np.linalg.inv(A), np.zeros(A.shape[:-2], np.int32)
        except np.linalg.LinAlgError:
            info = lu_arrays.factor(A)[2]
            safe = np.where((info != 0)[..., None, None], np.eye(A.shape[-1], dtype=A.dtype), A)
            try:
                found = np.linalg.inv(safe)
            except np.linalg.LinAlgError:  # LAPACK met a zero pivot where rounding in ours left none
                found, info = np.full(A.shape, np.nan, A.dtype), np.where(info == 0, A.shape[-1], info).astype(np.int32)
            return np.where((info != 0)[..., None, None], A.dtype.type(np.nan), found), info

    def d_A(grads, result0):
        if grads[0] is None:
            return None
        turned = conj(result0.mT)
        return -(turned @ grads[0] @ turned)


@with_names("linalg_inv_ex", "inverse info", ("linalg:inv_ex",))
def linalg_inv_ex(A, *, check_errors=False):
    """Inverses without complaint: also a tensor of codes, 0 where a matrix has an inverse. Shape (..., n, n)."""
    found, info = functions.inverse_parts(A)
    if check_errors:
        raise_no_inverse(functions.elements_of(info))
    return found, info


@composite(names=("linalg:inv",), out=True)
def linalg_inv(A):
    """The inverse of a square matrix, or of each of a batch (..., n, n); an error where there is none.

    >>> import rushlight as torch
    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    found, info = functions.inverse_parts(A)
    raise_no_inverse(functions.elements_of(info))
    return found


@composite(out=True)
def inverse(input):
    """`linalg.inv` under its older name."""
    return functions.linalg_inv(input)


# ---------------------------------------------------------------- determinants


@op("linalg_det(Tensor A) -> Tensor", names=("linalg:det",))
class linalg_det:
    """The determinant of a square matrix, or of each of a batch.

    >>> import rushlight as torch
    >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """

    def forward(A):
        check_square(A, "linalg.det")
        check_floating(A, "linalg.det")
        A, kind = for_lapack(A, "lu_cpu")
        return np.asarray(np.linalg.det(A)).astype(kind, copy=False)

    def d_A(grad, A, result):
        if A.numel() == 0:
            return functions.zeros_like(A)
        if functions.elements_of(result).all():
            return (grad * conj(result))[..., None, None] * conj(functions.linalg_inv(A).mT)
        return grad[..., None, None] * _cofactors(A)


@composite
def det(input):
    """`linalg.det` under its older name."""
    return functions.linalg_det(input)


def _cofactors(A):
    """The conjugated derivative of the determinant, also of singular matrices, from their singular values."""
    U, S, Vh = functions.svd_parts(A, False)
    size = S.shape[-1]
    others = [functions.cat([S[..., :k], S[..., k + 1 :]], -1).prod(-1) for k in range(size)]
    phase = functions.linalg_det(U @ Vh)
    return conj(phase)[..., None, None] * ((U * functions.stack(others, -1).unsqueeze(-2)) @ Vh)


@op("linalg_slogdet(Tensor A) -> Tensor[]", names=(), node="LinalgSlogdetBackward0")
class slogdet_parts:
    """The sign (or phase) of determinants, and the logarithm of their size."""

    def forward(A, name="linalg.slogdet"):
        check_square(A, name)
        check_floating(A, name, low_precision=False)
        sign, size = np.linalg.slogdet(A)
        return np.asarray(sign, A.dtype, "C"), np.asarray(size, A.real.dtype, "C")

    def d_A(grads, A, result0):
        g_sign, g_size = grads
        factor = g_size
        if A.is_complex() and g_sign is not None:
            turned = (conj(g_sign) * result0).imag
            zero = functions.zeros_like(turned)
            factor = functions.complex(zero if g_size is None else g_size, -turned)
        if factor is None:
            return None
        return factor[..., None, None] * conj(functions.linalg_inv_ex(A)[0].mT)


@with_names("linalg_slogdet", "sign logabsdet", ("linalg:slogdet",))
def linalg_slogdet(A):
    """The sign and the natural logarithm of the size of determinants: what does not overflow.

    >>> import rushlight as torch
    >>> torch.linalg.slogdet(torch.eye(2) * 3).logabsdet
    tensor(2.1972)
    """
    return functions.slogdet_parts(A)


@with_names("slogdet", "sign logabsdet", ("torch", "Tensor"))
def slogdet(input):
    """See `torch.linalg.slogdet`."""
    return functions.slogdet_parts(input)


@composite
def logdet(input):
    """The logarithm of determinants; nan where one is negative, -inf where it is zero."""
    check_square(input, "logdet")
    check_floating(input, "logdet", low_precision=False)
    sign, size = functions.slogdet_parts(input)
    if input.is_complex():
        return sign.log() + size
    return functions.where(sign == -1, float("nan"), size)
