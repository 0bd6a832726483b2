"""What distributions share: parameters of one shape, probabilities and logits, properties computed once, triangles as vectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any, Generic, TypeVar

from ..autograd import enable_grad
from ..base.dtypes import finfo, get_default_dtype
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor

__all__ = [
    "broadcast_all", "logits_to_probs", "clamp_probs", "probs_to_logits", "lazy_property", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.57721566490153286060  # Euler and Mascheroni's


def _is_tensor(value):
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """The values as tensors of one shape; numbers take the dtype and device of the first tensor.

    >>> import rushlight as torch
    >>> torch.distributions.utils.broadcast_all(0.5, torch.ones(2))
    (tensor([0.5000, 0.5000]), tensor([1., 1.]))
    """
    if not all(_is_tensor(value) or isinstance(value, Number) for value in values):
        kinds = ", ".join(sorted({type(v).__name__ for v in values if not _is_tensor(v) and not isinstance(v, Number)}))
        raise ValueError(
            hinted(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.",
                f"got {kinds}; make a tensor of it first",
            )
        )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype, device = (get_default_dtype(), None) if first is None else (first.dtype, first.device)
    tensors = [v if _is_tensor(v) else functions.tensor(v, dtype=dtype, device=device) for v in values]
    return tuple(functions.broadcast_tensors(*tensors))


def standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    """Numbers from the normal distribution of mean 0 and deviation 1."""
    zeros = functions.zeros(shape, dtype=dtype, device=device)
    return functions.normal(zeros, functions.ones(shape, dtype=dtype, device=device))


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities: the logistic function of log-odds if ``is_binary``, else softmax over the last dimension."""
    return functions.sigmoid(logits) if is_binary else functions.softmax(logits, dim=-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept away from 0 and 1 by the spacing of their dtype at 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Log-odds if ``is_binary``, else logarithms of the probabilities."""
    clamped = clamp_probs(probs)
    return functions.log(clamped) - functions.log1p(-clamped) if is_binary else functions.log(clamped)


def one_of(probs: Any, logits: Any) -> None:
    """Refuses both and neither of two ways to say the same."""
    if (probs is None) == (logits is None):
        raise ValueError(
            hinted(
                "Either `probs` or `logits` must be specified, but not both.",
                "leave out one of the two" if probs is not None else "give one of the two",
            )
        )


R = TypeVar("R")


class lazy_property(Generic[R]):
    """A property that is computed when first read, with gradients, and then is an attribute of the object."""

    def __init__(self, wrapped: Callable[[Any], R]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class answers for a `lazy_property`: documentation tools look for properties."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Any:
    """The lower triangle of (..., D, D) matrices, row by row, as (..., count) vectors."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(
            hinted(f"diag ({diag}) provided is outside [{-size}, {size - 1}].", f"the matrices have {size} rows")
        )
    rows = functions.arange(size, device=mat.device)
    return mat[..., rows < rows.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Any:
    """(..., D, D) matrices whose lower triangle is ``vec``, row by row; zeros elsewhere."""
    count = vec.shape[-1]
    # with k = diag, a triangle of size D has D (D + 1) / 2 + D k - |k| (k + 1) / 2 elements
    size = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    eps = finfo(vec.dtype).eps
    if not round(size) - size < eps:
        raise ValueError(
            hinted(
                f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a square D x D matrix.",
                "D * (D + 1) / 2 numbers fill the triangle with its diagonal",
            )
        )
    side = round(size)
    matrix = vec.new_zeros((*vec.shape[:-1], side, side))
    rows = functions.arange(side, device=vec.device)
    matrix[..., rows < rows.view(-1, 1) + (diag + 1)] = vec
    return matrix
