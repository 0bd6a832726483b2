"""``torch.profiler.itt``: ranges for Intel's tools. As in PyTorch, nothing happens while none of them is attached.

VTune attaches by a library that it names in the environment; Rushlight does not speak to that, and says so.
"""

import os

from ..base.contexts import contextmanager
from ..base.errors import hinted

_COLLECTORS = ("INTEL_LIBITTNOTIFY64", "INTEL_LIBITTNOTIFY32")


def tell_nobody():
    """Refuse where a tool listens, since it would hear nothing."""
    if any(os.environ.get(name) for name in _COLLECTORS):
        raise NotImplementedError(
            hinted(
                "ITT ranges are not implemented for an attached collector",
                "torch.profiler.record_function names blocks in Rushlight's own profiles",
            )
        )


def is_available():
    """Whether ranges may be named: True, as in PyTorch's builds for CPUs."""
    return True


def range_push(msg):
    """Begin a range, which ends with `range_pop`."""
    tell_nobody()


def range_pop():
    """End the range that was begun last."""
    tell_nobody()


def mark(msg):
    """Say that something happened."""
    tell_nobody()


@contextmanager
def range(msg, *args, **kwargs):
    """A block that is a range, called ``msg.format(*args, **kwargs)``."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
