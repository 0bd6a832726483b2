"""Max pooling, its gradients, and unpooling."""

import math

import numpy as np

from ..base import dtypes
from ..base.arrays import is_channels_last
from ..base.errors import hinted
from .elementwise.checks import BOOL, COMPLEX, NOT_FLOATING
from .pool import dimension_name, lying_as, numbers, room_behind, surrounded, window_arguments, windows_along
from .table import composite, functions, is_half, op


def _kernel_name(self, kernel, *options):
    return "max_pool3d" if len(kernel) == 3 else "max_pool2d"


_ARGUMENTS = "int[] kernel, int[] stride, int[] padding, int[] dilation, int[] out"


def _lowest(dtype):
    return -np.inf if dtype.kind == "f" or is_half(dtype) else np.iinfo(dtype).min


def _surrounded(array, kernel, stride, padding, dilation, out):
    lengths = array.shape[-len(kernel) :]
    return surrounded(
        array, padding, room_behind(lengths, kernel, stride, padding, dilation, out), _lowest(array.dtype)
    )


@op(f"max_pool(Tensor self, {_ARGUMENTS}) -> Tensor",
    names=(), node=dimension_name("MaxPool", "WithIndicesBackward0", 1), refuse=(*BOOL, *COMPLEX))  # fmt: skip
class max_pool_values:
    """The largest element of each window of the last dimensions: the maximum along one dimension after the other."""

    kernel = _kernel_name

    beside = ("self",)

    def forward(self, kernel, stride, padding, dilation, out):
        found = _surrounded(self, kernel, stride, padding, dilation, out)
        for axis, *step in zip(range(self.ndim - len(kernel), self.ndim), kernel, stride, dilation, out):
            views = windows_along(found, axis, *step)
            best = next(views).copy()
            for view in views:
                np.maximum(best, view, out=best)
            found = best
        return lying_as(found, self, len(kernel))

    def d_self(grad, self, kernel, stride, padding, dilation, out):
        return functions.max_pool_values_gradient(grad, self, kernel, stride, padding, dilation, out)


@op(f"max_pool_gradient(Tensor grad, Tensor self, {_ARGUMENTS}) -> Tensor",
    names=(), node=dimension_name("MaxPool", "WithIndicesBackwardBackward0", 2))  # fmt: skip
class max_pool_values_gradient:
    """Gradients put where the first largest element of each window is; several windows may share one."""

    def forward(grad, self, kernel, stride, padding, dilation, out):
        source = _surrounded(self, kernel, stride, padding, dilation, out)
        some_nan = bool((self != self).any())
        places = _first_places(source, kernel, stride, dilation, out, some_nan)
        lengths = source.shape[-len(kernel) :]
        apart = all(s >= (k - 1) * d + 1 for k, s, d in zip(kernel, stride, dilation))  # no two windows overlap
        found = _put(grad, places, lengths, apart)
        inside = tuple(slice(p, p + n) for p, n in zip(padding, self.shape[-len(kernel) :]))
        return np.ascontiguousarray(found[(..., *inside)])

    def d_grad(grads, self, kernel, stride, padding, dilation, out):
        places = functions.max_pool_places(self.detach(), kernel, stride, padding, dilation, out)[1]
        return _fetched(grads[0], places, len(kernel))

    def d_self(self):
        return functions.zeros_like(self)


def _first_places(source, kernel, stride, dilation, out, some_nan):
    """For each window, the flat place of its first largest element (the last NaN) among the last dimensions.

    The maximum is taken along the last dimension first. Which tap won is a small number, chosen with bit operations:
    branches on data mispredict.
    """
    kind = np.uint8 if math.prod(kernel) <= 256 else np.int64
    best, code, inner = source, None, 1
    for axis, (k, s, d, n) in reversed(list(enumerate(zip(kernel, stride, dilation, out), source.ndim - len(kernel)))):
        views = windows_along(best, axis, k, s, d, n)
        codes = None if code is None else windows_along(code, axis, k, s, d, n)
        best = next(views).copy()
        code = np.zeros(best.shape, kind) if codes is None else next(codes).copy()
        for tap, view in enumerate(views, 1):
            better = view > best
            if some_nan:
                better |= view != view
            np.maximum(best, view, out=best)
            mask = np.negative(better.view(np.int8)).astype(kind, copy=False)  # all bits, or none
            candidate = kind(tap * inner) if codes is None else next(codes) + kind(tap * inner)
            code ^= (code ^ candidate) & mask
        inner *= k
    return _places_of_codes(code, source.shape[-len(kernel) :], kernel, stride, dilation, out)


