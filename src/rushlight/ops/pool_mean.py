"""Mean pooling and its gradient."""

import numpy as np

from ..base.errors import hinted
from .elementwise.checks import NOT_FLOATING
from .pool import dimension_name, numbers, room_behind, surrounded, window_arguments, windows_along
from .table import composite, functions, is_half, op, widened

_REFUSED = tuple(name for name in NOT_FLOATING if name != "int64")
_OPTIONS = "bool count_include_pad, int? divisor_override"


@op(f"avg_pool(Tensor self, int[] kernel, int[] stride, int[] padding, int[] out, {_OPTIONS}) -> Tensor",
    names=(), node=dimension_name("AvgPool", "Backward0", 1), refuse=_REFUSED)  # fmt: skip
class avg_pool:
    """The mean of each window of the last dimensions: sums along one dimension after the other, then one division."""

    kernel = lambda self, kernel, *options: "avg_pool3d_out_frame" if len(kernel) == 3 else "avg_pool2d"

    beside = ("self",)

    def forward(self, kernel, stride, padding, out, count_include_pad, divisor_override):
        wide = widened(self)
        count, ones = len(kernel), (1,) * len(kernel)
        lengths = self.shape[-count:]
        found = surrounded(wide, padding, room_behind(lengths, kernel, stride, padding, ones, out), 0)
        for axis, *step in zip(range(self.ndim - count, self.ndim), kernel, stride, ones, out):
            views = windows_along(found, axis, *step)
            total = next(views).copy()
            for view in views:
                total += view
            found = total
        divisor = _divisors(lengths, kernel, stride, padding, out, count_include_pad, divisor_override)
        divisor = divisor.astype(found.dtype)
        if found.dtype.kind in "iu":  # cut towards zero, as C divides
            return np.sign(found) * np.sign(divisor) * (np.abs(found) // np.abs(divisor))
        return np.divide(found, divisor, out=found).astype(self.dtype, copy=False)

    def d_self(grad, shape, kernel, stride, padding, count_include_pad, divisor_override):
        lengths = shape[-len(kernel) :]
        return functions.avg_pool_gradient(grad, lengths, kernel, stride, padding, count_include_pad, divisor_override)


def _divisors(lengths, kernel, stride, padding, out, count_include_pad, divisor_override):
    """How many elements each window counts: an array of the output's lengths, or one number for all."""
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        return np.asarray(divisor_override)
    counts = np.ones((), np.int64)
    for length, k, s, p, n in zip(lengths, kernel, stride, padding, out):
        start = np.arange(n) * s - p
        end = np.minimum(start + k, length + p)
        inside = end - start if count_include_pad else np.minimum(end, length) - np.maximum(start, 0)
        counts = np.multiply.outer(counts, inside)
    return counts


@op("avg_pool_gradient(Tensor grad, int[] lengths, int[] kernel, int[] stride, int[] padding, "
    f"{_OPTIONS}) -> Tensor", names=(), node=dimension_name("AvgPool", "BackwardBackward0", 1))  # fmt: skip
class avg_pool_gradient:
    """Gradients spread evenly over their windows."""

    def forward(grad, lengths, kernel, stride, padding, count_include_pad, divisor_override):
        count, ones = len(kernel), (1,) * len(kernel)
        out = grad.shape[-count:]
        wide = widened(grad)
        divisor = _divisors(lengths, kernel, stride, padding, out, count_include_pad, divisor_override)
        found = wide / divisor.astype(wide.dtype)
        behind = room_behind(lengths, kernel, stride, padding, ones, out)
        spans = [n + p + max(p, b) for n, p, b in zip(lengths, padding, behind)]
        for axis, span, k, s, n in zip(
            range(grad.ndim - 1, -1, -1), spans[::-1], kernel[::-1], stride[::-1], out[::-1]
        ):
            spread = np.zeros((*found.shape[:axis], span, *found.shape[axis + 1 :]), wide.dtype)
            for view in windows_along(spread, axis, k, s, 1, n):
                view += found
            found = spread
        inside = tuple(slice(p, p + n) for n, p in zip(lengths, padding))
        return np.ascontiguousarray(found[(..., *inside)]).astype(grad.dtype, copy=False)

    def d_grad(grads, shape, kernel, stride, padding, count_include_pad, divisor_override):
        out = shape[-len(kernel) :]
        return functions.avg_pool(grads[0], kernel, stride, padding, out, count_include_pad, divisor_override)


def _define_avg_pool(count):
    name = f"avg_pool{count}d"

    def pool(
        input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        kernel, stride, padding, _, out = window_arguments(
            name, count, input, kernel_size, stride, padding, 1, ceil_mode
        )
        if count == 3 and divisor_override != 0 and is_half(input._array.dtype):
            raise NotImplementedError(
                hinted(
                    f"\"avg_pool3d_out_frame\" not implemented for '{input.dtype.legacy_name}'",
                    "convert the input with .float()",
                )
            )
        return functions.avg_pool(input, kernel, stride, padding, out, count_include_pad, divisor_override)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = (
        f"The mean of each {count}-dimensional window; padding counts as zeros unless ``count_include_pad`` is False, and "
        "``divisor_override`` divides the sums instead of their count."
    )
    composite(pool, names=("nn.functional",), out=True)


for _count in (2, 3):
    _define_avg_pool(_count)


@composite(names=("torch", "nn.functional"))
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of the last dimension; padding counts as zeros unless ``count_include_pad`` is False.

    >>> import rushlight as torch
    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[2., 6.]])
    """
    if input.ndim not in (2, 3):
        raise RuntimeError(
            hinted(
                f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while "
                "checking arguments for avg_pool1d)",
                "avg_pool1d takes (samples, channels, length) or (channels, length)",
            )
        )
    (kernel,) = numbers(kernel_size, 1, "kernel_size", "avg_pool1d")
    step = (
        (kernel,)
        if stride is None or (isinstance(stride, (list, tuple)) and not stride)
        else numbers(stride, 1, "stride", "avg_pool1d")
    )
    padding = numbers(padding, 1, "padding", "avg_pool1d")
    plane = input.unsqueeze(-2)
    return functions.avg_pool2d(plane, (1, kernel), (1, *step), (0, *padding), ceil_mode, count_include_pad).squeeze(-2)
