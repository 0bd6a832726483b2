"""Normalisation of samples: layer, group and root-mean-square norms, each with its gradient in one operation.

Every norm here has the same shape of computation: the input is arranged as rows, each row is shifted and scaled to mean
zero and variance one, and an affine map follows. The fused gradient is checked against, and differentiated through, the
plain formula next to it.
"""

import math

import numpy as np

from ..base import dtypes
from ..base.arrays import laid_out_as
from ..base.errors import hinted
from .elementwise.checks import COMPLEX, NOT_FLOATING
from .recording import is_recorded
from .reduce import add_up
from .rowwise import row_slices
from .table import composite, functions, op, widened


def _normalise(rows, eps, out):
    """Into ``out`` the rows with mean 0 and variance 1; returns (mean, one over the deviation) as columns."""
    mean, rest = rounded_mean(rows, 1)
    np.subtract(rows, mean, out=out)
    count = rows.dtype.type(max(rows.shape[1], 1))
    variance = np.add.reduce(out * out, 1, keepdims=True) / count - rest * rest
    scale = 1 / np.sqrt(variance + rows.dtype.type(eps))
    np.multiply(out, scale, out=out)
    return mean, scale


def rounded_mean(array, axes):
    """The mean over ``axes``, kept as dimensions of length 1, and what rounding left of it: 0 in double precision."""
    exact = add_up(array, axes, True, np.float64)
    exact /= max(array.size // max(exact.size, 1), 1)
    mean = exact.astype(array.dtype)
    return mean, (exact - mean).astype(array.dtype)


def _normalised(rows, eps, weight=None, bias=None):
    """(normalised rows ``* weight + bias``, means, reciprocal deviations), a few rows at a time."""
    found = np.empty(rows.shape, rows.dtype)
    mean, scale = np.empty((rows.shape[0], 1), rows.dtype), np.empty((rows.shape[0], 1), rows.dtype)
    for part in row_slices(*rows.shape):
        target = found[part]
        mean[part], scale[part] = _normalise(rows[part], eps, target)
        if weight is not None:
            np.multiply(target, weight, out=target)
        if bias is not None:
            np.add(target, bias, out=target)
    return found, mean, scale


def channel_shape(array):
    """The shape in which a value for each channel meets (samples, channels, ...)."""
    return (1, -1) + (1,) * (array.ndim - 2)


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
    names=(), node="NativeLayerNormBackward0", refuse=COMPLEX)  # fmt: skip
class layer_norm_parts:
    """`layer_norm` with the mean and reciprocal deviation of each row."""

    kernel = "LayerNormKernelImpl"

    tracked = 1

    def forward(input, normalized_shape, weight, bias, eps):
        if input.dtype.kind in "iub":
            name = dtypes.from_numpy(input.dtype).legacy_name
            raise NotImplementedError(
                hinted(f"\"LayerNormKernelImpl\" not implemented for '{name}'", "convert the input first: x.float()")
            )
        rows = _as_rows(widened(input), normalized_shape)
        affine = [None if v is None else widened(v).reshape(-1) for v in (weight, bias)]
        found, mean, scale = _normalised(rows, eps, *affine)
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
        mean, scale = mean.reshape(-1, 1), scale.reshape(-1, 1)
        factor = None if weight is None else widened(weight).reshape(-1)
        found = np.empty(rows.shape, rows.dtype)
        d_weight, d_bias = np.zeros(rows.shape[1], rows.dtype), np.zeros(rows.shape[1], rows.dtype)
        for part in row_slices(*rows.shape):
            flow, target = flowing[part], found[part]
            normal = np.subtract(rows[part], mean[part])
            np.multiply(normal, scale[part], out=normal)
            d_weight += np.einsum("ij,ij->j", flow, normal)
            d_bias += np.add.reduce(flow, 0)
            _through_statistics(flow if factor is None else flow * factor, normal, scale[part], target)
        kind = input.dtype
        affine = (v.reshape(normalized_shape).astype(kind, copy=False) for v in (d_weight, d_bias))
        return found.reshape(input.shape).astype(kind, copy=False), *affine

    def gradients(grads, grad, input, normalized_shape, weight, bias, eps, mean, scale, needs):
        found = functions.differentiate_gradient(
            lambda x, w, b: _layer_norm_formula(x, w, b, normalized_shape, eps), (input, weight, bias), grad, grads
        )
        return *found, None, None


