"""What every tensor has for the sake of nested ones."""

from __future__ import annotations

from . import creation


def to_padded_tensor(self, padding, output_size=None):
    """The dense tensor of a nested one, ``padding`` where elements are shorter than others. See ``torch.nested.to_padded_tensor``."""
    return creation.to_padded_tensor(self, padding, output_size)
