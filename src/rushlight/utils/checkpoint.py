"""Activation checkpointing: intermediate values are computed again in backward instead of being kept."""

from __future__ import annotations

import contextlib
import itertools
import warnings

from ..autograd import Function, backward, enable_grad, is_grad_enabled, no_grad
from ..autograd.graph import saved_tensors_hooks
from ..base.errors import hinted
from ..random import get_rng_state, set_rng_state
from ..random.fork import fork_rng
from ..tensor import Tensor

__all__ = ["CheckpointError", "CheckpointFunction", "checkpoint", "checkpoint_sequential", "noop_context_fn",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]  # fmt: skip

_early_stop, _debug = True, None


class CheckpointError(RuntimeError):
    """The function of a checkpoint saved other tensors when it was run again."""


class _Stop(Exception):
    """Ends a second run once everything that backward needs is there."""


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Whether checkpoints made in this block end their second run as soon as backward has what it needs."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Accepted as in PyTorch: whether errors of checkpoints tell more; they always say which tensor differs here."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def noop_context_fn():
    """The default contexts of the two runs: none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
               early_stop=True, **kwargs):  # fmt: skip
    """Call ``function(*args, **kwargs)`` without keeping what it saves for backward; backward runs it a second time.

    Args:
        use_reentrant (bool): the older method, which needs a tensor that requires grad among ``args`` and works with
            ``backward()`` only. Say ``False``; not saying anything warns and means ``True``, as in PyTorch.
        context_fn: returns two context managers, for the first and the second run.
        determinism_check (str): ``"default"`` compares shapes and dtypes of the two runs, ``"none"`` does not.
        early_stop (bool): end the second run once backward has what it needs. Default: ``True``
        preserve_rng_state (bool): the second run draws the random numbers of the first. Default: ``True``

    Follows ``torch.utils.checkpoint.checkpoint`` (Chen et al., 2016).

    >>> import rushlight as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.utils.checkpoint.checkpoint(lambda t: t * t, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but "
            "if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for "
            "more details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs, second, preserve, determinism_check == "default", early_stop and _early_stop)
    with frame.hooks(), first:
        found = function(*args, **kwargs)
    return found


class _Frame:
    """One checkpointed call: what is needed to run it again, and what came of that."""

    def __init__(self, function, args, kwargs, context, preserve, compare, early_stop):
        self.function, self.args, self.kwargs, self.context = function, args, kwargs, context
        self.compare, self.early_stop = compare, early_stop
        self.random = get_rng_state() if preserve else None
        self.described = []  # (shape, dtype, device) of each tensor saved by the first run
        self.values = {}  # its number -> the tensor that the second run saved

    def hooks(self):
        """Hooks under which saving keeps a number, and reading looks the tensor up in a second run."""
        described = self.described

        def pack(tensor):
            described.append((tensor.shape, tensor.dtype, tensor.device))
            return len(described) - 1

        def unpack(number):
            if number not in self.values:
                self.run_again()
            return self.values.pop(number)

        return saved_tensors_hooks(pack, unpack)

    def run_again(self):
        """Fill ``values``: once for each backward call, since each one takes every value out once."""
        collected, expected = [], len(self.described)

        def pack(tensor):
            collected.append(tensor.detach() if tensor.requires_grad else tensor)
            if self.early_stop and len(collected) == expected:
                raise _Stop
            return tensor

        try:
            with _as_before(self.random), enable_grad(), saved_tensors_hooks(pack, lambda tensor: tensor), self.context:
                self.function(*self.args, **self.kwargs)
        except _Stop:
            pass
        if len(collected) != expected:
            raise CheckpointError(
                hinted(
                    "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                    f"recomputation.\nNumber of tensors saved during forward: {expected}\n"
                    f"Number of tensors saved during recomputation: {len(collected)}.",
                    "the function took another path the second time: it must depend on its arguments alone",
                )
            )
        if self.compare:
            self._compare(collected)
        self.values = dict(enumerate(collected))

    def _compare(self, collected):
        lines = []
        for number, (before, tensor) in enumerate(zip(self.described, collected)):
            now = tensor.shape, tensor.dtype, tensor.device
            if now != before:
                was, became = (dict(zip(("shape", "dtype", "device"), one)) for one in (before, now))
                lines.append(f"tensor at position {number}:\nsaved metadata: {was}\nrecomputed metadata: {became}")
        if lines:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during "
                "the forward pass.\n" + "\n".join(lines)
            )


@contextlib.contextmanager
def _as_before(random):
    """Inside, random numbers are those that followed the state ``random`` (``None``: leave the generator alone)."""
    if random is None:
        yield
        return
    with fork_rng():
        set_rng_state(random)
        yield


class CheckpointFunction(Function):
    """The reentrant checkpoint: one graph node, whose backward runs the function again and backward through it."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        if is_grad_enabled() is False and not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=4)
        ctx.run_function = run_function
        ctx.random = get_rng_state() if preserve_rng_state else None
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            copy = tensor.detach()
            copy.requires_grad = tensor.requires_grad
            inputs[place] = copy
        with _as_before(ctx.random), enable_grad():
            outputs = ctx.run_function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(a.grad if isinstance(a, Tensor) else None for a in inputs))


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Run a list of functions or a Sequential on ``input`` as ``segments`` checkpoints, the last one unchecked.

    >>> import rushlight as torch
    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
    >>> torch.utils.checkpoint.checkpoint_sequential(net, 2, torch.ones(1, 2), use_reentrant=False).shape
    torch.Size([1, 1])
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    stages = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def stretch(begin, end):
        def run(value):
            for stage in stages[begin:end]:
                value = stage(value)
            return value

        return run

    length = len(stages) // segments
    starts = [length * i for i in range(segments)]
    for begin, end in itertools.pairwise(starts):
        input = checkpoint(stretch(begin, end), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return stretch(starts[-1], len(stages))(input)
