"""Moving a module's parameters and buffers to another dtype or device."""

from __future__ import annotations

import warnings
from types import NoneType
from typing import Any, Self, overload

from ... import __future__ as choices
from ...autograd import no_grad
from ...base.device import DeviceLike
from ...base.device import device as Device
from ...base.device import memory_format as MemoryFormat
from ...base.dtypes import DType
from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from ...tensor.swapping import swap_tensors
from ..parameter import Parameter


class ModuleConversion:
    """``to``, ``float``, ``cuda`` ...: each rewrites parameters and buffers in place and returns the module."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def _apply(self, fn, recurse=True):
        """Replace the data of every parameter, gradient and buffer by what ``fn`` makes of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                with no_grad():
                    self._convert_parameter(name, parameter, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _convert_parameter(self, name, parameter, fn):
        """Put what ``fn`` makes of a parameter, and of its gradient, in its place: into it, instead of it, or exchanged with it."""
        gradient, found = parameter.grad, fn(parameter)
        if choices.get_swap_module_params_on_conversion():
            parameter.grad = None
            self._swap(name, parameter, Parameter(found, parameter.requires_grad))
            if gradient is not None:
                self._swap(f"{name}.grad", gradient, fn(gradient).requires_grad_(gradient.requires_grad))
                parameter.grad = gradient
        elif found.device == parameter.device and not choices.get_overwrite_module_params_on_conversion():
            parameter.data = found
            if gradient is not None:
                gradient.data = fn(gradient)
        else:
            moved = self._parameters[name] = Parameter(found, parameter.requires_grad)
            if gradient is not None:
                moved.grad = fn(gradient).requires_grad_(gradient.requires_grad)

    def _swap(self, name, tensor, other):
        try:
            swap_tensors(tensor, other)
        except RuntimeError as error:
            raise RuntimeError(
                hinted(f"_apply(): Couldn't swap {type(self).__name__}.{name}", str(error).partition("\n")[0])
            ) from error

    @overload
    def to(self, device: DeviceLike = ..., dtype: DType | None = ..., non_blocking: bool = ...) -> Self: ...
    @overload
    def to(self, dtype: DType, non_blocking: bool = ...) -> Self: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: bool = ...) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast parameters and buffers: ``to(device)``, ``to(dtype)``, ``to(device, dtype)``, ``to(tensor)``.

        Only floating point and complex members are cast; integer buffers keep their dtype.

        >>> import rushlight as torch
        >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    hinted(
                        f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}",
                        "weights of an integer dtype cannot be trained; cast single tensors with tensor.to(dtype)",
                    )
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, and some "
                    "modules might not work as expected when using complex tensors as parameters or buffers. Please "
                    "file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
                    "complex module does not work as expected.",
                    stacklevel=2,
                )

        def convert(tensor):
            target = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if memory_format is not None and tensor.dim() in (4, 5):
                return tensor.to(device, target, non_blocking, memory_format=memory_format)
            return tensor.to(device, target, non_blocking)

        try:
            return self._apply(convert)
        except NotImplementedError as error:
            if not str(error).startswith("Cannot copy out of meta tensor"):
                raise
            raise NotImplementedError(
                hinted(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device.",
                    "to_empty() makes tensors that are not set to anything: load values into them afterwards",
                )
            ) from None

    def to_empty(self, *, device: str | DeviceLike | int | None, recurse: bool = True) -> Self:
        """Put parameters and buffers on ``device`` without their values: the new ones are uninitialised."""
        return self._apply(lambda tensor: functions.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: DType | str) -> Self:
        """Cast every parameter and buffer, integer ones too, to ``dst_type``."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast floating point parameters and buffers to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Cast floating point parameters and buffers to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Cast floating point parameters and buffers to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Cast floating point parameters and buffers to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move every parameter and buffer to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: DeviceLike = None) -> Self:
        """Move every parameter and buffer to a CUDA device; raises as PyTorch's CPU build does where there is none."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def xpu(self, device: DeviceLike = None) -> Self:
        """Move every parameter and buffer to an Intel GPU; raises as PyTorch's CPU build does where there is none."""
        return self._apply(lambda tensor: tensor.xpu(device))

    def mtia(self, device: DeviceLike = None) -> Self:
        """Move every parameter and buffer to Meta's accelerator; raises as PyTorch's CPU build does where there is none."""
        return self._apply(lambda tensor: tensor.mtia(device))


def _parse_to(*args, **kwargs):
    """The four forms of ``to`` as (device, dtype, non_blocking, memory_format)."""
    positions = ["device", "dtype", "non_blocking", "copy"]
    values, named = args, dict(kwargs)
    memory_format = named.pop("memory_format", None)
    if args and isinstance(args[0], Tensor):
        values = (args[0].device, args[0].dtype, *args[1:])
    elif args and isinstance(args[0], DType):
        positions = ["dtype", "non_blocking", "copy"]
    elif isinstance(other := named.pop("other", named.pop("tensor", None)), Tensor):
        named.update(device=other.device, dtype=other.dtype)
    given = dict(zip(positions, values))
    fits = len(values) <= len(positions) and all(name in positions and name not in given for name in named)
    given.update(named)
    device, dtype, non_blocking = given.get("device"), given.get("dtype"), given.get("non_blocking", False)
    fits = fits and isinstance(dtype, (DType, NoneType)) and isinstance(non_blocking, bool)
    fits = fits and isinstance(given.get("copy", False), bool)
    if not (fits and isinstance(memory_format, (MemoryFormat, NoneType))):
        got = ", ".join(map(_type_name, args)) + "".join(f"{name}={_type_name(kwargs[name])}, " for name in kwargs)
        raise TypeError(
            hinted(
                f"to() received an invalid combination of arguments - got ({got}), but expected one of:",
                "to(device), to(dtype), to(device, dtype) or to(tensor), with non_blocking= and memory_format=",
            )
        )
    return (
        device if device is None or isinstance(device, Device) else Device(device),
        dtype,
        non_blocking,
        memory_format,
    )


def _type_name(value):
    return {DType: "torch.dtype", Device: "torch.device"}.get(type(value), type(value).__name__)
