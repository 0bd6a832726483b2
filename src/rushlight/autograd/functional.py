"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

from ..base.errors import hinted
from ..ops.table import functions
from .gradients import grad
from .modes import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), v . J)``: the outputs and the product of ``v`` with the Jacobian.

    Args:
        func: a function of tensors that returns a tensor or a tuple of them.
        inputs: a tensor or a tuple of them.
        v: a tensor for each output; may be left away for a single output of one element.
        create_graph: record the computation of the results.
        strict: refuse outputs that do not depend on an input; otherwise their part is zero.

    >>> import rushlight as torch
    >>> torch.autograd.functional.vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        call = _Call(func, inputs, "vjp", create_graph, strict)
        v = call.vector(v, call.outputs, "the user-provided function returns a single Tensor with a single element")
        found = _gradients(call.outputs, call.inputs, v, create_graph)
        return call.finish(call.outputs), call.finish(call.filled(found, "vjp"), call.one_input)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), J . v)``: the outputs and the product of the Jacobian with ``v``, by differentiating twice backwards.

    ``v`` is a tensor for each input; it may be left away for a single input of one element. Otherwise as `vjp`.

    >>> import rushlight as torch
    >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    with enable_grad():
        call = _Call(func, inputs, "jvp", create_graph, strict)
        v = call.vector(v, call.inputs, _SINGLE_INPUT)
        # v . J is linear in v: its derivative by v, in the direction given, is J . direction.
        flows = tuple(functions.zeros_like(out).requires_grad_(True) for out in call.outputs)
        first = call.filled(_gradients(call.outputs, call.inputs, flows, True), "jvp")
        found = _gradients(first, flows, v, create_graph)
        found = tuple(functions.zeros_like(out) if g is None else g for g, out in zip(found, call.outputs))
        return call.finish(call.outputs), call.finish(found)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of ``func``: for output shape S and input shape T a tensor of shape ``S + T``.

    Several inputs or outputs give (nested) tuples: first by output, then by input.

    Args:
        func, inputs, create_graph, strict: as for `vjp`.
        vectorize: accepted; rows are computed one after the other.
        strategy: "reverse-mode", or with ``vectorize`` also "forward-mode", which gives the same numbers.

    >>> import rushlight as torch
    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy(strategy, vectorize, strict)
    with enable_grad():
        call = _Call(func, inputs, "jacobian", create_graph, strict)
        rows = tuple(call.finish(call.rows(number), call.one_input) for number in range(len(call.outputs)))
        return rows[0] if call.one_output else rows


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function with one output of one element: for input shape T a tensor of shape ``T + T``.

    Several inputs give nested tuples. Arguments as for `jacobian`.

    >>> import rushlight as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    one_input = hasattr(inputs, "_edge")

    def first_derivatives(*arguments):
        call = _Call(func, arguments, "hessian", True, strict, fresh=False)
        call.check_scalar()
        found = call.filled(_gradients(call.outputs, arguments, None, True), "hessian")
        if strict:
            _check_twice(found, "hessian")
        return found

    found = jacobian(first_derivatives, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found[0] if one_input else found


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), v . H)`` for a function with one output of one element; ``v`` is a tensor for each input.

    >>> import rushlight as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``(func(*inputs), H . v)``: as `vhp`, of which it is the transpose; the Hessian of a smooth function is symmetric.

    >>> import rushlight as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def _hessian_product(func, inputs, v, create_graph, strict, name):
    with enable_grad():
        call = _Call(func, inputs, name, create_graph, strict)
        v = call.vector(v, call.inputs, _SINGLE_INPUT)
        call.check_scalar()
        first = call.filled(_gradients(call.outputs, call.inputs, None, True), name)
        if strict:
            _check_twice(first, name)
        found = call.filled(_gradients(first, call.inputs, v, create_graph), name, strict=False)
        return call.finish(call.outputs), call.finish(found, call.one_input)


_SINGLE_INPUT = "the input to the user-provided function is a single Tensor with a single element"


