"""Modules of PyTorch that Rushlight has under its name alone, mostly of its inside, as a build for the CPU answers them."""

import os

REPLACES = ("ops",)  # names that mean something else in Rushlight itself


def has(name):
    """Whether there is a module of this name here."""
    place = os.path.join(os.path.dirname(__file__), name)
    return os.path.isfile(f"{place}.py") or os.path.isdir(place)
