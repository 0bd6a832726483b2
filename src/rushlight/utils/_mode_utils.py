"""``torch.utils._mode_utils``: blocks without dispatch."""

from __future__ import annotations

from ..tensor.overrides import DisableTorchDispatch as no_dispatch

__all__ = ["no_dispatch"]


def all_same_mode(modes):
    """Whether all of some modes are the same one."""
    return all(each == modes[0] for each in modes)