def _through_statistics(flow, normal, scale, out):
    """Into ``out`` the gradient of rows that were normalised by their own mean and deviation; overwrites ``normal``."""
    count = normal.dtype.type(max(normal.shape[1], 1))
    np.multiply(normal, np.add.reduce(flow * normal, 1, keepdims=True) / count, out=normal)
    np.subtract(flow, normal, out=out)
    out -= np.add.reduce(flow, 1, keepdims=True) / count
    out *= scale


@composite(names=("torch",))
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """Each sample shifted and scaled to mean 0 and variance 1 over its last dimensions, then ``* weight + bias``.

    Follows "Layer Normalization" (Ba, Kiros, Hinton, 2016).

    >>> import rushlight as torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    normalized_shape = _check_normalized(input, normalized_shape, weight, bias)
    if not _alike(input, weight, bias):
        check_parameters("LayerNormKernelImpl", input, weight, bias)
    return functions.layer_norm_parts(input, normalized_shape, weight, bias, eps)[0]


@composite(names=("torch",))
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """`layer_norm` with the mean and reciprocal deviation of each sample."""
    normalized_shape = _check_normalized(input, normalized_shape, weight, bias)
    if not _alike(input, weight, bias):
        check_parameters("LayerNormKernelImpl", input, weight, bias)
    found, mean, scale = functions.layer_norm_parts(input, normalized_shape, weight, bias, eps)
    return found, mean.to(input.dtype), scale.to(input.dtype)


def check_parameters(kernel, input, *parameters):
    """PyTorch's refusals of parameters in another dtype than the input: only float32 goes, beside half precision."""
    dtype = input.dtype
    found = [each.dtype for each in parameters if each is not None]
    if found and found[0] is not dtype:
        if any(each is not dtypes.float32 for each in found):
            first = "mixed dtype (CPU): expect parameter to have scalar type of Float"
        elif dtype not in (dtypes.float16, dtypes.bfloat16):
            first = "mixed dtype (CPU): all inputs must share same datatype."
        else:
            return
        raise RuntimeError(hinted(first, f"the input has {dtype!r}, the parameters {', '.join(map(repr, found))}"))
    if not dtype.is_floating_point:
        message = f"\"{kernel}\" not implemented for '{dtype.legacy_name}'"
        raise NotImplementedError(hinted(message, "convert the input first: x.float()"))
    for each in found:
        if each is not dtype:
            message = f"expected scalar type {dtype.legacy_name} but found {each.legacy_name}"
            raise RuntimeError(hinted(message, "input and parameters share one dtype"))


def _alike(input, weight, bias):
    """Whether input and parameters have one dtype, so that there is nothing to refuse."""
    kind = input._array.dtype
    return (weight is None or weight._array.dtype is kind) and (bias is None or bias._array.dtype is kind)


