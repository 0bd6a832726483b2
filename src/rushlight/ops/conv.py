"""Convolution in one, two and three dimensions, its two gradients, and transposed convolution.

All three are sums over the taps of the kernel. For each tap the matching window of the input is copied into a matrix of
columns, so that one matrix product does the arithmetic; depthwise convolutions multiply and add windows directly.
The gradients are operations of their own, and each one's derivatives are the other two: every order follows.
"""

import itertools
import math
from functools import lru_cache

import numpy as np

from ..base import dtypes
from ..base.arrays import strided_view
from ..base.errors import hinted
from ..base.notes import warn_once
from .conv_checks import (
    check_filled,
    check_fit,
    check_gradient,
    check_kernel,
    check_lengths,
    check_operands,
    check_options,
    form_of,
    is_large,
    output_lengths,
    repeated,
)
from .pool import fixed
from .table import composite, conj, functions, is_half, op

# Columns are made for so many bytes at a time: enough for the matrix product to run well, little enough to stay in cache.
COLUMN_BYTES = 4 << 20


def padded(array, padding):
    """``array`` with ``padding[i]`` zeros before and after its i-th spatial dimension; contiguous."""
    if not any(padding):
        return np.ascontiguousarray(array)
    lengths = array.shape[2:]
    shape = array.shape[:2] + tuple(n + 2 * p for n, p in zip(lengths, padding))
    found = np.zeros(shape, array.dtype)
    found[(slice(None), slice(None), *(slice(p, p + n) for n, p in zip(lengths, padding)))] = array
    return found


def taps(kernel, stride, dilation, out):
    """For each tap: its place in the kernel, and the slices of the (padded) input that it multiplies."""
    for place in itertools.product(*map(range, kernel)):
        yield place, tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in zip(place, dilation, stride, out))


