"""``Dim`` and the ways to say which sizes of the inputs may change: read as symbols, one for each size that varies by itself."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import math
from typing import Any

from ..base.errors import hinted
from ..compiler.errors import UserError
from ..tensor import Tensor
from ..utils import _pytree as pytree

INFINITE = math.inf


class DimHint:
    """What `Dim.AUTO`, `Dim.DYNAMIC` and `Dim.STATIC` are; called with ``min`` and ``max`` they have bounds."""

    def __init__(self, type: str, min: int | None = None, max: int | None = None):
        self.type, self.min, self.max = type, min, max

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        return DimHint(self.type, min, max)

    def __repr__(self) -> str:
        bounds = [f"{name}={value}" for name, value in (("min", self.min), ("max", self.max)) if value is not None]
        return f"DimHint({', '.join([self.type, *bounds])})"


class Dim:
    """A size that may change: ``Dim("batch", min=1, max=64)``, and sizes that follow from it, ``2 * batch + 1``.

    One Dim at several places says that the sizes are equal there.

    Args:
        name: an identifier; what graphs and files call the size.
        min: the smallest size, 0 by default.
        max: the largest size; None (default): there is none.

    >>> from rushlight.export import Dim
    >>> 2 * Dim("time", min=2, max=8) + 1
    2*time + 1
    """

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None):
        self.min, self.max = 0 if min is None else min, INFINITE if max is None else max
        if self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__ = name
        self.root, self.factor, self.offset = self, 1, 0

    def _derived(self, factor: int, offset: int) -> Dim:
        made = object.__new__(Dim)
        made.root, made.factor, made.offset = self.root, factor, offset
        product = self.root.__name__ if factor == 1 else f"{factor}*{self.root.__name__}"
        made.__name__ = f"{product} {'+' if offset > 0 else '-'} {abs(offset)}" if offset else product
        made.min, made.max = factor * self.root.min + offset, factor * self.root.max + offset
        return made

    def __add__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset + _integer(other, self, "add", "to"))

    def __sub__(self, other: int) -> Dim:
        return self._derived(self.factor, self.offset - _integer(other, self, "subtract", "from"))

    def __mul__(self, other: int) -> Dim:
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                f"Attempted to multiply {other} with {self.__name__}, where a positive integer was expected. "
                "(Only increasing linear operations with integer coefficients are supported.)"
            )
        return self._derived(self.factor * other, self.offset * other)

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        if self.root is not self:
            return self.__name__
        low = "" if self.min == 2 else f", min={self.min}"  # PyTorch's default of old
        high = "" if self.max == INFINITE else f", max={self.max}"
        return f"Dim('{self.__name__}'{low}{high})"


def _integer(value: Any, dim: Dim, verb: str, preposition: str) -> int:
    if type(value) is not int:
        raise NotImplementedError(
            f"Attempted to {verb} {value} {preposition} {dim.__name__}, where an integer was expected. "
            "(Only increasing linear operations with integer coefficients are supported.)"
        )
    return value


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several `Dim` at once, with the same bounds."""
    return tuple(Dim(name, min=min, max=max) for name in names)


class ShapesCollection:
    """Which sizes change, told tensor by tensor: ``shapes[x] = {0: batch}``; then ``export(..., dynamic_shapes=shapes)``."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, tensor: Any, shape: Any) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"Cannot assign shape to non-tensor type {type(tensor)}")
        self._shapes[id(tensor)] = shape

    def __getitem__(self, tensor: Any) -> Any:
        return self._shapes.setdefault(id(tensor), {})

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, module: Any, args: Any, kwargs: Any = None) -> dict[str, Any]:
        """What was told, in the form of a dictionary by names of arguments."""
        named = named_arguments(module, args, kwargs)
        return pytree.tree_map(lambda leaf: self._shapes.get(id(leaf)), named)


@dataclasses.dataclass(eq=False)
class Symbol:
    """A size that varies by itself: its name, its bounds, what it is in the example, and whether a hint alone tells of it."""

    name: str
    low: int
    high: float
    example: int
    by_hint: bool = False


@dataclasses.dataclass(frozen=True)
class Varying:
    """A dimension of an input whose size is ``factor * symbol + offset``."""

    symbol: Symbol
    factor: int = 1
    offset: int = 0

    def size(self, value: int) -> int:
        """The size where the symbol has a value."""
        return self.factor * value + self.offset

    def __str__(self) -> str:
        if self.factor == 1 and not self.offset:
            return self.symbol.name
        product = self.symbol.name if self.factor == 1 else f"{self.factor}*{self.symbol.name}"
        return f"({product} {'+' if self.offset > 0 else '-'} {abs(self.offset)})" if self.offset else product


def bound_arguments(module: Any, args: Any, kwargs: Any) -> inspect.BoundArguments:
    """The arguments of a call of ``module.forward``, bound to its signature: those that were given, in order."""
    return inspect.signature(module.forward).bind(*args, **(kwargs or {}))


def named_arguments(module: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments of a call of ``module.forward`` by their names."""
    return dict(bound_arguments(module, args, kwargs).arguments)


