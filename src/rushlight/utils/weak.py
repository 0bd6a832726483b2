"""``torch.utils.weak``: dictionaries whose keys are objects themselves, not what they are equal to, and go when those go."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Mapping, MutableMapping

from ..base.errors import hinted
from ..tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]

WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those of the same object: tensors, compared element by element, can be keys."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        self._id = id(key)
        super().__init__(key, callback)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, others = self(), other()
        if mine is None or others is None:
            return self is other
        return mine is others


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary by the identity of its keys, which it does not keep alive.

    Args:
        dict: what is in it from the beginning.
        ref_type: the class of the weak references, `WeakIdRef` by default.

    >>> import rushlight as torch
    >>> from rushlight.utils.weak import WeakTensorKeyDictionary
    >>> notes, x = WeakTensorKeyDictionary(), torch.ones(2)
    >>> notes[x] = "mine"
    >>> notes[x], torch.ones(2) in notes, len(notes)
    ('mine', False, 1)
    >>> del x
    >>> len(notes)
    0
    """

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.data, self.ref_type = {}, ref_type
        self_reference = weakref.ref(self)

        def remove(reference):
            alive = self_reference()
            if alive is not None:
                alive.data.pop(reference, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __len__(self):
        return len(self.data)

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # there are no weak references to it
            return False

    def items(self):
        """Keys that are alive, with their values. Entries may go meanwhile."""
        for reference, value in list(self.data.items()):
            key = reference()
            if key is not None:
                yield key, value

    def keys(self):
        """Keys that are alive."""
        return (key for key, _ in self.items())

    __iter__ = keys

    def values(self):
        """Values whose keys are alive."""
        return (value for _, value in self.items())

    def keyrefs(self):
        """The weak references."""
        return list(self.data)

    def popitem(self):
        """Take an entry out, the last that came in."""
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def update(self, dict=None, **kwargs):
        """Take entries of another dictionary, or pairs, in."""
        pairs = {} if dict is None else dict if hasattr(dict, "items") else type({})(dict)
        for key, value in (*pairs.items(), *kwargs.items()):
            self[key] = value

    def copy(self):
        """Another dictionary of the same entries."""
        return WeakIdKeyDictionary(self)

    __copy__ = copy

    def __deepcopy__(self, memo):
        made = type(self)()
        for key, value in self.items():
            made[key] = copy.deepcopy(value, memo)
        return made

    def __or__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def __ror__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        made = type(self)()
        made.update(other)
        made.update(self)
        return made

    def __eq__(self, other):
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None where that is gone."""

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(
                hinted(f"expected torch.Tensor, got {type(tensor)}.", "weakref.ref refers to other objects")
            )
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()
