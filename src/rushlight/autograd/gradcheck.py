"""gradcheck: derivatives compared with finite differences, in float64."""

from __future__ import annotations

from ..base.errors import hinted
from ..ops.table import functions
from .gradients import grad
from .modes import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise."""


def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _differentiable(outputs):
    return [o for o in _as_tuple(outputs) if hasattr(o, "_edge") and (o.is_floating_point() or o.is_complex())]


def _steps(tensor):
    """The directions in which a tensor's elements can move: along the real axis, and the imaginary one if complex."""
    return (1.0, 1j) if tensor.is_complex() else (1.0,)


def _numerical(func, inputs, position, eps):
    """Central differences of all outputs when element after element of one input moves.

    Returns for each output a matrix with a row for each (direction, element) of the input.
    """
    flat = inputs[position].data.reshape(-1)  # `data` counts its own versions: graphs already made stay valid
    if flat._array.base is None and flat.numel():
        raise GradcheckError("gradcheck needs inputs whose elements can be moved in place: pass contiguous tensors")
    rows = []
    with no_grad():
        for direction in _steps(flat):
            for element in range(flat.numel()):
                before = flat[element].item()
                flat[element] = before + eps * direction
                high = [o.clone() for o in _differentiable(func(*inputs))]
                flat[element] = before - eps * direction
                low = [o.clone() for o in _differentiable(func(*inputs))]
                flat[element] = before
                rows.append([(a - b).reshape(-1) / (2 * eps) for a, b in zip(high, low)])
    return rows


def _analytical(output, tensor, retain):
    """Gradients of every element of an output (real, and imaginary if complex) with respect to one input."""
    found = []
    start = functions.zeros(output.shape, dtype=output.dtype)  # contiguous, so that `flat` is a view of it
    flat = start.reshape(-1)
    for direction in _steps(output):
        for element in range(flat.numel()):
            flat.zero_()
            flat[element] = direction
            (g,) = grad((output,), (tensor,), (start.clone(),), retain_graph=True, allow_unused=True)
            found.append(functions.zeros_like(tensor.detach()) if g is None else g.detach())
    return found


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
              check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
              check_backward_ad=True, fast_mode=False, masked=None):  # fmt: skip
    """Whether the gradients of ``func`` agree with finite differences at ``inputs``.

    Args:
        func: a function of Tensors that returns a Tensor or a tuple of them.
        inputs: a Tensor or a tuple; those that require grad are checked and should be float64 or complex128.
        eps: how far elements are moved.
        atol, rtol: allowed differences.
        raise_exception: raise GradcheckError with the two Jacobians, instead of returning False.

    Every element is moved on its own, also where ``fast_mode`` is set. ``check_forward_ad``, ``check_batched_grad`` and
    ``check_batched_forward_grad`` are not implemented and raise.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x ** 3, (x,))
    True
    """
    for name, wanted in (
        ("check_forward_ad", check_forward_ad),
        ("check_batched_grad", check_batched_grad),
        ("check_batched_forward_grad", check_batched_forward_grad),
    ):
        if wanted:
            raise NotImplementedError(hinted(f"gradcheck({name}=True) is not implemented", "leave the option away"))
    try:
        _check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(func, inputs, eps, atol, rtol, nondet_tol):
    wanted = [i for i, t in enumerate(inputs) if hasattr(t, "_edge") and t.requires_grad]
    if not wanted:
        raise ValueError(
            hinted("gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True.",
                   "pass requires_grad=True when making the inputs")
        )  # fmt: skip
    outputs = _differentiable(func(*inputs))
    for position in wanted:
        rows = _numerical(func, inputs, position, eps)
        for number, output in enumerate(outputs):
            analytical = _analytical(output, inputs[position], True) if output.requires_grad else None
            _compare(rows, analytical, number, output, inputs[position], position, atol, rtol)
            if analytical is not None and nondet_tol is not None:
                again = _analytical(output, inputs[position], True)
                if any((a - b).abs().max().item() > nondet_tol for a, b in zip(analytical, again) if a.numel()):
                    raise GradcheckError(
                        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                        "different values, although analytical gradient matches numerical gradient."
                    )


def _compare(rows, analytical, number, output, tensor, position, atol, rtol):
    """Each directional derivative against the inner product of gradient and direction."""
    size = output.numel()
    directions = _steps(tensor)
    for step, direction in enumerate(directions):
        for element in range(tensor.numel()):
            column = rows[step * tensor.numel() + element][number]
            for place in range(size):
                expected = complex(column[place].item())
                parts = []
                for which in range(len(_steps(output))):
                    if analytical is None:
                        parts.append(0.0)
                    else:
                        g = complex(analytical[which * size + place].reshape(-1)[element].item())
                        parts.append((g.conjugate() * direction).real)
                found = complex(parts[0], parts[1] if len(parts) > 1 else 0.0)
                if len(parts) == 1:
                    expected = complex(expected.real, 0.0)
                if not abs(found - expected) <= atol + rtol * abs(expected):
                    raise GradcheckError(
                        hinted(
                            f"Jacobian mismatch for output {number} with respect to input {position},",
                            f"element {place} of the output by element {element} of the input: numerical {expected}, analytical {found}",
                        )
                    )


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
                  raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False,
                  check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False):  # fmt: skip
    """Whether second derivatives of ``func`` agree with finite differences of the first ones.

    Arguments as for `gradcheck`; ``grad_outputs`` defaults to random tensors of the outputs' shapes.
    """
    inputs = _as_tuple(inputs)
    outputs = _differentiable(func(*inputs))
    if grad_outputs is None:
        starts = tuple(functions.randn_like(o.detach()).requires_grad_(True) for o in outputs)
    else:
        starts = _as_tuple(grad_outputs)
    wanted = [i for i, t in enumerate(inputs) if hasattr(t, "_edge") and t.requires_grad]

    @enable_grad()
    def first_derivatives(*arguments):
        values, flows = arguments[: len(inputs)], arguments[len(inputs) :]
        found = _differentiable(func(*values))
        tracked = [(o, f) for o, f in zip(found, flows) if o.requires_grad]
        gradients = grad(
            [o for o, _ in tracked],
            [values[i] for i in wanted],
            [f for _, f in tracked],
            create_graph=True,
            allow_unused=True,
        )
        return tuple(g for g in gradients if g is not None)

    return gradcheck(
        first_derivatives,
        (*inputs, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
    )
