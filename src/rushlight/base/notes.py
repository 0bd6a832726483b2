"""Notes to the user, told once in a process: what a call does here otherwise than its name says, though nothing is wrong."""

from __future__ import annotations

_told: set[str] = set()


def note_once(text):
    """Tell the user, through the log named "rushlight" (shown on stderr where a program does not set up logging).

    A warning it is not: programs that turn warnings into errors run on.
    """
    if text not in _told:
        _told.add(text)
        import logging  # 10 ms, for programs that are told something

        logging.getLogger("rushlight").warning(text)
