"""Data types: what an element is, how types promote, and the limits of each."""

from __future__ import annotations

import math
import warnings

import numpy as np

from .errors import hinted, kind_name
from .user_code import to_user

BOOL, UNSIGNED, SIGNED, FLOATING, COMPLEX = range(5)


# Types of parts of a byte, of quantized numbers and of scales, by category: (name, bytes, name in messages).
_PACKED = {
    UNSIGNED: (
        *((f"uint{bits}", 1, f"UInt{bits}") for bits in range(1, 8)),
        *((f"bits{form}", 1, f"Bits{form}") for form in ("1x8", "2x4", "4x2", "8")), ("bits16", 2, "Bits16"),
        *((f"quint{form}", 1, f"QUInt{form}") for form in ("8", "4x2", "2x4")),
    ),
    SIGNED: (*((f"int{bits}", 1, f"Int{bits}") for bits in range(1, 8)), ("qint8", 1, "QInt8"), ("qint32", 4, "QInt32")),
    FLOATING: (("float4_e2m1fn_x2", 1, "Float4_e2m1fn_x2"),),
}  # fmt: skip

# Types that can be named and compared, but not stored; and what to use in their place.
_NAMES_ONLY = {
    name: "float16 or bfloat16" if category == FLOATING else "int8 or uint8"
    for category, types in _PACKED.items() for name, *_ in types
}  # fmt: skip

# Types whose numbers are stored, moved and converted, but hardly computed with; their NumPy dtypes are those of ml_dtypes.
_FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
_STORED = frozenset(("complex32", *_FLOAT8))
# The NumPy dtypes of those that this process has used: empty in most programs, which is all that the paths of others ask.
STORED: dict[np.dtype, DType] = {}
# Not empty once there has been one of those in this process, or memory with lazy bits (`base.lazy`).
UNUSUAL: list[bool] = []


class DType:
    """A tensor's element type, such as ``torch.float32``. There is one object for each type, compared with ``is``.

    Attributes: ``name`` ("float32"), ``itemsize`` (bytes), ``is_floating_point``, ``is_complex``, ``is_signed``,
    ``category`` (bool < integers < floating < complex, the order in which promotion climbs) and ``numpy``.

    >>> import rushlight as torch
    >>> torch.float16.itemsize, torch.complex64.is_complex, torch.int64
    (2, True, torch.int64)
    """

    __slots__ = (
        "_numpy",
        "category",
        "is_complex",
        "is_floating_point",
        "is_signed",
        "itemsize",
        "legacy_name",
        "name",
    )
    name: str
    legacy_name: str
    itemsize: int
    is_floating_point: bool
    is_complex: bool
    is_signed: bool

    def __init__(self, name, category, itemsize, legacy_name):
        self.name, self.category, self.itemsize, self.legacy_name = name, category, itemsize, legacy_name
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX
        self.is_signed = category >= SIGNED and name != "float8_e8m0fnu"
        late = name == "bfloat16" or name in _STORED or name in _NAMES_ONLY
        self._numpy = None if late else np.dtype(name)

    @property
    def numpy(self):
        """The NumPy dtype that stores it; those of bfloat16, float8 and complex32 come from the package ml_dtypes."""
        if self._numpy is None:
            if self.name in _NAMES_ONLY:
                raise NotImplementedError(
                    hinted(
                        f"torch.{self.name} is not available",
                        f"NumPy has no such numbers: use {_NAMES_ONLY[self.name]}",
                    )
                )
            import ml_dtypes  # when first needed: it takes milliseconds

            self._numpy = np.dtype(getattr(ml_dtypes, self.name))
            BY_NUMPY[self._numpy] = self
            if self.name in _STORED:
                STORED[self._numpy] = self
                UNUSUAL.append(True)
                _BEYOND.add(self._numpy)
            else:
                FLOATS.add(self._numpy)
            if self is complex32:
                text = "ComplexHalf support is experimental and many operators don't support it yet."
                warnings.warn(text, stacklevel=to_user())
        return self._numpy

    def to_complex(self):
        """The complex type of the same precision."""
        return self if self.is_complex else {float16: complex32, float64: complex128}.get(self, complex64)

    def to_real(self):
        """The real type of a complex type's parts; any other type is its own."""
        return {complex32: float16, complex64: float32, complex128: float64}.get(self, self)

    def __repr__(self):
        return "torch." + self.name

    def __reduce__(self):
        return _by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


