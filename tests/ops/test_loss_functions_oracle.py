"""Losses against PyTorch: every reduction, weights, gradients of both orders, node names, errors."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare, error_of, node_name

torch = pytest.importorskip("torch")

draw = np.random.default_rng(2)
ARRAYS = {
    "x": draw.standard_normal((4, 5)),
    "y": draw.standard_normal((4, 5)),
    "p": draw.uniform(0.05, 0.95, (4, 5)),
    "q": draw.uniform(0.05, 0.95, (4, 5)),
    "w": draw.uniform(0.5, 2, 5),
    "s": np.sign(draw.standard_normal((4, 5))),
    "c": np.array([1, 0, 4, 2]),
    "image": draw.standard_normal((2, 5, 3, 2)),
    "mask": draw.integers(0, 5, (2, 3, 2)),
    "bits": draw.integers(0, 2, (4, 5)),
    "labels": np.array([[3, 0, -1, 2, 1], [1, -1, 0, 0, 0], [-1, 0, 1, 2, 3], [4, 3, 2, 1, 0]]),
}
DIFFERENCES = ["F.mse_loss(x, y{})", "F.l1_loss(x, y{})", "F.smooth_l1_loss(x, y, beta=0.7{})", "F.smooth_l1_loss(x, y, beta=0{})",
               "F.huber_loss(x, y, delta=0.8{})", "F.mse_loss(x, y, weight=p{})", "F.huber_loss(x, y, weight=p{})"]  # fmt: skip
OTHERS = [
    "F.nll_loss(x, c{})", "F.nll_loss(x, c, w{})", "F.nll_loss(x, c, ignore_index=0{})", "F.nll_loss(x, c, w, ignore_index=4{})",
    "F.nll_loss(image, mask{})", "F.nll_loss(image, mask, w, ignore_index=1{})", "F.nll_loss(x[0], c[0]{})",
    "F.cross_entropy(x, c{})", "F.cross_entropy(x, c, w{})", "F.cross_entropy(x, c, w, label_smoothing=0.2, ignore_index=1{})",
    "F.cross_entropy(image, mask, label_smoothing=0.1{})", "F.cross_entropy(x, q{})", "F.cross_entropy(x, q, w, label_smoothing=0.1{})",
    "F.cross_entropy(x[0], c[0]{})", "F.binary_cross_entropy(p, q{})", "F.binary_cross_entropy(p, q, w{})",
    "F.binary_cross_entropy_with_logits(x, q{})", "F.binary_cross_entropy_with_logits(x, q, w, pos_weight=w{})",
    "F.kl_div(x, q{})", "F.kl_div(x, y, log_target=True{})", "F.poisson_nll_loss(x, q{})", "F.poisson_nll_loss(p, q * 4, False, True{})",
    "F.gaussian_nll_loss(x, y, q{})", "F.gaussian_nll_loss(x, y, q, full=True{})", "F.hinge_embedding_loss(x, s{})",
    "F.margin_ranking_loss(x, y, s, 0.1{})", "F.cosine_embedding_loss(x, y, s[:, 0]{})", "F.soft_margin_loss(x, s{})",
    "F.multilabel_soft_margin_loss(x, bits, w{})", "F.multi_margin_loss(x, c{})", "F.multi_margin_loss(x, c, 2, 0.7, w{})",
    "F.multilabel_margin_loss(x, labels{})", "F.triplet_margin_loss(x, y, p{})", "F.triplet_margin_loss(x, y, p, swap=True{})",
    "F.ctc_loss(time.log_softmax(2), targets, [6, 5], [2, 3]{})", "F.ctc_loss(time.log_softmax(2), targets, [6, 2], [2, 3], zero_infinity=True{})",
]  # fmt: skip
ARRAYS |= {"time": draw.standard_normal((6, 2, 4)), "targets": np.array([[1, 2, 0], [3, 3, 1]])}
ONE_SIDED = ("multi_margin", "multilabel_margin", "gaussian", "poisson_nll_loss(p")


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("code", [*DIFFERENCES, *OTHERS])
def test_values_and_gradients(code, reduction):
    tracked = (
        ["x", "image", "p", "time"]
        if any(name in code for name in ONE_SIDED)
        else ["x", "y", "p", "q", "image", "time"]
    )
    compare(torch, rl, code.format(f", reduction='{reduction}'"), ARRAYS, dtype="float64", tracked=tracked, double=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("code", ["F.mse_loss(x, y)", "F.l1_loss(x, y)", "F.cross_entropy(x, c)", "F.nll_loss(x, c, w)",
                                  "F.smooth_l1_loss(x, y)", "F.binary_cross_entropy_with_logits(x, q)",
                                  "F.binary_cross_entropy(p, q)"])  # fmt: skip
def test_dtypes(code, dtype):
    compare(torch, rl, code, ARRAYS, dtype=dtype, tracked=["x", "p"], factor=2)


@pytest.mark.parametrize("layout", ["transposed", "sliced"])
@pytest.mark.parametrize(
    "code", ["F.mse_loss(x, y)", "F.cross_entropy(x, c)", "F.cross_entropy(image, mask)", "F.nll_loss(x, c)"]
)
def test_layouts(code, layout):
    compare(torch, rl, code, ARRAYS, dtype="float32", layout=layout, tracked=["x", "image"])


@pytest.mark.parametrize("code", ["F.mse_loss(x[:0], y[:0])", "F.l1_loss(x[:0], y[:0])", "F.cross_entropy(x[:0], c[:0])",
                                  "F.nll_loss(x[:0], c[:0], reduction='sum')", "F.cross_entropy(x[:0], c[:0], reduction='none')",
                                  "F.mse_loss(x[0, 0], y[0, 0])", "F.cross_entropy(x, c * 0 - 100)",
                                  "F.mse_loss(x, y[:1])"])  # fmt: skip
def test_empty_and_broadcast(code):
    compare(torch, rl, code, ARRAYS, dtype="float32", tracked=["x"])


@pytest.mark.parametrize("code", ["F.mse_loss(x, y)", "F.mse_loss(x, y, reduction='none')", "F.l1_loss(x, y)", "F.smooth_l1_loss(x, y)",
                                  "F.huber_loss(x, y)", "F.nll_loss(x, c)", "F.nll_loss(image, mask)", "F.cross_entropy(x, c)",
                                  "F.binary_cross_entropy(p, q)", "F.binary_cross_entropy_with_logits(x, q)", "F.kl_div(x, q)",
                                  "F.soft_margin_loss(x, s)", "F.multi_margin_loss(x, c)", "F.multilabel_margin_loss(x, labels)",
                                  "F.ctc_loss(time, targets, [6, 6], [2, 3], reduction='none')"])  # fmt: skip
def test_node_names(code):
    tracked = ["x", "p", "image", "time"]
    assert node_name(rl, code, ARRAYS, tracked) == node_name(torch, code, ARRAYS, tracked)


@pytest.mark.parametrize("code", [
    "F.mse_loss(x, y, reduction='mode')", "F.mse_loss(x, y[:, :2])", "F.smooth_l1_loss(x, y, beta=-1)", "F.huber_loss(x, y, delta=0)",
    "F.nll_loss(x, c + 3)", "F.nll_loss(x, c - 1)", "F.nll_loss(x, c[:2])", "F.nll_loss(x, c.float())", "F.nll_loss(x, c.int())",
    "F.nll_loss(x, c, w[:2])", "F.nll_loss(x, c[:, None])", "F.nll_loss(image, mask[:, :2])", "F.nll_loss(image, mask[0])",
    "F.cross_entropy(x, c + 9)", "F.cross_entropy(x, c[:3])", "F.cross_entropy(x, bits)", "F.cross_entropy(x, c, label_smoothing=2.)",
    "F.cross_entropy(x, q, w[:2])", "F.cross_entropy(x, q, ignore_index=1)", "F.binary_cross_entropy(p, q[:2])",
    "F.binary_cross_entropy(p * 3, q)", "F.binary_cross_entropy(p, bits)", "F.binary_cross_entropy_with_logits(x, q[:2])",
    "F.smooth_l1_loss(x, y[:, :2], beta=-1.0)", "F.gaussian_nll_loss(x, y, -q)", "F.gaussian_nll_loss(x, y, w[:2])", "F.margin_ranking_loss(x, y[0], s)",
    "F.cosine_embedding_loss(x, y, s[0, 0])", "F.multi_margin_loss(x, c, p=3)", "F.multi_margin_loss(x, c + 3)",
    "F.multi_margin_loss(x, c[:2])", "F.multi_margin_loss(x, c, weight=w[:2])", "F.multilabel_margin_loss(x, labels[:2])",
    "F.multilabel_margin_loss(x, labels + 3)", "F.soft_margin_loss(x, s[:, :3])", "F.triplet_margin_loss(x, y, p, margin=-1)",
    "F.triplet_margin_loss(x, y, p[0])", "F.ctc_loss(time, targets, [6, 9], [2, 3])", "F.ctc_loss(time, targets, [6], [2, 3])",
    "F.ctc_loss(time, targets, [6, 6], [2, 4])", "F.ctc_loss(time, targets, [6, 6], [2, 3], blank=7)",
    "F.ctc_loss(time.half(), targets, [6, 6], [2, 3])", "F.ctc_loss(time, targets, [6, 6], [2, 3], reduction='all')",
])  # fmt: skip
def test_errors(code):
    arrays = {name: array.astype(np.float32) if array.dtype.kind == "f" else array for name, array in ARRAYS.items()}
    assert error_of(rl, code, arrays) == error_of(torch, code, arrays) is not None


@pytest.mark.parametrize("code", [
    "F.binary_cross_entropy(m.tensor([[0.0, 1, 0.5]]), q, reduction={})", "F.binary_cross_entropy(m.tensor([[1, 0.3, 1e-30]]), q, reduction={})",
    "F.multi_margin_loss(x, c[:4], reduction={})", "F.multi_margin_loss(x, c[:4], p=2, reduction={})",
    "F.multilabel_margin_loss(x, labels, reduction={})",
])  # fmt: skip
@pytest.mark.parametrize("reduction", ["'none'", "'sum'", "'mean'"])
def test_gradients_at_infinities_and_nan(code, reduction):
    """Of binary_cross_entropy's target where the probability is 0 or 1, and of rows with NaN."""
    found = []
    for m in (rl, torch):
        x = m.tensor([[1.0, 2, np.inf], [np.inf, 1, -2], [np.nan, 1, 2], [1, np.nan, -np.inf]], requires_grad=True)
        q = m.tensor([[0.0, 1, 0.3]], requires_grad=True)
        names = {"m": m, "F": m.nn.functional, "x": x, "q": q, "c": m.tensor([0, 1, 1, 0])}
        names["labels"] = m.tensor([[0, -1, -1], [1, 0, -1], [2, 1, 0], [0, 2, -1]])
        loss = eval(code.format(reduction), names)
        loss.backward(m.full_like(loss, 1.5))
        found.append((loss.detach().numpy(), (x if q.grad is None else q).grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))
