"""Slices of a batch for several devices: what is no tensor is repeated for each; tensors are on the CPU, and refused as there."""

from __future__ import annotations

from ...base.errors import hinted
from ...tensor import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]

HINT = "there is one device, the CPU: run the module on the whole batch"


def scatter(inputs, target_gpus, dim=0):
    """The part of ``inputs`` for each device."""
    if isinstance(inputs, Tensor):
        raise AttributeError(hinted("module 'torch._C' has no attribute '_scatter'", HINT))
    count = len(target_gpus)
    if isinstance(inputs, (tuple, list, dict)) and inputs:
        items = inputs.items() if isinstance(inputs, dict) else inputs
        columns = zip(*(scatter(item, target_gpus, dim) for item in items), strict=True)
        if hasattr(inputs, "_fields"):
            return [type(inputs)(*column) for column in columns]
        return [column if isinstance(inputs, tuple) else type(inputs)(column) for column in columns]
    return [inputs] * count


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """Positional and keyword arguments for each device."""
    parts = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(parts), len(named))
    parts += [()] * (count - len(parts))
    named += [{} for _ in range(count - len(named))]
    return tuple(parts), tuple(named)


def gather(outputs, target_device, dim=0):
    """The outputs of several devices as one."""
    first = outputs[0]
    if isinstance(first, Tensor):
        raise AssertionError(hinted("Gather function not implemented for CPU tensors", HINT))
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(output) != len(first) for output in outputs):
            raise ValueError(
                hinted(
                    "All dicts must have the same number of keys", f"they have {[len(output) for output in outputs]}"
                )
            )
        return type(first)((key, gather([output[key] for output in outputs], target_device, dim)) for key in first)
    columns = (gather(list(column), target_device, dim) for column in zip(*outputs))
    return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
