"""``torch._check`` and its kin, ``torch.sym_int`` and its kin: numbers and conditions that PyTorch's compiler would take for symbols."""

from __future__ import annotations

import math
from functools import partial

from ..base.dtypes import int64 as _int64
from ..base.errors import hinted
from ..tensor import Tensor
from ..tensor.refusals import guarded

_UNTOLD = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement "
    "request to PyTorch.)"
)


def _check_with(error_type, cond, message=None):
    """Raise an error of this class with the text that ``message()`` gives, unless ``cond`` is True."""
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(
            hinted(_UNTOLD, "the condition is the first argument of the call; a function as the second says more")
        )
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond, message=None):
    """Raise RuntimeError unless ``cond`` is True."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """Raise IndexError unless ``cond`` is True."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """Raise ValueError unless ``cond`` is True."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """Raise TypeError unless ``cond`` is True."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """Raise NotImplementedError unless ``cond`` is True."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raise an error of this class unless all elements of ``cond`` are True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if str(cond.dtype) != "torch.bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond, message=None):
    """Raise RuntimeError unless all elements of ``cond`` are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """Raise RuntimeError unless the number can be a size."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _assert_async(input, assert_msg=None):
    """Raise RuntimeError unless the only element is True."""
    if not bool(input):
        raise RuntimeError(
            hinted(
                assert_msg or "Expected Tensor with single nonzero value, but got zero",
                "the tensor is the first argument",
            )
        )


@partial(guarded, room="torch", name="detach")
def detach(input):
    """``input.detach()``."""
    return input.detach()


def _shape_as_tensor(self):
    """The shape as a tensor of int64."""
    return self.new_tensor(list(self.shape), dtype=_int64)


class SymInt:
    """A whole number that a compiler does not know yet: none is made here; programs ask whether a number is one."""


class SymFloat:
    """A number that a compiler does not know yet: none is made here; programs ask whether a number is one."""


class SymBool:
    """A truth value that a compiler does not know yet: none is made here; programs ask whether a value is one."""


def sym_int(a):
    """A number without its fraction, rounded towards zero.

    >>> import rushlight as torch
    >>> torch.sym_int(-2.5)
    -2
    """
    return int(a)


def sym_float(a):
    """``float(a)``."""
    return float(a)


def sym_not(a):
    """``not a``."""
    return not a


def sym_ite(b, t, f):
    """``t if b else f``."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    return t if b else f


def sym_max(a, b):
    """The greater of two numbers, a float where one of them is."""
    greater = max(a, b)
    return float(greater) if isinstance(a, float) or isinstance(b, float) else greater


def sym_min(a, b):
    """The smaller of two numbers, a float where one of them is."""
    smaller = min(a, b)
    return float(smaller) if isinstance(a, float) or isinstance(b, float) else smaller


def sym_sum(args):
    """The sum of numbers."""
    return sum(args)


def sym_sqrt(a):
    """``math.sqrt(a)``."""
    return math.sqrt(a)
