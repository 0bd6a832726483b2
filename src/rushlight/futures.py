<<<<<<< HEAD
"""``torch.futures``: results that are there later, set by one thread and waited for by others."""
=======
"""``torch.futures``: results that are there later."""
>>>>>>> main

from __future__ import annotations

import threading
<<<<<<< HEAD
from collections.abc import Callable
from typing import Any, Generic, TypeVar
=======
from typing import Any
>>>>>>> main

from .base.errors import hinted

__all__ = ["Future", "collect_all", "wait_all"]
<<<<<<< HEAD
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
=======


class Future:
    """A result that is set once, by `set_result` or `set_exception`, and waited for.

    >>> import rushlight as torch
    >>> future = torch.futures.Future()
    >>> longer = future.then(lambda done: done.value() + 1)
    >>> future.set_result(1)
    >>> longer.wait()
    2
    """

    def __init__(self, *, devices: list[Any] | None = None) -> None:
        self._changes = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._waiting: list[Any] = []

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def done(self) -> bool:
        """Whether it is set."""
        return self._done

    def wait(self) -> Any:
        """The result, once it is set; where that is an error, it is raised."""
        with self._changes:
            self._changes.wait_for(self.done)
        return self.value()

    def value(self) -> Any:
        """The result, which must be set already; where that is an error, it is raised."""
        if not self._done:
            raise RuntimeError(hinted("Result is not set", "wait() waits for it"))
>>>>>>> main
        if self._error is not None:
            raise self._error
        return self._value

<<<<<<< HEAD
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
=======
    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._changes:
>>>>>>> main
            if self._done:
                raise RuntimeError(
                    hinted(
                        "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                        "completed once.",
<<<<<<< HEAD
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
=======
                        "set_result and set_exception are called once",
                    )
                )
            self._value, self._error, self._done = value, error, True
            waiting, self._waiting = self._waiting, []
            self._changes.notify_all()
        for callback in waiting:
            callback(self)

    def set_result(self, result: Any) -> None:
        """Set the result, and call what waits for it."""
        self._set(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error, which is raised where the result is asked for."""
        if not isinstance(result, BaseException):
            raise AssertionError(hinted(f"{result} is of type {type(result)}, not an Exception.", "give an exception"))
        self._set(None, result)

    def add_done_callback(self, callback: Any) -> None:
        """Let ``callback(future)`` be called once it is set, or now where it is."""
        with self._changes:
            if not self._done:
                self._waiting.append(callback)
                return
        callback(self)

    def then(self, callback: Any) -> Future:
        """A future of what ``callback(future)`` returns or raises once this one is set."""
        after = Future()

        def call(done: Future) -> None:
            try:
                value = callback(done)
            except Exception as error:  # it is raised where the result is asked for
                after.set_exception(error)
            else:
                after.set_result(value)

        self.add_done_callback(call)
        return after


def collect_all(futures: list[Future]) -> Future:
    """A future of the list of all, which is set once each of them is."""
    collected = Future()
    missing, lock = [len(futures)], threading.Lock()

    def count(_: Future) -> None:
        with lock:
            missing[0] -= 1
            last = missing[0] == 0
        if last:
            collected.set_result(futures)

    for future in futures:
        future.add_done_callback(count)
    if not futures:
        collected.set_result(futures)
    return collected


def wait_all(futures: list[Future]) -> list[Any]:
    """The results of all; the first error is raised."""
    return [future.wait() for future in futures]
>>>>>>> main
