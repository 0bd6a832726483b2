"""Modules of PyTorch that Rushlight has under its name alone, mostly of its inside, as a build for the CPU answers them."""

import functools
import os


@functools.cache
def names():
    """The modules that are here: files and folders say it."""
    found = {entry.partition(".")[0] for entry in os.listdir(os.path.dirname(__file__))}
    return frozenset(name for name in found if name and not name.startswith("__"))