def _places_of_codes(code, lengths, kernel, stride, dilation, out):
    """The flat place that each window's tap number stands for."""
    taps, starts = np.zeros((), np.int64), np.zeros((), np.int64)
    for length, k, s, d, n in zip(lengths, kernel, stride, dilation, out):
        taps = np.add.outer(taps * length, np.arange(k) * d)
        starts = np.add.outer(starts * length, np.arange(n) * s)
    found = np.take(taps.reshape(-1), code)
    return np.add(found, starts, out=found)


def _put(grad, places, lengths, apart):
    """Gradients added up at flat places of the last dimensions; ``apart`` says that no place occurs twice."""
    lead, size = grad.shape[: -len(lengths)], math.prod(lengths)
    planes = math.prod(lead)
    found = np.zeros(planes * size, np.float32 if is_half(grad.dtype) else grad.dtype)
    flat = (places.reshape(planes, -1 if places.size else 0) + (np.arange(planes) * size)[:, None]).reshape(-1)
    values = grad.reshape(-1).astype(found.dtype, copy=False)
    if apart:
        found[flat] = values
    else:
        np.add.at(found, flat, values)
    return found.reshape(*lead, *lengths).astype(grad.dtype, copy=False)


@op(f"max_pool_with_indices(Tensor self, {_ARGUMENTS}) -> Tensor[]",
    names=(), node=dimension_name("MaxPool", "WithIndicesBackward0", 1), refuse=(*BOOL, *COMPLEX))  # fmt: skip
class max_pool_places:
    """The largest element of each window of the last dimensions, and its flat place among them."""

    kernel = _kernel_name

    beside = ("self",)

    def forward(self, kernel, stride, padding, dilation, out):
        lengths = self.shape[-len(kernel) :]
        source = _surrounded(self, kernel, stride, padding, dilation, out)
        some_nan = (self.dtype.kind == "f" or is_half(self.dtype)) and bool((self != self).any())
        places = _first_places(source, kernel, stride, dilation, out, some_nan)
        lead = math.prod(source.shape[: -len(kernel)])
        flat = source.reshape(lead, math.prod(source.shape[-len(kernel) :]))
        best = np.take_along_axis(flat, places.reshape(lead, math.prod(out)), 1).reshape(places.shape)
        if source is not self:
            places = _without_padding(places, source.shape[-len(kernel) :], padding, lengths)
        return lying_as(best, self, len(kernel)), lying_as(places, self, len(kernel))

    def d_self(grad, shape, kernel, result1):
        return functions.places_gradient(grad, result1, shape[-len(kernel) :])


def _without_padding(places, padded_lengths, padding, lengths):
    """Flat places in a padded plane as those in the plane itself."""
    found = 0
    for position, p, length in zip(np.unravel_index(places, padded_lengths), padding, lengths):
        found = found * length + np.clip(position - p, 0, length - 1)
    return found


@op("places_gradient(Tensor grad, Tensor places, int[] lengths) -> Tensor",
    names=(), node=dimension_name("MaxPool", "WithIndicesBackwardBackward0", 2))  # fmt: skip
class places_gradient:
    """Gradients added up at flat places of the last dimensions."""

    def forward(grad, places, lengths):
        return _put(grad, places, lengths, False)

    def d_grad(grads, places, lengths):
        return _fetched(grads[0], places, len(lengths))


def _fetched(value, places, count):
    """The elements of ``value`` at flat places of its last ``count`` dimensions."""
    return value.flatten(-count).gather(-1, places.flatten(-count)).reshape(places.shape)


# ---------------------------------------------------------------- PyTorch's functions


def _pool(name, count, kernel_op, input, options):
    """The result of one of the two operations above; one dimension is pooled as two, as PyTorch does."""
    if count == 1:
        return _pool_line(name, kernel_op, input, *options)
    arguments = window_arguments(name, count, input, *options)
    if count == 3 and input._array.ndim == 4 and is_channels_last(input._array):
        raise RuntimeError(
            hinted(
                "Unsupported memory format. Supports only ChannelsLast3d, Contiguous",
                "one volume (channels, depth, height, width) lies as channels_last images do: call contiguous() first",
            )
        )
    return _pooled(kernel_op, input, arguments)


def _pooled(kernel_op, input, arguments):
    """What the operation gives, with PyTorch's places of windows that lie in the padding altogether."""
    found = kernel_op(input, *arguments)
    if found.__class__ is tuple:
        _, stride, padding, dilation, out = arguments
        lengths = tuple(input.shape[-len(out) :])
        if any(d > n or (o - 1) * s - p >= n for n, s, p, d, o in zip(lengths, stride, padding, dilation, out)):
            places = _places_of_nothing(lengths, stride, padding, dilation, out)
            found = found[0], functions.where(places < 0, found[1], places)
    return found


