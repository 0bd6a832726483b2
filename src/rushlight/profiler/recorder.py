"""What happens in a thread while it is profiled: operations, nodes of backward, blocks with names, modules, memory, kernels.

Nothing asks for a recorder where there is none. Operations come through the list of interposers, nodes and leaves through
the state of autograd, kernels through their log, all of which others use, too; functions that are written with other operations
get another body while a thread is profiled (`base.grafts`), and have their own again afterwards.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import weakref
from threading import RLock, get_ident

import numpy as np

from ..autograd import anomaly, engine
from ..autograd.modes import state
from ..autograd.views import View
from ..base.grafts import graft, ungraft
from ..kernels.machine import launch_log
from ..kernels.machine.host import host
from ..kernels.machine.system import nanoseconds as now
from ..nn.functional.attention import scaled_dot_product_attention
from ..nn.modules import hooks as module_hooks
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..optim import optimizer as optimizers
from ..optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from ..tensor.base import Tensor
from ..tensor.interposers import INTERPOSERS, Interposer, below
from ..tensor.short_paths import settle
from ..utils.data.iterators import _BaseDataLoaderIter
from ..utils.flop_formulas import native_calls, registry
from .arguments import described, is_users, short, stack_now
from .kinds import RecordScope
from .names import composites, operation_name

# Where hooks of all optimizers and modules are kept, by numbers that no two share.
_HOOKS = (
    optimizers._global_pre_hooks,
    optimizers._global_post_hooks,
    module_hooks.global_forward_pre_hooks,
    module_hooks.global_forward_hooks,
    module_hooks.global_forward_hooks_always_called,
)

RECORDERS: list[Recorder] = []  # those at work, of all threads
_lock = RLock()
_around: dict = {}  # grafted function -> what runs around it
next_number = itertools.count(1).__next__
_FUNCTION, _BACKWARD, _USER = (
    scope.value for scope in (RecordScope.FUNCTION, RecordScope.BACKWARD_FUNCTION, RecordScope.USER_SCOPE)
)


class Record:
    """An event as it is noted: when it began and ended (nanoseconds), and what is known of the call."""

    __slots__ = (
        "arguments",
        "began",
        "ended",
        "flops",
        "forward_thread",
        "kind",
        "name",
        "number",
        "scope",
        "sequence",
        "stack",
    )

    def __init__(self, name, kind, scope=_FUNCTION):
        self.name, self.kind, self.scope = name, kind, scope
        self.number, self.sequence, self.forward_thread, self.flops = next_number(), -1, 0, 0
        self.arguments, self.stack, self.ended = None, [], None
        self.began = now()


class Recorder(Interposer):
    """Notes what happens in the thread that made it, between `start` and `stop`.

    ``records`` are the events, ``memory`` pairs of a time and the bytes taken (given back: negative) then, ``launches`` the rows
    of the kernels' log, ``lost`` how many did not fit there.
    """

    def __init__(self, shapes=False, memory=False, stacks=False, modules=False):
        super().__init__()
        self.shapes, self.watches_memory, self.stacks, self.modules = shapes, memory, stacks, modules
        self.records, self.memory, self.launches, self.lost = [], [], np.empty((0, launch_log.FIELDS), np.int64), 0
        self.paused, self.began, self.ended, self._before = False, now(), None, (None, None)
        self._known = {}  # id of an array that is alive -> weak reference to it
        self._open_modules, self._open_steps, self._module_names = [], [], {}
        self._open_calls, self._hook = [], self._on_python  # one object, by which it is known again

    # ------------------------------------------------------------ on and off

    def start(self):
        """Begin to listen."""
        try:
            self._enter()
        except BaseException:  # Ctrl-C came in between
            self._leave()
            raise

    def stop(self):
        """Listen no more."""
        if self.ended is None:
            self.ended = now()
        try:
            self._leave()
        except BaseException:  # Ctrl-C came before it was done
            self._leave()
            raise
        self._open_calls.clear()  # frames
        for record in self.records:
            if record.ended is None:
                record.ended = self.ended

    def _enter(self):
        with _lock:
            if not RECORDERS:
                _graft_all()
                if host() is not None:
                    launch_log.begin()
            RECORDERS.append(self)
        register_optimizer_step_pre_hook(self._before_step)
        register_optimizer_step_post_hook(self._after_step)
        if self.modules or self.stacks:
            register_module_forward_pre_hook(self._before_module)
            register_module_forward_hook(self._after_module, always_call=True)
        if self.stacks and sys.getprofile() is None:  # else somebody else watches Python's calls
            sys.setprofile(self._hook)
        before, run_node, run_leaf, interposers = (
            (state.run_node, state.run_leaf),
            self.run_node,
            self.run_leaf,
            INTERPOSERS,
        )
        # In one row without calls, for Ctrl-C: autograd/modes.py.
        self._before, state.run_node, state.run_leaf = before, run_node, run_leaf
        interposers[:0] = (self,)  # below the transforms around: there the values are plain
        self.began = now()

    def _leave(self):
        if sys.getprofile() is self._hook:
            sys.setprofile(None)
        if self in INTERPOSERS:
            interposers = [each for each in INTERPOSERS if each is not self]
            state.run_node, state.run_leaf = self._before
            INTERPOSERS[:] = interposers
        self._remove_hooks()
        with _lock:
            if self in RECORDERS and host() is not None:
                launched, self.lost = launch_log.noted()
                inside = (launched[:, launch_log.BEGAN] >= self.began) & (
                    launched[:, launch_log.ENDED] <= (self.ended or 0)
                )
                inside &= launched[:, launch_log.THREAD] == self.thread
                self.launches = launched[inside]
            RECORDERS[:] = [each for each in RECORDERS if each is not self]
            if not RECORDERS:
                launch_log.end()
                _ungraft_all()

    def _remove_hooks(self):
        """By themselves: an interrupt may have come before there was a handle to keep."""
        own = self._before_step, self._after_step, self._before_module, self._after_module
        for hooks in _HOOKS:
            for key in [key for key, hook in list(hooks.items()) if hook in own]:
                for each in _HOOKS:
                    each.pop(key, None)

    # ------------------------------------------------------------ events

    def begin(self, name, kind="cpu_op", scope=_FUNCTION):
        """A new event, which begins now; None while the recorder is paused."""
        if self.paused:
            return None
        record = Record(name, kind, scope)
        if self.stacks and scope != _BACKWARD and kind != "python_function":
            record.stack = stack_now()
        self.records.append(record)
        return record

    def call(self, op, schema, values, again, around, writes=False):
        record = self.begin(operation_name(op, values, writes))
        try:
            with below(self):
                found = again(values)
        finally:
            if record is not None:
                record.ended = now()
        if record is not None:
            self._describe(record, op, schema, values, found, writes)
        return found

    def _describe(self, record, op, schema, values, found, writes):
        if self.shapes:
            record.arguments = described(values)
        record.flops = _flops_of(op, schema, values, found, writes)
        results = found if found.__class__ in (tuple, list) else (found,)
        record.sequence = sequence_of(results[0]) if results else -1
        if self.watches_memory:
            self._count_memory(results, record)

    def composite(self, name, plain, *args, **kwargs):
        """Call a function that is written with other operations, as an event around theirs."""
        scope, kind = (_FUNCTION, "cpu_op") if name.startswith("aten::") else (_USER, "user_annotation")
        record = self.begin(name, kind, scope)
        try:
            found = plain(*args, **kwargs)
        finally:
            if record is not None:
                record.ended = now()
        if record is not None and self.shapes and scope == _FUNCTION:
            record.arguments = described(_bound(plain, args, kwargs))
        return found

    def run_node(self, node, grads):
        """Run a node of backward, as two events: the engine's work at it, and its own."""
        name = node.name()
        outer = self.begin(f"autograd::engine::evaluate_function: {name}")
        record = self.begin(name, scope=_BACKWARD)
        if record is not None:
            outer.sequence = record.sequence = -node.sequence
            outer.forward_thread = record.forward_thread = 1
            if self.shapes:
                record.arguments = described(grads)
        run = self._before[0] or (anomaly.checked_apply if state.anomaly else None)
        try:
            return node.apply(*grads) if run is None else run(node, grads)
        finally:
            if record is not None:
                record.ended = outer.ended = now()

    def run_leaf(self, node, grad, recording, hooks_ran=False, unshared=None):
        """Add to a leaf's gradient, as two events."""
        name = "torch::autograd::AccumulateGrad"
        outer = self.begin(f"autograd::engine::evaluate_function: {name}")
        record = self.begin(name, scope=_BACKWARD)
        if record is not None:
            record.forward_thread = 1
            if self.shapes:
                record.arguments = described((grad,))
        try:
            (self._before[1] or engine.accumulate)(node, grad, recording, hooks_ran, (unshared or engine.UNSHARED) + 1)
        finally:
            if record is not None:
                record.ended = outer.ended = now()

    # ------------------------------------------------------------ Python

    def _on_python(self, frame, event, argument):
        """Note calls of the user's functions: what the interpreter tells while stacks are recorded."""
        if event == "call":
            code = frame.f_code
            if is_users(code.co_filename):
                name = f"{short(code.co_filename)}({code.co_firstlineno}): {code.co_name}"
                self._open_calls.append((frame, self.begin(name, "python_function")))
        elif event == "return" and self._open_calls and self._open_calls[-1][0] is frame:
            _, record = self._open_calls.pop()
            if record is not None:
                record.ended = now()

    # ------------------------------------------------------------ memory

    def _count_memory(self, results, record):
        for result in results:
            array = result._array if isinstance(result, Tensor) else None
            while array.__class__ is np.ndarray and array.base is not None:
                array = array.base
            if array.__class__ is np.ndarray and id(array) not in self._known:
                self._known[id(array)] = weakref.ref(array, self._freeing(id(array), array.nbytes))
                self.memory.append((record.ended, array.nbytes))

    def _freeing(self, key, size):
        def freed(reference):
            self._known.pop(key, None)
            if self in RECORDERS and not self.paused:
                self.memory.append((now(), -size))

        return freed

    # ------------------------------------------------------------ modules, steps

    def _before_module(self, module, args):
        if get_ident() == self.thread:
            kind = type(module).__name__
            number = self._module_names.setdefault(kind, {}).setdefault(module, len(self._module_names[kind]))
            self._open_modules.append((module, self.begin(f"nn.Module: {kind}_{number}", "python_function")))

    def _after_module(self, module, args, output):
        self._close(self._open_modules, module)

    def _before_step(self, optimizer, args, kwargs):
        if get_ident() == self.thread:
            kind = type(optimizer).__name__
            record = self.begin(f"Optimizer.step#{kind}.step", "user_annotation", _USER)
            self._open_steps.append((optimizer, record))

    def _after_step(self, optimizer, args, kwargs):
        self._close(self._open_steps, optimizer)

    def _close(self, opened, what):
        """End the event of ``what``, and of those within it that ended by an error."""
        if get_ident() == self.thread and any(each is what for each, _ in opened):
            ended = now()
            while opened:
                each, record = opened.pop()
                if record is not None:
                    record.ended = ended
                if each is what:
                    return


