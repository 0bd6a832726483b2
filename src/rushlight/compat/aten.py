"""Operations that PyTorch has in ``torch.ops.aten`` alone, below its public functions; made from ours."""

from __future__ import annotations

import importlib
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType

from ..autograd import enable_grad
from ..autograd.gradients import grad as gradients
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import NAMESPACES, Tensor
from ..tensor.names import function_at

_PLACES = ("torch", "nn.functional", "linalg", "special", "fft", "Tensor")
_NORMS = ("backward", "ortho", "forward")
_PADDINGS = {"reflection": "reflect", "replication": "replicate"}
# Operations of other layouts, quantized numbers and fused attention, and parts of others: programs name them to register something
# for them, `utils.flop_formulas` to count.
_UNMADE = """
    _sparse_addmm _sparse_mm_reduce_impl _sparse_mm_reduce_impl_backward _sparse_sparse_matmul _cslt_sparse_mm
    _scaled_mm _grouped_mm _scaled_grouped_mm _weight_int4pack_mm _weight_int8pack_mm
    _scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward
    _scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward
    _scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward
    _slow_conv2d_forward cudnn_convolution convolution_overrideable
    _flash_attention_forward _flash_attention_backward _efficient_attention_forward _efficient_attention_backward
"""
_OWN = {}  # name -> function


def operation(name):
    """The function of ``torch.ops.aten.<name>``: of this file, a public one, or a method; None where there is none."""
    if name in _OWN:
        return _OWN[name]
    for place in _PLACES:
        found = function_at(place, name) if place in NAMESPACES else None
        if found is not None:
            return found
    for owner in (importlib.import_module("rushlight"), functions, Tensor):
        found = getattr(owner, name, None)
        if isinstance(found, (FunctionType, BuiltinFunctionType, MethodDescriptorType)):
            return found
    return _refusing(name) if name in _UNMADE.split() else None


def _refusing(name):
    def refuse(*args, **kwargs):
        line = f"torch.ops.aten.{name} is not implemented"
        raise NotImplementedError(hinted(line, "the name is there for programs that register something for it"))

    refuse.__name__ = name
    return refuse


def _own(function):
    _OWN[function.__name__.removesuffix("__aten")] = function
    return function


# ---------------------------------------------------------------- views, copies and questions


@_own
def _to_copy(self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    options = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(device=device, dtype=dtype, non_blocking=non_blocking, copy=True, **options)


@_own
def alias(self):
    return self.view(self.shape)


@_own
def lift_fresh(self):
    return self


@_own
def slice__aten(self, dim=0, start=None, end=None, step=1):
    return self[(slice(None),) * (dim % self.ndim) + (slice(start, end, step),)]


@_own
def _unsafe_view(self, size):
    return self.view(size)


@_own
def _reshape_alias(self, size, stride):
    return self.as_strided(size, stride)


@_own
def _local_scalar_dense(self):
    return self.item()


@_own
def _pin_memory(self, device=None):
    return self.pin_memory()


@_own
def sym_size(self, dim=None):
    return tuple(self.shape) if dim is None else self.shape[dim]


@_own
def sym_stride(self, dim=None):
    return self.stride() if dim is None else self.stride(dim)


@_own
def sym_numel(self):
    return self.numel()


@_own
def sym_storage_offset(self):
    return self.storage_offset()


@_own
def is_non_overlapping_and_dense(self):
    expected = 1
    for stride, size in sorted(zip(self.stride(), self.shape)):
        if size != 1:
            if stride != expected and self.numel() > 1:
                return False
            expected *= size
    return True


@_own
def select_backward(grad_output, input_sizes, dim, index):
    found = grad_output.new_zeros(input_sizes)
    found.select(dim, index).copy_(grad_output)
    return found


@_own
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    found = grad_output.new_zeros(input_sizes)
    slice__aten(found, dim, start, end, step).copy_(grad_output)
    return found


@_own
def copy(self, src, non_blocking=False):
    return src.to(self.dtype).expand(self.shape).clone()


@_own
def _is_all_true(self):
    return self.all()


@_own
def _is_any_true(self):
    return self.any()


@_own
def _assert_scalar(self, assert_msg):
    if not self:
        raise RuntimeError(assert_msg)


@_own
def sym_constrain_range_for_size(size, *, min=None, max=None):
    if not (0 if min is None else min) <= size <= (size if max is None else max):
        raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


# ---------------------------------------------------------------- functions with numbers for options


@_own
def _softmax(self, dim, half_to_float):
    return operation("softmax")(self, dim)


@_own
def _log_softmax(self, dim, half_to_float):
    return operation("log_softmax")(self, dim)


@_own
def _fft_c2c(self, dim, normalization, forward):
    name, norms = ("fft_fftn", _NORMS) if forward else ("fft_ifftn", _NORMS[::-1])
    return operation(name)(self, dim=dim, norm=norms[normalization])


@_own
def _convolution(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, benchmark, deterministic, cudnn_enabled,
    allow_tf32=True,
):  # fmt: skip
    return operation("convolution")(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


def _resizing(mode, antialias=False):
    """A function of the input, its size or None, whether corners are aligned (of the modes that ask), and scales."""

    def resize(self, output_size, *rest):
        align_corners, scales = (None, rest) if mode.startswith("nearest") else (rest[0], rest[1:])
        factors = None if output_size is not None else list(scales[0])
        size = None if output_size is None else list(output_size)
        return operation("interpolate")(self, size, factors, mode, align_corners, antialias=antialias)

    return resize


_OWN |= {
    f"upsample_{mode}{dims}d": _resizing(mode)
    for mode, counts in {"linear": "1", "bilinear": "2", "bicubic": "2", "trilinear": "3", "nearest": "123"}.items()
    for dims in counts
}
_OWN |= {f"_upsample_{mode}2d_aa": _resizing(mode, antialias=True) for mode in ("bilinear", "bicubic")}


def _padding(mode):
    def pad(self, padding):
        return operation("pad")(self, padding, mode)

    return pad


_OWN |= {f"{name}_pad{dims}d": _padding(mode) for name, mode in _PADDINGS.items() for dims in (1, 2, 3)}


# ---------------------------------------------------------------- derivatives


def _derivatives(function, inputs, grad_output, mask):
    """The gradients of ``function(*inputs)`` for the inputs that the mask has True for; None for the others."""
    inputs = [value if value is None else value.detach().requires_grad_(wanted) for value, wanted in zip(inputs, mask)]
    wanted = [value for value, one in zip(inputs, mask) if one]
    with enable_grad():
        found = iter(gradients(function(*inputs), wanted, grad_output))
    return tuple(next(found) if one else None for one in mask)


@_own
def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask
):
    def run(input, weight, bias):
        return operation("convolution")(
            input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
        )

    bias = None if bias_sizes is None else weight.new_zeros(bias_sizes)
    return _derivatives(run, [input, weight, bias], grad_output, output_mask)


@_own
def mse_loss_backward(grad_output, self, target, reduction):
    return (2.0 / self.numel() if reduction == 1 else 2.0) * (self - target) * grad_output


@_own
def max_pool2d_with_indices_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
    found = grad_output.new_zeros(self.shape).flatten(-2)
    return found.scatter_add_(-1, indices.flatten(-2), grad_output.flatten(-2)).view(self.shape)
