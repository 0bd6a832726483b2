"""Losses of differences, and what all losses share: reductions, weights, shape warnings."""

import warnings

import numpy as np

from ..base import dtypes
from ..base.arrays import in_result_order
from ..base.errors import hinted
from ..base.scalars import float_argument
from ..base.user_code import to_user
from .elementwise.checks import NOT_FLOATING
from .matmul import NATIVE_FLOATS
from .numpy_math import numpy_math
from .reduce import add_up
from .table import camel_case, composite, functions, is_half, op, widened
from .tensor_math import tensor_math

REDUCTIONS = ("none", "mean", "sum")
FEW = 1024  # numbers


def reduction_of(reduction, size_average=None, reduce=None):
    """The reduction meant by a name or by PyTorch's deprecated pair of flags."""
    if size_average is not None or reduce is not None:
        size_average, reduce = size_average is not False, reduce is not False
        reduction = "mean" if size_average and reduce else "sum" if reduce else "none"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=to_user(),
        )
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss, reduction):
    """The mean or sum of elementwise losses, or they themselves."""
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


def reduce_array(loss, reduction, dtype, patterns):
    """The same for an array of losses; the result is in ``dtype``, losses of elements lie as ``patterns`` do."""
    if reduction == "none":
        loss = in_result_order(loss, patterns)
    else:
        loss = widened(loss.astype(dtype, copy=False)) if is_half(dtype) else loss  # each one is rounded
        loss = np.asarray(add_up(loss) / loss.size if reduction == "mean" else add_up(loss))
    return loss if loss.dtype is dtype else loss.astype(dtype, copy=False)


def share(grad, count, reduction):
    """The gradient of each elementwise loss where their mean or sum was taken."""
    return grad / count if reduction == "mean" else grad


def gathered(grads, reduction, count):
    """The reverse of `share`: what flows to the gradient of a loss from the gradients of its elements."""
    return grads.sum() / count if reduction == "mean" else grads.sum() if reduction == "sum" else grads


def same_shape(input, target):
    """Both broadcast to one shape, with PyTorch's warning where they had two."""
    if input._array.shape != target._array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=to_user(),
        )
        return functions.broadcast_tensors(input, target)
    return input, target


def same_dtype(input, target):
    """Both in the promoted dtype."""
    if input._array.dtype is target._array.dtype:
        return input, target
    kind = dtypes.promote_types(input.dtype, target.dtype)
    return input.to(kind), target.to(kind)


def weighted(loss, weight, reduction):
    """Elementwise losses times weights; their mean is that of the weights' distribution."""
    if tuple(weight.shape) != tuple(loss.shape):
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduced(loss, reduction)


def numbered(name, function, order, defaults):
    """``torch.NAME``: the low-level form, whose arguments have another order and whose ``reduction`` is a number."""

    def call(*args, **kwargs):
        given = {**dict(zip(order, defaults)), **dict(zip(order, args)), **kwargs}
        number = given.pop("reduction")
        return function(**given, reduction=REDUCTIONS[number])

    call.__name__ = call.__qualname__ = f"numbered_{name}"
    call.__module__ = function.__module__
    call.__doc__ = f"`nn.functional.{name}` with a number for ``reduction``: 0 (the default) none, 1 mean, 2 sum."
    composite(call, names=(f"torch:{name}",))


# ---------------------------------------------------------------- distances


def _difference(array, target):
    if array.dtype in NATIVE_FLOATS and array.ndim:
        return array - target
    return np.asarray(np.subtract(widened(array), widened(target)))


def _sum_of_squares(difference):
    """What `reduce_array` adds up, in one call where so few numbers lose nothing by it."""
    if difference.size > FEW or not difference.flags.c_contiguous:
        return add_up(np.multiply(difference, difference, out=difference))
    flat = difference.reshape(-1)
    return flat.dot(flat)


