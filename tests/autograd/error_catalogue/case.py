"""A case of the catalogue: a program that provokes an error or a warning."""

from __future__ import annotations

import warnings

SECTIONS = {}  # heading -> cases


class Case:
    """One error or warning."""

    def __init__(self, section, title, code, cause, *cures):
        self.title, self.code, self.cause, self.cures = title, code.strip("\n"), cause, cures
        SECTIONS.setdefault(section, []).append(self)

    def run(self, torch):
        """``(class name, message)`` of what the program raises or else warns of, last."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                exec(compile(self.code, "example.py", "exec"), {"torch": torch, "__name__": "example"})
            except Exception as error:
                return type(error).__name__, str(error)
        if not caught:
            raise AssertionError(f"{self.title}: neither an error nor a warning")
        return caught[-1].category.__name__, str(caught[-1].message)
