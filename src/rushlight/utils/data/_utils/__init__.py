"""PyTorch's private addresses of collation and of workers, which public programs import from."""

from . import collate, worker
