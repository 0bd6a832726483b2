"""Kernels that take half precision by way of float32: attention, recurrent layers, poolings, exactly the rounded results."""

import itertools

import numpy as np
import pytest

import rushlight as torch
from rushlight.kernels.machine import host
from rushlight.kernels.pooling import maxima as pooling
from rushlight.kernels.pooling import means as pooling_mean
from rushlight.kernels.products import attention
from rushlight.kernels.recurrent import layers as recurrent
from rushlight.kernels.sampling import resampling

pytestmark = pytest.mark.skipif(host.host() is None, reason="needs llvmlite")


@pytest.fixture(params=["float16", "bfloat16"])
def dtype(request):
    if request.param == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(np.float16)


def check(kernel, *arguments, single=()):
    """The results are those of the same numbers in float32, rounded; those numbered ``single`` are not."""
    wide = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.itemsize == 2 else a for a in arguments]
    kind = next(a.dtype for a in arguments if isinstance(a, np.ndarray) and a.itemsize == 2)
    found, wanted = kernel(*arguments), kernel(*wide)
    pairs = [(found, wanted)] if isinstance(found, np.ndarray) else [*zip(found, wanted, strict=True)]
    for i, (mine, theirs) in enumerate(pairs):
        if theirs is None:
            assert mine is None
            continue
        assert (
            mine.dtype == (theirs.dtype if i in single or theirs.dtype == np.int64 else kind)
            and mine.shape == theirs.shape
        )
        assert np.array_equal(mine, theirs.astype(mine.dtype))
    return found


def test_attention(dtype):
    draw = np.random.default_rng(0).standard_normal
    for turned, width in itertools.product((False, True), (5, 6)):
        query, key, value = (draw(shape).astype(dtype) for shape in ((2, 4, 21, 6), (2, 2, 33, 6), (2, 2, 33, width)))
        if turned:
            query = np.ascontiguousarray(query.swapaxes(1, 2)).swapaxes(1, 2)
        for mask, causal in ((None, False), (None, True), (draw((21, 33)).astype(dtype), False)):
            out, logsumexp = check(attention.attention, query, key, value, mask, causal, 0.4, single=(1,))
            assert out.flags.c_contiguous is not (turned and width == 6)  # other widths: row by row, as in PyTorch
            grad = draw(out.shape).astype(dtype)
            check(attention.attention_backward, grad, query, key, value, out, logsumexp, mask, causal, 0.4)


def test_recurrent_layers(dtype):
    draw = np.random.default_rng(0).standard_normal
    for kernel, gates, states, flags in (
        (recurrent.lstm_sequence, 4, 2, ()),
        (recurrent.gru_sequence, 3, 1, ()),
        (recurrent.rnn_sequence, 1, 1, (True,)),
    ):
        input, *given = (draw(shape).astype(dtype) for shape in ((5, 3, 7), *[(3, 9)] * states))
        weights = [draw(shape).astype(dtype) for shape in ((9 * gates, 7), (9 * gates, 9), 9 * gates, 9 * gates)]
        for reverse in (False, True):
            check(kernel, input, *given, *weights, *flags, reverse)
            check(kernel, input, *[None] * states, *weights[:2], None, None, *flags, reverse)


def test_poolings(dtype):
    draw = np.random.default_rng(0).standard_normal
    image, square = draw((2, 3, 12, 14)).astype(dtype), ((2, 3), (2, 2), (1, 1))
    values, places = check(pooling.max_pool_with_indices, image, *square, (1, 1), (7, 7))
    assert places.dtype == np.int64
    assert np.array_equal(check(pooling.max_pool, image, *square, (1, 1), (7, 7)), values)
    check(pooling.places_gradient, values, places, (12, 14))
    check(pooling_mean.avg_pool, image, *square, (7, 7), True, None)
    check(pooling_mean.avg_pool_gradient, values, (12, 14), *square, True, None)
    check(resampling.adaptive_avg_pool, image, (4, 7))


@pytest.mark.parametrize("shape", [(8, 64, 30), (40, 64)])
def test_products_of_einsum(shape):
    torch.manual_seed(0)
    letters = "bij,bjk->bik" if len(shape) == 3 else "ij,jk->ik"
    for kind, bound in ((torch.bfloat16, 2e-2), (torch.float32, 1e-5)):
        first, second = torch.randn(*shape).to(kind), torch.randn(*shape[:-2], shape[-1], 50).to(kind)
        wanted = first.double() @ second.double()
        assert (torch.einsum(letters, first, second).double() - wanted).abs().max() < bound * wanted.abs().max()


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_gradients_of_recurrent_layers(name, dtype):
    kind = getattr(torch, dtype.name)
    torch.manual_seed(0)
    layer = getattr(torch.nn, name)(20, 24)
    half = getattr(torch.nn, name)(20, 24)
    half.load_state_dict(layer.state_dict())
    half.to(kind)
    input = torch.randn(6, 4, 20)
    for model, x in ((layer, input), (half, input.to(kind))):
        model(x)[0].square().sum().backward()
    for mine, theirs in zip(half.parameters(), layer.parameters()):
        assert mine.grad.dtype is kind
        error = (mine.grad.float() - theirs.grad).abs().max() / theirs.grad.abs().max()
        assert error < (0.05 if kind is torch.bfloat16 else 0.01)
