"""Standing in for PyTorch: in this process (`install_as_torch`), in an environment (`shim`), and names of PyTorch's inside (`inside/`)."""

from .standing import install_as_torch, uninstall

__all__ = ["install_as_torch", "uninstall"]
