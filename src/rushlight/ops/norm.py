"""Normalisation: batch, layer, group, instance and root-mean-square norms, each with its gradient in one operation.

Every norm here has the same shape of computation: the input is arranged as rows, each row is shifted and scaled to mean
zero and variance one, and an affine map follows. The fused gradient is checked against, and differentiated through, the
plain formula next to it.
"""

import math

import numpy as np

from ..base.errors import hinted
from .table import composite, functions, op, widened


def _statistics(rows, eps):
    """Mean, and one over the standard deviation, of each row (last axis)."""
    mean = rows.mean(axis=-1, keepdims=True)
    centred = rows - mean
    variance = np.einsum("...i,...i->...", centred, centred)[..., None] / rows.dtype.type(max(rows.shape[-1], 1))
    return mean, centred, 1 / np.sqrt(variance + rows.dtype.type(eps))


# ---------------------------------------------------------------- layer norm


def _as_rows(array, normalized):
    count = math.prod(normalized)
    return (
        array.reshape(-1, count) if count else array.reshape(math.prod(array.shape[: array.ndim - len(normalized)]), 0)
    )


def _layer_norm_formula(input, weight, bias, normalized_shape, eps):
    dims = tuple(range(-len(normalized_shape), 0))
    centred = input - input.mean(dims, True)
    found = centred * ((centred * centred).mean(dims, True) + eps).rsqrt()
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


@op("native_layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> Tensor[]",
    names=("torch",), node="NativeLayerNormBackward0")  # fmt: skip
class native_layer_norm:
    """`layer_norm` with the mean and reciprocal deviation of each row."""

    def forward(input, normalized_shape, weight, bias, eps):
        rows = _as_rows(widened(input), normalized_shape)
        mean, found, scale = _statistics(rows, eps)
        found *= scale
        if weight is not None:
            found *= widened(weight).reshape(-1)
        if bias is not None:
            found += widened(bias).reshape(-1)
        lead = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
        return found.reshape(input.shape).astype(input.dtype, copy=False), mean.reshape(lead), scale.reshape(lead)

    def gradients(grads, input, normalized_shape, weight, bias, eps, result1, result2, needs):
        return functions.layer_norm_gradients(grads[0], input, normalized_shape, weight, bias, eps, result1, result2)


@op("layer_norm_gradients(Tensor grad, Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, Tensor mean, Tensor scale) -> Tensor[]",
    names=(), node="NativeLayerNormBackwardBackward0")  # fmt: skip
class layer_norm_gradients:
    """The gradients of a layer norm with respect to input, weight and bias."""

    def forward(grad, input, normalized_shape, weight, bias, eps, mean, scale):
        rows, flowing = _as_rows(widened(input), normalized_shape), _as_rows(widened(grad), normalized_shape)
        normal = (rows - mean.reshape(-1, 1)) * scale.reshape(-1, 1)
        d_weight = np.einsum("ij,ij->j", flowing, normal).reshape(normalized_shape)
        d_bias = flowing.sum(axis=0).reshape(normalized_shape)
        if weight is not None:
            flowing = flowing * widened(weight).reshape(-1)
        found = _through_statistics(flowing, normal, scale.reshape(-1, 1))
        return (
            found.reshape(input.shape).astype(input.dtype, copy=False),
            d_weight.astype(input.dtype, copy=False),
            d_bias.astype(input.dtype, copy=False),
        )

    def gradients(grads, grad, input, normalized_shape, weight, bias, eps, mean, scale, needs):
        found = functions.differentiate_gradient(
            lambda x, w, b: _layer_norm_formula(x, w, b, normalized_shape, eps), (input, weight, bias), grad, grads
        )
        return *found, None, None


def _through_statistics(flowing, normal, scale):
    """The gradient of rows that were normalised by their own mean and deviation."""
    count = normal.dtype.type(max(normal.shape[-1], 1))
    along = np.einsum("...i,...i->...", flowing, normal)[..., None] / count
    found = normal * along
    np.subtract(flowing, found, out=found)
    found -= flowing.mean(axis=-1, keepdims=True)
    found *= scale
    return found


@composite(names=("torch",))
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """Each sample shifted and scaled to mean 0 and variance 1 over its last dimensions, then ``* weight + bias``.

    Follows "Layer Normalization" (Ba, Kiros, Hinton, 2016).

    >>> import rushlight as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    normalized_shape = _check_normalized(input, normalized_shape, weight, bias)
    return functions.native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


def _check_normalized(input, normalized_shape, weight, bias):
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(value.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape or input.ndim < len(shape):
        raise RuntimeError(
            hinted(
                f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], but got input of "
                f"size{list(input.shape)}",
                "the last dimensions of the input must be those that the layer was made for",
            )
        )
    return shape


@composite(names=("nn.functional:layer_norm",))
def functional_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """`torch.layer_norm`."""
    return functions.layer_norm(input, normalized_shape, weight, bias, eps)


@composite(names=("torch", "nn.functional"))
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Each sample divided by the root of its mean square over its last dimensions, then ``* weight``.

    Follows "Root Mean Square Layer Normalization" (Zhang, Sennrich, 2019).
    """
    shape = _check_normalized(input, normalized_shape, weight, None)
    kind = input.dtype
    wide = input.float() if kind.itemsize == 2 else input
    if eps is None:
        eps = functions.finfo(wide.dtype).eps
    scale = (wide.pow(2).mean(tuple(range(-len(shape), 0)), True) + eps).rsqrt()
    found = wide * scale if weight is None else wide * scale * weight
    return found.to(kind)


