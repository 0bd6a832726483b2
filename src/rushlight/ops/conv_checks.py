"""The refusals of convolutions: shapes, dtypes and numbers that do not fit, in PyTorch's words."""

import math
from functools import lru_cache

from ..base import dtypes
from ..base.errors import hinted
from ..base.lazy import stored_in
from ..base.limits import LARGEST_WORD
from ..base.scalars import c_name, type_name
from .table import is_half

_EXCHANGED = "an assignment to .data gave a tensor other memory between forward and backward"


def repeated(value, count, name, where):
    """An int or a sequence as ``count`` ints, for the argument ``name`` of ``where``."""
    if isinstance(value, (tuple, list)):
        if len(value) == 1:
            return (int(value[0]),) * count
        if len(value) != count:
            raise RuntimeError(f"expected {name} to be a single integer value or a list of {count} values to match the convolution "
                               f"dimensions, but got {name}={list(value)}")  # fmt: skip
        return tuple(int(v) for v in value)
    return (int(value),) * count


def form_of(tensor):
    """(shape, NumPy dtype) of a tensor, None for None."""
    if tensor is None:
        return None
    array = stored_in(tensor._array)
    return array.shape, array.dtype


def check_operands(
    name, input, weight, bias, groups, count, transposed, stride, dilation=(), named=False, output_padding=()
):
    """PyTorch's refusals of tensors of such forms; ``named`` says that the padding is a word."""
    (shape, dtype), (kernel, of_weight) = input, weight
    _check_dimensions(name, shape, kernel, count, stride, named)
    given = f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(kernel)}"
    _check_channels(given, shape, kernel, groups, count, transposed)
    given = given if transposed else f"Given weight of size {list(kernel)}"
    out = kernel[1] * groups if transposed else kernel[0]
    if bias is not None and not transposed and not named and bias[1] is not dtype:
        raise RuntimeError(
            hinted(
                f"Input type ({c_name(dtype)}) and bias type ({c_name(bias[1])}) should be the same",
                f"convert the input with .to({dtypes.from_numpy(bias[1])!r}), or the layer",
            )
        )
    if bias is not None and bias[0] != (out,):
        raise RuntimeError(
            f"{given}, expected bias to be 1-dimensional with {out} elements, but got bias of size {list(bias[0])} instead"
        )
    if dtype.kind in "bui":
        _check_whole(shape, dtype, kernel, count, transposed, dilation)
    large = not any(o >= s for o, s in zip(output_padding, stride)) and is_large(shape, dtype, kernel, groups)
    if of_weight is not dtype:
        raise RuntimeError(_of_other_kind("weight", dtype, of_weight, large))
    if bias is not None and bias[1] is not dtype:
        _check_bias_dtype(dtype, bias[1], large, transposed, count)


def _check_dimensions(name, shape, kernel, count, stride, named):
    """PyTorch's refusals of an input or weight of another number of dimensions."""
    if len(shape) not in (count + 1, count + 2):
        raise RuntimeError(
            hinted(
                f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of size: "
                f"{list(shape)}",
                f"{name} takes (samples, channels, {', '.join(['depth', 'height', 'width'][-count:])})",
            )
        )
    if len(kernel) != count + 2:
        if (named or count == 1) and len(kernel) > 2:  # one step is one for every dimension
            raise RuntimeError(
                hinted(
                    f"Expected {len(kernel)}-dimensional input for {len(kernel)}-dimensional weight{'' if named else ' '}{list(kernel)}, but got "
                    f"{len(shape)}-dimensional input of size {list(shape)} instead",
                    f"{name} takes a weight of {count + 2} dimensions",
                )
            )
        raise RuntimeError(
            hinted(
                f"expected stride to be a single integer value or a list of {len(kernel) - 2} values to match the convolution "
                f"dimensions, but got stride={list(stride)}",
                f"{name} takes a weight of {count + 2} dimensions, not of shape {list(kernel)}",
            )
            if len(kernel) > 2
            else "weight should have at least three dimensions"
        )


def _check_channels(given, shape, kernel, groups, count, transposed):
    """PyTorch's refusals of channels that do not fit the groups or the weight."""
    if kernel[0] % groups or not kernel[0]:
        few = kernel[0] < groups
        what, size = ("at least", list(kernel)) if few else ("divisible by", f"[{list(kernel)}]")
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be {what} {groups} at dimension 0, but got weight of size {size} "
            "instead"
        )
    channels = shape[-count - 1]
    wanted = kernel[0] if transposed else kernel[1] * groups
    if channels != wanted:
        batched = list(shape) if len(shape) == count + 2 else [1, *shape]
        raise RuntimeError(
            hinted(
                f"{given}, expected input{batched} to have {wanted} channels, but got {channels} channels instead",
                f"dimension {len(shape) - count - 1} of the input holds its channels; the layer was made for {wanted}",
            )
        )


