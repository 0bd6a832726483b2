"""The types of the loop program: scalars, vectors of them, and pointers into memory."""

from __future__ import annotations

import numpy as np

_SIZES = {
    "bool": 1,
    "i8": 1,
    "u8": 1,
    "i16": 2,
    "u16": 2,
    "f16": 2,
    "bf16": 2,
    "i32": 4,
    "u32": 4,
    "f32": 4,
    "i64": 8,
    "u64": 8,
    "f64": 8,
}

_interned = {}


class Type:
    """A scalar (``f32``), a vector (``f32x16``) or a pointer to elements (``f32*``, ``f32**``).

    There is one object for each type: compare with ``is``. ``scalar`` is the element's name, ``lanes`` how many (1 for a
    scalar), ``element`` the type that a pointer points to (None for the others).
    """

    __slots__ = ("element", "is_float", "is_pointer", "is_signed", "lanes", "name", "scalar", "size")

    def __init__(self, name, scalar, lanes, element):
        self.name, self.scalar, self.lanes, self.element = name, scalar, lanes, element
        self.is_pointer = element is not None
        self.is_float = scalar in ("f16", "bf16", "f32", "f64")
        self.is_signed = scalar in ("i8", "i16", "i32", "i64")
        self.size = 8 if self.is_pointer else _SIZES[scalar]  # bytes of one element in memory

    @property
    def is_vector(self):
        return self.lanes > 1

    @property
    def is_integer(self):
        return not (self.is_float or self.is_pointer or self.scalar == "bool")

    def with_lanes(self, lanes):
        """The vector of ``lanes`` such elements; the scalar itself for 1."""
        return vector(self.scalar, lanes)

    def with_scalar(self, scalar):
        """The type of as many lanes of another scalar."""
        return vector(scalar, self.lanes)

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return named, (self.name,)


def vector(scalar, lanes):
    """The type of ``lanes`` elements of the scalar called ``scalar``."""
    return named(scalar if lanes == 1 else f"{scalar}x{lanes}")


def pointer(element):
    """The type of a pointer to elements of ``element`` (a Type or a scalar's name)."""
    return named(f"{element}*")


def named(name):
    """The type written ``name``: ``f32``, ``i64x8``, ``bf16*``, ``f32**``. Raises ValueError for anything else."""
    found = _interned.get(name)
    if found is None:
        if name.endswith("*"):
            element = named(name[:-1])
            if element.lanes > 1:
                raise ValueError(f"a pointer to vectors is no type: '{name}'")
            found = Type(name, "pointer", 1, element)
        else:
            scalar, _, lanes = name.partition("x")
            if scalar not in _SIZES or (lanes and (not lanes.isdigit() or int(lanes) < 2)):
                raise ValueError(f"'{name}' is no type of the loop program")
            found = Type(name, scalar, int(lanes or 1), None)
        _interned[name] = found
    return found


BOOL, I64, F32 = (named(name) for name in ("bool", "i64", "f32"))

NUMPY = {  # scalar -> the NumPy dtype of its elements in memory; bfloat16 needs ml_dtypes and is computed as raw u16
    "bool": np.dtype(np.bool_),
    **{f"{kind}{bits}": np.dtype(f"{kind}{bits // 8}") for kind in "iu" for bits in (8, 16, 32, 64)},
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}

SCALARS = {dtype: scalar for scalar, dtype in NUMPY.items() if scalar != "bf16"}  # NumPy dtype -> scalar


def scalar_of(dtype):
    """The scalar that stands for a NumPy dtype, or None where the loop program has none (complex, object)."""
    return SCALARS.get(dtype) or ("bf16" if dtype.name == "bfloat16" else None)


def computed_in(scalar):
    """The scalar type in which elements of another are computed: float32 for half precision."""
    return "f32" if scalar in ("f16", "bf16") else scalar