def _check_normalized(input, normalized_shape, weight, bias, comma=", "):
    """``normalized_shape`` as a tuple, after PyTorch's refusals of shapes that do not fit."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if (
        shape
        and input._array.shape[-len(shape) :] == shape
        and (weight is None or weight._array.shape == shape)
        and (bias is None or bias._array.shape == shape)
    ):
        return shape
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
    if not comma and input.ndim < len(shape):  # the root mean square norm has words of its own
        message = f"Input tensor must have at least {len(shape)} dimensions, but got {input.ndim}"
        raise ValueError(hinted(message, f"it is normalised over dimensions of the lengths {list(shape)}"))
    raise RuntimeError(
        hinted(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{comma}{', '.join(map(str, shape))}], but "
            f"got input of size{list(input.shape)}",
            "the last dimensions of the input must be those that the layer was made for",
        )
    )


@composite(names=("nn.functional:layer_norm",))
def functional_layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """`torch.layer_norm`."""
    return layer_norm(input, normalized_shape, weight, bias, eps)


# ---------------------------------------------------------------- root mean square norm


def _rms_norm_formula(input, weight, normalized_shape, eps):
    kind = input.dtype
    wide = input.float() if kind.itemsize == 2 else input
    scale = (wide.pow(2).mean(tuple(range(-len(normalized_shape), 0)), True) + eps).rsqrt()
    found = wide * scale if weight is None else wide * scale * weight
    return found.to(kind)


def _node_of_rms_norm(input, *rest):
    return "ToCopyBackward0" if input.dtype.itemsize == 2 else "MulBackward0"


@op("rms_norm_parts(Tensor input, int[] normalized_shape, Tensor? weight, float eps) -> Tensor[]",
    names=(), node=_node_of_rms_norm)  # fmt: skip
class rms_norm_parts:
    """`rms_norm` with one over the root of each row's mean square."""

    tracked = 1

    def forward(input, normalized_shape, weight, eps):
        rows = _as_rows(widened(input), normalized_shape)
        count = rows.dtype.type(max(rows.shape[1], 1))
        found, scale = np.empty(rows.shape, rows.dtype), np.empty((rows.shape[0], 1), rows.dtype)
        for part in row_slices(*rows.shape):
            mean = np.add.reduce(rows[part] * rows[part], 1, keepdims=True) / count
            scale[part] = 1 / np.sqrt(mean + rows.dtype.type(eps))
            np.multiply(rows[part], scale[part], out=found[part])
        if weight is not None:
            np.multiply(found, widened(weight).reshape(-1), out=found)
        lead = input.shape[: input.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)
        return found.reshape(input.shape).astype(input.dtype, copy=False), scale.reshape(lead)

    def gradients(grads, input, normalized_shape, weight, eps, result1, needs):
        if weight is not None and not needs[0]:
            weight = weight.detach()  # its own gradient does not depend on it
        return functions.rms_norm_gradients(grads[0], input, normalized_shape, weight, eps, result1)


@op("rms_norm_gradients(Tensor grad, Tensor input, int[] normalized_shape, Tensor? weight, float eps, Tensor scale) -> Tensor[]",
    names=(), node="RmsNormBackwardBackward0")  # fmt: skip
class rms_norm_gradients:
    """The gradients of a root mean square norm with respect to input and weight."""

    def forward(grad, input, normalized_shape, weight, eps, scale):
        rows, flowing = _as_rows(widened(input), normalized_shape), _as_rows(widened(grad), normalized_shape)
        scale, count = scale.reshape(-1, 1), rows.dtype.type(max(rows.shape[1], 1))
        factor = None if weight is None else widened(weight).reshape(-1)
        found, d_weight = np.empty(rows.shape, rows.dtype), np.zeros(rows.shape[1], rows.dtype)
        for part in row_slices(*rows.shape):
            flow, normal, target = flowing[part], rows[part] * scale[part], found[part]
            d_weight += np.einsum("ij,ij->j", flow, normal)
            flow = flow if factor is None else flow * factor
            np.multiply(normal, np.add.reduce(flow * normal, 1, keepdims=True) / count, out=target)
            np.subtract(flow, target, out=target)
            target *= scale[part]
        kind = input.dtype
        return (
            found.reshape(input.shape).astype(kind, copy=False),
            d_weight.reshape(normalized_shape).astype(kind, copy=False),
        )

    def gradients(grads, grad, input, normalized_shape, weight, eps, scale, needs):
        found = functions.differentiate_gradient(
            lambda x, w: _rms_norm_formula(x, w, normalized_shape, eps), (input, weight), grad, grads
        )
        return *found, None


_EPSILONS = {np.dtype(kind).itemsize: float(np.finfo(kind).eps) for kind in (np.float32, np.float64)}


