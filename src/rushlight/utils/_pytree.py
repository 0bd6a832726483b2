"""Nested containers under PyTorch's names: ``torch.utils._pytree``, with classes of the program's own and the ways to each leaf."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any, NamedTuple

from ..base.size import Size
from ..base.trees import LEAF, NODES, tree_map, unflatten
from ..base.trees import Node as NodeDef
from ..base.trees import Structure as TreeSpec
from ..base.trees import flatten as tree_flatten
from ..base.trees import leaves_of as tree_leaves
from ..base.trees import node_kind as _get_node_type

PyTree = Any
KeyEntry = Any
KeyPath = tuple[Any, ...]
Context = Any
PyTreeSpec = TreeSpec
SUPPORTED_NODES = NODES
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})
_serialized: dict = {}  # class -> (its name in texts, context -> plain values, and back)


class LeafSpec(TreeSpec):
    """The structure of a leaf."""

    __slots__ = ()

    def __init__(self):
        super().__init__()


# ---------------------------------------------------------------- ways to a leaf


class SequenceKey(NamedTuple):
    """A place in a list or tuple."""

    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """What lies there."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """A key of a dictionary."""

    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """What lies there."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """An attribute."""

    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """What lies there."""
        return getattr(obj, self.name)


def keystr(kp):
    """The way to a leaf as Python would write it.

    >>> from rushlight.utils._pytree import keystr, tree_leaves_with_path
    >>> [keystr(way) for way, leaf in tree_leaves_with_path({"a": [1, 2]})]
    ["['a'][0]", "['a'][1]"]
    """
    return "".join(str(key) for key in kp)


def key_get(obj, kp):
    """What lies at the end of a way."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _dict_flatten_with_keys(d):
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _list_flatten(d):
    return d, None


def _list_unflatten(values, context):
    return list(values)


def _list_flatten_with_keys(d):
    return [(SequenceKey(index), value) for index, value in enumerate(d)], None


def _with_keys(tree, node):
    """The children of a container, each with its key."""
    if node.flatten_with_keys_fn is not None:
        return node.flatten_with_keys_fn(tree)[0]
    children = node.flatten_fn(tree)[0]
    if node.type in (dict, OrderedDict, defaultdict):
        return list(zip(map(MappingKey, tree), children))
    if node.type is namedtuple:
        return list(zip(map(GetAttrKey, tree._fields), children))
    if node.type in BUILTIN_TYPES:
        return list(zip(map(SequenceKey, range(len(children))), children))
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument to "
        "register_pytree_node.\nhint: it gives ([(key, child), ...], context)"
    )


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves, each with the way to it."""
    found = []

    def walk(part, way):
        node = None if is_leaf is not None and is_leaf(part) else NODES.get(_get_node_type(part))
        if node is None:
            found.append((way, part))
            return
        for key, child in _with_keys(part, node):
            walk(child, (*way, key))

    walk(tree, ())
    return found


def tree_flatten_with_path(tree, is_leaf=None):
    """The leaves, each with the way to it, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_flatten(tree, is_leaf)[1]


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """``tree`` with ``func(way, leaf, ...)`` in the place of each leaf."""
    ways, structure = tree_flatten_with_path(tree, is_leaf)
    columns = [structure.flatten_up_to(other) for other in rests]
    return unflatten([func(*way, *row) for way, *row in zip(ways, *columns)], structure)


# ---------------------------------------------------------------- classes


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
):
    """Let instances of a class be containers: ``flatten_fn(it)`` gives ``(children, context)``, which ``unflatten_fn`` takes."""
    if cls in NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        _serialized[cls] = serialized_type_name, to_dumpable_context, from_dumpable_context


def _register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, **options):
    """The former name of `register_pytree_node`."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name, **options)


def _register_namedtuple(cls, *, serialized_type_name):
    """Let structures with this class of named tuples be written as texts."""
    _serialized[cls] = serialized_type_name, None, None


def register_constant(cls):
    """Let instances of a class be containers without leaves."""
    register_pytree_node(cls, lambda value: ([], value), lambda children, value: value)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Let instances of a dataclass be containers of their fields."""
    names = field_names or [field.name for field in dataclasses.fields(cls) if field.init]
    names = [name for name in names if name not in (drop_field_names or ())]

    def given(value):
        return [name for name in names if getattr(value, name) is not None]

    register_pytree_node(
        cls,
        lambda value: (
            [getattr(value, name) for name in given(value)],
            [given(value), [n for n in names if n not in given(value)]],
        ),
        lambda children, context: cls(**dict(zip(context[0], children)), **dict.fromkeys(context[1])),
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=lambda value: (
            [(GetAttrKey(name), getattr(value, name)) for name in given(value)],
            [given(value), [n for n in names if n not in given(value)]],
        ),
    )


register_pytree_node(
    Size,
    lambda size: (list(size), None),
    lambda children, context: tuple(children),
    serialized_type_name="torch.Size",
    flatten_with_keys_fn=lambda size: ([(SequenceKey(index), item) for index, item in enumerate(size)], None),
)


