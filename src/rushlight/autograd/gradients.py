"""``backward`` and ``grad``: what users call to run the engine."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.errors import hinted
from ..ops.table import functions
from .engine import execute, missing_grad_error
from .graph import GradientEdge
from .hooks import hooks_of
from .names import described, names_in_scope
from .node import edge_of, leads_nowhere
from .views import known_edge

if TYPE_CHECKING:
    from ..tensor import Tensor

MISSING = object()


def retain_grad(tensor: Tensor) -> None:
    """Let ``backward`` store the gradient of a non-leaf ``tensor`` in its ``grad``."""
    if not tensor.requires_grad:
        raise RuntimeError(
            hinted(
                "can't retain_grad on Tensor that has requires_grad=False",
                f"no gradient flows to {described(tensor)}: set requires_grad_() on what it is computed from",
            )
        )
    if known_edge(tensor) is None:
        return
    node, number = edge_of(tensor)
    hooks_of(node).retained[number] = weakref.ref(tensor)


def _as_tuple(value):
    """The tensors (or gradient edges, which are tuples themselves) that one argument stands for."""
    if value.__class__ is tuple:
        return value
    return (value,) if hasattr(value, "_edge") or isinstance(value, GradientEdge) else tuple(value)


def root_edge(output: Tensor, position: Any) -> Any:
    """Where the gradient of ``output``, number ``position`` of those given, flows."""
    edge = getattr(output, "_edge", MISSING)
    if edge.__class__ is tuple:
        return edge
    if edge is MISSING:
        if isinstance(output, GradientEdge):
            return output[:2]
        raise AssertionError(
            hinted(
                "Expected output to be a torch.Tensor",
                f"output {position} is of type {type(output).__name__}: pass tensors or gradient edges",
            )
        )
    edge = edge_of(output)
    if leads_nowhere(edge):
        raise missing_grad_error(position, output)
    return edge


def _root_gradient(output, gradient, position):
    """The gradient to start from: the given one, checked, or one for an output of a single element."""
    given, array = getattr(gradient, "_array", None), getattr(output, "_array", None)
    if given is not None and array is not None and given.shape == array.shape and given.dtype is array.dtype:
        return gradient
    if array is None:
        output = output.like  # of a gradient edge
    if gradient is None:
        if output is None:
            _refuse_implicit("this gradient edge was made by hand and knows no shape: pass its gradient")
        return implicit_gradient(output)
    if not hasattr(gradient, "_edge"):
        raise TypeError(
            hinted(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}",
                f"gradient {position} must be a tensor of the shape of output {position}",
            )
        )
    if output is None:
        return gradient
    if gradient._array.shape != output._array.shape:
        raise RuntimeError(
            hinted(
                f"Mismatch in shape: grad_output[{position}] has a shape of {gradient.shape} and output[{position}] has a "
                f"shape of {output.shape}.",
                f"a gradient has the shape of what it belongs to, {described(output)}: sum, expand or reshape the one you pass",
            )
        )
    if gradient.is_complex() != output.is_complex():
        raise RuntimeError(
            hinted(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{position}] has a dtype of {gradient.dtype} and output[{position}] has a dtype of {output.dtype}.",
                f"convert the gradient with .to({output.dtype})",
            )
        )
    return gradient if gradient._array.dtype == output._array.dtype else gradient.to(output.dtype)


def implicit_gradient(output: Tensor) -> Any:
    """The gradient, one, that backward starts from at an output of one element."""
    if output._array.size != 1:
        shape = list(output.shape)
        _refuse_implicit(
            f"the output has shape {shape}: reduce it, for example with .sum() or .mean(); or pass gradient=, a tensor of "
            "that shape; or call backward on one element"
        )
    if output._array.dtype.kind in "cW":
        raise RuntimeError(
            hinted(
                f"grad can be implicitly created only for real scalar outputs but got {output.dtype}",
                "pass gradient=, a complex tensor; or call backward on a real value such as .abs() or .real",
            )
        )
    return functions.unit_gradient(output)


def _refuse_implicit(hint):
    raise RuntimeError(hinted("grad can be implicitly created only for scalar outputs", hint))


def _roots(outputs, gradients):
    """The edges of ``outputs`` and the gradients to start from."""
    given = [g if g is None else _root_gradient(output, g, i) for i, (output, g) in enumerate(zip(outputs, gradients))]
    edges = [root_edge(output, position) for position, output in enumerate(outputs)]
    starts = [_root_gradient(output, None, i) if g is None else g for i, (output, g) in enumerate(zip(outputs, given))]
    if len(gradients) < len(outputs):  # more of them do not matter
        raise RuntimeError(
            hinted(
                f"got {len(outputs)} tensors and {len(gradients)} gradients",
                "pass one gradient for each tensor, None for a scalar one",
            )
        )
    return edges, starts


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Tensor | Sequence[Tensor | None] | None = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Compute the gradients of ``tensors`` with respect to the leaves of their graph and add them to ``grad``.

    Args:
        tensors: a Tensor or a sequence of them.
        grad_tensors: for each the gradient to start from (the vector of a vector-Jacobian product); None for a scalar.
        retain_graph: keep saved values; default: the value of ``create_graph``.
        create_graph: record the computation of the gradients.
        inputs: accumulate into these tensors alone.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.autograd.backward([x * 3], [torch.tensor([1.0, 10.0])])
    >>> x.grad
    tensor([ 3., 30.])
    """
    if grad_variables is not None:
        grad_tensors = _renamed(grad_tensors, grad_variables)
    outputs = _as_tuple(tensors)
    gradients = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    wanted = None if inputs is None else [_accumulating_edge(each) for each in _given_inputs(inputs, "backward")]
    edges, starts = _roots(outputs, gradients)
    if create_graph:
        _warn_of_cycle()
    execute(edges, starts, create_graph if retain_graph is None else retain_graph, create_graph, wanted)


