"""Flatten and Unflatten: several dimensions as one, and back."""

from __future__ import annotations

from ...base.errors import hinted
from ...base.size import Size
from ...tensor import Tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """The dimensions from ``start_dim`` to ``end_dim`` as one, by default all but the first. ``torch.nn.Flatten``

    >>> import rushlight as torch
    >>> torch.nn.Flatten()(torch.randn(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Dimension ``dim`` as several, of the lengths ``unflattened_size``, one of which may be -1.

    Follows ``torch.nn.Unflatten`` (without named dimensions).

    >>> import rushlight as torch
    >>> torch.nn.Unflatten(1, (2, 5, 5))(torch.randn(2, 50)).shape
    torch.Size([2, 2, 5, 5])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int, unflattened_size: Size | list[int] | tuple[int, ...]) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, input):
        if not isinstance(input, (tuple, list)):
            message = f"unflattened_size must be a tuple of ints, but found type {type(input).__name__}"
            raise TypeError(hinted(message, "for example (2, -1)"))
        for place, length in enumerate(input):
            if not isinstance(length, int):
                found = f"found element of type {type(length).__name__} at pos {place}"
                raise TypeError(hinted(f"unflattened_size must be tuple of ints, but {found}", "for example (2, -1)"))

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
