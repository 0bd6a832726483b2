"""The engine: runs the graph backwards, latest operation first, and adds up what arrives."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections import Counter
from operator import attrgetter

import numpy as np

from ..base.arrays import is_dense
from ..base.device import contiguous_format, preserve_format
from ..base.errors import hinted
from ..base.layouts import LAYOUT_PLUGS
from ..base.lazy import stored_in
from ..base.user_code import user_place
from ..ops.table import functions
from . import anomaly
from .fitting import arriving
from .hooks import after_node, at_tensors, before_node, run_post_accumulate_hooks, run_tensor_hooks
from .modes import state
from .names import described
from .node import FIRST, LEAF, AccumulateGrad, Freed, Nowhere

getrefcount = sys.getrefcount
accumulating = threading.RLock()  # held while a leaf's gradient grows: another thread may be at the same leaf
object_new = object.__new__


class Task:
    """One run of the engine, as hooks see it.

    ``nodes`` and ``leaves`` are those it reaches, ``whole`` says that these are all, ``frees`` that nodes lose what they
    keep as soon as they ran, ``notes`` is what hooks keep for this run. ``depth`` counts the runs of this thread that it happens within.
    """

    __slots__ = ("depth", "frees", "leaves", "nodes", "notes", "whole")

    def reaches(self, node):
        """Whether a gradient may arrive at ``node`` in this run."""
        return node in self.nodes or node in self.leaves


DEEPEST = 15  # runs within runs that one thread takes: each is some frames of Python's limited stack


def execute(roots, gradients, keep_graph, create_graph, wanted=None, accumulate=True, freed=None):
    """Propagate ``gradients`` of the output edges ``roots`` through the graph.

    Args:
        roots: edges ``(node, output number)``.
        gradients: a Tensor for each.
        keep_graph: leave saved values in place.
        create_graph: record the gradients' own computation.
        wanted: edges whose gradients are asked for; only nodes on the way to them run. None: run everything.
        accumulate: whether leaves' ``.grad`` are written; else the gradients at ``wanted`` are returned.
        freed: what to leave in the place of saved values; made here if not given.

    Returns:
        The gradients at ``wanted`` (None where nothing arrived), or None when accumulating.
    """
    if freed is None:
        state.last_backward = Freed(user_place(2) or ())
        freed = None if keep_graph else state.last_backward
    before, saved_hooks = (state.grad, state.recording, state.task), state.saved_hooks
    outer = before[2]
    if outer is not None and outer.depth == DEEPEST:
        return _on_new_stack(roots, gradients, keep_graph, create_graph, wanted, accumulate, freed)
    order, nodes, leaves = _reach(roots)
    order.sort(key=_sequence)
    errors = bool(order) and order[0].sequence == FIRST
    if errors:
        order = _errors_when_due(order)
    way, captures = None, None
    if wanted is not None:
        way = _Way({edge[0] for edge in wanted}, order, nodes, leaves)
        order, nodes, leaves = way.order, way.nodes, way.leaves
        if not accumulate:
            captures = {}
            for edge in wanted:
                captures.setdefault(edge[0], {})[edge[1]] = None
    if errors:
        _hold_back(leaves, order, roots, way)
    task = object_new(Task)
    task.nodes, task.leaves, task.notes, task.whole, task.frees = nodes, leaves, {}, way is None, freed is not None
    task.depth = 0 if outer is None else outer.depth + 1
    pending = {}
    try:  # from before anything is switched on: Ctrl-C may come after any call
        state.task = task
        if create_graph != before[0]:
            state.grad = create_graph
            state.update()
        for (node, number), grad in zip(roots, gradients):
            _add_pending(pending, node, number, grad, None, gradients)
        _run(order, leaves, pending, way, captures, freed)
    finally:
        state.grad, state.recording, state.task = before
        if state.saved_hooks is not saved_hooks:  # a hook entered a context and did not leave it
            state.saved_hooks = saved_hooks
            state.update()
    if captures is not None:
        return [captures[node][number] for node, number in wanted]
    return None


def _on_new_stack(*arguments):
    """`execute` in a thread of its own, where the depth of Python's stack counts from zero; this thread waits."""
    inherited = {**vars(state), "task": None}
    outcome = []

    def work():
        vars(state).update(inherited)
        try:
            outcome.append((execute(*arguments), None))
        except BaseException as error:  # raised again below, in the thread that waits
            outcome.append((None, error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
    thread.start()
    thread.join()
    found, error = outcome.pop()
    if error is not None:
        raise error
    return found


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


def _errors_when_due(order):
    """``order`` with the nodes that only raise an error, sorted to its front, behind the last node that leads to each."""
    waiting = Counter(edge[0] for node in order for edge in node.next_edges if edge is not None)
    rest = [node for node in reversed(order) if node.sequence != FIRST or not waiting[node]]
    found = []
    while rest:
        node = rest.pop()
        found.append(node)
        for edge in node.next_edges:
            if edge is not None and edge[0].sequence == FIRST and edge[0].__class__ is not AccumulateGrad:
                waiting[edge[0]] -= 1
                if not waiting[edge[0]]:
                    rest.append(edge[0])
    return found


def _hold_back(leaves, order, roots, way):
    """Let the leaves that come after an error, among what its turn makes ready, wait for a gradient that does not come."""
    for place, node in enumerate(order):
        if node.sequence == FIRST and (way is None or node in way.needed):
            targets = [edge and edge[0] for edge in (order[place - 1].next_edges if place else roots)]
            after = len(targets) - targets[::-1].index(node)
            for target in targets[after:]:
                if target in leaves:
                    leaves[target] += 1
            return


class _Way:
    """The part of a graph that leads to ``ends``, the nodes where gradients are asked for.

    ``needed`` are the nodes that have to run; gradients stop at an end that none of them lies behind. ``order``,
    ``nodes`` and ``leaves`` are as in `_reach`, for this part alone.
    """

    __slots__ = ("ends", "leaves", "needed", "nodes", "order")

    def __init__(self, ends, order, nodes, leaves):
        self.ends = ends
        if leaves.keys() <= ends and not (
            order and order[-1].__class__ is Nowhere
        ):  # every path leads to a wanted leaf
            self.order, self.nodes, self.leaves, self.needed = order, nodes, leaves, nodes
            return
        needed = self.needed = set()
        self.leaves = dict.fromkeys(leaves.keys() & ends, 0)
        # Oldest first: what a node needs was made before it, so its children are decided when its turn comes.
        for node in reversed(order):
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
    recording, watched = state.grad, state.anomaly or state.run_node is not None
    at_leaf = state.run_leaf or accumulate
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
            grads = node.apply(None) if node.runs_without_gradient else _nothing_from(node)
        else:
            grads = node.apply(grad)
            grad = None  # what the node made of it may look into its memory, and be a leaf's own
        if freed is not None:
            node.saved = freed
        for edge, gradient in zip(node.next_edges, grads):
            if edge is None:
                continue
            target = edge[0]
            if target.__class__ is AccumulateGrad:
                left = leaves.get(target)
                hooks = target.hooks
                if left == 1 and target not in pending and way is None and (hooks is None or _only_after(target)):
                    at_leaf(target, gradient, recording)
                    if hooks is not None:
                        after_node(target, (), (gradient,))
                elif left is not None:
                    if gradient is not None:
                        _add_pending(pending, target, 0, gradient, node, grads)
                    leaves[target] = left - 1
                    if left == 1:
                        grad = pending.pop(target, None)
                        _run_special(target, grad, way, captures, recording)
            elif gradient is not None and (way is None or target in way.nodes):
                if target in pending or target.special:
                    _add_pending(pending, target, edge[1], gradient, node, grads)
                else:
                    pending[target] = gradient


def _nothing_from(node):
    """What a node that no gradient reached passes on; what it kept is looked at all the same."""
    node.look_at_saved()
    return (None,) * len(node.next_edges)


def _only_after(leaf):
    """Whether the hooks of a leaf's node all run after it, and so see the gradient that it may have taken over."""
    hooks = leaf.hooks
    return not (hooks.forms or hooks.before or hooks.on_tensors or hooks.retained or leaf.variable._hooks)


def _add_pending(pending, node, number, grad, source, grads):
    if node.hooks is not None and node.hooks.forms:
        grad = arriving(node, number, grad, source, grads)
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
        return (state.run_leaf or accumulate)(node, grad, recording, unshared=UNSHARED - 1)
    grads = [grad] if node.outputs == 1 else [None] * node.outputs if grad is None else grad
    hooks, arrived = node.hooks, grads
    if is_leaf and node.variable._hooks:
        grads = [run_tensor_hooks(node.variable._hooks, grads[0])]
    if hooks is not None:
        grads = at_tensors(hooks, grads)
    runs = captures is None or (not is_leaf and (way is None or node in way.needed))
    if captures is not None and node in captures:
        asked = arrived if runs else grads  # of a node on the way to others, what its hooks change is theirs alone
        for number in captures[node]:
            captures[node][number] = asked[number]
    if not runs:
        return None
    if hooks is not None and hooks.before:
        grads = before_node(hooks, grads)
    if is_leaf:
        (state.run_leaf or accumulate)(node, grads[0], recording, hooks_ran=True)
        if hooks is not None and hooks.after:
            after_node(node, (), grads)
        return None
    if all(grad is None for grad in grads) and not node.runs_without_gradient:
        found = _nothing_from(node)
    elif state.anomaly or state.run_node is not None:
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
    if variable._hooks and not hooks_ran:
        grad = run_tensor_hooks(variable._hooks, grad)
    # Unless it was made to require no grad since.
    if grad is not None and (variable._edge is LEAF or variable.requires_grad):
        # `with`, not acquire and release: Ctrl-C may come after any call, but not while a lock is entered.
        with accumulating:
            present = variable._grad
            if present is None:
                array = grad._array
                fits = (array.strides == variable._array.strides or not state.layout_enforced) and (
                    array.base is None or _looks_alone(grad, array)
                )
                if fits and not recording and getrefcount(grad) <= (unshared or UNSHARED) and getrefcount(array) == 3:
                    if grad._edge is not None or grad._base is not None:
                        grad = grad.detach()
                    variable._grad = grad
                else:
                    simple = not recording and grad._array.shape == variable._array.shape
                    variable._grad = (functions.copied_gradient if simple else _copy_in_form)(variable, grad)
            elif present._array.__class__ in LAYOUT_PLUGS:
                variable._grad = LAYOUT_PLUGS[present._array.__class__].accumulated(present, grad, recording)
            elif recording:
                variable._grad = present + grad
            else:
                present.add_(grad)
            variable._grad_call = state.last_backward
    if variable._post_accumulate_hooks:
        run_post_accumulate_hooks(variable)


def _looks_alone(grad, array):
    """Whether nobody but ``grad``, with its ``array``, looks into the memory of the array that it is a view of.

    That one may still be held by the tensor that ``grad`` was made from, if nobody else holds this tensor.
    """
    owner = array.base
    if owner.__class__ is not np.ndarray or owner.nbytes != array.nbytes:
        return False
    if not (owner.flags.owndata and array.flags.writeable):
        return False
    base = grad._base
    if base is None:
        return getrefcount(owner) == 3  # `array`, the name here, the call
    holders = 3 if grad._edge is None else 4  # `grad`, its edge, the name here, the call
    return base._array is owner and getrefcount(base) == holders and getrefcount(owner) == 4


def _copy_in_form(variable, grad):
    """A copy of ``grad``, part of the graph if one is recorded, in the shape and layout of ``variable``: row by row if that has gaps.

    Unrecorded, a gradient of the shape that the variable had before keeps it where its strides are those of the variable.
    """
    if grad._array.__class__ in LAYOUT_PLUGS or variable._array.__class__ in LAYOUT_PLUGS:
        return grad.clone()
    if not state.grad and all(n == 1 or a == b for n, a, b in zip(grad.shape, grad.stride(), variable.stride())):
        return grad.clone()
    layout = preserve_format if is_dense(stored_in(variable._array)) else contiguous_format
    return functions.empty_like(variable.detach(), dtype=grad.dtype, memory_format=layout).copy_(grad)


def _count_references(node, grad, recording):
    return getrefcount(grad)


def _calibrate():
    """The reference count, seen from `accumulate`, of a gradient that only the loop of `_run` holds."""
    found = (object(),)
    for _, gradient in zip((0,), found):
        return _count_references(None, gradient, False)


UNSHARED = _calibrate()


def missing_grad_error(position, output):
    """The error for backward from ``output``, a tensor that records nothing: number ``position`` of those given."""
    return RuntimeError(
        hinted(
            f"element {position} of tensors does not require grad and does not have a grad_fn",
            f"{described(output)} has no graph behind it: no tensor that it was computed from has requires_grad=True, or it was "
            "computed under no_grad() or from detach()ed tensors; set requires_grad_() on the inputs before the computation, "
            "and see rushlight.explain(it)",
        )
    )
