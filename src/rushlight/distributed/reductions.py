"""``ReduceOp``: how a collective joins the values of several processes."""

from __future__ import annotations

import enum

from ..base.errors import hinted


class RedOpType(enum.IntEnum):
    """The ways to join values, numbered as PyTorch's."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8

    def __str__(self):
        return f"RedOpType.{self.name}"


class ReduceOp:
    """The ways to join values: ``SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``, ``BOR``, ``BXOR``.

    >>> import rushlight as torch
    >>> print(torch.distributed.ReduceOp.SUM)
    RedOpType.SUM
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __new__(cls, op):
        return RedOpType(op)


_BITS = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
_ORDERED = (RedOpType.MIN, RedOpType.MAX, *_BITS)


def supports_complex(reduceOp):
    """Whether complex tensors can be joined so."""
    return reduceOp not in (*_ORDERED, RedOpType.PRODUCT)


def check_reduction(op, tensor, collective):
    """PyTorch's refusals of dtypes that cannot be joined by ``op``."""
    if op is RedOpType.SUM:
        return
    if not isinstance(op, RedOpType):
        raise TypeError(
            hinted(
                "(): incompatible function arguments. The following argument types are supported:",
                f"op has to be a ReduceOp, such as ReduceOp.SUM, not {op!r}",
            )
        )
    dtype = tensor.dtype
    if dtype.is_complex and not supports_complex(op):
        raise ValueError(
            hinted(f"{collective} does not support {op} on complex tensors", "join real and imaginary parts")
        )
    if op in _BITS and dtype.is_floating_point:
        raise RuntimeError(
            hinted(f"Cannot use ReduceOp.{op.name} with non-integral dtype", f"{dtype!r} numbers have no bits to join")
        )
    if op is RedOpType.AVG and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            hinted(
                f"result type Float can't be cast to the desired output type {dtype.legacy_name}",
                "the average of integers is none: convert the tensor with .float()",
            )
        )