@composite(names=("torch", "nn.functional"))
def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Each sample divided by the root of its mean square over its last dimensions, then ``* weight``.

    Follows "Root Mean Square Layer Normalization" (Zhang, Sennrich, 2019).

    >>> import rushlight as torch
    >>> torch.nn.functional.rms_norm(torch.tensor([[3.0, 4.0]]), (2,))
    tensor([[0.8485, 1.1314]])
    """
    shape = _check_normalized(input, normalized_shape, weight, None, "")
    kind = input.dtype
    if eps is None:
        eps = _EPSILONS[8 if kind.itemsize == 16 else max(kind.itemsize, 4)] if kind.itemsize > 1 else 0.0
    if kind.is_floating_point and (weight is None or weight.dtype is kind):
        return functions.rms_norm_parts(input, shape, weight, eps)[0]
    if not kind.is_floating_point and not kind.is_complex:
        message = f"\"rms_norm\" not implemented for '{kind.legacy_name}'"
        raise NotImplementedError(hinted(message, "convert the input first: x.float()"))
    return _rms_norm_formula(input, weight, shape, eps)


# ---------------------------------------------------------------- group norm


def _group_norm_formula(input, weight, bias, groups, eps):
    rows = input.reshape(input.shape[0], groups, math.prod(input.shape[1:]) // groups)
    centred = rows - rows.mean(-1, True)
    found = (centred * ((centred * centred).mean(-1, True) + eps).rsqrt()).reshape(input.shape)
    shape = channel_shape(input)
    found = found if weight is None else found * weight.reshape(shape)
    return found if bias is None else found + bias.reshape(shape)


@op("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int num_groups, float eps) -> Tensor[]",
    names=(), node="NativeGroupNormBackward0", refuse=NOT_FLOATING)  # fmt: skip
class group_norm_parts:
    """`group_norm` with the mean and reciprocal deviation of each group."""

    kernel = "GroupNormKernelImpl"

    def forward(input, weight, bias, num_groups, eps):
        x = widened(input)
        groups = (x.shape[0], num_groups)
        rows = x.reshape(x.shape[0] * num_groups, x.size // max(x.shape[0] * num_groups, 1))
        found, mean, scale = _normalised(rows, eps)
        found, shape = found.reshape(x.shape), channel_shape(x)
        if weight is not None:
            found *= widened(weight).reshape(shape)
        if bias is not None:
            found += widened(bias).reshape(shape)
        found = laid_out_as(found.astype(input.dtype, copy=False), input)
        return found, mean.reshape(groups), scale.reshape(groups)

    def gradients(grads, input, weight, num_groups, eps, result1, result2, needs):
        (grad, g_mean, g_scale), d_bias = grads, None
        if grad is None:  # as in PyTorch: the statistics alone have no gradient
            return None, None, None
        if needs[2] and is_recorded(result1):  # the gradient of the bias depends on the other alone
            d_bias = grad.sum((0, *range(2, input.ndim)))
        if not any(needs[:2]) and d_bias is not None:
            return None, None, d_bias
        found = functions.group_norm_gradients(grad, input, weight, num_groups, eps, result1, result2)
        d_input = found[0]
        if g_mean is not None or g_scale is not None:
            d_input = d_input + _through_group_statistics(g_mean, g_scale, input, num_groups, eps)
        return d_input, found[1], found[2] if d_bias is None else d_bias


def _through_group_statistics(g_mean, g_scale, input, groups, eps):
    """What flows back from the mean and the reciprocal deviation of each group."""
    rows = input.reshape(input.shape[0], groups, math.prod(input.shape[1:]) // groups)
    centred, found = rows - rows.mean(-1, True), 0
    if g_mean is not None:
        found = g_mean.unsqueeze(-1)
    if g_scale is not None:
        variance = (centred * centred).mean(-1, True) + eps
        found = found - g_scale.unsqueeze(-1) * variance.pow(-1.5) * centred
    return (found / rows.shape[-1]).expand(rows.shape).reshape(input.shape)


@op("group_norm_gradients(Tensor grad, Tensor input, Tensor? weight, int num_groups, float eps, Tensor mean, Tensor scale) -> Tensor[]",
    names=(), node="NativeGroupNormBackwardBackward0")  # fmt: skip
class group_norm_gradients:
    """The gradients of a group norm with respect to input, weight and bias."""

    def forward(grad, input, weight, num_groups, eps, mean, scale):
        g, x = widened(grad), widened(input)
        rows = (mean.size, x.size // max(mean.size, 1))
        column = scale.reshape(-1, 1)
        normal = (x.reshape(rows) - mean.reshape(-1, 1)) * column
        axes = (0, *range(2, x.ndim))
        d_weight, d_bias = add_up(np.multiply(g, normal.reshape(x.shape)), axes), add_up(g, axes)
        if weight is not None:
            g = g * widened(weight).reshape(channel_shape(x))
        found = np.empty(rows, x.dtype)
        _through_statistics(g.reshape(rows), normal, column, found)
        kind = input.dtype
        return found.reshape(x.shape).astype(kind, copy=False), *(
            v.astype(kind, copy=False) for v in (d_weight, d_bias)
        )

    def gradients(grads, grad, input, weight, num_groups, eps, mean, scale, needs):
        bias = None if grads[2] is None else grad.new_zeros(grad.shape[1])  # its numbers do not matter
        *found, _ = functions.differentiate_gradient(
            lambda x, w, b: _group_norm_formula(x, w, b, num_groups, eps), (input, weight, bias), grad, grads
        )
        return *found, None, None


def _check_groups(input, channels, num_groups, weight, bias):
    """PyTorch's refusals of groups and parameters that the channels do not allow."""
    if num_groups <= 0:
        raise RuntimeError(
            hinted(f"Expected num groups to be greater than 0, got {num_groups}", "1 takes all channels together")
        )
    if channels % num_groups:
        raise RuntimeError(
            hinted(
                f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and "
                f"num_groups={num_groups}",
                f"{channels} channels cannot be cut into {num_groups} equal groups",
            )
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value._array.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(weight.shape if name == 'bias' and weight is not None else value.shape)} and input of shape {list(input.shape)}"
            )