# ---------------------------------------------------------------- batch norm


def _channel_shape(array):
    return (1, -1) + (1,) * (array.ndim - 2)


@op("native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> Tensor[]",
    names=(), node="NativeBatchNormBackward0")  # fmt: skip
class batch_norm_parts:
    """`batch_norm` with the mean and reciprocal deviation that it used; updates the running statistics in place."""

    def forward(input, weight, bias, running_mean, running_var, training, momentum, eps):
        x = widened(input)
        axes = (0, *range(2, x.ndim))
        shape = _channel_shape(x)
        if training:
            count = x.size // x.shape[1]
            mean = x.mean(axis=axes)
            found = x - mean.reshape(shape)
            variance = np.multiply(found, found).sum(axis=axes) / x.dtype.type(max(count, 1))
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
        return found.astype(input.dtype, copy=False), mean, scale

    def gradients(grads, input, weight, bias, training, eps, result1, result2, needs):
        found = functions.batch_norm_gradients(grads[0], input, weight, bias, training, eps, result1, result2)
        return *found, None, None


def _batch_norm_formula(input, weight, bias, training, eps, mean, scale):
    shape = _channel_shape(input)
    if training:
        dims = (0, *range(2, input.ndim))
        centred = input - input.mean(dims, True)
        found = centred * ((centred * centred).mean(dims, True) + eps).rsqrt()
    else:
        found = (input - mean.reshape(shape)) * scale.reshape(shape)
    found = found if weight is None else found * weight.reshape(shape)
    return found if bias is None else found + bias.reshape(shape)


@op("batch_norm_gradients(Tensor grad, Tensor input, Tensor? weight, Tensor? bias, bool training, float eps, Tensor mean, Tensor scale) -> Tensor[]",
    names=(), node="NativeBatchNormBackwardBackward0")  # fmt: skip
