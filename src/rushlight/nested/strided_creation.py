"""Strided nested tensors from lists and masks, rectangles of them, and tensors like a given one."""

from __future__ import annotations

import numpy as np

from ..autograd.grad_mode import no_grad
from ..autograd.modes import state
from ..autograd.views import check_inplace
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor, wrap
from ..tensor.creation import as_tensor
from .padding import record
from .strided import (
    Elements,
    elements_of,
    from_parts,
    is_strided_nested,
    memory_of,
    put_buffer,
    warn_prototype,
)
from .strided_calls import not_run, takes


def _expect_one_dim(tensors):
    """Refuse tensors of different numbers of dimensions."""
    for place, each in enumerate(tensors):
        if each.ndim != tensors[0].ndim:
            message = (
                f"All Tensors given to nested_tensor must have the same dimension. Found dimension {each.ndim} for Tensor at index "
                f"{place} and dimension {tensors[0].ndim} for Tensor at index {place - 1}."
            )
            raise RuntimeError(hinted(message, "each element of the batch has as many dimensions"))


def _empty():
    return wrap(np.zeros(0, np.float32))


def _from_list(tensors, dtype, name=None):
    warn_prototype()
    _expect_one_dim(tensors)
    if not tensors:
        return put_buffer(Elements(np.zeros((0, 0), np.int64)), _empty(), name)
    dtype = tensors[0].dtype if dtype is None else dtype
    return from_parts([each.to(dtype) for each in tensors], name)


def _nested_from_lists(items, dtype, device, requires_grad):
    if not isinstance(items, list):
        message = "Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor"
        raise TypeError(hinted(message, f"this is a {type(items).__name__}"))
    with no_grad():
        tensors = [each if isinstance(each, Tensor) else as_tensor(each) for each in items]
        made = _from_list(tensors, dtype).to(device=device)
    return made.requires_grad_(requires_grad)


def _nested_from_tensors(items, dtype, device):
    """A strided nested tensor of tensors in a list, or of the parts of a dense one, whose memory it shares."""
    if isinstance(items, Tensor):
        warn_prototype()
        buffer = items.reshape(-1).to(device=device, dtype=dtype)
        shapes = np.tile(np.array(items.shape[1:], np.int64), (items.shape[0], 1))
        return put_buffer(Elements(shapes), buffer, "NestedViewFromBufferBackward0")
    return _from_list(list(items), dtype, "NestedTensorFromTensorListBackward0").to(device=device)


functions.nested_from_lists = _nested_from_lists
functions.nested_from_tensors = _nested_from_tensors


def _nested_tensor_from_mask(t, mask, mask_check=True):
    """The strided nested tensor of the rows of ``t`` (batch, length, size) for which ``mask`` (batch, length) is True.

    In each element of the batch those rows come first; RuntimeError where they do not, unless ``mask_check`` is False.
    """
    rows = mask._array
    if mask_check and not (np.sort(rows, 1)[:, ::-1] == rows).all():
        message = "Mask must be left-aligned without gaps"
        raise RuntimeError(hinted(message, "padding comes after each sequence"))
    warn_prototype()
    counts = np.count_nonzero(rows, 1)
    shapes = np.stack((counts, np.full(len(counts), t.shape[2])), 1).astype(np.int64)
    first = np.arange(rows.shape[1]) < counts[:, None]
    return put_buffer(Elements(shapes), t[wrap(first)].reshape(-1), "NestedTensorFromMaskBackward0")


def _nested_tensor_from_mask_left_aligned(t, mask):
    """Whether in each row of ``mask`` all True come first."""
    rows = mask._array
    return bool((np.sort(rows, 1)[:, ::-1] == rows).all())


functions.nested_from_mask = _nested_tensor_from_mask


# ---------------------------------------------------------------- rectangles


def _corner(place, shape):
    return (place, *map(slice, shape))


