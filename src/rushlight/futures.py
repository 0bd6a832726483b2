"""``torch.futures``: results that are there later."""

from __future__ import annotations

import threading
from typing import Any

from .base.errors import hinted

__all__ = ["Future", "collect_all", "wait_all"]


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
        self.drivers: tuple[Any, ...] = ()  # what is waited for, or asked whether it is over, before this can be set

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def done(self) -> bool:
        """Whether it is set."""
        return self._done or (all(each.is_completed() for each in self.drivers) and self._done)

    def wait(self) -> Any:
        """The result, once it is set; where that is an error, it is raised."""
        for each in self.drivers:
            each.wait()
        with self._changes:
            self._changes.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> Any:
        """The result, which must be set already; where that is an error, it is raised."""
        if not self._done:
            raise RuntimeError(hinted("Result is not set", "wait() waits for it"))
        if self._error is not None:
            raise self._error
        return self._value

    def _set(self, value: Any, error: BaseException | None) -> None:
        with self._changes:
            if self._done:
                raise RuntimeError(
                    hinted(
                        "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                        "completed once.",
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
        after.drivers = self.drivers

        def call(done: Future) -> None:
            try:
                value = callback(done)
            except Exception as error:  # it is told where the result is asked for
                line = f"Got the following error when running the callback: {type(error).__name__}: {error}"
                told = RuntimeError(hinted(line, "the function that was given to then() has raised it"))
                told.__cause__ = error
                after.set_exception(told)
            else:
                after.set_result(value)

        self.add_done_callback(call)
        return after


def collect_all(futures: list[Future]) -> Future:
    """A future of the list of all, which is set once each of them is; the first error in the list is its own."""
    collected = Future()
    collected.drivers = tuple(driver for future in futures for driver in future.drivers)
    missing, lock = [len(futures)], threading.Lock()

    def count(_: Future) -> None:
        with lock:
            missing[0] -= 1
            last = missing[0] == 0
        if last:
            _finish(collected, futures)

    for future in futures:
        future.add_done_callback(count)
    if not futures:
        collected.set_result(futures)
    return collected


def _finish(collected: Future, futures: list[Future]) -> None:
    errors = [future._error for future in futures if future._error is not None]
    if errors:
        collected.set_exception(errors[0])
    else:
        collected.set_result(futures)


def wait_all(futures: list[Future]) -> list[Any]:
    """The results of all; the first error is raised."""
    return [future.wait() for future in futures]
