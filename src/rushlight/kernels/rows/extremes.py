"""The smallest and largest of many integers, which positions are looked through for: light, kernels are loaded at need."""

from __future__ import annotations

import importlib

import numpy as np

from ..machine.host import host
from . import EXTREMES


def all_inside(positions, length):
    """Whether all positions (int32 or int64) exist, none being counted from the end."""
    if not positions.size:
        return True
    unsigned = positions.view(np.uint64 if positions.itemsize == 8 else np.uint32)  # negative ones are huge
    largest = _extreme("max_all", unsigned)
    return int(unsigned.item(unsigned.argmax()) if largest is NotImplemented else largest) < length


def extremes(array):
    """The smallest and the largest of an array's integers; there are some."""
    found = [_extreme(name, array) for name in ("min_all", "max_all")]
    if NotImplemented in found:
        return array.item(array.argmin()), array.item(array.argmax())
    return [int(number) for number in found]


def _extreme(name, array):
    """An extreme found by a kernel; NotImplemented where NumPy is as fast, or there is no kernel."""
    if array.size < EXTREMES or host() is None:
        return NotImplemented
    return getattr(importlib.import_module(".reduce", __package__), name)(array)
