"""Convolutions of stride 1 on the tile unit: how strips are cut, and whether it pays at all."""

from __future__ import annotations

import functools

import numpy as np

from ..host import host
from ..kernel import compiled, pool
from ..plans import Plans
from ..scratch import scratch
from . import convolution, convolution_weight
from .panels import BLOCK, LANES, PANEL, PARTS, STEP_WORDS

_STRIP_WORDS = 250_000  # of an image's parts that a chunk keeps in the second cache
_FEWEST_CHANNELS = 16
_FEWEST_TERMS = 128  # of a sum; below, splitting and storing take longer than multiplying
_FEWEST_MULTIPLICATIONS = 3_000_000
_LEAST_USE = 0.4  # of the tiles' multiplications; where padding wastes more, vectors win
_SLOTS = 16  # sums of their own in the gradient of the weight, whatever the number of threads
_FEWEST_SLOTS, _SUM_ELEMENTS = 4, 2 << 20  # fewer slots where all their sums together are large
_LARGEST_WEIGHT_STRIP = 300_000
_FEW_STEPS = 2  # of 32 pixels that are multiplied for all taps while they are in the first-level cache

_prepared = Plans()  # what a convolution of given shapes needs


def pays(x_shape, w_shape, out_shape):
    """Whether the tile unit is there and wins for a convolution of stride 1 without groups, or one of its gradients."""
    machine = host()
    if machine is None or not machine.has_tiles:
        return False
    outputs, inputs, *size = w_shape
    if min(outputs, inputs) < _FEWEST_CHANNELS or min(outputs, inputs) * size[0] * size[1] < _FEWEST_TERMS:
        return False
    batch, _, rows, columns = out_shape
    use = outputs * inputs / (_panels(outputs) * _panels(inputs) * PANEL**2) * columns / max(x_shape[3], columns)
    work = batch * rows * columns * outputs * inputs * size[0] * size[1]
    return use > _LEAST_USE and work > _FEWEST_MULTIPLICATIONS


