"""Batches whose elements differ in length, without padding: ``torch.nested``.

>>> import rushlight as torch
>>> x = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)
>>> torch.nn.Linear(4, 8)(x).size(2)
8
"""

from __future__ import annotations

from ..base.absent import AbsentNames as _AbsentNames
from ..tensor.refusals import guard as _guard
from . import (
    attention,
    calls,
    creation,
    files,
    layers,
    methods,
    products,
    reductions,
    shapes,
    strided_calls,
    strided_creation,
    strided_layers,
    strided_shapes,
)
from .creation import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
    to_padded_tensor,
)
from .jagged import NestedTensor

_guard(globals(), "nested", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor")

_ABSENT = _AbsentNames(
    __name__,
    {
        "": "",
        "_internal": "",
        "_internal.nested_tensor": "NestedTensor _tensor_symint_registry",
        "_internal.ops": "extract_kwargs",
    },
    "torch.nested's own functions, and values(), offsets() and lengths() of a tensor, tell the same",
    {"NestedTensor": NestedTensor},
)
_ABSENT.make_modules()

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip
