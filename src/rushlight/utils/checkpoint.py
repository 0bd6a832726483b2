"""Activation checkpointing: parts of a model forget what they computed and compute it again during backward."""

from __future__ import annotations

import contextlib
import warnings

from ..autograd.function import Function
from ..autograd.gradients import backward as run_backward
from ..autograd.graph import saved_tensors_hooks
from ..autograd.modes import enable_grad, is_grad_enabled, state
from ..base.errors import hinted
from ..ops.table import functions
from ..random import get_rng_state, set_rng_state

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "set_checkpoint_early_stop"]


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function did not save what the first one had."""


_DETERMINISM_CHECKS = ["default", "none"]


def noop_context_fn():
    """The contexts of the two runs where ``context_fn`` is not given: none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, preserve_rng_state=True, **kwargs):  # fmt: skip
    """Run ``function(*args, **kwargs)`` without keeping what backward will need; it is computed again then.

    Args:
        function: any function of tensors; it must do the same both times.
        use_reentrant: False (recommended): what the function saves for backward is dropped and recomputed when the first of
            it is asked for. True: the call becomes one node, whose backward runs the function and ``backward`` anew; works
            with ``backward()`` alone, and without keyword arguments. Default: True, with PyTorch's warning.
        context_fn: gives two contexts, for the first and the second run (``use_reentrant=False`` only).
        determinism_check: "default" compares shapes and dtypes of the two runs, "none" does not.
        debug: accepted; errors name the tensors that differ anyway.
        early_stop: end the second run as soon as all is there.
        preserve_rng_state: draw the same random numbers in both runs.

    >>> import rushlight as torch
    >>> from rushlight.utils.checkpoint import checkpoint
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([0.0000, 5.4366])
    """
    if use_reentrant is None:
        use_reentrant = True
        _warn_of_default(
            "checkpoint", "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception."
        )
    if not use_reentrant:
        first_context, second_context = context_fn()
        if not is_grad_enabled():
            with first_context:
                return function(*args, **kwargs)
        if determinism_check not in _DETERMINISM_CHECKS:
            raise ValueError(
                hinted(
                    f"determinism_check should be one of {_DETERMINISM_CHECKS}, but got {determinism_check}",
                    "'default' compares what the two runs save, 'none' does not",
                )
            )
        call = _ForgetfulCall(function, args, kwargs, second_context, preserve_rng_state)
        call.compares, call.stops_early = determinism_check != "none", early_stop and _early_stop
        with saved_tensors_hooks(call.forget, call.remember), first_context:
            return function(*args, **kwargs)
    if kwargs:
        raise ValueError(
            hinted(f"Unexpected keyword arguments: {','.join(kwargs)}", "use_reentrant=False takes keyword arguments")
        )
    if context_fn is not noop_context_fn or debug:
        raise ValueError(
            hinted(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False.",
                "pass use_reentrant=False",
            )
        )
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Run modules one after the other, in ``segments`` parts that are checkpointed, the last one excepted.

    Args:
        functions: an ``nn.Sequential`` or a list of modules or functions of one tensor.
        segments: the number of parts.
        input: the tensor given to the first of them.
        use_reentrant, kwargs: as for `checkpoint`; ``preserve_rng_state`` is the only keyword.

    >>> import rushlight as torch
    >>> from rushlight.utils.checkpoint import checkpoint_sequential
    >>> model = [torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1)]
    >>> checkpoint_sequential(model, 2, torch.ones(1, 2), use_reentrant=False).shape
    torch.Size([1, 1])
    """
    if use_reentrant is None:
        use_reentrant = True
        _warn_of_default(
            "checkpoint_sequential", "In version 2.9 we will raise an exception if use_reentrant is not passed."
        )
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(
            hinted(f"Unexpected keyword arguments: {','.join(kwargs)}", "only preserve_rng_state is taken")
        )
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    length = len(steps) // segments

    def part(start, end):
        def run(value):
            for step in steps[start:end]:
                value = step(value)
            return value

        return run

    for start in range(0, length * (segments - 1), length):
        run = part(start, start + length)
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(length * (segments - 1), len(steps))(input)


def _warn_of_default(name, announcement):
    where = "torch.utils.checkpoint" + (f".{name}" if name != "checkpoint" else "")
    warnings.warn(
        f"{where}: the use_reentrant parameter should be passed explicitly. {announcement} use_reentrant=False is recommended, but if "
        "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
        "differences between the two variants.",
        stacklevel=3,
    )


_early_stop = True


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """A context in which ``early_stop`` of checkpoints without re-entrance is off (``False``) or as given (``True``)."""
    global _early_stop
    before, _early_stop = _early_stop, bool(enable)
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def _random_state(saved):
    """Draw random numbers from the ``saved`` state on inside; None changes nothing."""
    if saved is None:
        yield
        return
    before = get_rng_state()
    set_rng_state(saved)
    try:
        yield
    finally:
        set_rng_state(before)


# ---------------------------------------------------------------- without re-entrance


class _SaveInputs(Function):
    """Keeps tensors as a node does: seen by saved-tensor hooks of an outer checkpoint, and with their versions."""

    @staticmethod
    def forward(ctx, start, *tensors):
        ctx.save_for_backward(*tensors)
        return start.clone()


class _Enough(Exception):
    """Ends a second run in which all that is needed has been saved."""


class _Place:
    """Stands in the graph for a tensor that the first run saved: the how-manieth it was."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number


