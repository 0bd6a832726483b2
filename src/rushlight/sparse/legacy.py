"""The types of sparse tensors before there were layouts: ``torch.sparse.FloatTensor`` and its like."""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..base.device import sparse_coo
from ..base.errors import hinted, kind_name
from ..base.size import Size
from ..tensor import Tensor
from .creation import empty_coo, sparse_coo_tensor
from .tensors import SparseTensor


def _made(dtype: Any, args: Any, kwargs: Any) -> Any:
    """A COO tensor of lengths, of a size, or of indices, values and perhaps a size."""
    if not args or all(isinstance(each, int) for each in args):
        return empty_coo(args or (0,), dtype)
    if len(args) == 1 and isinstance(args[0], Size):
        return empty_coo(args[0], dtype)
    _check(args)
    return sparse_coo_tensor(*args, dtype=dtype, **kwargs)


def _check(args: Any) -> None:
    """Refuse what are no indices and values."""
    hint = "give lengths, a torch.Size, or tensors of indices and values, and perhaps a size"
    parts = all(isinstance(each, Tensor) for each in args[:2]) and all(
        isinstance(each, (tuple, list)) for each in args[2:]
    )
    if len(args) not in (2, 3) or not parts:
        message = f"new() received an invalid combination of arguments - got ({', '.join(map(kind_name, args))}), but expected one of:"
        if len(args) == 1 and isinstance(args[0], (tuple, list)) and all(isinstance(each, int) for each in args[0]):
            message = "torch.sparse.SparseTensor(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a strided tensor and convert it to sparse via to_sparse."
        raise TypeError(hinted(message, hint))
    if args[0].dtype is not dtypes.int64:
        message = f"expected scalar type Long but found {args[0].dtype.legacy_name}"
        whole = args[0].dtype.category in (dtypes.SIGNED, dtypes.UNSIGNED)
        raise RuntimeError(
            hinted("indices must be an int64 tensor" if whole else message, "indices.long() converts them")
        )


def new(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
    """A tensor of this tensor's dtype, COO as it is, made as by its legacy type: ``x.new(indices, values, size)``."""
    if self.layout is not sparse_coo:
        return Tensor.new(self, *args, **kwargs)
    return _made(self.dtype, args, kwargs)


setattr(SparseTensor, "new", new)  # noqa: B010 - mypy takes no assignment to a method


class _LegacyType(type):
    """The type of ``torch.sparse.FloatTensor``: calling makes a COO tensor, isinstance asks for layout and dtype."""

    dtype: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _made(cls.dtype, args, kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is SparseTensor and instance.layout is sparse_coo and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


def _legacy(dtype):
    name = f"{dtype.legacy_name}Tensor"
    doc = f"Legacy type of COO tensors of {dtype!r}."
    return name, _LegacyType(name, (), {"dtype": dtype, "__module__": "torch.sparse", "__doc__": doc})


LEGACY = dict(
    _legacy(dtype)
    for dtype in (
        dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.int32, dtypes.int16, dtypes.int8,
        dtypes.uint8,
    )
)  # fmt: skip
