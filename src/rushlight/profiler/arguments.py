"""What a profile shows of a call's arguments, in PyTorch's words, and where the call stood."""

from __future__ import annotations

import functools
import sys

from ..base.user_code import PACKAGE, STANDARD_LIBRARY, user_frames
from ..tensor.base import Tensor

_TYPES = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int",
    "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char", "bool": "bool",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
_NUMBERS = (bool, int, float, complex)


class described:
    """Of each argument: shape, value (None of tensors), type, strides; `structured` shapes tell lists of tensors apart."""

    __slots__ = ("shapes", "strides", "structured", "types", "values")

    def __init__(self, values):
        self.shapes, self.values, self.types, self.strides, self.structured = [], [], [], [], []
        for value in values:
            self._add(value)

    def _add(self, value):
        shape, shown, kind, strides, structured = [], None, "", [], []
        if isinstance(value, Tensor):
            shape, strides, kind = list(value.shape), list(value.stride()), _type_of(value)
            structured = shape
        elif isinstance(value, _NUMBERS):
            shown, kind = value, "Scalar"
        elif isinstance(value, (list, tuple)) and value and all(isinstance(each, Tensor) for each in value):
            structured, kind = [list(each.shape) for each in value], "TensorList"
            strides = [list(each.stride()) for each in value]
        elif isinstance(value, (list, tuple)) and all(isinstance(each, _NUMBERS) for each in value):
            shown, kind = list(value), "ScalarList"
        self.shapes.append(shape)
        self.values.append(shown)
        self.types.append(kind)
        self.strides.append(strides)
        self.structured.append(structured)


def _type_of(tensor):
    return _TYPES.get(tensor.dtype.name, tensor.dtype.name)


def stack_now():
    """The user's frames, innermost first, as ``file(line): function``."""
    return [f"{short(frame.f_code.co_filename)}({frame.f_lineno}): {frame.f_code.co_name}" for frame in user_frames()]


@functools.lru_cache(4096)
def short(file):
    """A file's path below the folder that its module was imported from."""
    inside = [folder for folder in sys.path if folder and file.startswith(folder.rstrip("/") + "/")]
    return file[len(max(inside, key=len).rstrip("/")) + 1 :] if inside else file


@functools.lru_cache(4096)
def is_users(file):
    """Whether a file of code is the program's own, or of a library that it uses: not ours, nor the standard library's."""
    ours = file.startswith((PACKAGE, "<frozen "))
    return not ours and (not file.startswith(STANDARD_LIBRARY) or "site-packages" in file)
