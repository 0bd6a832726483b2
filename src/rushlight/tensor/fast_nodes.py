"""The nodes of the short path of elementwise operations: what a call keeps, and its derivative rules as plain calls."""

from __future__ import annotations

from ..autograd.beside import beside
from ..autograd.modes import state
from ..autograd.node import (
    LEAF,
    Freed,
    Node,
    VersionCounter,
    describe_producer,
    leads_nowhere,
    modified_in_place,
    next_sequence,
    node_class,
    produced_by,
)
from ..autograd.op_node import WRAPS_NUMBERS, arguments_of
from ..autograd.saved import show_raw
from ..ops.table import functions
from .attributes import held_by
from .base import new_tensor
from .compute import schema_of


def tracked_unary(op):
    """A function that makes the node of a call, or None where the rule names more than grad, operand and result."""
    schema = schema_of(op)
    first = schema.arguments[0].name
    rule = op.derivatives.get(first)
    options = {a.name: a.default for a in schema.arguments[1:]}
    if rule is None or not set(arguments_of(rule)) <= {"grad", first, "result", *options}:
        return None
    names = arguments_of(rule)
    kept = (*names, *op.beside, *op.keeps)
    keeps_input, keeps_result = first in kept, "result" in kept
    positional = _positional(rule, names, first, "result", options)
    of_result = rule if names == ("grad", "result") else None
    keeps = first if keeps_input else None, "result" if keeps_result else None  # names of what is in ``saved``
    base = _unary_node(positional, of_result, keeps_input, keeps_result, op.gate)
    if op.beside:
        base = _beside_node(base, op)
    node_type = node_class(node_name(op, *options.values()), base, op=op, keeps=keeps, gate=op.gate)
    show_raw(node_type, kept)

    def tracked(input, result, edge):
        node = node_type()
        node.next_edges = (edge,)
        node.sequence = next_sequence()
        if keeps_result:
            # The node holds the result's memory without its edge; both count versions together.
            kept = new_tensor()
            kept._array = result._array
            kept._version_counter = result._version_counter = VersionCounter()
            if keeps_input:
                node.saved = (input, kept, input._version_counter.value, 0)
            else:
                node.saved = (None, kept, 0, 0)
        elif keeps_input:
            node.saved = (input, None, input._version_counter.value, 0)
        else:
            node.saved = None
        return node

    return tracked


class _KeepingNode(Node):
    """A node whose ``saved`` are tensors, or None in their place, and behind them the versions that they had."""

    __slots__ = ()
    keeps_any = True
    result_place = None  # of the call's own result among them

    def look_at_saved(self):
        found = [*self.saved] if self.keeps_any else ()
        count = len(found) // 2
        for place, (tensor, version) in enumerate(zip(found[:count], found[count:])):
            if tensor is not None and tensor._version_counter.value != version:
                result = place == self.result_place
                raise modified_in_place(
                    tensor, version, produced_by((self, 0)) if result else describe_producer(tensor), self
                )


def _unary_node(rule, of_result, keeps_input, keeps_result, gate):
    """The class of nodes that apply ``rule`` to gradient, operand and result, or ``of_result`` to gradient and result."""

    class UnaryNode(_KeepingNode):
        __slots__ = ()
        keeps_any, result_place = keeps_input or keeps_result, 1

        def apply(self, grad):
            value, kept, version, kept_version = self.saved if keeps_input or keeps_result else (None, None, 0, 0)
            if keeps_input and value._version_counter.value != version:
                raise modified_in_place(value, version, describe_producer(value), self)
            if keeps_result:
                if kept._version_counter.value != kept_version:
                    raise modified_in_place(kept, kept_version, produced_by((self, 0)), self)
                if gate and held_by(grad).pop("_gated_by", None) is self:
                    return (grad,)
                if state.grad:
                    kept = kept._alias()
                    kept._edge = (self, 0)
                if of_result is not None:
                    return (of_result(grad, kept),)
            return (grad if rule is None else rule(grad, value, kept),)

        if keeps_input:
            _saved_self = property(lambda self: self.saved[0])

        if keeps_result:

            def holds(self, tensor):
                """Whether the result that the node keeps is the memory of ``tensor``."""
                return self.saved[1]._array is tensor._array

            @property
            def _saved_result(self):
                kept = self.saved[1]._alias()
                kept._edge = (self, 0)
                return kept

    return UnaryNode


