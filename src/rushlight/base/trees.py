"""Nested containers: tuples, lists, dictionaries and registered classes, taken apart into leaves and put together again.

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

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple


class Node(NamedTuple):
    """How a class of containers is taken apart and put together."""

    type: Any
    flatten_fn: Any  # container -> (children, context)
    unflatten_fn: Any  # (children, context) -> container
    flatten_with_keys_fn: Any = None  # container -> ((key, child) pairs, context)


def _of_dictionary(tree):
    return list(tree.values()), list(tree)


def _of_defaultdict(tree):
    return list(tree.values()), [tree.default_factory, list(tree)]


def _named(children, kind):
    return kind(*children)


# By class; all named tuples are found under `namedtuple`.
NODES = {
    tuple: Node(tuple, lambda tree: (list(tree), None), lambda children, context: tuple(children)),
    list: Node(list, lambda tree: (tree, None), lambda children, context: list(children)),
    dict: Node(dict, _of_dictionary, lambda children, keys: dict(zip(keys, children))),
    namedtuple: Node(namedtuple, lambda tree: (list(tree), type(tree)), _named),
    OrderedDict: Node(OrderedDict, _of_dictionary, lambda children, keys: OrderedDict(zip(keys, children))),
    defaultdict: Node(
        defaultdict, _of_defaultdict, lambda children, context: defaultdict(context[0], zip(context[1], children))
    ),
    deque: Node(
        deque, lambda tree: (list(tree), tree.maxlen), lambda children, context: deque(children, maxlen=context)
    ),
}

_DICTIONARIES = (dict, OrderedDict, defaultdict)


def node_kind(tree):
    """What a container is found under in `NODES`; its class where it is a leaf."""
    kind = type(tree)
    if kind in NODES:
        return kind
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return namedtuple
    return kind


class Structure:
    """How the leaves of a nested container lie in it: ``type`` is what it is found under (None for a leaf), ``context`` what
    its class needs besides the children."""

    __slots__ = ("_children", "context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type=None, context=None, children_specs=()):
        self.type, self.context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in self._children)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)

    def children(self):
        """The structures of the children."""
        return list(self._children)

    def child(self, index):
        """The structure of a child."""
        return self._children[index]

    def __eq__(self, other):
        return (
            isinstance(other, Structure)
            and (self.type, self.context) == (other.type, other.context)
            and self._children == other._children
        )

    def __hash__(self):
        context = self.context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif isinstance(context, list):
            context = tuple(context)
        return hash((self.type, context, tuple(self._children)))

    def is_leaf(self):
        """Whether this is a leaf itself."""
        return self.type is None

    def flatten_up_to(self, tree):
        """The parts of ``tree`` at the places of the leaves."""
        if self.type is None:
            return [tree]
        if node_kind(tree) != self.type:
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {type(tree)!r}.")
        children, context = NODES[self.type].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if context != self.context:
            if self.type in _DICTIONARIES and set(tree) == set(self._keys()):
                children = [tree[key] for key in self._keys()]
            else:
                raise ValueError(self._mismatch(tree))
        return [part for child, inner in zip(children, self._children) for part in inner.flatten_up_to(child)]

    def _keys(self):
        return self.context[1] if self.type is defaultdict else self.context

    def _mismatch(self, tree):
        if self.type not in _DICTIONARIES:
            return f"Node context mismatch for custom node type {self.type!r}."
        ours, theirs = set(self._keys()), set(tree)
        said = [("missing key(s)", ours - theirs), ("extra key(s)", theirs - ours)]
        return f"Node keys mismatch; {'; '.join(f'{what}: {keys}' for what, keys in said if keys)}."

    def unflatten(self, leaves):
        """The container with these leaves."""
        return unflatten(leaves, self)

    def __repr__(self):
        """PyTorch's text of a structure, one line for each leaf: its error messages hold it."""
        return self._text(0)

    def _text(self, indent):
        if self.type is None:
            return "*"
        separator = ",\n" + " " * (indent + 2)
        inside = separator.join(child._text(indent + 2) for child in self._children)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inside}])"

    def outline(self):
        """The text of a container of this structure with ``*`` for each leaf."""
        return repr(unflatten([_STAR] * self.num_leaves, self))


class _Star:
    def __repr__(self):
        return "*"


_STAR = _Star()
LEAF = Structure()


def flatten(tree, is_leaf=None):
    """``(leaves, structure)`` of a nested container; what ``is_leaf`` holds for is not taken apart."""
    leaves = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree, leaves, is_leaf):
    node = None if is_leaf is not None and is_leaf(tree) else NODES.get(node_kind(tree))
    if node is None:
        leaves.append(tree)
        return LEAF
    children, context = node.flatten_fn(tree)
    return Structure(node.type, context, [_flatten(child, leaves, is_leaf) for child in children])


def unflatten(leaves, structure):
    """The nested container of ``structure`` with these leaves."""
    leaves = list(leaves)
    if len(leaves) != structure.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
            f"{structure.num_leaves} items ({structure})."
        )
    return _unflatten(iter(leaves), structure)


def _unflatten(leaves, structure):
    if structure.type is None:
        return next(leaves)
    children = [_unflatten(leaves, child) for child in structure._children]
    return NODES[structure.type].unflatten_fn(children, structure.context)


def tree_map(function, tree, *rest, is_leaf=None):
    """``tree`` with ``function`` of each leaf in its place; further trees of the same structure give further arguments."""
    leaves, structure = flatten(tree, is_leaf)
    columns = [structure.flatten_up_to(other) for other in rest]
    return unflatten([function(*row) for row in zip(leaves, *columns, strict=True)], structure)


def leaves_of(tree, is_leaf=None):
    """The leaves of a nested container, in order."""
    return flatten(tree, is_leaf)[0]


def broadcast_prefix(prefix, structure):
    """The leaf of ``prefix`` for each leaf of ``structure``, where a leaf of the prefix stands for all below it.

    None where the prefix does not fit. ``None`` and ints are leaves of a prefix.
    """
    node = NODES.get(node_kind(prefix))
    if node is None:
        return [prefix] * structure.num_leaves
    if structure.type is None or node.type != structure.type:
        return None
    children, context = node.flatten_fn(prefix)
    if context != structure.context or len(children) != structure.num_children:
        return None
    leaves = []
    for child, inner in zip(children, structure._children):
        part = broadcast_prefix(child, inner)
        if part is None:
            return None
        leaves += part
    return leaves
