"""What the user is told once in a process: notes on calls that do here otherwise than their names say, and PyTorch's warnings of
what it will not do for ever."""

from __future__ import annotations

import warnings

from .settings import is_warn_always_enabled
from .user_code import to_user

_told: set[str] = set()


def note_once(text):
    """Tell the user, through the log named "rushlight" (shown on stderr where a program does not set up logging).

    A warning it is not: programs that turn warnings into errors run on.
    """
    if text not in _told:
        _told.add(text)
        import logging  # 10 ms, for programs that are told something

        logging.getLogger("rushlight").warning(text)


def warn_once(text):
    """Warn at the user's line; after the first time only if `is_warn_always_enabled`."""
    if text not in _told or is_warn_always_enabled():
        _told.add(text)
        warnings.warn(text, UserWarning, stacklevel=to_user())
