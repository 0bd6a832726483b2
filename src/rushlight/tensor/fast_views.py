"""What makes the results of views of plain tensors, where arguments are plain values: Tensors tied to their source, nodes."""

from __future__ import annotations

from ..autograd.node import INFERENCE, UNTOUCHED, Node, VersionCounter, next_sequence, node_class
from ..autograd.views import MULTI_OUTPUT, View, made_now, new_view
from ..base import dtypes
from ..base.lazy import LAZY
from .base import new_tensor
from .compute import schema_of

FLOATS, COMPLEXES = dtypes.FLOATS, dtypes.COMPLEXES


def link(source, array, track, arguments, recording):
    """A Tensor on ``array``, which looks into the memory of ``source``: version counter, base and history are tied.

    ``recording`` is that of the state.
    """
    result = new_tensor()
    result._array = array if array is not source._array else array[...]
    counter = source._version_counter
    if counter is UNTOUCHED:
        counter = source._version_counter = VersionCounter()
    result._version_counter = counter
    if counter is INFERENCE:
        return result
    base = source._base
    result._base = base = source if base is None else base
    kind = array.dtype
    if kind in FLOATS or kind in COMPLEXES or (LAZY and dtypes.is_differentiable(kind)):
        edge = source._edge
        made = None if recording else made_now()
        if edge is not None:
            if made is not None:
                edge = None
            else:
                if edge.__class__ is not tuple:
                    if edge.__class__ is View:
                        made = edge.made
                    edge = edge.resolve(source)
                if edge is not None:
                    edge = (track(edge, source._array.shape, arguments), 0)
        view = result._edge = new_view()
        view.base, view.edge, view.version, view.made = base, edge, counter.value, made
    return result


def link_several(source, arrays, track, arguments, recording):
    """A tuple of Tensors on ``arrays``, all of which look into the memory of ``source``."""
    counter = source._version_counter
    if counter is UNTOUCHED:
        counter = source._version_counter = VersionCounter()
    elif counter is INFERENCE:
        return tuple([link(source, array, track, arguments, recording) for array in arrays])
    base = source if source._base is None else source._base
    kind = source._array.dtype
    tracked = kind in FLOATS or kind in COMPLEXES
    node, made = None, None
    if tracked:
        parent = source._edge
        made = MULTI_OUTPUT if recording else made_now()
        if parent is not None and recording:
            edge = parent if parent.__class__ is tuple else parent.resolve(source)
            if edge is not None:
                node = track(edge, source._array.shape, arguments)
                node.set_outputs(len(arrays))
    results, version = [], counter.value
    for number, array in enumerate(arrays):
        result = new_tensor()
        result._array = array
        result._version_counter = counter
        result._base = base
        if tracked:
            view = result._edge = new_view()
            view.base, view.version, view.made = base, version, made
            view.edge = None if node is None else (node, number)
        results.append(result)
    return tuple(results)


class _ViewNode(Node):
    """The node of a view: keeps plain values alone, so it can run any number of times."""

    __slots__ = ("arguments", "shape")
    slots = ()
    rule = None
    saved = None

    def apply(self, grad):
        values = (*self.arguments, self.shape, grad)
        return (self.rule[0](*[values[slot] for slot in self.slots]),)


class _ManyViewsNode(_ViewNode):
    """The node of several views made at once: its rule gets all their gradients, None where nothing flowed."""

    __slots__ = ()

    def apply(self, *grads):
        return super().apply(grads)


def tracker(op):
    """A function that makes the node of a call, of a class with the operation's name; None where a rule needs more."""
    schema = schema_of(op)
    base = _ViewNode if schema.returns.strip() == "Tensor" else _ManyViewsNode
    names = tuple(a.name for a in schema.arguments[1:])
    rule = op.derivatives["self"]
    places = {"shape": -2, "grad": -1, "grads": -1, **{name: i for i, name in enumerate(names)}}
    wanted = rule.__code__.co_varnames[: rule.__code__.co_argcount]
    if not set(wanted) <= places.keys() or any(a.is_tensor for a in schema.arguments[1:]):
        return None
    members = {f"_saved_{name}": property(lambda node, i=i: node.arguments[i]) for i, name in enumerate(names)}
    members |= {"slots": tuple(places[n] for n in wanted), "rule": (rule,), "op": op}
    classes = {}

    def track(edge, shape, arguments):
        name = op.node_name if op.node_name.__class__ is str else op.node_name(None, *arguments)
        kind = classes.get(name)
        if kind is None:
            kind = classes[name] = node_class(name, base, **members)
        node = kind()
        node.next_edges = (edge,)
        node.sequence = next_sequence()
        node.shape, node.arguments = shape, arguments
        return node

    return track
