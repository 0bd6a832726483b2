"""``torch.autograd.functional``: Jacobians, Hessians and their products with vectors, of functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import hinted
from ..ops.table import functions
from . import forward_ad
from .gradients import grad
from .modes import enable_grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Callable[..., Any]] | tuple[Any, Callable[..., Any], Any]:
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
        call = _Call(func, inputs, "vjp", create_graph, strict).evaluated()
        v = call.vector(v, call.outputs, "the user-provided function returns a single Tensor with a single element")
        found = _gradients(call.outputs, call.inputs, v, create_graph)
        return call.finish(call.outputs), call.finish(call.filled(found, "back"), call.one_input)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any] | tuple[Any, Any, Any]:
    """``(func(*inputs), J . v)``: the outputs and the product of the Jacobian with ``v``, by differentiating twice backwards.

    ``v`` is a tensor for each input; it may be left away for a single input of one element. Otherwise as `vjp`.

    >>> import rushlight as torch
    >>> torch.autograd.functional.jvp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    with enable_grad():
        call = _Call(func, inputs, "jvp", create_graph, strict)
        v = call.vector(v, call.inputs, _SINGLE_INPUT)
        call.evaluated()
        # v . J is linear in v: its derivative by v, in the direction given, is J . direction.
        flows = tuple(functions.zeros_like(out).requires_grad_(True) for out in call.outputs)
        first = _gradients(call.outputs, call.inputs, flows, True)
        if strict:
            _check_flowing(first)
        first = call.filled(first)
        found = _gradients(first, flows, v, create_graph)
        if strict:
            call.check_filled(found, "back_trick")
        found = tuple(functions.zeros_like(out) if g is None else g for g, out in zip(found, call.outputs))
        return call.finish(call.outputs), call.finish(found)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: for output shape S and input shape T a tensor of shape ``S + T``.

    Several inputs or outputs give (nested) tuples: first by output, then by input.

    Args:
        func, inputs, create_graph, strict: as for `vjp`.
        vectorize: compute all rows in one batched pass, under ``vmap``: faster, and needs memory for all.
        strategy: "reverse-mode" differentiates each output, "forward-mode" (with ``vectorize``) by each input.

    >>> import rushlight as torch
    >>> torch.autograd.functional.jacobian(lambda x: x ** 2, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy == "forward-mode":
        _check_forward(create_graph, strict, vectorize)
        return _forward_jacobian(func, inputs)
    if strategy != "reverse-mode":
        raise AssertionError(
            hinted(
                'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
                '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".',
                f"got {strategy!r}",
            )
        )
    with enable_grad():
        call = _Call(func, inputs, "jacobian", create_graph, strict).evaluated()
        rows = call.all_rows() if vectorize else [call.rows(number) for number in range(len(call.outputs))]
        rows = tuple(call.finish(each, call.one_input) for each in rows)
        return rows[0] if call.one_output else rows


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Callable[..., Any]:
    """The second derivatives of a function with one output of one element: for input shape T a tensor of shape ``T + T``.

    Several inputs give nested tuples. Arguments as for `jacobian`.

    >>> import rushlight as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    one_input = hasattr(inputs, "_edge")
    _tensors(inputs, "The inputs given to hessian", "the given inputs")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            hinted(
                'Expected strategy to be either "forward-mode" or "reverse-mode".', f"got {outer_jacobian_strategy!r}"
            )
        )

    def first_derivatives(*arguments):
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple(argument.requires_grad_() for argument in arguments)
        call = _Call(func, arguments, "hessian", True, strict, fresh=False).evaluated()
        call.check_scalar()
        found = call.filled(_gradients(call.outputs, arguments, None, True))
        if strict:
            _check_twice(found)
        return found

    found = jacobian(first_derivatives, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found[0] if one_input else found


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """``(func(*inputs), v . H)`` for a function with one output of one element; ``v`` is a tensor for each input.

    >>> import rushlight as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]), torch.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
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
        call.evaluated()
        call.check_scalar()
        first = _gradients(call.outputs, call.inputs, None, True)
        if strict:
            _check_twice(first)
        first = call.filled(first)
        stage = "double_back" if name == "vhp" else "double_back_trick"
        found = call.filled(_gradients(first, call.inputs, v, create_graph), stage)
        return call.finish(call.outputs), call.finish(found, call.one_input)


