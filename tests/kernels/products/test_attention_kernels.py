"""Attention as kernels: forward and backward against the formula in float64, masks, heads, the interpreter, threads."""

import math

import numpy as np
import pytest

import rushlight
from rushlight.kernels.machine import host
from rushlight.kernels.products import attention as kernels
from rushlight.ops.attention import attention as operation
from rushlight.ops.attention import attention_backward as gradient_operation

pytestmark = pytest.mark.skipif(host.host() is None, reason="needs llvmlite")

SHAPES = [  # batch, heads, key heads, queries, keys, size, value size
    (2, 3, 3, 64, 64, 32, 32),
    (1, 2, 1, 5, 7, 3, 9),
    (2, 2, 2, 100, 230, 16, 80),
    (1, 1, 1, 1, 300, 20, 17),
    (1, 4, 2, 70, 97, 80, 8),
    (1, 1, 1, 33, 1, 1, 1),
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def operands(rng, batch, heads, key_heads, queries, keys, size, value_size, dtype="float32"):
    """query, key, value and the output's gradient."""
    shapes = (
        (heads, queries, size),
        (key_heads, keys, size),
        (key_heads, keys, value_size),
        (heads, queries, value_size),
    )
    return [rng.standard_normal((batch, *shape)).astype(dtype) for shape in shapes]


def masks(rng, batch, heads, queries, keys, dtype):
    """None, and masks of several kinds and broadcast shapes; in the last, some queries may look nowhere."""
    hidden = np.array([-np.inf, 0.0])
    yield None
    yield rng.standard_normal((queries, keys)).astype(dtype)
    yield hidden[rng.integers(0, 2, (batch, 1, 1, keys))].astype(dtype)
    yield hidden[rng.integers(0, 2, (batch, heads, queries, 1))].astype(dtype)


def expected(query, key, value, grad, mask, is_causal, scale):
    """Output, logsumexp and gradients, in float64 with whole matrices of scores."""
    groups = query.shape[1] // key.shape[1]
    q, k, v, g = (x.astype(np.float64) for x in (query, key.repeat(groups, 1), value.repeat(groups, 1), grad))
    scores = q @ k.swapaxes(-1, -2) * scale + (0 if mask is None else mask)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    highest = scores.max(-1, keepdims=True)
    highest[highest == -np.inf] = 0
    weights = np.exp(scores - highest)
    total = weights.sum(-1, keepdims=True)
    blind = total == 0
    logsumexp = np.where(blind, np.inf, highest + np.log(np.where(blind, 1, total)))[..., 0]
    weights /= np.where(blind, 1, total)
    out = weights @ v
    slopes = weights * (g @ v.swapaxes(-1, -2) - (g * out).sum(-1, keepdims=True)) * scale
    to_keys = slopes.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g
    to_keys = (x.reshape(len(x), key.shape[1], groups, *x.shape[2:]).sum(2) for x in to_keys)
    return out, logsumexp, (slopes @ k, *to_keys)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_forward_and_backward(rng, dtype, is_causal):
    tolerance = {"float32": 2e-5, "float64": 1e-12}[dtype]
    for shape in SHAPES:
        batch, heads, _, queries, keys, size, _ = shape
        query, key, value, grad = operands(rng, *shape, dtype=dtype)
        scale = 1 / math.sqrt(size)
        for mask in masks(rng, batch, heads, queries, keys, dtype):
            out, logsumexp = kernels.attention(query, key, value, mask, is_causal, scale)
            wanted = expected(query, key, value, grad, mask, is_causal, scale)
            assert out.dtype == query.dtype and out.flags.c_contiguous
            assert np.allclose(out, wanted[0], rtol=0, atol=tolerance)
            assert np.allclose(logsumexp, wanted[1], rtol=0, atol=tolerance)
            found = kernels.attention_backward(grad, query, key, value, out, logsumexp, mask, is_causal, scale)
            for gradient, correct in zip(found, wanted[2], strict=True):
                assert np.allclose(gradient, correct, rtol=0, atol=tolerance)


@pytest.mark.parametrize("is_causal", [False, True])
def test_numpy_computes_the_same(rng, is_causal):
    for shape in SHAPES[:3]:
        query, key, value, grad = operands(rng, *shape)
        for mask in masks(rng, shape[0], shape[1], shape[3], shape[4], "float32"):
            found = operation.forward(query, key, value, mask, is_causal, 0.3)
            for one, other in zip(kernels.attention(query, key, value, mask, is_causal, 0.3), found, strict=True):
                assert np.allclose(one, other, atol=2e-5)
            arguments = (grad, query, key, value, *found, mask, is_causal, 0.3)
            for one, other in zip(
                kernels.attention_backward(*arguments), gradient_operation.forward(*arguments), strict=True
            ):
                assert np.allclose(one, other, atol=1e-4)


def test_heads_split_from_one_projection(rng):
    steps, batch, heads, size = 40, 3, 2, 24
    packed = rng.standard_normal((steps, batch, 3 * heads * size)).astype(np.float32)
    query, key, value = (
        x.reshape(steps, batch, heads, size).transpose(1, 2, 0, 3) for x in np.split(packed, 3, axis=-1)
    )
    grad = rng.standard_normal((batch, heads, size, steps)).astype(np.float32).swapaxes(-1, -2)
    wanted = expected(query, key, value, grad, None, False, 0.2)
    out, logsumexp = kernels.attention(query, key, value, None, False, 0.2)
    assert np.allclose(out, wanted[0], atol=2e-6)
    for found, correct in zip(
        kernels.attention_backward(grad, query, key, value, out, logsumexp, None, False, 0.2), wanted[2], strict=True
    ):
        assert np.allclose(found, correct, atol=2e-5)


def test_large_scores_do_not_overflow_and_nan_reaches_its_query_alone(rng):
    query, key, value, _ = operands(rng, 1, 1, 1, 20, 150, 8, 8)
    out, _ = kernels.attention(query * 1e4, key, value, None, False, 1.0)
    assert np.isfinite(out).all()
    query[0, 0, 3, 2] = np.nan
    out, _ = kernels.attention(query, key, value, None, False, 1.0)
    assert np.isnan(out[0, 0, 3]).all() and np.isfinite(np.delete(out, 3, 2)).all()


def test_results_do_not_depend_on_threads(rng):
    query, key, value, grad = operands(rng, 2, 3, 3, 130, 130, 40, 40)
    before, found = rushlight.get_num_threads(), []
    try:
        for threads in (1, 2):
            rushlight.set_num_threads(threads)
            out, logsumexp = kernels.attention(query, key, value, None, True, 0.2)
            gradients = kernels.attention_backward(grad, query, key, value, out, logsumexp, None, True, 0.2)
            found.append((out, logsumexp, *gradients))
    finally:
        rushlight.set_num_threads(before)
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))


