"""Pairs of programs as text: what goes into a pass, and what has to come out of it."""

import difflib
from pathlib import Path

from rushlight.kernels.language.text import read, write
from rushlight.kernels.language.verify import verify

PROGRAMS = Path(__file__).parent / "programs"


def pairs(name):
    """The ``.before`` files of a pass: programs/<name>/<case>.before, each with a .after beside it."""
    return sorted((PROGRAMS / name).glob("*.before"))


def check_pair(before, transform):
    """``transform(program)`` of the one file must be the other; fails with the difference between them."""
    after = before.with_suffix(".after")
    program = transform(verify(read(before.read_text())))
    verify(program)
    found, expected = write(program), after.read_text()
    difference = "".join(difflib.unified_diff(expected.splitlines(True), found.splitlines(True), after.name, "found"))
    assert found == expected, f"{before.name} became another program than {after}:\n{difference}"
