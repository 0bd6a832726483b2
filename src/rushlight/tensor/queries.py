"""Functions that ask about tensors and the process: ``torch.numel``, ``torch.typename``, ``torch.get_num_threads``, ..."""

from __future__ import annotations

from ..base import settings
from ..base.errors import hinted, kind_name
from . import storage
from .base import Tensor
from .creation import type_name
from .legacy import set_default_tensor_type
from .names import NAMESPACES


def _checked(input, name):
    if not isinstance(input, Tensor):
        raise TypeError(
            hinted(
                f"{name}(): argument 'input' (position 1) must be Tensor, not {kind_name(input)}",
                "torch.as_tensor() makes one of numbers, lists and arrays",
            )
        )
    return input


def numel(input):
    """The number of elements."""
    return _checked(input, "numel").numel()


def is_floating_point(input):
    """Whether the dtype is a floating-point one."""
    return _checked(input, "is_floating_point").is_floating_point()


def is_complex(input):
    """Whether the dtype is a complex one."""
    return _checked(input, "is_complex").is_complex()


def is_signed(input):
    """Whether the dtype has negative numbers."""
    return _checked(input, "is_signed").is_signed()


def is_conj(input):
    """Whether the memory of the tensor is read conjugated, as that of ``x.conj()`` is."""
    return _checked(input, "is_conj").is_conj()


def is_neg(input):
    """Whether the memory of the tensor is read negated, as that of ``x.conj().imag`` is."""
    return _checked(input, "is_neg").is_neg()


def is_inference(input):
    """Whether the tensor was made in inference mode."""
    return _checked(input, "is_inference").is_inference()


def is_distributed(input):
    """Whether the tensor is spread over machines: never."""
    return False


def is_same_size(input, other):
    """Whether two tensors have one shape."""
    return _checked(input, "is_same_size").shape == other.shape


def typename(obj, /):
    """The legacy type of a tensor, ``"torch.FloatTensor"``, or the name of any other object's type.

    >>> import rushlight as torch
    >>> torch.typename(torch.zeros(1)), torch.typename(1)
    ('torch.FloatTensor', 'int')
    """
    if isinstance(obj, Tensor):
        return type_name(obj.dtype)
    kind = type(obj)
    if kind.__name__ == "DType":
        return "torch.dtype"
    return kind.__qualname__ if kind.__module__ in ("", "builtins") else f"{kind.__module__}.{kind.__qualname__}"


def resize_as_(input, the_template, *, memory_format=None):
    """Give ``input`` the size of ``the_template``, in place."""
    return input.resize_as_(the_template)


def compiled_with_cxx11_abi():
    """Whether PyTorch's C++ side has the newer ABI; kept for programs that ask."""
    return True


def sparse_dim(input):
    """The number of sparse dimensions: 0, every tensor is dense here."""
    return 0


def dense_dim(input):
    """The number of dense dimensions: all of them."""
    return input.ndim


def const_data_ptr(input):
    """`Tensor.data_ptr`, of memory that is only read."""
    return input.data_ptr()


PUBLIC = (
    numel, is_floating_point, is_complex, is_signed, is_conj, is_neg, is_inference, is_distributed, is_same_size, typename,
    resize_as_, compiled_with_cxx11_abi, set_default_tensor_type, storage.is_storage,
    storage.UntypedStorage, storage.TypedStorage, *settings.PUBLIC,
)  # fmt: skip
for _function in PUBLIC:
    NAMESPACES["torch"].setdefault(_function.__name__, _function)
NAMESPACES["torch"].update(storage.LEGACY, Storage=storage.LEGACY["FloatStorage"])
for _function in (is_same_size, is_distributed, sparse_dim, dense_dim, const_data_ptr):
    setattr(Tensor, _function.__name__, _function)
