"""Nested containers: tuples, lists and dictionaries of leaves, taken apart and put together again.

``flatten`` gives the leaves in order and a `Structure` that ``unflatten`` fills again; what is no container, None
included, is a leaf. Named tuples and ordered or default dictionaries keep their class.

>>> from rushlight.base.trees import flatten, unflatten
>>> leaves, structure = flatten({"a": 1, "b": [2, (3,)]})
>>> leaves
[1, 2, 3]
>>> unflatten([10 * leaf for leaf in leaves], structure)
{'a': 10, 'b': [20, (30,)]}
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict

_DICTIONARIES = (dict, OrderedDict, defaultdict)


class Structure:
    """How the leaves of a nested container lie in it: ``kind`` is its class (None for a leaf), ``keys`` a dictionary's."""

    __slots__ = ("children", "factory", "keys", "kind", "num_leaves")

    def __init__(self, kind=None, children=(), keys=None, factory=None):
        self.kind, self.children, self.keys, self.factory = kind, children, keys, factory
        self.num_leaves = 1 if kind is None else sum(child.num_leaves for child in children)

    def __eq__(self, other):
        return (
            isinstance(other, Structure)
            and (self.kind, self.keys) == (other.kind, other.keys)
            and self.children == other.children
        )

    __hash__ = None  # type: ignore[assignment]  # as Python itself does for what is equal by value

    def is_leaf(self):
        """Whether this is a leaf itself."""
        return self.kind is None

    def __repr__(self):
        """PyTorch's text of a structure, one line for each leaf: its error messages hold it."""
        return self._text(0)

    def _text(self, indent):
        if self.kind is None:
            return "*"
        named = self.keys is None and hasattr(self.kind, "_fields")
        context = self.kind.__name__ if named else None if self.keys is None else list(self.keys)
        separator = ",\n" + " " * (indent + 2)
        inside = separator.join(child._text(indent + 2) for child in self.children)
        return f"TreeSpec({'namedtuple' if named else self.kind.__name__}, {context}, [{inside}])"

    def outline(self):
        """The text of a container of this structure with ``*`` for each leaf."""
        return repr(unflatten([_STAR] * self.num_leaves, self))


class _Star:
    def __repr__(self):
        return "*"


_STAR = _Star()
LEAF = Structure()


def _children(tree):
    """``(children, keys)`` of a container, or None for a leaf."""
    kind = type(tree)
    if kind in _DICTIONARIES:
        return list(tree.values()), tuple(tree)
    if kind in (tuple, list) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return list(tree), None
    return None


def flatten(tree):
    """``(leaves, structure)`` of a nested container."""
    leaves = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves):
    found = _children(tree)
    if found is None:
        leaves.append(tree)
        return LEAF
    children, keys = found
    factory = tree.default_factory if type(tree) is defaultdict else None
    return Structure(type(tree), [_flatten(child, leaves) for child in children], keys, factory)


def unflatten(leaves, structure):
    """The nested container of ``structure`` with these leaves."""
    leaves = list(leaves)
    if len(leaves) != structure.num_leaves:
        raise ValueError(f"{len(leaves)} leaves do not fill {structure}, which has {structure.num_leaves}")
    return _unflatten(iter(leaves), structure)


def _unflatten(leaves, structure):
    if structure.kind is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in structure.children]
    return _container(structure.kind, children, structure.keys, structure.factory)


def _container(kind, children, keys, factory):
    if kind is defaultdict:
        return defaultdict(factory, zip(keys, children))
    if keys is not None:
        return kind(zip(keys, children))
    return kind(*children) if hasattr(kind, "_fields") else kind(children)


def tree_map(function, tree, *rest):
    """``tree`` with ``function`` of each leaf in its place; further trees of the same structure give further arguments."""
    leaves, structure = flatten(tree)
    columns = [flatten(other)[0] for other in rest]
    return unflatten([function(*row) for row in zip(leaves, *columns, strict=True)], structure)


def leaves_of(tree):
    """The leaves of a nested container, in order."""
    return flatten(tree)[0]


def broadcast_prefix(prefix, structure):
    """The leaf of ``prefix`` for each leaf of ``structure``, where a leaf of the prefix stands for all below it.

    None where the prefix does not fit. ``None`` and ints are leaves of a prefix.
    """
    if structure.kind is None:
        return [prefix] if _children(prefix) is None else None
    found = _children(prefix)
    if found is None:
        return [prefix] * structure.num_leaves
    children, keys = found
    if type(prefix) is not structure.kind or keys != structure.keys or len(children) != len(structure.children):
        return None
    leaves = []
    for child, inner in zip(children, structure.children):
        part = broadcast_prefix(child, inner)
        if part is None:
            return None
        leaves += part
    return leaves
