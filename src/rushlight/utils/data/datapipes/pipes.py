"""What pipes have in common: methods that stand for classes of pipes, names as text, and one valid iterator."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, ClassVar

from ....base.errors import hinted
from ....base.user_code import to_user
from ..dataset import Dataset, IterableDataset


class _Methods:
    """Classes of pipes by the names under which pipes make them: ``pipe.map(f)`` is ``Mapper(pipe, f)``."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        made = self.functions.get(name)
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.update_wrapper(functools.partial(made, self), made, assigned=("__doc__",))

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Let all pipes of this style have a method."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
    ) -> None:
        """Let all pipes of this style have a method that makes a pipe of a class on them."""
        if function_name in cls.functions:
            words = f"Unable to add DataPipe function name {function_name} as it is already taken"
            raise Exception(hinted(words, "register it under another name"))
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__

    __str__ = __repr__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]


class IterDataPipe(_Methods, IterableDataset):
    """A step over a stream: subclasses define ``__iter__``. Methods make further steps: ``map filter batch unbatch collate``...

    A pipe has one valid iterator: a second one ends the first, which raises RuntimeError from then on. ``reset()`` is called
    when iteration begins. The steps of PyTorch that read files, shuffle, sample, fork or group are not in this version.

    >>> import rushlight as torch
    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(6)).map(lambda x: 10 * x).filter(lambda x: x > 10)
    >>> list(pipe.batch(2))
    [[20, 30], [40, 50]]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).get("__iter__")
        if own is not None:
            cls.__iter__ = _one_at_a_time(own)  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[Any]:
        """The elements: subclasses yield them."""
        return self  # as PyTorch's, so that iter() says what is missing

    def reset(self) -> None:
        """Go back to the start: does nothing unless a subclass keeps something between elements."""


class MapDataPipe(_Methods, Dataset):
    """A step over a mapping: subclasses define ``__getitem__`` and, for samplers, ``__len__``.

    Methods make further steps: ``map batch concat zip``.

    >>> import rushlight as torch
    >>> pipe = torch.utils.data.datapipes.map.SequenceWrapper([1, 2, 3]).map(lambda x: x * x)
    >>> pipe[2], len(pipe)
    (9, 3)
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[type], type]:
    """A decorator that lets pipes make the decorated class by a method called ``name``."""

    def register(cls: type) -> type:
        base = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        base.register_datapipe_as_function(name, cls)
        return cls

    return register


def checked_function(function: Any) -> Any:
    """A function for a pipe; a warning tells that a local one or a lambda does not go into worker processes, as long as there is no dill."""
    if not callable(function):
        raise TypeError(
            hinted(f"A callable function is expected, but {type(function)} is provided.", "give a function")
        )
    inner = function.func if isinstance(function, functools.partial) else function
    code = getattr(inner, "__code__", None)
    is_local = code is not None and code.co_flags & inspect.CO_NESTED
    if (is_local or getattr(inner, "__name__", None) == "<lambda>") and find_spec("dill") is None:
        warnings.warn(
            f"{'Local' if is_local else 'Lambda'} function is not supported by pickle, please use regular python function or "
            "functools.partial instead.",
            stacklevel=to_user(),
        )
    return function


def named(module: dict[str, Any], style: type) -> None:
    """Give the pipes of a module, by its globals, their full names: ``Mapper`` is ``MapperIterDataPipe``, as messages call it."""
    for name in module["__all__"]:
        kind = module[name]
        kind.__name__ = kind.__qualname__ = name + style.__name__
        module[kind.__name__] = kind


def _one_at_a_time(iterate):
    """``__iter__`` that resets the pipe, and ends the iterator that was made before."""

    @functools.wraps(iterate)
    def __iter__(self: Any) -> Iterator[Any]:
        self.reset()
        return _Only(self, iter(iterate(self)))

    return __iter__


class _Only:
    """The valid iterator of a pipe, until another one is made."""

    def __init__(self, pipe, inner):
        self.pipe, self.inner = pipe, inner
        _VALID[pipe] = weakref.ref(self)

    def __iter__(self):
        return self

    def __next__(self):
        valid = _VALID.get(self.pipe)
        if valid is None or valid() is not self:
            held = ", ".join([f"{name}={value}" for name, value in sorted(vars(self.pipe).items())])
            raise RuntimeError(
                hinted(
                    "This iterator has been invalidated because another iterator has been created from the same IterDataPipe: "
                    f"{type(self.pipe).__qualname__}({held})",
                    "a pipe has one iterator at a time: make a second pipe, or a list of the first one's elements",
                )
            )
        return next(self.inner)


_VALID: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
