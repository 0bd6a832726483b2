"""Memory for a process's last words: where a program has used up all there is, its traceback could not be printed without."""

from __future__ import annotations

_BYTES = 4 << 20  # what a traceback takes, with the files whose lines it shows; nothing of it is used before
_kept: bytearray | None = None


def keep_memory():
    """Keep some, until `release_memory`."""
    global _kept
    _kept = _kept or bytearray(_BYTES)


def release_memory():
    """Give it back, first of all, where a process ends by an error."""
    global _kept
    _kept = None
