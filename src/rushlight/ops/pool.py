"""Pooling: maxima and means of windows, fixed or adaptive, with gradients."""

import itertools
import math

import numpy as np

from ..base.errors import hinted
from .conv import taps
from .table import composite, functions, is_half, op


def _output_length(length, kernel, stride, padding, dilation, ceil_mode):
    """The number of windows along one dimension; with ``ceil_mode`` one that starts inside but ends outside counts."""
    room = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= length + padding:
        count -= 1
    return count


def _room_for(lengths, kernel, stride, padding, dilation, out):
    """How many elements behind the end each dimension needs for its last window."""
    return [
        max((n - 1) * s + d * (k - 1) + 1 - (length + p), 0)
        for length, k, s, p, d, n in zip(lengths, kernel, stride, padding, dilation, out)
    ]


def _padded(array, padding, behind, value):
    """``array`` with ``padding`` before and ``behind`` after each spatial dimension."""
    if not any(padding) and not any(behind):
        return array
    lengths = array.shape[2:]
    shape = array.shape[:2] + tuple(n + p + b for n, p, b in zip(lengths, padding, behind))
    found = np.full(shape, value, array.dtype)
    found[(slice(None), slice(None), *(slice(p, p + n) for n, p in zip(lengths, padding)))] = array
    return found


def _lowest(dtype):
    return -np.inf if dtype.kind == "f" or is_half(dtype) else np.iinfo(dtype).min


@op("max_pool(Tensor self, int[] kernel, int[] stride, int[] padding, int[] dilation, int[] out) -> Tensor[]",
    names=(), node="MaxPool2DWithIndicesBackward0")  # fmt: skip
class max_pool:
    """The largest element of each window of (samples, channels, ...), and its flat place in its plane."""

    def forward(self, kernel, stride, padding, dilation, out):
        lengths = self.shape[2:]
        source = _padded(self, padding, _room_for(lengths, kernel, stride, padding, dilation, out), _lowest(self.dtype))
        starts = [np.arange(n) * s - p for n, s, p in zip(out, stride, padding)]
        best = places = None
        for place, window in taps(kernel, stride, dilation, out):
            candidate = source[(slice(None), slice(None), *window)]
            here = _flat_places(starts, place, dilation, lengths)
            if best is None:
                best, places = candidate.copy(), np.broadcast_to(here, candidate.shape).copy()
                continue
            better = candidate > best
            if self.dtype.kind == "f":
                better |= np.isnan(candidate)
            np.copyto(best, candidate, where=better)
            np.copyto(places, here, where=better)
        return best, places

    def d_self(grad, self, result1):
        return functions.max_pool_gradient(grad, result1, tuple(self.shape[2:]))


def _flat_places(starts, place, dilation, lengths):
    """For each window, the flat place in the plane of the element under tap ``place``."""
    flat = np.zeros((), np.int64)
    for start, tap, step, length in zip(starts, place, dilation, lengths):
        flat = np.add.outer(flat * length, np.clip(start + tap * step, 0, length - 1))
    return flat


@op(
    "max_pool_gradient(Tensor grad, Tensor places, int[] lengths) -> Tensor",
    names=(),
    node="MaxPool2DWithIndicesBackwardBackward0",
)
class max_pool_gradient:
    """Gradients put where the maxima were; several windows may share one."""

    def forward(grad, places, lengths):
        planes = grad.shape[0] * grad.shape[1]
        size = math.prod(lengths)
        found = np.zeros(planes * size, grad.dtype)
        flat = places.reshape(planes, -1) + (np.arange(planes) * size)[:, None]
        np.add.at(found, flat.reshape(-1), grad.reshape(-1))
        return found.reshape(*grad.shape[:2], *lengths)

    def d_grad(grad, places):
        return grad.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)


