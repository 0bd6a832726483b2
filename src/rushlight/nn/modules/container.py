"""Containers of modules: Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import chain, islice
from typing import Any, Self

from ...tensor import Tensor
from .module import Module, indented

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]


class Container(Module):
    """Named modules and no forward; deprecated, as in PyTorch: derive from `Module` instead."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What the containers that count their modules '0', '1', ... have in common."""

    def _renumber(self, modules):
        """Hold exactly ``modules``, named by their place."""
        self._modules = {str(place): module for place, module in enumerate(modules)}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def pop(self, key):
        """Take out the module at ``key``, or the slice ``key``, and return it."""
        taken = self[key]
        del self[key]
        return taken


class Sequential(_Numbered):
    """Modules called one after the other, each with what the one before returned, ``torch.nn.Sequential``.

    Made from modules, or from one ``OrderedDict`` that names them. Indexed, sliced and changed like a list.

    >>> import rushlight as torch
    >>> model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
    >>> model[1]
    ReLU()
    >>> model(torch.ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name) if isinstance(name, int) else name, module)

    def forward(self, input: Tensor) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index):
        place = operator.index(index)
        count = len(self)
        if not -count <= place < count:
            raise IndexError(f"index {place} is out of range")
        return next(islice(self._modules, place % count, None))

    def __getitem__(self, index: Any) -> Sequential | Module:
        if isinstance(index, slice):
            return self.__class__(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add ``module`` at the end; return this container."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add every module of ``sequential`` at the end; return this container."""
        for module in list(sequential):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put ``module`` before the one at ``index``; return this container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def __iadd__(self, other: Any) -> Self:
        return self.extend(_sequential(other))

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *_sequential(other))

    def __mul__(self, other: int) -> Sequential:
        return Sequential(*(list(self) * self._repetitions(other)))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self) * (self._repetitions(other) - 1))

    def _repetitions(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other


def _sequential(other):
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


class ModuleList(_Numbered):
    """A list of modules whose parameters are found, ``torch.nn.ModuleList``. It is not called: loop over it in forward.

    >>> import rushlight as torch
    >>> torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.ReLU()])
    ModuleList(
      (0-1): 2 x ReLU()
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _get_abs_string_index(self, idx):
        """The name of the module at ``idx``, which may count from the end."""
        place = operator.index(idx)
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range")
        return str(place % len(self))

    def __getitem__(self, idx: int | slice) -> Module | ModuleList:
        if isinstance(idx, slice):
            return self.__class__(list(self)[idx])
        return self._modules[self._get_abs_string_index(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._get_abs_string_index(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        places = range(len(self))[idx] if isinstance(idx, slice) else [self._get_abs_string_index(idx)]
        for place in places:
            delattr(self, str(place))
        self._renumber(self._modules.values())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return self.__class__(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Put ``module`` before the one at ``index``."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def append(self, module: Module) -> Self:
        """Add ``module`` at the end; return this list."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add every one of ``modules`` at the end; return this list."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        blocks = []  # [first place, last place, printed form] of runs of modules that print alike
        for place, text in enumerate(map(repr, self)):
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = place
            else:
                blocks.append([place, place, text])
        if not blocks:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in blocks
        ]
        return f"{self._get_name()}(" + "".join(f"\n  {indented(line)}" for line in lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules whose parameters are found, in the order of insertion, ``torch.nn.ModuleDict``.

    >>> import rushlight as torch
    >>> torch.nn.ModuleDict({"a": torch.nn.ReLU()})["a"]
    ReLU()
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take every module out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take out the module under ``key`` and return it."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """The (name, module) pairs."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        """Put in every module of a mapping, or of an iterable of (name, module) pairs."""
        for key, module in pairs_of(modules, "ModuleDict.update", "ModuleDict"):
            self[key] = module


def pairs_of(entries, caller, container):
    """The (key, value) pairs of a mapping or an iterable of pairs, checked one by one."""
    if not isinstance(entries, Iterable):
        raise TypeError(
            f"{caller} should be called with an iterable of key/value pairs, but got {type(entries).__name__}"
        )
    if isinstance(entries, Mapping) or (isinstance(entries, Module) and hasattr(entries, "items")):
        yield from list(entries.items())
        return
    for place, pair in enumerate(entries):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{container} update sequence element #{place} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{container} update sequence element #{place} has length {len(pair)}; 2 is required")
        yield pair
