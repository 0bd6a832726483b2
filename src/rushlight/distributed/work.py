"""Work: collectives that were begun with ``async_op=True``, and messages."""

from __future__ import annotations

from datetime import timedelta

from ..futures import Future
from . import waiting


class Work:
    """A collective or message that was begun. What it writes is there once ``wait`` or ``is_completed`` say so."""

    def __init__(self, result, request=None, finish=(), call=None, limit=0.0):
        self._result, self._request, self._finish, self._call, self._limit = result, request, finish, call, limit
        self._error = self._future = None
        self.source = None  # of a message: says the rank in the group that it came from
        if request is None:
            self._complete()

    def _complete(self):
        self._request = None
        for each in self._finish:
            each()
        self._finish = ()
        if self._future is not None and not self._future.done():
            self._future.set_result(self._result)

    def wait(self, timeout=timedelta(0)):
        """Wait for the end, no longer than ``timeout`` where it is not 0. Returns True.

        Raises:
            RuntimeError: after the timeout, by default the group's; the hint says where each process is.
        """
        if self._request is not None:
            limit = timeout.total_seconds() or self._limit
            try:
                waiting.wait(self._request, self._call, limit)
            except RuntimeError as error:
                self._error = error
                if self._future is not None and not self._future.done():
                    self._future.set_exception(error)
                raise
            self._complete()
        return True

    def is_completed(self):
        """Whether it is over; a question that also keeps it moving."""
        if self._request is not None and self._request.Test():
            self._complete()
        return self._request is None

    def is_success(self):
        """Whether it is over and went well."""
        return self.is_completed() and self._error is None

    def exception(self):
        """The error that ended it, or None."""
        return self._error

    def result(self):
        """The tensors that are written."""
        return self._result

    def get_future(self):
        """A ``torch.futures.Future`` of the tensors that are written."""
        if self._future is None:
            self._future = Future()
            if self._request is None:
                self._future.set_result(self._result)
            else:
                self._future.drivers = (self,)
        return self._future

    def _source_rank(self):
        return self.source()

    def block_current_stream(self):
        """Let later work wait for this: on a CPU, it is waited for."""
        self.wait()
