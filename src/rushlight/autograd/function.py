"""Custom operations: ``autograd.Function`` with a forward and a backward of the user's own."""

from __future__ import annotations

import functools

from ..base.errors import hinted
from ..ops.table import functions
from . import anomaly
from .modes import no_grad, state
from .node import LEAF, Node, SavedInput, SavedResult, edge_of, next_sequence
from .op_node import fit_dtype
from .views import CUSTOM_FUNCTION, View, check_inplace, rebase


class FunctionCtx:
    """What forward and backward of one call share: ``ctx``. It is also the call's node in the graph."""

    materializes = True
    _to_save = ()
    _dirty = ()
    _non_differentiable = ()
    needs_input_grad = ()

    def save_for_backward(self, *tensors):
        """Keep input or output tensors for backward, where ``ctx.saved_tensors`` gives them back; None is allowed."""
        for tensor in tensors:
            if tensor is not None and not hasattr(tensor, "_edge"):
                raise TypeError(
                    hinted(
                        f"save_for_backward can only save variables, but argument {tensors.index(tensor)} is of type "
                        f"{type(tensor).__name__}",
                        "other values can be kept as attributes: ctx.value = value",
                    )
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for ``jvp``."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors):
        """Say that forward wrote into these inputs, which it must also return."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Say that these outputs carry no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (the default) or None where no gradient flowed into an output."""
        self.materializes = bool(value)


class FunctionNode(FunctionCtx, Node):
    """The node of one call of a custom Function."""

    def __init__(self):
        self.saved = None
        self.next_edges = ()

    def __repr__(self):
        return object.__repr__(self)

    @property
    def saved_tensors(self):
        """The tensors that ``save_for_backward`` kept."""
        if self.saved is None:
            return tuple(self._to_save)
        return tuple(entry if entry is None else entry.unpack(self) for entry in self.saved)

    @property
    def saved_variables(self):
        return self.saved_tensors

    def apply(self, *grads):
        if self.materializes:
            grads = [
                functions.zeros(meta[0], dtype=meta[1]) if grad is None and meta is not None else grad
                for grad, meta in zip(grads, self._outputs)
            ]
        function = self._function
        backward = function.backward if function.backward is not Function.backward else function.vjp
        found = backward(self, *grads)
        return self._checked(found if isinstance(found, (tuple, list)) else (found,))

    def _checked(self, found):
        inputs = self._inputs
        name = self.name()
        if len(found) > len(inputs) and all(extra is None for extra in found[len(inputs) :]):
            found = found[: len(inputs)]
        if len(found) != len(inputs):
            raise RuntimeError(
                hinted(
                    f"function {name} returned an incorrect number of gradients (expected {len(inputs)}, got {len(found)})",
                    "backward must return one gradient for each argument of forward after ctx, None for those without one",
                )
            )
        result = []
        for position, (gradient, meta) in enumerate(zip(found, inputs)):
            if meta is None:
                if gradient is not None:
                    raise RuntimeError(
                        f"function {name} returned a gradient different from None at position {position + 1}, but the "
                        "corresponding forward input was not a Variable"
                    )
                continue
            result.append(None if gradient is None or not meta[2] else self._fitted(gradient, meta, position))
        return tuple(result)

    def _fitted(self, gradient, meta, position):
        shape, dtype, _ = meta
        if not hasattr(gradient, "_edge"):
            raise RuntimeError(f"expected Variable or None (got {type(gradient).__name__})")
        if gradient._array.shape != shape:
            try:
                gradient = gradient.sum_to_size(shape)
            except RuntimeError:
                raise RuntimeError(
                    hinted(
                        f"Function {self.name()} returned an invalid gradient at index {position} - got {list(gradient.shape)} but "
                        f"expected shape compatible with {list(shape)}",
                        f"input {position} of forward has shape {list(shape)}; its gradient must have that shape",
                    )
                ) from None
        return gradient if gradient._array.dtype == dtype else fit_dtype(gradient, dtype)


class _FunctionMeta(type):
    """Gives every Function class its node class: ``Exp`` gets ``ExpBackward``."""

    def __init__(cls, name, bases, members):
        super().__init__(name, bases, members)
        cls._node_class = type(
            name + "Backward", (FunctionNode,), {"_function": cls, "__module__": "torch.autograd.function"}
        )


class Function(metaclass=_FunctionMeta):
    """A differentiable operation of one's own: subclass it, write static ``forward`` and ``backward``, call ``apply``.

    ``forward(ctx, *args)`` computes the result; ``backward(ctx, *grad_outputs)`` returns the gradient of each argument.
    Or write ``forward(*args)`` and ``setup_context(ctx, inputs, output)`` apart.

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

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            hinted(
                "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
                "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
                f"call {type(self).__name__}.apply(...) instead of making an instance",
            )
        )

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward on ``args`` and record the call where an input requires grad."""
        ctx = cls._node_class()
        edges = [edge_of(a) if hasattr(a, "_edge") else None for a in args]
        ctx.needs_input_grad = tuple(edge is not None for edge in edges)
        recording = state.grad and any(ctx.needs_input_grad)
        separate = cls.setup_context is not Function.setup_context
        with no_grad():
            if separate:
                output = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args, **kwargs)
        many = isinstance(output, (tuple, list))
        outputs = list(output) if many else [output]
        _check_outputs(cls, outputs)
        if recording:
            ctx.sequence = next_sequence()
            ctx.next_edges = tuple(edge for a, edge in zip(args, edges) if hasattr(a, "_edge"))
            ctx._inputs = [_meta(a, edge is not None) if hasattr(a, "_edge") else None for a, edge in zip(args, edges)]
        outputs = [_attach(ctx, number, out, args, recording) for number, out in enumerate(outputs)]
        if recording:
            ctx.set_outputs(len(outputs))
            ctx._outputs = [_meta_of_output(out) for out in outputs]
            _save(ctx, outputs)
            if state.anomaly:
                anomaly.note_forward(ctx)
        if not many:
            return outputs[0]
        return tuple(outputs)