def _beside_node(base, op):
    """`base`, with gradients that hang on the operand that it keeps, whatever they depend on."""

    class UnaryBesideNode(base):
        __slots__ = ()

        def apply(self, grad):
            found = super().apply(grad)
            if not state.grad:
                return found
            array = self.saved[0]._array
            return beside(found, self, op, self.next_edges, [(array.shape, array.dtype)])

    return UnaryBesideNode


class Placeholder:
    """Stands for a tensor operand where a node's name is asked for."""

    _edge = None


def node_name(op, *others):
    """What the nodes of ``op`` are called where these arguments follow a tensor."""
    return op.node_name if op.node_name.__class__ is str else op.node_name(Placeholder(), *others)


def binary_recorders(op):
    """Two functions that record a call: with a tensor, and with a number, as second operand.

    None stands for a case whose rules name more than grad, the operands and options that have defaults.
    """
    schema = schema_of(op)
    first, second = schema.arguments[0].name, schema.arguments[1].name
    options = {a.name: a.default for a in schema.arguments[2:]}
    known = {"grad", first, second, *options}
    rules = []
    for name in (first, second):
        rule = op.derivatives.get(name)
        usable = rule is not None and set(arguments_of(rule)) <= known
        rules.append(
            (_positional(rule, arguments_of(rule), first, second, options), arguments_of(rule)) if usable else None
        )
    if rules[0] is None:
        return None, None
    names = [node_name(op, other, *options.values()) for other in (Placeholder(), 2)]
    shares = rules[1] is not None and second in rules[1][1]
    with_number = _number_recorder(op, names[1], first, second, rules[0], shares)
    return None if rules[1] is None else _pair_recorder(op, names[0], first, second, *rules), with_number


def _resolved(edge, tensor, shares):
    """The edge of a view, and whether it requires grad though its gradient ends nowhere.

    None stands for such an edge, so that what its rule alone reads is not kept, unless the rules of both operands ``shares`` it.
    """
    edge = edge.resolve(tensor)
    ends = edge is not None and not shares and leads_nowhere(edge)
    return (None if ends else edge), ends


def _pair_recorder(op, name, first, second, first_rule, second_rule):
    rule_first, first_names = first_rule
    rule_second, second_names = second_rule
    first_for_first, second_for_first = first in first_names, second in first_names
    first_for_second, second_for_second = first in second_names, second in second_names
    first_reads, second_reads = first_for_first or second_for_first, first_for_second or second_for_second
    keeps_operands = first_reads or second_reads
    shares = (first_for_first and first_for_second) or (second_for_first and second_for_second)
    keeps = (first, second) if keeps_operands else ()
    node_type = node_class(name, _pair_node(rule_first, rule_second, first_reads, second_reads), op=op, keeps=keeps)
    show_raw(node_type, (*first_names, *second_names))

    def record(result, input, other, edge, other_edge):
        tracked = False
        if edge is not None and edge.__class__ is not tuple:
            if edge is LEAF:
                edge = edge.resolve(input)
            else:
                edge, tracked = _resolved(edge, input, shares)
        if other_edge is not None and other_edge.__class__ is not tuple:
            if other_edge is LEAF:
                other_edge = other_edge.resolve(other)
            else:
                other_edge, ends = _resolved(other_edge, other, shares)
                tracked = tracked or ends
        if edge is None and other_edge is None and not tracked:
            return
        node = node_type()
        node.next_edges = (edge, other_edge)
        node.sequence = next_sequence()
        node.shapes = (input._array.shape, other._array.shape)
        if keeps_operands:
            a = b = None
            if (edge is not None and first_for_first) or (other_edge is not None and first_for_second):
                a = input
            if (edge is not None and second_for_first) or (other_edge is not None and second_for_second):
                b = other
            node.saved = (a, b, input._version_counter.value, other._version_counter.value)
        else:
            node.saved = None
        result._edge = (node, 0)

    return record


