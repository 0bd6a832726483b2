"""Reverse mode as a transform: ``grad``, ``grad_and_value``, ``vjp``, each with a graph of its own level."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..autograd.gradients import grad as gradients_of
from ..autograd.graph import disable_saved_tensors_hooks
from ..autograd.modes import enable_grad, inference_mode, state
from ..base import trees
from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor
from ..tensor.interposers import below
from .arguments import check_outputs, chosen, replaced, split_auxiliary, unwrap_tree, wrap_tree
from .levels import Level, LevelTensor, refuse_captured

_CALL = "grad_and_value(f)(*args)"


class GradTensor(LevelTensor):
    """A tensor inside ``grad`` or ``vjp``: its graph is that of the transform's level."""

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return self._nested_text("GradTrackingTensor", f"lvl={self.level.depth}")


class GradLevel(Level):
    """Records a graph on its own tensors; below, recording goes on as it was when the transform began.

    A ``no_grad`` inside the function holds for the levels below, too. While the level's own graph is differentiated, this
    level records nothing; whether those below do is ``records_below``.
    """

    tensor_class = GradTensor
    records_below: bool | None = None

    def __init__(self) -> None:
        super().__init__()
        self.outer_grad = state.grad

    def call(self, op: Any, schema: Any, values: Any, again: Any, around: Any, writes: bool = False) -> Any:
        if writes and not self.owns(values[0]):
            refuse_captured(op)

        def calculate(values):
            with self.recording_below(), below(self):
                return self.wrapped(again(self.unwrapped(values)))

        return around([self._own(value) for value in values], calculate)

    @contextmanager
    def recording_below(self) -> Iterator[Any]:
        """A context in which operations of the levels below are recorded, if they are to be."""
        before = state.grad, state.recording
        try:
            state.grad = self.outer_grad and (before[0] if self.records_below is None else self.records_below)
            state.update()
            yield
        finally:
            state.grad, state.recording = before
            state.update()

    def _own(self, value):
        """An argument value whose place in another graph than this level's is hidden."""
        if value.__class__ is list:
            return [self._own(each) for each in value]
        return value if getattr(value, "_edge", None) is None or self.owns(value) else self.wrap(value)

    def variable(self, tensor: Tensor, connected: Any) -> Any:
        if connected and self.owns(tensor) and tensor.requires_grad:
            return functions.alias(tensor)
        return self.lift(self.unwrap(tensor))

    def lift(self, leaf: Any) -> Any:
        """A tensor of this level that gradients can be asked for."""
        if not isinstance(leaf, Tensor):
            raise ValueError(
                hinted(
                    f"Thing passed to transform API must be Tensor, got {type(leaf)}",
                    "argnums chooses the arguments to differentiate by; others may be of any type",
                )
            )
        made = self.wrap(leaf)
        Tensor.requires_grad_(made, True)
        return made

    def differentiate(
        self, outputs: Any, inputs: Any, directions: Any, retain_graph: bool = False, create_graph: bool = True
    ) -> Any:
        """The gradients of ``outputs`` by ``inputs``, zeros where an output does not depend on one.

        ``create_graph`` says whether the levels below record how they are computed.
        """
        pairs = [(out, v) for out, v in zip(outputs, directions) if out.requires_grad]
        if not pairs:
            return [functions.zeros_like(self.unwrap(t)) for t in inputs]
        roots, starts = zip(*pairs)
        before = self.records_below
        try:
            self.records_below = create_graph
            found = gradients_of(roots, inputs, starts, retain_graph, False, allow_unused=True)
        finally:
            self.records_below = before
        return [functions.zeros_like(self.unwrap(t)) if g is None else self.unwrap(g) for t, g in zip(inputs, found)]


def recording() -> Any:
    """A context in which the level records, whatever mode is on outside."""
    return inference_mode(False) if state.inference else enable_grad()


@contextmanager
def saving_plainly() -> Iterator[Any]:
    """A context in which saved-tensor hooks are refused, as PyTorch's transforms do."""
    with disable_saved_tensors_hooks(
        "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."
    ):
        yield


