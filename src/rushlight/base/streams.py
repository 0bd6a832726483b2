"""``torch.Stream`` and ``torch.Event`` on a CPU: one stream, whose work has ended when a call returns."""

from __future__ import annotations

from .device import CPU, device
from .errors import hinted


def _of(kind):
    """The device of a stream or event; the error of a build for the CPU where it is another."""
    wanted = CPU if kind is None else device(kind)
    if wanted.type != "cpu":
        raise RuntimeError(
            hinted(
                f"PyTorch is not linked with support for {wanted.type} devices",
                "this version computes on the CPU; leave the stream away",
            )
        )
    return wanted


class Stream:
    """The order of work on a device; on the CPU there is nothing to wait for.

    >>> import rushlight as torch
    >>> torch.Stream().query()
    True
    """

    device_index, stream_id = -1, 0

    def __init__(self, device=None, *, priority=0):
        self.device = _of(device)

    def query(self):
        """Whether all work has ended: True."""
        return True

    def synchronize(self):
        """Wait for the work: it has ended."""

    def wait_stream(self, stream):
        """Let further work wait for that of another stream: it has ended."""

    def wait_event(self, event):
        """Let further work wait for an event: refused, the CPU has none."""
        event.wait(self)

    def record_event(self, event=None):
        """Mark a place in the stream: refused, the CPU has none."""
        (event or Event()).record(self)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash(("Stream", self.device))

    def __repr__(self):
        return f"torch.Stream device_type={self.device.type}, device_index=-1, stream_id=0"


class Event:
    """A place in a stream; the CPU's stream has none."""

    event_id = 0

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self.device = _of(device)

    def record(self, stream=None):
        """Mark the place: refused on the CPU."""
        self._refuse()

    def wait(self, stream=None):
        """Let a stream wait for the place: refused on the CPU."""
        self._refuse()

    def query(self):
        """Whether the work before the place has ended: nothing was recorded, so True."""
        return True

    def synchronize(self):
        """Wait for the work before the place: nothing was recorded."""

    def elapsed_time(self, end_event):
        """Milliseconds between two places: refused on the CPU."""
        self._refuse()

    def _refuse(self):
        raise RuntimeError(
            hinted(
                f"{self.device.type} backend doesn't support events.", "time.perf_counter() measures time on the CPU"
            )
        )

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, device_index=-1, event_flag=0, event_id=0"
