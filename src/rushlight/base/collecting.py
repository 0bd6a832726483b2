"""The garbage collector while the package is imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator

from .contexts import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Import inside without collections, and leave what is there then out of later ones.

    Some 100,000 objects are made that stay for good: records, functions, classes. Looking through them again and again took
    a tenth of the time of an import, a quarter of that of the process's end, and several milliseconds of each full
    collection in between.
    """
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()
        gc.freeze()
