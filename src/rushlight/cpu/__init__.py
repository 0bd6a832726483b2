"""``torch.cpu``: the CPU as a device among others, for programs that ask each in the same words."""

from contextlib import AbstractContextManager as _AbstractContextManager

from . import amp


def is_available():
    """Whether the CPU can be used: True."""
    return True


def device_count():
    """The number of CPU devices: 1."""
    return 1


def current_device():
    """The current CPU device: ``"cpu"``."""
    return "cpu"


def set_device(device):
    """Nothing to choose."""


def synchronize(device=None):
    """Nothing to wait for: operations have ended when they return."""


def is_initialized():
    """Whether the CPU was started: True."""
    return True


class Stream:
    """A stream of the CPU: there is one, and nothing to wait for."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing to wait for."""

    def record_event(self):
        """Nothing to mark."""

    def wait_event(self, event):
        """Nothing to wait for."""


class Event:
    """A place in a stream: it is always reached."""

    def query(self):
        """Whether the work before it has ended: True."""
        return True

    def record(self, stream=None):
        """Nothing to mark."""

    def synchronize(self):
        """Nothing to wait for."""

    def wait(self, stream=None):
        """Nothing to wait for."""


_current_stream = Stream()


def current_stream(device=None):
    """The stream in use."""
    return _current_stream


class StreamContext(_AbstractContextManager):
    """``with torch.cpu.stream(stream)``: another stream in use."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _current_stream
        if self.stream is not None:
            self._before, _current_stream = _current_stream, self.stream

    def __exit__(self, type, value, traceback):
        global _current_stream
        if self.stream is not None:
            _current_stream = self._before


def stream(stream):
    """A block with another stream in use."""
    return StreamContext(stream)
