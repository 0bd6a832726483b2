"""``torch.profiler.itt``: ranges for Intel's tools, as a build without them answers: ``is_available()`` is False."""

from ..base.contexts import contextmanager
from ..base.errors import hinted


def _refuse():
    raise RuntimeError(
        hinted(
            "ITT functions not installed. Are you sure you have a ITT build?",
            "torch.profiler.record_function names blocks in Rushlight's own profiles",
        )
    )


def is_available():
    """Whether Intel's tools can be told of ranges: False."""
    return False


def range_push(msg):
    """Begin a range: refused."""
    _refuse()


def range_pop():
    """End a range: refused."""
    _refuse()


def mark(msg):
    """Say that something happened: refused."""
    _refuse()


@contextmanager
def range(msg, *args, **kwargs):
    """A block that is a range: refused where it is entered."""
    range_push(msg.format(*args, **kwargs))
    yield