class _Call:
    """One evaluation of the user's function on inputs of its own: checked, and ready to be differentiated."""

    def __init__(self, func, inputs, name, create_graph, strict, fresh=True):
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.one_input = hasattr(inputs, "_edge")
        inputs = _tensors(inputs, f"The inputs given to {name}", "the given inputs")
        self.inputs = tuple(_fresh(tensor, create_graph) for tensor in inputs) if fresh else inputs
        outputs = func(*self.inputs)
        self.one_output = hasattr(outputs, "_edge")
        what = "the given outputs of the user-provided function"
        self.outputs = _tensors(outputs, f"The outputs of the user-provided function given to {name}", what)
        for number, output in enumerate(self.outputs):
            if strict and not output.requires_grad:
                raise RuntimeError(
                    hinted(
                        f"Output {number} of the user-provided function does not require gradients. The outputs must be computed in a "
                        "differentiable manner from the input when running in strict mode.",
                        "strict=False takes its derivatives as zero",
                    )
                )

    def vector(self, v, like, single):
        """``v`` as a tuple of tensors shaped as ``like``; ones where it may be left away."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(
                    hinted(
                        f"The vector v can only be None if {single}.",
                        f"pass tensors of the shapes {[list(t.shape) for t in like]}",
                    )
                )
            return tuple(functions.ones_like(tensor) for tensor in like)
        v = _tensors(v, f"The v given to {self.name}", "the given v")
        if len(v) != len(like):
            raise RuntimeError(
                hinted(
                    f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.",
                    f"pass tensors of the shapes {[list(tensor.shape) for tensor in like]}",
                )
            )
        for number, (given, tensor) in enumerate(zip(v, like)):
            if given.shape != tensor.shape:
                entry = f"Entry {number} in v" if len(v) > 1 else "v"
                raise RuntimeError(
                    hinted(
                        f"{entry} has invalid size: should be {tensor.shape} but got {given.shape}.",
                        "v has the shape of what it is multiplied with",
                    )
                )
        return v if self.create_graph else tuple(tensor.detach() for tensor in v)

    def check_scalar(self):
        if not self.one_output:
            raise RuntimeError(
                hinted(
                    f"The function given to {self.name} should return a single Tensor",
                    "its sum can be differentiated twice",
                )
            )
        if self.outputs[0].numel() != 1:
            raise RuntimeError(
                hinted(
                    f"The Tensor returned by the function given to {self.name} should contain a single element",
                    f"it has the shape {list(self.outputs[0].shape)}: sum it, or take one element",
                )
            )

    def filled(self, found, name, strict=None):
        """Gradients by the inputs, zeros for those that the outputs do not depend on (an error if strict)."""
        if self.strict if strict is None else strict:
            for number, gradient in enumerate(found):
                if gradient is None:
                    raise RuntimeError(
                        hinted(
                            f"The output of the user-provided function is independent of input {number}. This is not allowed in strict "
                            "mode.",
                            "strict=False takes that derivative as zero",
                        )
                    )
        return tuple(functions.zeros_like(t) if g is None else g for g, t in zip(found, self.inputs))

    def rows(self, number):
        """The Jacobian of one output by each input."""
        output = self.outputs[number]
        rows = [[] for _ in self.inputs]
        for element in output.reshape(-1).unbind():
            found = _gradients((element,), self.inputs, None, self.create_graph)
            for place, gradient in enumerate(found):
                if self.strict and gradient is None:
                    raise RuntimeError(
                        hinted(
                            f"Output {number} of the user-provided function is independent of input {place}. This is not allowed in "
                            "strict mode.",
                            "strict=False takes that derivative as zero",
                        )
                    )
                rows[place].append(functions.zeros_like(self.inputs[place]) if gradient is None else gradient)
        return tuple(
            functions.stack(parts).view(output.shape + tensor.shape)
            if parts
            else functions.zeros(output.shape + tensor.shape)
            for parts, tensor in zip(rows, self.inputs)
        )

    def finish(self, results, one=None):
        """Results as they are returned: outside the graph unless that was asked for, a single one without its tuple."""
        one = self.one_output if one is None else one
        if not self.create_graph:
            results = tuple(result.detach() for result in results)
        return results[0] if one else tuple(results)


def _tensors(value, owner, what):
    given = value if isinstance(value, tuple) else (value,)
    for number, each in enumerate(given):
        if not hasattr(each, "_edge"):
            if given is value:
                raise TypeError(
                    hinted(
                        f"{owner} must be either a Tensor or a tuple of Tensors but the value at index {number} has type {type(each)}.",
                        "pass tensors alone; bind other arguments with functools.partial",
                    )
                )
            raise TypeError(
                hinted(
                    f"{owner} must be either a Tensor or a tuple of Tensors but {what} has type {type(value)}.",
                    "pass tensors alone; bind other arguments with functools.partial",
                )
            )
    return given


def _fresh(tensor, create_graph):
    """An input of the function's own, so that it can be differentiated by even where the caller's is used otherwise."""
    if create_graph and tensor.requires_grad:
        return tensor.view_as(tensor)
    return tensor.detach().requires_grad_(True)


def _gradients(outputs, inputs, starts, create_graph):
    """The gradients of the outputs that have one; None where there is none."""
    starts = (None,) * len(outputs) if starts is None else starts
    pairs = [(output, start) for output, start in zip(outputs, starts) if output.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, flows = zip(*pairs)
    return grad(roots, inputs, flows, retain_graph=True, create_graph=create_graph, allow_unused=True)


def _check_twice(gradients, name):
    for number, gradient in enumerate(gradients):
        if not gradient.requires_grad:
            what = "hessian" if name in ("hessian", "hvp", "vhp") else name
            raise RuntimeError(
                hinted(
                    f"While computing the {what}, found that the jacobian of the user-provided function with respect to input {number} is "
                    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
                    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
                    "example).",
                    "strict=False takes the second derivative as zero",
                )
            )


def _check_strategy(strategy, vectorize, strict):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            hinted(
                'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
                '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".',
                f"got {strategy!r}",
            )
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            hinted(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`.",
                "pass vectorize=True, or the default strategy",
            )
        )
    if strict and vectorize:
        raise RuntimeError(
            hinted(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
                "`strict=False` or `vectorize=False`.",
                "strict=True looks at each row",
            )
        )