def _places_of_nothing(lengths, stride, padding, dilation, out):
    """For each window without an element the flat place of its first tap behind the padding, which need not be inside the
    plane; -1 for the others."""
    places, is_empty = np.zeros((), np.int64), np.zeros((), np.bool_)
    for length, s, p, d, n in zip(lengths, stride, padding, dilation, out):
        first = np.arange(n) * s - p
        first = np.where(first < 0, first % d, first)
        places, is_empty = np.add.outer(places * length, first), np.logical_or.outer(is_empty, first >= length)
    return functions.from_numpy(np.where(is_empty, places, -1))


def _check_line(input, *options):
    """The refusals of PyTorch's own kernel for lines: of nothing, and of several numbers for one dimension."""
    if not input._array.size and 0 in input.shape[-2:]:
        message = (
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
            f"{list(input.shape)}"
        )
        raise RuntimeError(hinted(message, "only the number of samples may be 0"))
    for what, value in zip(_LINE_WORDS, options):
        if value.__class__ in (tuple, list) and len(value) != 1 and not (len(value) == 0 and what[0] == "s"):
            raise RuntimeError(
                hinted(f"max_pool1d() {what} of size 1 but got size {len(value)}", "a line has one dimension")
            )


_LINE_WORDS = (
    "kernel_size must be an int, list of ints or tuple of ints",
    "stride must be None, an int, list of ints, or tuple of ints",
    "padding must be an int, list of ints, or tuple of ints",
    "dilation must be an int, list of ints or tuple of ints",
)