def _as_list(value, count, name, where):
    """An int, or a sequence of one or ``count`` ints, as a tuple."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(values) == 1:
        values = values * count
    if len(values) != count:
        words = {
            1: "a single int",
            2: "either be a single int, or a tuple of two ints",
            3: "either be a single int, or a tuple of three ints",
        }
        raise RuntimeError(f"{where}: {name} must {words[count]}")
    return tuple(int(v) for v in values)


def _windows(name, count, input, kernel_size, stride, padding, dilation, ceil_mode):
    """(batched input, was unbatched, kernel, stride, padding, dilation, output lengths), checked."""
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            hinted(
                f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(input.shape)}"
                if count > 1
                else f"Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(input.shape)}",
                f"{name} takes (samples, channels, {', '.join(['depth', 'height', 'width'][-count:])})",
            )
        )
    kernel = _as_list(kernel_size, count, "kernel_size", name)
    stride = kernel if stride is None or stride == [] or stride == () else _as_list(stride, count, "stride", name)
    padding, dilation = _as_list(padding, count, "padding", name), _as_list(dilation, count, "dilation", name)
    if any(s <= 0 for s in stride):
        raise RuntimeError("stride should not be zero")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    unbatched = input.ndim == count + 1
    batched = input.unsqueeze(0) if unbatched else input
    out = tuple(
        _output_length(n, k, s, p, d, ceil_mode)
        for n, k, s, p, d in zip(batched.shape[2:], kernel, stride, padding, dilation)
    )
    if any(n < 1 for n in out):
        sizes = ["x".join(str(v) for v in (batched.shape[1], *lengths)) for lengths in (batched.shape[2:], out)]
        raise RuntimeError(
            hinted(
                f"Given input size: ({sizes[0]}). Calculated output size: ({sizes[1]}). Output size is too small",
                f"the window {kernel} does not fit into the input",
            )
        )
    return batched, unbatched, kernel, stride, padding, dilation, out


def _define_max_pool(count):
    name = f"max_pool{count}d"

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        batched, unbatched, kernel, stride, padding, dilation, out = _windows(
            name, count, input, kernel_size, stride, padding, dilation, ceil_mode
        )
        values, places = functions.max_pool(batched, kernel, stride, padding, dilation, out)
        return (values.squeeze(0), places.squeeze(0)) if unbatched else (values, places)

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        values, places = with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return (values, places) if return_indices else values

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"The largest element of each {count}-dimensional window; with ``return_indices`` also its flat place in the plane."
    with_indices.__name__ = with_indices.__qualname__ = name + "_with_indices"
    with_indices.__doc__ = f"`{name}` with the places of the maxima."
    composite(pool, names=("torch", "nn.functional"))
    composite(with_indices, names=("nn.functional", "torch") if count == 1 else ("nn.functional",))


for _count in (1, 2, 3):
    _define_max_pool(_count)


def _define_max_unpool(count):
    name = f"max_unpool{count}d"

    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = _as_list(kernel_size, count, "kernel_size", name)
        stride = kernel if stride is None else _as_list(stride, count, "stride", name)
        padding = _as_list(padding, count, "padding", name)
        lengths = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-count:], stride, kernel, padding)]
        if output_size is not None:
            lengths = list(output_size)[-count:]
        flat = input.new_zeros((*input.shape[:-count], math.prod(lengths)))
        start = input.ndim - count
        places = indices.flatten(start)
        if places.numel() and int(places.max()) >= flat.shape[-1]:
            raise RuntimeError(
                f"Found an invalid max index: {int(places.max())} (output volumes are of size {'x'.join(map(str, lengths))}"
            )
        return flat.scatter(start, places, input.flatten(start)).reshape((*input.shape[:-count], *lengths))

    unpool.__name__ = unpool.__qualname__ = name
    unpool.__doc__ = f"Elements put back where `max_pool{count}d` found them, zeros elsewhere."
    composite(unpool, names=("nn.functional",))


for _count in (1, 2, 3):
    _define_max_unpool(_count)


# ---------------------------------------------------------------- means


@op("avg_pool(Tensor self, int[] kernel, int[] stride, int[] padding, int[] out, bool count_include_pad, int? divisor_override) -> Tensor",
    names=(), node="AvgPool2DBackward0")  # fmt: skip
class avg_pool:
    """The mean of each window of (samples, channels, ...)."""

    def forward(self, kernel, stride, padding, out, count_include_pad, divisor_override):
        wide = self.astype(np.float32) if is_half(self.dtype) else self
        ones = (1,) * len(kernel)
        source = _padded(wide, padding, _room_for(self.shape[2:], kernel, stride, padding, ones, out), 0)
        found = np.zeros((*self.shape[:2], *out), wide.dtype)
        for _, window in taps(kernel, stride, ones, out):
            found += source[(slice(None), slice(None), *window)]
        divisor = _divisors(self.shape[2:], kernel, stride, padding, out, count_include_pad, divisor_override)
        if found.dtype.kind in "iu":
            return np.sign(found) * (np.abs(found) // divisor.astype(found.dtype))  # cut towards zero, as C divides
        return np.divide(found, divisor.astype(found.dtype), out=found).astype(self.dtype, copy=False)

    def d_self(grad, self, kernel, stride, padding, count_include_pad, divisor_override):
        return functions.avg_pool_gradient(
            grad, tuple(self.shape[2:]), kernel, stride, padding, count_include_pad, divisor_override
        )


def _divisors(lengths, kernel, stride, padding, out, count_include_pad, divisor_override):
    """How many elements each window counts, as an array of the output's lengths."""
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        return np.full(out, divisor_override)
    counts = np.ones((), np.int64)
    for length, k, s, p, n in zip(lengths, kernel, stride, padding, out):
        start = np.arange(n) * s - p
        end = np.minimum(start + k, length + p)
        inside = end - start if count_include_pad else np.minimum(end, length) - np.maximum(start, 0)
        counts = np.multiply.outer(counts, inside)
    return counts


