"""``torch._utils``: helpers of PyTorch's own modules that programs call."""

import sys as _sys
import traceback as _traceback

from ...base.device import device as _device
from ...base.dtypes import DType as _DType
from ...base.errors import hinted as _hinted
from ...nn.parameter import Parameter as _Parameter
from ...tensor import NAMESPACES as _NAMESPACES

_empty, _cat = _NAMESPACES["torch"]["empty"], _NAMESPACES["torch"]["cat"]


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device; None for one without a number where ``optional``, -1 for the CPU where ``allow_cpu``."""
    if isinstance(device, str):
        device = _device(device)
    index = None
    if isinstance(device, _device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(_hinted(f"Expected a non cpu device, but got: {device}", "the CPU has no number"))
        index = -1 if device.type == "cpu" else device.index
    elif isinstance(device, int):
        index = device
    if index is None and not optional:
        raise ValueError(
            _hinted(
                f"Expected a torch.device with a specified index or an integer, but got:{device}",
                "such as torch.device('cuda:0') or 0",
            )
        )
    return index


def _element_size(dtype):
    """The bytes of an element."""
    if not isinstance(dtype, _DType):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


def _get_available_device_type():
    """The type of an accelerator: None."""
    return None


def _rebuild_tensor(storage, storage_offset, size, stride):
    """A tensor on a storage with a dtype."""
    return _empty((0,), dtype=storage.dtype).set_(storage._untyped_storage, storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """A tensor on a storage, with its flag and hooks."""
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    tensor.requires_grad = requires_grad
    tensor._backward_hooks = backward_hooks
    return tensor


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """A parameter of a tensor."""
    return _Parameter(data, requires_grad)


class ExceptionWrapper:
    """An exception that travels from a worker to the program, with its traceback as text."""

    def __init__(self, exc_info=None, where="in background"):
        kind, error, trace = exc_info or _sys.exc_info()
        self.exc_type, self.where = kind, where
        self.exc_msg = "".join(_traceback.format_exception(kind, error, trace))

    def reraise(self):
        """Raise it here."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        try:
            raised = self.exc_type(message)
        except Exception:  # its class wants other arguments
            raise RuntimeError(message) from None
        raise raised


class KeyErrorMessage(str):
    """Text that is its own repr: a KeyError shows line breaks."""

    __slots__ = ()

    def __repr__(self):
        return str(self)


class classproperty:
    """A property of a class itself."""

    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner):
        return self.function(owner)


def _flatten_dense_tensors(tensors):
    """The elements of several tensors in one."""
    return _cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Views of a flat tensor in the shapes of the others."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    return tuple(part.view_as(tensor) for part, tensor in zip(parts, tensors))


def _take_tensors(tensors, size_limit):
    """The tensors in groups of one dtype, each up to so many bytes."""
    groups = {}
    for tensor in tensors:
        kind = tensor.type()
        group, size = groups.get(kind, ([], 0))
        bytes_ = tensor.numel() * tensor.element_size()
        if group and size + bytes_ > size_limit:
            yield group
            group, size = [], 0
        group.append(tensor)
        groups[kind] = group, size + bytes_
    for group, _ in groups.values():
        if group:
            yield group
