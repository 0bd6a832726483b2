"""Containers of parameters: ParameterList, ParameterDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView, Mapping
from typing import Any, Self

from ...base.errors import hinted
from ...tensor import Tensor
from ..parameter import Parameter, is_lazy
from .container import pairs_of
from .module import Module

__all__ = ["ParameterDict", "ParameterList"]


def _as_parameter(value):
    """Tensors go in as parameters; anything else as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(entries, tensor_type):
    """One line an entry, as the containers print them."""
    lines = []
    for name, value in entries:
        if isinstance(value, Tensor):
            size = "x".join(map(str, () if is_lazy(value) else value.size()))
            kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
            lines.append(f"  ({name}): {kind} containing: [{tensor_type(value)} of size {size}]")
        else:
            lines.append(f"  ({name}): Object of type: {type(value).__name__}")
    return "\n".join(lines)


def _uncallable(kind):
    return RuntimeError(hinted(f"{kind} should not be called.", "index it for the parameters it holds"))


class ParameterList(Module):
    """A list of parameters that are found; tensors become parameters, other values stay what they are.

    Follows ``torch.nn.ParameterList``.

    >>> import rushlight as torch
    >>> weights = torch.nn.ParameterList([torch.zeros(2), torch.zeros(3)])
    >>> weights[1].requires_grad
    True
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _get_abs_string_index(self, idx):
        place = operator.index(idx)
        if not -self._size <= place < self._size:
            raise IndexError(f"index {place} is out of range")
        return str(place % self._size)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self.__class__(list(self)[idx])
        return getattr(self, self._get_abs_string_index(idx))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, self._get_abs_string_index(idx), _as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(self._size))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add ``value`` at the end; return this list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add every one of ``values`` at the end; return this list."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return _described(enumerate(self), lambda tensor: tensor.dtype)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise _uncallable("ParameterList")


class ParameterDict(Module):
    """A dictionary of parameters that are found; tensors become parameters, other values stay what they are.

    In the order of insertion (a plain ``dict`` given at once is taken in the order of its sorted names, as
    ``torch.nn.ParameterDict`` does).

    >>> import rushlight as torch
    >>> weights = torch.nn.ParameterDict({"left": torch.zeros(2)})
    >>> weights["left"].requires_grad
    True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        attribute = self._key_to_attr(key)
        self._keys[key] = None
        setattr(self, attribute, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """A new dictionary that holds the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value under ``key``, which becomes ``default`` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take every value out."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out the value under ``key`` and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the (key, value) pair that was put in last and return it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None  # pop() takes it out together with the value
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value under ``key``, or ``default``."""
        if key not in self:
            return default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dictionary with ``default`` under every one of ``keys``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The (name, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Mapping[str, Any] | ParameterDict) -> None:
        """Put in every value of a mapping, or of an iterable of (name, value) pairs."""
        pairs = pairs_of(parameters, "ParametersDict.update", "ParameterDict")
        if type(parameters) is dict:
            pairs = sorted(pairs)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return _described(self.items(), lambda tensor: tensor.type())

    def __call__(self, input: Tensor) -> None:
        raise _uncallable("ParameterDict")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        copy = self.copy()
        copy.update(other)
        return copy

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        copy = other.copy()
        copy.update(self)
        return copy

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
