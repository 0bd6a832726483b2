"""``backward`` and ``grad``: what users call to run the engine."""

from __future__ import annotations

import weakref

from ..base.errors import hinted
from ..ops.table import functions
from .engine import execute, missing_grad_error
from .hooks import hooks_of
from .node import LEAF, Node, edge_of


def retain_grad(tensor):
    """Let ``backward`` store the gradient of a non-leaf ``tensor`` in its ``grad``."""
    if not tensor.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if tensor._edge is LEAF:
        return
    node, number = edge_of(tensor)
    hooks_of(node).retained[number] = weakref.ref(tensor)


def _as_tuple(value):
    return value if value.__class__ is tuple else tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _root_edge(tensor, position):
    if not hasattr(tensor, "_edge"):
        return tensor if isinstance(tensor, tuple) else (tensor, 0)
    edge = edge_of(tensor)
    if edge is None:
        if position == 0:
            raise missing_grad_error(tensor)
        raise RuntimeError(f"element {position} of tensors does not require grad and does not have a grad_fn")
    return edge


def _root_gradient(output, gradient, position):
    """The gradient to start from: the given one, checked, or one for an output of a single element."""
    if gradient is None:
        if not hasattr(output, "_array"):
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if output._array.size != 1:
            shape = list(output.shape)
            raise RuntimeError(
                hinted(
                    "grad can be implicitly created only for scalar outputs",
                    f"the output has shape {shape}: reduce it, for example with .sum() or .mean(); or pass gradient=, a tensor of "
                    "that shape; or call backward on one element",
                )
            )
        if output._array.dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        return functions.unit_gradient(output)
    if not hasattr(gradient, "_edge"):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(gradient).__name__}")
    if hasattr(output, "_array"):
        if gradient._array.shape != output._array.shape:
            raise RuntimeError(
                hinted(
                    f"Mismatch in shape: grad_output[{position}] has a shape of {gradient.shape} and output[{position}] has a "
                    f"shape of {output.shape}.",
                    "the gradient passed to backward must have the shape of the tensor that backward is called on",
                )
            )
        if gradient.is_complex() != output.is_complex():
            raise RuntimeError(
                f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{position}] has a dtype of {gradient.dtype} and output[{position}] has a dtype of {output.dtype}."
            )
        if gradient._array.dtype != output._array.dtype:
            gradient = gradient.to(output.dtype)
    return gradient


def _roots(outputs, gradients):
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    edges, starts = [], []
    for position, (output, gradient) in enumerate(zip(outputs, gradients)):
        edges.append(_root_edge(output, position))
        starts.append(_root_gradient(output, gradient, position))
    return edges, starts


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
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
    if grad_variables is not None and grad_tensors is None:
        grad_tensors = grad_variables
    outputs = _as_tuple(tensors)
    gradients = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    edges, starts = _roots(outputs, gradients)
    wanted = None
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        wanted = []
        for position, tensor in enumerate(inputs):
            wanted.append(_input_edge(tensor, position))
            if tensor._edge is not LEAF:
                retain_grad(tensor)
    execute(edges, starts, create_graph if retain_graph is None else retain_graph, create_graph, wanted)


def _input_edge(tensor, position):
    if isinstance(tensor, tuple) or isinstance(tensor, Node):
        return tensor if isinstance(tensor, tuple) else (tensor, 0)
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            hinted(
                "One of the differentiated Tensors does not require grad",
                f"input {position} (shape {list(tensor.shape)}) has requires_grad=False: set requires_grad_() before the computation",
            )
        )
    return edge


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):  # fmt: skip
    """The gradients of ``outputs`` with respect to ``inputs``, returned as a tuple; no ``grad`` is touched.

    Args:
        outputs, inputs: Tensors or sequences of them.
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
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if materialize_grads:
        if allow_unused is False:
            raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
        allow_unused = True
    gradients = (None,) * len(outputs) if grad_outputs is None else _as_tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(outputs, inputs, gradients, keep, create_graph, allow_unused, materialize_grads)
    edges, starts = _roots(outputs, gradients)
    wanted = [_input_edge(tensor, position) for position, tensor in enumerate(inputs)]
    found = execute(edges, starts, keep, create_graph, wanted, accumulate=False)
    for position, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise RuntimeError(
                hinted(
                    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this "
                    "is the desired behavior.",
                    f"input {position} (shape {list(inputs[position].shape)}) does not lead to the outputs; with allow_unused=True "
                    "its gradient is returned as None, with materialize_grads=True as zeros",
                )
            )
    if materialize_grads:
        found = [functions.zeros_like(t) if g is None else g for t, g in zip(inputs, found)]
    return tuple(found)


def _batched(outputs, inputs, gradients, keep, create_graph, allow_unused, materialize_grads):
    """One backward pass for each row of the gradients, stacked."""
    rows = gradients[0].shape[0]
    found = []
    for row in range(rows):
        last = row == rows - 1
        starts = tuple(None if g is None else g[row] for g in gradients)
        found.append(
            grad(outputs, inputs, starts, keep or not last, create_graph, allow_unused=allow_unused, materialize_grads=materialize_grads)
        )
    return tuple(None if parts[0] is None else functions.stack(parts) for parts in zip(*found))
