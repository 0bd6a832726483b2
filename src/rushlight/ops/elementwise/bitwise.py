"""Logic on truth values and on bits: and, or, xor, not, shifts."""

import numpy as np

from ...base.errors import hinted
from ..table import BINARY, INTEGRAL, LOGICAL, UNARY, composite, functions, op
from .checks import BOOL, NOT_INTEGRAL


def _truth(array):
    return array if array.dtype.kind == "b" else array != 0


@op("logical_and(Tensor self, Tensor other) -> Tensor", kind=BINARY, dtype=LOGICAL, inplace=True)
class logical_and:
    """Whether both elements are nonzero."""

    untracked = True

    def numpy(self, other):
        return _truth(self) & _truth(other)

    def element(m, self, other):
        return m.truth(self) & m.truth(other)


@op("logical_or(Tensor self, Tensor other) -> Tensor", kind=BINARY, dtype=LOGICAL, inplace=True)
class logical_or:
    """Whether one of two elements or both are nonzero."""

    untracked = True

    def numpy(self, other):
        return _truth(self) | _truth(other)

    def element(m, self, other):
        return m.truth(self) | m.truth(other)


@op("logical_xor(Tensor self, Tensor other) -> Tensor", kind=BINARY, dtype=LOGICAL, inplace=True)
class logical_xor:
    """Whether exactly one of two elements is nonzero."""

    untracked = True

    def numpy(self, other):
        return _truth(self) ^ _truth(other)

    def element(m, self, other):
        return m.truth(self) ^ m.truth(other)


@op("logical_not(Tensor self) -> Tensor", kind=UNARY, dtype=LOGICAL, inplace=True)
class logical_not:
    """Whether each element is zero."""

    untracked = True

    def numpy(self):
        return self == 0 if self.dtype.kind != "b" else ~self

    def element(m, self):
        return ~m.truth(self)


@op("bitwise_and(Operand self, Operand other) -> Tensor", kind=BINARY, dtype=INTEGRAL, inplace=True)
class bitwise_and:
    """The bits set in both integers; of bools, whether both hold."""

    numpy = np.bitwise_and


@op("bitwise_or(Operand self, Operand other) -> Tensor", kind=BINARY, dtype=INTEGRAL, inplace=True)
class bitwise_or:
    """The bits set in either integer; of bools, whether one holds."""

    numpy = np.bitwise_or


@op("bitwise_xor(Operand self, Operand other) -> Tensor", kind=BINARY, dtype=INTEGRAL, inplace=True)
class bitwise_xor:
    """The bits set in exactly one integer; of bools, whether exactly one holds."""

    numpy = np.bitwise_xor


@op("bitwise_not(Tensor self) -> Tensor", kind=UNARY, dtype=INTEGRAL, inplace=True)
class bitwise_not:
    """All bits of each integer inverted; of bools, the opposite."""

    numpy = np.invert


@composite(names=("Tensor:__invert__",))
def invert(input):
    """`bitwise_not` as the operator ``~``."""
    if input.dtype.is_floating_point or input.is_complex():
        raise TypeError(
            hinted(
                "~ (operator.invert) is only implemented on integer and Boolean-type tensors",
                f"this tensor is {input.dtype!r}; compare it first, as in ~(x > 0)",
            )
        )
    return functions.bitwise_not(input)


@op(
    "bitwise_left_shift(Operand self, Operand other) -> Tensor",
    kind=BINARY,
    inplace=True,
    refuse=(*BOOL, *NOT_INTEGRAL),
)
class bitwise_left_shift:
    """``self * 2**other`` by moving bits; 0 where all bits move out."""

    numpy = np.left_shift
    kernel = "lshift_cpu"


@op(
    "bitwise_right_shift(Operand self, Operand other) -> Tensor",
    kind=BINARY,
    inplace=True,
    refuse=(*BOOL, *NOT_INTEGRAL),
)
class bitwise_right_shift:
    """``self // 2**other`` by moving bits, keeping the sign."""

    numpy = np.right_shift
    kernel = "rshift_cpu"
