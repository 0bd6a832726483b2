"""Operations of networks called again and again, with arrays that lie differently in memory: what is remembered of one call
must not be used for another. And dropout inside attention, number by number."""

import numpy as np
import pytest

import rushlight as rl
from oracle_values import compare

torch = pytest.importorskip("torch")

draw = np.random.default_rng(8)
ARRAYS = {
    "x": draw.standard_normal((2, 3, 6, 6)),
    "w": draw.standard_normal((4, 3, 3, 3)),
    "g": draw.standard_normal((3, 1, 2, 2)),
    "b": draw.standard_normal(4),
    "rows": draw.standard_normal((4, 6)),
    "v": draw.standard_normal(6),
}
CALLS = [
    "F.conv2d(x, w, b, 1, 1)", "F.conv2d(x, w, None, 2)", "F.conv2d(x, w, padding='same')", "F.conv2d(x, g, groups=3)",
    "F.conv1d(x[:, :, 0], w[:, :, 0], None, 2)", "F.conv_transpose2d(x, g, None, 2, groups=3)",
    "F.max_pool2d(x, 2)", "F.max_pool2d(x, 3, 1, 1)", "F.max_pool2d(x, 2, return_indices=True)[0]",
    "F.avg_pool2d(x, 2)", "F.avg_pool2d(x, 6)", "F.avg_pool2d(x, 3, 2, 1, False, False)", "F.avg_pool2d(x, 2, divisor_override=3)",
    "F.unfold(x, 3)", "F.unfold(x, (2, 3), 2, 1, 2)", "F.layer_norm(rows, (6,), v, v)", "F.batch_norm(rows, None, None, v, v, True)",
    "F.group_norm(x, 1)", "F.softmax(rows, 0)", "F.normalize(rows)", "F.normalize(x, 3.0, 2)", "F.cosine_similarity(rows, rows + v)",
    "F.scaled_dot_product_attention(x[0], x[1], x[0])", "F.scaled_dot_product_attention(x, x, x)", "rows.norm(2, 1)", "rows.norm()",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_layouts_in_turn(code):
    for layout in ("plain", "transposed", "plain", "sliced", "sliced", "plain"):
        compare(torch, rl, code, ARRAYS, dtype="float32", layout=layout, tracked=["x", "w", "g", "b", "rows"], factor=2)


@pytest.mark.parametrize(
    "code", ["F.conv2d(x, w, b)", "F.max_pool2d(x, 2)", "F.avg_pool2d(x, 2)", "F.layer_norm(x, (6,))"]
)
def test_unaligned_memory_after_aligned(code):
    def unaligned(array):
        raw = np.zeros(array.nbytes + 1, np.uint8)
        found = raw[1:].view(np.uint8)[: array.nbytes]
        found[:] = np.frombuffer(array.tobytes(), np.uint8)
        return np.ndarray(array.shape, array.dtype, raw, 1)

    plain = {name: array.astype(np.float32) for name, array in ARRAYS.items()}
    scope = {"F": rl.nn.functional}
    expected = eval(code, scope | {name: rl.from_numpy(array) for name, array in plain.items()})
    found = eval(code, scope | {name: rl.from_numpy(unaligned(array)) for name, array in plain.items()})
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-5, 1e-5)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_dropout_inside_attention(batch_first, need_weights, masked):
    x = draw.standard_normal((3, 2, 8)).astype(np.float32)
    found = []
    for module in (torch, rl):
        module.manual_seed(3)
        layer = module.nn.MultiheadAttention(8, 2, dropout=0.4, batch_first=batch_first)
        input = module.tensor(x, requires_grad=True)
        mask = module.zeros(x.shape[batch_first], x.shape[batch_first]).fill_diagonal_(-1.5) if masked else None
        output, weights = layer(input, input, input, need_weights=need_weights, attn_mask=mask)
        (output * module.tensor(x)).sum().backward()
        found.append((output, weights, input.grad, *(p.grad for p in layer.parameters())))
    for theirs, ours in zip(*found):
        assert (theirs is None) == (ours is None)
        if ours is not None:
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), 1e-5, 1e-5)
