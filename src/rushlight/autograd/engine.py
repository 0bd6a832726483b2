"""The engine: runs the graph backwards, latest operation first, and adds up what arrives."""

from __future__ import annotations

import sys
from operator import attrgetter

from ..base.errors import hinted
from ..ops.table import functions
from . import anomaly
from .hooks import after_node, at_tensors, before_node, run_tensor_hooks
from .modes import state
from .node import AccumulateGrad, Freed

getrefcount = sys.getrefcount
object_new = object.__new__
_PACKAGE = __file__.rsplit("autograd", 1)[0]


class Task:
    """One run of the engine, as hooks see it.

    ``nodes`` and ``leaves`` are those it reaches, ``whole`` says that these are all, ``notes`` is what hooks keep for
    this run.
    """

    __slots__ = ("leaves", "nodes", "notes", "whole")

    def reaches(self, node):
        """Whether a gradient may arrive at ``node`` in this run."""
        return node in self.nodes or node in self.leaves


def execute(roots, gradients, keep_graph, create_graph, wanted=None, accumulate=True):
    """Propagate ``gradients`` of the output edges ``roots`` through the graph.

    Args:
        roots: edges ``(node, output number)``.
        gradients: a Tensor for each.
        keep_graph: leave saved values in place.
        create_graph: record the gradients' own computation.
        wanted: edges whose gradients are asked for; only nodes on the way to them run. None: run everything.
        accumulate: whether leaves' ``.grad`` are written; else the gradients at ``wanted`` are returned.

    Returns:
        The gradients at ``wanted`` (None where nothing arrived), or None when accumulating.
    """
    order, nodes, leaves = _reach(roots)
    way, captures = None, None
    if wanted is not None:
        way = _Way({edge[0] for edge in wanted}, order, nodes, leaves)
        order, nodes, leaves = way.order, way.nodes, way.leaves
        if not accumulate:
            captures = {}
            for edge in wanted:
                captures.setdefault(edge[0], {})[edge[1]] = None
    order.sort(key=_sequence)
    freed = None if keep_graph else Freed(user_location())
    before = state.grad, state.recording, state.task
    task = state.task = object_new(Task)
    task.nodes, task.leaves, task.notes, task.whole = nodes, leaves, {}, way is None
    if create_graph != before[0]:
        state.grad = create_graph
        state.update()
    pending = {}
    try:
        for (node, number), grad in zip(roots, gradients):
            _add_pending(pending, node, number, grad)
        _run(order, leaves, pending, way, captures, freed)
    finally:
        state.grad, state.recording, state.task = before
    if captures is not None:
        return [captures[node][number] for node, number in wanted]
    return None


_sequence = attrgetter("sequence")


def _reach(roots):
    """What gradients of ``roots`` can flow to: operations' nodes, as a list and as a set, and ``{leaf: uses}``."""
    order, nodes, leaves = [], set(), {}
    for node, _ in roots:
        if node.__class__ is AccumulateGrad:
            leaves[node] = 0
        elif node not in nodes:
            nodes.add(node)
            order.append(node)
    for node in order:  # which grows meanwhile
        for edge in node.next_edges:
            if edge is not None:
                target = edge[0]
                if target.__class__ is AccumulateGrad:
                    leaves[target] = leaves.get(target, 0) + 1
                elif target not in nodes:
                    nodes.add(target)
                    order.append(target)
    return order, nodes, leaves


class _Way:
    """The part of a graph that leads to ``ends``, the nodes where gradients are asked for.

    ``needed`` are the nodes that have to run; gradients stop at an end that none of them lies behind. ``order``,
    ``nodes`` and ``leaves`` are as in `_reach`, for this part alone.
    """

    __slots__ = ("ends", "leaves", "needed", "nodes", "order")

    def __init__(self, ends, order, nodes, leaves):
        self.ends = ends
        if leaves.keys() <= ends:  # every path leads to a wanted leaf
            self.order, self.nodes, self.leaves, self.needed = order, nodes, leaves, nodes
            return
        needed = self.needed = set()
        self.leaves = dict.fromkeys(leaves.keys() & ends, 0)
        # Oldest first: what a node needs was made before it, so its children are decided when its turn comes.
        for node in sorted(order, key=_sequence, reverse=True):
            for edge in node.next_edges:
                if edge is not None and (edge[0] in needed or edge[0] in ends):
                    needed.add(node)
                    break
        for node in needed:
            for edge in node.next_edges:
                if edge is not None and edge[0] in self.leaves:
                    self.leaves[edge[0]] += 1
        self.nodes = needed | ends
        self.order = [node for node in order if node in self.nodes]


