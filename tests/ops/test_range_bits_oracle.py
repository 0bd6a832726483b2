"""``linspace`` and ``arange`` bit for bit as PyTorch's, whose processors compute an element by fused operations."""

import importlib
import random

import pytest

torch = pytest.importorskip("torch")
rl = pytest.importorskip("rushlight")
ranges = importlib.import_module("rushlight.ops.ranges")
ENDS = [
    (-10, 10),
    (0, 1),
    (-1, 1),
    (1e-4, 0.02),
    (0, 1000),
    (3, 3),
    (1e30, -1e30),
    (-0.0, 0.0),
    (float("nan"), 1),
    (0, 2**24 + 1),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_every_bit(dtype, ends):
    if dtype == "float16" and max(map(abs, ends)) > 60000:
        ends = 0, 6e4
    draw = random.Random(0)
    for steps in (2, 3, 8, 100, 1001, 1024, 1025, 5000, 70_001, *(draw.randrange(2, 1100) for _ in range(12))):
        found, wanted = (
            rl.linspace(*ends, steps, dtype=getattr(rl, dtype)),
            torch.linspace(*ends, steps, dtype=getattr(torch, dtype)),
        )
        assert torch.equal(torch.from_numpy(found.double().numpy()).nan_to_num(7), wanted.double().nan_to_num(7)), steps


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step", [0.1, 0.01, -0.37, 1, 2.5])
@pytest.mark.parametrize("kernels", [True, False])
def test_every_bit_of_ranges(dtype, step, kernels, monkeypatch):
    if not kernels:
        monkeypatch.setattr(ranges, "kernels", {})
    for start in (0, -5.3, 1e-3):
        for count in (1, 7, 8, 15, 16, 17, 100, 1023, 5000):
            bounds = start, start + count * step, step
            found, wanted = (t.arange(*bounds, dtype=getattr(t, dtype)) for t in (rl, torch))
            assert torch.equal(torch.from_numpy(found.numpy()), wanted), (bounds, count)
