"""Adaptive pooling: means and maxima of windows that cover the input with a given number of outputs."""

import itertools
import math

import numpy as np

from ..base.errors import hinted
from .elementwise.checks import NOT_FLOATING, refuse_complex_gradient
from .pool import dimension_name, lying_as
from .resampling import averaging_taps, resample
from .table import composite, functions, op


def _bins(length, count):
    """Start and end of each of ``count`` windows that together cover ``length``."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def averages_of(lengths, out):
    """The Taps of the means along each dimension."""
    return [averaging_taps(n, m) for n, m in zip(lengths, out)]


@op("adaptive_avg_pool(Tensor self, int[] out) -> Tensor",
    names=(), node=dimension_name("AdaptiveAvgPool", "Backward0", 1), refuse=NOT_FLOATING)  # fmt: skip
class adaptive_avg_pool:
    """Means of windows that cover the last dimensions with a given number of outputs."""

    kernel = lambda self, out: "adaptive_avg_pool2d" if len(out) == 2 else "adaptive_avg_pool3d_cpu"

    beside = ("self",)

    def forward(self, out):
        if len(out) == 3:  # PyTorch's volumes lie row by row
            self = np.ascontiguousarray(self)
        return resample(self, averages_of(self.shape[-len(out) :], out))

    def d_self(grad, shape, out):
        return functions.adaptive_avg_pool_gradient(grad, shape[-len(out) :])


@op("adaptive_avg_pool_gradient(Tensor grad, int[] lengths) -> Tensor",
    names=(), node=dimension_name("AdaptiveAvgPool", "BackwardBackward0", 1))  # fmt: skip
class adaptive_avg_pool_gradient:
    """Gradients spread evenly over the windows of `adaptive_avg_pool`."""

    def forward(grad, lengths):
        return resample(grad, [taps.transposed for taps in averages_of(lengths, grad.shape[-len(lengths) :])])

    def d_grad(grads, shape, lengths):
        return functions.adaptive_avg_pool(grads[0], shape[-len(lengths) :])


@op("adaptive_max_pool(Tensor self, int[] out) -> Tensor[]",
    names=(), node=dimension_name("AdaptiveMaxPool", "Backward0", 1), refuse=NOT_FLOATING)  # fmt: skip
class adaptive_max_pool:
    """Maxima of windows that cover the last dimensions with a given number of outputs, and their flat places."""

    kernel = lambda self, out: f"adaptive_max_pool{len(out)}d" + "_cpu" * (len(out) == 3)

    beside = ("self",)

    def forward(self, out):
        lead, lengths = self.shape[: -len(out)], self.shape[-len(out) :]
        values = np.empty((*lead, *out), self.dtype)
        places = np.empty(values.shape, np.int64)
        for cell in itertools.product(*(enumerate(_bins(n, m)) for n, m in zip(lengths, out))):
            at = (..., *(i for i, _ in cell))
            window = self[(..., *(slice(*bounds) for _, bounds in cell))]
            flat = window.reshape(*lead, math.prod(window.shape[len(lead) :]))
            inside = flat.argmax(-1)
            values[at] = np.take_along_axis(flat, inside[..., None], -1)[..., 0]
            local = np.unravel_index(inside, window.shape[len(lead) :])
            found = np.zeros_like(inside)
            for position, (_, (start, _end)), length in zip(local, cell, lengths):
                found = found * length + position + start
            places[at] = found
        return lying_as(values, self, len(out)), lying_as(places, self, len(out))

    def d_self(grad, shape, out, result1):
        return functions.places_gradient(grad, result1, shape[-len(out) :])


def _sizes(output_size, shape, count, name):
    """The wanted lengths: None keeps one."""
    lead, lengths = shape[:-count], shape[-count:]
    if output_size.__class__ is int and output_size >= 0:
        return (output_size,) * count
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * count
    if len(sizes) != count:
        if count == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(sizes)})")
        kind = "internal error: output_size.size()" if "max" in name else "output_size"
        raise RuntimeError(f"{name}{'()' if 'max' in name else ''}: {kind} must be {count}")
    sizes = tuple(n if s is None else int(s) for s, n in zip(sizes, lengths))
    if any(s < 0 for s in sizes):
        raise RuntimeError(_negative(name, lead, sizes))
    return sizes


def _negative(name, lead, sizes):
    """PyTorch's words for negative lengths; of one dimension it makes two."""
    if "max" in name:
        place, sizes = min(s for s in sizes if s < 0), [*lead, *((1,) if len(sizes) == 1 else ()), *sizes]
        return f"Trying to create tensor with negative dimension {place}: {sizes}"
    name, sizes = ("adaptive_avg_pool2d", (1, *sizes)) if len(sizes) == 1 else (name, sizes)
    listed = f"{sizes[0]}, " + ("," if len(sizes) == 3 else ", ").join(map(str, sizes[1:]))
    return f"{name}: elements of output_size must be greater than or equal to 0 but received {{{listed}}}"