@composite(names=("torch",))
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """Channels in ``num_groups`` groups, each group of a sample shifted and scaled to mean 0 and variance 1.

    Follows "Group Normalization" (Wu, He, 2018).
    """
    sizes = input._array.shape
    if len(sizes) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    _check_groups(input, sizes[1], num_groups, weight, bias)
    if not _alike(input, weight, bias):
        check_parameters("GroupNormKernelImpl", input, weight, bias)
    return functions.group_norm_parts(input, weight, bias, num_groups, eps)[0]


@composite(names=("nn.functional:group_norm",))
def functional_group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """`torch.group_norm`, refused where groups hold one value each and there is one sample: PyTorch counts them so."""
    sizes = input._array.shape
    if len(sizes) > 1 and sizes[0] * (sizes[1] // num_groups) * math.prod(sizes[2:]) == 1:
        counted = [sizes[0] * sizes[1] // num_groups, num_groups, *sizes[2:]]
        raise ValueError(
            hinted(
                f"Expected more than 1 value per channel when training, got input size {counted}",
                "one value has no variance: use fewer groups, or larger inputs",
            )
        )
    return group_norm(input, num_groups, weight, bias, eps)


@composite(names=("torch",))
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """`group_norm` of (N, C, ...) with the mean and reciprocal deviation of each group."""
    _check_groups(input, C, group, weight, bias)
    if not _alike(input, weight, bias) or not input.is_floating_point():
        check_parameters("GroupNormKernelImpl", input, weight, bias)
    if N < 0:
        message = f"Trying to create tensor with negative dimension {N}: {[N, group]}"
        raise RuntimeError(hinted(message, "N is the number of samples"))
    if input.numel() != N * C * HxW:
        message = (
            "Expected X.numel() == N * C * HxW to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
        raise RuntimeError(hinted(message, f"the input has {input.numel()} elements, N * C * HxW is {N * C * HxW}"))
    image = input if input.shape[:2] == (N, C) else input.reshape(N, C, max(HxW, 0))
    found = functions.group_norm_parts(image, weight, bias, group, eps)[0]
    rows = image.reshape(N, group, C // group * max(HxW, 0))
    mean, scale = rows.mean(-1), (rows.var(-1, correction=0) + eps).rsqrt()
    return found if image is input else found.reshape(input.shape), mean, scale


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
    norm = functions.norm(input, p, dim, True).clamp_min(eps)
    return input / (norm.expand_as(input) if norm.requires_grad else norm)
