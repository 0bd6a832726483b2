"""Contexts that are decorators, too: what decorated functions and generators run in."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from .errors import hinted

F = TypeVar("F", bound=Callable[..., Any])


def around(make: Callable[[], Any], function: F) -> F:
    """``function``, whose code runs in a context that ``make()`` gives; a generator's in one for each of its steps."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & inspect.CO_GENERATOR:
        return _around_generator(make, function)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        with make():
            return function(*args, **kwargs)

    return wrapped  # type: ignore[return-value]  # it takes what the function takes


def _around_generator(make, function):
    @functools.wraps(function)
    def generator(*args, **kwargs):
        # The context holds only while the generator's own code runs, never in the code that consumes it.
        with make():
            inner = function(*args, **kwargs)
        resume, value = inner.send, None
        while True:
            try:
                with make():
                    result = resume(value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield result
                resume = inner.send
            except GeneratorExit:
                with make():
                    inner.close()
                raise
            except BaseException as error:
                resume, value = inner.throw, error

    return generator


class Decorating:
    """A context that is also a decorator of functions and generators; of a class it wraps the making alone.

    A coroutine function is decorated like any other function: the context holds while its coroutine is made, not while that
    runs, for a mode that a suspended coroutine held would leak into whatever runs meanwhile. Write ``with`` inside it.
    """

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, kind: Any, value: Any, trace: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        """Another context of the same kind; for subclasses to override that are made with arguments."""
        return type(self)()

    def __call__(self, orig_func: F) -> F:
        if isinstance(orig_func, type):
            warnings.warn(
                hinted(
                    "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                    "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and "
                    "nothing else.",
                    f"only the making of {orig_func.__name__} is decorated, none of its methods: decorate those",
                ),
                FutureWarning,
                stacklevel=3,
            )
        return around(self.clone, orig_func)
