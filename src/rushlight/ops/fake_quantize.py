"""Numbers rounded as quantized ones would be: what training with quantized weights computes with."""

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from .elementwise.checks import INTEGERS
from .table import composite, functions, op, widened

_ZERO_POINTS = (dtypes.int32, dtypes.float32, dtypes.float16)


def _check_range(quant_min, quant_max, lowest, highest):
    if quant_min > quant_max:
        # PyTorch's line has these blanks.
        raise RuntimeError(
            hinted(
                "`quant_min` should be less than or         equal to `quant_max`.",
                f"they are {quant_min} and {quant_max}",
            )
        )
    if lowest < quant_min or highest > quant_max:
        message = "`zero_point` must be between `quant_min` and `quant_max`."
        raise RuntimeError(hinted(message, f"it is the number that stands for 0, among {quant_min} to {quant_max}"))


def _values(self, steps, scale, zero_point, quant_min, quant_max):
    """The numbers that ``steps`` stand for, and which of them are within the range."""
    inside = (steps >= quant_min) & (steps <= quant_max)
    kept = np.fmin(np.fmax(steps, quant_min), quant_max)
    return ((kept - zero_point) * scale).astype(self.dtype), inside


def _per_tensor(self, scale, zero_point, quant_min, quant_max):
    scale = np.float32(scale)
    with np.errstate(all="ignore"):
        steps = np.rint(widened(self) * (np.float32(1) / scale)) + np.float32(zero_point)
    return _values(self, steps, scale, np.float32(zero_point), quant_min, quant_max)


def _d_self(grad, result1):
    return grad * result1


@op("fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor[]",
    names=(), node="FakeQuantizePerTensorAffineCachemaskBackward0", refuse=INTEGERS)  # fmt: skip
class fake_quantize_by_numbers:
    """The tensor in steps of ``scale`` from ``zero_point``, and where it was within the range."""

    kernel = "fake_quantize_tensor_cachemask_kernel_type_handling"
    forward, d_self = _per_tensor, _d_self


@op("fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor[]",
    names=(), node="FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0", refuse=INTEGERS)  # fmt: skip
class fake_quantize_by_tensors:
    """As with numbers, which were given as tensors of one element."""

    kernel = "fake_quantize_tensor_cachemask_kernel_type_handling"
    forward, d_self = _per_tensor, _d_self


@op("fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max) -> Tensor[]",
    names=(), node="FakeQuantizePerChannelAffineCachemaskBackward0", refuse=INTEGERS)  # fmt: skip
class fake_quantize_by_channels:
    """The tensor in steps of a scale from a zero point for each index of ``axis``, and where it was within the range."""

    kernel = "fake_quantize_channel_cachemask_cpu_type_handling"

    def forward(self, scale, zero_point, axis, quant_min, quant_max):
        shape = [1] * self.ndim
        shape[axis] = -1
        whole = zero_point.dtype.kind == "i"
        scale, zero_point = (each.reshape(shape).astype(np.float32) for each in (scale, zero_point))
        with np.errstate(all="ignore"):
            scaled = widened(self) * (np.float32(1) / scale)
            # A zero point that is no integer shifts before rounding.
            steps = np.rint(scaled) + zero_point if whole else np.rint(scaled + zero_point)
        # PyTorch counts steps in integers, in which what is not finite is the lowest.
        steps = np.where(np.isfinite(steps), steps, -np.inf).astype(steps.dtype)
        return _values(self, steps, scale, zero_point, quant_min, quant_max)

    d_self = _d_self


@composite(names=("torch",))
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """``input`` rounded to what integers from ``quant_min`` to ``quant_max`` stand for: q is ``scale * (q - zero_point)``.

    ``scale`` and ``zero_point`` are a float and an int, or tensors of one element. The gradient goes through unchanged where
    the number was within the range, and is 0 elsewhere (the straight-through estimator). RuntimeError if ``zero_point`` is
    not in the range. Follows ``torch.fake_quantize_per_tensor_affine``.

    >>> import rushlight as torch
    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.2, 0.3, 9.0]), 0.5, 0, -2, 2)
    tensor([0.0000, 0.5000, 1.0000])
    """
    function = functions.fake_quantize_by_numbers
    if hasattr(scale, "_array"):
        function, scale, zero_point = functions.fake_quantize_by_tensors, scale.item(), int(zero_point.item())
    _check_range(quant_min, quant_max, zero_point, zero_point)
    return function(input, scale, zero_point, quant_min, quant_max)[0]


@composite(names=("torch",))
def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each index along ``axis``: 1-D tensors.

    ``scale`` is float32 or bfloat16, ``zero_point`` int32, float32 or float16. RuntimeError for other dtypes or sizes.
    Follows ``torch.fake_quantize_per_channel_affine``.

    >>> import rushlight as torch
    >>> x, scale = torch.tensor([[0.2, 0.3]]), torch.tensor([0.5, 0.25])
    >>> torch.fake_quantize_per_channel_affine(x, scale, torch.zeros(2, dtype=torch.int32), 1, -2, 2)
    tensor([[0.0000, 0.2500]])
    """
    _check_channels(input, scale, zero_point, axis)
    lowest, highest = (
        (zero_point.amin().item(), zero_point.amax().item()) if len(zero_point) else (quant_min, quant_min)
    )
    _check_range(quant_min, quant_max, lowest, highest)
    return functions.fake_quantize_by_channels(input, scale, zero_point, axis, quant_min, quant_max)[0]


def _check_channels(input, scale, zero_point, axis):
    hint = "scale and zero_point have an element for each index along axis"
    if scale.dtype not in (dtypes.float32, dtypes.bfloat16):
        message = f"Scale must be Float or BFloat16, found {scale.dtype.legacy_name}"
        raise RuntimeError(hinted(message, "convert it with .float()"))
    if zero_point.dtype not in _ZERO_POINTS:
        message = f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.legacy_name}"
        raise RuntimeError(hinted(message, "convert it with .int()"))
    if scale.dim() != 1:
        raise RuntimeError(hinted("scale should be a 1-D tensor", hint))
    if zero_point.dim() != 1:
        raise RuntimeError(hinted("zero point should be a 1-D tensor", hint))
    if scale.numel() != zero_point.numel():
        raise RuntimeError(hinted("scale and zero-point need to have the same dimensions", hint))
    if not -input.dim() <= axis < input.dim():
        message = (
            f"Dimension out of range (expected to be in range of [{-input.dim()}, {input.dim() - 1}], but got {axis})"
        )
        raise IndexError(hinted(message, hint))
    if input.shape[axis] != scale.numel():
        raise RuntimeError(hinted("dimensions of scale and zero-point are not consistent with input tensor", hint))
    if axis < 0:
        raise RuntimeError(hinted("`axis` must be between 0 and number of dimensions of input", hint))
    if scale.requires_grad:
        message = (
            "The function 'fake_quantize_per_channel_affine_cachemask' is not differentiable with respect to argument "
            "'scale'. This input cannot have requires_grad True."
        )
        raise RuntimeError(hinted(message, "give scale.detach()"))
