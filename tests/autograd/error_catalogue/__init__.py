"""Autograd's errors and warnings: each with the shortest program that provokes it, its cause and its cures.

`docs/errors.md` is written from this list by ``python tools/write_errors.py``; tests run every program in Rushlight and
in PyTorch. A program sees ``torch``; its last statement is the culprit.
"""

from importlib import import_module

from .case import SECTIONS

for _name in ("calling", "writing", "leaves", "hooks", "functions", "modes", "transforms"):  # in the order of the page
    import_module("." + _name, __name__)


def cases():
    """All of them, section by section."""
    return [case for section in SECTIONS.values() for case in section]
