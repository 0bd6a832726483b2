"""``torch.futures``: results that are there later, set by one thread and waited for by others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .base.errors import hinted

__all__ = ["Future", "collect_all", "wait_all"]
T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is set once.

    >>> from rushlight.futures import Future
    >>> future = Future()
    >>> later = future.then(lambda done: done.wait() + 1)
    >>> future.set_result(2)
    >>> later.wait()
    3
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._changed = threading.Condition()
        self._done, self._value, self._error = False, None, None
        self._callbacks: list[Callable[[Future[T]], Any]] = []

    def done(self) -> bool:
        """Whether the value, or an error, has been set."""
        return self._done

    def wait(self) -> Any:
        """The value once it is set; an error that was set instead is raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> Any:
        """The value, which must be there."""
        if not self._done:
            raise RuntimeError(hinted("Future is not complete", "wait() waits for it"))
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        """Set the value, and call those who wait for it."""
        self._settle(result, None)

    def set_exception(self, result: Any) -> None:
        """Let ``wait()`` raise this exception."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._settle(None, result)

    def _settle(self, value: Any, error: Any) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError(
                    hinted(
                        "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                        "completed once.",
                        "make another Future for another value",
                    )
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def add_done_callback(self, callback: Callable[[Future[T]], Any]) -> None:
        """Call ``callback(self)`` when the value is there, in the thread that sets it; at once where it is."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A Future of what ``callback(self)`` will return."""
        later: Future[Any] = Future()

        def follow(done: Future[T]) -> None:
            try:
                found = callback(done)
            except Exception as error:
                later.set_exception(error)
            else:
                later.set_result(found)

        self.add_done_callback(follow)
        return later


def collect_all(futures: Any) -> Future[Any]:
    """A Future of the list of these Futures, complete when all of them are."""
    futures, together = list(futures), Future[Any]()
    left, lock = [len(futures)], threading.Lock()

    def count(done: Future[Any]) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            together.set_result(futures)

    if not futures:
        together.set_result(futures)
    for future in futures:
        future.add_done_callback(count)
    return together


def wait_all(futures: Any) -> list[Any]:
    """The values of these Futures, once all are there."""
    return [future.wait() for future in collect_all(futures).wait()]