def _run(order, leaves, pending, way, captures, freed):
    """Run the nodes of ``order``, latest first, and each leaf as soon as all that it waits for has arrived.

    Every node was made after those that its gradients flow to: when its turn comes, it has all of its own.
    """
    recording, watched = state.grad, state.anomaly
    ends = () if way is None else way.ends
    for leaf, left in leaves.items():
        if not left:  # a root itself
            _run_special(leaf, pending.pop(leaf, None), way, captures, recording)
    for node in order:
        grad = pending.pop(node, None)
        if watched or node.special or node in ends:
            grads = _run_special(node, grad, way, captures, recording)
            if grads is None:
                continue
        elif grad is None:
            grads = (None,) * len(node.next_edges)
        else:
            grads = node.apply(grad)
        if freed is not None:
            node.saved = freed
        for edge, gradient in zip(node.next_edges, grads):
            if edge is None:
                continue
            target = edge[0]
            if target.__class__ is AccumulateGrad:
                left = leaves.get(target)
                if left == 1 and target not in pending and way is None and target.hooks is None:
                    if gradient is not None:
                        accumulate(target, gradient, recording)
                elif left is not None:
                    if gradient is not None:
                        _add_pending(pending, target, 0, gradient)
                    leaves[target] = left - 1
                    if left == 1:
                        grad = pending.pop(target, None)
                        _run_special(target, grad, way, captures, recording)
            elif gradient is not None and (way is None or target in way.nodes):
                if target in pending or target.special:
                    _add_pending(pending, target, edge[1], gradient)
                else:
                    pending[target] = gradient


def _add_pending(pending, node, number, grad):
    if node.outputs == 1:
        waiting = pending.get(node)
        pending[node] = grad if waiting is None else waiting + grad
        return
    buffer = pending.get(node)
    if buffer is None:
        buffer = pending[node] = [None] * node.outputs
    buffer[number] = grad if buffer[number] is None else buffer[number] + grad


def _run_special(node, grad, way, captures, recording):
    """Run a leaf's node, one with hooks or several outputs, one whose gradient is wanted, or any node in anomaly mode.

    None: nothing flows on from it.
    """
    is_leaf = node.__class__ is AccumulateGrad
    if is_leaf and way is None and node.hooks is None:
        return accumulate(node, grad, recording, unshared=UNSHARED - 1)
    grads = [grad] if node.outputs == 1 else [None] * node.outputs if grad is None else grad
    hooks = node.hooks
    if is_leaf and node.variable._hooks and grads[0] is not None:
        grads = [run_tensor_hooks(node.variable._hooks, grads[0])]
    if hooks is not None:
        grads = at_tensors(hooks, grads)
    if captures is not None and node in captures:
        for number in captures[node]:
            captures[node][number] = grads[number]
    runs = captures is None if is_leaf else way is None or node in way.needed
    if not runs:
        return None
    if hooks is not None and hooks.before:
        grads = before_node(hooks, grads)
    if is_leaf:
        accumulate(node, grads[0], recording, hooks_ran=True)
        if hooks is not None and hooks.after:
            after_node(node, (), grads)
        return None
    if all(grad is None for grad in grads) and not getattr(node, "materializes", False):
        found = (None,) * len(node.next_edges)
    elif state.anomaly:
        found = anomaly.watched_apply(node, grads)
    else:
        found = node.apply(*grads)
    if hooks is not None and hooks.after:
        found = after_node(node, found, grads)
    return found


def accumulate(node, grad, recording, hooks_ran=False, unshared=None):
    """Add ``grad`` to the leaf's ``.grad``: taken over where nobody else holds it, else copied; then added in place.

    ``unshared`` is the reference count of a gradient that only the caller holds.
    """
    variable = node.variable
    if grad is None:
        return
    if variable._hooks and not hooks_ran:
        grad = run_tensor_hooks(variable._hooks, grad)
    present = variable._grad
    if present is None:
        fits = grad._array.base is None and grad._array.strides == variable._array.strides
        if fits and not recording and getrefcount(grad) <= (unshared or UNSHARED) and getrefcount(grad._array) == 2:
            if grad._edge is not None:
                grad = grad.detach()
            variable._grad = grad
        else:
            variable._grad = grad.clone() if recording else functions.copied_gradient(variable, grad)
    elif recording:
        variable._grad = present + grad
    else:
        present.add_(grad)
    if variable._post_accumulate_hooks:
        for hook in tuple(variable._post_accumulate_hooks.values()):
            hook(variable)


def _count_references(node, grad, recording):
    return getrefcount(grad)


def _calibrate():
    """The reference count, seen from `accumulate`, of a gradient that only the loop of `_run` holds."""
    found = (object(),)
    for _, gradient in zip((0,), found):
        return _count_references(None, gradient, False)


UNSHARED = _calibrate()


def user_location():
    """``(file, line)`` of the innermost frame outside this package."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            return code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "an unknown place", 0


def missing_grad_error(position):
    """The error for backward from a tensor that records nothing: number ``position`` of those given."""
    return RuntimeError(
        hinted(
            f"element {position} of tensors does not require grad and does not have a grad_fn",
            "no tensor that this value was computed from has requires_grad=True, or it was computed under no_grad() or from "
            "detach()ed tensors: set requires_grad_() on the inputs before the computation",
        )
    )
