"""The engine: runs the graph backwards, latest operation first, and adds up what arrives."""

from __future__ import annotations

import sys
from heapq import heappop, heappush

from ..base.errors import hinted
from ..ops.table import functions
from . import anomaly
from .hooks import after_node, at_tensors, before_node, run_tensor_hooks
from .modes import state
from .node import AccumulateGrad, Freed

getrefcount = sys.getrefcount
_PACKAGE = __file__.rsplit("autograd", 1)[0]


class Task:
    """One run of the engine, as hooks see it.

    ``nodes`` are those it reaches, ``whole`` says that these are all, ``notes`` is what hooks keep for this run.
    """

    __slots__ = ("nodes", "notes", "whole")

    def __init__(self, nodes, whole):
        self.nodes, self.notes, self.whole = nodes, {}, whole


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
    counts, needed = _plan(roots, wanted)
    captures = None
    if wanted is not None and not accumulate:
        captures = {}
        for edge in wanted:
            captures.setdefault(edge[0], {})[edge[1]] = None
    freed = None if keep_graph else Freed(user_location())
    before = state.grad, state.recording, state.task
    state.task = Task(counts, wanted is None)
    if create_graph != before[0]:
        state.grad = create_graph
        state.update()
    try:
        _run(roots, gradients, counts, needed, captures, freed)
    finally:
        state.grad, state.recording, state.task = before
    if captures is not None:
        return [captures[node][number] for node, number in wanted]
    return None


def _plan(roots, wanted):
    """How many gradients each node waits for, and, where edges are ``wanted``, which nodes have to run."""
    counts, leaves = {}, []
    for node, _ in roots:
        counts[node] = 0
    stack = list(counts)
    while stack:
        node = stack.pop()
        if node.__class__ is AccumulateGrad:
            leaves.append(node)
            continue
        for edge in node.next_edges:
            if edge is not None:
                node = edge[0]
                if node in counts:
                    counts[node] += 1
                else:
                    counts[node] = 1
                    stack.append(node)
    if wanted is None:
        return counts, None
    ends = {edge[0] for edge in wanted if edge[0] in counts}
    for leaf in leaves:
        if leaf not in ends:
            return _plan_towards(ends, counts)
    return counts, _Everything(ends)  # every path leads to a wanted leaf


class _Everything:
    """Stands for the set of all nodes of a graph; knows the wanted ``ends``."""

    __slots__ = ("ends",)

    def __init__(self, ends):
        self.ends = ends

    def __contains__(self, node):
        return True


class _Needed(set):
    """The nodes that have to run on the way to the wanted ``ends``."""

    __slots__ = ("ends",)


def _plan_towards(ends, counts):
    """The counts of the nodes on the way to ``ends``, and those that have to run; other nodes get nothing."""
    needed = _Needed()
    needed.ends = ends
    # Oldest first: what a node needs was made before it, so its children are decided when its turn comes.
    for node in sorted(counts, key=_sequence, reverse=True):
        for edge in node.next_edges:
            if edge is not None and (edge[0] in needed or edge[0] in ends):
                needed.add(node)
                break
    counts = dict.fromkeys(needed | ends, 0)
    for node in needed:
        for edge in node.next_edges:
            if edge is not None and edge[0] in counts:
                counts[edge[0]] += 1
    return counts, needed


def _sequence(node):
    return node.sequence


def _run(roots, gradients, counts, needed, captures, freed):
    pending, ready = {}, []
    recording = state.grad
    plain = captures is None and needed is None
    ends = frozenset() if plain else needed.ends
    watched = state.anomaly
    for (node, number), grad in zip(roots, gradients):
        _add_pending(pending, node, number, grad)
    for node in {root[0]: None for root in roots}:
        if counts.get(node) == 0:
            heappush(ready, (node.sequence, node))
    following = following_grad = (
        None  # the node that became ready last mostly is the next: it need not go through the heap
    )
    while True:
        if following is not None:
            node, grad, following = following, following_grad, None
        elif ready:
            node = heappop(ready)[1]
            grad = pending.pop(node, None)
        else:
            return
        if watched or node.special or (ends and node in ends):
            grads = _run_special(node, grad, needed, captures, recording)
            if grads is None:
                continue
        elif grad is None:
            grads = (None,) * len(node.next_edges)
        else:
            grads = node.apply(grad)
        if freed is not None:
            node.saved = freed
        grad = following_grad = None
        for edge, gradient in zip(node.next_edges, grads):
            if edge is None:
                continue
            target = edge[0]
            left = counts.get(target)
            if left == 1 and target not in pending:
                # All that the target waited for, in one piece.
                if not target.special:
                    if following is None:
                        following, following_grad = target, gradient
                        continue
                elif plain and target.__class__ is AccumulateGrad and target.hooks is None:
                    if gradient is not None:
                        accumulate(target, gradient, recording)
                    continue
            elif left is None:
                continue
            if gradient is not None:
                _add_pending(pending, target, edge[1], gradient)
            counts[target] = left - 1
            if left == 1:
                heappush(ready, (target.sequence, target))
        if following is not None and ready and ready[0][0] < following.sequence:
            if following_grad is not None:
                pending[following] = following_grad
            heappush(ready, (following.sequence, following))
            following = None


def _add_pending(pending, node, number, grad):
    if node.outputs == 1:
        waiting = pending.get(node)
        pending[node] = grad if waiting is None else waiting + grad
        return
    buffer = pending.get(node)
    if buffer is None:
        buffer = pending[node] = [None] * node.outputs
    buffer[number] = grad if buffer[number] is None else buffer[number] + grad


def _run_special(node, grad, needed, captures, recording):
    """Run a leaf's node, one with hooks or several outputs, one whose gradient is wanted, or any node in anomaly mode.

    None: nothing flows on from it.
    """
    is_leaf = node.__class__ is AccumulateGrad
    if is_leaf and needed is None and node.hooks is None:
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
    runs = captures is None if is_leaf else needed is None or node in needed
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
