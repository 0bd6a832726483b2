"""Leaves: what may be switched on them (requires_grad) and assigned to them (grad, data)."""

from __future__ import annotations

from ..base import dtypes
from ..base.errors import hinted
from ..base.lazy import is_meta
from ..base.scalars import c_name
from ..ops.table import functions
from . import modes
from .hooks import CAST, HookDict
from .names import described
from .node import INFERENCE, LEAF, UNTOUCHED, DetachedCounter, VersionCounter
from .views import View, known_edge

OWN_DTYPE = object()  # what `_grad_dtype` of a tensor is until it is set


def set_requires_grad(tensor, value, refusal="only Tensors of floating point dtype can require gradients"):
    """Make ``tensor`` a leaf that requires grad, or one that does not; ``refusal`` is the error for other dtypes."""
    edge = tensor._edge
    if value:
        if known_edge(tensor) is not None:
            return
        if not dtypes.is_differentiable(tensor._array.dtype):
            raise RuntimeError(
                hinted(refusal, f"{described(tensor)} is {tensor.dtype!r}; convert it first, for example with .float()")
            )
        if tensor._version_counter is INFERENCE and not modes.state.inference:
            raise RuntimeError(
                hinted(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.",
                    "this tensor was made inside torch.inference_mode(): clone() it first, or make it under torch.no_grad()",
                )
            )
        if edge.__class__ is View:
            edge.edge = LEAF
        else:
            tensor._edge = LEAF
    elif edge is not None:
        if known_edge(tensor) is not None:
            raise RuntimeError(
                hinted(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                    "subgraph that doesn't require differentiation use var_no_grad = var.detach().",
                    f"an operation made {described(tensor)}: only tensors made by hand can be switched",
                )
            )
        if edge.__class__ is View:
            edge.edge = None
        else:
            tensor._edge = None


def refuse_computed(tensor):
    """PyTorch's error for saying of a tensor that an operation made that it requires grad, which it does."""
    if known_edge(tensor) is not None:
        raise RuntimeError(
            hinted(
                "you can only change requires_grad flags of leaf variables.",
                f"an operation made {described(tensor)}, which requires grad already",
            )
        )


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
    wanted = tensor.dtype if tensor._grad_dtype is OWN_DTYPE else tensor._grad_dtype
    if wanted is not None and value.dtype is not wanted:
        raise RuntimeError(
            hinted(
                f"attempting to assign a gradient with dtype '{c_name(value.dtype)}' to a tensor with grad_dtype "
                f"'{wanted.legacy_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). "
                "You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype "
                "with caution. Diverging the dtypes of a tensor and its gradient may break downstream systems that assume they "
                "match.",
                f"convert it with .to({wanted!r})",
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


class Cast:
    """The first hook of a leaf whose gradients get another dtype before the user's hooks see them."""

    __torch_unserializable__ = True

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, grad):
        return grad if grad is None or self.dtype is None else functions.cast_array_dtype(grad, self.dtype.numpy)


def grad_dtype(tensor):
    """The dtype of a leaf's gradient: its own, unless another one was set; None for any. Settable."""
    if not tensor.is_leaf:
        raise RuntimeError(
            hinted("grad_dtype can only be accessed on leaf tensors.", "the gradient of others has their own dtype")
        )
    return tensor.dtype if tensor._grad_dtype is OWN_DTYPE else tensor._grad_dtype


def set_grad_dtype(tensor, dtype):
    """Let the gradient of a leaf have ``dtype``."""
    if dtype is not None and not isinstance(dtype, dtypes.DType):
        raise RuntimeError(
            hinted(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}", "such as torch.float32")
        )
    if not tensor.is_leaf:
        raise RuntimeError(
            hinted("grad_dtype can only be set on leaf tensors.", "set it on what this tensor is computed from")
        )
    grad = tensor.grad
    if grad is not None and dtype is not None and grad.dtype is not dtype:
        raise RuntimeError(
            hinted(
                f"Cannot set grad_dtype to '{dtype.legacy_name}' because there is already a gradient with dtype '{c_name(grad.dtype)}'. "
                "Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the "
                "existing gradient's dtype.",
                "zero_grad() clears the gradients of a module or optimizer",
            )
        )
    tensor._grad_dtype = dtype
    if tensor._hooks is None:
        tensor._hooks = HookDict()
    tensor._hooks[CAST] = Cast(dtype)
    tensor._hooks.move_to_end(CAST, last=False)


def check_data(tensor, value):
    """Refuse to assign ``value`` to ``tensor.data`` unless it can be the tensor's memory."""
    if not hasattr(value, "_edge"):
        raise TypeError(
            hinted(
                f"Variable data has to be a tensor, but got {type(value).__name__}", "convert it with torch.as_tensor"
            )
        )
    if is_meta(tensor._array) is not is_meta(value._array) or tensor.layout is not value.layout:
        raise RuntimeError(
            hinted(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type.",
                f"one is on the device {tensor.device}, the other on {value.device}: put a new tensor in its place",
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
    if tensor._edge.__class__ is tuple:
        shared = VersionCounter() if tensor._version_counter is UNTOUCHED else tensor._version_counter
        tensor._version_counter = DetachedCounter(shared)
    tensor._edge = tensor._tangent = None


def check_hookable(tensor):
    """Refuse hooks on a tensor that no gradient reaches."""
    if not tensor.requires_grad:
        raise RuntimeError(
            hinted(
                "cannot register a hook on a tensor that doesn't require gradient",
                f"no gradient reaches {described(tensor)}: set requires_grad_() on it, or on what it is computed from, before",
            )
        )


functions.require_grad = require_grad
