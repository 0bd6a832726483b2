"""Pooling of every kind against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(4)
ARRAYS = {
    "x1": draw.standard_normal((2, 3, 9)), "x2": draw.standard_normal((2, 3, 7, 6)), "x3": draw.standard_normal((2, 2, 5, 6, 4)),
    "ties": draw.integers(-1, 2, (2, 3, 6, 6)).astype(float),
}  # fmt: skip
CALLS = [
    "F.max_pool1d(x1, 2)", "F.max_pool1d(x1, 3, 2, 1, 2, True)", "F.max_pool1d(x1[0], 3, return_indices=True)", "F.max_pool2d(x2, 2)",
    "F.max_pool2d(x2, (3, 2), (2, 1), (1, 0))", "F.max_pool2d(x2, 2, 3, ceil_mode=True)", "F.max_pool2d(x2, 2, 1, 1, 2)",
    "F.max_pool2d(x2, 3, 2, 1, return_indices=True)", "F.max_pool2d(x2[0], 2)", "F.max_pool2d(ties, 3, 1)", "F.max_pool2d(ties, 2, return_indices=True)",
    "F.max_pool3d(x3, 2)", "F.max_pool3d(x3, (2, 3, 1), 2, (1, 1, 0))", "F.avg_pool1d(x1, 3, 2, 1)", "F.avg_pool2d(x2, 2)",
    "F.avg_pool2d(x2, 3, 2, 1, True, False)", "F.avg_pool2d(x2, (2, 3), divisor_override=5)", "F.avg_pool2d(x2[0], 2)",
    "F.avg_pool3d(x3, 2, 1, 1)", "F.lp_pool1d(x1.abs(), 2, 3)", "F.lp_pool2d(x2.abs(), 3, 2)", "F.adaptive_avg_pool1d(x1, 4)",
    "F.adaptive_avg_pool2d(x2, (3, 4))", "F.adaptive_avg_pool2d(x2, 1)", "F.adaptive_avg_pool2d(x2[0], (None, 2))", "F.adaptive_avg_pool3d(x3, 2)",
    "F.adaptive_max_pool1d(x1, 4)", "F.adaptive_max_pool2d(x2, (3, 4), True)", "F.adaptive_max_pool3d(x3, (2, 3, 1))",
    "F.adaptive_max_pool2d(x2[:0], (2, 1))", "F.adaptive_avg_pool2d(x2[:0], 1)", "F.max_pool2d(x2[:0], 2)", "F.avg_pool2d(x2[:0], 2)",
    "F.max_unpool1d(*F.max_pool1d(x1, 3, return_indices=True), 3)", "F.max_unpool2d(*F.max_pool2d(x2, 2, return_indices=True), 2, output_size=(7, 6))",
    "F.max_unpool3d(*F.max_pool3d(x3, 2, return_indices=True), 2)",
    "F.fractional_max_pool2d(x2, 2, 3, _random_samples=torch.full((2, 3, 2), 0.4, dtype=x2.dtype))",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_values_and_gradients(code):
    compare(torch, rl, code, ARRAYS, dtype="float64", tracked=[n for n in ARRAYS if n in code], double=True)


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
@pytest.mark.parametrize(
    "code", ["F.max_pool2d(x2, 2)", "F.avg_pool2d(x2, 3, 1, 1)", "F.adaptive_avg_pool2d(x2, 2)", "F.max_pool1d(x1, 3)"]
)
def test_layouts(code, layout):
    compare(torch, rl, code, ARRAYS, dtype="float32", layout=layout, tracked=["x1", "x2"])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("code", ["F.max_pool2d(x2, 2)", "F.avg_pool2d(x2, 3, 2)", "F.adaptive_avg_pool2d(x2, 3)"])
def test_halves(code, dtype):
    compare(torch, rl, code, ARRAYS, dtype=dtype, tracked=["x2"])


@pytest.mark.parametrize(
    "code",
    ["F.max_pool2d(n, 2)", "F.avg_pool2d(n, 2)", "F.avg_pool2d(n, 2, divisor_override=-3)"],
)
def test_integers(code):
    compare(torch, rl, code, {"n": draw.integers(-9, 9, (1, 2, 6, 6))})


def test_nan_wins():
    values = ARRAYS["x2"].copy()
    values[0, 0, 2, 3] = np.nan
    for code in ("F.max_pool2d(x, 2)", "F.max_pool2d(x, 3, 1, return_indices=True)"):
        compare(torch, rl, code, {"x": values}, dtype="float32", tracked="x")


@pytest.mark.parametrize("dims", [2, 3])
def test_random_windows_are_pytorchs(dims):
    values = ARRAYS[f"x{dims}"]
    found = []
    for module in (rl, torch):
        module.manual_seed(5)
        pool = getattr(module.nn.functional, f"fractional_max_pool{dims}d")
        found.append(pool(module.from_numpy(values), 2, output_size=2, return_indices=True)[1].numpy())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("code", [
    "F.max_pool1d(x1, 2)", "F.max_pool2d(x2, 2)", "F.max_pool3d(x3, 2)", "F.avg_pool1d(x1, 2)", "F.avg_pool2d(x2, 2)", "F.avg_pool3d(x3, 2)",
    "F.adaptive_avg_pool1d(x1, 2)", "F.adaptive_avg_pool2d(x2, 2)", "F.adaptive_avg_pool2d(x2, 1)", "F.adaptive_avg_pool3d(x3, 2)",
    "F.adaptive_max_pool1d(x1, 2)", "F.adaptive_max_pool2d(x2, 2)", "F.adaptive_max_pool3d(x3, 2)",
])  # fmt: skip
def test_node_names(code):
    assert node_name(rl, code, ARRAYS, ["x1", "x2", "x3"]) == node_name(torch, code, ARRAYS, ["x1", "x2", "x3"])


@pytest.mark.parametrize("code", [
    "F.max_pool2d(x2[0, 0], 2)", "F.max_pool2d(x2, 9)", "F.max_pool2d(x2, 2, padding=2)", "F.max_pool2d(x2, 2, padding=-1)",
    "F.max_pool2d(x2, 2, 0)", "F.max_pool2d(x2, (2, 2, 2))", "F.max_pool2d(x2, 2, dilation=0)", "F.max_pool2d(x2[:, :0], 2)",
    "F.max_pool2d(x2[:, :, :0], 2)", "F.max_pool1d(x2, 2)", "F.max_pool1d(x1, 20)", "F.max_pool1d(x1, 2, padding=2)",
    "F.max_pool3d(x1, 2)", "F.avg_pool2d(x2[0, 0], 2)", "F.avg_pool2d(x2, 9)", "F.avg_pool2d(x2, 2, divisor_override=0)",
    "F.avg_pool1d(x2, 2)", "F.avg_pool1d(x1, 20)", "F.avg_pool3d(x3, 9)", "F.adaptive_avg_pool2d(x2[0, 0], 2)",
    "F.adaptive_avg_pool2d(x2, (2, 2, 2))", "F.adaptive_avg_pool2d(x2, -1)", "F.adaptive_avg_pool1d(x1[0, 0], 2)",
    "F.adaptive_max_pool2d(x2[0, 0], 2)", "F.adaptive_max_pool2d(x2, (2,))", "F.fractional_max_pool2d(x2, 2)", "F.fractional_max_pool2d(x2, 9, 3)",
    "F.max_unpool2d(x2, x2, 2)", "F.max_unpool2d(x2, x2.long()[0], 2)", "F.max_unpool2d(x2, x2.long() * 0 + 999, 2)",
    "F.max_unpool2d(x2, x2.long() * 0, 2, output_size=(40, 40))", "F.max_unpool2d(x2[0, 0], x2[0, 0].long(), 2)",
])  # fmt: skip
def test_errors(code):
    arrays = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None
