"""Random keys: what is read, written and accumulated through them, and the gradients of both."""

from __future__ import annotations

from random import Random

import torch
from explained import unexplained
from libraries import attempt, carried, difference

import rushlight as rl

DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.uint8,
    torch.bool,
    torch.complex64,
)
SIZES = ((), (5,), (3, 4), (2, 3, 4), (2, 1, 3, 2), (0, 3), (60, 70), (4, 300, 9))


def _key(r, size):
    """One part of a key for a dimension of that size, and how many dimensions it takes."""
    places = [r.randrange(-size, size) for _ in range(r.choice((1, 3, 4)))] if size else []
    return r.choice((
        r.randrange(-size - 1, size + 1),
        r.randrange(-size, size) if size else 0,
        slice(None),
        slice(r.choice((None, 1, -2)), r.choice((None, size - 1, -1)), r.choice((None, 1, 2))),
        Ellipsis,
        None,
        torch.tensor(places, dtype=r.choice((torch.int64, torch.int32, torch.int16))),
        torch.tensor([places, places], dtype=torch.int64),
        torch.tensor([bool(r.random() < 0.5) for _ in range(size)]),
        places,
        True,
        torch.tensor(places[0] if places else 0),
        range(min(size, 2)),
    ))  # fmt: skip


def drawn(seed):
    """``(tensor, key, value, way)`` of PyTorch's."""
    r = Random(seed)
    generator = torch.Generator().manual_seed(seed)
    tensor = torch.randn(r.choice(SIZES), generator=generator).mul(3).to(torch.int8).to(r.choice(DTYPES))
    if tensor.ndim > 1 and r.random() < 0.4:
        tensor = tensor.transpose(0, -1).contiguous().transpose(0, -1) if r.random() < 0.5 else tensor.transpose(0, -1)
    parts = [_key(r, tensor.shape[dim]) for dim in range(r.randint(0, tensor.ndim))]
    if r.random() < 0.15:
        parts.insert(0, r.choice((None, Ellipsis, True)))
    key = parts[0] if len(parts) == 1 and r.random() < 0.7 else tuple(parts)
    if tensor.ndim and r.random() < 0.15:
        key = tensor != 0
    value = r.choice((2, -1.5, True, "fits", "fits", "one", "dtype"))
    return tensor, key, value, r.choice(("read", "read", "write", "write", "put", "accumulate"))


def _value(tensor, key, value, seed):
    """The value that is written: a number, or a tensor that fits, of this or another dtype."""
    if not isinstance(value, str):
        return value
    r = Random(seed)
    part = attempt(lambda: tensor[key])
    shape = part.shape if isinstance(part, torch.Tensor) and value != "one" else (1,)
    generator = torch.Generator().manual_seed(seed)
    dtype = tensor.dtype if value != "dtype" else r.choice(DTYPES)
    return torch.randn(shape, generator=generator).mul(3).to(torch.int8).to(dtype)


def _used(t, tensor, key, value, way, tracked):
    """The tensor after the use of ``key``, what was read, and gradients."""
    leaf = tensor.clone()
    leaf = leaf.requires_grad_() if tracked and leaf.is_floating_point() else leaf
    if way == "read":
        found = leaf[key]
        if leaf.requires_grad:
            found.backward(t.ones_like(found))
        return [found.detach(), leaf.grad]
    grown = leaf * 1
    if isinstance(value, t.Tensor) and tracked and value.is_floating_point():
        value = value.clone().requires_grad_()
    if way == "write":
        grown[key] = value
    else:
        keys = key if isinstance(key, tuple) else (key,)
        value = value if isinstance(value, t.Tensor) else t.tensor(value, dtype=tensor.dtype)
        grown.index_put_(keys, value, accumulate=way == "accumulate")
    found = [grown.detach()]
    if grown.requires_grad:
        grown.backward(t.ones_like(grown))
        found += [leaf.grad, value.grad if isinstance(value, t.Tensor) and value.requires_grad else None]
    return found


def compared(seed):
    """In what the two libraries differ on a use of a key, in words; None where they agree."""
    tensor, key, value, way = drawn(seed)
    value, tracked = _value(tensor, key, value, seed), seed % 2 == 0
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # its threads race where a key names a place twice
    theirs = attempt(_used, torch, tensor, key, value, way, tracked)
    torch.set_num_threads(threads)
    ours = attempt(_used, rl, carried(tensor), carried(key), carried(value), way, tracked)
    told = unexplained(difference(ours, theirs), way, (tensor,), ours, theirs)
    return (
        told
        and f"{way} {tensor.dtype} {list(tensor.shape)} {tensor.stride()} key {key!r:.200} value {value!r:.80}: {told}"
    )
