"""Nodes of table operations: what a call saves, and how its derivative rules are applied."""

from __future__ import annotations

from ..base.errors import hinted
from ..ops.table import functions
from . import anomaly, modes
from .node import (
    Node,
    SavedInput,
    SavedResult,
    describe_producer,
    edge_of,
    modified_in_place,
    next_sequence,
    node_class,
)

INPUT, LIST, VALUE, RESULT, SHAPE, LAYOUT = range(6)
_PLAIN_KINDS = (VALUE, SHAPE, LAYOUT)
_SPECIAL_SLOTS = {"grad": -1, "grads": -2, "needs": -3}


class Plan:
    """What one operation does for backward when a given set of its tensor arguments needs gradients.

    ``saves`` lists what a call keeps, in order: (INPUT, position), (VALUE, position), (LIST, position) or
    (RESULT, output number), (SHAPE, position), (LAYOUT, 0). Each step of ``steps`` is ``(rule, slots of its
    arguments)``: a slot is the index of a saved entry, or -1, -2, -3 for grad, grads and needs.
    """

    def __init__(self, op, schema, needs):
        self.op, self.needs = op, needs
        self.slots, self.saves = {}, []
        self.steps = []
        self.joint = None
        if op.gradients is not None:
            self.joint = self._arguments(op.gradients, schema)
        else:
            for position, wanted in zip(schema.tensor_positions, needs):
                rule = op.derivatives.get(schema.arguments[position].name) if wanted else None
                self.steps.append(None if rule is None else (rule, self._arguments(rule, schema)))
        self.keeps_tensors = any(kind not in _PLAIN_KINDS for kind, _ in self.saves) or (
            op.frees_values and bool(self.saves)
        )
        wanted_steps = [(place, step) for place, step in enumerate(self.steps) if step is not None]
        # The common case, one gradient of one input: (its place, rule, slots).
        self.single = (
            (wanted_steps[0][0], *wanted_steps[0][1]) if len(wanted_steps) == 1 and not schema.has_lists else None
        )
        self.sees_all = self.joint is not None or any(-2 in step[1] for step in self.steps if step is not None)

    def _arguments(self, rule, schema):
        code = rule.__code__
        return tuple(self._slot(name, schema) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

    def _slot(self, name, schema):
        if name in _SPECIAL_SLOTS and name not in schema.index:  # an argument of that name comes first
            return _SPECIAL_SLOTS[name]
        if name not in self.slots:
            self.slots[name] = len(self.saves)
            if name.startswith("result"):
                self.saves.append((RESULT, int(name[6:] or 0)))
            elif name == "layout" and name not in schema.index:
                self.saves.append((LAYOUT, 0))
            elif name not in schema.index and (name == "shape" or name.endswith("_shape")):
                self.saves.append((SHAPE, schema.index[name[:-6]] if name != "shape" else 0))
            else:
                position = schema.index[name]
                argument = schema.arguments[position]
                self.saves.append((INPUT if argument.is_tensor else LIST if argument.is_list else VALUE, position))
        return self.slots[name]

    def save(self, values, results, original_self, written):
        """The entries that a call keeps: ``values`` are its bound arguments, ``results`` its output tensors."""
        entries = []
        plain = modes.state.recording == modes.PLAIN
        for kind, where in self.saves:
            if kind == VALUE:
                entries.append(values[where])
            elif kind == LAYOUT:
                entries.append((values[0]._array.shape, values[0].stride(), values[0].storage_offset()))
            elif kind == SHAPE:
                value = values[where]
                entries.append([t._array.shape for t in value] if value.__class__ is list else value._array.shape)
            elif kind == RESULT:
                entries.append(SavedResult(results[where], where, written))
            elif kind == LIST:
                entries.append([None if t is None else SavedInput(t) for t in values[where]])
            else:
                value = original_self if where == 0 and original_self is not None else values[where]
                if not hasattr(value, "_edge"):
                    entries.append((None, value))
                else:
                    entries.append((value, value._version_counter.value) if plain else SavedInput(value))
        return entries


def _unpack(kind, entry, node):
    """The saved value that a rule gets. An input is kept as (tensor, version), or (None, number); else by its own class."""
    if kind in _PLAIN_KINDS:
        return entry
    if entry.__class__ is tuple:
        tensor, version = entry
        if tensor is None:
            return version
        if tensor._version_counter.value != version:
            raise modified_in_place(tensor, version, describe_producer(tensor))
        return tensor
    if kind == LIST:
        return [None if e is None else e.unpack(node) for e in entry]
    return entry.unpack(node)


class OpNode(Node):
    """A node whose gradients come from the derivative rules of a table operation."""

    __slots__ = ("constants", "inputs", "plan")

    def _entries(self):
        # Only saved tensors are freed; a node that keeps plain values alone can run any number of times.
        return self.saved if self.plan.keeps_tensors else self.constants

    def apply(self, *grads):
        plan = self.plan
        grad = grads[0]
        values = [_unpack(kind, entry, self) for (kind, _), entry in zip(plan.saves, self._entries())]
        if plan.sees_all:
            # Three more at the end: slots -3, -2 and -1 find them there.
            values += (plan.needs, grads, grad)
        elif grad is None:
            return (None,) * len(self.next_edges)
        else:
            values.append(grad)
        if plan.single is not None:
            place, rule, slots = plan.single
            found = [None] * len(self.next_edges)
            found[place] = _fit(rule(*[values[slot] for slot in slots]), self.inputs[place])
            return found
        if plan.joint is not None:
            return self._fitted(plan.op.gradients(*[values[slot] for slot in plan.joint]))
        return self._fitted(
            [None if step is None else step[0](*[values[slot] for slot in step[1]]) for step in plan.steps]
        )

    def _fitted(self, found):
        """Gradients with the shape and dtype of the inputs they belong to, one for each edge."""
        fitted = []
        edges = iter(self.next_edges)
        for gradient, given in zip(found, self.inputs):
            if given.__class__ is list:
                gradient = gradient or (None,) * len(given)
                fitted.extend(_fit(g, meta) if next(edges) is not None else None for g, meta in zip(gradient, given))
            elif next(edges) is None or gradient is None:
                fitted.append(None)
            else:
                array = gradient._array
                fits = array.shape == given[0] and array.dtype is given[1]
                fitted.append(gradient if fits else _fit(gradient, given))
        return fitted

    def __getattr__(self, name):
        """``node._saved_self``, ``node._saved_dim``, ...: what the node keeps, under PyTorch's names."""
        if name.startswith("_saved_"):
            slot = self.plan.slots.get("shape" if name == "_saved_self_sym_sizes" else name[7:])
            if slot is not None:
                return _unpack(self.plan.saves[slot][0], list(self._entries())[slot], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _fit(gradient, meta):
    if gradient is None or meta is None:
        return gradient
    shape, dtype = meta
    array = gradient._array
    if array.shape != shape:
        gradient = gradient.sum_to_size(shape)
    if array.dtype is not dtype and array.dtype != dtype:
        gradient = fit_dtype(gradient, dtype)
    return gradient


def fit_dtype(gradient, dtype):
    """``gradient`` in the NumPy dtype of the tensor it belongs to; a real tensor takes the real part."""
    if gradient.is_complex() and dtype.kind != "c":
        gradient = gradient.real
    return gradient if gradient._array.dtype == dtype else functions.cast_array_dtype(gradient, dtype)


def record(op, schema, node_type, values, results, original_self=None, written=0):
    """Make the node of a call of ``op`` if any of its tensor arguments needs a gradient; None otherwise.

    The caller has checked that recording is on, and gives the ``results`` their edges. ``written`` is 1 where the result
    is the first argument, written in place, and its version is not counted up yet.
    """
    edges, inputs, needs = [], [], 0
    bit = 1
    for position in schema.tensor_positions:
        value = values[position]
        if value.__class__ is list:
            found = [None if t is None else edge_of(t) for t in value]
            edges.extend(found)
            inputs.append([None if t is None else (t._array.shape, t._array.dtype) for t in value])
            if any(edge is not None for edge in found):
                needs |= bit
        elif value is None or not hasattr(value, "_edge"):
            edges.append(None)
            inputs.append(None)
        else:
            edge = value._edge
            if edge is not None:
                if edge.__class__ is not tuple:
                    edge = edge.resolve(value)
                if edge is not None:
                    needs |= bit
            edges.append(edge)
            array = value._array
            inputs.append((array.shape, array.dtype))
        bit += bit
    if not needs:
        return None
    plan = op.plans.get(needs)
    if plan is None:
        if not op.differentiable:
            return _refuse(op, results)
        wanted = tuple(bool(needs >> place & 1) for place in range(len(schema.tensor_positions)))
        plan = op.plans[needs] = Plan(op, schema, wanted)
    node = node_type.__new__(node_type)
    node.next_edges = tuple(edges)
    node.sequence = next_sequence()
    node.inputs, node.plan = inputs, plan
    entries = plan.save(values, results, original_self, written)
    node.saved, node.constants = (entries, ()) if plan.keeps_tensors else (None, entries)
    if modes.state.anomaly:
        anomaly.note_forward(node)
    return node


def _refuse(op, results):
    """An operation without derivatives: fine where its results cannot carry any, else an error."""
    if op.untracked or not any(r._array.dtype.kind in "fc" for r in results):
        return None
    raise RuntimeError(
        hinted(
            f"the derivative for '{op.name}' is not implemented.", "detach() the inputs if no gradient is wanted here"
        )
    )


_classes = {}


def op_node_class(name):
    """The class of the nodes of table operations that are called ``name``."""
    found = _classes.get(name)
    if found is None:
        found = _classes[name] = node_class(name, OpNode)
    return found
