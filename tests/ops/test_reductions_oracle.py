"""Sums, means, variances, norms and truth over dimensions, against PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(0)
X = draw.standard_normal((3, 4, 5))
DIMS = ["", "0", "-1", "(0, 2)", "1, True", "()"]
NAMES = ["sum", "mean", "nansum", "var", "std", "prod", "amax", "amin", "logsumexp", "any", "all"]
CALLS = [f"x.{name}({dim})" for name in ("sum", "mean", "nansum", "amax", "amin") for dim in DIMS] + [
    "x.var()", "x.var(1)", "x.var((0, 2), keepdim=True)", "x.var(unbiased=False)", "x.var(0, False)",
    "x.var(1, correction=2)", "x.std()", "x.std(-1)", "x.std((0, 1), correction=0)", "torch.var_mean(x)",
    "torch.var_mean(x, 1, keepdim=True)", "torch.std_mean(x, (0, 2))", "x.prod()", "x.prod(1)", "x.prod(0, True)",
    "x.logsumexp(0)", "x.logsumexp((1, 2), True)", "torch.nanmean(x, 1)", "torch.aminmax(x)",
    "torch.aminmax(x, dim=1, keepdim=True)", "x.max()", "x.min(1)", "x.max(0, True)",
    "x.norm()", "x.norm(1)", "x.norm(3, 1)", "x.norm(0.5, 0)", "x.norm(float('inf'), 2)", "x.norm(0, 1)",
    "torch.linalg.vector_norm(x, -1, 1)", "torch.linalg.matrix_norm(x, 1)", "torch.linalg.matrix_norm(x)",
    "torch.linalg.norm(x[0], float('inf'))", "x.renorm(2, 0, 1.5)", "torch.dist(x, x * 2, 3)",
    "torch.cdist(x, x[:, :3])", "torch.cdist(x, x + 1, p=1)", "torch.cdist(x, x * 2, p=3)",
    "torch.pdist(x[0])", "F.pairwise_distance(x, x * 2)", "F.cosine_similarity(x, x + 1)", "F.normalize(x)",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_values_and_gradients(code):
    compare(torch, rl, code, {"x": X}, dtype="float64", tracked="x", double=True)


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
@pytest.mark.parametrize("code", ["x.sum((0, 2))", "x.mean(1)", "x.var(0)", "x.norm(2, 1)", "x.amax(2)", "x.prod(1)"])
def test_layouts(code, layout):
    compare(torch, rl, code, {"x": X}, dtype="float32", layout=layout, tracked="x")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize(
    "code", ["x.sum()", "x.sum(1)", "x.mean((0, 2))", "x.prod(2)", "x.var(0)", "x.norm()", "x.any(1)"]
)
def test_dtypes(code, dtype):
    compare(torch, rl, code, {"x": X}, dtype=dtype)


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize(
    "code", ["x.sum()", "x.sum(1)", "x.prod(0)", "x.amax(1)", "x.any(1)", "x.all()", "x.sum(0, dtype=torch.float32)"]
)
def test_integers(code, kind):
    compare(torch, rl, code, {"x": (np.abs(X) * 2).astype(kind)})


@pytest.mark.parametrize(
    "code", ["x.sum()", "x.mean(1)", "x.var(1)", "x.amax()", "x.logsumexp(1)", "x.std(0)", "x.norm(1)"]
)
def test_nan_and_infinities(code):
    values = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, -1.0], [-np.inf, -np.inf, -np.inf]])
    compare(torch, rl, code, {"x": values}, dtype="float32")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()])
@pytest.mark.parametrize(
    "code", ["x.sum()", "x.mean()", "x.prod()", "x.var()", "x.any()", "x.all()", "x.norm()", "x.sum(-1)"]
)
def test_empty_and_scalars(code, shape):
    compare(torch, rl, code, {"x": np.ones(shape)}, dtype="float32")


@pytest.mark.parametrize("code", ["x.sum()", "x.sum(0)", "x.mean()", "x.mean(0)", "x.var()", "x.std(0)", "torch.var_mean(x)",
                                  "torch.std_mean(x)", "torch.aminmax(x)", "x.max()", "x.max(0)", "x.amax(0)", "x.norm()",
                                  "torch.cdist(x, x)", "x.prod()", "x.prod(0)", "x.logsumexp(0)"])  # fmt: skip
def test_node_names(code):
    arrays = {"x": X}
    assert node_name(rl, code, arrays, "x") == node_name(torch, code, arrays, "x")


@pytest.mark.parametrize("code", ["x.sum(5)", "x.sum((0, 0))", "x.long().mean()", "x.long().var()", "x.max(7)",
                                  "x[:0].max()", "x[:0].max(0)", "x[:0].amax(0)", "x[:0].norm(-1)", "x.norm('foo')",
                                  "torch.cdist(x, x[..., :2])", "torch.cdist(x, x.double(), p=-1)", "x.renorm(-1, 0, 1)",
                                  "x.long().norm()", "x[:0].aminmax()"])  # fmt: skip
def test_errors(code):
    arrays = {"x": X.astype(np.float32)}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None


@pytest.mark.parametrize(
    "weights", ["", ", fweights=w", ", aweights=w.to(x.dtype)", ", fweights=w, aweights=w.to(x.dtype)"]
)
def test_covariances(weights):
    arrays = {"x": X[0], "w": np.array([1, 2, 0, 3, 1])}
    compare(torch, rl, f"torch.cov(x{weights})", arrays, dtype="float64", tracked="x", double=True)
    compare(torch, rl, "torch.corrcoef(x)", arrays, dtype="float64", tracked="x")


@pytest.mark.parametrize("code", ["torch.trapezoid(y)", "torch.trapezoid(y, dx=0.5, dim=0)", "torch.trapezoid(y, x[:5])",
                                  "torch.trapezoid(y, x[:4], dim=0)", "torch.cumulative_trapezoid(y, x[:5])",
                                  "torch.cumulative_trapezoid(y, dim=0)"])  # fmt: skip
def test_trapezoids(code):
    compare(torch, rl, code, {"y": X[0], "x": np.arange(6.0) ** 2}, dtype="float64", tracked="xy")


@pytest.mark.parametrize(
    "shape, dim", [((200_000, 4), 0), ((300, 400, 3), (0, 1)), ((2, 60_000, 3), 1), ((100_003,), 0)]
)
def test_long_sums_are_as_accurate(shape, dim):
    values = draw.random(shape, dtype=np.float32)
    exact = values.astype(np.float64).sum(dim)
    error = np.abs(rl.from_numpy(values).sum(dim).numpy() - exact).max() / exact.max()
    reference = np.abs(torch.from_numpy(values).sum(dim).numpy() - exact).max() / exact.max()
    assert error <= max(3 * reference, 3e-7)
