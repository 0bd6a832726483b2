"""``unsqueeze_``, ``transpose_`` and their like: views that replace the tensor's own shape."""

from __future__ import annotations

from ..autograd.node import edge_of
from ..autograd.views import View, check_inplace
from ..ops.table import functions
from .base import method
from .dispatch import bump

_NAMES = ("unsqueeze", "squeeze", "transpose", "t", "swapaxes", "swapdims")


def _inplace(name):
    def change(self, *args, **kwargs):
        check_inplace(self, name + "_")
        view, alias = self._edge, self._alias()
        alias._edge = edge_of(self)
        found = getattr(functions, name)(alias, *args, **kwargs)
        edge = edge_of(found)
        self._array = found._array
        bump(self, name + "_")
        if view.__class__ is View:  # it goes on looking into its base, in the new shape
            self._edge = View(view.base, edge, self._version_counter.value, view.made)
        else:
            self._edge = edge
        return self

    change.__name__ = change.__qualname__ = name + "_"
    change.__doc__ = f"`{name}` in place: the tensor itself takes the shape of that view, and is returned."
    return method(change)


for _name in _NAMES:
    _inplace(_name)