def _bound(function, args, kwargs):
    """The values of all arguments of a call, in the order of the signature; as they came where that is one form of several."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return (*args, *kwargs.values())
    bound.apply_defaults()
    return bound.arguments.values()


def of_this_thread():
    """The recorders that listen to this thread, innermost last."""
    me = get_ident()
    return [each for each in RECORDERS if each.thread == me]


def sequence_of(result):
    """The sequence number of the node that made a tensor; -1 where there is none."""
    edge = getattr(result, "_edge", None)
    if edge.__class__ is View:
        edge = edge.edge
    return -edge[0].sequence if edge.__class__ is tuple else -1


@functools.cache
def _formulas():
    return {operation.__name__: formula for operation, formula in registry().items()}


def _flops_of(op, schema, values, found, writes):
    """How many floating-point operations a call takes, where there is a formula; else 0."""
    if op.name in ("mul", "add") and not writes:
        return values[0].numel() if isinstance(values[0], Tensor) else 0
    calls = native_calls(op, schema, values, found, writes)
    known = _formulas()
    return sum(known[name](*given, out_val=out) for name, given, out in calls if name in known)


# ---------------------------------------------------------------- functions that are no operations of the table


def _graft_all():
    """Let functions that are written with other operations, and some of the training loop, tell the recorders of their calls."""
    named = composites() | {
        scaled_dot_product_attention: "aten::scaled_dot_product_attention",
        Optimizer.zero_grad: lambda optimizer: f"Optimizer.zero_grad#{type(optimizer).__name__}.zero_grad",
        _BaseDataLoaderIter.__next__: lambda loader: f"enumerate(DataLoader)#{type(loader).__name__}.__next__",
    }
    for function, name in named.items():
        if function not in _around:
            settle(function)
            graft(function, functools.partial(_telling, function, name))


def _telling(function, name, plain):
    def call(args, kwargs):
        recorders = of_this_thread()
        if not recorders:
            return plain(*args, **kwargs)
        told = name if name.__class__ is str else name(args[0])
        run = plain
        for recorder in recorders:
            run = functools.update_wrapper(functools.partial(recorder.composite, told, run), plain)
        return run(*args, **kwargs)

    _around[function] = call
    return call


def _ungraft_all():
    for function, call in [*_around.items()]:
        if ungraft(function, call):
            del _around[function]
