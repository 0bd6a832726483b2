"""Attention by its definition: the formula, masks, heads, and the promises of the transformer layers."""

import math

import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F


def attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return (scores if mask is None else scores + mask).softmax(-1) @ value


def test_is_softmax_of_scaled_products():
    query, key, value = rl.randn(2, 3, 4), rl.randn(2, 5, 4), rl.randn(2, 5, 6)
    assert rl.allclose(F.scaled_dot_product_attention(query, key, value), attention(query, key, value), atol=1e-6)
    scaled = F.scaled_dot_product_attention(query, key, value, scale=1.0)
    assert rl.allclose(scaled, attention(query * 2, key, value), atol=1e-6)


def test_masks_agree_with_each_other():
    query, key, value = rl.randn(3, 4), rl.randn(3, 4), rl.randn(3, 6)
    allowed = rl.ones(3, 3, dtype=rl.bool).tril()
    added = rl.zeros(3, 3).masked_fill(~allowed, -math.inf)
    expected = attention(query, key, value, added)
    for options in ({"attn_mask": allowed}, {"attn_mask": added}, {"is_causal": True}):
        assert rl.allclose(F.scaled_dot_product_attention(query, key, value, **options), expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_query_that_may_look_nowhere_gets_zeros_and_finite_gradients(kind):
    tensors = [rl.randn(2, 4, requires_grad=True) for _ in range(3)]
    mask = rl.tensor([[False, False], [True, False]])
    if kind == "float":
        mask = rl.zeros(2, 2).masked_fill(~mask, -math.inf)
    output = F.scaled_dot_product_attention(*tensors, attn_mask=mask)
    assert not output[0].any()
    assert rl.allclose(output[1], tensors[2][0])
    output.sum().backward()
    assert all(t.grad.isfinite().all() for t in tensors)
    assert not tensors[0].grad[0].any()


def test_gradients_are_exact():
    tensors = [rl.randn(2, 3, 4, dtype=rl.float64, requires_grad=True) for _ in range(3)]
    mask = rl.randn(3, 3, dtype=rl.float64, requires_grad=True)
    assert rl.autograd.gradcheck(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (*tensors, mask))


def test_grouped_queries_share_keys_and_values():
    query, key, value = rl.randn(2, 4, 3, 5), rl.randn(2, 2, 6, 5), rl.randn(2, 2, 6, 5)
    repeated = [x.repeat_interleave(2, 1) for x in (key, value)]
    expected = F.scaled_dot_product_attention(query, *repeated)
    assert rl.allclose(F.scaled_dot_product_attention(query, key, value, enable_gqa=True), expected)


def test_multihead_output_does_not_depend_on_asking_for_weights():
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, kdim=5, vdim=6)
    inputs = rl.randn(3, 2, 8), rl.randn(4, 2, 5), rl.randn(4, 2, 6)
    output, weights = layer(*inputs)
    assert weights.shape == (2, 3, 6)
    assert rl.allclose(weights.sum(-1), rl.ones(2, 3))
    alone, none = layer(*inputs, need_weights=False)
    assert none is None
    assert rl.allclose(output, alone, atol=1e-6)
    per_head = layer(*inputs, average_attn_weights=False)[1]
    assert rl.allclose(per_head.mean(1), weights)


def test_padding_is_never_looked_at():
    layer = nn.MultiheadAttention(8, 2, batch_first=True)
    x = rl.randn(2, 5, 8)
    padding = rl.tensor([[False, False, False, True, True], [False] * 5])
    changed = x.clone()
    changed[0, 3:] = 100.0
    expected = layer(x[:1, :3], x[:1, :3], x[:1, :3])[0]
    assert rl.allclose(layer(x, changed, changed, key_padding_mask=padding)[0][:1, :3], expected, atol=1e-5)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_causal_encoder_does_not_see_the_future(norm_first):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=norm_first)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    x = rl.randn(2, 5, 8)
    whole = encoder(x, mask=mask)
    assert rl.allclose(encoder(x[:, :3], mask=mask[:3, :3]), whole[:, :3], atol=1e-5)
    assert rl.allclose(encoder(x, mask=mask, is_causal=True), whole, atol=1e-5)


def test_copies_of_a_layer_are_independent():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, enable_nested_tensor=False)
    first, second = encoder.layers
    assert rl.equal(first.linear1.weight, second.linear1.weight)
    assert first.linear1.weight is not second.linear1.weight


def test_transformer_translates_shapes_and_trains():
    rl.manual_seed(0)
    model = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    source, target = rl.rand(4, 5, 8), rl.rand(4, 3, 8)
    optimizer = rl.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        output = model(source, target)
        loss = ((output - target) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert output.shape == (4, 3, 8)
    assert losses[-1] < 0.5 * losses[0]


def test_errors_say_what_to_do():
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True\nhint:"):
        F.scaled_dot_product_attention(*[rl.randn(2, 2)] * 3, attn_mask=rl.zeros(2, 2), is_causal=True)
    with pytest.raises(AssertionError, match="embed_dim must be divisible by num_heads"):
        nn.MultiheadAttention(5, 2)
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        nn.MultiheadAttention(4, 2)(*[rl.randn(3, 2, 4)] * 3, is_causal=True)
