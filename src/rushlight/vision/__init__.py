"""Images: datasets and transforms under torchvision's names (``import torchvision`` finds this package)."""

from __future__ import annotations

import importlib

from . import datasets, transforms

__version__ = "0.28.0"  # the torchvision of PyTorch 2.13, whose names these are

__all__ = [
    "datasets",
    "io",
    "models",
    "ops",
    "transforms",
    "tv_tensors",
    "utils",
    "get_image_backend",
    "set_image_backend",
]


def __getattr__(name):
    if name in ("io", "models", "ops", "tv_tensors", "utils"):  # loaded when first asked for
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def disable_beta_transforms_warning():
    """Nothing: there is no such warning any more, in torchvision neither."""


def get_image_backend():
    """The package that decodes image files: always ``"PIL"``.

    >>> from rushlight import vision
    >>> vision.get_image_backend()
    'PIL'
    """
    return "PIL"


def set_image_backend(backend):
    """Choose the package that decodes image files; ``"PIL"`` is the only one here (torchvision also knows accimage)."""
    if backend != "PIL":
        raise ValueError(
            f"Invalid backend '{backend}'. Options are 'PIL' and 'accimage'\nhint: Rushlight has 'PIL' only"
        )
