"""Padding: constants, reflections, repeated edges and circles around a tensor."""

import functools

import numpy as np

from ..base.arrays import laid_out_as
from ..base.errors import hinted
from ..base.scalars import fitted, float_argument
from .moving import filled, write
from .table import composite, functions, op, widened


@op("constant_pad_nd(Tensor self, int[0] pad, Scalar value=0) -> Tensor", names=("torch",))
class constant_pad_nd:
    """``value`` put around the tensor; negative padding cuts. ``pad`` counts from the last dimension: (before, after, ...)."""

    def forward(self, pad, value):
        shape, source, target = _windows(self.shape, pad)
        found = filled(shape, fitted(self.dtype, value), self.dtype)
        write(found[target], self[source])
        return laid_out_as(found, self)

    def d_self(grad, pad):
        return functions.constant_pad_nd(grad, tuple([-p for p in pad]), 0)


@functools.lru_cache(256)
def _windows(lengths, pad):
    """The padded shape, and what is copied from where: slices of the tensor, and of the result."""
    check_constant(lengths, pad)
    sides = sides_of(pad, len(lengths))
    shape = tuple(n + b + a for n, (b, a) in zip(lengths, sides))
    source = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(lengths, sides))
    target = tuple(slice(max(b, 0), n - max(a, 0)) for n, (b, a) in zip(shape, sides))
    return shape, source, target


