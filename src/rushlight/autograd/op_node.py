"""Nodes of table operations: what a call saves, and how its derivative rules are applied."""

from __future__ import annotations

from operator import itemgetter

from ..base import dtypes
from ..base.errors import hinted
from ..ops.schema import TENSOR_CLASSES
from ..ops.table import functions
from . import anomaly, modes
from .beside import Unfinished, UnfinishedNode, beside
from .node import (
    LEAF,
    UNTOUCHED,
    Node,
    SavedInput,
    SavedResult,
    VersionCounter,
    describe_producer,
    edge_of,
    leads_nowhere,
    modified_in_place,
    next_sequence,
    node_class,
)
from .saved import SavedTensor

INPUT, LIST, VALUE, RESULT, CONSTANT, SHAPE, LAYOUT = range(7)
_PLAIN_KINDS = (VALUE, SHAPE, LAYOUT)
# Operations that make a tensor of a number: their nodes show its edge, to nowhere, and backward frees it.
WRAPS_NUMBERS = frozenset(("add", "sub", "mul", "div", "where_select"))
NUMBER = object()  # in place of the shape and dtype of an argument: it is no tensor
_SPECIAL_SLOTS = {"grad": -1, "grads": -2, "needs": -3}
_ABSENT = (
    32  # in the number of a plan, how far the bits of arguments that are no tensors lie from those that need gradients
)


class Plan:
    """What one operation does for backward when a given set of its tensor arguments needs gradients.

    ``number`` has a bit for each tensor argument that needs one, and bits further up for those that are no tensors.

    ``saves`` lists what a call keeps, in order: (INPUT, position), (VALUE, position), (LIST, position),
    (RESULT, output number), (CONSTANT, number of an output that requires no grad), (SHAPE, position), (LAYOUT, 0).
    Each step of ``steps`` is ``(rule, pick)``: ``rule(*pick(values))`` is the gradient of one tensor argument, where
    ``values`` are the saved ones, then needs, grads and grad. None stands for an argument that needs no gradient.
    ``joint`` is the pick of a rule for all of them.
    """

    def __init__(self, op, schema, number):
        self.op = op
        self.needs = needs = tuple(bool(number >> place & 1) for place in range(len(schema.tensor_positions)))
        self.slots, self.saves = {}, []
        self.steps = []
        self.joint = None
        rules = []  # (place, rule, slots of its arguments)
        if op.gradients is not None:
            self.joint, self.sees_all = _picker(self._arguments(op.gradients, schema)), True
        else:
            for place, (position, wanted) in enumerate(zip(schema.tensor_positions, needs)):
                rule = op.derivatives.get(schema.arguments[position].name) if wanted else None
                if rule is not None:
                    rules.append((place, rule, self._arguments(rule, schema)))
                self.steps.append(None if rule is None else (rule, _picker(rules[-1][2])))
            self.sees_all = any(-2 in slots for _, _, slots in rules)
        absent = {p for place, p in enumerate(schema.tensor_positions) if number >> _ABSENT + place & 1}
        for name in _kept_besides(op, schema, absent):
            self._slot(name, schema)
        present = [kind != INPUT or where not in absent for kind, where in self.saves]
        self.keeps_tensors = any(
            kind not in _PLAIN_KINDS and (there or op.name in WRAPS_NUMBERS)
            for (kind, _), there in zip(self.saves, present)
        ) or (op.frees_values and bool(self.saves))
        # Whether a call keeps tensors and values as they are, with the versions of those in the slots `inputs`.
        self.plain = not schema.has_lists and all(kind in (INPUT, CONSTANT, VALUE, SHAPE) for kind, _ in self.saves)
        self.inputs = tuple(
            slot
            for slot, ((kind, _), there) in enumerate(zip(self.saves, present))
            if kind == CONSTANT or (kind == INPUT and there)
        )
        self.shapes = tuple(slot for slot, (kind, _) in enumerate(self.saves) if kind == SHAPE)
        self.sees_results = any(kind == CONSTANT for kind, _ in self.saves)
        count = len(schema.arguments)
        self.pick = _picker([where + count * (kind == CONSTANT) for kind, where in self.saves])
        # The nodes of most operations do not show what never has a gradient, nor numbers in place of tensors.
        self.has_lists = schema.has_lists
        self.shown = tuple(
            name not in op.unshown if op.gradients is not None else name in op.derivatives
            for name in [schema.arguments[position].name for position in schema.tensor_positions]
        )
        self.shows_numbers = op.name in WRAPS_NUMBERS
        self.keeps_first = (INPUT, 0) in self.saves  # a write in place has to keep a copy of what it overwrites
        # The common case: (place, rule) of the one gradient, whose rule takes grad and all that is saved in order.
        self.single = None
        if len(rules) == 1 and not schema.has_lists and rules[0][2] == (-1, *range(len(self.saves))):
            self.single = rules[0][:2]

    def _arguments(self, rule, schema):
        return tuple(self._slot(name, schema) for name in arguments_of(rule))

    def _slot(self, name, schema):
        if name in _SPECIAL_SLOTS and name not in schema.index:  # an argument of that name comes first
            return _SPECIAL_SLOTS[name]
        if name not in self.slots:
            self.slots[name] = len(self.saves)
            if not hasattr(OpNode, f"_saved_{name}"):
                OpNode.show(name)
            if name.startswith("result"):
                number = int(name[6:] or 0)
                self.saves.append((RESULT if number < self.op.tracked else CONSTANT, number))
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
            elif kind == CONSTANT:
                entries.append(SavedInput(results[where]))
            elif kind == LIST:
                entries.append([None if t is None else SavedInput(t) for t in values[where]])
            else:
                value = original_self if where == 0 and original_self is not None else values[where]
                entries.append(SavedInput(value) if hasattr(value, "_edge") else value)
        return entries


