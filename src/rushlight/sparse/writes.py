"""Writes: sparse tensors changed in place, and sparse ones added to dense ones, as optimizers and accumulation do."""

from __future__ import annotations

import numpy as np

from ..autograd.modes import state
from ..autograd.views import check_inplace
from ..base import dtypes
from ..base.device import sparse_coo, sparse_csr, strided
from ..base.errors import hinted
from ..base.layouts import LAYOUT_PLUGS, Layout
from ..base.sparse_array import SparseArray
from ..ops.copy import refuse_overlap
from ..ops.schema import is_number
from ..ops.table import functions
from ..tensor.creation import type_name
from ..tensor.writes import write_result
from . import elementwise
from .calls import holds_sparse, is_sparse, not_run, sparse_call, sparse_write, takes, writes
from .conversion import scattered
from .patterns import Coordinates
from .tensors import SparseTensor, copied


def _write(tensor, name, find):
    """Let ``tensor`` become what ``find()`` gives, a tensor of its layout, where autograd does not follow."""
    if state.recording and tensor.requires_grad:
        check_inplace(tensor, name)
        raise NotImplementedError(
            hinted(
                f"{name} on a sparse tensor that requires grad is not in this version",
                f"use x = x.{name[:-1]}(...)",
            )
        )
    found = find()
    if state.recording and found.requires_grad:
        raise NotImplementedError(
            hinted(f"{name} with an operand that requires grad is not in this version", f"use x = x.{name[:-1]}(...)")
        )
    array = found._array
    if array.dtype != tensor._array.dtype:
        source, goal = found.dtype, tensor.dtype
        if not dtypes.can_cast(source, goal):
            message = f"result type {source.legacy_name} can't be cast to the desired output type {goal.legacy_name}"
            raise RuntimeError(hinted(message, "convert the tensor first"))
        array = SparseArray(array.pattern, array.values.astype(tensor._array.dtype))
    own = tensor._array
    if array.pattern is own.pattern and array.values is not own.values:
        own.values[...] = array.values  # who shares the values sees it
    else:
        tensor._array = array
    functions.bump_version(tensor, name)
    return tensor


def _inplace(name):
    function = getattr(functions, name)

    def write(self, *args, **kwargs):
        return _write(self, name + "_", lambda: function(self, *args, **kwargs))

    return _method(name, write)


def _inplace_unary(name):
    function = getattr(functions, name)

    def write(self, *args):
        if self.layout is sparse_coo and not self._array.pattern.coalesced:
            raise RuntimeError(
                hinted(f"{name}_ requires coalesced input", "entries at one place count as their sum: coalesce() first")
            )
        return _write(self, name + "_", lambda: function(self, *args))

    return _method(name, write)


def _method(name, write):
    write.__name__ = name + "_"
    write.__qualname__ = f"Tensor.{name}_"
    write.__doc__ = write.__doc__ or f"In-place form of `{name}`, on a sparse tensor."
    setattr(SparseTensor, name + "_", write)


for _name in ("neg", "add", "sub", "mul", "div"):
    _inplace(_name)
for _name in elementwise.UNARY:
    if not _name.startswith("is") and hasattr(SparseTensor, _name + "_"):
        _inplace_unary(_name)
for _dunder, _name in {"__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_"}.items():
    setattr(SparseTensor, _dunder, vars(SparseTensor)[_name])


def _zero(self):
    """Take all entries out."""
    return _write(self, "zero_", lambda: functions.zeros_like(self.detach()))


def sparse_accumulated(present, grad, recording):
    """The gradient ``present``, which is sparse, and ``grad``: dense, where that is."""
    if not is_sparse(grad) or present.layout is not grad.layout:
        return grad.to_dense() + present
    return present + grad if recording else present.add_(grad)


_WITH_OUT = frozenset((*elementwise.UNARY, "neg", "add", "sub", "mul", "div", "pow", "mm", "addmm"))


def _write_out(op, values, targets):
    """The ``out=`` form where a sparse tensor is among arguments or results: the target becomes the result, if of its layout."""
    if not holds_sparse(values) and not holds_sparse(targets):
        return False
    target = targets[0]
    if op.name not in _WITH_OUT or not holds_sparse(values):
        raise not_run(op.name + ".out", [*values, *targets])
    if op.name in ("signbit", "isposinf", "isneginf") and target.dtype is not dtypes.bool_:
        raise RuntimeError(hinted(f"{op.name} does not support non-boolean outputs.", "give one of torch.bool"))
    found = sparse_call(op, values)
    if found.layout is not target.layout or found.layout not in (strided, sparse_coo, sparse_csr):
        raise not_run(op.name + ".out", [*values, *targets])
    if is_sparse(found):
        own, made = target._array.pattern, found._array.pattern
        if found.layout is sparse_coo and own.nnz:
            _check_growth(own, made.shape, made.sparse_dim, made.dense_dim)
        elif found.layout is sparse_csr and own.nnz != made.nnz:
            message = (
                "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
            )
            raise RuntimeError(hinted(message, f"the target has {own.nnz}, the result {made.nnz}"))
        _write(target, op.name, lambda: found)
    else:
        write_result(target, found._array, op.name, op.name not in ("mm", "addmm"))
    return True


