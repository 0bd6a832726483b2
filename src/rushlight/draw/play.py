"""Backward, watched: runs the engine once and keeps what came into and went out of each node, step by step."""

from __future__ import annotations

from rushlight.autograd import gradients
from rushlight.autograd.graph import GradientEdge

from .collect import LEAF, OPERATION
from .numbers import Summary


class Step:
    """One node that ran: `number` of the operation or leaf, gradients that came in (one for each output) and went out."""

    __slots__ = ("incoming", "kind", "number", "outgoing")

    def __init__(self, kind, number, incoming, outgoing=()):
        self.kind, self.number, self.incoming, self.outgoing = kind, number, incoming, outgoing

    def data(self):
        """The same for JSON."""
        return {
            "kind": self.kind,
            "number": self.number,
            "incoming": [None if each is None else each.data() for each in self.incoming],
            "outgoing": [None if each is None else each.data() for each in self.outgoing],
        }


class Recorder:
    """A context in which each node of `model` that backward runs adds a `Step` to ``steps``; hooks of nodes see to it.

    ``tensors`` are those whose graph it is. Afterwards the operations and leaves of the model know their gradients.
    """

    def __init__(self, model, tensors):
        self.model, self.tensors, self.steps, self.handles = model, tensors, [], []

    def __enter__(self):
        try:
            for operation in self.model.operations:
                self.watch(operation)
            for leaf in self.model.leaves:
                if leaf.variable.requires_grad:  # which may have been taken back since
                    self.watch_leaf(leaf)
        except BaseException:  # Ctrl-C came in between
            self.unwatch()
            raise
        return self

    def unwatch(self):
        for handle in self.handles:
            handle.remove()

    def __exit__(self, kind, value, trace):
        try:
            self.unwatch()
        except BaseException:  # Ctrl-C came before it was done
            self.unwatch()
            raise
        for step in self.steps:
            if step.kind == LEAF:
                self.model.leaves[step.number].gradient = step.incoming[0]
            else:
                found = {number: each for number, each in enumerate(step.incoming) if each is not None}
                self.model.operations[step.number].gradients = found

    def watch(self, operation):
        step = Step(OPERATION, operation.number, ())

        def before(grads):
            step.incoming = [summary(each) for each in grads]
            self.steps.append(step)

        def after(inputs, outputs):
            step.outgoing = [summary(each) for each in inputs[: len(operation.inputs)]]

        self.handles += [operation.node.register_prehook(before), operation.node.register_hook(after)]

    def watch_leaf(self, leaf):
        def arrived(grad):
            self.steps.append(Step(LEAF, leaf.number, [summary(grad)]))

        self.handles.append(leaf.variable.register_hook(arrived))


def gradients_alone(model, tensors, gradient):
    """Run a backward pass from `tensors` that leaves every ``grad`` and all that nodes keep as they are.

    What the drawing leaves out runs too: leaves get all that is theirs.
    """
    ends = [GradientEdge(node, 0) for node in model.ends]
    gradients.grad(tensors, ends, as_list(gradient), retain_graph=True, allow_unused=True)


def as_list(gradient):
    return gradient if gradient is None or isinstance(gradient, (list, tuple)) else [gradient]


def summary(gradient):
    return None if gradient is None else Summary(gradient)