# ---------------------------------------------------------------- trees


def tree_unflatten(leaves, treespec):
    """The container of ``treespec`` with these leaves."""
    return unflatten(leaves, treespec)


def tree_structure(tree, is_leaf=None):
    """How the leaves lie in a container."""
    return tree_flatten(tree, is_leaf)[1]


def tree_is_leaf(tree, is_leaf=None):
    """Whether something is a leaf itself."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in NODES


_is_leaf = tree_is_leaf


def is_namedtuple_class(cls):
    """Whether a class is one of named tuples, other than those of ``torch.return_types``."""
    if not (isinstance(cls, type) and issubclass(cls, tuple)) or cls.__module__ == "torch.return_types":
        return False
    return isinstance(getattr(cls, "_fields", None), tuple)


def is_namedtuple_instance(obj):
    """Whether something is a named tuple."""
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_namedtuple(obj):
    """Whether something is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def tree_iter(tree, is_leaf=None):
    """The leaves, one after the other."""
    yield from tree_leaves(tree, is_leaf)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call ``func`` on each leaf; returns ``tree``."""
    leaves, structure = tree_flatten(tree, is_leaf)
    columns = [structure.flatten_up_to(other) for other in rests]
    for row in zip(leaves, *columns):
        func(*row)
    return tree


def _holds(kind):
    """The test that a class, several of them, or a function stands for."""
    plain = callable(kind) and not isinstance(kind, type)
    return kind if plain else lambda leaf: isinstance(leaf, kind)


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """``tree`` with ``func`` of each leaf of a class, of several, or for which a function holds, in its place.

    >>> from rushlight.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda n: n + 1, {"a": 1, "b": "c"})
    {'a': 2, 'b': 'c'}
    """
    holds = _holds(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if holds(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Call ``func`` on each such leaf; returns ``tree``."""
    holds = _holds(type_or_types_or_pred)
    return tree_map_(lambda leaf: func(leaf) if holds(leaf) else None, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether ``pred`` holds for every leaf."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf))


def tree_any(pred, tree, is_leaf=None):
    """Whether ``pred`` holds for any leaf."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether ``pred`` holds for every leaf of a class."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether ``pred`` holds for any leaf of a class."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def arg_tree_leaves(*args, **kwargs):
    """The leaves of all arguments."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_leaves(value)]


# ---------------------------------------------------------------- texts


def treespec_dumps(treespec, protocol=None):
    """A structure as a text (JSON)."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}."
        )
    if protocol not in (None, 1):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return json.dumps([1, _dumped(treespec)])


def _dumped(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    kind, context = spec.type, spec.context
    if kind is namedtuple:
        if context not in _serialized:
            raise NotImplementedError(
                f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a serializated_type_name. "
                "Please register using `_register_namedtuple`.\nhint: _register_namedtuple(cls, serialized_type_name=...)"
            )
        name, context = "collections.namedtuple", _serialized[context][0]
    elif kind in BUILTIN_TYPES:
        name = f"{kind.__module__}.{kind.__qualname__}"
        if kind is defaultdict:
            context = {
                "default_factory_module": context[0].__module__,
                "default_factory_name": context[0].__qualname__,
                "dict_context": context[1],
            }
    elif kind in _serialized:
        name, dumpable, _ = _serialized[kind]
        context = dumpable(context) if dumpable else context
    else:
        raise NotImplementedError(
            f"Serializing {kind} in pytree is not registered.\nhint: register_pytree_node(..., serialized_type_name=...) gives it a name"
        )
    text = context if kind in (namedtuple, defaultdict) else json.dumps(context)
    return {
        "type": name,
        "context": text,
        "children_spec": [_dumped(child) for child in spec.children()],
    }


def treespec_loads(serialized):
    """The structure that a text says."""
    protocol, data = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [1]")
    return _loaded(data)


def _loaded(data):
    if data["type"] is None:
        return LEAF
    names = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in BUILTIN_TYPES}
    own = {name: (kind, back) for kind, (name, _, back) in _serialized.items()}
    context = data["context"]
    if data["type"] not in ("collections.namedtuple", "collections.defaultdict"):
        context = json.loads(context)
    if data["type"] in own:
        kind, back = own[data["type"]]
        context = back(context) if back else context
    elif data["type"] in names:
        kind = names[data["type"]]
        if kind is namedtuple:
            context = own[context][0]
        elif kind is defaultdict:
            factory = f"{context['default_factory_module']}.{context['default_factory_name']}"
            context = [_class_named(factory), context["dict_context"]]
    else:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    return TreeSpec(kind, context, [_loaded(child) for child in data["children_spec"]])


def _class_named(name):
    """A class of a module that the program has imported."""
    module, _, qualname = name.rpartition(".")
    return getattr(sys.modules[module], qualname)


def treespec_pprint(treespec):
    """The text of a container of this structure with ``*`` for each leaf."""
    return treespec.outline()
