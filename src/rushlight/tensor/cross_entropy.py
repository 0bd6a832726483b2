"""Nodes of cross entropy: one computation there and back, which shows PyTorch's two nodes to whoever looks behind it."""

from __future__ import annotations

from sys import getrefcount

import numpy as np

from ..autograd import gradients
from ..autograd.modes import enable_grad, state
from ..autograd.node import Freed
from ..autograd.op_node import OpNode, node_class_of, record, unpacked
from ..ops.loss_classes import loss_of_logs
from ..ops.table import TABLE, functions
from .base import wrap
from .compute import schema_of
from .interposers import INTERPOSERS

_ALONE = 3  # references to what a node keeps: in `saved`, the name, the call


class CrossEntropyNode(OpNode):
    """A node of ``cross_entropy_parts``: ``NllLossBackward0`` with the ``LogSoftmaxBackward0`` behind it.

    Both are made when `next_functions` is asked for, and this node is the first of them from then on: hooks on the second
    see its gradient. Label smoothing has no such two nodes in PyTorch, and keeps one here.
    """

    __slots__ = ()
    opened = False

    @property
    def next_functions(self):
        if not self.opened:
            self._open()
        return super().next_functions

    def apply(self, grad):
        if self.opened or grad is None:
            return super().apply(grad)
        if not (state.grad or INTERPOSERS):
            return self._apply_once(grad)
        *options, _, logs = self._values()
        behind = _log_softmax_node(self, logs)
        create_graph = state.grad
        with enable_grad():
            logs = functions.variable(_result_of(behind, logs), create_graph)
            loss = loss_of_logs(logs, *options)
            (found,) = gradients.grad(loss, [logs], grad, create_graph=create_graph)
        return [*behind.apply(found), None, None]

    def _apply_once(self, grad):
        """Both gradients in one pass, in the memory of what this node keeps where that is freed and nobody looks into it."""
        *options, total, logs = self._values()
        task = state.task
        alone = task is not None and task.frees and getrefcount(logs) == _ALONE and getrefcount(logs._array) == 2
        return functions.cross_entropy_gradient(logs, grad, *options, total, alone), None, None

    def _values(self):
        """What the forward call kept, in order: target, weight, reduction, ignore_index, label_smoothing, total and logarithms."""
        if self.versions is None:
            return [unpacked(entry, self) for entry in self.saved]
        self.refuse_versions(self.saved)
        return self.saved

    def _open(self):
        if self.saved.__class__ is Freed:
            nothing = wrap(np.empty((0, 0), self.inputs[0][1]))
            options, total, logs = (wrap(np.empty(0, np.int64)), None, "mean", 0, 0.0), nothing, nothing
        else:
            if self.versions not in (None, [self.saved[slot]._version_counter.value for slot in self.plan.inputs]):
                return  # which cannot run any more
            *options, total, logs = self._values()
        target, weight, reduction, ignore_index, label_smoothing = options
        if label_smoothing:
            return
        behind, op = _log_softmax_node(self, logs), TABLE["nll_loss_parts"]
        values = _result_of(behind, logs), target, weight, reduction, ignore_index
        first = record(op, schema_of(op), node_class_of(op, values), values, (total, total))
        if self.saved.__class__ is Freed:
            behind.saved = first.saved = self.saved
            behind.inputs = first.inputs = self.inputs[:1]
        for name in ("next_edges", "inputs", "plan", "saved", "versions"):
            setattr(self, name, getattr(first, name))
        self.opened = True


def _log_softmax_node(node, logs):
    """The node behind ``node``, as a call of log_softmax would have made it; it runs next after that."""
    scores, op = wrap(logs._array), TABLE["log_softmax"]
    scores._edge = node.next_edges[0]
    values = scores, 1, None
    made = record(op, schema_of(op), node_class_of(op, values), values, (logs,))
    made.sequence = node.sequence + 0.5
    return made


def _result_of(node, logs):
    """The logarithms as the result of their node."""
    made = wrap(logs._array)
    made._version_counter, made._edge = logs._version_counter, (node, 0)
    return made
