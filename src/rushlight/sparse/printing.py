"""Sparse tensors as text, to the character as PyTorch writes them."""

from __future__ import annotations

from ..base import dtypes
from ..base.device import sparse_bsc, sparse_coo, sparse_csc
from ..tensor.printing import format_elements, taken_for_granted, with_suffixes


def text_of(tensor, prefix, contents=None):
    """The printed form of a sparse tensor, which opens with ``prefix``; ``contents`` stand in place of its parts."""
    pattern, indent, suffixes = tensor._array.pattern, len(prefix), []
    if contents is None:
        named = [f"{name}=tensor(" for name in _names(tensor.layout)]
        parts = [f"{name}{_elements(array, indent + len(name))})" for name, array in zip(named, _arrays(tensor._array))]
        contents = (",\n" + " " * indent).join(parts)
    suffixes += [f"size={tuple(tensor.shape)}", f"nnz={pattern.nnz}"]
    default = dtypes.get_default_dtype().name
    if tensor.dtype.name != default and not taken_for_granted(tensor.dtype.name, default):
        suffixes.append(f"dtype={tensor.dtype!r}")
    suffixes.append(f"layout={tensor.layout}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{type(tensor.grad_fn).__name__}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return with_suffixes(prefix + contents, suffixes, indent, tensor.layout is sparse_coo)


def _names(layout):
    if layout is sparse_coo:
        return "indices", "values"
    lines, others = ("ccol", "row") if layout in (sparse_csc, sparse_bsc) else ("crow", "col")
    return f"{lines}_indices", f"{others}_indices", "values"


def _arrays(array):
    pattern = array.pattern
    if pattern.layout is sparse_coo:
        return pattern.indices, array.values
    return pattern.compressed, pattern.plain, array.values


def _elements(array, indent):
    return format_elements(array, indent) if array.size else f"[], size={tuple(array.shape)}"
