"""``unsqueeze_``, ``transpose_`` and their like: views that replace the tensor's own shape."""

from __future__ import annotations

from ..autograd.node import edge_of
from ..autograd.views import View, check_inplace
from ..base.errors import hinted
from ..ops.table import functions
from .base import method
from .dispatch import bump

_NAMES = ("unsqueeze", "squeeze", "transpose", "t", "swapaxes", "swapdims")


def _inplace(name):
    def change(self, *args, **kwargs):
        check_inplace(self, name + "_")
        edge = edge_of(self)
        if edge is not None and self._edge.__class__ is View:
            raise NotImplementedError(
                hinted(
                    f"{name}_() on a view that requires grad is not implemented",
                    f"use {name}(), which returns a new view",
                )
            )
        alias = self._alias()
        alias._edge = edge
        found = getattr(functions, name)(alias, *args, **kwargs)
        self._array = found._array
        if edge is not None:
            self._edge = edge_of(found)
        bump(self, name + "_")
        return self

    change.__name__ = change.__qualname__ = name + "_"
    change.__doc__ = f"`{name}` in place: the tensor itself takes the shape of that view, and is returned."
    return method(change)


for _name in _NAMES:
    _inplace(_name)
