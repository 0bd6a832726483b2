"""gradcheck: derivatives compared with finite differences, in float64."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..base.errors import hinted
from ..ops.table import functions
from . import forward_ad
from .function import Function
from .gradients import grad
from .jacobian_checks import Comparison, GradcheckError, floating, is_tensor

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(func: Callable[..., Tensor | Sequence[Tensor]], inputs: Tensor | Sequence[Tensor], *, eps: float=1e-6, atol: float=1e-5, rtol: float=1e-3, raise_exception: bool=True, nondet_tol: float=0.0, check_undefined_grad: bool=True,
              check_grad_dtypes: bool=False, check_batched_grad: bool=False, check_batched_forward_grad: bool=False, check_forward_ad: bool=False,
              check_backward_ad: bool=True, fast_mode: bool=False, masked: bool | None=None) -> bool:  # fmt: skip
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
        check_grad_dtypes: gradients must have the dtype of their inputs.
        check_batched_grad: gradients of a batch under ``vmap`` must be those of its entries.
        check_forward_ad: also compare forward mode; check_batched_forward_grad: that too under ``vmap``.
        check_backward_ad: False leaves backward out.
        fast_mode: compare one random projection of the Jacobian instead of every element.
        masked: allow gradients of a zero gradient to be nearly zero; for sparse tensors in PyTorch.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x ** 3, (x,))
    True
    """
    _require(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
        "leave check_backward_ad away",
    )
    _require(
        check_backward_ad or not check_batched_grad,
        "Setting check_batched_grad=True requires check_backward_ad to be True",
        "leave check_backward_ad away",
    )
    _require(
        check_forward_ad or not check_batched_forward_grad,
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
        "pass check_forward_ad=True",
    )
    settings = SimpleNamespace(
        eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol, undefined=check_undefined_grad, masked=masked,
        check_grad_dtypes=check_grad_dtypes, fast=fast_mode, backward=check_backward_ad, forward=check_forward_ad,
        batched=check_batched_grad, batched_forward=check_batched_forward_grad,
    )  # fmt: skip
    try:
        _check(func, _as_tuple(inputs), settings)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Tensor | Sequence[Tensor]], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None=None, *, eps: float=1e-6, atol: float=1e-5, rtol: float=1e-3, gen_non_contig_grad_outputs: bool=False,
                  raise_exception: bool=True, nondet_tol: float=0.0, check_undefined_grad: bool=True, check_grad_dtypes: bool=False,
                  check_batched_grad: bool=False, check_fwd_over_rev: bool=False, check_rev_over_rev: bool=True, fast_mode: bool=False, masked: bool=False) -> bool:  # fmt: skip
    """Whether second derivatives of ``func`` agree with finite differences of the first ones.

    Arguments as for `gradcheck`; ``grad_outputs`` defaults to random tensors of the outputs' shapes, with
    ``gen_non_contig_grad_outputs`` non-contiguous ones. ``check_fwd_over_rev`` compares the derivatives in forward mode of
    the gradients, ``check_rev_over_rev`` the gradients of the gradients.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    _require(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
        "leave check_rev_over_rev away",
    )
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        _require(
            check_rev_over_rev or not wanted,
            f"Setting {name}=True requires check_rev_over_rev to be True",
            f"pass {name}=False",
        )
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        outputs = [o for o in _as_tuple(func(*inputs)) if o.requires_grad]
        starts = tuple(_random_start(o.detach(), gen_non_contig_grad_outputs) for o in outputs)
    else:
        starts = _as_tuple(grad_outputs)
    wanted = [i for i, value in enumerate(inputs) if is_tensor(value) and value.requires_grad]
    flowing = [i for i, start in enumerate(starts) if start.requires_grad]

    def first_derivatives(*arguments):
        values, flows = list(arguments[: len(inputs)]), list(arguments[len(inputs) :])
        for given, numbers in ((values, wanted), (flows, flowing)):
            for i in numbers:
                given[i] = given[i].requires_grad_()
        outputs = [o for o in _as_tuple(func(*values)) if o.requires_grad]
        found = grad(outputs, [values[i] for i in wanted], flows, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        first_derivatives, (*inputs, *starts), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def _require(condition, first_line, hint):
    if not condition:
        raise AssertionError(hinted(first_line, hint))


def _as_tuple(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _random_start(output, strided):
    values = functions.rand_like(output) * 2 - (1 + 1j if output.is_complex() else 1)
    if strided and values.numel() > 1:
        values = functions.stack([values, values], -1)[..., 0]
    return values.requires_grad_()


def _check(func, inputs, settings):
    """All checks that the ``settings`` ask for."""
    _check_inputs(inputs)
    outputs = [o for o in _as_tuple(func(*inputs)) if is_tensor(o) and o.requires_grad]
    for comparison in (*_backward_comparisons(func, inputs, settings), *_forward_comparisons(func, inputs, settings)):
        if settings.fast:
            comparison.check_projection()
        else:
            comparison.check_elements()
        if comparison.forward and settings.undefined:
            _check_absent_tangents(comparison)
    tensors = [value for value in inputs if is_tensor(value) and value.requires_grad]
    if settings.batched_forward:
        _check_batched_tangents(func, inputs)
    if settings.backward:
        if settings.batched:
            for number, output in enumerate(outputs):
                _check_batched_gradients(output, tensors, number)
        _check_zero_gradients(outputs, tensors, settings.masked)
        if settings.undefined:
            _check_absent_gradients(func, inputs, tensors)


def _check_inputs(inputs):
    tracked = [(i, value) for i, value in enumerate(inputs) if is_tensor(value) and value.requires_grad]
    for position, tensor in tracked:
        if tensor.dtype.name not in ("float64", "complex128"):
            warnings.warn(
                hinted(
                    f"Input #{position} requires gradient and is not a double precision floating point or complex. This check will likely "
                    "fail if all the inputs are not of double precision floating point or complex. ",
                    f"it is {tensor.dtype!r}: make it with dtype=torch.float64",
                ),
                stacklevel=4,
            )
        if any(step == 0 and length > 1 for step, length in zip(tensor.stride(), tensor.shape)):
            raise RuntimeError(
                hinted(
                    f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                    "be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                    "to gradcheck.",
                    "an expanded tensor's elements cannot be moved one by one",
                )
            )
    if not tracked:
        raise ValueError(
            hinted(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.",
                "pass requires_grad=True when making the inputs",
            )
        )


# ---------------------------------------------------------------- real functions of what is complex


def _backward_comparisons(func, inputs, settings):
    """Backward is checked for real outputs: of complex ones the imaginary parts, then the real ones."""
    if not settings.backward:
        return
    results = _as_tuple(func(*inputs))
    if not any(is_tensor(each) and each.is_complex() for each in results):
        yield Comparison(func, inputs, settings)
        return
    tracked = [each for each in results if is_tensor(each) and each.requires_grad]
    complex_ones = [number for number, each in enumerate(tracked) if each.is_complex()]
    for part in ("imaginary", "real"):

        def of_part(*values, part=part):
            return tuple(_part(each, part) for each in _as_tuple(func(*values)))

        yield Comparison(of_part, inputs, settings, complex_ones, part)


def _forward_comparisons(func, inputs, settings):
    """Forward mode is checked for real inputs: of complex ones the imaginary parts, then the real ones."""
    if not settings.forward:
        return
    complex_ones = [i for i, value in enumerate(inputs) if is_tensor(value) and value.is_complex()]
    if not complex_ones:
        yield Comparison(func, inputs, settings, forward=True)
        return
    for part in ("imaginary", "real"):

        def of_part(*values, part=part):
            values = list(values)
            for i in complex_ones:
                whole, given = inputs[i], values[i]
                values[i] = whole.real + given * 1j if part == "imaginary" else given + whole.imag * 1j
            return func(*values)

        yield Comparison(of_part, [_part(value, part) for value in inputs], settings, complex_ones, part, forward=True)


def _part(value, part):
    if not (is_tensor(value) and value.is_complex()):
        return value
    return value.imag if part == "imaginary" else value.real


# ---------------------------------------------------------------- what else must hold


def _check_zero_gradients(outputs, tensors, masked):
    """A gradient of zero must give gradients of zero."""
    if not outputs:
        return
    found = grad(
        outputs, tensors, [functions.zeros_like(o.detach()) for o in outputs], retain_graph=True, allow_unused=True
    )
    for gradient in found:
        if gradient is None:
            continue
        wrong = not functions.allclose(gradient, functions.zeros_like(gradient)) if masked else (gradient != 0).any()
        if wrong:
            raise GradcheckError(
                hinted("backward not multiplied by grad_output", "what backward returns must be linear in its gradient")
            )


class _Absent(Function):
    """The identity, through which no gradient flows back: not even zeros."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Any:
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> None:
        return None


