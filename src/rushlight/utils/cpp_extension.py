"""``torch.utils.cpp_extension``: machine code against PyTorch's native library, which is not here: refused where it is compiled."""

from __future__ import annotations

import shutil

from ..base.errors import hinted

CUDA_HOME = ROCM_HOME = CUDNN_HOME = None
IS_HIP_EXTENSION = False
_HINT = (
    "Rushlight has no native library to compile against; torch.library.custom_op or torch.autograd.Function define operations "
    "in Python"
)


def _refused(name):
    def function(*args, **kwargs):
        raise NotImplementedError(hinted(f"torch.utils.cpp_extension.{name} is not implemented", _HINT))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Refused: there is no native library to compile against."
    return function


load, load_inline = _refused("load"), _refused("load_inline")
CppExtension, CUDAExtension, SyclExtension = (
    _refused("CppExtension"),
    _refused("CUDAExtension"),
    _refused("SyclExtension"),
)
include_paths, library_paths = _refused("include_paths"), _refused("library_paths")


class BuildExtension:
    """How setuptools would compile an extension: refused where it is made."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(hinted("torch.utils.cpp_extension.BuildExtension is not implemented", _HINT))

    @classmethod
    def with_options(cls, **options):
        """The class."""
        return cls


def is_ninja_available():
    """Whether the program ninja is installed."""
    return shutil.which("ninja") is not None