def _meta(tensor, needed):
    return tensor._array.shape, tensor._array.dtype, needed


def _meta_of_output(out):
    return (out._array.shape, out.dtype) if hasattr(out, "_edge") else None


def _check_outputs(cls, outputs):
    for out in outputs:
        if isinstance(out, (tuple, list)) and any(hasattr(item, "_edge") for item in out):
            raise TypeError(
                f"{cls.__name__}Backward.forward: expected Tensor or tuple of Tensor (got {type(out).__name__}) for return value"
            )


def _attach(ctx, number, out, args, recording):
    """Output ``number`` of a call, with its place in the graph."""
    if not hasattr(out, "_edge"):
        return out
    is_input = any(out is a for a in args)
    if any(out is d for d in ctx._dirty):
        if not is_input:
            raise RuntimeError("a tensor marked dirty must be one of the inputs")
        check_inplace(out, ctx.name())
        functions.bump_version(out, ctx.name())
        if recording:
            rebase(out, (ctx, number))
        return out
    differentiable = recording and (out.is_floating_point() or out.is_complex())
    if any(out is n for n in ctx._non_differentiable):
        differentiable = False
    if is_input:
        source, out = out, functions.alias(out.detach() if differentiable else out)
        if not differentiable:
            return out if ctx._non_differentiable else source
    if differentiable:
        edge = out._edge
        if edge is LEAF:
            raise RuntimeError("a leaf that requires grad cannot be the output of a custom Function")
        out._edge = (
            View(out._base, (ctx, number), out._version_counter.value, CUSTOM_FUNCTION)
            if edge.__class__ is View
            else (ctx, number)
        )
    elif any(out is n for n in ctx._non_differentiable):
        out._edge = None
    return out


def _save(ctx, outputs):
    entries = []
    for tensor in ctx._to_save:
        if tensor is None:
            entries.append(None)
            continue
        number = next((n for n, out in enumerate(outputs) if out is tensor), None)
        entries.append(SavedInput(tensor) if number is None else SavedResult(tensor, number))
    ctx.saved = entries
    ctx._to_save = ()


def once_differentiable(function):
    """Mark a ``backward`` that itself cannot be differentiated: a second derivative through it is a clear error."""

    @functools.wraps(function)
    def wrapper(ctx, *grads):
        with no_grad():
            found = function(ctx, *grads)
        if not state.grad or not any(hasattr(g, "_edge") and g.requires_grad for g in grads):
            return found
        many = isinstance(found, tuple)
        results = found if many else (found,)
        marked = tuple(
            _NotTwice.apply(r, *[g for g in grads if hasattr(g, "_edge")]) if hasattr(r, "_edge") else r
            for r in results
        )
        return marked if many else marked[0]

    return wrapper


class _NotTwice(Function):
    """Passes a gradient on and refuses to be differentiated."""

    @staticmethod
    def forward(ctx, value, *grads):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
