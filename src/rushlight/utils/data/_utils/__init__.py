"""PyTorch's private address of collation, which public programs import from."""

from . import collate