def test_declines_what_it_cannot_do(rng):
    query, key, value, _ = operands(rng, 1, 3, 2, 4, 4, 4, 4)
    assert kernels.attention(query, key, value, None, False, 1.0) is NotImplemented
    query = query[:, :2]
    assert kernels.attention(query, key[:, :, :0], value[:, :, :0], None, False, 1.0) is NotImplemented
    assert kernels.attention(query[0], key[0], value[0], None, False, 1.0) is NotImplemented


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_interpreter_agrees_and_stays_within_bounds(rng, monkeypatch, interpreted, masked, is_causal):
    monkeypatch.setattr(kernels.host, "lanes", lambda size: 4)
    monkeypatch.setattr(kernels, "_KEY_BLOCK", 5)
    query, key, value, grad = operands(rng, 1, 2, 1, 6, 8, 3, 5)
    mask = rng.standard_normal((1, 2, 6, 8)).astype(np.float32) if masked else None

    def run():
        out, logsumexp = kernels.attention(query, key, value, mask, is_causal, 0.5)
        return (
            out,
            logsumexp,
            *kernels.attention_backward(grad, query, key, value, out, logsumexp, mask, is_causal, 0.5),
        )

    compiled = run()
    interpreted()
    for one, other in zip(run(), compiled, strict=True):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-6)