def leaf_name(path: Any) -> str:
    """The name of a leaf of the named arguments, from its path: ``x``, ``states_0``, ``batch_mask``."""
    return "_".join(str(getattr(part, "idx", getattr(part, "key", getattr(part, "name", part)))) for part in path)


class Hints(enum.Enum):
    """How `Dim.AUTO` and `Dim.DYNAMIC` are read."""

    APART = "each is a size of its own"
    EQUAL = "those that are equal in the example are one size"
    FIXED = "the same, and AUTO stays as it is"


def varying_sizes(named: dict[str, Any], dynamic_shapes: Any, hints: Hints = Hints.APART) -> list[dict[int, Varying]]:
    """For each leaf of the arguments its dimensions that vary; symbols are shared where sizes are the same."""
    reader = _Reader(hints)
    reader.walk(named, _by_name(named, dynamic_shapes), ())
    return reader.found


def _by_name(named: dict[str, Any], shapes: Any) -> Any:
    if shapes is None or shapes == {} or shapes == ():
        return dict.fromkeys(named)
    if isinstance(shapes, dict):
        if [*shapes] != [*named] and {*shapes} != {*named}:
            raise UserError(
                hinted(
                    "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names "
                    f"{[*named]} of `inputs`, but here they are {[*shapes]}. Alternatively, you could also ignore arg names "
                    "entirely and specify `dynamic_shapes` as a list/tuple matching `inputs`.",
                    "an argument whose sizes stay has None",
                )
            )
        return shapes
    if isinstance(shapes, (tuple, list)) and len(shapes) == len(named):
        return dict(zip(named, shapes))
    raise UserError(
        hinted(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs` has {len(named)} elements, "
            f"but `dynamic_shapes` has {len(shapes) if hasattr(shapes, '__len__') else 'none'}",
            "give one entry for each argument, None where its sizes stay",
        )
    )


class _Reader:
    """Walks arguments and what is told of their sizes side by side."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self.symbols: dict[Any, Symbol] = {}  # by the name of a Dim, by the place or the example's size of a hint
        self.found: list[dict[int, Varying]] = []

    def walk(self, value: Any, told: Any, path: tuple[Any, ...]) -> None:
        """Read what is told of a value, which lies at ``path``."""
        if isinstance(value, Tensor):
            self.found.append(self._of_tensor(value, told, path))
            return
        children, structure = pytree.tree_flatten(value, is_leaf=lambda each: each is not value)
        if structure.is_leaf():
            self.found.append({})
            return
        keys = [*value] if isinstance(value, dict) else range(len(children))
        if told is None:
            below = [None] * len(children)
        elif isinstance(told, dict):
            below = [told.get(key) for key in keys]
        elif isinstance(told, (tuple, list)) and len(told) == len(children):
            below = list(told)
        else:
            raise _mismatch(path, f"{len(children)} values", told)
        for key, child, each in zip(keys, children, below):
            self.walk(child, each, (*path, key))

    def _of_tensor(self, tensor: Tensor, told: Any, path: tuple[Any, ...]) -> dict[int, Varying]:
        if told is None:
            return {}
        if isinstance(told, (tuple, list)):
            if len(told) != tensor.ndim:
                raise _mismatch(path, f"a tensor of {tensor.ndim} dimensions", told)
            told = dict(enumerate(told))
        if not isinstance(told, dict):
            raise _mismatch(path, "a tensor", told)
        found = {}
        for dim, size in told.items():
            if not -tensor.ndim <= dim < tensor.ndim:
                raise _mismatch(path, f"a tensor of {tensor.ndim} dimensions", told)
            varying = self._of_size(size, tensor.shape[dim], path, dim)
            if varying is not None:
                found[dim % tensor.ndim] = varying
        return found

    def _of_size(self, told: Any, size: int, path: tuple[Any, ...], dim: int) -> Varying | None:
        if told is None or told is Dim.STATIC or (isinstance(told, DimHint) and told.type == "STATIC"):
            return None
        where = f"{'.'.join(map(str, path))}.shape[{dim}]"
        if type(told) is int:
            if told != size:
                raise UserError(
                    hinted(f"Expected {where} to be {told}, but got {size}", "an int says that a size stays")
                )
            return None
        if isinstance(told, DimHint):
            return self._of_hint(told, size, where)
        if not isinstance(told, Dim):
            raise _mismatch(path, "a size", told)
        value, rest = divmod(size - told.offset, told.factor)
        if rest:
            raise UserError(
                hinted(
                    f"Expected input {where} = {size} to be of the form {told.__name__}, where {told.root.__name__} is an integer",
                    "give an example with such a size",
                )
            )
        root = told.root
        return Varying(
            self._symbol(root.__name__, root.__name__, root.min, root.max, value, where), told.factor, told.offset
        )

    def _of_hint(self, told: DimHint, size: int, where: str) -> Varying | None:
        if size == 1 and told.type == "DYNAMIC":
            raise ValueError(
                hinted(
                    "Found the following conflicts between user-specified ranges and inferred ranges from model tracing:\n- Received "
                    f"user-specified dim hint {told}, but export 0/1 specialized due to hint of 1 for dimension {where}.",
                    "give an example of another size: what runs for 1 may be another thing, as such a dimension is broadcast",
                )
            )
        if told.type == "AUTO" and (size == 1 or self._hints is Hints.FIXED):
            return None
        bounds = told.min or 0, INFINITE if told.max is None else told.max
        key = where if self._hints is Hints.APART else size
        return Varying(self._symbol(key, f"s{len(self.symbols)}", *bounds, size, where, True))

    def _symbol(
        self, key: Any, name: str, low: int, high: float, example: int, where: str, by_hint: bool = False
    ) -> Symbol:
        symbol = self.symbols.setdefault(key, Symbol(name, low, high, example, by_hint))
        if symbol.example != example:
            raise UserError(
                hinted(
                    f"Constraints violated ({name})! The values of {name} = {symbol.example} and {where} = {example} are not equal.",
                    "a Dim stands for one size: give the examples equal sizes there, or use another Dim",
                )
            )
        if not low <= example <= high:
            raise UserError(
                hinted(
                    f"Constraints violated ({name})! Not all values of {name} = {where} in the specified range are valid "
                    f"because the example has {example}.",
                    f"the range is {low} to {high}",
                )
            )
        return symbol


def _mismatch(path: tuple[Any, ...], expected: str, told: Any) -> UserError:
    return UserError(
        hinted(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{list(path)}` is {expected}, "
            f"but `dynamic_shapes{list(path)}` is {told!r}",
            "a tensor has {dim: Dim}, or one entry for each dimension; None where sizes stay",
        )
    )


