"""Small calls that take ways of their own, against PyTorch: two dtypes, values chosen by masks, equality, layouts."""

import pytest

import rushlight as rl
from oracle_expressions import check

torch = pytest.importorskip("torch")

DTYPES = ("bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
OPERATIONS = (
    "x + y", "x - y", "x * y", "x / y", "x // y", "x % y", "x == y", "x < y", "x & y", "torch.maximum(x, y)",
    "torch.atan2(x, y)", "torch.fmod(x, y)", "x - y[0]", "torch.add(x, y, alpha=2)",
    "x.clone().add_(y)", "torch.equal(x, y)", "torch.equal(x, x.clone())", "x + y[:, :2]", "x.t() * y.t()",
)  # fmt: skip
CASES = (
    "torch.where(m, a, b)", "torch.where(m, 2.0, b)", "torch.where(m, a, 2.0)", "torch.where(m[:1], a, b)",
    "torch.where(m, a[0], b)", "torch.where(m.t(), a.t(), b.t())", "torch.where(m, a.double(), b)",
    "torch.where(m, a[0, 0], b)", "torch.where(m.byte(), a, b)", "torch.where(m, g, b).grad_fn.name()",
    "a.masked_fill(m, 2)", "a.masked_fill(m[:1], 2)", "a.t().masked_fill(m.t(), -1)", "a.clone().masked_fill_(m, 3.5)",
    "a.masked_fill(m, b)", "a[:, ::2].clone().masked_fill_(m[:, ::2], 1)", "a.masked_fill(m[:, :2], 1)",
    "torch.equal(a, a[:, :2])", "torch.equal(a, a.clone())", "torch.equal(a * float('nan'), a * float('nan'))",
    "torch.equal(a[:0], a[:0])", "torch.equal(a[0, 0], a[0, 0])", "torch.equal(a, 1)",
    "a.t().contiguous()", "a.t().contiguous().stride()", "a.contiguous() is a", "g.t().contiguous().grad_fn.name()",
    "a.t().clone(memory_format=torch.contiguous_format)",
    "a.contiguous(memory_format=torch.channels_last)", "torch.clamp(a, 0, 1)", "a.clamp(min=0)",
    "torch.lerp(a, b, 0.3)", "torch.add(g, b, alpha=3).grad_fn.name()", "torch.sub(a, b, alpha=0.5)", "torch.sub(m, m, alpha=2)",
    "torch.add(a, b, alpha=1e39)", "torch.add(a, 2, alpha=3)", "torch.div(a, b, rounding_mode='floor')",
    "torch.add(a, other=b, alpha=2)", "torch.add(a.long(), b.long(), alpha=2.5)",
)  # fmt: skip


@pytest.mark.parametrize("second", DTYPES)
@pytest.mark.parametrize("first", DTYPES)
def test_two_dtypes(first, second):
    def names(m):
        numbers = m.tensor([[1.0, 2.0, 0.0], [3.0, 1.0, 5.0]])
        return {"x": numbers.to(getattr(m, first)), "y": numbers.flip(1).add(1).to(getattr(m, second))}

    for code in OPERATIONS:
        check(torch, rl, code, names)


@pytest.mark.parametrize("code", CASES)
def test_same_as_pytorch(code):
    def names(m):
        a = m.arange(12.0).view(3, 4) - 5
        return {"a": a, "b": a.flip(0), "m": a > 0, "g": a.clone().requires_grad_()}

    check(torch, rl, code, names)
