"""Who is alive: nodes and tensors among Python's objects, and which of them hold on to a graph. For `explain`; slow."""

from __future__ import annotations

import gc
from collections import Counter

from ..base.arrays import owner_of
from .names import holds_memory, is_tensor
from .node import Node, edge_of


def living_nodes():
    """All nodes of operations that exist."""
    return [each for each in gc.get_objects() if issubclass(type(each), Node)]


def living_tensors():
    """All tensors that exist and hold memory themselves: those inside a transform stand for others."""
    return [each for each in gc.get_objects() if is_tensor(each) and holds_memory(each)]


def users_of(targets):
    """``(direct, all)``: the living nodes whose gradients go to one of ``targets`` at once, and those that lead there."""
    into = {}
    for node in living_nodes():
        for edge in node.next_edges:
            if edge is not None:
                into.setdefault(edge[0], []).append(node)
    direct = list(dict.fromkeys(user for target in targets for user in into.get(target, ())))
    every = dict.fromkeys(direct)
    waiting = [*direct]
    while waiting:
        for node in into.get(waiting.pop(), ()):
            if node not in every:
                every[node] = None
                waiting.append(node)
    return direct, list(every)


def tensors_in_graph(nodes):
    """The living tensors that ``nodes`` made: while one of them lives, so does the graph behind it."""
    nodes = set(nodes)
    found = []
    for tensor in living_tensors():
        edge = tensor._edge
        if edge.__class__ is not tuple:
            edge = getattr(edge, "edge", None)  # of a view, as it was made: nothing is worked out here
        if edge.__class__ is tuple and edge[0] in nodes:
            found.append(tensor)
    return found


def tracked_owners_of_memory(tensor):
    """The other living tensors on the memory of ``tensor`` for which gradients are computed."""
    owner = owner_of(tensor._array)
    found = [t for t in living_tensors() if t is not tensor and owner_of(t._array) is owner]
    return [t for t in found if edge_of(t) is not None]


def counted(words):
    """``["Mul", "Sum", "Mul"]`` as "2 Mul, Sum"; the most frequent first."""
    return ", ".join(word if times == 1 else f"{times} {word}" for word, times in Counter(words).most_common())
