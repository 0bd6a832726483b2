"""Nested containers under the names that programs for ``torch.func`` import: ``torch.utils._pytree``."""

from __future__ import annotations

from ..base.trees import Structure as TreeSpec
from ..base.trees import flatten as tree_flatten
from ..base.trees import leaves_of as tree_leaves
from ..base.trees import tree_map, unflatten

__all__ = [
    "TreeSpec",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]


def tree_unflatten(leaves, treespec):
    """The container of ``treespec`` with these leaves."""
    return unflatten(leaves, treespec)


def tree_structure(tree):
    """How the leaves lie in a container."""
    return tree_flatten(tree)[1]


def tree_map_only(kind, function, tree):
    """``tree`` with ``function`` of each leaf of a class, or of several, in its place.

    >>> from rushlight.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda n: n + 1, {"a": 1, "b": "c"})
    {'a': 2, 'b': 'c'}
    """
    return tree_map(lambda leaf: function(leaf) if isinstance(leaf, kind) else leaf, tree)


def tree_all(predicate, tree):
    """Whether ``predicate`` holds for every leaf."""
    return all(predicate(leaf) for leaf in tree_leaves(tree))


def tree_any(predicate, tree):
    """Whether ``predicate`` holds for any leaf."""
    return any(predicate(leaf) for leaf in tree_leaves(tree))