@op("avg_pool_gradient(Tensor grad, int[] lengths, int[] kernel, int[] stride, int[] padding, bool count_include_pad, int? divisor_override) -> Tensor",
    names=(), node="AvgPool2DBackwardBackward0")  # fmt: skip
class avg_pool_gradient:
    """Gradients spread evenly over their windows."""

    def forward(grad, lengths, kernel, stride, padding, count_include_pad, divisor_override):
        out, ones = grad.shape[2:], (1,) * len(kernel)
        divisor = _divisors(lengths, kernel, stride, padding, out, count_include_pad, divisor_override)
        share = grad / divisor.astype(grad.dtype)
        behind = _room_for(lengths, kernel, stride, padding, ones, out)
        found = np.zeros(
            (*grad.shape[:2], *(n + p + max(p, b) for n, p, b in zip(lengths, padding, behind))), grad.dtype
        )
        for _, window in taps(kernel, stride, ones, out):
            found[(slice(None), slice(None), *window)] += share
        inside = tuple(slice(p, p + n) for n, p in zip(lengths, padding))
        return np.ascontiguousarray(found[(slice(None), slice(None), *inside)])

    def d_grad(grads, grad, kernel, stride, padding, count_include_pad, divisor_override):
        return functions.avg_pool(
            grads[0], kernel, stride, padding, tuple(grad.shape[2:]), count_include_pad, divisor_override
        )


