"""Custom operations: ``autograd.Function`` with a forward and a backward of the user's own."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from ..base.errors import hinted
from ..ops.table import functions
from . import anomaly
from .function_node import BackwardCFunction, FunctionCtx, unwritten, unwritten_backward
from .modes import no_grad, state
from .node import LEAF, SavedInput, SavedResult, edge_of, next_sequence
from .once import once_differentiable
from .views import CUSTOM_FUNCTION, MULTI_OUTPUT, NO_GRAD, View, check_inplace, rebase

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


_ContextMethodMixin = FunctionCtx  # the name that old pickles hold


class FunctionMeta(type):
    """Gives every Function class its node class: ``Exp`` gets ``ExpBackward``."""

    def __init__(cls, name: str, bases: Any, members: Any) -> None:
        super().__init__(name, bases, members)
        cls._backward_cls = type(
            name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "__module__": "torch.autograd.function"}
        )


class Function(metaclass=FunctionMeta):
    """A differentiable operation of one's own: subclass it, write static ``forward`` and ``backward``, call ``apply``.

    ``forward(ctx, *args)`` computes the result; ``backward(ctx, *grad_outputs)`` returns the gradient of each argument.
    Or write ``forward(*args)`` and ``setup_context(ctx, inputs, output)`` apart.

    Class attributes: ``generate_vmap_rule`` (let ``vmap`` run the methods on batches), ``clear_saved_tensors_on_access``
    (``ctx.saved_tensors`` can be read once and keeps nothing), ``boxed_grads_call`` (``backward(ctx, grads)`` gets a list).

    >>> import rushlight as torch
    >>> class Cube(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x * x * grad
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            hinted(
                f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
                "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
                f"call {type(self).__name__}.apply(...)",
            ),
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            hinted(
                "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
                "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
                f"call {type(self).__name__}.apply(...) on the class",
            )
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise unwritten("You must implement the forward function for custom autograd.Function.", "forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise unwritten("setup_context is not implemented.", "setup_context(ctx, inputs, output)")

    backward = staticmethod(unwritten_backward)
    vjp = staticmethod(unwritten_backward)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> None:
        raise unwritten(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
            "jvp(ctx, *grad_inputs)",
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> None:
        raise unwritten(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True.",
            "vmap(info, in_dims, *args)",
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on ``args`` and record the call where an input requires grad."""
        if functions.interposers:
            return functions.apply_through_levels(cls, args, kwargs)
        if has_setup_context(cls):
            args = bound_arguments(cls, args, kwargs)
            kwargs = {}
        return apply_once(cls, args, kwargs)


def has_setup_context(function: Any) -> Any:
    """Whether a Function class has ``forward(*args)`` and ``setup_context`` apart."""
    return function.setup_context is not Function.setup_context


def bound_arguments(function: Any, args: Any, kwargs: Any) -> Any:
    """All arguments of ``forward`` by position, with its defaults: what ``setup_context`` and ``backward`` count."""
    forward = function.forward
    code = getattr(forward, "__code__", None)
    if code is not None and not kwargs and len(args) == code.co_argcount:
        return args
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        name = next(iter(bound.kwargs))
        raise TypeError(
            hinted(
                f"forward() got an unexpected keyword argument '{name}'",
                "a Function with setup_context takes its arguments by position: let forward have no keyword-only ones",
            )
        )
    return bound.args


def run_forward(function: Any, ctx: Any, args: Any, kwargs: Any) -> Any:
    """What ``forward`` returns, with ``ctx`` set up; nothing is recorded inside."""
    with no_grad():
        if not has_setup_context(function):
            return function.forward(ctx, *args, **kwargs)
        output = function.forward(*args)
        function.setup_context(ctx, args, output)
        return output


def apply_once(function: Any, args: Any, kwargs: Any, run: Any = run_forward, node_class: Any = None) -> Any:
    """What a Function gives in the innermost graph: forward, and its node if an input requires grad.

    ``run(function, ctx, args, kwargs)`` calls forward; ``node_class`` is the class of the node if not the Function's own.
    """
    ctx, output = call_once(function, args, kwargs, run, node_class)
    forget(ctx)
    return output


def forget(ctx: Any) -> None:
    """Let go of what only the call itself needs."""
    ctx.to_save = ctx.saved_for_forward = ctx.dirty_tensors = ctx.non_differentiable = None


def call_once(function: Any, args: Any, kwargs: Any, run: Any = run_forward, node_class: Any = None) -> Any:
    """``(ctx, output)`` of `apply_once`, before the ``ctx`` forgets what forward marked."""
    ctx = (node_class or function._backward_cls)()
    edges = [edge_of(a) if hasattr(a, "_edge") else None for a in args]
    ctx.needs_input_grad = tuple(edge is not None for edge in edges)
    recording = state.grad and any(ctx.needs_input_grad)
    output = run(function, ctx, args, kwargs)
    many = isinstance(output, tuple)
    outputs = output if many else (output,)
    check_marks(ctx, outputs, args)
    if recording:
        ctx.sequence = next_sequence()
        ctx.next_edges = tuple(edge for a, edge in zip(args, edges) if hasattr(a, "_edge"))
        ctx._inputs = [_meta(a, edge is not None) if hasattr(a, "_edge") else None for a, edge in zip(args, edges)]
        ctx.set_outputs(len(outputs))
    attached = _attach_all(ctx, outputs, args, recording)
    if recording:
        ctx._outputs = [
            (out.shape, out.dtype, out._edge is not None) if hasattr(out, "_edge") else None for out in attached
        ]
        _save(ctx, attached)
        if state.anomaly:
            anomaly.note_forward(ctx)
        for observe in state.observers:
            observe(ctx)
    return ctx, tuple(attached) if many else attached[0]


def _meta(tensor, needed):
    return tensor._array.shape, tensor._array.dtype, needed


def _among(tensor, others):
    return any(tensor is other for other in others)


def check_marks(ctx: Any, outputs: Any, args: Any) -> None:
    """Refuse marks that make no sense, and count the writes into the tensors marked as dirty."""
    for name, marked, refusal in (
        ("mark_dirty", ctx.dirty_tensors, "mark_dirty can only accept variables, but argument "),
        (
            "mark_non_differentiable",
            ctx.non_differentiable,
            "mark_non_differentiable only accepts variable arguments, but got ",
        ),
    ):
        for each in marked or ():
            if not hasattr(each, "_edge"):
                raise RuntimeError(hinted(refusal, f"{name}() was given {type(each).__name__}: pass tensors alone"))
    for dirty in ctx.dirty_tensors or ():
        functions.bump_version(dirty, ctx.name())
        if not _among(dirty, outputs):
            raise RuntimeError(
                hinted(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                    "inplace must all be outputs of the Function.",
                    f"forward of {ctx.name()} must return the tensors it gives to mark_dirty",
                )
            )
    if ctx.to_save or ctx.saved_for_forward:
        _check_returned_inputs(ctx, outputs, args)


def _check_returned_inputs(ctx, outputs, args):
    """Refuse an input that is returned as it was given and kept as well, where that happens in setup_context."""
    if not has_setup_context(ctx._forward_cls):
        return
    if not state.grad:
        outputs = [out for out in outputs if not getattr(out, "requires_grad", False)]
    kept = (*(ctx.to_save or ()), *(ctx.saved_for_forward or ()))
    for out in outputs:
        if (
            hasattr(out, "_edge")
            and _among(out, kept)
            and _among(out, args)
            and not _among(out, ctx.dirty_tensors or ())
        ):
            raise RuntimeError(
                hinted(
                    "An input that has been returned as-is as output is being saved for backward. This is not supported if you override "
                    "setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside "
                    "the forward function itself.",
                    f"let forward of {ctx._forward_cls.__name__} return x.view_as(x)",
                )
            )


def _attach_all(ctx, outputs, args, recording):
    """The outputs of a call, each with its place in the graph."""
    attached, differentiable = [], 0
    for number, out in enumerate(outputs):
        if not hasattr(out, "_edge"):
            attached.append(out)
            continue
        carries = (
            recording
            and (out.is_floating_point() or out.is_complex())
            and not _among(out, ctx.non_differentiable or ())
        )
        differentiable += carries
        attach = _attach if carries else _detached
        attached.append(attach(ctx, number, out, _among(out, args), args))
    for out in attached:
        if getattr(out, "_edge", None).__class__ is View and not _among(out, ctx.dirty_tensors or ()):
            out._edge.made = MULTI_OUTPUT if differentiable > 1 else CUSTOM_FUNCTION
    return attached


def _detached(ctx, number, out, is_input, args):
    """An output that carries no gradient: an input among them is left as it is, and another tensor returned."""
    dirty = _among(out, ctx.dirty_tensors or ())
    if is_input and out.requires_grad:
        return _outside(out)
    if is_input and not dirty:
        with no_grad():
            return functions.alias(out)
    if out._edge.__class__ is not View:
        out._edge = None
    return out


def _outside(tensor):
    """``tensor`` outside the innermost graph; a tensor of a transform's level keeps its place in those of the levels below."""
    return tensor._alias() if hasattr(tensor, "level") else tensor.detach()


def _attach(ctx, number, out, is_input, args):
    """An output that gradients flow through."""
    if _among(out, ctx.dirty_tensors or ()):
        _check_dirty(ctx, out, is_input, args)
        out._grad = None  # it was that of what has been written over
        rebase(out, (ctx, number))
        return out
    if is_input:
        with no_grad():
            out = functions.alias(out)
    if out._edge.__class__ is View:
        out._edge = View(out._base, (ctx, number), out._version_counter.value)
    else:
        out._edge = (ctx, number)
    return out


def _check_dirty(ctx, dirty, is_input, args):
    """Refuse a write that the graph cannot follow."""
    name, edge = ctx.name(), dirty._edge
    if edge is LEAF or (edge.__class__ is View and edge.made == NO_GRAD and edge.base.requires_grad):
        raise RuntimeError(
            hinted(
                "a leaf Variable that requires grad has been used in an in-place operation.",
                f"{name} wrote into a tensor that gradients are computed for: give it a clone()",
            )
        )
    if not is_input:
        warnings.warn(
            hinted(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed "
                "to ctx.mark_dirty().",
                f"forward of {name} made the tensor itself: leave the mark away",
            ),
            stacklevel=6,
        )
    if edge.__class__ is View and ctx.outputs > 1:
        raise RuntimeError(
            hinted(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
                "Tensor. This is not supported by the current autograd engine. You should either make sure the input is not a view "
                "(using .clone() for example) or make your Function only return one Tensor (potentially splitting it into two "
                "Functions: one doing the inplace that returns a single Tensor and a second one that does the other operations). You "
                "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change.",
                f"{name} wrote into a view and returns {ctx.outputs} values: give it a clone()",
            )
        )
    check_inplace(dirty, name, args)


def _save(ctx, outputs):
    entries = []
    for position, tensor in enumerate(ctx.to_save or ()):
        if tensor is None:
            entries.append(None)
            continue
        if not hasattr(tensor, "_edge"):
            raise TypeError(
                hinted(
                    f"save_for_backward can only save variables, but argument {position} is of type {type(tensor).__name__}",
                    "other values can be kept as attributes: ctx.value = value",
                )
            )
        number = next((n for n, out in enumerate(outputs) if out is tensor), None)
        entries.append(SavedInput(tensor) if number is None else SavedResult(tensor, number))
    ctx.saved = entries


# ---------------------------------------------------------------- names of old


class InplaceFunction(Function):
    """Deprecated in PyTorch: a `Function` with a flag ``inplace``; use `Function`."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Deprecated in PyTorch, where it cannot be applied any more: use `Function` with tensors as arguments."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise unwritten("You must implement the forward function for custom autograd.Function.", "forward(ctx, *args)")

    def forward_extended(self, *input: Any) -> None:
        raise unwritten("forward_extended is not implemented.", "forward(ctx, *args)")

    def backward_extended(self, *grad_output: Any) -> None:
        raise unwritten("backward_extended is not implemented.", "backward(ctx, *grad_outputs)")