def _check_whole(shape, dtype, kernel, count, transposed, dilation):
    """PyTorch's refusals of integers, by the names of its own functions."""
    if dtype.itemsize == 8 or 0 in shape:
        return
    if transposed:
        named = f"slow_conv_transpose{max(count, 2)}d_out_cpu"
    elif any(d > 1 for d in dilation):
        named = "slow_conv_dilated<>"
    elif dtype.kind != "b":
        return
    elif count < 3:
        named = "slow_conv2d_cpu"
    else:
        named = "compute_columns3d" if any(k > 1 for k in kernel[2:]) else "slow_conv3d_cpu"
    message = f"\"{named}\" not implemented for '{dtypes.from_numpy(dtype).legacy_name}'"
    raise NotImplementedError(hinted(message, "convert input and weight with .float()"))


def _check_bias_dtype(dtype, other, large, transposed, count):
    """PyTorch's refusals of a bias of another dtype; its own functions convert one where they add or copy it."""
    if large or dtype.kind == "c" or (transposed and count == 3):
        raise RuntimeError(_of_other_kind("bias", dtype, other, large))
    if transposed and (other.kind == "c" or (dtype.kind in "bui" and other.kind not in "bui")):
        kinds = (dtypes.from_numpy(each).legacy_name for each in (other, dtype))
        message = "result type {} can't be cast to the desired output type {}".format(*kinds)
        raise RuntimeError(hinted(message, "the bias is added to the result in place"))


def _of_other_kind(what, dtype, other, large):
    """PyTorch's words for a weight or a bias of another dtype than the input: each of its implementations has its own."""
    dtype, other = dtypes.from_numpy(dtype), dtypes.from_numpy(other)
    hint = f"convert the input with .to({other!r}), or the layer"
    named = f"Input type ({type_name(dtype)}) and {what} type ({type_name(other)}) should be the same"
    if dtype.is_complex:
        return hinted(named, hint)
    if large:
        return hinted(f"{named} or input should be a MKLDNN tensor and {what} is a dense tensor", hint)
    return hinted(f"expected scalar type {dtype.legacy_name} but found {other.legacy_name}", hint)


_NO_PRIMITIVE = (
    "could not create a primitive descriptor for the {} forward propagation primitive. Run workload with environment variable "
    "ONEDNN_VERBOSE=all to get additional diagnostic information."
)


