"""``unsqueeze_``, ``transpose_``, ``as_strided_`` and their like: views that replace the tensor's own shape."""

from __future__ import annotations

from ..autograd.modes import state
from ..autograd.node import edge_of, node_class
from ..autograd.views import View, check_inplace
from ..base.errors import hinted
from ..ops.table import COMPOSITES, TABLE, InplaceForm, functions
from .base import method
from .interposers import INTERPOSERS
from .writes import bump

# Each with the number of its forms: PyTorch numbers the nodes of in-place forms after those of the others.
_FORMS = {"unsqueeze": 1, "squeeze": 3, "transpose": 1, "t": 1, "swapaxes": 1, "swapdims": 1, "as_strided": 1}


def _inplace(name, forms):
    classes = {}

    def change(self, *args, **kwargs):
        check_inplace(self, name + "_")
        if name == "t" and self.ndim > 2:
            raise RuntimeError(
                hinted(
                    f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D",
                    "transpose_() exchanges any two dimensions",
                )
            )
        alias = self._alias()
        alias._edge = edge_of(self) if state.recording else None
        if INTERPOSERS:
            alias._tangent = functions.tangent_of(self)
        found = getattr(functions, name)(alias, *args, **kwargs)
        edge = edge_of(found)
        self._become(found)
        bump(self, name + "_")
        if edge is not None:
            node = edge[0]
            kind = node.__class__
            if kind not in classes:
                classes[kind] = node_class(f"{kind.__name__[:-1]}{int(kind.__name__[-1]) + forms}", kind)
            node.__class__ = classes[kind]
            view = self._edge
            if view.__class__ is View:  # it goes on looking into its base, in the new shape: nothing was written
                view.edge, view.version = edge, self._version_counter.value
            else:
                self._edge = edge
        return self

    change.__name__ = change.__qualname__ = name + "_"
    change.__doc__ = f"`{name}` in place: the tensor itself takes the shape of that view, and is returned."
    change.__wrapped__ = InplaceForm(name if name in TABLE or name in COMPOSITES else "transpose")
    return method(change)


for _name, _count in _FORMS.items():
    _inplace(_name, _count)
