"""The types of sparse tensors before there were layouts: ``torch.sparse.FloatTensor`` and its like."""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..base.device import sparse_coo
from .creation import empty_coo, sparse_coo_tensor
from .tensors import SparseTensor


class _LegacyType(type):
    """The type of ``torch.sparse.FloatTensor``: calling makes a COO tensor, isinstance asks for layout and dtype."""

    dtype: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not args or all(isinstance(each, int) for each in args):
            return empty_coo(args or (0,), cls.dtype)
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            return empty_coo(args[0], cls.dtype)
        return sparse_coo_tensor(*args, dtype=cls.dtype, **kwargs)

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
