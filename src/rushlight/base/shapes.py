"""Arithmetic on shapes: pure functions of tuples, with PyTorch's error messages."""

from __future__ import annotations

import math

from .errors import hinted


def wrap_dim(dim, ndim):
    """``dim`` counted from the front; a 0-dim tensor accepts -1 and 0 as if it had one dimension."""
    if 0 <= dim < ndim:
        return dim
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    if not low <= dim <= high:
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim + ndim if dim < 0 and ndim else 0 if not ndim else dim


def wrap_own_dim(dim, ndim):
    """`wrap_dim` where a 0-dim tensor has no dimension at all."""
    if not ndim:
        raise IndexError(
            hinted(
                f"Dimension specified as {dim} but tensor has no dimensions", "x.reshape(1) makes a vector of a number"
            )
        )
    return wrap_dim(dim, ndim)


def wrap_dims(dims, ndim):
    """Every dim of ``dims`` counted from the front; one that appears twice is an error."""
    if len(dims) == 1:
        return (wrap_dim(dims[0], ndim),)
    wrapped = tuple([wrap_dim(d, ndim) for d in dims])
    if len(set(wrapped)) != len(wrapped):
        seen = set()
        for d in wrapped:
            if d in seen:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
            seen.add(d)
    return wrapped


def contiguous_strides(shape):
    """Strides, in elements, of a tensor of ``shape`` laid out row by row.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def broadcast_shapes(*shapes):
    """The shape that all ``shapes`` expand to, as NumPy and PyTorch broadcast.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    result = []
    ndim = max(map(len, shapes), default=0)
    for position in range(-ndim, 0):
        length = 1
        for shape in shapes:
            if len(shape) >= -position:
                other = shape[position]
                if other != length and other != 1:
                    if length != 1:
                        raise _mismatch(shapes)
                    length = other
        result.append(length)
    return tuple(result)


def require_room(shape, common, hint):
    """PyTorch's refusal to write what has broadcast to the shape ``common`` into a tensor of another shape."""
    if common != shape:
        message = f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}"
        raise RuntimeError(hinted(message, hint))


def _mismatch(shapes):
    """The error for shapes that do not broadcast: taken together one after the other, the last dimension is named first."""
    common = ()
    for shape in shapes:
        ndim = max(len(common), len(shape))
        a, b = ((1,) * (ndim - len(s)) + tuple(s) for s in (common, shape))
        for dimension in range(ndim - 1, -1, -1):
            if a[dimension] != b[dimension] and 1 not in (a[dimension], b[dimension]):
                return RuntimeError(
                    hinted(
                        f"The size of tensor a ({a[dimension]}) must match the size of tensor b ({b[dimension]}) at non-singleton "
                        f"dimension {dimension}",
                        "the shapes "
                        + " and ".join(str(list(s)) for s in shapes)
                        + " do not broadcast: counted from the right, lengths must be equal or 1",
                    )
                )
        common = tuple(m if n == 1 else n for m, n in zip(a, b))
    raise ValueError(f"the shapes {shapes} broadcast")


def infer_view_shape(shape, numel):
    """``shape`` with its -1, if any, worked out from ``numel``.

    >>> infer_view_shape((2, -1), 6)
    (2, 3)
    """
    unknown = None
    known = 1
    for position, length in enumerate(shape):
        if length == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = position
        elif length < 0:
            raise RuntimeError(f"invalid shape dimension {length} at index {position} of shape {list(shape)}")
        else:
            known *= length
    if unknown is None:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(shape)
    if known == 0:
        if numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be "
                "any value and is ambiguous"
            )
    elif numel % known == 0:
        return (*shape[:unknown], numel // known, *shape[unknown + 1 :])
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def view_strides(shape, strides, new_shape):
    """Strides with which ``new_shape`` views the same elements, or None where only a copy can have that shape."""
    numel = math.prod(shape)
    if numel == 0:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    result = [0] * len(new_shape)
    target = len(new_shape) - 1
    chunk_stride = strides[-1] if strides else 1
    chunk, done = 1, 1
    for dim in range(len(shape) - 1, -1, -1):
        chunk *= shape[dim]
        if dim == 0 or (shape[dim - 1] != 1 and strides[dim - 1] != chunk * chunk_stride):
            while target >= 0 and (done < chunk or new_shape[target] == 1):
                result[target] = done * chunk_stride
                done *= new_shape[target]
                target -= 1
            if done != chunk:
                return None
            if dim > 0:
                chunk_stride = strides[dim - 1]
                chunk = done = 1
    if not shape:
        while target >= 0:
            result[target] = 1
            target -= 1
    return tuple(result) if target == -1 else None


def reduced_shape(shape, dims, keepdim):
    """``shape`` after reducing ``dims`` (counted from the front), which stay with length 1 if ``keepdim``."""
    if keepdim:
        return tuple(1 if d in dims else length for d, length in enumerate(shape))
    return tuple(length for d, length in enumerate(shape) if d not in dims)


def sizes_argument(sizes):
    """The tuple of ints meant by ``f(2, 3)``, ``f((2, 3))`` or ``f(torch.Size([2, 3]))``."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = sizes[0]
    return tuple(s if type(s) is int else s.__index__() for s in sizes)
