"""``torch._prims_common``: questions about shapes, dtypes and layouts that PyTorch's decompositions ask."""

import enum as _enum

from ....base.dtypes import promote_types as _promote_types
from ....base.dtypes import float32 as _float32, float64 as _float64, complex64 as _complex64, complex128 as _complex128
from ....base.dtypes import float16 as _float16, bfloat16 as _bfloat16, complex32 as _complex32
from ....tensor import Tensor as _Tensor

TensorLike = _Tensor
TensorLikeType = _Tensor
Number = (bool, int, float, complex)
NumberType = bool | int | float | complex
ShapeType = list[int] | tuple[int, ...]
StrideType = ShapeType
DimsType = int | list[int] | tuple[int, ...]
DimsSequenceType = list[int] | tuple[int, ...]
_computed_in = {_float16: _float32, _bfloat16: _float32, _complex32: _complex64}
_real = {_complex32: _float16, _complex64: _float32, _complex128: _float64}


class ELEMENTWISE_TYPE_PROMOTION_KIND(_enum.Enum):
    """How the dtype of an elementwise result follows from those of its operands."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


def is_float_dtype(dtype):
    """Whether it is a floating-point dtype."""
    return dtype.is_floating_point


def is_complex_dtype(dtype):
    """Whether it is a complex dtype."""
    return dtype.is_complex


def is_integer_dtype(dtype):
    """Whether it is a dtype of whole numbers."""
    return not (dtype.is_floating_point or dtype.is_complex or is_boolean_dtype(dtype))


def is_boolean_dtype(dtype):
    """Whether it is the dtype of truth values."""
    return str(dtype) == "torch.bool"


def get_computation_dtype(dtype):
    """The dtype that an operation computes in."""
    return _computed_in.get(dtype, dtype)


def corresponding_real_dtype(dtype):
    """The dtype of a complex number's parts."""
    return _real[dtype]


def get_higher_dtype(a, b):
    """The one of two dtypes that holds both."""
    return _promote_types(a, b)


def is_contiguous(a):
    """Whether a tensor's elements lie in order."""
    return a.is_contiguous()


def is_contiguous_or_false(a):
    """Whether a tensor's elements lie in order; False where that is not known."""
    return a.is_contiguous()


def make_contiguous_strides_for(shape, row_major=True):
    """The strides of a tensor of this shape whose elements lie in order."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    strides = strides[::-1]
    return tuple(strides if row_major or len(shape) < 2 else [*strides[:-2], 1, max(shape[-2], 1)])


def canonicalize_dim(rank, idx, wrap_scalar=True):
    """The dimension as a number from 0 up."""
    bound = max(rank, 1) if wrap_scalar else rank
    if not -bound <= idx < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {idx})")
    return idx + bound if idx < 0 else idx


def canonicalize_dims(rank, indices, wrap_scalar=True):
    """The dimensions as numbers from 0 up."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, index, wrap_scalar) for index in indices)
