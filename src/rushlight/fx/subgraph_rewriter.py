"""Exchanging one part of a graph for another, wherever it is found."""

from __future__ import annotations

from typing import NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attribute
from .node import Node


class Match(NamedTuple):
    """A place where a pattern was found.

    Attributes:
        anchor: the node of the graph that gives the pattern's result.
        nodes_map: the graph's node for each node of the pattern.
    """

    anchor: Node
    nodes_map: dict


def replace_pattern(gm, pattern, replacement):
    """Exchange every part of a graph that does what ``pattern`` does for what ``replacement`` does. Returns the matches.

    Args:
        gm: the `GraphModule` that is changed.
        pattern, replacement: functions, modules or GraphModules with the same arguments.

    >>> import rushlight as torch
    >>> traced = symbolic_trace(lambda x, y: torch.add(x, y).relu())
    >>> found = replace_pattern(traced, lambda a, b: torch.add(a, b), lambda a, b: torch.mul(a, b))
    >>> len(found), traced(torch.tensor(3.0), torch.tensor(4.0))
    (1, tensor(12.))
    """
    pattern_graph = _graph_of(pattern)
    replacement_module = replacement if isinstance(replacement, GraphModule) else None
    replacement_graph = _graph_of(replacement)
    matches, used = [], set()
    for node in gm.graph.nodes:
        found = _match(pattern_graph, node)
        if found is not None and not used & {found[each] for each in pattern_graph.nodes if _is_inside(each)}:
            used |= {found[each] for each in pattern_graph.nodes if _is_inside(each)}
            matches.append(Match(node, found))
    renamed: dict = {}
    for match in matches:
        _exchange(gm, match, pattern_graph, replacement_graph, renamed)
    if replacement_module is not None:
        for node in replacement_graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _copy_attribute(replacement_module, gm, node.target)
    gm.recompile()
    return matches


def _graph_of(what):
    if isinstance(what, Graph):
        return what
    return what.graph if isinstance(what, GraphModule) else symbolic_trace(what).graph


def _is_inside(node):
    return node.op not in ("placeholder", "output")


def _match(pattern, anchor):
    """Pattern node -> node, where the part of a graph that ends in ``anchor`` does what the pattern does; else None."""
    result = pattern.output_node().args[0]
    if not isinstance(result, Node) or anchor.op in ("placeholder", "output"):
        return None
    found: dict = {}
    if not _fits(result, anchor, found):
        return None
    for wanted, node in found.items():
        # Nobody outside may need a result that will not be computed any more.
        if _is_inside(wanted) and wanted is not result and any(user not in found.values() for user in node.users):
            return None
    return found


def _fits(wanted, node, found):
    if not isinstance(wanted, Node) or not isinstance(node, Node):
        return not isinstance(wanted, Node) and not isinstance(node, Node) and wanted == node
    if wanted in found:
        return found[wanted] is node
    if wanted.op == "placeholder":
        found[wanted] = node
        return True
    if wanted.op != node.op or wanted.target != node.target:
        return False
    found[wanted] = node
    return _all_fit(wanted.args, node.args, found) and _all_fit(wanted.kwargs, node.kwargs, found)


def _all_fit(wanted, given, found):
    if isinstance(wanted, (list, tuple)) and isinstance(given, (list, tuple)):
        return len(wanted) == len(given) and all(_all_fit(a, b, found) for a, b in zip(wanted, given))
    if isinstance(wanted, dict) and isinstance(given, dict):
        return wanted.keys() == given.keys() and all(_all_fit(wanted[key], given[key], found) for key in wanted)
    return _fits(wanted, given, found)


def _exchange(gm, match, pattern, replacement, renamed):
    """Put the replacement where a match was found."""
    values = {}
    inputs = [node for node in pattern.nodes if node.op == "placeholder"]
    for outer, inner in zip(inputs, (node for node in replacement.nodes if node.op == "placeholder")):
        given = match.nodes_map.get(outer)
        while given in renamed:
            given = renamed[given]
        values[inner] = given
    with gm.graph.inserting_before(match.anchor):
        result = gm.graph.graph_copy(replacement, values)
    match.anchor.replace_all_uses_with(result)
    renamed[match.anchor] = result
    for wanted in reversed(pattern.nodes):
        node = match.nodes_map.get(wanted)
        if _is_inside(wanted) and node is not None and not node.users:
            gm.graph.erase_node(node)


__all__ = ["Match", "replace_pattern"]