def _define_avg_pool(count):
    name = f"avg_pool{count}d"

    def pool(
        input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        batched, unbatched, kernel, stride, padding, _, out = _windows(
            name, count, input, kernel_size, stride, padding, 1, ceil_mode
        )
        found = functions.avg_pool(batched, kernel, stride, padding, out, count_include_pad, divisor_override)
        return found.squeeze(0) if unbatched else found

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = (
        f"The mean of each {count}-dimensional window; padding counts as zeros unless ``count_include_pad`` is False."
    )
    composite(pool, names=("torch", "nn.functional") if count == 1 else ("nn.functional",))


for _count in (1, 2, 3):
    _define_avg_pool(_count)


@composite(names=("nn.functional",))
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window."""
    return _lp_pool(functions.avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


@composite(names=("nn.functional",))
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each two-dimensional window."""
    return _lp_pool(functions.avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


@composite(names=("nn.functional",))
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each three-dimensional window."""
    return _lp_pool(functions.avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)


def _lp_pool(average, input, norm_type, kernel_size, stride, ceil_mode, count):
    size = math.prod(_as_list(kernel_size, count, "kernel_size", "lp_pool"))
    found = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (found.sign() * functions.relu(found.abs())).mul(size).pow(1.0 / norm_type)


# ---------------------------------------------------------------- adaptive


def _bins(length, count):
    """Start and end of each of ``count`` windows that together cover ``length``."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _averaging_matrix(length, count, dtype):
    matrix = np.zeros((count, length), dtype)
    for row, (start, end) in enumerate(_bins(length, count)):
        matrix[row, start:end] = 1 / (end - start)
    return matrix


def _along_each(array, matrices):
    """Multiply each spatial dimension by its matrix."""
    for axis, matrix in enumerate(matrices, 2):
        array = np.moveaxis(np.matmul(np.moveaxis(array, axis, -1), matrix.T), -1, axis)
    return np.ascontiguousarray(array)


@op("adaptive_avg_pool(Tensor self, int[] out) -> Tensor", names=(), node="AdaptiveAvgPool2DBackward0")
class adaptive_avg_pool:
    """Means of windows that cover the plane with a given number of outputs."""

    def forward(self, out):
        wide = self.astype(np.float32) if is_half(self.dtype) else self
        return _along_each(wide, [_averaging_matrix(n, m, wide.dtype) for n, m in zip(self.shape[2:], out)]).astype(
            self.dtype, copy=False
        )

    def d_self(grad, self):
        return functions.adaptive_avg_pool_gradient(grad, tuple(self.shape[2:]))


@op(
    "adaptive_avg_pool_gradient(Tensor grad, int[] lengths) -> Tensor",
    names=(),
    node="AdaptiveAvgPool2DBackwardBackward0",
)
class adaptive_avg_pool_gradient:
    """Gradients spread evenly over the windows of `adaptive_avg_pool`."""

    def forward(grad, lengths):
        wide = grad.astype(np.float32) if is_half(grad.dtype) else grad
        return _along_each(
            wide, [_averaging_matrix(n, m, wide.dtype).T for n, m in zip(lengths, grad.shape[2:])]
        ).astype(grad.dtype, copy=False)

    def d_grad(grads, grad):
        return functions.adaptive_avg_pool(grads[0], tuple(grad.shape[2:]))


@op("adaptive_max_pool(Tensor self, int[] out) -> Tensor[]", names=(), node="AdaptiveMaxPool2DBackward0")
class adaptive_max_pool:
    """Maxima of windows that cover the plane with a given number of outputs, and their flat places."""

    def forward(self, out):
        lengths = self.shape[2:]
        values = np.empty((*self.shape[:2], *out), self.dtype)
        places = np.empty(values.shape, np.int64)
        for cell in itertools.product(*(enumerate(_bins(n, m)) for n, m in zip(lengths, out))):
            at = tuple(i for i, _ in cell)
            window = self[(slice(None), slice(None), *(slice(*bounds) for _, bounds in cell))]
            inside = window.reshape(*self.shape[:2], -1).argmax(-1)
            values[(slice(None), slice(None), *at)] = np.take_along_axis(
                window.reshape(*self.shape[:2], -1), inside[..., None], -1
            )[..., 0]
            local = np.unravel_index(inside, window.shape[2:])
            flat = np.zeros_like(inside)
            for position, (_, (start, _end)), length in zip(local, cell, lengths):
                flat = flat * length + position + start
            places[(slice(None), slice(None), *at)] = flat
        return values, places

    def d_self(grad, self, result1):
        return functions.max_pool_gradient(grad, result1, tuple(self.shape[2:]))


def _adaptive_size(output_size, lengths, name):
    count = len(lengths)
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * count
    if len(sizes) == 1:
        sizes = sizes * count
    if len(sizes) != count:
        raise RuntimeError(f"{name}: internal error: output_size.size() must be {count}")
    sizes = tuple(n if s is None else int(s) for s, n in zip(sizes, lengths))
    if any(s < 0 for s in sizes):
        raise RuntimeError(
            f"{name}(): elements of output_size must be greater than or equal to 0 but received {list(sizes)}"
        )
    return sizes


def _define_adaptive(count):
    for kind in ("avg", "max"):
        name = f"adaptive_{kind}_pool{count}d"

        def prepared(input, output_size, name=name):
            if input.ndim not in (count + 1, count + 2):
                raise RuntimeError(
                    f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got {list(input.shape)}"
                )
            sizes = _adaptive_size(output_size, input.shape[-count:], name)
            return (input.unsqueeze(0), True, sizes) if input.ndim == count + 1 else (input, False, sizes)

        def average(input, output_size, prepared=prepared):
            batched, unbatched, sizes = prepared(input, output_size)
            found = (
                batched.mean(tuple(range(2, batched.ndim)), True)
                if sizes == (1,) * count
                else functions.adaptive_avg_pool(batched, sizes)
            )
            return found.squeeze(0) if unbatched else found

        def maximum(input, output_size, return_indices=False, prepared=prepared):
            batched, unbatched, sizes = prepared(input, output_size)
            values, places = functions.adaptive_max_pool(batched, sizes)
            if unbatched:
                values, places = values.squeeze(0), places.squeeze(0)
            return (values, places) if return_indices else values

        pool = average if kind == "avg" else maximum
        pool.__name__ = pool.__qualname__ = name
        pool.__doc__ = f"The {'mean' if kind == 'avg' else 'maximum'} of windows that cover the input with a given output size (None keeps a length)."
        composite(pool, names=("torch", "nn.functional") if count == 1 else ("nn.functional",))


for _count in (1, 2, 3):
    _define_adaptive(_count)
