"""Activation checkpointing: parts of a model forget what they computed and compute it again during backward."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

from ..amp.autocast_mode import autocast
from ..amp.state import as_now
from ..autograd.function import Function
from ..autograd.gradients import backward as run_backward
from ..autograd.modes import enable_grad, is_grad_enabled, state
from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..random import get_rng_state
from ..tensor import Tensor
from .recompute import CheckpointError, ForgetfulCall, is_tensor, name_of, random_state
from .selective_checkpoint import CheckpointPolicy, SelectiveCheckpointContext, create_selective_checkpoint_contexts

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


_DETERMINISM_CHECKS = ["default", "none"]


def noop_context_fn() -> Any:
    """The contexts of the two runs where ``context_fn`` is not given: none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function: Any, *args: Any, use_reentrant: bool | None=None, context_fn: Any=noop_context_fn, determinism_check: str="default", debug: bool=False,
               early_stop: bool=True, **kwargs: Any) -> Any:  # fmt: skip
    """Run ``function(*args, **kwargs)`` without keeping what backward will need; it is computed again then.

    Args:
        function: any function of tensors; it must do the same both times.
        use_reentrant: False (recommended): what the function saves for backward is dropped and recomputed when the first of
            it is asked for. True: the call becomes one node, whose backward runs the function and ``backward`` anew; works
            with ``backward()`` alone, and without keyword arguments. Default: True, with PyTorch's warning.
        context_fn: gives two contexts, for the first and the second run (``use_reentrant=False`` only).
        determinism_check: "default" compares shapes and dtypes of the two runs, "none" does not.
        debug: where the two runs differ, list the operations of both (``use_reentrant=False`` only).
        early_stop: end the second run as soon as all is there.
        preserve_rng_state: draw the same random numbers in both runs. Default: True.

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
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        call = _prepared(function, args, kwargs, context_fn, determinism_check, debug, early_stop, preserve)
        return call.run() if is_grad_enabled() else function(*args, **kwargs)
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
    return CheckpointFunction.apply(function, preserve, *args)


def _prepared(function, args, kwargs, context_fn, determinism_check, debug, early_stop, preserve_rng_state):
    """The call of a checkpoint without re-entrance, its arguments checked."""
    debug = debug if _settings["debug"] is None else _settings["debug"]
    if debug and context_fn is not noop_context_fn:
        raise ValueError(hinted("debug=True is incompatible with non-default context_fn", "leave one of the two away"))
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(
            hinted(
                f"determinism_check should be one of {_DETERMINISM_CHECKS}, but got {determinism_check}",
                "'default' compares what the two runs save, 'none' does not",
            )
        )
    call = ForgetfulCall(function, args, kwargs, context_fn(), preserve_rng_state)
    call.compares, call.debug = determinism_check != "none", debug
    call.stops_early = early_stop if _settings["early_stop"] is None else _settings["early_stop"]
    return call


def checkpoint_sequential(
    functions: Any, segments: Any, input: Tensor, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
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


_settings = {"early_stop": None, "debug": None}  # None: each call decides


@contextmanager
def _setting(name, value):
    before = _settings[name]
    try:
        _settings[name] = value
        yield
    finally:
        _settings[name] = before


def set_checkpoint_early_stop(enable: bool) -> Any:
    """A context in which this is the ``early_stop`` of all checkpoints without re-entrance."""
    return _setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """A context in which this is ``debug`` of all checkpoints without re-entrance; None: each call decides."""
    return _setting("debug", enabled)


# ---------------------------------------------------------------- with re-entrance


class CheckpointFunction(Function):
    """The node of a checkpointed call with re-entrance: ``apply(function, preserve_rng_state, *args)``."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve_rng_state: Any, *args: Any) -> Any:
        if not any(is_tensor(value) and value.requires_grad for value in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4)
        ctx.function, ctx.random = function, get_rng_state() if preserve_rng_state else None
        ctx.autocast = as_now()
        ctx.plain = [(False, None) if is_tensor(value) else (True, value) for value in args]
        ctx.save_for_backward(*filter(is_tensor, args))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
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
        values = [v.detach().requires_grad_(v.requires_grad) if is_tensor(v) else v for v in values]
        with random_state(ctx.random), enable_grad(), autocast(**ctx.autocast):
            outputs = ctx.function(*values)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(out, grad) for out, grad in zip(outputs, grads) if is_tensor(out) and out.requires_grad]
        if not pairs:
            raise RuntimeError(
                hinted(
                    "none of output has requires_grad=True, this checkpoint() is not necessary",
                    f"{name_of(ctx.function)} detaches what it computes",
                )
            )
        run_backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *[value.grad if is_tensor(value) else None for value in values])


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of tensors, and the states of their generators: none, as the CPU's is kept apart."""
    return [], []


def set_device_states(devices: list[int], states: list[Tensor], *, device_type: str | None = None) -> None:
    """Set the generators of devices, of which there are none."""


class DefaultDeviceType:
    """The kind of device whose random numbers checkpoints without tensors keep: the CPU."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Let it be another kind."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind: "cpu", unless another one was set."""
        return DefaultDeviceType._default_device_type or "cpu"


def check_backward_validity(inputs: Any) -> None:
    """Warn where no input requires grad: a checkpoint with re-entrance gives no gradients then."""
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        sentence = "None of the inputs have requires_grad=True. Gradients will be None"
        warnings.warn(hinted(sentence, "use_reentrant=False does not need that"), stacklevel=2)


def detach_variable(inputs: Any) -> tuple[Any, ...]:
    """The inputs without their graphs, tensors requiring grad as they did."""
    if not isinstance(inputs, tuple):
        kind = type(inputs).__name__
        raise RuntimeError(
            hinted(f"Only tuple of tensors is supported. Got Unsupported input type: {kind}", "tuple(inputs) is one")
        )
    return tuple(
        each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs
    )