LAYOUT_PLUGS[SparseArray] = Layout(SparseTensor, sparse_call, sparse_write, _write_out, copied, sparse_accumulated)
_method("zero", _zero)


@takes("copy_")
def _copy(self, src, non_blocking=False):
    if not (is_sparse(self) and is_sparse(src)):
        message = (
            f"copy_() between dense and sparse Tensors is not implemented! Found self type = {_type_name(self)} and src type = "
            f"{_type_name(src)}"
        )
        raise RuntimeError(hinted(message, "copy_(src.to_dense()), or convert the target"))
    if state.recording and self.requires_grad:
        check_inplace(self, "copy_")
    source = src._array
    self._array = SparseArray(source.pattern, source.values.astype(self._array.dtype, copy=True))
    functions.bump_version(self, "copy_")
    return self


def _type_name(tensor):
    name = type_name(tensor.dtype)
    return name.replace("torch.", "torch.sparse.") if is_sparse(tensor) else name


@writes("add_")
def _add_to_dense(self, other, alpha=1):
    """``dense.add_(sparse)``: only the entries are touched."""
    if is_sparse(self):  # called as a function, not as its method
        return self.add_(other, alpha=alpha)
    if not is_number(alpha):
        raise TypeError(f"add_(): argument 'alpha' must be Number, not {type(alpha).__name__}")
    if self.shape != other.shape or (state.recording and (self.requires_grad or other.requires_grad)):
        return self.copy_(functions.add(self, other, alpha=alpha))  # which refuses, or is followed
    common = dtypes.promote_types(self.dtype, other.dtype)
    if not dtypes.can_cast(common, self.dtype):
        message = f"Can't convert result type {common.legacy_name} to output {self.dtype.legacy_name} in add operation"
        raise RuntimeError(hinted(message, "convert the tensor first"))
    target, array = self._array, other._array
    refuse_overlap(target)
    values = array.values.astype(target.dtype, copy=False)
    values = values if alpha == 1 else values * target.dtype.type(alpha)
    if target.flags.c_contiguous:
        scattered(values, array.pattern, target)
    else:
        target[...] = scattered(values, array.pattern, np.ascontiguousarray(target))
    functions.bump_version(self, "add_")
    return self


@writes("sub_")
def _subtract_from_dense(self, other, alpha=1):
    return _add_to_dense(self, other, -alpha)


@writes("mul_")
def _times_dense(self, other):
    return self.copy_(functions.mul(self, other).to_dense())


def _check_growth(pattern, size, sparse_dim, dense_dim):
    """Refuse to give a COO pattern that has entries other dimensions, or smaller ones."""
    hint = "sparse_resize_and_clear_ takes the entries out, too"
    for kind, old, wanted in (("sparse", pattern.sparse_dim, sparse_dim), ("dense", pattern.dense_dim, dense_dim)):
        if old != wanted:
            message = f"changing the number of {kind} dimensions (from {old} to {wanted}) on a non-empty sparse tensor is not supported."
            raise RuntimeError(hinted(message, hint))
    if any(new < old for new, old in zip(size, pattern.shape)) or size[sparse_dim:] != pattern.shape[sparse_dim:]:
        message = f"shrinking the size of sparse dimensions (from {list(pattern.shape[:sparse_dim])} to {list(size)[:sparse_dim]}) on a non-empty sparse tensor is not supported."
        raise RuntimeError(hinted(message, hint))


def sparse_resize_(self, size, sparse_dim, dense_dim):
    """Give a COO tensor another size, in place: of as many sparse and dense dimensions, no length of which shrinks.

    >>> import rushlight as torch
    >>> torch.sparse_coo_tensor([[0]], [1.0], (2,)).sparse_resize_((3,), 1, 0).shape
    torch.Size([3])
    """
    pattern = self._array.pattern
    if not pattern.nnz:
        return sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)
    _check_growth(pattern, tuple(size), sparse_dim, dense_dim)
    self._array = SparseArray(Coordinates(size, pattern.indices, pattern.coalesced), self._array.values)
    functions.bump_version(self, "sparse_resize_")
    return self


def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim):
    """Give a COO tensor another size, in place, and take all entries out."""
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        message = f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        raise RuntimeError(hinted(message, "sparse dimensions come first"))
    values = np.zeros((0, *size[sparse_dim:]), self._array.dtype)
    self._array = SparseArray(Coordinates(size, np.zeros((sparse_dim, 0), np.int64), True), values)
    functions.bump_version(self, "sparse_resize_and_clear_")
    return self