def _renamed(grad_tensors, grad_variables):
    """The gradients of a call that names them as PyTorch did long ago."""
    warnings.warn(
        hinted(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            "the argument has had its new name since tensors and variables became one",
        ),
        FutureWarning,
        stacklevel=3,
    )
    if grad_tensors is not None:
        raise RuntimeError(
            hinted(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`.",
                "they are two names for the same",
            )
        )
    return grad_variables


_warned_of_cycle = False


def _warn_of_cycle():
    """PyTorch's advice, once a process: a leaf and its recorded gradient keep each other alive."""
    global _warned_of_cycle
    if not _warned_of_cycle:
        _warned_of_cycle = True
        warnings.warn(
            hinted(
                "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
                "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
                "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and "
                "avoid the leak.",
                "torch.autograd.grad(loss, parameters, create_graph=True) returns the gradients instead of storing them",
            ),
            stacklevel=4,
        )


def _given_inputs(inputs, function):
    """The ``inputs`` of ``backward`` or ``grad`` as a tuple, checked; of a dictionary its values."""
    if isinstance(inputs, Mapping) and inputs.__class__ is not dict:
        kind = type(inputs).__name__
        raise TypeError(
            hinted(
                f"`inputs` argument to `{function}()` must be a dict, not {kind}. Other Mapping types are not supported.",
                "pass dict(inputs)",
            )
        )
    inputs = tuple(inputs.values()) if inputs.__class__ is dict else _as_tuple(inputs)
    if not inputs:
        raise RuntimeError(
            hinted(
                f"`inputs` argument to `{function}()` cannot be empty.",
                "name the tensors whose gradients are wanted; backward() without inputs= accumulates into every leaf",
            )
        )
    for each in inputs:
        if not hasattr(each, "_edge") and not isinstance(each, GradientEdge):
            raise RuntimeError(
                hinted(
                    f"all inputs have to be Tensors or GradientEdges, but got {type(each).__name__}",
                    "pass the tensors themselves, or torch.autograd.graph.get_gradient_edge(tensor)",
                )
            )
    return inputs


def _accumulating_edge(tensor):
    """The edge of an input of ``backward``, which will fill its ``grad``."""
    if isinstance(tensor, GradientEdge):
        return tensor[:2]
    retain_grad(tensor)
    return edge_of(tensor)


def _input_edge(tensor, position):
    if isinstance(tensor, GradientEdge):
        return tensor[:2]
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            hinted(
                "One of the differentiated Tensors does not require grad",
                f"input {position}, {described(tensor)}, has requires_grad=False: set requires_grad_() on it before the computation; "
                "rushlight.explain(input) says why it does not require grad",
            )
        )
    return edge


def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Any=None, retain_graph: bool | None=None, create_graph: bool=False, only_inputs: bool=True, allow_unused: bool | None=None,
         is_grads_batched: bool=False, materialize_grads: bool=False) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of ``outputs`` with respect to ``inputs``, returned as a tuple; no ``grad`` is touched.

    Args:
        outputs: a Tensor or a sequence of them.
        inputs: a Tensor, a sequence or a dictionary of them; of a dictionary, one with the same keys is returned.
        grad_outputs: for each output the gradient to start from; None for a scalar.
        retain_graph, create_graph: as for ``backward``.
        allow_unused: return None for an input that the outputs do not depend on; otherwise that is an error.
        materialize_grads: return zeros instead of None.
        is_grads_batched: ``grad_outputs`` have an extra first dimension: one gradient for each row.

    >>> import rushlight as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x ** 2, x)
    (tensor(6.),)
    """
    if not only_inputs:
        warnings.warn(
            hinted(
                "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of "
                "the graph, please use torch.autograd.backward.",
                "grad() returns the gradients of its inputs and touches no other",
            ),
            FutureWarning,
            stacklevel=2,
        )
    keys = tuple(inputs) if inputs.__class__ is dict else None
    outputs, inputs = _as_tuple(outputs), _given_inputs(inputs, "grad")
    if materialize_grads:
        _check_materialize(inputs, allow_unused)
        allow_unused = True
    gradients = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        found = _batched(outputs, inputs, gradients, keep, create_graph)
    else:
        edges, starts = _roots(outputs, gradients)
        wanted = [_input_edge(tensor, position) for position, tensor in enumerate(inputs)]
        found = execute(edges, starts, keep, create_graph, wanted, accumulate=False)
    if materialize_grads:
        found = [_materialized(each, gradient, create_graph) for each, gradient in zip(inputs, found)]
    elif not allow_unused:
        _check_used(inputs, found)
    return tuple(found) if keys is None else dict(zip(keys, found))


def _check_materialize(inputs, allow_unused):
    if allow_unused is False:
        raise ValueError(
            hinted(
                "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.",
                "materialize_grads=True returns zeros for unused inputs, so they cannot be an error: leave allow_unused away",
            )
        )


def _materialized(each, gradient, create_graph):
    """``gradient``, or zeros for an input that has none."""
    if gradient is None and isinstance(each, GradientEdge):
        raise RuntimeError(
            hinted(
                "materialize_grads cannot be used when the given input is a GradientEdge",
                f"no gradient arrived at {each.node.name()}, and an edge has no shape to make zeros of: pass the tensor, or "
                "allow_unused=True",
            )
        )
    return functions.zeros_like(each, requires_grad=create_graph) if gradient is None else gradient


def _check_used(inputs, found):
    unused = [position for position, gradient in enumerate(found) if gradient is None]
    if unused:
        names = names_in_scope()
        each = [
            f"input {position}, {described(inputs[position], names) if hasattr(inputs[position], '_edge') else inputs[position][0].name()}"
            for position in unused
        ]
        verb = "does" if len(unused) == 1 else "do"
        raise RuntimeError(
            hinted(
                f"The differentiated Tensor at index {unused[0]} appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior.",
                f"{', '.join(each)} {verb} not lead to the outputs; with allow_unused=True the gradient is returned as None, with "
                "materialize_grads=True as zeros",
            )
        )


def _batched(outputs, inputs, gradients, keep, create_graph):
    """The gradients for each row of ``gradients``, computed in one pass under ``vmap``; None for unused inputs."""
    for position, (output, gradient) in enumerate(zip(outputs, gradients)):
        if gradient is not None and hasattr(output, "_edge") and gradient.shape[1:] != output.shape:
            raise RuntimeError(
                hinted(
                    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
                    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
                    f"detected: grad_output[{position}] has a shape of {gradient.shape[2:]} and output[{position}] has a shape of "
                    f"{output.shape}. If you only want some tensors in `grad_output` to be considered batched, consider using vmap.",
                    f"grad_output[{position}] has the shape {list(gradient.shape)}, it must have {['rows', *output.shape]}",
                )
            )
    given = [place for place, gradient in enumerate(gradients) if gradient is not None]
    used = []

    def backward_of(*rows):
        starts = list(gradients)
        for place, row in zip(given, rows):
            starts[place] = row
        found = grad(outputs, inputs, starts, keep, create_graph, allow_unused=True)
        used[:] = [gradient is not None for gradient in found]
        return tuple(gradient for gradient in found if gradient is not None)

    found = iter(functions.vmap(backward_of)(*[gradients[place] for place in given]))
    return tuple(next(found) if each else None for each in used)
