"""Nodes of table operations: what a call saves, and how its derivative rules are applied."""

from __future__ import annotations

from ..base.errors import hinted
from ..ops.table import functions
from . import anomaly, modes
from .node import Node, SavedInput, SavedResult, edge_of, next_sequence, node_class

class Plan:
    """What one operation does for backward when a given set of its tensor arguments needs gradients.

    ``saves`` lists what a call keeps, in order: ("input", position), ("value", position), ("list", position) or
    ("result", output number). Each step of ``steps`` is ``(rule, names of its arguments)``.
    """

    def __init__(self, op, schema, needs):
        self.op, self.needs = op, needs
        self.slots, self.saves = {}, []
        self.steps = []
        self.keeps_tensors = False
        if op.gradients is not None:
            self.joint = self._arguments(op.gradients, schema)
        else:
            self.joint = None
            for position, wanted in zip(schema.tensor_positions, needs):
                rule = op.derivatives.get(schema.arguments[position].name) if wanted else None
                self.steps.append(None if rule is None else (rule, self._arguments(rule, schema)))

    def _arguments(self, rule, schema):
        code = rule.__code__
        return tuple(self._slot(name, schema) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])

    def _slot(self, name, schema):
        """-1: grad, -2: grads, -3: needs; else the index of a saved entry."""
        if name in ("grad", "grads", "needs") and name not in schema.index:  # an argument of that name comes first
            return {"grad": -1, "grads": -2, "needs": -3}[name]
        if name not in self.slots:
            self.slots[name] = len(self.saves)
            if name.startswith("result"):
                self.saves.append(("result", int(name[6:] or 0)))
                self.keeps_tensors = True
            else:
                position = schema.index[name]
                argument = schema.arguments[position]
                kind = "input" if argument.is_tensor else "list" if argument.is_list else "value"
                self.saves.append((kind, position))
                self.keeps_tensors |= kind != "value"
        return self.slots[name]

    def save(self, values, results, original_self):
        """The entries that a call keeps: ``values`` are its bound arguments, ``results`` its output tensors."""
        entries = []
        for kind, where in self.saves:
            if kind == "value":
                entries.append(values[where])
            elif kind == "result":
                entries.append(SavedResult(results[where], where))
            elif kind == "list":
                entries.append([SavedInput(t) for t in values[where]])
            else:
                value = values[where]
                if where == 0 and original_self is not None:
                    value = original_self
                entries.append(SavedInput(value) if hasattr(value, "_edge") else value)
        return entries


class OpNode(Node):
    """A node whose gradients come from the derivative rules of a table operation."""

    __slots__ = ("constants", "inputs", "plan")

    def _entries(self):
        # Only saved tensors are freed; a node that keeps plain values alone can run any number of times.
        return self.saved if self.plan.keeps_tensors else self.constants

    def apply(self, *grads):
        plan = self.plan
        values = [_unpack(entry, self) for entry in self._entries()]
        special = (None, plan.needs, grads, grads[0])
        if plan.joint is not None:
            found = plan.op.gradients(*[special[slot] if slot < 0 else values[slot] for slot in plan.joint])
            return self._fitted(found)
        if grads[0] is None and not any(-2 in step[1] for step in plan.steps if step is not None):
            return (None,) * len(self.next_edges)
        found = []
        for step in plan.steps:
            if step is None:
                found.append(None)
            else:
                rule, slots = step
                found.append(rule(*[special[slot] if slot < 0 else values[slot] for slot in slots]))
        return self._fitted(found)

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
                fitted.append(_fit(gradient, given))
        return fitted

    def __getattr__(self, name):
        """``node._saved_self``, ``node._saved_dim``, ...: what the node keeps, under PyTorch's names."""
        if name.startswith("_saved_"):
            slot = self.plan.slots.get(name[7:])
            if slot is not None:
                return _unpack(list(self._entries())[slot], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _unpack(entry, node):
    kind = entry.__class__
    if kind is SavedInput or kind is SavedResult:
        return entry.unpack(node)
    if kind is list:
        return [e.unpack(node) if e.__class__ is SavedInput else e for e in entry]
    return entry


def _fit(gradient, meta):
    if gradient is None or meta is None:
        return gradient
    shape, dtype = meta
    array = gradient._array
    if array.shape != shape:
        gradient = gradient.sum_to_size(shape)
    if array.dtype != dtype:
        gradient = fit_dtype(gradient, dtype)
    return gradient


def fit_dtype(gradient, dtype):
    """``gradient`` in the NumPy dtype of the tensor it belongs to; a real tensor takes the real part."""
    if gradient.is_complex() and dtype.kind != "c":
        gradient = gradient.real
    return gradient if gradient._array.dtype == dtype else functions.cast_array_dtype(gradient, dtype)


_plans = {}


def record(op, schema, node_type, values, results, original_self=None):
    """Make the node of a call of ``op`` if any of its tensor arguments needs a gradient; None otherwise.

    The caller has checked that recording is on, and gives the ``results`` their edges.
    """
    edges, inputs, needs = [], [], []
    tracked = False
    for position in schema.tensor_positions:
        value = values[position]
        if value.__class__ is list:
            found = [None if t is None else edge_of(t) for t in value]
            edges.extend(found)
            need = any(edge is not None for edge in found)
            inputs.append([None if t is None else (t._array.shape, t._array.dtype) for t in value])
        elif hasattr(value, "_edge"):
            edge = edge_of(value)
            edges.append(edge)
            need = edge is not None
            array = value._array
            inputs.append((array.shape, array.dtype))
        else:
            edges.append(None)
            inputs.append(None)
            need = False
        needs.append(need)
        tracked = tracked or need
    if not tracked:
        return None
    if not op.differentiable:
        if op.untracked or not any(r._array.dtype.kind in "fc" for r in results):
            return None
        raise RuntimeError(
            hinted(
                f"the derivative for '{op.name}' is not implemented.",
                "detach() the inputs if no gradient is wanted here",
            )
        )
    needs = tuple(needs)
    plan = _plans.get((op, needs))
    if plan is None:
        plan = _plans[op, needs] = Plan(op, schema, needs)
    node = node_type.__new__(node_type)
    node.next_edges = tuple(edges)
    node.sequence = next_sequence()
    node.inputs, node.plan = inputs, plan
    entries = plan.save(values, results, original_self)
    node.saved, node.constants = (entries, ()) if plan.keeps_tensors else (None, entries)
    if modes.state.anomaly:
        anomaly.note_forward(node)
    return node


_classes = {}


def op_node_class(name):
    """The class of the nodes of table operations that are called ``name``."""
    found = _classes.get(name)
    if found is None:
        found = _classes[name] = node_class(name, OpNode)
    return found
