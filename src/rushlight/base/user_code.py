"""Where in the user's code something happens: the innermost frames that do not belong to this package."""

from __future__ import annotations

import os
import sys

PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
getframe = sys._getframe
our_files = set()  # of this package, as far as they were met: faster to ask than the beginning of a name
STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


def user_frames():
    """All frames outside this package and the standard library, innermost first."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) and (not file.startswith(STANDARD_LIBRARY) or "site-packages" in file):
            yield frame
        frame = frame.f_back


def user_place(inside=1):
    """``(code object, instruction)`` of the innermost frame outside this package; None where there is none.

    Quick to take: `location_of` makes file and line of it when somebody asks. Quicker where the caller knows how many
    frames lie ``inside`` the package, his own included: those before the last of them are not looked at.
    """
    frame = getframe(inside)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file not in our_files:
            if not file.startswith(PACKAGE):
                return code, frame.f_lasti
            our_files.add(file)
        frame = frame.f_back
    return None


def location_of(place):
    """``(file, line)`` of what `user_place` gave."""
    if not place:
        return "an unknown place", 0
    code, instruction = place
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    return code.co_filename, line


def user_location():
    """``(file, line)`` of the innermost frame outside this package."""
    return location_of(user_place())


def written(location):
    """``file:line``, the way that editors and terminals open."""
    file, line = location
    return f"{file}:{line}" if line else file


def to_user():
    """The ``stacklevel`` that makes a warning of the caller's one of the user's line."""
    level, frame = 1, getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
