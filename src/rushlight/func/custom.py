"""``autograd.Function`` under transforms: forward on the levels below, setup_context, backward and jvp at each level.

`apply_through_levels` takes the place of ``Function.apply`` while interposers are about. Each level makes a ``ctx`` of its own:
``forward`` is asked of what lies below, then ``setup_context`` sees inputs and outputs as tensors of this level.
"""

from __future__ import annotations

from threading import get_ident
from typing import Any

from ..autograd.function import apply_once, bound_arguments, call_once, check_marks, forget, has_setup_context
from ..autograd.function_node import BackwardCFunction
from ..autograd.modes import no_grad
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor
from ..tensor.interposers import INTERPOSERS
from .dual import DualLevel, check_size
from .forward_levels import ForwardLevel
from .levels import Level
from .reverse import GradLevel


def apply_through_levels(function, args, kwargs):
    """Apply a Function class at the innermost level of this thread; where there is none, as ever."""
    if has_setup_context(function):
        args, kwargs = bound_arguments(function, args, kwargs), {}
    me = get_ident()
    levels = [each for each in INTERPOSERS if isinstance(each, Level) and each.thread == me]
    if not levels:
        return apply_once(function, args, kwargs)
    level = levels[-1]
    if not has_setup_context(function) and (len(levels) > 1 or not isinstance(level, ForwardLevel)):
        raise RuntimeError(
            hinted(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
                "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html",
                f"split forward(ctx, ...) of {function.__name__} into forward(...) and setup_context(ctx, inputs, output)",
            )
        )
    if isinstance(level, ForwardLevel) and len(levels) == 1:
        return _with_tangents(level, function, args, kwargs)
    for kind, rule in RULES.items():
        if isinstance(level, kind):
            return rule(level, function, args)
    raise NotImplementedError(f"{type(level).__name__} must say how it applies a Function")


functions.apply_through_levels = apply_through_levels


def node_class_of(function):
    """The class of the nodes of a Function inside transforms; PyTorch names them apart."""
    found = function.__dict__.get("_generated_cls")
    if found is None:
        name = f"{function.__name__}GeneratedBackward"
        members = {"_forward_cls": function, "__module__": "torch.autograd.function"}
        found = function._generated_cls = type(name, (BackwardCFunction,), members)
    return found


def own(level, args):
    """The arguments with all tensors among them as tensors of ``level``."""
    return tuple(level.wrap(a) if isinstance(a, Tensor) and not level.owns(a) else a for a in args)


def wrapped_outputs(level, found, inside, args):
    """What a Function gave below, as tensors of ``level``; where it is one of the inputs, that input itself."""

    def wrapped(output):
        if not isinstance(output, Tensor):
            return output
        same = next((a for a, value in zip(args, inside) if value is output), None)
        return level.wrap(output) if same is None else same

    return tuple(map(wrapped, found)) if isinstance(found, tuple) else wrapped(found)


def _through_grad(level, function, args):
    """At the level of ``grad`` or ``vjp``: a node in the graph of the level, whose backward is the user's."""

    def run(function, ctx, args, kwargs):
        inside = tuple(level.unwrap(a) for a in args)
        with level.recording_below(), level.lowered():
            found = apply_through_levels(function, inside, {})
        output = wrapped_outputs(level, found, inside, args)
        with no_grad():
            function.setup_context(ctx, args, output)
        return output

    return apply_once(function, own(level, args), {}, run, node_class_of(function))


def _through_jvp(level, function, args):
    """At the level of ``jvp``: the user's ``jvp`` gives the tangents."""
    args = own(level, args)
    tangents = tuple(level.tangent(a) for a in args)
    ctx = node_class_of(function)()
    ctx.needs_input_grad = tuple(tangent is not None for tangent in tangents)
    inside = tuple(level.unwrap(a) for a in args)
    with level.lowered():
        found = apply_through_levels(function, inside, {})
    output = wrapped_outputs(level, found, inside, args)
    with no_grad(), level.switched_off():
        function.setup_context(ctx, args, output)
    many = isinstance(output, tuple)
    outputs = output if many else (output,)
    check_marks(ctx, outputs, args)
    dirty = ctx.dirty_tensors or ()
    outputs = tuple(
        level.wrap(level.unwrap(out)) if _among(out, args) and not _among(out, dirty) else out for out in outputs
    )
    if level.enabled():
        _set_tangents(level, ctx, args, tangents, outputs)
    forget(ctx)
    return outputs if many else outputs[0]


def _with_tangents(level, function, args, kwargs):
    """At the level of forward_ad, with plain autograd below: one ``ctx`` serves both."""
    tangents = tuple(level.tangent(a) for a in args)
    with level.lowered():
        ctx, output = call_once(function, args, kwargs)
    if level.enabled():
        outputs = output if isinstance(output, tuple) else (output,)
        _set_tangents(level, ctx, args, tangents, outputs)
    forget(ctx)
    return output


def _among(tensor, others):
    return any(tensor is other for other in others)


def _set_tangents(level, ctx, args, tangents, outputs):
    """Ask the user's ``jvp`` for the tangents of the outputs, and give them those."""
    if all(tangent is None for tangent in tangents):
        return
    given = tangents
    if ctx.materialize_grads:
        given = tuple(
            functions.zeros_like(level.unwrap(a))
            if tangent is None and isinstance(a, Tensor) and (a.is_floating_point() or a.is_complex())
            else tangent
            for a, tangent in zip(args, tangents)
        )
    if ctx.saved_for_forward is None:
        ctx.saved_for_forward = ()  # what was saved for backward is not shown to jvp
    with level.switched_off():
        found = ctx.apply_jvp(*[each if each is None else level.wrap(each) for each in given])
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(outputs):
        raise RuntimeError(
            hinted(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(found)})",
                "jvp returns one tangent for each output of forward",
            )
        )
    for position, (output, tangent) in enumerate(zip(outputs, found)):
        _set_tangent(level, ctx, args, tangents, (position, output, tangent))


def _set_tangent(level, ctx, args, tangents, result):
    position, output, tangent = result
    if tangent is not None and not isinstance(tangent, Tensor):
        raise RuntimeError(
            hinted(
                f"expected Variable or None (got {type(tangent).__name__}) for grad output {position}.",
                "jvp returns a tensor, or None, for each output",
            )
        )
    differentiable = isinstance(output, Tensor) and (output.is_floating_point() or output.is_complex())
    if not differentiable or _among(output, ctx.non_differentiable or ()):
        if tangent is not None:
            raise RuntimeError(
                hinted(
                    f"Function's jvp returned a gradient at position {position}, but  the corresponding forward output is not a "
                    "differentiable Tensor.You should return None at that position instead.",
                    "integers, and what mark_non_differentiable was given, have no tangent",
                )
            )
        return
    if tangent is None:
        return
    if _among(output, ctx.dirty_tensors or ()):
        mine = next((known for a, known in zip(args, tangents) if a is output), None)
        if mine is not None and level.unwrap(tangent) is not mine:
            raise RuntimeError(
                hinted(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
                    "input inplace, then the jvp function must modify the corresponding gradient inplace.",
                    "return the tangent that jvp was given, after writing into it",
                )
            )
    elif output._base is not None and tangent._base is None:
        raise RuntimeError(
            hinted(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view.",
                "jvp must return the same view of the tangent; tangent.view_as(tangent) where forward returns its input",
            )
        )
    check_size(output, tangent)
    level.set_tangent(output, level.unwrap(tangent))


# How each kind of level applies a Function; custom_mapped.py adds that of vmap.
RULES: dict[type, Any] = {GradLevel: _through_grad, DualLevel: _through_jvp}