def _check_absent_gradients(func, inputs, tensors):
    """Backward must cope with outputs that nothing flowed into: all of them, and one at a time."""
    count = len([o for o in _as_tuple(func(*inputs)) if is_tensor(o) and o.requires_grad])
    for absent in [range(count), *([number] for number in range(count) if count > 1)]:
        outputs = [o for o in _as_tuple(func(*inputs)) if is_tensor(o) and o.requires_grad]
        outputs = [_Absent.apply(o) if number in absent else o for number, o in enumerate(outputs)]
        starts = [functions.zeros_like(o.detach()) for o in outputs]
        try:
            found = grad(outputs, tensors, starts, allow_unused=True) if outputs else ()
        except RuntimeError as error:
            _warn_of_absent()
            raise GradcheckError(
                hinted(
                    'Expected backward function to handle undefined output grads. Please look at "Notes about undefined output '
                    'gradients" in "tools/autograd/derivatives.yaml"',
                    f"backward raised {error!r} where a gradient was None",
                )
            ) from error
        if any(gradient is not None and (gradient != 0).any() for gradient in found):
            _warn_of_absent()
            raise GradcheckError(
                hinted(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
                    '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"',
                    "backward returned something else than zeros where every gradient was None or zero",
                )
            )


def _warn_of_absent():
    warnings.warn(
        hinted(
            "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
            'callers of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable '
            "the feature",
            "backward is given None for an output that nothing flowed into, where set_materialize_grads(False) was called",
        ),
        stacklevel=5,
    )


