"""Custom operations: ``autograd.Function`` with a forward and a backward of the user's own."""

from __future__ import annotations

import functools
import warnings

from ..base.errors import hinted
from ..ops.table import functions
from . import anomaly
from .modes import no_grad, state
from .node import LEAF, Node, SavedInput, SavedResult, edge_of, next_sequence
from .op_node import fit_dtype
from .views import CUSTOM_FUNCTION, MULTI_OUTPUT, View, check_inplace, rebase


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
        return self._checked(found if isinstance(found, tuple) else (found,))

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
                        hinted(
                            f"function {name} returned a gradient different than None at position {position + 1}, but the "
                            "corresponding forward input was not a Variable",
                            "return None for arguments of forward that are no tensors",
                        )
                    )
                continue
            result.append(None if gradient is None or not meta[2] else self._fitted(gradient, meta, position))
        return tuple(result)

    def _fitted(self, gradient, meta, position):
        shape, dtype, _ = meta
        if not hasattr(gradient, "_edge"):
            raise RuntimeError(
                hinted(
                    f"expected Variable or None (got {type(gradient).__name__})",
                    f"backward of {self.name()} must return a tensor or None for input {position}",
                )
            )
        if gradient.is_complex() and dtype.kind != "c":
            raise RuntimeError(
                hinted(
                    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == grad_is_complex) to be true, but got false.  "
                    "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
                    f"input {position} of {self.name()} is real, its gradient complex: return its .real",
                )
            )
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


def _missing(first_line, signature):
    return NotImplementedError(hinted(first_line, f"write it as a static method of the class: {signature}"))


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
        warnings.warn(
            hinted(
                f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
                "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
                f"call {type(self).__name__}.apply(...)",
            ),
            DeprecationWarning,
            stacklevel=2,
        )

    @staticmethod
    def forward(*args, **kwargs):
        raise _missing("You must implement the forward function for custom autograd.Function.", "forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise _missing("setup_context is not implemented.", "setup_context(ctx, inputs, output)")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise _missing(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD.",
            "backward(ctx, *grad_outputs)",
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise _missing(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
            "jvp(ctx, *grad_inputs)",
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        raise _missing(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True.",
            "vmap(info, in_dims, *args)",
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
        many = isinstance(output, tuple)
        outputs = output if many else (output,)
        _check_dirty(ctx, args, outputs)
        if recording:
            ctx.sequence = next_sequence()
            ctx.next_edges = tuple(edge for a, edge in zip(args, edges) if hasattr(a, "_edge"))
            ctx._inputs = [_meta(a, edge is not None) if hasattr(a, "_edge") else None for a, edge in zip(args, edges)]
            ctx.set_outputs(len(outputs))
        outputs = [_attach(ctx, number, out, args, recording) for number, out in enumerate(outputs)]
        if recording:
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


def _check_dirty(ctx, args, outputs):
    for dirty in ctx._dirty:
        if not any(dirty is out for out in outputs):
            raise RuntimeError(
                hinted(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
                    "inplace must all be outputs of the Function.",
                    f"forward of {ctx.name()} must return the tensors it gives to mark_dirty",
                )
            )
        if dirty._edge is LEAF and state.grad and any(dirty is a for a in args):
            raise RuntimeError(
                hinted(
                    "a leaf Variable that requires grad has been used in an in-place operation.",
                    f"{ctx.name()} wrote into a tensor that gradients are computed for: give it a clone()",
                )
            )


def _attach(ctx, number, out, args, recording):
    """Output ``number`` of a call, with its place in the graph."""
    if not hasattr(out, "_edge"):
        return out
    if any(out is dirty for dirty in ctx._dirty):
        check_inplace(out, ctx.name(), args)
        functions.bump_version(out, ctx.name())
        if recording:
            rebase(out, (ctx, number))
        return out
    constant = any(out is marked for marked in ctx._non_differentiable)
    if any(out is a for a in args):
        out = functions.alias(out.detach())
    if constant:
        out._edge = None
    elif recording and (out.is_floating_point() or out.is_complex()):
        if out._edge.__class__ is View:
            made = CUSTOM_FUNCTION if ctx.outputs == 1 else MULTI_OUTPUT
            out._edge = View(out._base, (ctx, number), out._version_counter.value, made)
        else:
            out._edge = (ctx, number)
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
