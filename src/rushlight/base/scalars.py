"""Python numbers where they meet a dtype: what C++ calls it, the largest number it holds, and the numbers it takes.

PyTorch converts a number in one of four ways, and each operation has its own. It **fits** it (`fitted`: a number that the
dtype has no place for is refused), fits it with a **relaxed** eye on half precision (`relaxed`: too large becomes an
infinity), **wraps** it (`wrapped`: an operand of an operator, where integers lose their high bits and nothing is refused),
or **lists** it (tensor/creation.py: the rules of Python lists that become tensors). Before all of them an argument that
is an integer beyond 64 bits is refused by `check_word`.

Names and largest numbers are asked for dtypes of NumPy's or ours, conversions for NumPy's.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from . import stored
from .dtypes import FLOAT8, STORED
from .errors import hinted

# What messages call the elements of a tensor.
_C_NAMES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    **{dtype.name: f"c10::{dtype.legacy_name}" for dtype in FLOAT8},
}
# What messages call the type that one number is converted to: integers go by the names of <stdint.h>, except int32.
_FIXED_WIDTH = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int64")
_NUMBER_NAMES = _C_NAMES | {name: name + "_t" for name in _FIXED_WIDTH}

_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 2.0**127,
    "complex32": 3.4028234663852886e38,  # of complex64: in half precision it is an infinity then
}
_WITHOUT_INFINITY = frozenset(dtype.name for dtype in FLOAT8) - {"float8_e5m2"}
_HALVES = frozenset(("float16", "bfloat16"))
_REAL = frozenset((int, float))
_SMALL = 65504.0  # numbers between this and its negative have a place in every floating and complex dtype
_FRACTIONAL = "fVc"  # the kinds of those: V is bfloat16
_COMPLEX = "cW"  # W is complex32

LOWEST_WORD, WORDS_END = -(1 << 63), 1 << 64  # what fits into 64 bits, with a sign or without
SAFE = 2.0**63  # numbers between this and its negative have a place in float32 and in 64 bits


@functools.cache
def name_of(dtype):
    """``dtype.name``, which NumPy puts together anew at every look, in 2 us."""
    return dtype.name


def c_name(dtype):
    """The C++ type of a tensor's elements, as PyTorch's messages call it."""
    return _C_NAMES.get(name_of(dtype), name_of(dtype))


_OLD_CLASSES = frozenset(("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double"))


def type_name(dtype):
    """The class that PyTorch's messages call a tensor of a DType by: only the older dtypes have one of their own."""
    name = dtype.legacy_name
    return f"torch.{name}Tensor" if name in _OLD_CLASSES else f"CPU{name}Type"


def largest_float(dtype):
    """The largest finite number of a real floating dtype, as a Python float."""
    return _LARGEST[name_of(dtype)]


def are_words(values, places):
    """Whether the Python ints at these places all fit into 64 bits, with a sign or without."""
    for place in places:  # noqa: SIM110 (a generator expression costs 0.3 us)
        if not LOWEST_WORD <= values[place] < WORDS_END:
            return False
    return True


def is_signed_word(value):
    """Whether a Python int has a place in 64 bits with a sign."""
    return LOWEST_WORD <= value < -LOWEST_WORD


def check_word(value):
    """Refuse an integer argument beyond 64 bits, in the words of PyTorch's argument parser."""
    if not LOWEST_WORD <= value < WORDS_END:
        message = "int too big to convert" if value > 0 else "can't convert negative int to unsigned"
        raise OverflowError(hinted(message, f"{value} needs more than 64 bits; a float may be as large"))


def check_number(value):
    """`check_word` for what may be another number, or none at all."""
    if isinstance(value, int):
        check_word(value)


def float_argument(value, argument):
    """A number as the float that an argument takes; ``argument`` is what PyTorch's message calls it."""
    if value.__class__ is complex:
        raise TypeError(hinted(f"{argument} must be float, not complex", "give a real number, such as its .real"))
    return float(value)


def unpackable(value):
    """PyTorch's error for an integer beyond 64 bits in a list or an assignment."""
    return ValueError(hinted("Overflow when unpacking long long", f"{value} needs more than 64 bits"))


def no_place(dtype, hint, name=None):
    """PyTorch's error for a number that has no place in ``dtype``; ``name`` is what its message calls the dtype."""
    name = name or _NUMBER_NAMES.get(name_of(dtype), name_of(dtype))
    return RuntimeError(hinted(f"value cannot be converted to type {name} without overflow", hint))


# ---------------------------------------------------------------- the four conversions


@functools.cache
def range_of(dtype):
    """The lowest and the largest finite number that a NumPy dtype takes; for unsigned ones, negative integers count back."""
    if dtype.kind in "iu":
        largest = (1 << 8 * dtype.itemsize - (dtype.kind == "i")) - 1
        return (-largest if dtype.kind == "u" else -largest - 1), largest
    if dtype.kind == "b":
        return -math.inf, math.inf
    largest = largest_float(np.finfo(dtype).dtype if dtype.kind == "c" else dtype)
    return -largest, largest


