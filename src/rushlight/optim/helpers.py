"""What optimizers that are written elsewhere take from ``torch.optim.optimizer`` besides the class."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from ..autograd import is_grad_enabled, set_grad_enabled
from ..base.dtypes import DType, float32, float64, get_default_dtype
from ..base.errors import hinted
from ..nn.parameter import Parameter
from ..ops.table import functions
from ..tensor import Tensor
from .grouping import (
    Indices,
    TensorListList,
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
    _group_tensors_by_device_and_dtype,
)
from .optimizer import _global_post_hooks as _global_optimizer_post_hooks
from .optimizer import _global_pre_hooks as _global_optimizer_pre_hooks

__all__ = [
    "Args",
    "Indices",
    "Kwargs",
    "StateDict",
    "TensorListList",
    "_global_optimizer_post_hooks",
    "_global_optimizer_pre_hooks",
    "_group_tensors_by_device_and_dtype",
]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]
_foreach_supported_types: list[type] = [Tensor, Parameter]

# Paragraphs for the documentation of an optimizer's arguments.
_params_doc = (
    "params (iterable): the parameters, (name, parameter) pairs, or dictionaries that each define a group of them"
)
_foreach_doc = (
    "foreach (bool, optional): whether all parameters are updated by calls on lists of tensors (None: where it pays)"
)
_fused_doc = "fused (bool, optional): whether one kernel makes the whole step (None: as is the default)"
_capturable_doc = "capturable (bool, optional): whether the step may be captured in a CUDA graph (False)"
_differentiable_doc = "differentiable (bool, optional): whether autograd follows the step (False)"
_maximize_doc = "maximize (bool, optional): go up instead of down (False)"


def _use_grad_for_differentiable(func: Callable) -> Callable:
    """A ``step`` that runs with gradients recorded where ``self.defaults["differentiable"]``, and without otherwise."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        before = is_grad_enabled()
        try:
            set_grad_enabled(args[0].defaults["differentiable"])
            return func(*args, **kwargs)
        finally:
            set_grad_enabled(before)

    return call


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable | None = None) -> Callable:
    """A decorator that leaves a function as it is: there is no compiler that could not take it."""
    return lambda function: function


def _get_value(x: Any) -> Any:
    """The number that a tensor of one element holds; other values as they are."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """``x``: there is no compiler."""
    return x


def _to_scalar(x: Any) -> Any:
    """A tensor without its dimensions of one element; other values as they are."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> DType:
    """The dtype of step counters: the default one, and float32 for fused steps."""
    return float64 if not is_fused and get_default_dtype() is float64 else float32


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach): which way of making the step suits these parameters."""
    if differentiable:
        return False, False

    def suits(devices: list[str], dense_floats: bool) -> bool:
        return all(
            param is None
            or (
                type(param) in _foreach_supported_types
                and param.device.type in devices
                and (not dense_floats or param.is_floating_point())
            )
            for param in params
        )

    fused = use_fused and suits(_get_fused_kernels_supported_devices(), True)
    return fused, not fused and suits(_get_foreach_kernels_supported_devices(), False)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Refuse a parameter that no fused step takes."""
    devices = [name for name in _get_fused_kernels_supported_devices() if name != "cuda" or not cuda_unsupported]
    if not (p.device.type in devices and p.is_floating_point()):
        raise RuntimeError(
            hinted(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"{devices} but {p.dtype} and {p.device.type}",
                "leave fused=True away for these",
            )
        )


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The kinds of devices whose steps can be captured."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Put views as pairs of real numbers in the place of complex parameters, and of what belongs to them in the other lists."""
    for place, param in enumerate(params):
        if param.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[place] = functions.view_as_real(tensors[place])