def _filled(output_size, input):
    """``output_size`` with the input's lengths in place of None."""
    if isinstance(output_size, int):
        return output_size
    count = len(output_size)
    if input.ndim <= count:
        raise ValueError(
            hinted(f"Input dimension should be at least {count + 1}", f"the input has the shape {list(input.shape)}")
        )
    return [n if s is None else s for s, n in zip(output_size, input.shape[-count:])] if count else output_size


def _check(name, count, input):
    shape = input._array.shape
    if len(shape) in (count + 1, count + 2):
        if input._array.size == 0 and name != "adaptive_avg_pool1d":  # which is one of planes
            _check_empty(name, shape, 1 if "max" in name or count == 3 else len(shape) - count)
        return
    if name == "adaptive_avg_pool3d":
        _check_empty(name, shape, 1)
    raise RuntimeError(
        hinted(
            f"Expected {count + 1} to {count + 2} dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
            if count == 1
            else f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got{':' * ('max' in name)} {list(input.shape)}",
            "the last dimensions are pooled; before them stand the channels, and samples if there are several",
        )
    )


def _check_empty(name, shape, first):
    """Refuse dimensions without elements from ``first`` on."""
    for dim in range(first, len(shape)):
        if not shape[dim]:
            raise RuntimeError(
                hinted(
                    f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                    f"{list(shape)} with dimension {dim} being empty",
                    "only the number of samples may be 0",
                )
            )


def _define(count):
    average_name, maximum_name = f"adaptive_avg_pool{count}d", f"adaptive_max_pool{count}d"

    dims, ones = tuple(range(-count, 0)), (1,) * count

    def average(input, output_size):
        if count > 1:
            output_size = _filled(output_size, input)
        sizes = _sizes(output_size, input._array.shape, count, average_name)
        if count > 1 and sizes == ones:
            return functions.mean(input, dims, True)
        _check(average_name, count, input)
        if count == 1:
            return functions.adaptive_avg_pool2d(input.unsqueeze(-2), (1, *sizes)).squeeze(-2)
        if count == 2 and not input._array.size and not input.is_floating_point():
            if input.requires_grad:
                refuse_complex_gradient("_adaptive_avg_pool2d", input)
            return input.new_empty((*input.shape[:-2], *sizes))
        return functions.adaptive_avg_pool(input, sizes)

    def maximum(input, output_size, return_indices=False):
        if count > 1:
            output_size = _filled(output_size, input)
        _check(maximum_name, count, input)
        sizes = _sizes(output_size, input._array.shape, count, maximum_name)
        if count == 1:
            values, places = functions.adaptive_max_pool(input.unsqueeze(-2), (1, *sizes))
            values, places = values.squeeze(-2), places.squeeze(-2)
        else:
            values, places = functions.adaptive_max_pool(input, sizes)
        return (values, places) if return_indices else values

    def maximum_with_indices(input, output_size, return_indices=True):
        return maximum(input, output_size, True)

    for pool, name, what in (
        (average, average_name, "mean"),
        (maximum, maximum_name, "maximum"),
        (maximum_with_indices, maximum_name + "_with_indices", "maximum, and its place,"),
    ):
        pool.__name__ = pool.__qualname__ = name
        pool.__doc__ = f"The {what} of windows that cover the input with a given output size; None keeps a length."
    composite(average, names=("torch", "nn.functional") if count == 1 else ("nn.functional",))
    composite(maximum, names=("nn.functional",))
    composite(
        maximum_with_indices,
        names=("nn.functional", f"torch:{maximum_name}") if count == 1 else ("nn.functional",),
    )


for _count in (1, 2, 3):
    _define(_count)