def check_fits(dtype, value):
    """Refuse a Python number that a NumPy dtype has no place for, in PyTorch's words; infinities and nan suit floats."""
    lowest, largest = range_of(dtype)
    if value.__class__ is complex:
        _check_complex(dtype, value)
    elif name_of(dtype) == "float8_e8m0fnu" and value.__class__ is float and value < 2.0**-127:
        raise no_place(dtype, "float8_e8m0fnu holds the powers of 2 from 2 ** -127 to 2 ** 127")
    elif not lowest <= value <= largest and dtype.kind != "b":
        _check_real(dtype, value, lowest, largest)
    elif dtype.kind == "u" and value < 0 and isinstance(value, float):
        raise no_place(dtype, f"{dtype.name} has no negative numbers; integers count back from its end")


def _check_complex(dtype, value):
    if dtype.kind in _COMPLEX:
        for part in (value.real, value.imag):
            check_fits(dtype, part)
    elif dtype.kind != "b":
        if value.imag:
            raise no_place(dtype, "take the real part of the value")
        check_fits(dtype, value.real)


def _check_real(dtype, value, lowest, largest):
    if dtype.kind in "iu":
        if isinstance(value, float) and float(lowest) <= value <= float(largest):
            return  # 2.0 ** 63, which C++ compares with the rounded end of int64
        finite = not isinstance(value, float) or math.isfinite(value)
        raise no_place(dtype, holds(dtype) if finite else "integers have no infinity and no NaN")
    if math.isfinite(value) or (value == value and name_of(dtype) in _WITHOUT_INFINITY):
        hint = f"{dtype.name} ends at {largest:g}: float('-inf') is what masks take, or finfo(dtype).min"
        raise no_place(dtype, hint)


def holds(dtype):
    """What an integral NumPy dtype holds, for hints."""
    info = np.iinfo(dtype)
    return f"{dtype.name} holds {info.min} to {info.max}"


def number_in(dtype, value):
    """A Python number as a NumPy dtype takes it, again as a Python number, or refused: cut to an integer or a real part."""
    check_fits(dtype, value)
    kind = dtype.kind
    if value.__class__ is complex and kind not in _COMPLEX + "b":
        value = value.real
    if kind in "iu":
        return int(value) % (1 << 8 * dtype.itemsize) if kind == "u" else int(value)
    return value


def fitted(dtype: Any, value: Any) -> Any:
    """A Python number as a 0-dim array of a NumPy dtype, refused where it has no place there. The array is not to be written."""
    if value.__class__ in _REAL and -_SMALL <= value <= _SMALL and dtype.kind in _FRACTIONAL and dtype.itemsize > 1:  # type: ignore[operator]
        return number_array(dtype, value)
    check_fits(dtype, value)
    return _cast(dtype, value)


def relaxed(dtype, value):
    """As `fitted`, and a number too large for half precision becomes an infinity."""
    if name_of(dtype) not in _HALVES:
        return fitted(dtype, value)
    check_fits(_DOUBLE, value)
    return _cast(dtype, value)


_DOUBLE = np.dtype(np.float64)


def wrapped(dtype, value):
    """A Python number as a 0-dim array of the NumPy dtype that an operator computes in: integers lose their high bits."""
    if value.__class__ is complex and dtype.kind not in _COMPLEX:
        raise no_place(_DOUBLE, "take the real part of the value")
    return _cast(dtype, value)


def _cast(dtype, value):
    """The conversion itself, as C++ does it: cut to the low bits, half precision made from a float32."""
    kind = dtype.kind
    if value.__class__ is complex and kind not in _COMPLEX + "b":
        value = value.real
    if value.__class__ is not complex:
        lowest, largest = range_of(dtype)
        if lowest <= value <= largest and (value >= 0 or kind != "u"):
            return _converted(dtype, value)
        if kind in "iu" and isinstance(value, int):
            return np.array(value & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return _converted(dtype, value)


def _converted(dtype, value):
    direct = int if dtype.kind in "iu" else float if dtype.kind in "fc" and dtype.itemsize > 2 else None
    if value.__class__ is direct:
        return np.array(value, dtype)
    array = np.asarray(value)
    if dtype in STORED:
        return stored.narrowed(array, dtype)
    return (array.astype(np.float32) if name_of(dtype) in _HALVES else array).astype(dtype)


# ---------------------------------------------------------------- operands, kept

# (number, NumPy dtype) -> its 0-dim array. Numbers outside of `SAFE` are never among them: 2**70 and 2.0**70 are equal
# keys, and operators refuse the first; nor is zero, of which there are two.
NUMBER_ARRAYS = {}
_ZEROS = {}


def number_array(dtype, value):
    """A Python number as the 0-dim array that it is as an operand (see `wrapped`), which NumPy takes faster than the number."""
    if not value and value.__class__ is not complex:
        if value.__class__ is float and math.copysign(1.0, value) < 0:
            return np.array(value, dtype)
        return _ZEROS.get(dtype) if dtype in _ZEROS else _ZEROS.setdefault(dtype, np.zeros((), dtype))
    if value.__class__ is complex:
        return wrapped(dtype, value)
    if not -SAFE < value < SAFE:
        if value.__class__ is int:
            check_word(value)
        return wrapped(dtype, value)
    found = NUMBER_ARRAYS.get((value, dtype))
    if found is None:
        if len(NUMBER_ARRAYS) > 4096:
            NUMBER_ARRAYS.clear()
        found = NUMBER_ARRAYS[value, dtype] = wrapped(dtype, value)
    return found