def _panels(extent):
    return -(-extent // PANEL)


def _odd_lines(count, line=LANES):
    """Rounded up to an odd number of cache lines, so that planes do not fall on the same places in the cache."""
    return (-(-count // line) | 1) * line


@functools.lru_cache(1024)
def _geometry(inputs, width, left, out_height, out_width, row_reach):
    """(pitch, rows of a strip, words of a plane) for a strip whose taps reach ``row_reach`` rows down."""
    pitch = max(width + left, out_width)
    room = _STRIP_WORDS // (PARTS * LANES * _panels(inputs))
    strip = max(1, min(out_height, room // pitch - row_reach))
    strip = -(-out_height // -(-out_height // strip))
    return pitch, strip, _odd_lines((strip + row_reach) * pitch + convolution.SLACK)


@functools.lru_cache(256)
def _table(strip, pitch, out_width):
    """For each 16 pixels of a strip: where the first that counts goes, which count (as bits), and how many."""
    pixels = np.arange(-(-strip * pitch // PANEL) * PANEL).reshape(-1, LANES)
    counts = (pixels % pitch < out_width) & (pixels // pitch < strip)
    first = pixels[:, 0] // pitch * out_width + np.minimum(pixels[:, 0] % pitch, out_width)
    bits = (counts.astype(np.int64) << np.arange(LANES)).sum(1)
    return np.ascontiguousarray(np.stack([first, bits, counts.sum(1)], 1).astype(np.int32))


def _convolve(x, w, w_steps, outputs, size, bias, padding, dilation, out_height, out_width):
    """The convolution of ``x`` with the weights at ``w``, of steps (output, input, tap)."""
    key = ("forward", x.shape, outputs, *size, *padding, *dilation, *w_steps)
    found = _prepared.get(key)
    if found is None:
        found = _remember(key, prepare(x.shape, w_steps, outputs, size, padding, dilation, out_height, out_width))
    table, shared, own, sizes = found
    if bias is None:
        bias = _zeros(outputs)
    y = np.empty((x.shape[0], outputs, out_height, out_width), np.float32)
    panels = scratch("tiles.shared", shared, np.int32)
    own = scratch("tiles.own", own * pool().scratch_areas, np.int32)
    _forward_kernel().threaded(x, w, bias, y, table, panels, own, sizes)
    return y


def prepare(x_shape, w_steps, outputs, size, padding, dilation, out_height, out_width):
    """The table, words of the weights' panels, words of a worker's scratch memory, and sizes."""
    batch, inputs, height, width = x_shape
    pitch, strip, plane = _geometry(inputs, width, padding[1], out_height, out_width, dilation[0] * (size[0] - 1))
    own = BLOCK + PARTS * _panels(inputs) * LANES * plane
    numbers = (
        batch, inputs, outputs, height, width, *padding, out_height, out_width, *size, *dilation, *w_steps, pitch, strip,
        plane, own,
    )  # fmt: skip
    shared = _panels(outputs) * _panels(inputs) * size[0] * size[1] * STEP_WORDS
    return _table(strip, pitch, out_width), shared, own, np.array(numbers, np.int64)


def _remember(key, prepared):
    _prepared[key] = prepared
    return prepared


@functools.lru_cache(64)
def _zeros(count):
    return np.zeros(count, np.float32)


def forward(x, w, bias, padding, dilation):
    """The convolution of stride 1 of contiguous float32 arrays: (N, C, H, W) with (O, C, h, w), zeros around."""
    outputs, inputs, *size = w.shape
    out = [x.shape[2 + i] + 2 * padding[i] - dilation[i] * (size[i] - 1) for i in range(2)]
    taps = size[0] * size[1]
    return _convolve(x, w, (inputs * taps, taps, 1), outputs, size, bias, padding, dilation, *out)


def input_gradient(dy, w, x_shape, padding, dilation):
    """The gradient of ``forward`` for ``x``: the convolution of ``dy`` with the weight turned around."""
    inputs, *size = w.shape[1:]
    taps = size[0] * size[1]
    around = [dilation[i] * (size[i] - 1) - padding[i] for i in range(2)]
    if min(around) < 0:  # the outermost results saw nothing but padding
        rows, columns = (slice(max(0, -a), n - max(0, -a)) for a, n in zip(around, dy.shape[2:]))
        dy, around = np.ascontiguousarray(dy[:, :, rows, columns]), [max(0, a) for a in around]
    backwards = w.reshape(-1)[taps - 1 :]
    return _convolve(dy, backwards, (taps, inputs * taps, -1), inputs, size, None, around, dilation, *x_shape[2:])


def weight_gradient(x, dy, size, padding, dilation):
    """The gradient of ``forward`` for ``w``."""
    key = ("weight", x.shape, dy.shape, *size, *padding, *dilation)
    found = _prepared.get(key) or _remember(key, prepare_weight(x.shape, dy.shape, size, padding, dilation))
    sums, own, sizes = found
    dw = np.empty((dy.shape[1], x.shape[1], *size), np.float32)
    own = scratch("tiles.own", own * pool().scratch_areas, np.int32)
    _weight_kernel().threaded(x, dy, dw, scratch("tiles.sums", sums, np.float32), own, sizes)
    return dw


def prepare_weight(x_shape, dy_shape, size, padding, dilation):
    """Elements of all sums, words of a worker's scratch memory, and sizes."""
    batch, inputs, height, width = x_shape
    outputs, out_height, out_width = dy_shape[1:]
    pitch = max(width + padding[1], out_width)
    reach = dilation[0] * (size[0] - 1)
    room = _LARGEST_WEIGHT_STRIP // (PANEL * (PARTS * (_panels(inputs) + _panels(outputs)) // 2 + 1))
    strip = max(1, min(out_height, room // pitch))
    strip = -(-out_height // -(-out_height // strip))
    steps = _panels(strip * pitch)
    longest = max((strip + reach) * pitch, steps * PANEL + reach * pitch + dilation[1] * (size[1] - 1))
    plane = _odd_lines(longest, 2 * LANES)
    sums = _panels(inputs) * _panels(outputs) * size[0] * size[1] * BLOCK
    slots = min(_SLOTS, batch * -(-out_height // strip), max(_FEWEST_SLOTS, _SUM_ELEMENTS // sums))
    own = BLOCK + PANEL * (plane + 2 * PANEL)
    own += _panels(outputs) * steps * STEP_WORDS + PARTS * _panels(inputs) * PANEL * plane // 2
    numbers = (
        batch, inputs, outputs, height, width, *padding, out_height, out_width, *size, *dilation, pitch, strip, plane,
        steps, _FEW_STEPS, slots, own,
    )  # fmt: skip
    return slots * sums, own, np.array(numbers, np.int64)


@functools.cache
def _forward_kernel():
    return compiled(("tile convolution",), convolution.build)


@functools.cache
def _weight_kernel():
    return compiled(("tile convolution weight",), convolution_weight.build)
