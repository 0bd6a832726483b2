"""The functions of view operations: a short path for plain tensors and plain numbers before the general one.

As in fast.py, the short path asks only what it must: exact classes, nothing switched on. Errors come from the
operation's own forward; anything else goes the general way.
"""

from __future__ import annotations

from ..autograd.modes import PLAIN, state
from ..autograd.node import INFERENCE, UNTOUCHED, Node, VersionCounter, next_sequence, node_class
from ..autograd.views import MULTI_OUTPUT, View, made_now
from ..base import dtypes
from ..base.size import Size
from .base import new_tensor
from .classes import PLAIN_CLASSES
from .compute import schema_of
from .dispatch import general, named
from .interposers import INTERPOSERS
from .short_paths import short

FLOATS, COMPLEXES = dtypes.FLOATS, dtypes.COMPLEXES
SEQUENCES = frozenset((tuple, list, Size))


def view(op):
    """The function of a view operation: short where its arguments are numbers, or one row of numbers."""
    schema = schema_of(op)
    rest = schema.arguments[1:]
    several = schema.returns.strip() != "Tensor"
    track = tracker(op, _ManyViewsNode if several else _ViewNode)
    if track is None:
        return short(op)
    finish = link_several if several else link
    if rest and rest[0].type == "int[]" and all(not a.is_tensor for a in rest) and (rest[0].varargs or several):
        return _of_row(op, general(op), tuple(a.default for a in rest[1:]), finish, track, rest[0].varargs)
    if all(a.type in ("int", "any") for a in rest):
        return _of_numbers(op, general(op), rest, finish, track)
    return short(op)


def _of_numbers(op, slow, arguments, finish, track):
    """The function of a view that takes ints; None only where it is allowed."""
    forward = op.forward
    count, defaults = len(arguments), tuple(a.default for a in arguments)
    nullable = any(a.optional or a.default is None for a in arguments)

    def call(input, *args, **options):
        if options or INTERPOSERS or input.__class__ not in PLAIN_CLASSES or state.recording > PLAIN:
            return slow(input, *args, **options)
        for value in args:
            if value.__class__ is not int and not (nullable and value is None):
                return slow(input, *args)
        given = len(args)
        if given != count:
            if given > count:
                return slow(input, *args)
            args += defaults[given:]
            for value in args:
                if value.__class__ is not int and value is not None:
                    return slow(input, *args[:given])
        return finish(input, forward(input._array, *args), track, args)

    return named(call, op)


def _of_row(op, slow, defaults, finish, track, spread):
    """The function of a view that takes a row of ints, as one sequence or, where ``spread``, one by one."""
    forward, most = op.forward, len(defaults) + 1

    def call(input, *args, **options):
        if options or INTERPOSERS or input.__class__ not in PLAIN_CLASSES or state.recording > PLAIN or not args:
            return slow(input, *args, **options)
        if args[0].__class__ in SEQUENCES:
            row, rest = tuple(args[0]), args[1:]
        elif spread:
            row, rest = args, ()
        else:
            return slow(input, *args)
        for value in row + rest:
            if value.__class__ is not int:
                return slow(input, *args)
        if len(rest) >= most:
            return slow(input, *args)
        values = (row, *rest, *defaults[len(rest) :])
        return finish(input, forward(input._array, *values), track, values)

    return named(call, op)


def link(source, array, track, arguments):
    """A Tensor on ``array``, which looks into the memory of ``source``: version counter, base and history are tied."""
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
    if kind in FLOATS or kind in COMPLEXES:
        edge = source._edge
        made = None if state.recording else made_now()
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
        result._edge = View(base, edge, counter.value, made)
    return result


def link_several(source, arrays, track, arguments):
    """A tuple of Tensors on ``arrays``, all of which look into the memory of ``source``."""
    counter = source._version_counter
    if counter is UNTOUCHED:
        counter = source._version_counter = VersionCounter()
    elif counter is INFERENCE:
        return tuple([link(source, array, track, arguments) for array in arrays])
    base = source if source._base is None else source._base
    kind = source._array.dtype
    tracked = kind in FLOATS or kind in COMPLEXES
    node, made = None, None
    if tracked:
        parent = source._edge
        made = MULTI_OUTPUT if state.recording else made_now()
        if parent is not None and state.recording:
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
            result._edge = View(base, None if node is None else (node, number), version, made)
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


def tracker(op, base=_ViewNode):
    """A function that makes the node of a call, of a class with the operation's name."""
    names = tuple(a.name for a in schema_of(op).arguments[1:])
    rule = op.derivatives["self"]
    places = {"shape": -2, "grad": -1, "grads": -1, **{name: i for i, name in enumerate(names)}}
    wanted = rule.__code__.co_varnames[: rule.__code__.co_argcount]
    if not set(wanted) <= places.keys():
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
