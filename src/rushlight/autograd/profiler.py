"""``torch.autograd.profiler``: there is no profiler in this version: names for blocks are taken, profiling is refused."""

from __future__ import annotations

import functools

from ..base.errors import hinted


class record_function:
    """A name for a block in a profile; as a decorator, for a function. Nothing is recorded, since there is no profiler.

    >>> import rushlight as torch
    >>> with torch.autograd.profiler.record_function("forward"):
    ...     y = torch.ones(2) + 1
    """

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __call__(self, function):
        @functools.wraps(function)
        def named(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return named


class EventList(list):
    """What a profile holds: nothing makes one in this version."""


class profile:
    """A block that is profiled: refused where it is entered."""

    def __init__(self, enabled=True, **options):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            raise NotImplementedError(
                hinted(
                    "the profiler is not implemented", "Python's cProfile sees the calls; enabled=False runs the block"
                )
            )
        return None

    def __exit__(self, *error):
        return None


class emit_nvtx(profile):
    """A block whose operations are named for a CUDA profiler: refused where it is entered."""


class emit_itt(profile):
    """A block whose operations are named for Intel's profiler: refused where it is entered."""


def kineto_available():
    """Whether PyTorch's profiling library is there: False."""
    return False


def load_nvprof(path):
    """Read what a CUDA profiler has written: refused."""
    raise NotImplementedError(hinted("load_nvprof is not implemented", "this version computes on the CPU"))
