"""Work: collectives that were begun with ``async_op=True``, and messages."""

from __future__ import annotations

from ..futures import Future
from . import waiting


class Work:
    """A collective or message that was begun. What it writes is there once ``wait`` or ``is_completed`` say so."""

    def __init__(self, group, name, result, request, finish=(), size=0):
        self._group, self._name, self._number, self._size = group, name, group.number, size
        self._result, self._request, self._finish = result, request, finish
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

    def wait(self, timeout=None):
        """Wait for the end, no longer than ``timeout`` where it is given and not 0. Returns True.

        Raises:
            RuntimeError: after the timeout, by default the group's; the hint says where each process is.
        """
        if self._request is not None:
            if not waiting.is_soon_over(self._request):
                self._wait_long(timeout)
            self._complete()
        return True

    def _wait_long(self, timeout):
        limit = timeout.total_seconds() if timeout else self._group.seconds
        try:
            waiting.wait(self._request, self._group.call(self._name, self._number, self._size), limit)
        except RuntimeError as error:
            self._error = error
            if self._future is not None and not self._future.done():
                self._future.set_exception(error)
            raise

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