def _kept_besides(op, schema, absent):
    """Names of what PyTorch keeps whichever arguments need gradients: what its own functions take, results, and tensors that
    several rules read, if those are not of ``absent`` arguments."""
    tensors = {schema.arguments[position].name for position in schema.tensor_positions if position not in absent}
    names = [name for of, rule in op.derivatives.items() if of in tensors for name in arguments_of(rule)]
    return (
        *op.beside,
        *op.keeps,
        *[name for name in names if name in tensors and names.count(name) > 1],
        *[name for name in names if name.startswith("result") and name not in schema.index],
    )


def arguments_of(rule):
    """The names of the parameters of a derivative rule."""
    code = rule.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _picker(slots):
    """A function that gives a sequence of the items at ``slots`` of a list or tuple."""
    if len(slots) == 1:
        return itemgetter(slice(slots[0], slots[0] + 1 or None))
    return itemgetter(*slots) if slots else itemgetter(slice(0))


def unpacked(entry, node):
    """What a rule gets for an entry that `Plan.save` made."""
    if entry.__class__ is list:
        return [unpacked(each, node) for each in entry]
    return entry.unpack(node) if entry.__class__ in _PACKED else entry


_PACKED = frozenset((SavedInput, SavedResult))


def wanted(node, needs):
    """Which of the gradients that a node's inputs need (bools, one for each edge) flow on in this run of the engine: all of
    them where another node runs this one."""
    task = modes.state.task
    if task is None or task.whole or node not in task.nodes:
        return needs
    return tuple([needed and task.reaches(edge[0]) for needed, edge in zip(needs, node.next_edges)])


