"""Sorting, order statistics, extrema, searching and histograms against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(1)
X = draw.permutation(60).reshape(3, 4, 5) / 7.0
TIES = draw.integers(0, 4, (4, 9))
CALLS = [
    "x.sort()", "x.sort(0, descending=True)", "x.sort(dim=1, stable=True)", "x.argsort(1)", "torch.msort(x)", "x.topk(2)",
    "x.topk(3, 1, largest=False)", "x.topk(0)", "x.reshape(-1).topk(3)", "x.reshape(-1).topk(5, largest=False)",
    "x.kthvalue(2)", "x.kthvalue(3, 1, True)", "x.median()", "x.median(1)", "x.nanmedian(0, True)", "x.mode()",
    "x.quantile(0.3)", "x.quantile(torch.tensor([0.1, 0.5], dtype=x.dtype), 1)", "x.nanquantile(0.7, 2, True)",
    "x.quantile(0.4, 0, interpolation='lower')", "x.quantile(0.4, 0, interpolation='midpoint')",
    "x.quantile(0.4, 0, interpolation='nearest')", "x.max(1)", "x.min(0, True)", "x.max()", "x.argmax()", "x.argmin(1)",
    "x.argmax(0, True)", "torch.max(x, x * -1)", "x.cummax(1)", "x.cummin(0)", "x.cumsum(1)", "x.cumprod(0)",
    "x.logcumsumexp(2)", "x.diff()", "torch.diff(x, 2, 1)",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_values_and_gradients(code):
    compare(torch, rl, code, {"x": X}, dtype="float64", tracked="x", double=True)


@pytest.mark.parametrize("layout", ["transposed", "sliced"])
@pytest.mark.parametrize(
    "code", ["x.sort(1)", "x.topk(1, 0)", "x.median(1)", "x.kthvalue(2, 0)", "x.max(0)", "x.cumsum(0)"]
)
def test_layouts(code, layout):
    compare(torch, rl, code, {"x": X}, dtype="float32", layout=layout, tracked="x")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "code", ["x.sort()", "x.topk(2)", "x.median(0)", "x.kthvalue(2)", "x.max(1)", "x.cumsum(0)", "x.argmin(1)"]
)
def test_halves(code, dtype):
    compare(torch, rl, code, {"x": draw.permutation(20).reshape(4, 5) * 1.0}, dtype=dtype)


@pytest.mark.parametrize("code", ["t.sort()[0]", "t.sort(stable=True)", "t.sort(descending=True, stable=True)", "t.mode()",
                                  "t.mode(0)", "t.unique()", "t.unique(return_inverse=True, return_counts=True)",
                                  "t.unique(dim=0)", "t.unique_consecutive(return_counts=True)", "t.median(0)[0]",
                                  "t.kthvalue(2)[0]", "t.topk(3)[0]", "t.bincount() if t.ndim == 1 else t[0].bincount()",
                                  "t[0].bincount(t[1].float(), 9)", "torch.isin(t, torch.tensor([1, 3]))", "t.argmax(1)",
                                  "t.cummax(0)[0]", "t.cumsum(1)"])  # fmt: skip
def test_equal_elements(code):
    compare(torch, rl, code, {"t": TIES})


AMONG = [
    "torch.isin(x, 0.1)", "torch.isin(x, torch.tensor(0.1, dtype=torch.float64))", "torch.isin(3, x)", "torch.isin(x, x[:0])",
    "torch.isin(torch.tensor([16777217]), torch.tensor([16777216.0]))", "torch.isin(torch.tensor([44], dtype=torch.uint8), 300)",
    "torch.isin(x.bfloat16(), x)", "torch.isin(x.reshape(2, 2), x[1:, None], invert=True)",
    "torch.func.vmap(torch.isin)(x.reshape(2, 2), x.reshape(2, 2).flip(1)[:, :1])",
    "torch.func.vmap(torch.isin, in_dims=(None, 0))(x, x.reshape(2, 2))",
    "torch.isin(x.to('meta'), x.to('meta')).shape",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # PyTorch maps isin entry by entry
@pytest.mark.parametrize("code", AMONG)
def test_among(code):
    compare(torch, rl, code, {"x": np.array([0.1, 3.0, np.nan, 2.0])}, dtype="float32")


@pytest.mark.parametrize("code", ["x.sort()", "x.sort(descending=True)", "x.topk(2)", "x.topk(2, largest=False)", "x.median()",
                                  "x.median(0)", "x.nanmedian()", "x.kthvalue(4)", "x.max()", "x.max(0)", "x.argmin()",
                                  "x.cummax(0)", "x.quantile(0.5)", "x.nanquantile(0.5)", "x.aminmax()"])  # fmt: skip
def test_nan(code):
    compare(torch, rl, code, {"x": np.array([1.0, 3.0, np.nan, -np.inf, 2.0, np.inf])}, dtype="float32")


UNIQUE = [
    "x.unique(return_inverse=True)", "x.unique(return_counts=True)", "x.unique_consecutive()", "x[:0].unique()",
    "x[:0].unique(return_inverse=True, return_counts=True)", "x[0].unique(return_inverse=True)",
    "x[:1].unique_consecutive(dim=0, return_inverse=True)", "x.reshape(3, 2).unique_consecutive(dim=0, return_counts=True)",
    "x.reshape(2, 3).t().unique(return_inverse=True)", "x.bool().unique(return_counts=True)",
    "(x * float('nan')).unique(return_counts=True)", "x.bfloat16().unique(return_inverse=True)", "x.half().unique()",
    "x[:0].unique_consecutive(return_inverse=True)",
]  # fmt: skip


@pytest.mark.parametrize("code", UNIQUE)
def test_unique_elements(code):
    compare(torch, rl, code, {"x": np.array([3.0, 1.0, 1.0, 3.0, 2.0, 1.0])}, dtype="float32")


SEARCHES = [
    "torch.searchsorted(s, v)", "torch.searchsorted(s, v, right=True)", "torch.searchsorted(s, v, side='right')",
    "torch.searchsorted(s, 0.3)", "torch.searchsorted(s.expand(2, 6), v.reshape(2, 5), out_int32=True)",
    "torch.bucketize(v, s)", "torch.bucketize(v, s, right=True)", "torch.searchsorted(s[:0], v)",
    "torch.searchsorted(s.expand(2, 6)[:, :0], v.reshape(2, 5))", "torch.histc(v, 5)", "torch.histc(v, 4, -1, 1)",
    "torch.histogram(v)", "v.histogram(density=True)", "torch.histogram(v, 5)", "torch.histogram(v, s)", "torch.histogram(v, 4, range=(-1., 1.), density=True)",
    "torch.histogram(v, 3, weight=v.abs())", "torch.histogramdd(v.reshape(5, 2), [3, 2])",
    "torch.histogramdd(v.reshape(5, 2), 2, weight=v[:5].abs(), density=True)",
    "torch.histogramdd(v.reshape(5, 2), [s, s[1:]])",
]  # fmt: skip


@pytest.mark.parametrize("code", SEARCHES)
def test_searching_and_counting(code):
    arrays = {"s": np.array([-1.0, -0.5, 0.0, 0.25, 1.0, 2.0]), "v": draw.standard_normal(10)}
    compare(torch, rl, code, arrays, dtype="float32")


@pytest.mark.parametrize("code", ["x.sort()", "x.topk(1)", "x.kthvalue(1)", "x.mode()", "x.median()", "x.median(0)", "x.max(0)",
                                  "x.cummax(0)", "x.cumsum(0)", "x.aminmax()", "x.quantile(0.5)", "x.diff()"])  # fmt: skip
def test_node_names(code):
    if "quantile" in code:
        pytest.skip("squeeze() has names of its own in PyTorch")
    assert node_name(rl, code, {"x": X}, "x") == node_name(torch, code, {"x": X}, "x")


@pytest.mark.parametrize("code", ["x.max(0)", "x.sort()", "x.topk(2)", "x.median(0)", "x.mode()", "x.kthvalue(1)",
                                  "x.aminmax()", "torch.histogram(x, 2)"])  # fmt: skip
def test_named_results_print_alike(code):
    values = {"x": np.array([3.0, 1.0, 2.0])}
    texts = [repr(eval(code, {"torch": module, "x": module.tensor([3.0, 1.0, 2.0])})) for module in (rl, torch)]
    assert texts[0] == texts[1] and values


@pytest.mark.parametrize("code", [
    "x.kthvalue(9)", "x.topk(9)", "x.sort(5)", "x.quantile(2.0)", "x.quantile(torch.tensor([[0.5]]))", "x.long().quantile(0.5)",
    "x.median(7)", "x[:0].median(0)", "x[:0].mode(0)", "x[:0].argmax()", "x.bool().argmax()", "x.bool().topk(1)",
    "x.to(torch.complex64).sort()", "x.to(torch.complex64).max()", "x.to(torch.complex64).max(0)", "x.bool().median()",
    "torch.searchsorted(x[0, 0], x, side='left', right=True)", "torch.searchsorted(x, x[:2])", "torch.bucketize(x, x)",
    "torch.searchsorted(x[0, 0], x, sorter=x[0, 0])", "torch.bincount(x)", "torch.bincount(x.long())", "torch.histc(x, 0)",
    "torch.histc(x, 2, 3, 1)", "torch.histc(x.long())", "torch.histogram(x, 0)", "torch.histogramdd(x[0, 0], [2])",
    "torch.histogramdd(x, [2])", "x.cumsum(4)", "x.to(torch.complex64).unique()",
    "x.to(torch.complex64).unique(dim=0)", "x.to(torch.complex64).unique_consecutive()", "torch.diff(x, -1)", "torch.tensor(1.).diff()", "torch.trapezoid(x, x[0, 0, :2])",
])  # fmt: skip
def test_errors(code):
    arrays = {"x": X.astype(np.float32)}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None
