"""The short path of linear layers: their call, and all gradients at once, on arrays, where nothing is recorded or watched."""

from __future__ import annotations

from ..autograd.modes import state
from ..autograd.op_node import OpNode, op_node_class, record, wanted
from ..base.dtypes import is_differentiable
from ..base.lazy import LAZY
from ..kernels.routing import elements_of, kernel_of
from ..ops.matmul import NATIVE_FLOATS, linear_gradients
from ..ops.table import is_half
from .base import new_tensor, quiet
from .classes import PLAIN_CLASSES
from .compute import schema_of
from .dispatch import named
from .interposers import INTERPOSERS
from .short_paths import short
from .stored_calls import is_unusual

_ELEMENTS = elements_of("linear_gradients")
_BIAS = 2  # its place among the operands


def linear(op):
    """The function of ``linear_rows``: short for plain tensors."""
    slow, schema, forward = short(op), schema_of(op), op.forward
    elements = elements_of(op.name)
    op.node_base = LinearNode
    with_bias, without = (op_node_class(op.node_name(None, None, bias), LinearNode) for bias in (0, None))
    without.has_bias = False

    def call(input, weight, bias=None):
        if (
            INTERPOSERS
            or input.__class__ not in PLAIN_CLASSES
            or weight.__class__ not in PLAIN_CLASSES
            or (bias is not None and bias.__class__ not in PLAIN_CLASSES)
        ):
            return slow(input, weight, bias)
        x, w, b = input._array, weight._array, None if bias is None else bias._array
        if LAZY and any(map(is_unusual, (x, w, b))):
            return slow(input, weight, bias)
        found = kernel_of("linear_rows")(x, w, b) if x.size >= elements or w.size >= elements else NotImplemented
        if found is NotImplemented:
            found = quiet().run(forward, x, w, b)
        result = new_tensor()
        result._array, result._edge = found, None
        if state.recording:
            node = record(op, schema, without if bias is None else with_bias, (input, weight, bias), (result,))
            if node is not None and is_differentiable(found.dtype):
                result._edge = (node, 0)
        return result

    return named(call, op)


def _fits(tensor, dtype):
    return tensor.__class__ in PLAIN_CLASSES and tensor._array.dtype is dtype


class LinearNode(OpNode):
    """A node of ``linear_rows``. Anything but plain floating-point tensors goes the general way, by the single rules.

    Where the layer's input is the result of a `relu`, and nobody looks at its gradient, that comes gated: as the ReLU's node
    would make it, which then passes it on.
    """

    __slots__ = ()
    has_bias = True

    def shown_places(self):
        places = super().shown_places()
        return sorted(places, key=_BIAS.__ne__) if self.has_bias else places[:_BIAS]  # PyTorch's `addmm` takes it first

    def apply(self, *grads):
        plan, versions, grad = self.plan, self.versions, grads[0]
        if versions is None or state.recording or INTERPOSERS or grad.__class__ not in PLAIN_CLASSES:
            return OpNode.apply(self, *grads)
        needs, slots, saved = plan.needs, plan.slots, self.saved
        array, weight, input = grad._array, None, None
        dtype = array.dtype
        if needs[0]:
            kept = saved[slots["weight"]]
            if not _fits(kept, dtype) or kept._version_counter.value != versions[0]:
                return OpNode.apply(self, *grads)
            weight = kept._array
        if needs[1]:
            kept = saved[slots["input"]]
            if not _fits(kept, dtype) or kept._version_counter.value != versions[-1]:
                return OpNode.apply(self, *grads)
            input = kept._array
        elif not needs[0]:
            return OpNode.apply(self, *grads)
        if not (dtype in NATIVE_FLOATS or is_half(dtype)) or (
            needs[2] and saved[slots["bias_shape"]] != array.shape[1:]
        ):
            return OpNode.apply(self, *grads)
        gate = self._gate(kept) if needs[0] and needs[1] else None
        needs = wanted(self, needs)
        arguments = array, input, weight, needs, gate is not None
        large = array.size >= _ELEMENTS or (input if weight is None else weight).size >= _ELEMENTS
        found = kernel_of("linear_gradients")(*arguments) if large else NotImplemented
        if found is NotImplemented:
            found = quiet().run(linear_gradients, *arguments)
        gradients = [None, None, None]
        for place in (0, 1, 2):
            if needs[place]:
                gradient = gradients[place] = new_tensor()
                gradient._array, gradient._edge = found[place], None
        if found[3]:
            gradients[0]._gated_by = gate
        return gradients

    def _gate(self, input):
        """The node that the input's gradient flows to, if that keeps ``input`` as its result, and may be spared its work."""
        gate = self.next_edges[0][0]
        if not gate.gate or gate.special or state.anomaly or state.task is None or not state.task.whole:
            return None
        return gate if gate.holds(input) else None
