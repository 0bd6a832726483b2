"""gradcheck: derivatives compared with finite differences, in float64."""

from __future__ import annotations

import itertools

from ..base.errors import hinted
from ..ops.table import functions
from .gradients import grad


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise."""


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):  # fmt: skip
    """Whether the gradients of ``func`` agree with finite differences at ``inputs``.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs: a Tensor or a tuple; those that require grad are checked and should be float64 or complex128. Their elements
            are moved in place meanwhile.
        eps: how far elements are moved.
        atol, rtol: allowed differences.
        raise_exception: raise GradcheckError with the two Jacobians, instead of returning False.
        nondet_tol: how much two backward runs may differ.
        check_undefined_grad: also run backward with gradients that are absent for some outputs.
        fast_mode: compare one random projection of the Jacobian instead of every element.

    ``check_forward_ad``, ``check_batched_grad`` and ``check_batched_forward_grad`` are not implemented and raise.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x ** 3, (x,))
    True
    """
    _refuse_options(
        check_forward_ad=check_forward_ad,
        check_batched_grad=check_batched_grad,
        check_batched_forward_grad=check_batched_forward_grad,
    )
    if not check_backward_ad:
        raise AssertionError(
            hinted(
                "Expected at least one of check_forward_ad or check_backward_ad to be True",
                "leave check_backward_ad away",
            )
        )
    inputs = _as_tuple(inputs)
    try:
        positions = _check_inputs(inputs)
        compare = _compare_projection if fast_mode else _compare_jacobians
        outputs = compare(func, inputs, positions, eps, atol, rtol)
        _check_repeatable(outputs, [inputs[i] for i in positions], nondet_tol)
        if check_undefined_grad:
            _check_absent_gradients(func, inputs, positions)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
                  check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):  # fmt: skip
    """Whether second derivatives of ``func`` agree with finite differences of the first ones.

    Arguments as for `gradcheck`; ``grad_outputs`` defaults to random tensors of the outputs' shapes, with
    ``gen_non_contig_grad_outputs`` non-contiguous ones.
    """
    _refuse_options(check_batched_grad=check_batched_grad, check_fwd_over_rev=check_fwd_over_rev)
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        starts = tuple(_random_start(o.detach(), gen_non_contig_grad_outputs).requires_grad_(True) for o in outputs)
    else:
        starts = _as_tuple(grad_outputs)
    wanted = [i for i, t in enumerate(inputs) if hasattr(t, "_edge") and t.requires_grad]

    def first_derivatives(*arguments):
        values, flows = arguments[: len(inputs)], arguments[len(inputs) :]
        pairs = [(o, flow) for o, flow in zip(_differentiable(func(*values)), flows) if o.requires_grad]
        roots, gradients = zip(*pairs) if pairs else ((), ())
        found = grad(roots, [values[i] for i in wanted], gradients, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_derivatives, (*inputs, *starts), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, fast_mode=fast_mode,
    )  # fmt: skip


def _refuse_options(**options):
    for name, wanted in options.items():
        if wanted:
            raise NotImplementedError(hinted(f"gradcheck({name}=True) is not implemented", "leave the option away"))


def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(outputs):
    return [o for o in _as_tuple(outputs) if o.requires_grad or o.is_floating_point() or o.is_complex()]


def _random_start(output, strided):
    found = functions.randn_like(output)
    return functions.stack([found, found], -1)[..., 0] if strided else found


def _check_inputs(inputs):
    """The positions of the inputs to check."""
    positions = [i for i, t in enumerate(inputs) if hasattr(t, "_edge") and t.requires_grad]
    if not positions:
        raise ValueError(
            hinted(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
                "pass requires_grad=True when making the inputs",
            )
        )
    for position in positions:
        tensor = inputs[position]
        if any(step == 0 and length > 1 for step, length in zip(tensor.stride(), tensor.shape)):
            raise RuntimeError(
                hinted(
                    f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                    "be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                    "to gradcheck.",
                    "an expanded tensor's elements cannot be moved one by one",
                )
            )
    return positions


def _evaluate(func, inputs):
    """Copies of the differentiable outputs."""
    return [o.detach().clone() for o in _differentiable(func(*inputs))]


# ---------------------------------------------------------------- every element


def _directions(tensor):
    """Where an element can move: along the real axis, and the imaginary one if it is complex."""
    return (1.0, 1j) if tensor.is_complex() else (1.0,)


def _numerical(func, inputs, tensor, eps):
    """Central differences of the outputs: for each direction and element of ``tensor`` a list with one for each output."""
    memory = tensor.data  # its writes do not count as versions
    rows = []
    for direction in _directions(tensor):
        for place in itertools.product(*map(range, tensor.shape)):
            before = memory[place].clone()
            memory[place] = before + eps * direction
            high = _evaluate(func, inputs)
            memory[place] = before - eps * direction
            low = _evaluate(func, inputs)
            memory[place] = before
            rows.append([(a - b).reshape(-1) / (2 * eps) for a, b in zip(high, low)])
    return rows


def _analytical(output, tensors):
    """The gradients of every element of ``output``, for complex ones also times 1j: a list of matrices, one a tensor."""
    found = []
    for direction in _directions(output):
        for place in itertools.product(*map(range, output.shape)):
            start = functions.zeros_like(output.detach())
            start[place] = direction
            gradients = grad(output, tensors, start, retain_graph=True, materialize_grads=True)
            found.append([g.detach().reshape(-1) for g in gradients])
    return [functions.stack(rows) if rows else None for rows in zip(*found)] or [None] * len(tensors)


def _compare_jacobians(func, inputs, positions, eps, atol, rtol):
    outputs = _differentiable(func(*inputs))
    tensors = [inputs[i] for i in positions]
    analytical = [_analytical(o, tensors) if o.requires_grad else [None] * len(tensors) for o in outputs]
    for column, position in enumerate(positions):
        tensor = tensors[column]
        rows = _numerical(func, inputs, tensor, eps)
        for number, output in enumerate(outputs):
            if output.numel() and tensor.numel():
                differences = functions.stack([row[number] for row in rows])
                _compare_one(differences, analytical[number][column], output, tensor, (number, position), atol, rtol)
    return outputs


def _compare_one(numerical, analytical, output, tensor, where, atol, rtol):
    """Each directional derivative of the output against the inner product of gradient and direction."""
    size, count = tensor.numel(), output.numel()
    if analytical is None:
        if numerical.abs().max().item() > atol:
            raise GradcheckError(
                hinted(
                    "Numerical gradient for function expected to be zero", f"output {where[0]} does not require grad"
                )
            )
        return
    for step in range(len(_directions(tensor))):
        moved = numerical[step * size : (step + 1) * size]
        for which in reversed(range(len(_directions(output)))):
            part = analytical[which * count : (which + 1) * count].T
            expected = (moved.imag if which else moved.real) if moved.is_complex() else moved
            found = (part.imag if step else part.real) if part.is_complex() else part
            if not functions.allclose(found, expected, rtol, atol):
                _mismatch(where, expected, found, "imaginary" if which else "real" if output.is_complex() else None)


def _mismatch(where, expected, found, part=None):
    prefix = f"While considering the {part} part of complex outputs only, " if part else ""
    raise GradcheckError(
        hinted(
            f"{prefix}Jacobian mismatch for output {where[0]} with respect to input {where[1]},\n"
            f"numerical:{expected}\nanalytical:{found}",
            "the rule of an operation in the function is wrong, or the function is not smooth there, or not in float64",
        )
    )


# ---------------------------------------------------------------- one projection


def _compare_projection(func, inputs, positions, eps, atol, rtol):
    """Compare ``v . J u`` for random ``u`` and ``v``: two calls of the function for each input."""
    outputs = _differentiable(func(*inputs))
    tensors = [inputs[i] for i in positions]
    weights = [functions.rand_like(o.detach()) for o in outputs]
    for number, (output, weight) in enumerate(zip(outputs, weights)):
        if not output.requires_grad:
            continue
        gradients = grad(output, tensors, weight, retain_graph=True, materialize_grads=True)
        for position, tensor, gradient in zip(positions, tensors, gradients):
            step = functions.rand_like(tensor.detach())
            memory, before = tensor.data, tensor.detach().clone()
            memory.copy_(before + eps * step)
            high = _evaluate(func, inputs)[number]
            memory.copy_(before - eps * step)
            low = _evaluate(func, inputs)[number]
            memory.copy_(before)
            expected, found = _inner(weight, (high - low) / (2 * eps)), _inner(gradient.detach(), step)
            if not abs(found - expected) <= atol + rtol * abs(expected):
                _mismatch((number, position), expected, found)
    return outputs


def _inner(a, b):
    """The real inner product of two tensors, complex numbers taken as pairs."""
    product = a.conj() * b
    return (product.real if product.is_complex() else product).sum().item()


# ---------------------------------------------------------------- what else must hold


def _check_repeatable(outputs, tensors, tolerance):
    tracked = [o for o in outputs if o.requires_grad]
    if not tracked:
        return
    starts = [functions.rand_like(o.detach()) for o in tracked]
    first, second = (grad(tracked, tensors, starts, retain_graph=True, materialize_grads=True) for _ in range(2))
    if any(a.numel() and (a - b).abs().max().item() > tolerance for a, b in zip(first, second)):
        raise GradcheckError(
            hinted(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                "values, although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {tolerance}.",
                "backward must not draw random numbers or change what it saved",
            )
        )


def _check_absent_gradients(func, inputs, positions):
    """Backward must cope with outputs that nothing flowed into: with none at all, and with one at a time."""
    outputs = [o for o in _differentiable(func(*inputs)) if o.requires_grad]
    nodes = {id(o.grad_fn) for o in outputs if o.grad_fn is not None}
    if len(outputs) < 2 or len(nodes) != 1:
        return
    tensors = [inputs[i] for i in positions]
    for output in outputs:
        grad(output, tensors, functions.zeros_like(output.detach()), retain_graph=True, allow_unused=True)