def vjp(
    func: Callable[..., Any], *primals: Any, has_aux: bool = False
) -> tuple[Any, Callable[..., Any]] | tuple[Any, Callable[..., Any], Any]:
    """``(output, vjp_function)``: the value of ``func`` and the function that multiplies with its transposed Jacobian.

    Follows ``torch.func.vjp``. ``vjp_function`` takes gradients in the structure of the output and returns a tuple with
    one for each of ``primals``; with ``has_aux`` the function returns ``(output, aux)`` and so does this, with aux last.

    >>> import rushlight as torch
    >>> output, multiply = torch.func.vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    >>> multiply(torch.ones(2))
    (tensor([2., 4.]),)
    """
    with saving_plainly():
        return vjp_by(func, primals, None, has_aux)


def vjp_by(func: Callable[..., Any], primals: Any, argnums: int | tuple[int, ...] | None, has_aux: bool) -> Any:
    """`vjp` by the arguments that ``argnums`` chooses; by all where it is None."""
    level = GradLevel()
    with level.entered(), recording():
        given = primals if argnums is None else chosen(primals, argnums)
        leaves, structure = trees.flatten(given)
        inputs = [level.lift(leaf) for leaf in leaves]
        lifted = trees.unflatten(inputs, structure)
        args = lifted if argnums is None else replaced(wrap_tree(level, primals), argnums, lifted)
        output, aux = split_auxiliary(func(*args), has_aux, "vjp(f, *primals)")
        aux = unwrap_tree(level, aux) if has_aux else None
        outputs, output_structure = trees.flatten(output)
        check_outputs(outputs, "vjp(f, *primals)")
        for out in outputs:
            if not (out.is_floating_point() or out.is_complex()):
                raise RuntimeError(
                    hinted(
                        f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {out.dtype}",
                        "return it as aux, with has_aux=True",
                    )
                )
        result = unwrap_tree(level, output)

    def multiply(cotangents, retain_graph=True, create_graph=None):
        directions, given_structure = trees.flatten(cotangents)
        if given_structure != output_structure:
            raise RuntimeError(
                hinted(
                    "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                    f"cotangents: {given_structure.outline()}, primal output: {output_structure.outline()}",
                    "give one tensor for each output, nested as the outputs are",
                )
            )
        create_graph = state.grad if create_graph is None else create_graph
        level.outer_grad = state.grad
        with level.entered():
            found = level.differentiate(outputs, inputs, directions, retain_graph, create_graph)
        return trees.unflatten(found, structure)

    return (result, multiply, aux) if has_aux else (result, multiply)


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Like `grad`; the function returned gives ``(gradient, value)``, with ``has_aux`` ``(gradient, (value, aux))``."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        level = GradLevel()
        with saving_plainly(), level.entered(), recording():
            leaves, structure = trees.flatten(chosen(args, argnums))
            inputs = [level.lift(leaf) for leaf in leaves]
            lifted = replaced(wrap_tree(level, args), argnums, trees.unflatten(inputs, structure))
            output, aux = split_auxiliary(func(*lifted, **wrap_tree(level, kwargs)), has_aux, _CALL)
            _check_scalar(output)
            gradient = trees.unflatten(level.differentiate([output], inputs, [None]), structure)
            output = level.unwrap(output)
            aux = unwrap_tree(level, aux) if has_aux else None
        return (gradient, (output, aux)) if has_aux else (gradient, output)

    return wrapper


def _check_scalar(output):
    if not isinstance(output, Tensor):
        raise RuntimeError(
            hinted(
                f"{_CALL}: Expected f(*args) to return a Tensor, got {type(output)}",
                "grad differentiates functions with one scalar result; with has_aux=True return (result, others)",
            )
        )
    if output.dim():
        raise RuntimeError(
            hinted(
                f"{_CALL}: Expected f(*args) to return a scalar Tensor, got tensor with {output.dim()} dims. Maybe you wanted to use "
                "the vjp or jacrev APIs instead?",
                "reduce it, for example with .sum(); jacrev differentiates functions with many results",
            )
        )


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, which returns one 0-dim tensor. Follows ``torch.func.grad``.

    Args:
        func: a function of tensors (or nested containers of them).
        argnums: the position, or a tuple of positions, of the arguments to differentiate by.
        has_aux: ``func`` returns ``(output, aux)``; the result is then ``(gradient, aux)``.

    >>> import rushlight as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.5))
    tensor(-0.4794)
    """
    differentiate = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        found, output = differentiate(*args, **kwargs)
        return (found, output[1]) if has_aux else found

    return wrapper
