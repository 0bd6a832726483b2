"""The kinds of random tests, and what one seed of each finds."""

from __future__ import annotations

from importlib import import_module
from random import Random

KINDS = ("calls", "mixed_programs", "graph_programs", "indexing", "printed", "streams", "trainings")


def told_of(kind, seed):
    """What a seed of a tester finds, in words; None where the libraries agree."""
    tester = import_module(kind)
    if kind == "calls":
        call = tester.random_call(Random(seed))
        told = call and tester.compared(call)
        return told and f"{call}\n    {told}"
    if kind == "mixed_programs":
        done, told = tester.program(seed)
        return told and f"{done[-1]}\n    {told}"
    return tester.compared(tester.drawn(seed) if kind == "trainings" else seed)