def _check_absent_tangents(comparison):
    """Forward mode must take an input without a tangent for one whose tangent is zero."""
    tangents = {
        position: functions.ones_like(tensor.detach())
        for position, tensor in zip(comparison.positions, comparison.tensors)
    }
    for position, tensor in zip(comparison.positions, comparison.tensors):
        others = {at: tangent for at, tangent in tangents.items() if at != position}
        zero = comparison.tangents({**others, position: functions.zeros_like(tensor.detach())})
        absent = comparison.tangents(others)
        for number, (first, second) in enumerate(zip(zero, absent)):
            if not functions.allclose(first, second):
                raise GradcheckError(
                    hinted(
                        f"Mismatch in tangent values for output with index: {number} when input: {tensor} has an undefined tangent "
                        f"value.  Got: {first} but expected: {second}",
                        "an input without a tangent counts as one with a tangent of zeros",
                    )
                )


def _check_batched_gradients(output, tensors, number):
    """The gradients of two starts, computed together under ``vmap``, must be those computed one after the other."""

    def backward(start):
        found = grad(output, tensors, start, retain_graph=True, allow_unused=True)
        return tuple(functions.zeros_like(t) if g is None else g for g, t in zip(found, tensors))

    starts = [functions.randn_like(output.detach()) for _ in range(2)]
    _check_batched(backward, starts, f"For output {number} and input", "check_batched_grad")


def _check_batched_tangents(func, inputs):
    """The tangents in two directions, computed together under ``vmap``, must be those computed one after the other."""
    for position, tensor in enumerate(inputs):
        if not (is_tensor(tensor) and tensor.requires_grad):
            continue

        def forward(tangent, position=position):
            with forward_ad.dual_level():
                values = [value.detach() if is_tensor(value) else value for value in inputs]
                values[position] = forward_ad.make_dual(values[position], tangent)
                pairs = [forward_ad.unpack_dual(result) for result in floating(func(*values))]
                return tuple(functions.zeros_like(value) if t is None else t for value, t in pairs)

        directions = [functions.randn_like(tensor.detach()) for _ in range(2)]
        _check_batched(forward, directions, f"For input {position} and output", "check_batched_forward_grad")


def _check_batched(derivative, starts, what, option):
    expected = [functions.stack(parts) for parts in zip(*[derivative(start) for start in starts])]
    try:
        found = functions.vmap(derivative)(functions.stack(starts))
    except RuntimeError as error:
        raise GradcheckError(
            hinted(
                f"While computing batched gradients, got: {error}",
                f"an operation of the derivative cannot be batched; pass {option}=False to leave this check out",
            )
        ) from error
    for number, (ours, theirs) in enumerate(zip(found, expected)):
        if not functions.allclose(ours, theirs):
            raise GradcheckError(
                hinted(
                    f"{what} {number}:",
                    f"batched under vmap the derivative is {ours}, one by one {theirs}; pass {option}=False to leave this check out",
                )
            )