_SINGLE_INPUT = "the input to the user-provided function is a single Tensor with a single element"


# What is absent in strict mode, by the stage of the computation.
_ABSENT = {
    "back": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "back_trick": "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode.",
    "double_back": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD.",
}


class _Call:
    """One evaluation of the user's function on inputs of its own: checked, and ready to be differentiated."""

    def __init__(self, func, inputs, name, create_graph, strict, fresh=True):
        self.func, self.name, self.create_graph, self.strict = func, name, create_graph, strict
        self.one_input = hasattr(inputs, "_edge")
        inputs = _tensors(inputs, f"The inputs given to {name}", "the given inputs")
        self.inputs = tuple(_fresh(tensor, create_graph) for tensor in inputs) if fresh else inputs
        self.outputs = None

    def evaluated(self):
        """The call with the function's outputs, which are checked."""
        outputs, name, strict = self.func(*self.inputs), self.name, self.strict
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
        return self

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
            alone = self.one_output if like is self.outputs else self.one_input
            raise RuntimeError(
                hinted(
                    "The given v should contain a single Tensor."
                    if alone
                    else f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}.",
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

    def filled(self, found, stage=None):
        """Gradients by the inputs, zeros for those that the outputs do not depend on; strictly none, at a ``stage``."""
        if self.strict and stage is not None:
            self.check_filled(found, stage)
        return tuple(functions.zeros_like(t) if g is None else g for g, t in zip(found, self.inputs))

    def check_filled(self, found, stage):
        """Refuse gradients that are absent, or constant where they should be differentiated again."""
        for number, gradient in enumerate(found):
            if gradient is None:
                raise RuntimeError(hinted(_ABSENT[stage].format(number), "strict=False takes that derivative as zero"))
            if self.create_graph and not gradient.requires_grad:
                what = "hessian" if "double" in stage else "jacobian"
                raise RuntimeError(
                    hinted(
                        f"The {what} of the user-provided function is independent of input {number}. This is not allowed in strict mode "
                        "when create_graph=True.",
                        "strict=False takes its derivatives as zero",
                    )
                )

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
                if self.strict and self.create_graph and not gradient.requires_grad:
                    raise RuntimeError(
                        hinted(
                            f"The jacobian of the user-provided function is independent of input {number}. This is not allowed in strict "
                            "mode when create_graph=True.",
                            "strict=False takes its derivatives as zero",
                        )
                    )
                rows[place].append(functions.zeros_like(self.inputs[place]) if gradient is None else gradient)
        return tuple(
            functions.stack(parts).view(output.shape + tensor.shape)
            if parts
            else functions.zeros(output.shape + tensor.shape)
            for parts, tensor in zip(rows, self.inputs)
        )

    def all_rows(self):
        """The Jacobian of each output by each input, all rows in one batched pass."""
        if self.strict:
            raise RuntimeError(
                hinted(
                    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either "
                    "set `strict=False` or `vectorize=False`.",
                    "strict=True looks at each row",
                )
            )
        sizes = [output.numel() for output in self.outputs]
        starts = [_unit_rows(output, sizes, number) for number, output in enumerate(self.outputs)]
        tracked = [number for number, output in enumerate(self.outputs) if output.requires_grad]
        found = [None] * len(self.inputs)
        if tracked:
            roots = [self.outputs[number].reshape(-1) for number in tracked]
            flows = [starts[number] for number in tracked]
            found = grad(
                roots, self.inputs, flows, create_graph=self.create_graph, allow_unused=True, is_grads_batched=True
            )
        found = [
            functions.zeros((sum(sizes), *tensor.shape), dtype=tensor.dtype) if gradient is None else gradient
            for gradient, tensor in zip(found, self.inputs)
        ]
        parts = zip(*[gradient.split(sizes) for gradient in found])
        return [
            tuple(part.reshape(output.shape + tensor.shape) for part, tensor in zip(row, self.inputs))
            for row, output in zip(parts, self.outputs)
        ]

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


def _check_flowing(gradients):
    """Refuse gradients, of outputs by inputs, that do not depend on where they started from."""
    for number, gradient in enumerate(gradients):
        if gradient is None or not gradient.requires_grad:
            first = (
                _ABSENT["back"].format(number)
                if gradient is None
                else f"The gradient with respect to input {number} is independent of the inputs of the user-provided function. This "
                "is not allowed in strict mode."
            )
            raise RuntimeError(hinted(first, "strict=False takes that derivative as zero"))


def _check_twice(gradients):
    for number, gradient in enumerate(gradients):
        if gradient is None:
            raise RuntimeError(hinted(_ABSENT["back"].format(number), "strict=False takes that derivative as zero"))
        if not gradient.requires_grad:
            raise RuntimeError(
                hinted(
                    f"While computing the hessian, found that the jacobian of the user-provided function with respect to input {number} is "
                    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
                    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
                    "example).",
                    "strict=False takes the second derivative as zero",
                )
            )


def _unit_rows(output, sizes, number):
    """The gradients of output ``number`` that select each element of all outputs in turn: a row for each element."""
    start = sum(sizes[:number])
    rows = functions.zeros((sum(sizes), sizes[number]), dtype=output.dtype)
    rows.diagonal(-start).fill_(1)
    return rows


def _check_forward(create_graph, strict, vectorize):
    """Refuse the arguments of `jacobian` that "forward-mode" does not go with."""
    for refused, name in ((create_graph, "create_graph"), (strict, "strict")):
        if refused:
            error = NotImplementedError if name == "create_graph" else RuntimeError
            raise error(
                hinted(
                    f'torch.autograd.functional.jacobian: `{name}=True` and `strategy="forward-mode"` are not supported together (yet). '
                    f'Please either set `{name}=False` or `strategy="reverse-mode"`.',
                    "torch.func.jacfwd gives derivatives in forward mode that can be differentiated again",
                )
            )
    if not vectorize:
        raise NotImplementedError(
            hinted(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`.",
                "pass vectorize=True, or the default strategy",
            )
        )


def _forward_jacobian(func, inputs):
    """`jacobian` by forward mode: the tangents in the direction of every element of the inputs, in one batched pass."""
    one_input = hasattr(inputs, "_edge")
    inputs = _tensors(inputs, "The inputs given to jacobian", "the given inputs")
    sizes = [tensor.numel() for tensor in inputs]
    seen = {}

    def tangents_of(*directions):
        with forward_ad.dual_level():
            pairs = zip(inputs, directions)
            outputs = func(*[forward_ad.make_dual(tensor, row.reshape(tensor.shape)) for tensor, row in pairs])
            seen["one"] = hasattr(outputs, "_edge")
            outputs = _tensors(outputs, "The outputs given to None", "the given outputs")
            unpacked = [forward_ad.unpack_dual(output) for output in outputs]
            return tuple(functions.zeros_like(value) if tangent is None else tangent for value, tangent in unpacked)

    rows = [_unit_rows(tensor, sizes, number) for number, tensor in enumerate(inputs)]
    found = []
    for columns in functions.vmap(tangents_of)(*rows):
        parts = [part.movedim(0, -1) for part in columns.split(sizes)]
        parts = [part.reshape(part.shape[:-1] + tensor.shape) for part, tensor in zip(parts, inputs)]
        found.append(parts[0] if one_input else parts)
    if seen["one"]:
        return found[0]
    return tuple(found) if one_input else found  # lists where PyTorch gives lists