# What Python's own messages, and the class's text, call it.
DType.__name__, DType.__qualname__, DType.__module__ = "torch.dtype", "dtype", "torch"

bool_ = DType("bool", BOOL, 1, "Bool")
uint8 = DType("uint8", UNSIGNED, 1, "Byte")
uint16 = DType("uint16", UNSIGNED, 2, "UInt16")
uint32 = DType("uint32", UNSIGNED, 4, "UInt32")
uint64 = DType("uint64", UNSIGNED, 8, "UInt64")
int8 = DType("int8", SIGNED, 1, "Char")
int16 = DType("int16", SIGNED, 2, "Short")
int32 = DType("int32", SIGNED, 4, "Int")
int64 = DType("int64", SIGNED, 8, "Long")
float16 = DType("float16", FLOATING, 2, "Half")
bfloat16 = DType("bfloat16", FLOATING, 2, "BFloat16")
float32 = DType("float32", FLOATING, 4, "Float")
float64 = DType("float64", FLOATING, 8, "Double")
complex64 = DType("complex64", COMPLEX, 8, "ComplexFloat")
complex128 = DType("complex128", COMPLEX, 16, "ComplexDouble")
complex32 = DType("complex32", COMPLEX, 4, "ComplexHalf")
float8_e4m3fn = DType("float8_e4m3fn", FLOATING, 1, "Float8_e4m3fn")
float8_e4m3fnuz = DType("float8_e4m3fnuz", FLOATING, 1, "Float8_e4m3fnuz")
float8_e5m2 = DType("float8_e5m2", FLOATING, 1, "Float8_e5m2")
float8_e5m2fnuz = DType("float8_e5m2fnuz", FLOATING, 1, "Float8_e5m2fnuz")
float8_e8m0fnu = DType("float8_e8m0fnu", FLOATING, 1, "Float8_e8m0fnu")

ALL = (bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64,
       complex128)  # fmt: skip
