"""Leaves: what may be switched on them (requires_grad) and assigned to them (grad, data)."""

from __future__ import annotations

from ..base import dtypes
from ..base.errors import hinted
from ..ops.table import functions
from .node import LEAF, edge_of
from .views import View

# The C++ names of element types, which PyTorch's error for a gradient of another dtype shows.
_C_NAMES = {
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "bool": "bool",
    "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int", "uint8": "unsigned char",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def set_requires_grad(tensor, value, refusal="only Tensors of floating point dtype can require gradients"):
    """Make ``tensor`` a leaf that requires grad, or one that does not; ``refusal`` is the error for other dtypes."""
    if value:
        if edge_of(tensor) is not None:
            return
        if not dtypes.is_differentiable(tensor._array.dtype):
            raise RuntimeError(
                hinted(refusal, f"this tensor is {tensor.dtype!r}; convert it first, for example with .float()")
            )
        tensor._edge = LEAF
    elif tensor._edge is not None:
        if not tensor.is_leaf:
            raise RuntimeError(
                hinted(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                    "subgraph that doesn't require differentiation use var_no_grad = var.detach().",
                    f"this tensor was made by {tensor.grad_fn.name()}",
                )
            )
        tensor._edge = None


def require_grad(made):
    """Set ``requires_grad`` on a tensor that a creation function has just made, and return it."""
    set_requires_grad(made, True, "Only Tensors of floating point and complex dtype can require gradients")
    return made


def check_grad(tensor, value):
    """Refuse to assign ``value`` to the ``grad`` of ``tensor`` unless it is a tensor of the same shape and dtype."""
    if not hasattr(value, "_edge"):
        raise TypeError(
            hinted(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}",
                f"assign a tensor of shape {list(tensor.shape)} and dtype {tensor.dtype!r}, or None",
            )
        )
    if value is tensor:
        raise RuntimeError(hinted("can't assign Variable as its own grad", "assign a clone() of it"))
    if value._array.dtype != tensor._array.dtype:
        raise RuntimeError(
            hinted(
                f"attempting to assign a gradient with dtype '{_C_NAMES[value.dtype.name]}' to a tensor with grad_dtype "
                f"'{tensor.dtype.legacy_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
                "You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype "
                "with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they "
                "match.",
                f"convert it with .to({tensor.dtype!r})",
            )
        )
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            hinted(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(tensor.shape)}'. "
                "Please ensure that the gradient and the tensor are the same size",
                "sum_to_size, expand or reshape the gradient first",
            )
        )


def check_data(tensor, value):
    """Refuse to assign ``value`` to ``tensor.data`` unless it can be the tensor's memory."""
    if not hasattr(value, "_edge"):
        raise TypeError(
            hinted(
                f"Variable data has to be a tensor, but got {type(value).__name__}", "convert it with torch.as_tensor"
            )
        )
    if tensor._edge is not None and tensor.requires_grad and not dtypes.is_differentiable(value._array.dtype):
        raise RuntimeError(
            hinted(
                "data set to a tensor that requires gradients must be floating point or complex dtype",
                f"the new data is {value.dtype!r}: convert it, or call requires_grad_(False) before",
            )
        )


def detach_in_place(tensor):
    """Take ``tensor`` out of the graph; a view cannot leave its base."""
    if tensor._edge.__class__ is View or tensor._base is not None:
        raise RuntimeError(
            hinted(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
                "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
                "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
                "torch/optim/optimizer.py as the solution.",
                "x = x.detach() gives a view outside the graph",
            )
        )
    tensor._edge = None


def check_hookable(tensor):
    """Refuse hooks on a tensor that no gradient reaches."""
    if not tensor.requires_grad:
        raise RuntimeError(
            hinted(
                "cannot register a hook on a tensor that doesn't require gradient",
                "set requires_grad_() on it, or on what it is computed from, before",
            )
        )


functions.require_grad = require_grad
