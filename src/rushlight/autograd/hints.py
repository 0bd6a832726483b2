"""The hints below autograd's errors: who wrote, who had saved, what the user calls a tensor, and the places in his code."""

from __future__ import annotations

from ..base.user_code import location_of, written
from .names import names_in_scope

# So many writes to one memory note their place in the user's code: a buffer that is written for ever does not pay for it.
NOTED_WRITES = 32

# What users call the operations of the table that have names of their own.
_PUBLIC_NAMES = {"fill_tensor": "fill_()", "copy_from": "copy_()"}


def call_of(name):
    """An operation that wrote, in the user's words: "add_()"."""
    return _PUBLIC_NAMES.get(name) or f"{name}()"


def writer_of(counter):
    """The last write that a version counter saw, in words: "add_() at train.py:12"."""
    note = counter.writer
    if note is None:
        return "an in-place operation"
    if note.__class__ is str:
        return call_of(note)
    name, place = note
    return call_of(name) if place is None else f"{call_of(name)} at {written(location_of(place))}"


def place_of(node):
    """``(file, line)`` of the forward call that made ``node``, where anomaly mode or draw.trace() was on then; else None."""
    place = getattr(node, "inner", node).__dict__.get("made_at")  # inner: the write inside a CopySlices
    return None if place is None else location_of(place)


def memory_named(tensor):
    """The tensor by what the user calls it, or another tensor that is the same memory; "this tensor" without a name."""
    name = names_in_scope().get(id(tensor._array))
    return "this tensor" if name is None else f"`{name}`"


def overwritten(tensor, expected, saver):
    """The hint for a tensor that ``saver``, a node, had saved in version ``expected`` and that was written since."""
    if saver is None:
        who, advice = "another operation", ""
    elif (place := place_of(saver)) is not None:
        who, advice = f"{saver.name()}, made at {written(place)},", ""
    else:
        who = saver.name()
        advice = (
            f" (the line that made {who} is told when the forward pass runs inside torch.autograd.detect_anomaly())"
        )
    return (
        f"{writer_of(tensor._version_counter)} wrote into {memory_named(tensor)} after {who} had saved it (version {expected} -> {tensor._version}); "
        f"use the out-of-place form, or write into a clone(){advice}"
    )
