"""Random tensors, printed: both libraries have to write the same text."""

from __future__ import annotations

from random import Random

import torch
from libraries import attempt, carried

import rushlight as rl

DTYPES = [
    "float32",
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "uint8",
    "bool",
    "complex64",
    "complex128",
]
SPECIAL = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-8, 1e8, 123456.789, 1e30, 1e-30, 0.1, 1 / 3, 2.5)


def drawn(seed):
    """``(tensor of PyTorch, print options, how it is printed)``."""
    r = Random(seed)
    dtype = getattr(torch, r.choice(DTYPES))
    size = r.choice(((), (1,), (3,), (2, 3), (2, 2, 3), (0,), (2, 0), (50,), (7, 30), (1200,), (40, 40), (3, 1, 12, 9)))
    generator = torch.Generator().manual_seed(seed)
    tensor = torch.randn(size, generator=generator, dtype=torch.float64)
    tensor = tensor * r.choice((1.0, 1.0, 10.0, 1e3, 1e6, 1e-5, 1e12))
    if r.random() < 0.3:
        tensor = tensor.round()
    if r.random() < 0.3 and tensor.numel():
        flat = tensor.view(-1)
        for _ in range(r.randint(1, 4)):
            flat[r.randrange(flat.numel())] = r.choice(SPECIAL)
    if dtype.is_complex:
        tensor = torch.complex(tensor, tensor.flip(-1) if tensor.ndim else tensor * 2)
    elif not dtype.is_floating_point:
        tensor = tensor.nan_to_num(0, 9, -9).clamp(-(2.0**31) + 1 if dtype == torch.int64 else -99, 100).abs()
    tensor = tensor.to(dtype)
    if tensor.ndim > 1 and r.random() < 0.3:
        tensor = tensor.transpose(0, 1)
    if (dtype.is_floating_point or dtype.is_complex) and r.random() < 0.3:
        tensor.requires_grad_()
    options = r.choice((
        {}, {}, {}, {"precision": r.choice((0, 2, 8))}, {"sci_mode": r.random() < 0.5}, {"threshold": 5, "edgeitems": 2},
        {"linewidth": 40}, {"profile": r.choice(("short", "full"))},
    ))  # fmt: skip
    return tensor, options, r.choice(("repr", "repr", "str", "format", "computed", "list", "parameter", "item"))


def text(t, tensor, options, way):
    """What library ``t`` writes."""
    t.set_printoptions(profile="default")
    try:
        t.set_printoptions(**options)
        if way == "computed":
            return repr(tensor * 1)
        if way == "list":
            return repr([tensor, {"a": tensor}])
        if way == "parameter":
            return repr(t.nn.Parameter(tensor.detach(), requires_grad=tensor.is_floating_point()))
        if way == "format":
            return f"{tensor}" if tensor.ndim else f"{tensor:.3f}"
        if way == "item":
            return repr(tensor.item()) if tensor.numel() == 1 else str(tensor.shape)
        return repr(tensor) if way == "repr" else str(tensor)
    finally:
        t.set_printoptions(profile="default")


def compared(seed):
    """Both texts where they differ; None where they agree."""
    tensor, options, way = drawn(seed)
    ours, theirs = attempt(text, rl, carried(tensor), options, way), attempt(text, torch, tensor, options, way)
    return None if ours == theirs else f"{way} of {tensor.dtype}, {options}\n{ours}\n  not\n{theirs}"