def _refuse_line(kernel, stride, pad, dilation):
    """The refusals of PyTorch's own kernel for lines: of numbers that no window has."""
    for what, value in (("kernel_size", kernel), ("stride", stride)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {what} must be greater than zero, but got {value}")
    if pad < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {pad}")
    if pad > kernel // 2:
        message = f"padding should be at most half of kernel size, but got padding={pad} and kernel_size={kernel}"
        raise RuntimeError(f"max_pool1d() {message}")
    raise RuntimeError(f"max_pool1d() dilation must be greater than zero, but got {dilation}")


def _pool_line(name, kernel_op, input, kernel_size, stride, padding, dilation, ceil_mode):
    alone = kernel_op is functions.max_pool_values  # PyTorch's own kernel for lines; with places they are planes
    if input.ndim not in (2, 3):
        raise RuntimeError(
            hinted(
                f"Expected 2 to 3 dimensions, but got {input.ndim}-dimensional tensor for argument #1 'self' (while checking "
                "arguments for max_pool1d)"
                if not alone
                else f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:"
                f"{list(input.shape)}",
                f"{name} takes (samples, channels, length) or (channels, length)",
            )
        )
    if alone:
        _check_line(input, kernel_size, stride, padding, dilation)
    (kernel,) = numbers(kernel_size, 1, "kernel_size", name)
    step = (
        (kernel,)
        if stride is None or (isinstance(stride, (list, tuple)) and not stride)
        else numbers(stride, 1, "stride", name)
    )
    (pad,), (dilation,) = numbers(padding, 1, "padding", name), numbers(dilation, 1, "dilation", name)
    if alone and not (kernel > 0 < step[0] and 0 <= pad <= kernel // 2 and dilation > 0):
        _refuse_line(kernel, step[0], pad, dilation)
    plane = input.unsqueeze(-2)
    length = input.shape[-1] + 2 * pad - dilation * (kernel - 1) - 1
    if alone and length < 0:
        raise RuntimeError(f"{name}() Invalid computed output size: {length // step[0] + 1}")
    arguments = window_arguments(name, 2, plane, (1, kernel), (1, *step), (0, pad), (1, dilation), ceil_mode)
    found = _pooled(kernel_op, plane, arguments)
    return tuple(f.squeeze(-2) for f in found) if found.__class__ is tuple else found.squeeze(-2)


def _define_max_pool(count):
    name = f"max_pool{count}d"

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        options = (kernel_size, stride, padding, dilation, ceil_mode)
        return _pool(name, count, functions.max_pool_places, input, options)

    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        options = (kernel_size, stride, padding, dilation, ceil_mode)
        if return_indices:
            return _pool(name, count, functions.max_pool_places, input, options)
        if count == 1 and not input.is_floating_point():
            raise NotImplementedError(
                hinted(
                    f"\"max_pool1d_impl\" not implemented for '{input.dtype.legacy_name}'",
                    "convert the input with .float()",
                )
            )
        return _pool(name, count, functions.max_pool_values, input, options)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"The largest element of each {count}-dimensional window; with ``return_indices`` also its flat place in the plane."
    with_indices.__name__ = with_indices.__qualname__ = name + "_with_indices"
    with_indices.__doc__ = f"`{name}` with the places of the maxima."
    composite(pool, names=("torch", "nn.functional"))
    composite(with_indices, names=("nn.functional", "torch") if count == 1 else ("nn.functional",))


for _count in (1, 2, 3):
    _define_max_pool(_count)


# ---------------------------------------------------------------- unpooling


@op("max_unpool(Tensor self, Tensor indices, int[] lengths) -> Tensor",
    names=(), node=dimension_name("MaxUnpool", "Backward0", 2), refuse=NOT_FLOATING)  # fmt: skip
class max_unpool_places:
    """Elements put at flat places of the last dimensions, zeros elsewhere."""

    def kernel(self, indices, lengths):
        return f"max_unpool{len(lengths)}d" + "_channels_last" * is_channels_last(self)

    def forward(self, indices, lengths):
        lead, size = self.shape[: -len(lengths)], math.prod(lengths)
        flat = indices.reshape(math.prod(lead), -1)
        if flat.size and not 0 <= flat.min() <= flat.max() < size:
            wrong = int(flat[(flat < 0) | (flat >= size)][-1])  # as PyTorch, which looks at all of them
            raise RuntimeError(
                hinted(
                    f"Found an invalid max index: {wrong} (output volumes are of size {'x'.join(map(str, lengths))})",
                    "give the output_size that the pooling had as its input",
                )
            )
        found = np.zeros((flat.shape[0], size), self.dtype)
        np.put_along_axis(found, flat, self.reshape(flat.shape), 1)
        found = found.reshape(*lead, *lengths)
        return lying_as(found, self, 2) if len(lengths) == 2 else found

    def d_self(grad, indices, lengths):
        return _fetched(grad, indices, len(lengths))


def _unpooled_lengths(input, kernel, stride, padding, output_size):
    count = len(kernel)
    if input.ndim < count or min(len(stride), len(padding)) < count:
        raise IndexError(
            hinted("tuple index out of range", f"the input has {input.ndim} dimensions, the window {count}")
        )
    usual = [(n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-count:], stride, kernel, padding)]
    if output_size is None:
        return usual
    given = tuple(output_size)
    if len(given) == count + 2:
        given, output_size = given[2:], output_size[2:]
    if len(given) != count:
        raise ValueError(
            f"output_size should be a sequence containing {count} or {count + 2} elements, but it has a length of "
            f"'{len(given)}'"
        )
    for dim, (length, size, step) in enumerate(zip(usual, given, stride)):
        if not length - step < size < length + step:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {dim} must be between {length - step} and {length + step})'
            )
    return list(given)


def _spread(value, count):
    """A sequence as it is, or an int ``count`` times: PyTorch looks at the number of items where it uses them."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def _unpooled(input, indices, lengths, count=2):
    """The operation on planes or volumes, after PyTorch's refusals."""
    if indices.dtype is not dtypes.int64:
        found = f" but got: {indices.dtype.legacy_name}" if count == 2 else ""
        raise RuntimeError(hinted(f"elements in indices should be type int64{found}", "max_pool gives such indices"))
    if len(lengths) != count:
        wanted = "two elements (height, width)" if count == 2 else "three elements (depth, height, width)"
        raise RuntimeError(f"There should be exactly {wanted} in output_size, but got {len(lengths)} elements.")
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"Input to max_unpooling{count}d should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with "
            f"{input.ndim} dimensions."
        )
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    return functions.max_unpool_places(input, indices, lengths)


def _define_max_unpool(count):
    name = f"max_unpool{count}d"

    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        kernel = _spread(kernel_size, count)
        stride = kernel if stride is None else _spread(stride, count)
        lengths = _unpooled_lengths(input, kernel, stride, _spread(padding, count), output_size)
        if count == 1:
            input, indices = input.unsqueeze(-1), indices.unsqueeze(-1)
            return _unpooled(input, indices, [*lengths, 1]).squeeze(-1)
        return _unpooled(input, indices, lengths, count)

    unpool.__name__ = unpool.__qualname__ = name
    unpool.__doc__ = f"Elements put back where `max_pool{count}d` found them, zeros elsewhere."
    composite(unpool, names=("nn.functional",))


for _count in (1, 2, 3):
    _define_max_unpool(_count)
