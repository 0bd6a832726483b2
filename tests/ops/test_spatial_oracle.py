"""Padding, interpolation and sampling on grids against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(7)
ARRAYS = {
    "x1": draw.standard_normal((2, 3, 6)), "x2": draw.standard_normal((2, 3, 5, 6)), "x3": draw.standard_normal((1, 2, 4, 3, 5)),
    "g2": draw.uniform(-1.3, 1.3, (2, 4, 3, 2)), "g3": draw.uniform(-1.2, 1.2, (1, 2, 3, 2, 3)), "theta": draw.standard_normal((2, 2, 3)),
    "theta3": draw.standard_normal((1, 3, 4)), "whole": draw.integers(-1, 2, (2, 4, 3, 2)).astype(float),
}  # fmt: skip
PADS = [
    "F.pad(x2, (1, 2))", "F.pad(x2, (1, 2, 0, 3), value=1.5)", "F.pad(x2, (-1, 2, 3, -2))", "F.pad(x2, (0, 0, 0, 0, 1, 1))", "F.pad(x1, (2, 3), 'reflect')",
    "F.pad(x2, (1, 2, 3, 4), 'reflect')", "F.pad(x3, (1, 1, 2, 0, 1, 1), 'reflect')", "F.pad(x1, (4, 7), 'replicate')", "F.pad(x1, (-2, 9), 'replicate')",
    "F.pad(x1, (-4, 4), 'reflect')", "F.pad(x3, (1, 1, 2, 3, 4, 5), 'replicate')", "F.pad(x1, (6, 2), 'circular')", "F.pad(x2, (1, 2, 3, 0), 'circular')",
    "F.pad(x1, (-1, 2), 'circular')", "F.pad(x1[0], (1, 1), 'reflect')",
]  # fmt: skip
SIZES = [
    "F.interpolate(x1, 9)", "F.interpolate(x2, (3, 8))", "F.interpolate(x2, scale_factor=2)", "F.interpolate(x3, scale_factor=(2, 1.5, 0.7))",
    "F.interpolate(x2, scale_factor=1.7, recompute_scale_factor=True)", "F.interpolate(x1, 4, mode='nearest-exact')",
    "F.interpolate(x2, (7, 4), mode='nearest-exact')", "F.interpolate(x1, 9, mode='linear')", "F.interpolate(x1, 9, mode='linear', align_corners=True)",
    "F.interpolate(x2, (3, 8), mode='bilinear')", "F.interpolate(x2, scale_factor=1.6, mode='bilinear')", "F.interpolate(x2, (3, 8), mode='bicubic')",
    "F.interpolate(x2, 9, mode='bicubic', align_corners=True)", "F.interpolate(x2, 3, mode='bilinear', antialias=True)",
    "F.interpolate(x2, (3, 9), mode='bicubic', antialias=True)", "F.interpolate(x2, 3, mode='lanczos', antialias=True)",
    "F.interpolate(x3, 5, mode='trilinear')", "F.interpolate(x2, (2, 4), mode='area')", "F.interpolate(x2, 1, mode='bilinear', align_corners=True)",
]  # fmt: skip
GRIDS = [f"F.grid_sample(x2, g2, '{mode}', '{padding}', {align})" for mode in ("bilinear", "nearest", "bicubic")
         for padding in ("zeros", "border", "reflection") for align in (False, True)] + [
    *(f"F.grid_sample(x3, g3, '{mode}', '{padding}', {align})" for mode in ("bilinear", "nearest")
      for padding in ("zeros", "border", "reflection") for align in (False, True)),
    *(f"F.grid_sample({arguments}, '{mode}', align_corners=False)" for mode in ("bilinear", "nearest", "bicubic")
      for arguments in ("x2[:0], g2[:0]", "x2[:, :0], g2", "x2, g2[:, :0]")
      if (mode, arguments) != ("bicubic", "x2, g2[:, :0]")),  # PyTorch's second derivative fails there
    *(f"F.grid_sample(x2, whole, 'bicubic', '{padding}', True)" for padding in ("zeros", "border", "reflection")),
    "F.affine_grid(theta, (2, 3, 4, 5), False)",
    "F.affine_grid(theta, (2, 3, 4, 5), True)", "F.affine_grid(theta3, (1, 2, 3, 4, 5), False)",
]  # fmt: skip


@pytest.mark.parametrize("code", [*PADS, *SIZES, *GRIDS])
def test_values_and_gradients(code):
    tracked = [n for n in ARRAYS if n in code and not ("nearest" in code and n.startswith("g"))]
    compare(torch, rl, code, ARRAYS, dtype="float64", tracked=tracked, double=True, factor=100)


@pytest.mark.parametrize("layout", ["transposed", "sliced"])
@pytest.mark.parametrize(
    "code",
    [
        "F.pad(x2, (1, 2, 3, 4), 'reflect')",
        "F.pad(x2, (1, 2))",
        "F.interpolate(x2, 9)",
        "F.interpolate(x2, 4, mode='bilinear')",
    ],
)
def test_layouts(code, layout):
    compare(torch, rl, code, ARRAYS, dtype="float32", layout=layout, tracked=["x2"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "code", ["F.pad(x2, (1, 2, 3, 4), 'reflect')", "F.interpolate(x2, 9)", "F.interpolate(x2, 4, mode='bilinear')"]
)
def test_halves(code, dtype):
    compare(torch, rl, code, ARRAYS, dtype=dtype, tracked=["x2"], factor=2)


def test_nearest_ties_fall_as_in_pytorch():
    for length, out in [(30, 31), (7, 29), (100, 37), (56, 224), (49, 98), (1000, 999)]:
        for mode in ("nearest", "nearest-exact"):
            compare(
                torch,
                rl,
                f"F.interpolate(x, {out}, mode='{mode}')",
                {"x": np.arange(float(length))[None, None]},
                dtype="float32",
            )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_bytes(mode, antialias):
    arrays = {"x": draw.integers(0, 256, (1, 3, 21, 30)).astype(np.uint8)}
    compare(torch, rl, f"F.interpolate(x, (13, 41), mode='{mode}', antialias={antialias})", arrays)


@pytest.mark.parametrize(
    "code", ["F.pad(x2, (1, 1))", "F.pad(x1, (1, 1), 'reflect')", "F.pad(x2, (1, 1, 1, 1), 'replicate')", *SIZES]
)
def test_node_names(code):
    assert node_name(rl, code, ARRAYS, ["x1", "x2", "x3"]) == node_name(torch, code, ARRAYS, ["x1", "x2", "x3"])


@pytest.mark.parametrize("code", [
    "F.pad(x2, (1,))", "F.pad(x1, (1,) * 8)", "F.pad(x2, (1, 1), mode='foo')", "F.pad(x2, (1, 1), mode='reflect')", "F.pad(x1, (6, 0), 'reflect')",
    "F.pad(x2, (1, 1, 5, 0), 'reflect')", "F.pad(x1, (7, 0), 'circular')", "F.pad(x1, (-7, 0), 'replicate')", "F.pad(x1, (-9, 0))",
    "F.pad(x1, (1, 1), 'reflect', 3)", "F.interpolate(x2)", "F.interpolate(x2, 2, 2)", "F.interpolate(x2, 2, mode='linear')",
    "F.interpolate(x1, 2, mode='bilinear')", "F.interpolate(x2, (2, 2, 2))", "F.interpolate(x2, scale_factor=(2, 2, 2))", "F.interpolate(x2, 0)",
    "F.interpolate(x1[0], 2)", "F.interpolate(x2, 2, align_corners=True)", "F.interpolate(x2, 2, antialias=True)", "F.interpolate(x2, 2, mode='foo')",
    "F.interpolate(x2, 2, recompute_scale_factor=True)", "F.interpolate(x2, 2, mode='lanczos')", "F.grid_sample(x2, g3)",
    "F.grid_sample(x2[:, :, :0], g2, align_corners=False)", "F.grid_sample(x2.int(), g2.int(), align_corners=False)",
    "F.grid_sample(x3.int(), g3.int(), align_corners=False)",
    "F.grid_sample(x2, g2[:1])", "F.grid_sample(x2, g2, 'foo')", "F.grid_sample(x2, g2, 'nearest', 'foo')", "F.grid_sample(x3, g3, 'bicubic')",
    "F.affine_grid(theta, (2, 3, 4))", "F.affine_grid(theta[0], (2, 3, 4, 5))", "F.affine_grid(theta, (2, 3, 0, 5))",
    "F.affine_grid(theta.long(), (2, 3, 4, 5))",
])  # fmt: skip
def test_errors(code):
    arrays = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None


HALF_TOLERANCES = {"float16": 8e-3, "bfloat16": 6e-2}


@pytest.mark.parametrize("dtype", HALF_TOLERANCES)
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("sizes", [((2, 3, 5, 6), (2, 7, 6, 2)), ((1, 2, 4, 3, 5), (1, 3, 4, 5, 3))])
def test_places_of_grids_in_half_precision_round_every_step(dtype, mode, sizes):
    if mode == "bicubic" and len(sizes[0]) == 5:
        return
    values = np.random.default_rng(1)
    image, grid = values.standard_normal(sizes[0]), values.standard_normal(sizes[1]) * 1.5
    grid[:, 0] = np.round(grid[:, 0] * 2) / 2  # halfway between elements
    weight = values.standard_normal((*sizes[0][:2], *sizes[1][1:-1]))
    tolerance = HALF_TOLERANCES[dtype]
    for padding in ("zeros", "border", "reflection"):
        for align in (False, True):
            found = []
            for t in (rl, torch):
                x, g, w = (t.from_numpy(a).to(getattr(t, dtype)) for a in (image, grid, weight))
                x, g = x.requires_grad_(), g.requires_grad_()
                y = t.nn.functional.grid_sample(x, g, mode, padding, align)
                found.append([a.detach().double().numpy() for a in (y, *t.autograd.grad(y, (x, g), w))])
            for ours, theirs in zip(*found):
                np.testing.assert_allclose(ours, theirs, tolerance, tolerance * np.abs(theirs).max(), err_msg=padding)
