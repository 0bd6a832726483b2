"""torch.distributions.utils: parameters that broadcast, probabilities and logits, lower triangles, lazy properties."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from ..autograd import enable_grad
from ..base.dtypes import finfo, get_default_dtype
from ..base.errors import hinted
from ..base.size import Size
from ..nn.functional import softmax
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.creation import tensor

__all__ = [
    "broadcast_all",
    "logits_to_probs",
    "clamp_probs",
    "probs_to_logits",
    "lazy_property",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

EMPTY = Size()  # the default of every sample_shape

euler_constant = 0.57721566490153286060

NUMBERS = (bool, int, float)  # what counts as a number among parameters, as `torch.types.Number` does


def _is_tensor(value: Any) -> bool:
    return hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Tensors of one shape from tensors and numbers that broadcast; numbers take the dtype of the first tensor.

    Numbers alone become tensors without dimensions of the default dtype; anything else raises ValueError. Follows
    ``torch.distributions.utils.broadcast_all``.

    >>> import rushlight as torch
    >>> torch.distributions.utils.broadcast_all(torch.zeros(2), 1.0)
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    if not all(_is_tensor(value) or isinstance(value, NUMBERS) for value in values):
        raise ValueError(
            hinted(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.",
                "make a tensor of it first, or a Python number: " + ", ".join(type(value).__name__ for value in values),
            )
        )
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = get_default_dtype() if first is None else first.dtype
    device = None if first is None else first.device
    found = [value if _is_tensor(value) else tensor(value, dtype=dtype, device=device) for value in values]
    return functions.broadcast_tensors(*found)


def _standard_normal(shape, dtype, device):
    return functions.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value, dim):
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The probabilities of logits: of a success each if ``is_binary``, otherwise along the last dimension.

    >>> import rushlight as torch
    >>> torch.distributions.utils.logits_to_probs(torch.zeros(4))
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """
    return logits.sigmoid() if is_binary else softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept the dtype's ``eps`` away from 0 and 1.

    >>> import rushlight as torch
    >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5]))
    tensor([1.1921e-07, 5.0000e-01])
    """
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logits of probabilities, which are clamped first: log-odds if ``is_binary``, otherwise logarithms.

    >>> import rushlight as torch
    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.25, 0.5]), is_binary=True)
    tensor([-1.0986,  0.0000])
    """
    clamped = clamp_probs(probs)
    return clamped.log() - (-clamped).log1p() if is_binary else clamped.log()


class lazy_property:
    """A property that is computed at the first look, with gradients, and is an attribute from then on.

    Follows ``torch.distributions.utils.lazy_property``.

    >>> from rushlight.distributions.utils import lazy_property
    >>> class Circle:
    ...     @lazy_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3.0
    >>> circle = Circle()
    >>> circle.area, circle.area
    computed
    (3.0, 3.0)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: type | None = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class shows in place of its lazy property, for tools that look for properties."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        property.__init__(self, wrapped)


def _lower_mask(size, diagonal, device):
    rows = functions.arange(size, device=device)
    return rows < rows.unsqueeze(-1) + (diagonal + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements of square matrices on and below diagonal ``diag``, row by row, along one dimension.

    >>> import rushlight as torch
    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(
            hinted(f"diag ({diag}) provided is outside [{-n}, {n - 1}].", "a matrix of this size has no such diagonal")
        )
    return mat[..., _lower_mask(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices of zeros, but for the elements of ``vec`` on and below diagonal ``diag``, row by row.

    >>> import rushlight as torch
    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 3.0, 4.0]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    # The positive root of the number of elements, n (n + 1 + 2 diag) / 2 less what a diagonal outside would add.
    linear = 1 + 2 * diag
    root = (-linear + (linear**2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    size = round(root)
    if size - root > finfo(vec.dtype).eps:
        raise ValueError(
            hinted(
                f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part of "
                "a square D x D matrix.",
                "lower triangles with the diagonal have 1, 3, 6, 10, ... elements",
            )
        )
    matrix = vec.new_zeros((*vec.shape[:-1], size, size))
    matrix[..., _lower_mask(size, diag, vec.device)] = vec
    return matrix
