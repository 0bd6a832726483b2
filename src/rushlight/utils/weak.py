"""``torch.utils.weak``: dictionaries whose keys are objects, by identity, that they do not keep alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any
from weakref import ref

from ..tensor import Tensor

WeakRef = ref

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(ref):
    """A weak reference that is equal to another one to the same object, whatever ``==`` of the objects says.

    >>> import rushlight as torch
    >>> from rushlight.utils.weak import WeakIdRef
    >>> x, y = torch.ones(2), torch.ones(2)
    >>> WeakIdRef(x) == WeakIdRef(x), WeakIdRef(x) == WeakIdRef(y)
    (True, False)
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None):
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, its = self(), other() if isinstance(other, ref) else None
        if mine is not None and its is not None:
            return mine is its
        return self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary by the identity of its keys; an entry goes when its key does.

    Args:
        dict: what it holds first: a mapping or pairs.
        ref_type: the weak references that it makes of keys; `WeakIdRef` by default.

    >>> import rushlight as torch
    >>> from rushlight.utils.weak import WeakIdKeyDictionary
    >>> x, table = torch.ones(2), WeakIdKeyDictionary()
    >>> table[x] = "ones"
    >>> table[x], torch.ones(2) in table, len(table)
    ('ones', False, 1)
    >>> del x
    >>> len(table)
    0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef):
        self.data: Any = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def _forget(self, reference: Any) -> None:
        self.data.pop(reference, None)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # objects of its class have no weak references
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __len__(self) -> int:
        return sum(reference() is not None for reference in list(self.data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def popitem(self) -> tuple[Any, Any]:
        """Take the entry that came last: its key and value."""
        while self.data:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value
        raise KeyError("popitem(): the dictionary is empty")

    def keyrefs(self) -> list[Any]:
        """The weak references to the keys; they may be dead by the time that they are called."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same keys and values."""
        return WeakIdKeyDictionary(self, ref_type=self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        from copy import deepcopy

        made = type(self)(ref_type=self.ref_type)
        for key, value in self.items():
            made[key] = deepcopy(value, memo)
        return made

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = type(self)(other, ref_type=self.ref_type)
        made.update(self)
        return made

    def __ior__(self, other: Mapping[Any, Any] | Iterable[Any]) -> WeakIdKeyDictionary:  # type: ignore[misc]
        self.update(other)
        return self

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        return {id(key): value for key, value in self.items()} == {id(key): value for key, value in other.items()}

    __hash__ = None  # type: ignore[assignment]


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor, called as a function.

    >>> import rushlight as torch
    >>> from rushlight.utils.weak import TensorWeakRef
    >>> x = torch.ones(2)
    >>> reference = TensorWeakRef(x)
    >>> reference() is x
    True
    """

    def __init__(self, tensor: Tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref: weakref.ReferenceType[Tensor] = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
