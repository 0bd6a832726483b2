"""The order in memory of what is flipped, rolled, turned and written into, against PyTorch; gradients of diagonals."""

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CODES = [
    "v.flip(0)", "v.flip(1)", "v.flip(0, 1)", "v.fliplr()", "v.roll(1, 0)", "v.roll(1, 1)", "v.roll((1, 1), (0, 1))", "v.roll(2)",
    "v.rot90()", "v.rot90(2)", "v.rot90(0)", "v.rot90(-1)", "v.slice_scatter(v[:1], 0, 0, 1)", "v.select_scatter(v[0], 0, 1)",
    "v.diagonal_scatter(v.diagonal())",
]  # fmt: skip
VIEWS = {
    "rows": lambda m, scale: m.arange(12.0 * scale).view(3, 4 * scale),
    "transposed": lambda m, scale: m.arange(12.0 * scale).view(3, 4 * scale).t(),
    "permuted": lambda m, scale: m.arange(24.0 * scale).view(2, 3, 4 * scale).permute(1, 2, 0),
    "swapped": lambda m, scale: m.arange(24.0 * scale).view(2, 3, 4 * scale).transpose(0, 1),
    "images": lambda m, scale: (
        m.arange(120.0 * scale).view(2, 3, 4 * scale, 5).contiguous(memory_format=m.channels_last)
    ),
    "pixels": lambda m, scale: (
        m.arange(120.0 * scale).view(2, 60 * scale, 1, 1).contiguous(memory_format=m.channels_last)
    ),
}


@pytest.mark.parametrize("scale", [1, 1000], ids=["small", "large"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("code", CODES)
def test_elements_and_strides(code, view, scale):
    wanted, found = (eval(code, {"v": VIEWS[view](m, scale)}) for m in (torch, rl))
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    assert found.stride() == wanted.stride()


GRADIENTS = [
    ("x.trace()", (300, 200)), ("x.trace()", (3, 100)), ("x.trace()", (1, 1)), ("x.trace()", (0, 4)), ("x.rot90()[3].sum()", (300, 200)),
    ("x.as_strided((20, 300), (301, 1)).sum()", (300, 200)),
]  # fmt: skip


@pytest.mark.parametrize("factor", [2.0, float("inf")])
@pytest.mark.parametrize(("code", "shape"), GRADIENTS)
def test_gradients(code, shape, factor):
    found = []
    for m in (torch, rl):
        x = m.ones(shape, requires_grad=True)
        (eval(code, {"x": x}) * factor).backward()
        found.append(x.grad.tolist())
    assert found[1] == found[0]
