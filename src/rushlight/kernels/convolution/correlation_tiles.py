"""How the windows of a convolution are cut into tiles, and whether they are staged densely: by what each choice costs."""

from __future__ import annotations

from ...base.processors import near_bytes
from ..machine.host import vector_registers
from ..windows.staging import Staging

AREA_ELEMENTS = near_bytes() // 4  # of a staged tile: it stays in the second-level cache
ENOUGH_CHUNKS = 8
_SMALLEST_TILE = 192  # windows of a tile that is worth its start
_LONE_REGISTERS = 32  # from so many on there is one left for the sums of a lone window
# Cycles, measured: to stage a row, one of its vectors, a vector of a slab that is copied as a whole; to multiply a vector.
_ROW, _STEP, _FLAT, _PRODUCT = 14, 2, 4, 0.5


def tiled(axes, channels, images, per_window=0, dense=False):
    """The Staging whose tiles fit into the cache and make enough chunks of ``images`` images; a tile takes further
    ``per_window`` elements for each of its windows."""
    depth, height, width = axes
    tiles = 1
    while True:
        tile_rows = -(-height.out // tiles)
        staging = Staging(axes, tile_rows, dense=dense)
        elements = source_elements(staging, channels) + tile_rows * width.out * per_window
        few = images * depth.out * tiles < ENOUGH_CHUNKS and tile_rows * staging.pitch >= 2 * _SMALLEST_TILE
        if tile_rows == 1 or not (few or elements > AREA_ELEMENTS):
            return staging
        tiles += 1


def source_elements(staging, channels):
    """How many elements of the source, staged or not, a tile reads."""
    height = staging.axes[1]
    rows = staging.tile_rows * height.stride + max(height.taps)
    return channels * (rows * staging.pitch if staging.direct else staging.channel_size)


def fastest(axes, images, channels, out_channels, lanes):
    """The Staging that takes the least time for a correlation, among tiles of several heights, dense and not."""
    sparse = tiled(axes, channels, images)
    found = [sparse]
    if sparse.pitch != axes[2].out or not sparse.direct:
        dense = tiled(axes, channels, images, dense=True)
        lowest = max(1, dense.tile_rows // 2)
        found += [Staging(axes, rows, dense=True) for rows in range(dense.tile_rows, lowest - 1, -1)]
    return min(found, key=lambda staging: _cycles(staging, channels, out_channels, lanes))


def _cycles(staging, channels, out_channels, lanes):
    """About how long one thread takes for an image."""
    depth, height, width = staging.axes
    tiles, rest = divmod(height.out, staging.tile_rows)
    vectors = tiles * _vectors(staging, staging.tile_rows, lanes) + (_vectors(staging, rest, lanes) if rest else 0)
    terms = channels * len(depth.taps) * len(height.taps) * len(width.taps)
    products = vectors * out_channels * terms * _PRODUCT
    if staging.direct:
        return products
    if staging.flat:
        slab = -(-staging.rows * staging.pitch // lanes) * _FLAT + _ROW
    else:
        slab = staging.rows * (_ROW + -(-staging.pitch // lanes) * _STEP)
    return products + (tiles + (rest > 0)) * channels * len(staging.slabs) * slab


def _vectors(staging, rows, lanes):
    """How many vectors the windows of so many rows take."""
    windows = (rows - 1) * staging.pitch + staging.axes[2].out
    return -(-(windows - has_lone_window(staging, lanes)) // lanes)


def has_lone_window(staging, lanes):
    """Whether all tiles' windows are some vectors and one more."""
    _, height, width = staging.axes
    windows = staging.tile_rows * width.out
    alike = staging.pitch == width.out and height.out % staging.tile_rows == 0
    return alike and windows % lanes == 1 and lanes < windows and vector_registers() >= _LONE_REGISTERS
