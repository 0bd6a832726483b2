"""What lets a module's hooks see gradients: identity nodes at its border, or (old style) the node of its output."""

from __future__ import annotations

import warnings

from ...autograd import Function, is_grad_enabled
from ...autograd.hooks import register_hook, register_prehook
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor

_NO_INPUT_GRADIENT = (
    "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
    "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
    "#torch.nn.Module.register_full_backward_hook for more details."
)


class BackwardHookFunction(Function):
    """The identity on several tensors: one graph node that all of a module's inputs, or outputs, pass through."""

    @staticmethod
    def forward(ctx, *tensors):
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx, *gradients):
        return gradients


class BackwardHook:
    """Full backward hooks around one call of a module.

    Gradients meet the output node first, where they are noted as ``grad_output``, and the input node last, where the
    hooks are called with both. Without an input that needs a gradient the hooks are called at the output node.
    """

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_output = None
        self.watches_inputs = False

    def watch_inputs(self, args):
        """``args`` with their tensors passed through the input node."""
        watched, places, node = _pass_through(args)
        self.argument_count = len(args)
        if node is not None:
            self.watches_inputs = True
            forms = [(args[place].shape, args[place].dtype) for place in places]
            register_hook(node, lambda grad_input, _: self._leave(places, forms, grad_input))
        return watched

    def watch_outputs(self, output):
        """``output`` with its tensors passed through the output node."""
        outputs = output if isinstance(output, tuple) else (output,)
        watched, places, node = _pass_through(outputs)
        if node is not None:
            node.materialize_grads = False  # what no gradient reached passes none on
            register_prehook(node, lambda grad_output: self._enter(places, len(outputs), grad_output))
        return watched if isinstance(output, tuple) else watched[0]

    def _enter(self, places, count, gradients):
        """Backward reaches the output node: run the pre-hooks, keep ``grad_output`` for the hooks."""
        self.grad_output = _spread(places, count, gradients)
        for hook in self.pre_hooks:
            replacement = hook(self.module, self.grad_output)
            if replacement is not None:
                self.grad_output = _of_length(replacement, count, "Backward pre hook", "grad_output")
        replaced = _picked(self.grad_output, places, gradients)
        if not self.watches_inputs:
            self._call_without_inputs()
        return replaced if self.pre_hooks else None

    def _call_without_inputs(self):
        warnings.warn(_NO_INPUT_GRADIENT, stacklevel=2)
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.argument_count, self.grad_output)
            if result is not None and not (isinstance(result, tuple) and all(item is None for item in result)):
                raise RuntimeError(
                    hinted(
                        "Backward hook for Modules where no input requires gradient should always return None or None for "
                        "all gradients.",
                        f"no input of this {type(self.module).__name__} requires grad: there is no gradient to replace",
                    )
                )
        self.grad_output = None

    def _leave(self, places, forms, gradients):
        """Backward reaches the input node: call the hooks, with zeros for tensors that need no gradient."""
        if self.grad_output is None:
            return None  # this gradient did not come through the module's output, so it is not this call's backward
        shown = [
            functions.zeros(shape, dtype=dtype) if gradient is None else gradient
            for gradient, (shape, dtype) in zip(gradients, forms)
        ]
        grad_input = _spread(places, self.argument_count, shown)
        for hook in self.hooks:
            replacement = hook(self.module, grad_input, self.grad_output)
            if replacement is not None:
                grad_input = _of_length(replacement, self.argument_count, "Backward hook", "grad_input")
        self.grad_output = None
        return _picked(grad_input, places, gradients)


def _pass_through(values):
    """``values`` with the tensors among them passed through one identity node: (values, their places, the node)."""
    places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
    if not (is_grad_enabled() and any(values[place].requires_grad for place in places)):
        return values, places, None
    passed = BackwardHookFunction.apply(*[values[place] for place in places])
    watched = list(values)
    for place, tensor in zip(places, passed):
        watched[place] = tensor
    node = next(tensor.grad_fn for tensor in passed if tensor.grad_fn is not None)
    return _like(values, watched), places, node


def _like(values, items):
    """``items`` as the tuple type of ``values``, a named tuple or a plain one."""
    return type(values)(*items) if hasattr(values, "_fields") else tuple(items)


def _spread(places, count, gradients):
    """``gradients`` at their ``places`` among ``count`` entries, ``None`` elsewhere."""
    spread = [None] * count
    for place, gradient in zip(places, gradients):
        spread[place] = gradient
    return tuple(spread)


def _picked(values, places, gradients):
    """The entries of ``values`` at ``places``, to replace ``gradients``: of their sizes, and None where they are."""
    picked = [None if gradient is None else values[place] for place, gradient in zip(places, gradients)]
    for replacement, gradient in zip(picked, gradients):
        if replacement is not None and replacement.shape != gradient.shape:
            raise RuntimeError(
                hinted(
                    "hook 'hook' has changed the size of value",
                    "what a module's hook returns must have the shapes of the gradients that it was given",
                )
            )
    return tuple(picked)


def _of_length(replacement, count, who, what):
    if len(replacement) != count:
        raise RuntimeError(
            hinted(
                f"{who} returned an invalid number of {what}, got {len(replacement)}, but expected {count}",
                f"return None, or a tuple of {count}: one for each that the hook was given",
            )
        )
    return replacement


def register_on_node(args, output, hooks):
    """Old-style backward hooks: on the graph node of the (first) output tensor."""
    tensor = output
    while not isinstance(tensor, Tensor):
        if isinstance(tensor, dict):
            tensor = next(value for value in tensor.values() if isinstance(value, Tensor))
        else:
            tensor = tensor[0]
    node = tensor.grad_fn
    if node is not None:
        for hook in hooks:
            register_hook(node, hook)
        _warn_what_is_missed(args, output, node)


def _warn_what_is_missed(args, output, node):
    """Say which gradients an old-style hook on ``node`` does not see."""
    problem, missing = None, "grad_output"
    outputs = (output,) if isinstance(output, Tensor) else output
    if not _all_tensors(outputs):
        problem = "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors"
        missing = "of the grad_output"
    elif not _all_tensors(args):
        problem = (
            "Using non-full backward hooks on a Module that does not take as input a "
            "single Tensor or a tuple of Tensors"
        )
        missing = "of the grad_input"
    else:
        output_nodes = {tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None}
        if len(output_nodes) > 1:
            problem = "Using a non-full backward hook when outputs are generated by different autograd Nodes"
        elif node not in output_nodes:
            problem = "Using a non-full backward hook when outputs are nested in python data structure"
        else:
            input_nodes = {tensor.grad_fn for tensor in args if tensor.grad_fn is not None}
            if input_nodes != {next_node for next_node, _ in node.next_functions}:
                problem = "Using a non-full backward hook when the forward contains multiple autograd Nodes"
                missing = "grad_input"
    if problem is not None:
        advice = (
            "" if "nested" in problem else " Please use register_full_backward_hook to get the documented behavior."
        )
        warnings.warn(
            f"{problem} is deprecated and will be removed in future versions. This hook will be missing some {missing}."
            + advice,
            FutureWarning,
            stacklevel=5,
        )


def _all_tensors(values):
    return isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)
