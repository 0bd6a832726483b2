"""Batch and instance normalisation, with the gradient in one operation.

The fused gradient is differentiated through the plain formula next to it.
"""

import math

import numpy as np

from ..base.arrays import laid_out_as
from ..base.errors import hinted
from .norm import channel_shape, check_parameters, rounded_mean
from .reduce import add_up
from .table import composite, functions, op, widened


@op("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> Tensor[]",
    names=(), node="NativeBatchNormBackward0")  # fmt: skip
class batch_norm_parts:
    """`batch_norm` with the mean and reciprocal deviation that it used; updates the running statistics in place."""

    keeps = unshown = ("running_mean", "running_var")
    constants = {"running_mean": "native_batch_norm", "running_var": "native_batch_norm"}

    tracked = 1

    def forward(input, weight, bias, running_mean, running_var, training, momentum, eps):
        x = widened(input)
        axes = (0, *range(2, x.ndim))
        shape = channel_shape(x)
        if training:
            count = x.shape[0] * math.prod(x.shape[2:])
            mean, rest = (value.reshape(-1) for value in rounded_mean(x, axes))
            found = x - mean.reshape(shape)
            variance = add_up(np.multiply(found, found), axes) / x.dtype.type(max(count, 1)) - rest * rest
            if running_mean is not None:
                running_mean += (momentum * (mean - running_mean)).astype(running_mean.dtype)
                unbiased = variance * (count / max(count - 1, 1))
                running_var += (momentum * (unbiased - running_var)).astype(running_var.dtype)
        else:
            mean, variance = (
                widened(running_mean).astype(x.dtype, copy=False),
                widened(running_var).astype(x.dtype, copy=False),
            )
            found = x - mean.reshape(shape)
        scale = 1 / np.sqrt(variance + x.dtype.type(eps))
        found *= (scale if weight is None else scale * widened(weight)).reshape(shape)
        if bias is not None:
            found += widened(bias).reshape(shape)
        return laid_out_as(found.astype(input.dtype, copy=False), input), mean, scale

    def gradients(grads, input, weight, training, eps, result1, result2, needs):
        found = functions.batch_norm_gradients(grads[0], input, weight, training, eps, result1, result2)
        return *found, None, None


def _batch_norm_formula(input, weight, bias, training, eps, mean, scale):
    shape = channel_shape(input)
    if training:
        dims = (0, *range(2, input.ndim))
        centred = input - input.mean(dims, True)
        found = centred * ((centred * centred).mean(dims, True) + eps).rsqrt()
    else:
        found = (input - mean.reshape(shape)) * scale.reshape(shape)
    found = found if weight is None else found * weight.reshape(shape)
    return found if bias is None else found + bias.reshape(shape)


@op("batch_norm_gradients(Tensor grad, Tensor input, Tensor? weight, bool training, float eps, Tensor mean, Tensor scale) -> Tensor[]",
    names=(), node="NativeBatchNormBackwardBackward0")  # fmt: skip
class batch_norm_gradients:
    """The gradients of a batch norm with respect to input, weight and bias."""

    def forward(grad, input, weight, training, eps, mean, scale):
        g, x = widened(grad), widened(input)
        shape = channel_shape(x)
        axes = (0, *range(2, x.ndim))
        normal = (x - mean.reshape(shape)) * scale.reshape(shape)
        d_bias = add_up(g, axes)
        d_weight = add_up(np.multiply(g, normal), axes)
        factor = scale if weight is None else scale * widened(weight)
        if training:
            count = x.dtype.type(max(x.shape[0] * math.prod(x.shape[2:]), 1))
            normal *= (d_weight / count).reshape(shape)
            np.subtract(g, normal, out=normal)
            normal -= (d_bias / count).reshape(shape)
            normal *= factor.reshape(shape)
            found = normal
        else:
            found = g * factor.reshape(shape)
        kind = input.dtype
        return found.astype(kind, copy=False), d_weight.astype(kind, copy=False), d_bias.astype(kind, copy=False)

    def gradients(grads, grad, input, weight, training, eps, mean, scale, needs):
        bias = None if grads[2] is None else grad.new_zeros(grad.shape[1])  # its numbers do not matter
        *found, _ = functions.differentiate_gradient(
            lambda x, w, b: _batch_norm_formula(x, w, b, training, eps, mean, scale), (input, weight, bias), grad, grads
        )
        return *found, None, None


_BESIDE = "running_mean", "running_var", "weight", "bias"


def _of_nothing(input, weight, bias):
    """Batch norm of no elements: a graph that hangs together, and statistics that stay as they are."""
    found = input.clone()
    found = found if weight is None else found * weight.select(0, 0)
    return found if bias is None else found + bias.select(0, 0)


def _refuse_dimensions(count):
    """PyTorch's refusals of inputs without a dimension of channels."""
    hint = f"the input has the shape (samples, channels, ...), not {count} dimensions"
    if count:
        raise IndexError(hinted("Dimension out of range (expected to be in range of [-1, 0], but got 1)", hint))
    largest = f"Requested capacity ({2**64 - 1}) is larger than maximum value for size type ({2**32 - 1})"
    raise RuntimeError(hinted(f"SmallVector unable to grow. {largest}", hint))