PACKED = {
    name: DType(name, category, size, shown) for category, types in _PACKED.items() for name, size, shown in types
}
FLOAT8 = (float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
NAMES = {dtype.name: dtype for dtype in (*ALL, complex32, *FLOAT8)} | PACKED

BY_NUMPY = {dtype._numpy: dtype for dtype in ALL if dtype._numpy is not None}
# NumPy dtypes that can carry a gradient; a set of dtype objects, for the fast paths.
FLOATS = {d.numpy for d in (float16, float32, float64)}
COMPLEXES = frozenset((complex64.numpy, complex128.numpy))
BOOL_ARRAY = bool_.numpy
INT64_ARRAY = int64.numpy


def _by_name(name):
    return NAMES[name]


def from_numpy(dtype):
    """The DType of a NumPy dtype; ``TypeError`` for one that tensors cannot hold."""
    try:
        return BY_NUMPY[dtype]
    except KeyError:
        pass
    dtype = np.dtype(dtype)
    if dtype.name == "bfloat16" and bfloat16.numpy == dtype:
        return bfloat16
    found = BY_NUMPY.get(dtype.newbyteorder("="))
    if found is None or not dtype.isnative:
        raise TypeError(
            f"can't convert np.ndarray of type {dtype.type.__module__}.{dtype.type.__name__}. The only supported types are: "
            "float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
            "uint8, and bool."
        )
    return found


def interned(array):
    """``array`` with the one object that its dtype is here, on the same memory.

    NumPy makes more objects of a dtype: for unpickled arrays, for ``longlong`` beside ``int64``, where there is metadata. What
    becomes a tensor passes here, so that operations may ask ``array.dtype is dtype``.
    """
    given = array.dtype
    known = from_numpy(given).numpy
    return array if given is known else array.view(known)


_BEYOND = set()  # what can carry a gradient beside FLOATS and COMPLEXES, which fast paths know


def register_lazy(lazy, dtype):
    """Let ``lazy``, which stands for the NumPy dtype of ``dtype`` where memory has lazy bits (`base.lazy`), be known as it."""
    BY_NUMPY[lazy] = dtype
    if dtype.is_floating_point or dtype.is_complex:
        _BEYOND.add(lazy)


def is_differentiable(array_dtype):
    """Whether tensors of this NumPy dtype can require a gradient: floating point or complex."""
    return array_dtype in FLOATS or array_dtype in COMPLEXES or array_dtype in _BEYOND


# The Python types that may stand for a type.
PYTHON = {float: float64, int: int64, bool: bool_, complex: complex128}

_default = float32


def get_default_dtype():
    """The floating type of new tensors made from Python floats (``torch.float32`` unless changed)."""
    return _default


def set_default_dtype(dtype):
    """Set the floating type of new tensors made from Python floats: a floating ``torch.dtype``."""
    global _default
    if not isinstance(dtype, DType):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if dtype in FLOAT8:
        message = f"couldn't find storage object {_capital(dtype)}Storage"
        raise TypeError(hinted(message, "nothing computes in it: make tensors of float32 and convert them"))
    _default = dtype


# ---------------------------------------------------------------- promotion

_WIDE_UNSIGNED = frozenset((uint16, uint32, uint64))


def _promote(a, b):
    if a is b:
        return a
    if a in FLOAT8 or b in FLOAT8:
        raise RuntimeError(
            hinted(
                f"Promotion for Float8 Types is not supported, attempted to promote {_capital(a)} and {_capital(b)}",
                "convert one of them first",
            )
        )
    low, high = (a, b) if a.category <= b.category else (b, a)
    if high.category != FLOATING and not _WIDE_UNSIGNED.isdisjoint((a, b)):
        raise RuntimeError(
            hinted(
                "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                f"{_capital(a)} and {_capital(b)}",
                "convert one of them: they have no type in common with other integers",
            )
        )
    if low.category == BOOL:
        return high
    if high.category == COMPLEX:
        if high is complex32 and (low.category < FLOATING or low is float16):
            return complex32
        double = complex128 in (low, high) or low is float64
        return complex128 if double else complex64
    if high.category == FLOATING:
        if low.category != FLOATING:
            return high
        if low.itemsize == high.itemsize:  # float16 with bfloat16
            return float32
        return low if low.itemsize > high.itemsize else high
    if low is uint8:
        return int16 if high is int8 else high
    return low if low.itemsize > high.itemsize else high


def _capital(dtype):
    return dtype.legacy_name


def promote_types(type1, type2):
    """The smallest type that both types convert to without loss of category, as ``torch.promote_types``.

    >>> import rushlight as torch
    >>> torch.promote_types(torch.int32, torch.float16)
    torch.float16
    """
    try:
        return _PROMOTED[type1, type2]
    except (KeyError, TypeError):
        types = [PYTHON.get(value, value) if isinstance(value, type) else value for value in (type1, type2)]
        for place, value in enumerate(types, 1):
            if not isinstance(value, DType):
                words = f"promote_types(): argument 'type{place}' (position {place}) must be torch.dtype, not {kind_name(value)}"
                raise TypeError(hinted(words, "dtypes are torch.float32, torch.int64, ...")) from None
        result = _PROMOTED[type1, type2] = _promote(*types)
        return result


_PROMOTED: dict[tuple[DType, DType], DType] = {}


def of_scalar(value):
    """The type that a Python number alone would get: bool, int64, the default float or its complex."""
    kind = type(value)
    if kind is bool:
        return bool_
    if kind is int:
        return int64
    if kind is float:
        return _default
    if kind is complex:
        return _default.to_complex()
    if isinstance(value, (np.bool_, bool)):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating)):
        return _default
    return _default.to_complex()