def _distance(name, value, slope, curvature, doc, *, scale=1, total=None, lies_as=slice(None)):
    """Write a loss of the difference ``self - target``, the same for its negative, and its gradient into the table.

    ``value(m, difference, parameter)`` and ``scale * slope(m, difference, parameter)``, its derivative, are formulas;
    ``scale * curvature(difference, parameter)`` is the derivative of that, of Tensors. ``total(difference)`` adds the
    losses of an array up, which it may overwrite. ``lies_as`` are the operands that decide how the losses lie in memory.
    """

    gradient_name = f"{name}_gradient"

    class loss:
        kernel = f"{name.removesuffix('_loss')}_cpu"

        def element(m, self, target, parameter):
            return value(m, self - target, parameter)

        def forward(self, target, reduction, parameter):
            difference = _difference(self, target)
            if total is None or reduction == "none" or is_half(self.dtype):  # whose losses PyTorch rounds one by one
                losses = np.asarray(value(numpy_math, difference, parameter)).astype(self.dtype, copy=False)
                return reduce_array(losses, reduction, self.dtype, (self, target)[lies_as])
            found = total(difference)
            return np.asarray(found / difference.size if reduction == "mean" else found, self.dtype)

        def patterns(self, target):
            return (self, target)[lies_as]

        def d_self(grad, self, target, reduction, parameter):
            return getattr(functions, gradient_name)(grad, self, target, reduction, parameter)

        def d_target(grad, self, target, reduction, parameter):
            return getattr(functions, gradient_name)(grad, target, self, reduction, parameter)

    class gradient:
        def element(m, factor, self, target, parameter):
            return slope(m, self - target, parameter) * (factor if scale == 1 else factor * scale)

        def forward(grad, self, target, reduction, parameter):
            found = np.asarray(slope(numpy_math, _difference(self, target), parameter))
            factor = widened(grad)[()] * scale  # a half's share of many elements may be too small for it
            if reduction == "mean":
                factor /= self.size
            return np.multiply(found, factor, out=found).astype(self.dtype, copy=False)

        def d_grad(grads, self, target, reduction, parameter):
            slopes = slope(tensor_math, self - target, parameter)
            return gathered(grads[0] * slopes * scale, reduction, self.numel())

        def d_self(grads, grad, self, target, reduction, parameter):
            return share(grad, self.numel(), reduction) * grads[0] * curvature(self - target, parameter)

        def d_target(grads, grad, self, target, reduction, parameter):
            return -share(grad, self.numel(), reduction) * grads[0] * curvature(self - target, parameter)

    loss.__name__, loss.__doc__ = f"{name}_pair", doc
    gradient.__name__, gradient.__doc__ = f"{name}_gradient", f"The gradient of `{name}`."
    node = f"{camel_case(name)}Backward"
    op(f"{name}(Tensor self, Tensor target, str reduction, float parameter) -> Tensor",
       names=(), node=node + "0", refuse=NOT_FLOATING)(loss)  # fmt: skip
    op(f"{name}_gradient(Tensor grad, Tensor self, Tensor target, str reduction, float parameter) -> Tensor",
       names=(), node=node + "Backward0")(gradient)  # fmt: skip


def _smooth_l1(m, difference, beta):
    size = m.abs(difference)
    return m.where(size < beta, size * size * (0.5 / beta), size - 0.5 * beta)


def _huber(m, difference, delta):
    size = m.abs(difference)
    return m.where(size <= delta, size * size * 0.5, (size - 0.5 * delta) * delta)


_distance(
    "mse_loss",
    lambda m, d, _: d * d,
    lambda m, d, _: d,
    lambda d, _: 2,
    "The squared difference.",
    scale=2,
    total=_sum_of_squares,
)
_distance(
    "smooth_l1_loss",
    _smooth_l1,
    lambda m, d, beta: m.clamp(d * (1 / beta), -1, 1),
    lambda d, beta: (d.abs() < beta).to(d.dtype) / beta,
    "Squared below ``parameter``, absolute above.",
)
_distance(
    "huber_loss",
    _huber,
    lambda m, d, delta: m.clamp(d, -delta, delta),
    lambda d, delta: (d.abs() <= delta).to(d.dtype),
    "Squared below ``parameter``, linear above.",
    lies_as=slice(1),
)


@composite(names=("nn.functional",))
def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean squared difference of ``input`` and ``target``.

    >>> import rushlight as torch
    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(reduction, size_average, reduce)
    if input._array.shape != target._array.shape:
        input, target = same_shape(input, target)
    if input._array.dtype is not target._array.dtype:
        input, target = same_dtype(input, target)
    if weight is not None:
        return weighted(functions.mse_loss_pair(input, target, "none", 0.0), weight, reduction)
    return functions.mse_loss_pair(input, target, reduction, 0.0)


@composite(names=("nn.functional",))
def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The mean absolute difference of ``input`` and ``target``.

    >>> import rushlight as torch
    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    input, target = same_shape(input, target)
    loss = (input - target).abs()
    return reduced(loss, reduction) if weight is None else weighted(loss, weight, reduction)


@composite(names=("nn.functional",))
def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared differences below ``beta``, absolute ones above, joined smoothly (Girshick, 2015)."""
    reduction = reduction_of(reduction, size_average, reduce)
    beta = float_argument(beta, "smooth_l1_loss(): argument 'beta' (position 4)")
    input, target = same_shape(input, target)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return functions.smooth_l1_loss_pair(*same_dtype(input, target), reduction, beta)


@composite(names=("nn.functional",))
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half squared differences below ``delta``, linear ones above (Huber, 1964)."""
    delta = float_argument(delta, "huber_loss(): argument 'delta' (position 4)")
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    reduction = reduction_of(reduction)
    own, (input, target) = input.dtype, same_dtype(*same_shape(input, target))
    if input.dtype is not own:
        if not dtypes.can_cast(input.dtype, own):
            raise RuntimeError(
                hinted(
                    f"result type {input.dtype.legacy_name} can't be cast to the desired output type {own.legacy_name}",
                    "losses have the dtype of the input: convert it first",
                )
            )
        loss = functions.huber_loss_pair(input, target, "none", delta).to(own)
        return reduced(loss if weight is None else loss * weight, reduction)
    if weight is not None:
        loss = functions.huber_loss_pair(input, target, "none", delta)
        if tuple(weight.shape) != tuple(loss.shape):
            raise ValueError("Weights and input must have the same size.")
        return reduced(loss * weight, reduction)
    return functions.huber_loss_pair(input, target, reduction, delta)
