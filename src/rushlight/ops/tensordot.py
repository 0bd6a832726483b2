"""Contractions over given dimensions: tensordot, inner, kron."""

import math

from ..base.errors import hinted
from ..base.shapes import wrap_dims, wrap_own_dim
from .table import composite, functions


def _check_same_dtype(first, second):
    if first.dtype is not second.dtype:
        raise RuntimeError(
            hinted("both inputs should have same dtype", f"they have {first.dtype!r} and {second.dtype!r}: convert one")
        )


@composite(names=("torch",))
def tensordot(a, b, dims=2, out=None):
    """Sums of products over given dimensions: ``dims`` is how many (the last of ``a``, the first of ``b``), or two
    lists of them.

    >>> import rushlight as torch
    >>> torch.tensordot(torch.ones(2, 3, 4), torch.ones(3, 4, 5), dims=2).shape
    torch.Size([2, 5])
    """
    first, second = _tensordot_dims(a, b, dims)
    _check_same_dtype(a, b)
    shape_a, shape_b = list(a.shape), list(b.shape)
    for named_i, named_j in zip(first, second):
        i, j = wrap_own_dim(named_i, a.ndim), wrap_own_dim(named_j, b.ndim)
        if shape_a[i] != shape_b[j]:
            if shape_a[i] == 1:
                b = b.sum(j, keepdim=True, dtype=b.dtype)
                shape_b[j] = 1
            elif shape_b[j] == 1:
                a = a.sum(i, keepdim=True, dtype=a.dtype)
                shape_a[i] = 1
            else:
                raise RuntimeError(
                    hinted(
                        f"contracted dimensions need to match, but first has size {shape_a[i]} in dim {named_i} and second "
                        f"has size {shape_b[j]} in dim {named_j}",
                        f"the shapes are {list(a.shape)} and {list(b.shape)}",
                    )
                )
    first, second = wrap_dims(first, a.ndim), wrap_dims(second, b.ndim)
    rows = [d for d in range(a.ndim) if d not in first]
    columns = [d for d in range(b.ndim) if d not in second]
    free = [shape_a[d] for d in rows], [shape_b[d] for d in columns]
    lengths = [math.prod(sizes) for sizes in free]
    left, right = a.permute((*rows, *first)), b.permute((*second, *columns))
    if lengths == [1, 1]:
        found = _single_product(left.squeeze(tuple(range(len(rows)))), right.squeeze(tuple(range(len(second), b.ndim))))
    else:
        length = math.prod(shape_a[d] for d in first)
        found = functions.mm(left.reshape(lengths[0], length), right.reshape(length, lengths[1]))
    found = found.view(free[0] + free[1])
    return found if out is None else functions.write_outputs(found, out, "tensordot")


def _single_product(left, right):
    """The sum of products of two tensors of one shape: of their memory in a row, or one by one, as PyTorch does."""
    if left.is_contiguous() and right.is_contiguous():
        return functions.dot(left.view(-1), right.view(-1))
    return (left * right).sum(dtype=left.dtype)


def _tensordot_dims(a, b, dims):
    if hasattr(dims, "_edge"):
        dims = int(dims.item()) if dims.numel() == 1 else dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    return first, second


@composite(out=True)
def inner(input, other):
    """Sums of products over the last dimension of both; a 0-dim tensor multiplies.

    >>> import rushlight as torch
    >>> torch.inner(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if input.ndim == 0 or other.ndim == 0:
        found = input * other
    else:
        if input.shape[-1] != other.shape[-1]:
            raise RuntimeError(
                hinted(
                    "inner() the last dimension must match on both input tensors but got shapes "
                    f"{list(input.shape)} and {list(other.shape)}",
                    f"the last lengths are {input.shape[-1]} and {other.shape[-1]}",
                )
            )
        found = tensordot(input, other, [[-1], [-1]])
    return found


@composite(out=True)
def kron(input, other):
    """The Kronecker product: every element of ``input`` times the whole of ``other``.

    >>> import rushlight as torch
    >>> torch.kron(torch.eye(2), torch.ones(1, 2))
    tensor([[1., 1., 0., 0.],
            [0., 0., 1., 1.]])
    """
    ndim = max(input.ndim, other.ndim)
    first = (1,) * (ndim - input.ndim) + tuple(input.shape)
    second = (1,) * (ndim - other.ndim) + tuple(other.shape)
    spread = input.reshape([n for length in first for n in (length, 1)])
    tile = other.reshape([n for length in second for n in (1, length)])
    found = (spread * tile).reshape([m * n for m, n in zip(first, second)])
    return found
