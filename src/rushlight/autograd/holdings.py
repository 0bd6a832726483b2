"""What a graph holds: its nodes, the tensors that they keep for backward, and how many bytes of memory those are."""

from __future__ import annotations

import numpy as np

from ..base.arrays import owner_of
from .node import Freed, SavedInput, SavedResult


def graph_from(*roots):
    """All nodes that gradients starting at the nodes ``roots`` can reach, nearest first."""
    order = list(dict.fromkeys(roots))
    seen = set(order)
    for node in order:  # which grows meanwhile
        for edge in node.next_edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                order.append(edge[0])
    return order


def freed_at(node):
    """``(file, line)`` of the backward call that freed what ``node`` had saved; None where none did."""
    saved = node.saved
    return saved.location if isinstance(saved, Freed) else None


def saved_values(node):
    """``(name, tensor or array)`` of all that ``node`` keeps for backward, under the names that its rules give them."""
    for name, entry in _entries(node):
        yield from _tensors(name, entry)


def saved_arrays(node):
    """The NumPy arrays behind `saved_values`."""
    return [value if isinstance(value, np.ndarray) else value._array for _, value in saved_values(node)]


def _entries(node):
    """(name, entry) of all that a node keeps; nothing where backward has freed it."""
    node = getattr(node, "inner", node)  # the write inside a CopySlices
    if isinstance(node.saved, Freed):
        return
    plan = getattr(node, "plan", None)
    if plan is not None:
        entries = node.saved if plan.keeps_tensors else node.constants
        yield from ((name, entries[slot]) for name, slot in plan.slots.items())
    elif hasattr(node, "keeps"):
        yield from zip(node.keeps, node.saved or ())
    else:
        for number, entry in enumerate(node.saved or ()):
            yield f"saved_tensors[{number}]", entry
        for name, value in node.__dict__.items():
            if not name.startswith("_") and name != "saved":
                yield f"ctx.{name}", value


def _tensors(name, entry):
    """(name, tensor or array) of the tensors in one entry."""
    if entry.__class__ in (list, tuple):
        for number, each in enumerate(entry):
            yield from _tensors(f"{name}[{number}]", each)
    elif entry.__class__ in (SavedInput, SavedResult):
        yield from _tensors(name, entry.tensor if entry.__class__ is SavedInput else entry.alias)
    elif hasattr(type(entry), "_edge") or isinstance(entry, np.ndarray):
        yield name, entry


def memory_of(arrays):
    """``{key: bytes}`` of the distinct pieces of memory behind ``arrays``; views of one memory count once, as a whole."""
    owners = [owner_of(array) for array in arrays]
    return {id(owner): owner.nbytes for owner in owners}
