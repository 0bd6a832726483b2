"""Contexts made of generators that undo what they did when Ctrl-C comes while they are entered."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any


class Leaving:
    """A context that is left by ``_leave()``, which may be called again: what Ctrl-C broke off goes on where it was."""

    def _leave(self) -> None:
        raise NotImplementedError

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            self._leave()
        except BaseException:  # Ctrl-C came before it was done
            self._leave()
            raise


class _Context(contextlib._GeneratorContextManager):
    def __enter__(self) -> Any:
        try:
            entered = super().__enter__()
        except BaseException:  # after the generator has come to its yield, perhaps
            self.gen.close()
            raise
        return entered


def contextmanager(function: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
    """``contextlib.contextmanager``, and safe from Ctrl-C.

    Python looks for Ctrl-C where a function begins, where a loop jumps back, and after calls. Where it is found between the
    generator's yield and the block, Python's own never leaves the context, as long as something holds the traceback: a
    notebook does. The rest is the generator's: all that it switches comes after its ``try``, and ``finally`` begins with
    what switches it back, without a call before it. A call that switches back is made again where it was interrupted.
    """

    @functools.wraps(function)
    def make(*arguments: Any, **options: Any) -> _Context:
        return _Context(function, arguments, options)  # type: ignore[arg-type]  # the iterator is a generator's

    return make
