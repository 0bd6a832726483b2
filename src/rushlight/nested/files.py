"""What nested tensors are made of, as files hold it, and the tensors made of such parts once they are known to fit."""

from __future__ import annotations

import numpy as np

from ..ops.table import functions
from ..tensor.base import wrap
from .jagged import is_jagged, jagged_of
from .strided import strided_of


def _nested_parts(tensor):
    """What PyTorch's files hold of a nested tensor: a dict of the jagged layout's parts, or tensors in a tuple."""
    if not is_jagged(tensor):
        elements = tensor._array.elements
        places = (elements.shapes, elements.strides, elements.offsets)
        return (wrap(tensor._array.values), *[wrap(np.ascontiguousarray(each)) for each in places])
    structure = tensor._array.structure
    # A length is held as that of a tensor without numbers.
    known = {f"{name}_seqlen": wrap(np.zeros((length, 0), np.float32)) for name, length in structure.extremes.items()}
    return {
        "values": wrap(tensor._array.values), "offsets": wrap(structure.offsets._array),
        "lengths": None if structure.lengths is None else wrap(structure.lengths._array), "_ragged_idx": structure.ragged,
        "_metadata_cache": known, "requires_grad": tensor.requires_grad,
    }  # fmt: skip


def _expect(holds, what):
    if not holds:
        raise ValueError(what)


def _are_numbers(*tensors):
    return all(each._array.__class__ is np.ndarray and each._array.dtype.kind == "i" for each in tensors)


def _jagged_from_parts(values, offsets, lengths, ragged, extremes, requires_grad):
    """The jagged tensor of these parts; ValueError where they do not fit together."""
    given = (offsets,) if lengths is None else (offsets, lengths)
    _expect(_are_numbers(*given) and all(each.ndim == 1 for each in given), "offsets are no list of whole numbers")
    _expect(ragged.__class__ is int and 1 <= ragged <= values.ndim, f"there is no dimension {ragged}")
    starts, total = offsets._array, values._array.shape[ragged - 1]
    counts = np.diff(starts) if lengths is None else lengths._array
    _expect(len(starts) == len(counts) + 1, "there are not as many lengths as elements")
    ends = starts[:-1] + counts
    inside = not len(counts) or (min(counts.min(), starts.min()) >= 0 and max(ends.max(), starts.max()) <= total)
    _expect(inside, f"an element lies outside of the {total} positions")
    return jagged_of(values, offsets, lengths, ragged, extremes, requires_grad)


def _strided_from_parts(buffer, shapes, strides, offsets):
    """The strided nested tensor of these parts; ValueError where they do not fit together."""
    _expect(_are_numbers(shapes, strides, offsets), "shapes and places are no whole numbers")
    sizes, steps, starts = shapes._array, strides._array, offsets._array
    _expect(buffer.ndim == 1 and sizes.ndim in (1, 2) and starts.ndim == 1, "the buffer, or a part, has another form")
    sizes, steps = sizes.reshape(len(starts), -1), steps.reshape(len(starts), -1)
    _expect(sizes.shape == steps.shape, "there are not as many strides as lengths")
    _expect(min(each.min(initial=0) for each in (sizes, steps, starts)) >= 0, "a length or a place is negative")
    last = starts + ((sizes - 1) * steps).sum(1)
    full = (sizes > 0).all(1)
    _expect(
        (last[full] < buffer._array.shape[0]).all(), f"an element lies outside of the {buffer._array.shape[0]} numbers"
    )
    return strided_of(buffer, wrap(sizes), wrap(steps), offsets, buffer.requires_grad)


functions.nested_parts = _nested_parts
functions.jagged_from_parts = _jagged_from_parts
functions.strided_from_parts = _strided_from_parts
