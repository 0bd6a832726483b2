"""``ctx``: the node of one call of a custom Function, and what forward and backward keep on it."""

from __future__ import annotations

import warnings

from ..base.errors import hinted
from ..ops.table import functions
from .fitting import fitted
from .node import Freed, Node, SavedResult
from .saved import SavedTensor


def unwritten(first_line, signature):
    """The error for a static method of a Function class that the user has not written."""
    return NotImplementedError(hinted(first_line, f"write it as a static method of the class: {signature}"))


def unwritten_backward(ctx, *grad_outputs):
    """``backward`` and ``vjp`` of a Function class that has none."""
    raise unwritten(
        "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD.",
        "backward(ctx, *grad_outputs)",
    )


class FunctionCtx:
    """What forward and backward of one call share: ``ctx``. It is also the call's node in the graph."""

    needs_input_grad = ()
    materialize_grads = True
    to_save = None
    saved_for_forward = None
    dirty_tensors = None
    non_differentiable = None

    def save_for_backward(self, *tensors):
        """Keep input or output tensors for backward, where ``ctx.saved_tensors`` gives them back; None is allowed."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for ``jvp``, where ``ctx.saved_tensors`` gives them back."""
        for tensor in tensors:
            if tensor is not None and not hasattr(tensor, "_edge"):
                raise AssertionError(
                    hinted(
                        "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx.",
                        f"it was given {type(tensor).__name__}: ctx.value = value keeps any object",
                    )
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Say that forward wrote into these inputs, which it must also return."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Say that these outputs carry no gradient."""
        self.non_differentiable = args

    def mark_shared_storage(self, *pairs):
        """Deprecated: does nothing, tensors that share memory are found."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that calls to `set_()` "
            "are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (the default) or None where no gradient flowed into an output."""
        if not isinstance(value, bool):
            raise TypeError(
                hinted(
                    "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)",
                    f"pass True or False, not {value!r}",
                )
            )
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx, Node):
    """The node of one call of a custom Function; each Function class has a class of its own for it, ``_backward_cls``."""

    runs_without_gradient = gives_all = True
    _materialize_non_diff_grads = True

    def __init__(self):
        self.saved = ()
        self.next_edges = ()

    def __repr__(self):
        return object.__repr__(self)

    @property
    def saved_tensors(self):
        """The tensors that ``save_for_backward`` kept; in ``jvp`` those of ``save_for_forward``."""
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        found = tuple(entry if entry is None else self._unpacked(entry) for entry in self.saved)
        if self._forward_cls.clear_saved_tensors_on_access:
            self.saved = _Given()
        return found

    def _unpacked(self, entry):
        tensor = entry.unpack(self)
        if (
            entry.__class__ is SavedResult and tensor._edge is None
        ):  # which op nodes leave out where nothing is recorded
            tensor._edge = (self, entry.number)
        return tensor

    @property
    def saved_variables(self):
        """The old name of ``saved_tensors``."""
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self):
        return tuple(SavedTensor(self, lambda: self.saved, slot) for slot in range(len(tuple(self.saved))))

    def apply(self, *grads):
        """The gradients of the inputs: what the user's ``backward`` returns, checked."""
        zeros = self.materialize_grads
        if zeros:
            grads = tuple(
                functions.zeros(meta[0], dtype=meta[1])
                if grad is None and meta is not None and (meta[2] or self._materialize_non_diff_grads)
                else grad
                for grad, meta in zip(grads, self._outputs)
            )
        given = self._forward_cls
        backward = self._user_backward()
        found = backward(self, list(grads)) if given.boxed_grads_call else backward(self, *grads)
        return self._checked(found if isinstance(found, tuple) else (found,))

    def apply_jvp(self, *tangents):
        """The tangents of the outputs: what the user's ``jvp`` returns."""
        return self._forward_cls.jvp(self, *tangents)

    def _user_backward(self):
        given = self._forward_cls
        if given.vjp is unwritten_backward:
            return given.backward
        if given.backward is not unwritten_backward:
            raise RuntimeError(
                hinted(
                    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of them.",
                    f"the two are names of the same thing: keep one in {given.__name__}",
                )
            )
        return given.vjp

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
            result.append(gradient if gradient is None or not meta[2] else self._fitted(gradient, meta, position))
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
        refusal = f"Function {self.name()} returned an invalid gradient at index {position}"
        return fitted(gradient, shape, dtype, refusal, f"input {position} of {self.name()} has shape {list(shape)}")


class _Given(Freed):
    """Stands where saved tensors were that ``clear_saved_tensors_on_access`` let go."""

    __slots__ = ()

    def __iter__(self):
        raise RuntimeError(
            hinted(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
                "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False.",
                "keep what ctx.saved_tensors returned in a variable of backward",
            )
        )
