"""Windows of pooling: their number and places, checks of the arguments, and the p-norm pooling made of means."""

import math
from functools import lru_cache

import numpy as np

from ..base.arrays import laid_out_as
from ..base.errors import hinted
from .table import composite, functions

AXES = ("depth", "height", "width")


def output_length(length, kernel, stride, padding, dilation, ceil_mode):
    """The number of windows along one dimension; with ``ceil_mode`` one that starts inside but ends outside counts."""
    room = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1
    return count


def room_behind(lengths, kernel, stride, padding, dilation, out):
    """How many elements behind the end each dimension needs for its last window."""
    return [
        max((n - 1) * s + d * (k - 1) + 1 - (length + p), 0)
        for length, k, s, p, d, n in zip(lengths, kernel, stride, padding, dilation, out)
    ]


def surrounded(array, padding, behind, value):
    """``array`` with ``padding`` before and ``behind`` after each of its last dimensions."""
    if not any(padding) and not any(behind):
        return array
    count = len(padding)
    lengths = array.shape[-count:]
    shape = array.shape[:-count] + tuple(n + p + b for n, p, b in zip(lengths, padding, behind))
    found = np.full(shape, value, array.dtype)
    found[(..., *(slice(p, p + n) for n, p in zip(lengths, padding)))] = array
    return found


def lying_as(found, array, count):
    """``found``, pooled from the last ``count`` dimensions of ``array``, channels last where that lies so; of one volume, too."""
    if array.flags.c_contiguous:
        return found
    if count < 3 or array.ndim == 5:
        return laid_out_as(found, array)
    if np.moveaxis(array, 0, -1).flags.c_contiguous:
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(found, 0, -1)), -1, 0)
    return found


def windows_along(array, axis, kernel, stride, dilation, out):
    """For each tap of a one-dimensional window, the elements under it: views of ``array`` with ``out`` places."""
    before = (slice(None),) * axis
    for tap in range(kernel):
        start = tap * dilation
        yield array[(*before, slice(start, start + (out - 1) * stride + 1, stride))]


def numbers(value, count, name, where):
    """An int, or a sequence of one or ``count`` ints, as a tuple."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(values) == 1:
        values = values * count
    if len(values) != count:
        raise RuntimeError(hinted(_wrong_number(where, name, count, len(values)), f"{name} is {value}"))
    return tuple(int(v) for v in values)


def _wrong_number(where, name, count, found):
    """PyTorch's words for a sequence of ``found`` ints where there should be ``count``."""
    if count == 1:
        return f"{where}() argument '{name}' should contain one int (got {found})"
    either = "" if where == "avg_pool3d" else "either "
    verb = f"must be {either}" if either == "" or name == "dilation" else f"must {either}be "
    omitted = "omitted, " if name == "stride" else ""
    return f"{where}: {name} {verb}{omitted}a single int, or a tuple of {'two' if count == 2 else 'three'} ints"


def window_arguments(name, count, input, kernel_size, stride, padding, dilation, ceil_mode):
    """(kernel, stride, padding, dilation, output lengths) of a pooling of the last ``count`` dimensions, checked."""
    options = (*map(fixed, (kernel_size, stride, padding, dilation)), bool(ceil_mode))
    return _window_arguments(name, count, input._array.shape, *options)


def fixed(value):
    """An argument of ints in a form that can be looked up; None and words as they are."""
    kind = value.__class__
    if kind is int or kind is str or value is None:
        return value
    return tuple(map(int, value)) if isinstance(value, (tuple, list)) else int(value)