class batch_norm_gradients:
    """The gradients of a batch norm with respect to input, weight and bias."""

    def forward(grad, input, weight, bias, training, eps, mean, scale):
        g, x = widened(grad), widened(input)
        shape = _channel_shape(x)
        axes = (0, *range(2, x.ndim))
        normal = (x - mean.reshape(shape)) * scale.reshape(shape)
        d_bias = g.sum(axis=axes)
        d_weight = np.multiply(g, normal).sum(axis=axes)
        factor = scale if weight is None else scale * widened(weight)
        if training:
            count = x.dtype.type(max(x.size // x.shape[1], 1))
            normal *= (d_weight / count).reshape(shape)
            np.subtract(g, normal, out=normal)
            normal -= (d_bias / count).reshape(shape)
            normal *= factor.reshape(shape)
            found = normal
        else:
            found = g * factor.reshape(shape)
        kind = input.dtype
        return found.astype(kind, copy=False), d_weight.astype(kind, copy=False), d_bias.astype(kind, copy=False)

    def gradients(grads, grad, input, weight, bias, training, eps, mean, scale, needs):
        found = functions.differentiate_gradient(
            lambda x, w, b: _batch_norm_formula(x, w, b, training, eps, mean, scale), (input, weight, bias), grad, grads
        )
        return *found, None, None


@composite(names=("torch",))
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    """Each channel shifted and scaled to mean 0 and variance 1 over the batch, then ``* weight + bias``.

    Follows "Batch Normalization" (Ioffe, Szegedy, 2015). In training, the running statistics move by ``momentum``.
    """
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    if input.ndim < 2:
        return input.clone()
    channels = input.shape[1]
    for name, value in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        if value is not None and value.numel() != channels:
            raise RuntimeError(
                hinted(
                    f"{name} should contain {channels} elements not {value.numel()}",
                    f"the input has {channels} channels (dimension 1), the layer was made for {value.numel()}",
                )
            )
    if training:
        for value in (running_mean, running_var):
            if value is not None:
                functions.bump_version(value, "batch_norm")
    return functions.batch_norm_parts(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


@composite(names=("nn.functional:batch_norm",))
def functional_batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
):
    """`torch.batch_norm` with the running statistics first; more than one value per channel is needed in training."""
    if training:
        size = input.shape
        if math.prod((size[0], *size[2:])) == 1:
            raise ValueError(
                hinted(
                    f"Expected more than 1 value per channel when training, got input size {size}",
                    "one value has no variance: use a larger batch, or eval()",
                )
            )
    return functions.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite(names=("nn.functional",))
def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    """Each channel of each sample shifted and scaled to mean 0 and variance 1, then ``* weight + bias``."""
    if use_input_stats:
        size = input.shape
        if math.prod(size[2:]) == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")
    samples, channels = input.shape[:2]
    rows = input.reshape(1, samples * channels, *input.shape[2:])
    repeated = [None if v is None else v.repeat(samples) for v in (running_mean, running_var, weight, bias)]
    found = functions.batch_norm(
        rows, repeated[2], repeated[3], repeated[0], repeated[1], use_input_stats or running_mean is None, momentum, eps
    )
    if use_input_stats:
        for kept, moved in zip((running_mean, running_var), repeated):
            if kept is not None:
                kept.copy_(moved.reshape(samples, channels).mean(0))
    return found.reshape(input.shape)


# ---------------------------------------------------------------- group norm


def _group_norm_formula(input, weight, bias, groups, eps):
    rows = input.reshape(input.shape[0], groups, -1)
    centred = rows - rows.mean(-1, True)
    found = (centred * ((centred * centred).mean(-1, True) + eps).rsqrt()).reshape(input.shape)
    shape = _channel_shape(input)
    found = found if weight is None else found * weight.reshape(shape)
    return found if bias is None else found + bias.reshape(shape)


@op("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int num_groups, float eps) -> Tensor[]",
    names=(), node="NativeGroupNormBackward0")  # fmt: skip
class group_norm_parts:
    """`group_norm` with the mean and reciprocal deviation of each group."""

    def forward(input, weight, bias, num_groups, eps):
        x = widened(input)
        mean, found, scale = _statistics(
            x.reshape(x.shape[0], num_groups, x.size // max(x.shape[0] * num_groups, 1)), eps
        )
        found *= scale
        found = found.reshape(x.shape)
        shape = _channel_shape(x)
        if weight is not None:
            found *= widened(weight).reshape(shape)
        if bias is not None:
            found += widened(bias).reshape(shape)
        return found.astype(input.dtype, copy=False), mean[..., 0], scale[..., 0]

    def gradients(grads, input, weight, bias, num_groups, eps, result1, result2, needs):
        return functions.group_norm_gradients(grads[0], input, weight, bias, num_groups, eps, result1, result2)


@op("group_norm_gradients(Tensor grad, Tensor input, Tensor? weight, Tensor? bias, int num_groups, float eps, Tensor mean, Tensor scale) -> Tensor[]",
    names=(), node="NativeGroupNormBackwardBackward0")  # fmt: skip
class group_norm_gradients:
    """The gradients of a group norm with respect to input, weight and bias."""

    def forward(grad, input, weight, bias, num_groups, eps, mean, scale):
        g, x = widened(grad), widened(input)
        rows = (*mean.shape, x.size // max(mean.size, 1))
        normal = ((x.reshape(rows) - mean[..., None]) * scale[..., None]).reshape(x.shape)
        axes = (0, *range(2, x.ndim))
        d_weight, d_bias = np.multiply(g, normal).sum(axis=axes), g.sum(axis=axes)
        if weight is not None:
            g = g * widened(weight).reshape(_channel_shape(x))
        found = _through_statistics(g.reshape(rows), normal.reshape(rows), scale[..., None])
        kind = input.dtype
        return (
            found.reshape(x.shape).astype(kind, copy=False),
            d_weight.astype(kind, copy=False),
            d_bias.astype(kind, copy=False),
        )

    def gradients(grads, grad, input, weight, bias, num_groups, eps, mean, scale, needs):
        found = functions.differentiate_gradient(
            lambda x, w, b: _group_norm_formula(x, w, b, num_groups, eps), (input, weight, bias), grad, grads
        )
        return *found, None, None


@composite(names=("torch", "nn.functional"))
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """Channels in ``num_groups`` groups, each group of a sample shifted and scaled to mean 0 and variance 1.

    Follows "Group Normalization" (Wu, He, 2018).
    """
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    channels = input.shape[1]
    if channels % num_groups:
        raise RuntimeError(
            hinted(
                f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and "
                f"num_groups={num_groups}",
                f"{channels} channels cannot be cut into {num_groups} equal groups",
            )
        )
    return functions.group_norm_parts(input, weight, bias, num_groups, eps)[0]


@composite(names=("nn.functional",))
def local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0):
    """Each element divided by a power of the mean square of its neighbours in other channels (Krizhevsky et al., 2012)."""
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if input.numel() == 0:
        return input
    shape = (input.shape[0], 1, input.shape[1], -1)
    padded = functions.constant_pad_nd(input.mul(input).reshape(shape), [0, 0, size // 2, (size - 1) // 2], 0)
    mean = functions.avg_pool2d(padded, (size, 1), 1).reshape(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)


@composite(names=("nn.functional",))
def normalize(input, p=2.0, dim=1, eps=1e-12):
    """The tensor divided by its p-norm along ``dim``, which is taken to be at least ``eps``."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