class OpNode(Node):
    """A node whose gradients come from the derivative rules of a table operation.

    What a call keeps is in ``saved``, or in ``constants`` where it is plain values alone: such a node can run any number
    of times. ``versions`` are those of the tensors among them, or None where the entries know them themselves.
    ``inputs`` are shape and dtype of each tensor argument that needs a gradient.
    """

    __slots__ = ("constants", "inputs", "plan", "versions")

    @property
    def gives_together(self):
        return self.plan.has_lists

    @property
    def next_functions(self):
        following = super().next_functions
        return tuple([following[place] for place in self.shown_places()])

    def shown_places(self):
        plan = self.plan
        if plan.has_lists:
            return super().shown_places()
        return [
            place
            for place, (shown, given) in enumerate(zip(plan.shown, self.inputs))
            if shown and (given is not NUMBER or plan.shows_numbers)
        ]

    def look_at_saved(self):
        if not self.plan.sees_all:
            self.apply(None)

    def apply(self, *grads):
        plan = self.plan
        values = [*(self.saved if plan.keeps_tensors else self.constants)]
        if self.versions is None:
            values = [unpacked(entry, self) for entry in values]
        else:
            self.refuse_versions(values)
        grad = grads[0]
        if grad is None and not (plan.sees_all or self.runs_without_gradient):
            return (None,) * len(self.next_edges)
        if plan.single is not None:
            place, rule = plan.single
            found = [None] * len(self.next_edges)
            gradient = found[place] = rule(grad, *values)
            if gradient is not None:
                shape, dtype = self.inputs[place]
                array = gradient._array
                if array.shape != shape or array.dtype is not dtype:
                    found[place] = self._fit(gradient, self.inputs[place], place)
            return found
        needs = plan.needs if plan.has_lists else wanted(self, plan.needs)
        values += (needs, grads, grad)
        if plan.joint is not None:
            return self._fitted(plan.op.gradients(*plan.joint(values)))
        found = []
        for place, (step, given, needed) in enumerate(zip(plan.steps, self.inputs, needs)):
            gradient = None
            if step is not None and needed:
                rule, pick = step
                gradient = rule(*pick(values))
                if gradient is not None and not plan.has_lists:
                    array = gradient._array
                    if array.shape != given[0] or array.dtype is not given[1]:
                        gradient = self._fit(gradient, given, place)
            found.append(gradient)
        return self._fitted(found) if plan.has_lists else found

    def refuse_versions(self, values):
        """Raise for the tensor among kept ``values`` that was written since."""
        for slot, version in zip(self.plan.inputs, self.versions):
            value = values[slot]
            if value._version_counter.value != version:
                raise modified_in_place(value, version, describe_producer(value), self)

    def _fitted(self, found):
        """Gradients with the shape and dtype of the inputs they belong to, one for each edge."""
        fitted = []
        edges = self.next_edges
        for gradient, given in zip(found, self.inputs):
            several = given.__class__ is list
            for each, meta in zip(gradient or (None,) * len(given), given) if several else ((gradient, given),):
                place = len(fitted)
                fitted.append(None if edges[place] is None else self._fit(each, meta, place))
        return fitted

    def _fit(self, gradient, meta, place):
        """``gradient`` with the shape and dtype of input ``place``."""
        if gradient is None:
            return None
        shape, dtype = meta
        array = gradient._array
        if array.shape != shape:
            try:
                gradient = functions.unexpanded(gradient, shape)
            except RuntimeError:
                raise self._refusal(gradient, shape, place) from None
        if array.dtype is not dtype and array.dtype != dtype:
            gradient = fit_dtype(gradient, dtype)
        return gradient

    def _refusal(self, gradient, shape, place):
        place = [*self.shown_places()].index(place)
        return RuntimeError(
            hinted(
                f"Function {self.name()} returned an invalid gradient at index {place} - got {list(gradient.shape)} but expected "
                f"shape compatible with {list(shape)}",
                f"its derivative is known only where all elements of input {place} are used",
            )
        )

    @classmethod
    def show(cls, name):
        """Let ``node._saved_NAME`` be what a node keeps under PyTorch's name ``name``, where it does."""

        def saved(self):
            slot = self.plan.slots.get("shape" if name == "self_sym_sizes" else name)
            if slot is None:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '_saved_{name}'")
            entry = (self.saved if self.plan.keeps_tensors else self.constants)[slot]
            return unpacked(entry, self)

        def raw(self):
            slot = self.plan.slots.get(name)
            if slot is None or self.plan.saves[slot][0] not in (INPUT, LIST, RESULT, CONSTANT):
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '_raw_saved_{name}'")
            if self.plan.saves[slot][0] != LIST:
                return SavedTensor(self, lambda: self.saved, slot)
            return tuple(SavedTensor(self, lambda: self.saved[slot], place) for place in range(len(self.saved[slot])))

        setattr(cls, f"_saved_{name}", property(saved))
        setattr(cls, f"_raw_saved_{name}", property(raw))


OpNode.show("self_sym_sizes")


def fit_dtype(gradient, dtype):
    """``gradient`` in the NumPy dtype of the tensor it belongs to; a real tensor takes the real part."""
    if gradient.is_complex() and dtype.kind not in "cW":
        gradient = gradient.real
    return gradient if gradient._array.dtype == dtype else functions.cast_array_dtype(gradient, dtype)


def _of_plain_class(value):
    """What derivatives see of a tensor: one of a plain class, with the same memory and place in the graph."""
    if value.__class__ is list:
        return [*map(_of_plain_class, value)]
    if not hasattr(value, "_edge") or value.__class__ in TENSOR_CLASSES or value.__class__.__torch_function__ is None:
        return value
    if value._version_counter is UNTOUCHED:
        value._version_counter = VersionCounter()  # shared: a later write is seen
    alias = value._alias()
    alias._edge = edge_of(value)
    return alias