def check_constant(shape, pad):
    """PyTorch's refusals of a padding by a constant."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > len(shape):
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)}while the input has {len(shape)}dimensions."
        )
    if any(n + min(before, 0) + min(after, 0) < 0 for n, (before, after) in zip(shape, sides_of(pad, len(shape)))):
        raise RuntimeError(
            hinted(
                "narrow(): length must be non-negative.",
                f"the padding {list(pad)} cuts more than the shape {list(shape)} has",
            )
        )


def sides_of(pad, ndim):
    """(before, after) of every dimension, from PyTorch's order, which starts at the last."""
    sides = [(0, 0)] * ndim
    for number in range(len(pad) // 2):
        sides[ndim - 1 - number] = (pad[2 * number], pad[2 * number + 1])
    return sides


def places_of(length, before, after, mode):
    """For each element of the padded dimension, the place that it copies; -1 outside where that is a constant."""
    places = np.arange(-before, length + after)
    if mode == "constant":
        return np.where(places < length, np.maximum(places, -1), -1)
    if mode == "replicate":
        return np.clip(places, 0, length - 1)
    if mode == "circular":
        return places % max(length, 1)
    period = max(2 * (length - 1), 1)
    places = np.abs(places) % period
    return np.where(places >= length, period - places, places)


def _node_name(self, pad, mode):
    return f"{'ReflectionPad' if mode == 'reflect' else 'ReplicationPad'}{len(pad) // 2}DBackward0"


@op("pad(Tensor self, int[] pad, str mode) -> Tensor", names=(), node=_node_name)
class pad_by_places:
    """The tensor continued by its own elements, reflected or replicated."""

    beside = ("self",)

    def forward(self, pad, mode):
        return laid_out_as(_continued(self, pad, mode), self)

    def d_self(grad, shape, pad, mode):
        return functions.pad_by_places_gradient(grad, shape, pad, mode)


@op("pad_in_circles(Tensor self, int[] pad) -> Tensor", names=(), node="CopySlices")
class pad_in_circles:
    """The tensor continued in circles; PyTorch fills them by writing into slices."""

    def forward(self, pad):
        return np.ascontiguousarray(_continued(self, pad, "circular"))

    def d_self(grad, shape, pad):
        return functions.pad_by_places_gradient(grad, shape, pad, "circular")


def _continued(array, pad, mode):
    found = array
    for axis, (before, after) in enumerate(sides_of(pad, array.ndim)):
        if before or after:
            found = found.take(places_of(array.shape[axis], before, after, mode), axis)
    return found.copy("K") if found is array else found


@op("pad_gradient(Tensor self, int[] shape, int[] pad, str mode) -> Tensor", names=(), node="PadBackwardBackward0")
class pad_by_places_gradient:
    """Gradients added up where `pad_by_places` or `pad_in_circles` copied from."""

    def forward(self, shape, pad, mode):
        found = widened(self)
        for axis, (before, after) in enumerate(sides_of(pad, self.ndim)):
            if before or after:
                summed = np.zeros((shape[axis], *found.shape[:axis], *found.shape[axis + 1 :]), found.dtype)
                np.add.at(summed, places_of(shape[axis], before, after, mode), np.moveaxis(found, axis, 0))
                found = np.moveaxis(summed, 0, axis)
        return np.array(found, self.dtype, order="C")

    def d_self(grad, pad, mode):
        return functions.pad_in_circles(grad, pad) if mode == "circular" else functions.pad_by_places(grad, pad, mode)


@composite(names=("nn.functional",))
def pad(input, pad, mode="constant", value=None):
    """``input`` made larger at its ends: (before, after) of the last dimension, of the one before, ...

    Modes: "constant" (``value``), "reflect", "replicate", "circular". Negative numbers cut.

    >>> import rushlight as torch
    >>> torch.nn.functional.pad(torch.tensor([1, 2]), (1, 0))
    tensor([0, 1, 2])
    """
    pad = tuple([p if p.__class__ is int else _whole(p, position) for position, p in enumerate(pad)])
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        value = 0 if value is None else float_argument(value, "pad(): argument 'value' (position 4)")
        return functions.constant_pad_nd(input, pad, value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check_own(input, pad, mode)
    if mode == "circular":
        if any(p < 0 for p in pad):
            input = functions.constant_pad_nd(input, tuple([min(p, 0) for p in pad]), 0)
            pad = tuple([max(p, 0) for p in pad])
        return functions.pad_in_circles(input, pad)
    return functions.pad_by_places(input, pad, mode)


def _whole(value, position):
    if isinstance(value, float):
        raise TypeError(
            f"pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type float at pos {position}"
        )
    return int(value)


_COMBINATIONS = """
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def _check_own(input, pad, mode):
    """PyTorch's refusals of paddings by the tensor's own elements."""
    count, shape = len(pad) // 2, list(input.shape)
    if count not in (1, 2, 3) or input.ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.ndim}D input tensor.{_COMBINATIONS}"
        )
    if mode != "circular" and 0 in shape[-count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {shape}"
        )
    for number in range(count):
        dim = input.ndim - 1 - number
        length, before, after = shape[dim], *pad[2 * number : 2 * number + 2]
        if mode == "reflect" and (before >= length or after >= length):
            raise RuntimeError(
                hinted(
                    f"Argument #{4 + 2 * number}: Padding size should be less than the corresponding input dimension, but "
                    f"got: padding ({before}, {after}) at dimension {dim} of input {shape}",
                    "a reflection cannot be longer than what it reflects",
                )
            )
        if mode == "circular":
            if before > length or after > length:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            if length + before + after < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if mode != "circular":
        _check_lengths(input, shape[-count:], pad, mode)


def _check_lengths(input, lengths, pad, mode):
    """PyTorch's refusals of images that nothing would be left of, and of a dtype without a kernel."""
    out = [n + pad[-2 * dim - 2] + pad[-2 * dim - 1] for dim, n in enumerate(lengths)]
    if max(out) < 1:
        before, after = ([f"{axis}: {n}" for axis, n in zip("DHW"[-len(out) :], values)] for values in (lengths, out))
        given = before[0] if len(out) == 1 else f"{' '.join(before[:-1])}, {before[-1]}"
        given += " " * (len(out) == 2 and mode == "replicate")
        message = f"input ({given}) is too small. Calculated output {' '.join(after)}"
        raise RuntimeError(hinted(message, f"the padding {list(pad)} takes all of it away"))
    if min(out) < 0:
        shape = [*input.shape[: -len(out)], *out]
        message = f"Trying to create tensor with negative dimension {next(n for n in out if n < 0)}: {shape}"
        raise RuntimeError(hinted(message, f"the padding {list(pad)} takes away more than there is"))
    if input._array.dtype.kind == "b":
        named = f"{'reflection' if mode == 'reflect' else 'replication'}_pad{len(out)}d"
        raise NotImplementedError(hinted(f"\"{named}\" not implemented for 'Bool'", "convert it to bytes: x.byte()"))
