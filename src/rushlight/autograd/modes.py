"""Whether operations record a graph: per-thread state and the contexts that change it."""

from __future__ import annotations

import threading
from typing import Any, Self, TypeVar, overload

from ..base.decorating import Decorating, F
from ..base.errors import hinted, kind_name
from ..ops import table

OFF, PLAIN, SPECIAL = 0, 1, 2


class _State(threading.local):
    """What this thread's operations look at.

    ``recording`` sums the others up so that a fast path needs one test: OFF, PLAIN (record, nothing else is on) or
    SPECIAL (saved-tensor hooks, anomaly mode or observers are on, or tensors of subclasses are at work: the general path
    handles them).
    """

    recording = PLAIN
    grad = True
    inference = False
    saved_hooks: tuple[Any, ...] = ()
    saved_hooks_disabled: str | None = None
    anomaly = False
    check_nan = True
    run_node = None  # runs a node in place of its `apply`: tensor/nonfinite.py, profiler
    run_leaf = None  # runs in place of the engine's `accumulate`, and calls it: profiler
    multithreading = True
    forward_grad = True  # whether operations on dual tensors compute tangents: forward_ad
    task = None  # the engine's Task while backward runs
    layout_enforced = True  # whether gradients of leaves are laid out as those are
    torch_function_off = 0  # blocks around in which no `__torch_function__` is asked: tensor/overrides.py
    observers = ()  # functions that are called with each node when it is made: draw.trace
    last_backward = None  # the `Freed` of the last backward call: says where that was

    def update(self) -> None:
        self.recording = recording_in(self.grad, self.inference)


state = _State()


def recording_in(grad: bool, inference: bool) -> int:
    """What ``recording`` is with these modes, in this thread."""
    if not grad or inference:
        return OFF
    special = state.saved_hooks or state.anomaly or state.observers or state.torch_function_off
    return SPECIAL if special else PLAIN


def is_grad_enabled() -> bool:
    """Whether operations of this thread record a graph now."""
    return state.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return state.inference


ModeT = TypeVar("ModeT")


class _Mode(Decorating):
    """What the modes share: what they change, at once."""

    # Python looks for Ctrl-C where a function begins, where a loop jumps back, and after calls of built-in functions. So
    # what a context writes stands in one row without calls or loops: all of it happens, or nothing.
    _entered: tuple[Any, ...] = ()  # (what this was before, what the state was) where the context is entered
    _counted = False  # whether `count_inference` is told

    def __enter__(self) -> None:
        if self._counted:
            # Before the state: a thread too many is counted at the cost of a test, without one tensors are unmarked.
            table.functions.count_inference(1)
        before, grad, inference = self._change()
        recording = recording_in(grad, inference)
        self._entered = self._entered, before
        state.grad, state.inference, state.recording = grad, inference, recording

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self._entered, (state.grad, state.inference, state.recording) = self._entered
        state.update()  # anomaly mode and hooks may have been turned on or off inside
        if self._counted:
            table.functions.count_inference(-1)

    def _change(self):
        """What (grad, inference, recording) are to be outside, and grad and inference inside."""
        return (state.grad, state.inference, state.recording), self._grad, state.inference


class _BareDecorator(type):
    """Lets ``@no_grad`` without parentheses work as PyTorch allows."""

    @overload
    def __call__(cls: type[ModeT]) -> ModeT: ...
    @overload
    def __call__(cls, function: F) -> F: ...
    def __call__(cls, function: Any = None) -> Any:
        made = super().__call__()
        return made if function is None else made(function)


class no_grad(_Mode, metaclass=_BareDecorator):
    """Nothing is recorded inside: a context and a decorator.

    >>> import rushlight as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _grad = False


class enable_grad(_Mode, metaclass=_BareDecorator):
    """Operations inside are recorded again, also within ``no_grad``: a context and a decorator."""

    _grad = True


class set_grad_enabled(_Mode):
    """Recording on or off by a bool; acts at once as a function, and as a context or decorator restores what was.

    >>> import rushlight as torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                hinted(
                    f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {kind_name(mode)}",
                    "True records operations, False does not",
                )
            )
        self._grad = self.mode = mode
        self._before = state.grad
        recording = recording_in(mode, state.inference)
        state.grad, state.recording = mode, recording

    def _change(self):
        before = self._before, state.inference, recording_in(self._before, state.inference)
        return before, self._grad, state.inference

    def __call__(self, function: F) -> F:
        state.grad = self._before
        state.update()
        return super().__call__(function)

    def clone(self) -> set_grad_enabled:
        """Another context of the same kind, which acts at once."""
        return set_grad_enabled(self._grad)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):
    """``no_grad`` for code that never meets autograd again: ``inference_mode(mode=True)``, context and decorator."""

    def __new__(cls, mode: bool = True) -> Self:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)  # a function, as of the decorator without parentheses

    _counted = True

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _change(self):
        return (state.grad, state.inference, state.recording), not self.mode, self.mode

    def clone(self) -> inference_mode:
        """Another context of the same kind."""
        return inference_mode(self.mode)


class set_multithreading_enabled(_Mode):
    """Accepted for PyTorch's sake, as function, context and decorator: backward runs in the thread that calls it anyway."""

    def __init__(self, mode: bool) -> None:
        self._multithreading, self._former = bool(mode), state.multithreading
        state.multithreading = self._multithreading

    def __enter__(self) -> None:
        state.multithreading = self._multithreading

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        state.multithreading = self._former

    def clone(self) -> set_multithreading_enabled:
        """Another context of the same kind, which acts at once."""
        return set_multithreading_enabled(self._multithreading)


class enforce_grad_layout_policy(_Mode):
    """Whether the gradient of a leaf is laid out in memory as the leaf is: a context, a function and a decorator.

    With False, a gradient that nobody else holds is taken as it comes, which spares a copy; with True, the default, one with
    other strides is copied.

    >>> import rushlight as torch
    >>> x = torch.ones(2, 3).t().requires_grad_()
    >>> with torch.autograd.enforce_grad_layout_policy(False):
    ...     (x * torch.ones(3, 2)).sum().backward()
    """

    def __init__(self, enable: bool = True) -> None:
        self._enable, self._former = bool(enable), state.layout_enforced
        state.layout_enforced = self._enable

    def __enter__(self) -> None:
        state.layout_enforced = self._enable

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        state.layout_enforced = self._former

    def __call__(self, function: F) -> F:
        state.layout_enforced = self._former  # making the decorator switched it
        return super().__call__(function)

    def clone(self) -> enforce_grad_layout_policy:
        """Another context of the same kind, which acts at once."""
        return enforce_grad_layout_policy(self._enable)


def is_multithreading_enabled() -> bool:
    """What `set_multithreading_enabled` was last given in this thread."""
    return state.multithreading and not state.inference