def of_operand(value):
    """The type that a Python number has beside tensors: as `of_scalar`, and uint64 for integers that need all 64 bits."""
    kind = value.__class__
    if kind is float:
        return _default
    if kind is int:
        return int64 if value < _INT64_END else uint64
    return of_scalar(value)


_INT64_END = 1 << 63


def result_type(dimensioned, zero_dimensional, scalars):
    """Promotion over the three groups of operands that PyTorch tells apart.

    Each argument is an iterable of DTypes. A group outvotes the ones before it only by a higher category, so
    ``int32 tensor + 0-dim int64 tensor`` stays int32 and ``float32 tensor * 2.5`` stays float32.
    """
    result = None
    for group in (dimensioned, zero_dimensional, scalars):
        group_type = None
        for dtype in group:
            group_type = dtype if group_type is None else promote_types(group_type, dtype)
        if group_type is None:
            continue
        if result is None or _rank(group_type) > _rank(result):
            if result is not None and group is scalars and group_type.category == FLOATING:
                group_type = _default
            if result is not None and group_type.category == COMPLEX and result.category == FLOATING:
                group_type = result.to_complex()
            elif result is bool_:
                promote_types(result, group_type)  # which refuses the wide unsigned ones
            result = group_type
    return result


def _rank(dtype):
    return (0, 1, 1, 2, 3)[dtype.category]


def can_cast(from_, to):
    """Whether a result of type ``from_`` may be written into a tensor of type ``to``: categories never go down."""
    if from_.is_complex and not to.is_complex:
        return False
    if from_.is_floating_point and not (to.is_floating_point or to.is_complex):
        return False
    return not (from_ is not bool_ and to is bool_)


# ---------------------------------------------------------------- limits


def _checked(function, value):
    value = PYTHON.get(value, value) if isinstance(value, type) else value
    if not isinstance(value, DType):
        words = f"{function}(): argument 'type' (position 1) must be torch.dtype, not {kind_name(value)}"
        raise TypeError(hinted(words, "dtypes are torch.float32, torch.int64, ..."))
    return value


class finfo:
    """The numerical limits of a floating type: ``bits, eps, max, min, tiny, smallest_normal, resolution, dtype``.

    >>> import rushlight as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type=None):
        dtype = _default if type is None else _checked("finfo", type)
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{dtype!r}'"
            )
        real = dtype.to_real()
        if real is bfloat16 or real in FLOAT8 or real.name in _NAMES_ONLY:
            import ml_dtypes

            info = ml_dtypes.finfo(getattr(ml_dtypes, real.name))
        else:
            info = np.finfo(real.numpy)
        self.bits, self.dtype = real.itemsize * 8, real.name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        if real is float8_e5m2fnuz:
            self.eps = 0.125  # PyTorch's number; the step above 1 is twice that
        self.resolution = 10.0 ** -int(-math.log10(float(info.eps)))

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer type: ``bits, max, min, dtype``.

    >>> import rushlight as torch
    >>> torch.iinfo(torch.int8).max
    127
    """

    def __init__(self, type):
        type = _checked("iinfo", type)
        if type is bool_:
            raise TypeError(hinted("torch.bool is not supported by torch.iinfo", "its values are False and True"))
        if type.category not in (UNSIGNED, SIGNED):
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type!r}'")
        info = np.iinfo(type.numpy)
        self.bits, self.max, self.min, self.dtype = info.bits, int(info.max), int(info.min), type.name

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