def check_kernel(shape, dtype, kernel, groups, dilation, transposed=False, padded=False):
    """PyTorch's refusals of weights without elements, by the implementation that it chooses; ``padded`` says that an output
    padding reaches a whole step, which only its own functions take."""
    planes = (kernel[0] // groups, kernel[1], *((1,) if len(kernel) == 3 else ()), *kernel[2:])
    if not padded and is_large(shape, dtype, kernel, groups):
        message = _NO_PRIMITIVE.format("deconvolution" if transposed else "convolution")
    elif len(kernel) == 5 and transposed:
        message = (
            "non-empty 5D (n_output_plane x n_input_plane x kernel_depth x kernel_height x kernel_width) tensor expected for "
            f"weight, but got: {list(planes)}"
        )
    elif 0 not in kernel[2:]:
        message = f"non-empty 2D or 4D weight tensor expected, but got: {list(planes)}"
    elif not transposed and any(d > 1 for d in dilation):
        message = f"kernel size should be greater than zero, but got {list(planes[2:])}"
    elif len(kernel) == 5:
        message = f"kernel size should be greater than zero, but got: {' x '.join(map(str, kernel[2:]))} (TxHxW)"
    else:
        sizes = f"kernel_height: {planes[2]} kernel_width: {planes[3]}"
        message = f"kernel size should be greater than zero, but got {sizes}"
    raise RuntimeError(hinted(message, f"the weight has the shape {list(kernel)}"))


def is_large(shape, dtype, kernel, groups):
    """Whether PyTorch leaves a convolution of such an input to oneDNN: half precision always, single where it pays."""
    if is_half(dtype):
        return True
    if dtype.itemsize != 4 or dtype.kind != "f":
        return False
    batched = shape if len(shape) == len(kernel) else (1, *shape)
    return groups > 1 or batched[0] > 1 or math.prod(batched[:4]) > 20480 or (len(kernel) > 3 and min(kernel[-2:]) > 3)


def output_lengths(lengths, kernel, stride, padding, dilation):
    """The lengths of a convolution's output."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in zip(lengths, kernel, stride, padding, dilation)
    )


@lru_cache(maxsize=1024)
def check_fit(input, weight, grad, stride, padding, dilation, groups):
    """Refuse (shape, dtype) of a convolution's operands and of its output's gradient (None in the forward direction) that do
    not fit together: what backward saved may have got other memory by an assignment to ``.data``."""
    (shape, dtype), (kernel, of_weight), count = input, weight, len(stride)
    if len(shape) != count + 2 == len(kernel):
        raise RuntimeError(
            hinted(
                f"Expected {count + 2}-dimensional input for {count + 2}-dimensional weight {list(kernel)}, but got "
                f"{len(shape)}-dimensional input of size {list(shape)} instead",
                _EXCHANGED,
            )
        )
    widened = grad is not None and is_half(of_weight) and dtype.itemsize == 4  # as in PyTorch's backward
    of_weight = dtype if widened or dtype == of_weight else of_weight
    seen = shape if len(shape) == count + 2 else (0,) * (count + 2)  # the weight's dimensions are refused first
    check_operands(f"conv{count}d", (seen, dtype), (kernel, of_weight), None, groups, count, False, stride)
    lengths = output_lengths(shape[2:], kernel[2:], stride, padding, dilation)
    if grad is None:
        if any(n < 0 for n in lengths):
            check_lengths(shape[2:], kernel[2:], padding, dilation)
        return
    sizes, of_grad = grad
    # Output padding of a transposed convolution can make room for more windows than it has.
    spare = [(max(d, s) - 1) // s for d, s in zip(dilation, stride)]
    lengths = [n if 0 <= m - n <= more else m for m, n, more in zip(lengths, sizes[2:], spare)] or lengths
    check_gradient((shape[0], kernel[0], *lengths), sizes)
    if of_grad != dtype:
        raise RuntimeError(
            hinted(
                f"expected scalar type {dtypes.from_numpy(dtype).legacy_name} but found "
                f"{dtypes.from_numpy(of_grad).legacy_name}",
                _EXCHANGED,
            )
        )


def check_gradient(wanted, grad):
    """PyTorch's refusal of a gradient whose shape is not that of the convolution's output."""
    if len(grad) != len(wanted):
        raise RuntimeError(
            hinted(
                f"Expected a tensor of dimension {max(len(wanted), 4)} but got: dimension {len(grad)}",
                f"the gradient has the shape of the convolution's output, {list(wanted)}",
            )
        )
    for dimension, (length, found) in enumerate(zip(wanted, grad)):
        if length != found:
            place = dimension + (len(wanted) == 3 and dimension > 1)  # PyTorch convolves lines as planes of height one
            named = max(len(wanted), 4)
            raise RuntimeError(
                hinted(
                    f"Expected a tensor of dimension {named} and tensor.size[{place}] == {length} but got: dimension {named} and "
                    f"tensor.size[{place}] = {found}",
                    f"the gradient has the shape of the convolution's output, {list(wanted)}",
                )
            )


def check_lengths(lengths, kernel, padding, dilation):
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
    whole = [n + 2 * p for n, p in zip(lengths, padding)]
    if any(w < s for w, s in zip(whole, spans)):
        raise RuntimeError(
            hinted(
                f"Calculated padded input size per channel: ({' x '.join(map(str, whole))}). Kernel size: "
                f"({' x '.join(map(str, spans))}). Kernel size can't be greater than actual input size",
                "the image is smaller than the kernel: pad it, or use a smaller kernel",
            )
        )


def check_options(stride, padding, dilation, groups, output_padding=None, large=False):
    """PyTorch's refusals of numbers that no convolution takes; transposed ones have an ``output_padding``, and ``large`` ones
    are not for its own functions."""
    if groups <= 0:
        raise RuntimeError(hinted("non-positive groups is not supported", f"it is {groups}"))
    if any(p < 0 for p in padding):
        raise RuntimeError(
            hinted("negative padding is not supported", f"it is {list(padding)}: slice the input instead")
        )
    for dimension, p in enumerate(padding):
        if p > LARGEST_WORD // 2:
            raise RuntimeError(
                f"Given padding={p} at dimension {dimension} , expected padding to be at most {LARGEST_WORD // 2}"
            )
    if any(o < 0 for o in output_padding or ()):
        raise RuntimeError(hinted("negative output_padding is not supported", f"it is {list(output_padding)}"))
    if any(s <= 0 for s in stride):
        raise RuntimeError(hinted("non-positive stride is not supported", f"it is {list(stride)}"))
    if any(d <= 0 for d in dilation):
        steps = dilation if len(dilation) > 1 else (1, *dilation)  # PyTorch convolves lines as planes of height one
        named = zip(("depth", "height", "width")[-len(steps) :], steps)
        told = str(list(steps)) if output_padding is None else ", ".join(f"dilation_{axis}: {d}" for axis, d in named)
        if large and min(dilation) == 0:
            first = (
                "non-positive dilation is not supported"
                if output_padding is None
                else _NO_PRIMITIVE.format("deconvolution")
            )
            raise RuntimeError(hinted(first, f"it is {list(dilation)}"))
        first = "dilation should be greater than zero" + ("" if min(dilation) < 0 else f", but got {told}")
        raise RuntimeError(hinted(first, f"it is {list(dilation)}"))


def check_filled(shape, count):
    """PyTorch's refusal of images that have channels and no elements."""
    shape = shape if len(shape) == count + 2 else (1, *shape)
    shape = shape if count > 1 else (*shape[:2], 1, shape[2])  # PyTorch convolves lines as planes of height one
    if shape[0] and shape[1] and 0 in shape:
        raise RuntimeError(
            hinted(
                f"Only zero batch or zero channel inputs are supported, but got input shape: {list(shape)}",
                "a length of the images is 0",
            )
        )
