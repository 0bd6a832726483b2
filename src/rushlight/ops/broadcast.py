"""Shapes of several tensors made one: broadcasting, grids of coordinates, combinations."""

import math
import warnings

import numpy as np

from ..base.errors import hinted
from ..base.limits import too_many_elements
from ..base.scalars import type_name
from ..base.shapes import broadcast_shapes
from ..base.size import Size
from ..base.user_code import to_user
from .moving import ramps
from .table import composite, functions


def _tensors(given):
    """The tensors of ``f(a, b)`` or ``f([a, b])``."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


def _at_least(given, grow):
    if len(given) == 1 and not isinstance(given[0], (tuple, list)):
        return grow(given[0])
    return tuple(grow(t) for t in _tensors(given))


@composite
def atleast_1d(*tensors):
    """Each tensor with at least one dimension."""
    return _at_least(tensors, lambda t: t.reshape(1) if t.ndim == 0 else t)


@composite
def atleast_2d(*tensors):
    """Each tensor with at least two dimensions."""
    return _at_least(tensors, lambda t: t.reshape(1, 1) if t.ndim == 0 else t.unsqueeze(0) if t.ndim == 1 else t)


@composite
def atleast_3d(*tensors):
    """Each tensor with at least three dimensions."""

    def grow(t):
        if t.ndim == 0:
            return t.reshape(1, 1, 1)
        if t.ndim == 1:
            return t.unsqueeze(0).unsqueeze(-1)
        return t.unsqueeze(-1) if t.ndim == 2 else t

    return _at_least(tensors, grow)


@composite(names=("torch",))
def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape.

    >>> import rushlight as torch
    >>> [t.shape for t in torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(2))]
    [torch.Size([3, 2]), torch.Size([3, 2])]
    """
    tensors = _tensors(tensors)
    shape = broadcast_shapes(*[t._array.shape for t in tensors])
    return tuple(t if t._array.shape == shape else t.expand(shape) for t in tensors)


def _shape(given):
    if not isinstance(given, (int, tuple, list)):
        message = f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {given}"
        raise RuntimeError(hinted(message, "a tensor has its shape in x.shape"))
    return (given,) if isinstance(given, int) else given if isinstance(given, tuple) else tuple(given)


@composite(names=("torch:broadcast_shapes",))
def common_shape(*shapes):
    """The shape that all given shapes expand to.

    >>> import rushlight as torch
    >>> torch.broadcast_shapes((3, 1), (2,))
    torch.Size([3, 2])
    """
    shapes = [_shape(given) for given in shapes]
    result = [1] * max((len(s) for s in shapes), default=0)
    for number, shape in enumerate(shapes):
        for place in range(-1, -len(shape) - 1, -1):
            length = shape[place]
            if length in (1, result[place]):
                continue
            if length < 0 and result[place] == 1:
                raise ValueError(
                    hinted(
                        "Attempting to broadcast a dimension with negative length!", f"argument {number} has {length}"
                    )
                )
            if result[place] != 1:
                raise RuntimeError(
                    hinted(
                        f"Attempting to broadcast a dimension of length {length} at {place}! Mismatching argument at index "
                        f"{number} had {shape}; but expected shape should be broadcastable to {result}",
                        "counted from the right, lengths must be equal or 1",
                    )
                )
            result[place] = length
    return Size(result)


def _check_coordinates(tensors):
    if not tensors:
        raise RuntimeError(hinted("meshgrid expects a non-empty TensorList", "give one tensor for each dimension"))
    kind = tensors[0].dtype
    for tensor in tensors:
        if tensor._array.ndim > 1:
            shown = f"{type_name(tensor.dtype)}{{{','.join(map(str, tensor.shape))}}}"
            if not tensor.numel():
                shown = f"[ {shown} ]"
            elif tensor.ndim > 2:  # the first line of what PyTorch prints of it
                shown = f"({'1,' * (tensor.ndim - 2)}.,.) = "
            raise RuntimeError(
                hinted(
                    f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {shown}",
                    "the coordinates along a dimension form one row",
                )
            )
    if [t for t in tensors if t.dtype is not kind]:
        raise RuntimeError(hinted("meshgrid expects all tensors to have the same dtype", "convert them with .to()"))


@composite(names=("torch",))
def meshgrid(*tensors, indexing=None):
    """Grids of the coordinates in 1-dim tensors: one tensor of the common shape for each.

    Args:
        tensors: the coordinates along each dimension.
        indexing: "ij" (dimension i belongs to tensor i) or "xy" (the first two exchanged, as for pictures).

    >>> import rushlight as torch
    >>> torch.meshgrid(torch.arange(2), torch.arange(3), indexing="xy")[0]
    tensor([[0, 1],
            [0, 1],
            [0, 1]])
    """
    tensors = _tensors(tensors)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            stacklevel=to_user(),
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            hinted(
                f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}',
                '"ij" is the order of matrices, "xy" that of pictures',
            )
        )
    _check_coordinates(tensors)
    swap = indexing == "xy" and len(tensors) >= 2
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swap else tensors
    shape, last = tuple([t._array.size for t in ordered]), len(ordered) - 1
    grids, plain = [], min(shape) > 1
    for axis, t in enumerate(ordered):
        if axis < last or t._edge is not None or not plain:  # else expand() itself puts dimensions before the only one
            t = t.reshape((*(1,) * axis, -1, *(1,) * (last - axis)))
        grids.append(t.expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite(names=("torch",))
def cartesian_prod(*tensors):
    """Every combination of one element from each 1-dim tensor, as rows; the elements themselves for a single tensor.

    >>> import rushlight as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    tensors = _tensors(tensors)
    for tensor in tensors:
        if tensor.ndim != 1:
            raise RuntimeError(
                hinted(
                    f"Expect a 1D vector, but got shape {list(tensor.shape)}",
                    "each tensor lists what one column may hold",
                )
            )
    if len(tensors) == 1:
        return tensors[0]
    return functions.stack([g.flatten() for g in functions.meshgrid(*tensors, indexing="ij")], 1)


@composite(names=("torch",))
def combinations(input, r=2, with_replacement=False):
    """Every choice of ``r`` elements of a 1-dim tensor, in order, as rows; an element may repeat if ``with_replacement``.

    >>> import rushlight as torch
    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1:
        raise RuntimeError(
            hinted(f"Expect a 1D vector, but got shape {list(input.shape)}", "flatten() makes one of any tensor")
        )
    if r < 0:
        raise RuntimeError(hinted(f"Expect a non-negative number, but got {r}", "r counts the elements of a choice"))
    if r == 0:
        return functions.empty(0, dtype=input.dtype, device=input.device)
    if input.shape[0] > 1 and r * math.log2(input.shape[0]) >= 63:
        raise too_many_elements((input.shape[0],) * min(r, 64))
    places = [np.arange(input.shape[0])]
    for _ in range(r - 1):  # each choice goes on with every element from its last one, or from the next one, on
        first = places[-1] if with_replacement else places[-1] + 1
        lengths = input.shape[0] - first
        places = [np.repeat(column, lengths) for column in places]
        places.append(ramps(np.empty(places[0].size, np.int64), first, lengths, 1))
    columns = [functions.wrap(column) for column in places]
    return functions.stack([input.index_select(0, column) for column in columns], 1)