def _check_sizes(input, *beside):
    """PyTorch's refusals of statistics and parameters of other sizes. Returns whether the dtypes are to be looked at, too."""
    sizes, kind = input._array.shape, input._array.dtype
    channels = sizes[1] if len(sizes) > 1 else 0
    differ = kind.kind in "iubc"
    for name, value in zip(_BESIDE, beside):
        if value is None:
            continue
        differ = differ or value._array.dtype is not kind
        if value._array.size != channels:
            raise RuntimeError(
                hinted(
                    f"{name} should contain {channels} elements not {value.numel()}",
                    f"the input has {channels} channels (dimension 1), the layer was made for {value.numel()}",
                )
            )
    return differ


def _check_kinds(input, weight, bias, running_mean, running_var, differ):
    """PyTorch's refusals of dtypes, where some ``differ``, and of statistics that are no vectors."""
    if differ:
        if input._array.dtype.kind in "iubc":
            check_parameters("batch_norm", input)
        check_parameters("batch_norm", input, weight, bias, running_mean, running_var)
    for value in (running_mean, running_var):
        if value is not None and value._array.ndim != 1:
            raise RuntimeError(
                hinted(
                    f"TensorAccessor expected 1 dims but tensor has {value.ndim}",
                    f"statistics have the shape (channels,), not {list(value.shape)}",
                )
            )


@composite(names=("torch",))
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    """Each channel shifted and scaled to mean 0 and variance 1 over the batch, then ``* weight + bias``.

    Follows "Batch Normalization" (Ioffe, Szegedy, 2015). In training, the running statistics move by ``momentum``.
    """
    if not training and (running_mean is None or running_var is None):
        name = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(
            hinted(f"{name} must be defined in evaluation mode", "give the running statistics, or training=True")
        )
    if (running_mean is None) != (running_var is None):
        raise ValueError(
            hinted(
                "running_mean and running_var must either both be None or neither be None",
                f"{'running_mean' if running_mean is None else 'running_var'} is None; they are updated together",
            )
        )
    sizes = input._array.shape
    if not input._array.size:
        return _of_nothing(input, weight, bias)
    differ = _check_sizes(input, running_mean, running_var, weight, bias)
    if len(sizes) < 2:
        _refuse_dimensions(len(sizes))
    _check_kinds(input, weight, bias, running_mean, running_var, differ)
    # Writing the running statistics counts as no write, as in PyTorch: a layer may run twice before one backward.
    return functions.batch_norm_parts(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composite(names=("nn.functional:batch_norm",))
def functional_batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
):
    """`torch.batch_norm` with the running statistics first; more than one value per channel is needed in training."""
    if training:
        sizes = input._array.shape
        if sizes[0] * math.prod(sizes[2:]) == 1:
            raise ValueError(
                hinted(
                    f"Expected more than 1 value per channel when training, got input size {input.shape}",
                    "one value has no variance: use a larger batch, or eval()",
                )
            )
        if eps <= 0:
            raise ValueError(hinted(f"batch_norm eps must be positive during training, but got {eps}", "1e-5 is usual"))
    elif eps < 0:
        raise ValueError(hinted(f"batch_norm eps must be non-negative, but got {eps}", "1e-5 is usual"))
    return batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite(names=("torch",))
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """`batch_norm` with the mean and reciprocal deviation that it used in training (empty otherwise)."""
    sizes = input._array.shape
    if len(sizes) < 2:
        _refuse_dimensions(len(sizes))
    if training and not input._array.size:
        message = f"input tensor must have at least one element, but got input_sizes = {list(sizes)}"
        raise RuntimeError(hinted(message, "statistics of nothing are not defined"))
    _check_kinds(input, weight, bias, running_mean, running_var, True)
    _check_sizes(input, running_mean, running_var, weight, bias)  # PyTorch reads, and writes, beyond their memory
    found, mean, scale = functions.batch_norm_parts(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    if not training:
        mean, scale = mean.new_zeros(0), scale.new_zeros(0)
    return found, mean.to(input.dtype), scale.to(input.dtype)


@composite(names=("nn.functional",))
def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    """Each channel of each sample shifted and scaled to mean 0 and variance 1, then ``* weight + bias``."""
    if use_input_stats:
        size = input.shape
        if math.prod(size[2:]) == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")
    return _per_sample(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _per_sample(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
    """Batch norm with every channel of every sample as a channel of its own."""
    samples, channels = input.shape[:2]
    rows = input.reshape(1, samples * channels, *input.shape[2:])
    dtype = (input if weight is None else weight).dtype
    statistics = running_mean, running_var
    if (
        running_mean is not None and running_mean.dtype is not dtype
    ):  # unlike batch_norm; PyTorch looks at the first alone
        statistics = [None if v is None else v.to(dtype) for v in statistics]
    repeated = [None if v is None else v.repeat(samples) for v in statistics]
    repeated += [None if v is None else v.repeat(samples) for v in (weight, bias)]
    found = functions.batch_norm(
        rows, repeated[2], repeated[3], repeated[0], repeated[1], use_input_stats or running_mean is None, momentum, eps
    )
    if use_input_stats:
        for kept, moved in zip((running_mean, running_var), repeated):
            if kept is not None:
                kept.copy_(moved.reshape(samples, channels).mean(0))
    return found.reshape(input.shape)


@composite(names=("torch:instance_norm",))
def native_instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True
):
    """`nn.functional.instance_norm` with PyTorch's low-level order of arguments."""
    return _per_sample(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