def _number_recorder(op, name, first, second, rule, shares):
    rule, names = rule
    keeps_input, keeps_number = first in names, second in names
    kept_number = () if keeps_number and op.name in WRAPS_NUMBERS else None  # what backward frees
    base = _number_node(rule, keeps_input, kept_number is not None, shares)
    node_type = node_class(name, base, op=op, keeps=(first,) if keeps_input else ())
    show_raw(node_type, names)

    def record(result, input, other, edge, other_edge):
        if edge.__class__ is not tuple:
            edge = edge.resolve(input)
            if edge is None:
                return
        node = node_type()
        node.next_edges = (edge,)
        node.sequence = next_sequence()
        node.number = other if keeps_number else None
        node.saved = (input, input._version_counter.value) if keeps_input else kept_number
        result._edge = (node, 0)

    return record


def _passes_on(grad):
    return grad


def _positional(rule, names, first, second, options):
    """``rule`` as a function of (grad, first, second), None for one that hands the gradient on.

    Options that it names take their defaults.
    """
    rest = tuple(options[name] for name in names if name in options)
    head = tuple(name for name in names if name not in options)
    if names != head + tuple(name for name in names if name in options):
        raise ValueError(f"a rule names grad, operands and options in this order, not {names}")
    if head == ("grad",):
        if rule.__code__.co_code == _passes_on.__code__.co_code and not rest:
            return None
        return lambda grad, a, b: rule(grad, *rest)
    if head == ("grad", first):
        return lambda grad, a, b: rule(grad, a, *rest)
    if head == ("grad", second):
        return lambda grad, a, b: rule(grad, b, *rest)
    if head == ("grad", first, second):
        return (lambda grad, a, b: rule(grad, a, b, *rest)) if rest else rule
    raise ValueError(f"a rule names grad, operands and options in this order, not {names}")


def _pair_node(rule_first, rule_second, first_reads, second_reads):
    """The class of nodes that apply two rules; ``*_reads`` says whether the operand's rule takes an operand."""

    class PairNode(_KeepingNode):
        __slots__ = ("shapes",)
        keeps_any = first_reads or second_reads

        def apply(self, grad):
            edge, other_edge = self.next_edges
            if edge is not None and other_edge is not None:
                task = state.task
                if task is not None and not task.whole and self in task.nodes:  # as `wanted` says
                    edge = edge if task.reaches(edge[0]) else None
                    other_edge = other_edge if task.reaches(other_edge[0]) else None
            shape, other_shape = self.shapes
            a = b = found = second = None
            if (first_reads and self.next_edges[0] is not None) or (second_reads and self.next_edges[1] is not None):
                a, b, version, other_version = self.saved
                if b is not None and b._version_counter.value != other_version:
                    raise modified_in_place(b, other_version, describe_producer(b), self)
                if a is not None and a._version_counter.value != version:
                    raise modified_in_place(a, version, describe_producer(a), self)
            if edge is not None:
                found = grad if rule_first is None else rule_first(grad, a, b)
                if found._array.shape != shape:
                    found = functions.unexpanded(found, shape)
            if other_edge is not None:
                second = grad if rule_second is None else rule_second(grad, a, b)
                if second._array.shape != other_shape:
                    second = functions.unexpanded(second, other_shape)
            return found, second

        if first_reads or second_reads:
            _saved_self = property(lambda self: self.saved[0])
            _saved_other = property(lambda self: self.saved[1])

    return PairNode


def _number_node(rule, keeps_input, frees_number, shares):
    class NumberNode(_KeepingNode):
        __slots__ = ("number",)
        keeps_any = keeps_input or frees_number

        @property
        def next_functions(self):
            following = super().next_functions
            return (*following, (None, 0)) if self.op.name in WRAPS_NUMBERS else following

        def apply(self, grad):
            if not keeps_input:
                if frees_number and self.saved.__class__ is Freed and (shares or not leads_nowhere(self.next_edges[0])):
                    iter(self.saved)  # raises
                return (grad if rule is None else rule(grad, None, self.number),)
            value, version = self.saved
            if value._version_counter.value != version:
                raise modified_in_place(value, version, describe_producer(value), self)
            return (rule(grad, value, self.number),)

        if keeps_input:
            _saved_self = property(lambda self: self.saved[0])
        _saved_other = _saved_exponent = property(lambda self: self.number)

    return NumberNode