def _is_tensor(value):
    return hasattr(value, "requires_grad")


def _looks(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


class _ForgetfulCall:
    """A call that forgets what it saves for backward (`forget`), and runs again when that is asked for (`remember`)."""

    def __init__(self, function, args, kwargs, context, preserve_rng_state):
        self.function, self.context = function, context
        self.random = get_rng_state() if preserve_rng_state else None
        values = [*args, *kwargs.values()]
        self.names = tuple(kwargs)
        self.plain = [(False, None) if _is_tensor(value) else (True, value) for value in values]
        start = functions.zeros((), requires_grad=True)
        self.inputs = _SaveInputs.apply(start, *filter(_is_tensor, values)).grad_fn
        self.saved = []  # what each saved tensor looked like

    def forget(self, tensor):
        self.saved.append(_looks(tensor))
        return _Place(len(self.saved) - 1)

    def remember(self, place):
        notes = {} if state.task is None else state.task.notes
        found = notes.get(self)
        if found is None or place.number not in found:
            found = notes[self] = self.recompute()
        return found.pop(place.number)

    def recompute(self):
        """What the second run saves, by its place."""
        found = {}

        def keep(tensor):
            found[len(found)] = tensor.detach()
            if self.stops_early and len(found) == len(self.saved):
                raise _Enough
            return tensor

        tensors = iter(self.inputs.saved_tensors)
        values = [value if plain else next(tensors) for plain, value in self.plain]
        count = len(values) - len(self.names)
        with _random_state(self.random), enable_grad(), saved_tensors_hooks(keep, _refuse), self.context:
            with contextlib.suppress(_Enough):
                self.function(*values[:count], **dict(zip(self.names, values[count:])))
        self.compare(found)
        return found

    def compare(self, found):
        if len(found) != len(self.saved):
            raise CheckpointError(
                hinted(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and recomputation.",
                    f"{len(self.saved)} in the first run of {_name(self.function)}, {len(found)} in the second: the function must do "
                    "the same both times",
                )
            )
        for number, before in enumerate(self.saved if self.compares else ()):
            if _looks(found[number]) != before:
                raise CheckpointError(
                    hinted(
                        "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                        "forward pass.",
                        f"tensor {number} that {_name(self.function)} saves was {before}, and is {_looks(found[number])} now: the "
                        "function must do the same both times",
                    )
                )


def _refuse(packed):
    raise RuntimeError("a tensor saved by the second run of a checkpointed function is for its own backward alone")


def _name(function):
    return getattr(function, "__name__", type(function).__name__)


# ---------------------------------------------------------------- with re-entrance


class CheckpointFunction(Function):
    """The node of a checkpointed call with re-entrance: ``apply(function, preserve_rng_state, *args)``."""

    @staticmethod
    def forward(ctx, function, preserve_rng_state, *args):
        if not any(_is_tensor(value) and value.requires_grad for value in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4)
        ctx.function, ctx.random = function, get_rng_state() if preserve_rng_state else None
        ctx.plain = [(False, None) if _is_tensor(value) else (True, value) for value in args]
        ctx.save_for_backward(*filter(_is_tensor, args))
        return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if state.task is not None and not state.task.whole:
            raise RuntimeError(
                hinted(
                    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
                    "the `inputs` argument.",
                    "the second run calls backward() itself, which fills the grad of every leaf",
                )
            )
        tensors = iter(ctx.saved_tensors)
        values = [value if plain else next(tensors) for plain, value in ctx.plain]
        values = [v.detach().requires_grad_(v.requires_grad) if _is_tensor(v) else v for v in values]
        with _random_state(ctx.random), enable_grad():
            outputs = ctx.function(*values)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(out, grad) for out, grad in zip(outputs, grads) if _is_tensor(out) and out.requires_grad]
        if not pairs:
            raise RuntimeError(
                hinted(
                    "none of output has requires_grad=True, this checkpoint() is not necessary",
                    f"{_name(ctx.function)} detaches what it computes",
                )
            )
        run_backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[value.grad if _is_tensor(value) else None for value in values])