@record(
    "strided_to_padded(Tensor numbers, any elements, any padding, any size) -> Tensor", node="ToPaddedTensorBackward0"
)
class _padded_from:
    """The rectangle of the elements whose ``numbers`` lie one after the other, ``padding`` around them."""

    def forward(numbers, elements, padding, size):
        made = np.full(size, padding, numbers.dtype)
        for place, part in enumerate(elements.parts(numbers)):
            made[_corner(place, part.shape)] = part
        return made

    def d_numbers(grad, elements):
        return _corners_of(grad, elements)


@record("padded_to_strided(Tensor padded, any elements) -> Tensor", node="NestedFromPaddedBackward0")
class _corners_of:
    """The numbers of elements that stand in the corners of a rectangle, one after the other."""

    def forward(padded, elements):
        found = [padded[_corner(place, shape)].reshape(-1) for place, shape in enumerate(elements.shapes.tolist())]
        return np.concatenate(found) if found else np.zeros(0, padded.dtype)

    def d_padded(grad, elements, padded_shape):
        return _padded_from(grad, elements, 0, tuple(padded_shape))


def _strided_padded(input, padding, output_size=None):
    if not is_strided_nested(input):
        raise not_run_on_dense("to_padded_tensor")
    elements = input._array.elements
    if not elements.is_contiguous():
        message = "for now to_padded_tensor only supports contiguous nested tensor"
        raise RuntimeError(hinted(message, "contiguous() makes one"))
    if not elements.batch:
        return functions.empty(0)
    largest = (elements.batch, *elements.shapes.max(0).tolist())
    if output_size is not None:
        if len(output_size) != len(largest):
            message = "Length of output_size does not match NestedTensor dims. Broadcasting is not supported."
            raise RuntimeError(hinted(message, f"the result has {len(largest)} dimensions"))
        if any(given < needed for given, needed in zip(output_size, largest)):
            message = "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
            raise RuntimeError(hinted(message, f"the elements need {list(largest)}"))
        largest = tuple(output_size)
    return _padded_from(elements_of(input), Elements(elements.shapes), padding, largest)


def not_run_on_dense(name):
    """PyTorch's error for a dense tensor where a nested one is meant."""
    message = str(not_run(name)).splitlines()[0].replace("NestedTensorCPU", "CPU")
    return NotImplementedError(hinted(message, "torch.nested.nested_tensor makes nested tensors"))


functions.strided_padded = _strided_padded


# ---------------------------------------------------------------- tensors like a given one


def _like(name):
    function = getattr(functions, name)

    @takes(name)
    def call(input, *, layout=None, requires_grad=False, memory_format=None, **options):
        if not input._array.elements.is_contiguous():
            raise RuntimeError(hinted("NestedTensor must be contiguous to get buffer.", "contiguous() makes one"))
        made = put_buffer(input._array.elements, function(memory_of(input), **options))
        return made.requires_grad_() if requires_grad else made


for _name in ("zeros_like", "ones_like", "empty_like", "randn_like"):
    _like(_name)


def _refused(name):
    @takes(name)
    def call(*args, **kwargs):
        raise not_run(name)


for _name in ("full_like", "rand_like", "new_zeros", "new_ones", "new_empty", "equal", "allclose", "chain_matmul"):
    _refused(_name)


@takes("copy_")
def _copy(self, src, non_blocking=False):
    if not (is_strided_nested(self) and is_strided_nested(src) and self.is_same_size(src)):
        message = "copy_ only supports tensors that are the same size for Nested implementations"
        raise RuntimeError(hinted(message, "the elements of both have the same shapes"))
    if state.recording and (self.requires_grad or src.requires_grad):
        check_inplace(self, "copy_", (src,))
        message = "copy_ on strided nested tensors that require grad is not in this version"
        raise NotImplementedError(hinted(message, "write under torch.no_grad()"))
    memory_of(self).copy_(elements_of(src.detach()))
    return self
