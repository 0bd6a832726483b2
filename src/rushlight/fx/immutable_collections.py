"""Arguments of nodes: nested lists, tuples, dictionaries and slices, held in lists and dictionaries that cannot be changed in place."""

from __future__ import annotations

from ..base.errors import hinted


def _refused(kind):
    def refuse(self, *args, **kwargs):
        raise TypeError(
            hinted(
                f"'{kind}' object does not support mutation. If you are attempting to modify the kwargs or args of a torch.fx.Node "
                "object,",
                "instead create a new copy of it and assign the copy to the node: node.args = ..., or node.update_arg(index, value)",
            )
        )

    return refuse


class immutable_list(list):
    """A list that refuses changes, so that a node always knows whom it uses."""

    def __reduce__(self):
        return immutable_list, (tuple(self),)

    def __hash__(self):
        return hash(tuple(self))


class immutable_dict(dict):
    """A dictionary that refuses changes."""

    def __reduce__(self):
        return immutable_dict, (tuple(self.items()),)

    def __hash__(self):
        return hash(tuple(self.items()))


for _name in ("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"):  # fmt: skip
    setattr(immutable_list, _name, _refused("immutable_list"))
for _name in ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(immutable_dict, _name, _refused("immutable_dict"))


def map_aggregate(value, function):
    """``function`` of every leaf of nested arguments, in the same nest, whose lists and dictionaries cannot be changed.

    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: x * 10)
    (10, [20, {'a': 30}])
    """
    if isinstance(value, tuple):
        items = [map_aggregate(item, function) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return immutable_list([map_aggregate(item, function) for item in value])
    if isinstance(value, dict):
        return immutable_dict((key, map_aggregate(item, function)) for key, item in value.items())
    if isinstance(value, slice):
        return slice(*(map_aggregate(end, function) for end in (value.start, value.stop, value.step)))
    return function(value)