def record(op, schema, node_type, values, results, original_self=None, written=0):
    """Make the node of a call of ``op`` if any of its tensor arguments needs a gradient; None otherwise.

    The caller has checked that recording is on, and gives the ``results`` their edges. ``written`` is 1 where the result
    is the first argument, written in place, and its version is not counted up yet.
    """
    edges, inputs, needs, number, bit, nowhere = [], [], 0, 0, 1, 0
    for position in schema.tensor_positions:
        value = values[position]
        edge = meta = None
        if value.__class__ in TENSOR_CLASSES or hasattr(value, "_edge"):
            edge = value._edge
            if edge is not None:
                if edge is LEAF:
                    edge = edge.resolve(value)
                elif edge.__class__ is not tuple:
                    edge = edge.resolve(value)
                    if edge is not None and leads_nowhere(edge):
                        nowhere |= bit
                if edge is not None:
                    needs |= bit
                    array = value._array
                    meta = array.shape, array.dtype
            edges.append(edge)
        else:
            number |= bit << _ABSENT
            if value.__class__ is list:
                found = [None if t is None else edge_of(t) for t in value]
                edges += found
                meta = [None if t is None else (t._array.shape, t._array.dtype) for t in value]
                if any(edge is not None for edge in found):
                    needs |= bit
            else:
                edges.append(None)
                meta = None if value is None else NUMBER
        inputs.append(meta)
        bit += bit
    if not needs:
        return None
    if nowhere and _differentiable_inputs(op, schema, values) > 1:
        needs &= ~nowhere  # what the gradient of one of several inputs alone reads is not kept if it ends nowhere
    number |= needs
    plan = op.plans.get(number) or plan_of(op, schema, number, values)
    if plan is None:
        return _without_derivatives(op, edges, values, results)
    node = node_type()
    node.next_edges = tuple(edges)
    node.sequence = next_sequence()
    node.inputs, node.plan = inputs, plan
    state = modes.state
    if plan.plain and original_self is None and state.recording == modes.PLAIN:
        entries = plan.pick([*values, *results] if plan.sees_results else values)
        if plan.shapes:
            entries = [*entries]
            for slot in plan.shapes:
                entries[slot] = entries[slot]._array.shape
        node.versions = versions = []
        for slot in plan.inputs:
            versions.append(entries[slot]._version_counter.value)
    else:
        kept = [*map(_of_plain_class, values)] if state.torch_function_off else values
        entries = plan.save(kept, results, original_self, written)
        node.versions = None
        if state.recording == modes.SPECIAL:
            if state.anomaly:
                anomaly.note_forward(node)
            for observe in state.observers:
                observe(node)
    if plan.keeps_tensors:
        node.saved = entries
    else:
        node.saved, node.constants = None, entries
    return node


def _differentiable_inputs(op, schema, values):
    """How many inputs with a derivative a call has."""
    given = [(schema.arguments[place].name, values[place]) for place in schema.tensor_positions]
    numbers = op.name in WRAPS_NUMBERS
    return sum(
        name in op.derivatives and value is not None and (numbers or hasattr(value, "_edge")) for name, value in given
    )


def plan_of(op, schema, number, values):
    """The `Plan` of that number, whose lower bits say which tensor arguments need gradients; None without derivatives."""
    plan = op.plans.get(number)
    if plan is None and op.differentiable:
        for place, position in enumerate(schema.tensor_positions):
            name = schema.arguments[position].name
            if number >> place & 1 and name in op.constants:
                raise _constant(name, op.constants[name], values)
        plan = op.plans[number] = Plan(op, schema, number)
    return plan


def _constant(name, function, values):
    """The error for an argument that requires grad and may not."""
    function = function if function.__class__ is str else function(*values)
    return RuntimeError(
        hinted(
            f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
            "requires_grad True.",
            f"give {name}.detach()",
        )
    )


def node_class_of(op, values):
    """The node class of a call: one for each operation, or one for each name where the name depends on the arguments."""
    found = op.__dict__.get("node_class")
    if found is None:
        if op.node_name.__class__ is not str:
            return op_node_class(op.node_name(*values), _base_of(op))
        found = op.node_class = op_node_class(op.node_name, _base_of(op))
    return found


def _base_of(op):
    """The base class of the nodes of an operation."""
    return op.node_base or (BesideNode if op.beside else OpNode)


def _without_derivatives(op, edges, values, results):
    """The node of an operation without derivatives; None where its results cannot carry any."""
    if op.untracked or not any(dtypes.is_differentiable(r._array.dtype) for r in results):
        return None
    error = op.no_derivative
    if error.__class__ is not tuple:
        error = error(*values)
    if error[0] is RuntimeError:
        node = UnfinishedNode()
    else:  # PyTorch knows the operation, and that it has no derivative
        name = op.node_name
        node = op_node_class(name if name.__class__ is str else name(*values), Unfinished)()
    node.next_edges, node.sequence, node.error = tuple(edges), next_sequence(), error
    return node


class BesideNode(OpNode):
    """A node whose gradients, computed under ``create_graph``, hang on all of the operation's arguments that PyTorch's
    backward function takes, also on those that their values do not depend on."""

    __slots__ = ()

    def apply(self, *grads):
        found = super().apply(*grads)
        if not modes.state.grad:
            return found
        op = self.plan.op
        inputs = zip(op.parsed.tensor_positions, self.next_edges, self.inputs)
        taken = [
            (edge, meta) for at, edge, meta in inputs if edge is not None and op.parsed.arguments[at].name in op.beside
        ]
        return beside(found, self, op, *zip(*taken)) if taken else found


_classes = {}


def op_node_class(name, base=None):
    """The class of the nodes of table operations that are called ``name``; their base is OpNode, where none is given."""
    found = _classes.get((name, base))
    if found is None:
        found = _classes[name, base] = node_class(name, base or OpNode)
    return found