@lru_cache(maxsize=1024)
def _window_arguments(name, count, shape, kernel_size, stride, padding, dilation, ceil_mode):
    _check_input(name, count, shape)
    kernel = numbers(kernel_size, count, "kernel_size", name)
    stride = kernel if stride is None or stride == () else numbers(stride, count, "stride", name)
    padding, dilation = numbers(padding, count, "padding", name), numbers(dilation, count, "dilation", name)
    if name != "max_pool1d" and max(*kernel, *stride, *padding, *dilation) >= 1 << 31:
        raise RuntimeError(
            hinted("value cannot be converted to type int without overflow", f"{name}() takes numbers of 32 bits")
        )
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > int(((k - 1) * d + 1) / 2):
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    for what, prefix, values in (
        ("kernel size", "k", kernel),
        ("stride", "d", stride),
        ("dilation", "dilation", dilation),
    ):
        if any(v <= 0 for v in values):
            raise RuntimeError(f"{what} should be greater than zero, but got {_named(prefix, values)}")
    lengths = shape[-count:]
    out = tuple(
        output_length(n, k, s, p, d, ceil_mode) for n, k, s, p, d in zip(lengths, kernel, stride, padding, dilation)
    )
    if name == "avg_pool3d" and any(n < k for n, k in zip(lengths, kernel)):
        raise RuntimeError(
            hinted(
                f"input image ({_named('', lengths, ': ')}) smaller than kernel size ({_named('k', kernel, ': ')})",
                "use a smaller window, or pad the input",
            )
        )
    if any(n < 1 for n in out):
        sizes = ["x".join(str(v) for v in (shape[-count - 1], *values)) for values in (lengths, out)]
        raise RuntimeError(
            hinted(
                f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small",
                f"the window {kernel} does not fit into the input",
            )
        )
    return kernel, stride, padding, dilation, out


def _named(prefix, values, between=": "):
    """``kH: 2 kW: 2``: values with the names of their dimensions."""
    return " ".join(f"{prefix}{axis}{between}{value}" for axis, value in zip("THW"[-len(values) :], values))


def _check_input(name, count, shape):
    if len(shape) not in (count + 1, count + 2):
        if name == "avg_pool2d":
            layout = "avg_pool2d takes (samples, channels, height, width) or (channels, height, width)"
            if len(shape) > 4:
                raise RuntimeError(hinted(_no_images(2, shape), layout))
            missing = "Dimension specified as -3 but tensor has no dimensions"
            if shape:
                reach = f"[{-len(shape)}, {len(shape) - 1}]"
                missing = f"Dimension out of range (expected to be in range of {reach}, but got -3)"
            raise IndexError(hinted(missing, layout))
        raise RuntimeError(
            hinted(
                f"non-empty {count + 1}D or {count + 2}D (batch mode) tensor expected for input",
                f"{name} takes (samples, channels, {', '.join(AXES[-count:])})",
            )
        )
    if 0 in shape[-count - 1 :]:
        first = _no_images(count, shape)
        if count == 3:
            where = "avg_pool3d" if name == "avg_pool3d" else "max_pool3d_with_indices_out_cpu_template"
            first = (
                f"{where}(): Expected input's non-batch dimensions to have positive length, but input has a shape of "
                f"{list(shape)} and non-batch dimension 0 has length zero!"
            )
        raise RuntimeError(hinted(first, "only the number of samples may be zero"))


def _no_images(count, shape):
    return (
        f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:"
        f"{list(shape)}"
    )


def dimension_name(prefix, suffix, position):
    """A node's name from the number of dimensions that a call pools: the length of its argument ``position``."""
    return lambda *values: f"{prefix}{len(values[position])}D{suffix}"


# ---------------------------------------------------------------- p-norms


def _define_lp_pool(count):
    name = f"lp_pool{count}d"

    def pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        size = math.prod(numbers(kernel_size, count, "kernel_size", name))
        average = getattr(functions, f"avg_pool{count}d")
        found = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (found.sign() * functions.relu(found.abs())).mul(size).pow(1.0 / norm_type)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"The p-norm of each {count}-dimensional window, with p ``norm_type``."
    composite(pool, names=("nn.functional",))


for _count in (1, 2, 3):
    _define_lp_pool(_count)
