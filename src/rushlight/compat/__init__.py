"""Standing in for PyTorch: in this process (`install_as_torch`), in an environment (`shim`), and names of PyTorch's inside (`inside/`)."""

import importlib as _importlib

__all__ = ["install_as_torch", "uninstall"]


def __getattr__(name):
    if name in __all__:
        return getattr(_importlib.import_module(".standing", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