class AdditionalInputs:
    """Further examples, from which ``dynamic_shapes`` are read: sizes that differ are dynamic.

    >>> import rushlight as torch
    >>> more = torch.export.AdditionalInputs()
    >>> more.add((torch.ones(5, 2),))
    >>> more.dynamic_shapes(torch.nn.Identity(), (torch.ones(3, 2),))
    {'input': (DimHint(DYNAMIC), None)}
    """

    def __init__(self) -> None:
        self._examples: list[tuple[Any, Any]] = []

    def add(self, args: Any, kwargs: Any = None) -> None:
        """Take another example of the arguments."""
        self._examples.append((args, kwargs))

    def dynamic_shapes(self, module: Any, args: Any, kwargs: Any = None) -> dict[str, Any]:
        """The sizes that differ from those of ``args`` in some example, as `Dim.DYNAMIC`; None for others."""
        first, structure = pytree.tree_flatten(named_arguments(module, args, kwargs))
        others = [pytree.tree_leaves(named_arguments(module, *example)) for example in self._examples]
        found: list[Any] = []
        for place, leaf in enumerate(first):
            if not isinstance(leaf, Tensor):
                found.append(None)
                continue
            sizes = zip(leaf.shape, *(other[place].shape for other in others))
            found.append(tuple(Dim.DYNAMIC if len({*each}) > 1 else None for each in sizes))
        return pytree.tree_unflatten(found, structure)

    def verify(self, ep: Any) -> None:
        """Run the program with each example; its guards raise where one does not fit."""
        for args, kwargs in self._examples:
            ep.module()(*args, **(kwargs or {}))
