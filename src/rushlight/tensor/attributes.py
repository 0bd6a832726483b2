"""What a tensor shows as its ``__dict__``: the attributes that its user has put on it."""

from __future__ import annotations

import copy


class TensorBase:
    """Where the attributes of a tensor are; `Tensor` shows those of the user alone as its ``__dict__``, as PyTorch does."""


held_by = TensorBase.__dict__[
    "__dict__"
].__get__  # all attributes of a tensor, its array and its place in the graph with them


class OwnAttributes(dict):
    """The user's attributes of a tensor: what is put in here becomes one."""

    def __init__(self, tensor):
        held = held_by(tensor)
        super().__init__([(name, held[name]) for name in held if name[:1] != "_" or not hasattr(type(tensor), name)])
        self._held = held

    def __setitem__(self, name, value):
        super().__setitem__(name, value)
        self._held[name] = value

    def __delitem__(self, name):
        super().__delitem__(name)
        del self._held[name]

    def update(self, *others, **more):
        for name, value in dict(*others, **more).items():
            self[name] = value

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name, *default):
        if name in self:
            del self._held[name]
        return super().pop(name, *default)

    def popitem(self):
        name, value = super().popitem()
        del self._held[name]
        return name, value

    def clear(self):
        for name in list(self):
            del self[name]

    def __ior__(self, other):  # type: ignore[misc]
        self.update(other)
        return self

    def __copy__(self):
        return dict(self)

    def __deepcopy__(self, memo):
        return copy.deepcopy(dict(self), memo)

    def __reduce_ex__(self, protocol):
        return dict, (dict(self),)


def _replace(tensor, attributes):
    own = OwnAttributes(tensor)
    own.clear()
    own.update(attributes)


class TensorMeta(type):
    """The class of tensors' classes: each shows the user's attributes alone, whatever else it inherits from."""

    def __new__(cls, name, bases, namespace, **options):
        namespace.setdefault("__dict__", property(OwnAttributes, _replace))
        return super().__new__(cls, name, bases, namespace, **options)