class _Geometry:
    """The numbers of one convolution: kernel, steps and lengths, and how many samples to take at a time."""

    def __init__(self, input_shape, weight_shape, stride, padding, dilation, groups, itemsize, out=None):
        self.kernel, self.stride, self.padding, self.dilation, self.groups = (
            weight_shape[2:],
            stride,
            padding,
            dilation,
            groups,
        )
        self.samples, self.channels = input_shape[:2]
        self.lengths = input_shape[2:]
        self.out_channels = weight_shape[0]
        self.out = output_lengths(self.lengths, self.kernel, stride, padding, dilation) if out is None else out
        self.size = math.prod(self.kernel)
        self.pixels = math.prod(self.out)
        self.matrix_shape = (self.samples, groups, self.out_channels // groups, self.pixels)
        self.depthwise = groups == self.channels and groups > 1
        per_sample = max(self.channels * self.size * self.pixels * itemsize, 1)
        self.at_once = max(1, min(self.samples, COLUMN_BYTES // per_sample))
        self.is_pointwise = self.size == 1 and not any(padding) and all(s == 1 for s in stride)

    def chunks(self):
        return [(start, min(start + self.at_once, self.samples)) for start in range(0, self.samples, self.at_once)]

    def taps(self):
        return taps(self.kernel, self.stride, self.dilation, self.out)

    def columns(self, part, buffer):
        """The windows of some samples as matrices (samples, groups, channels per group x taps, pixels)."""
        count = part.shape[0]
        if self.is_pointwise:
            return part.reshape(count, self.groups, self.channels // self.groups, self.pixels)
        columns = buffer[:count]
        lead, steps = part.strides[:2], part.strides[2:]
        by_tap = tuple(d * size for d, size in zip(self.dilation, steps))
        by_window = tuple(s * size for s, size in zip(self.stride, steps))
        np.copyto(columns, strided_view(part, columns.shape, (*lead, *by_tap, *by_window)))
        return columns.reshape(count, self.groups, self.channels // self.groups * self.size, self.pixels)

    def buffer(self, dtype):
        """Memory for the columns of one chunk."""
        return None if self.is_pointwise else np.empty((self.at_once, self.channels, *self.kernel, *self.out), dtype)

    def weight_matrix(self, weight):
        return weight.reshape(self.groups, self.out_channels // self.groups, self.channels // self.groups * self.size)


def _wide(*arrays):
    return [a.astype(np.float32) if is_half(a.dtype) else a for a in arrays]


@op("convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    names=(), node="ConvolutionBackward0")  # fmt: skip
class convolution:
    """A convolution of (samples, channels, ...) with (out channels, channels per group, kernel ...)."""

    beside, beside_as = ("input", "weight"), None

    def forward(input, weight, bias, stride, padding, dilation, groups):
        kind = input.dtype
        check_fit(
            (input.shape, kind), (weight.shape, weight.dtype), None, *map(tuple, (stride, padding, dilation)), groups
        )
        x, w = _wide(input, weight)
        geometry = _Geometry(x.shape, w.shape, stride, padding, dilation, groups, x.itemsize)
        found = np.empty((geometry.samples, geometry.out_channels, *geometry.out), x.dtype)
        source = padded(x, padding)
        if geometry.depthwise:
            _depthwise(source, w, geometry, found)
        else:
            matrix = geometry.weight_matrix(w)
            flat = found.reshape(geometry.matrix_shape)
            buffer = geometry.buffer(x.dtype)
            for start, end in geometry.chunks():
                np.matmul(matrix, geometry.columns(source[start:end], buffer), out=flat[start:end])
        if bias is not None:
            found += bias.reshape((-1,) + (1,) * len(geometry.out))
        return found.astype(kind, copy=False)

    def d_input(grad, weight, input_shape, stride, padding, dilation, groups):
        return functions.convolution_input_gradient(grad, conj(weight), input_shape, stride, padding, dilation, groups)

    def d_weight(grad, input, weight_shape, stride, padding, dilation, groups):
        return functions.convolution_weight_gradient(grad, conj(input), weight_shape, stride, padding, dilation, groups)

    def d_bias(grad):
        return grad.sum((0, *range(2, grad.ndim)))


def _depthwise(source, weight, geometry, found):
    """One filter, or a few, for each channel: windows times the tap's weight, added up."""
    per_channel = geometry.out_channels // geometry.groups
    found[...] = 0
    target = found.reshape(geometry.samples, geometry.groups, per_channel, *geometry.out)
    tap_shape = (geometry.groups, per_channel) + (1,) * len(geometry.out)
    for place, window in geometry.taps():
        part = source[(slice(None), slice(None), *window)][:, :, None]
        target += part * weight[(slice(None), 0, *place)].reshape(tap_shape)


@op("convolution_input_gradient(Tensor grad, Tensor weight, int[] input_size, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    names=(), node="ConvolutionBackward0")  # fmt: skip
class convolution_input_gradient:
    """What flows from a convolution's output back to its input; also the transposed convolution."""

    beside, beside_as = ("grad", "weight"), None

    def forward(grad, weight, input_size, stride, padding, dilation, groups):
        kind = grad.dtype
        operands = (tuple(input_size), kind), (weight.shape, weight.dtype), (grad.shape, kind)
        check_fit(*operands, *map(tuple, (stride, padding, dilation)), groups)
        g, w = _wide(np.ascontiguousarray(grad), weight)
        geometry = _Geometry(input_size, w.shape, stride, padding, dilation, groups, g.itemsize, g.shape[2:])
        shape = (*input_size[:2], *(n + 2 * p for n, p in zip(geometry.lengths, padding)))
        found = np.zeros(shape, g.dtype)
        if geometry.depthwise:
            _depthwise_input_gradient(g, w, geometry, found)
        else:
            matrix = geometry.weight_matrix(w).swapaxes(1, 2)
            flat = g.reshape(geometry.matrix_shape)
            for start, end in geometry.chunks():
                columns = np.matmul(matrix, flat[start:end]).reshape(
                    end - start, geometry.channels, *geometry.kernel, *geometry.out
                )
                target = found[start:end]
                for place, window in geometry.taps():
                    target[(slice(None), slice(None), *window)] += columns[(slice(None), slice(None), *place)]
        inside = tuple(slice(p, p + n) for n, p in zip(geometry.lengths, padding))
        return np.ascontiguousarray(found[(slice(None), slice(None), *inside)]).astype(kind, copy=False)

    def d_grad(grads, shape, weight, stride, padding, dilation, groups):
        found = functions.convolution(grads[0], conj(weight), None, stride, padding, dilation, groups)
        return _first_windows(found, shape)

    def d_weight(grads, grad, weight_shape, stride, padding, dilation, groups):
        return functions.convolution_weight_gradient(
            conj(grad), grads[0], weight_shape, stride, padding, dilation, groups
        )


@op("convolution_transposed(Tensor input, Tensor weight, Tensor? bias, int[] size, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    names=(), node="ConvolutionBackward0")  # fmt: skip
class transposed_convolution:
    """`convolution_input_gradient` as an operation of its own, with a bias; ``size`` is that of the result."""

    beside, beside_as = ("input", "weight"), None

    def forward(input, weight, bias, size, stride, padding, dilation, groups):
        found = convolution_input_gradient.forward(input, weight, size, stride, padding, dilation, groups)
        if bias is None:
            return found
        return (found + bias.reshape((-1,) + (1,) * (found.ndim - 2))).astype(found.dtype, copy=False)

    def d_input(grad, weight, input_shape, stride, padding, dilation, groups):
        found = functions.convolution(grad, conj(weight), None, stride, padding, dilation, groups)
        return _first_windows(found, input_shape)

    def d_weight(grad, input, weight_shape, stride, padding, dilation, groups):
        return functions.convolution_weight_gradient(conj(input), grad, weight_shape, stride, padding, dilation, groups)

    def d_bias(grad):
        return grad.sum((0, *range(2, grad.ndim)))


def _first_windows(found, shape):
    """A convolution's result cut to ``shape``: output padding can make room for one more window."""
    if found.shape[:2] != shape[:2]:
        check_gradient(tuple(found.shape), tuple(shape))
    return found if found.shape == shape else found[tuple(slice(0, n) for n in shape)]


def _depthwise_input_gradient(grad, weight, geometry, found):
    per_channel = geometry.out_channels // geometry.groups
    flowing = grad.reshape(geometry.samples, geometry.groups, per_channel, *geometry.out)
    tap_shape = (geometry.groups, per_channel) + (1,) * len(geometry.out)
    for place, window in geometry.taps():
        part = flowing * weight[(slice(None), 0, *place)].reshape(tap_shape)
        found[(slice(None), slice(None), *window)] += part.sum(2) if per_channel > 1 else part[:, :, 0]


@op("convolution_weight_gradient(Tensor grad, Tensor input, int[] weight_size, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    names=(), node="ConvolutionBackward0")  # fmt: skip
class convolution_weight_gradient:
    """What flows from a convolution's output to its kernel, summed over samples and pixels."""

    def forward(grad, input, weight_size, stride, padding, dilation, groups):
        kind = grad.dtype
        operands = (input.shape, input.dtype), (tuple(weight_size), input.dtype), (grad.shape, kind)
        check_fit(*operands, *map(tuple, (stride, padding, dilation)), groups)
        g, x = _wide(np.ascontiguousarray(grad), input)
        geometry = _Geometry(x.shape, weight_size, stride, padding, dilation, groups, x.itemsize, g.shape[2:])
        source = padded(x, padding)
        found = np.zeros(weight_size, g.dtype)
        if geometry.depthwise:
            per_channel = geometry.out_channels // groups
            flowing = g.reshape(geometry.samples, groups, per_channel, geometry.pixels)
            for place, window in geometry.taps():
                part = source[(slice(None), slice(None), *window)].reshape(geometry.samples, groups, geometry.pixels, 1)
                found[(slice(None), 0, *place)] = np.matmul(flowing, part).sum(0).reshape(-1)
            return found.astype(kind, copy=False)
        matrix = geometry.weight_matrix(found)
        flat = g.reshape(geometry.matrix_shape)
        buffer = geometry.buffer(x.dtype)
        for start, end in geometry.chunks():
            columns = geometry.columns(source[start:end], buffer)
            matrix += np.matmul(flat[start:end], columns.swapaxes(2, 3)).sum(0)
        return found.astype(kind, copy=False)

    def d_grad(grads, shape, input, stride, padding, dilation, groups):
        found = functions.convolution(conj(input), grads[0], None, stride, padding, dilation, groups)
        return _first_windows(found, shape)

    def d_input(grads, grad, input_shape, stride, padding, dilation, groups):
        return functions.convolution_input_gradient(
            conj(grad), grads[0], input_shape, stride, padding, dilation, groups
        )


# ---------------------------------------------------------------- PyTorch's functions


def _convolve(name, count, input, weight, bias, stride, padding, dilation, groups):
    options = fixed(stride), fixed(padding), fixed(dilation), groups
    free = padding == "same" and bias is not None and bias.dtype is not input.dtype and not input.is_complex()
    if free and not _goes_to_onednn(input, weight, (1,), (0,), groups):
        bias = bias.to(input.dtype)  # PyTorch looks at its dtype with other paddings alone
    extra, *options = _arguments(name, count, form_of(input), form_of(weight), form_of(bias), *options)
    unbatched = input._array.ndim == count + 1
    if unbatched:
        input = input.unsqueeze(0)
    if extra:
        input = functions.constant_pad_nd(input, extra, 0)
    if bias is not None and bias.dtype is not input.dtype:
        bias = (bias.real if bias.is_complex() else bias).to(input.dtype)
    found = functions.convolution(input, weight, bias, *options, groups)
    if not input._array.shape[1]:  # of no channels PyTorch makes none
        found = found.narrow(1, 0, 0)
    return found.squeeze(0) if unbatched else found


@lru_cache(maxsize=1024)
def _arguments(name, count, input, weight, bias, stride, padding, dilation, groups):
    """(elements to pad the input with before, stride, padding, dilation) of a convolution of tensors of such forms."""
    named = isinstance(padding, str)
    if padding == "same" and isinstance(stride, tuple) and len(stride) not in (1, count):
        hint = f"{name} takes one step, or {count}; it is given {list(stride)}"
        raise RuntimeError(hinted(f"stride cannot broadcast to {count} dimensions", hint))
    stride, dilation = repeated(stride, count, "stride", name), repeated(dilation, count, "dilation", name)
    padding = padding if named else repeated(padding, count, "padding", name)
    fits = len(weight[0]) == count + 2 and len(input[0]) in (count + 1, count + 2)
    large = fits and is_large(*input, weight[0], groups)
    if fits:
        check_options(*(((), (), ()) if named else (stride, padding, dilation)), groups, large=large)
    check_operands(name, input, weight, bias, groups, count, False, stride, dilation, named)
    lengths, kernel = input[0][-count:], weight[0][2:]
    extra = ()
    if named:
        extra, padding = _named_padding(padding, kernel, stride, dilation)
        lengths = tuple(n + e for n, e in zip(lengths, extra[::-2])) if extra else lengths
    check_options(stride, padding, dilation, groups, large=large)
    check_lengths(lengths, kernel, padding, dilation)
    check_filled(input[0], count)
    if 0 in kernel and 0 not in input[0]:
        check_kernel(*input, weight[0], groups, dilation)
    return extra, stride, padding, dilation


def gradient_options(count, input_size, weight_size, grad, dtype, stride, padding, dilation, groups):
    """Checked (stride, padding, dilation) for a gradient of a convolution of such sizes, given that of its output."""
    name, tensors = f"conv{count}d", [(tuple(size), dtype) for size in (input_size, weight_size)]
    _, *options = _arguments(name, count, *tensors, None, *map(fixed, (stride, padding, dilation)), groups)
    if len(input_size) != count + 2:
        raise RuntimeError(
            hinted(f"expected input_size of {count + 2} dimensions, but got {list(input_size)}", "with its samples")
        )
    wanted = (input_size[0], weight_size[0], *output_lengths(input_size[2:], weight_size[2:], *options))
    check_gradient(wanted, grad)
    return options


def _named_padding(padding, kernel, stride, dilation):
    """(elements to pad with before, padding): 'valid' pads nothing; 'same' pads so that the output has the input's
    lengths, one more behind where it is odd."""
    if padding == "valid":
        return (), (0,) * len(kernel)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel)]
    if all(t % 2 == 0 or t < 0 for t in total):
        return (), tuple(int(t / 2) for t in total)
    warn_once(
        "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created"
    )
    extra = tuple(side for t in reversed(total) for side in (0, t % 2 if t > 0 else 0))
    return extra, tuple(int(t / 2) for t in total)


def _transpose(name, count, input, weight, bias, stride, padding, output_padding, groups, dilation):
    stride, padding, output_padding, dilation = (
        repeated(v, count, n, name)
        for v, n in (
            (stride, "stride"),
            (padding, "padding"),
            (output_padding, "output_padding"),
            (dilation, "dilation"),
        )
    )
    if weight.ndim == count + 2 and input.ndim in (count + 1, count + 2):
        own = any(o >= s for o, s in zip(output_padding, stride))  # only PyTorch's own functions go that far
        large = 0 in dilation and not own and is_large(*form_of(input), tuple(weight.shape), groups)
        check_options(stride, padding, dilation, groups, output_padding, large)
    check_operands(
        name, form_of(input), form_of(weight), form_of(bias), groups, count, True, stride, output_padding=output_padding
    )
    if not input._array.size or not weight._array.size:
        check_filled(tuple(input.shape), count)
        if 0 in weight.shape[1:] and input._array.size:
            own = any(o >= s for o, s in zip(output_padding, stride))
            check_kernel(*form_of(input), tuple(weight.shape), groups, dilation, True, own)
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation)):
        # PyTorch convolves lines as planes of height one.
        values = {"output_padding": (0, *output_padding), "stride": (1, *stride), "dilation": (1, *dilation)}
        named = " ".join(
            f"{key}_{axis}: {value}"
            for key, row in values.items()
            for axis, value in zip(("depth", "height", "width")[-max(count, 2) :], row[-max(count, 2) :])
        )
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {named}")
    if any(o < 0 for o in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    unbatched = input.ndim == count + 1
    if unbatched:
        input = input.unsqueeze(0)
    if count == 3:  # PyTorch's volumes lie row by row, unless a weight that it gives to oneDNN does not
        input = input.contiguous()
        if not _is_for_onednn(*form_of(input), weight.shape[2:], stride, output_padding, groups):
            weight = weight.contiguous()
    lengths = [
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, s, p, d, k, o in zip(input.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding)
    ]
    size = (input.shape[0], weight.shape[1] * groups, *lengths)
    if any(n < 1 for n in lengths):
        _check_short(form_of(input), weight.shape[2:], size, stride, output_padding, groups)
    if input.numel() and input._array.dtype.kind in "biu" and input.dtype is not dtypes.int64:
        raise NotImplementedError(
            hinted(
                f"\"slow_conv_transpose{max(count, 2)}d_out_cpu\" not implemented for '{input.dtype.legacy_name}'",
                "convert input and weight with .float()",
            )
        )
    found = functions.transposed_convolution(input, weight, bias, size, stride, padding, dilation, groups)
    return found.squeeze(0) if unbatched else found


def _check_short(input, kernel, size, stride, output_padding, groups):
    """PyTorch's refusals of a transposed convolution one of whose lengths is below 1."""
    (shape, dtype), lengths = input, size[2:]
    if len(kernel) == 1:  # PyTorch convolves lines as planes of height one
        shape, kernel, size = (*shape[:2], 1, *shape[2:]), (1, *kernel), (*size[:2], 1, *size[2:])
        stride, output_padding = (1, *stride), (0, *output_padding)
    sizes, found = (" x ".join(map(str, values[2:])) for values in (shape, size))
    hint = f"an output of lengths {list(lengths)}: less padding, or a larger kernel, stride or output_padding makes it longer"
    negative = next((i for i, n in enumerate(size) if n < 0), None)
    if not shape[0] and negative is not None:
        message = f"invalid shape dimension {size[negative]} at index {negative} of shape {list(size)}"
        raise RuntimeError(hinted(message, hint))
    if shape[0] and not _is_for_onednn(shape, dtype, kernel, stride, output_padding, groups):
        raise RuntimeError(
            hinted(
                f"Given input size per channel: ({sizes}). Calculated output size per channel: ({found}). Output size is too "
                "small",
                hint,
            )
        )
    if negative is not None:
        raise RuntimeError(hinted("could not construct a memory descriptor using a format tag", hint))


def _goes_to_onednn(input, weight, stride, output_padding, groups):
    """Whether PyTorch leaves such tensors to oneDNN, which wants a bias of the input's dtype, as halves do."""
    shape, kernel = input._array.shape, weight._array.shape[2:]
    shape = shape if len(shape) == len(kernel) + 2 else (1, *shape)
    if len(kernel) == 1:  # PyTorch convolves lines as planes of height one
        shape, kernel, stride, output_padding = (
            (*shape[:2], 1, *shape[2:]),
            (1, *kernel),
            (1, *stride),
            (0, *output_padding),
        )
    half = is_half(input._array.dtype)
    return half or _is_for_onednn(shape, input._array.dtype, kernel, stride, output_padding, groups)


def _is_for_onednn(shape, dtype, kernel, stride, output_padding, groups):
    """Whether PyTorch leaves a transposed convolution to oneDNN, where length 0 is a length: its own functions, which take
    few elements and other dtypes, refuse it."""
    if any(o >= s for o, s in zip(output_padding, stride)):
        return False
    if dtypes.from_numpy(dtype) is dtypes.bfloat16:
        return True
    if dtype not in (np.float32, np.complex64):
        return False
    return groups > 1 or min(kernel[-2:]) > 3 or shape[0] > 1 or math.prod(shape[:4]) > 20480


def _define(count):
    name, transposed_name = f"conv{count}d", f"conv_transpose{count}d"

    def conv(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return _convolve(name, count, input, weight, bias, stride, padding, dilation, groups)

    def conv_transpose(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return _transpose(
            transposed_name, count, input, weight, bias, stride, padding, output_padding, groups, dilation
        )

    lengths = ["depth", "height", "width"][-count:]
    conv.__name__ = conv.__qualname__ = name
    conv.__doc__ = (
        f"A {count}-dimensional convolution: input (samples, channels, {', '.join(lengths)}), weight (out channels, channels / groups, "
        f"kernel...), as `torch.nn.functional.{name}`; padding may be 'same' or 'valid'."
    )
    conv_transpose.__name__ = conv_transpose.__qualname__ = transposed_name
    conv_transpose.__doc__ = f"The transpose of `{name}`: what its gradient does, as an operation."
    composite(conv, names=("torch", "nn.functional"))
    composite(conv_transpose, names=("torch", "nn.functional"))


for _count in (1, 2, 3):
    _define(_count)


@composite(names=("torch", "nn.functional"))
def conv_tbc(input, weight, bias, pad=0):
    """A one-dimensional convolution of (time, samples, channels) with weight (kernel, channels, out channels)."""
    found = functions.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return found.permute(2, 0, 1)
