"""Reductions, scans and order statistics without PyTorch: known numbers and derivatives."""

import numpy as np
import pytest

import rushlight as rl


def test_known_sums():
    x = rl.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x.sum().item() == 21 and x.mean(1).tolist() == [2, 5] and x.var(1).tolist() == [1, 1]
    assert x.prod(0).tolist() == [4, 10, 18] and x.amax(0).tolist() == [4, 5, 6]
    assert rl.tensor([True, True]).sum().dtype is rl.int64


@pytest.mark.parametrize(
    "shape, dims",
    [((5000, 3), (0,)), ((70, 90, 2), (0, 1)), ((2, 9000, 2), (1,)), ((40_000,), (0,)), ((33, 7, 130), (0, 2))],
)
def test_long_sums_keep_their_digits(shape, dims):
    values = np.random.default_rng(0).random(shape, dtype=np.float32)
    exact = values.astype(np.float64).sum(dims)
    for keepdim in (False, True):
        found = rl.from_numpy(values).sum(dims, keepdim).numpy()
        np.testing.assert_allclose(found.reshape(exact.shape), exact, 3e-7)
    transposed = rl.from_numpy(np.asfortranarray(values)).sum(dims).numpy()
    np.testing.assert_allclose(transposed, exact, 3e-6)


def test_half_precision_is_added_up_in_float32():
    ones = rl.ones(5000, dtype=rl.float16)
    assert ones.sum().item() == 5000 and ones.reshape(-1, 1).sum(0).item() == 5000 and ones.mean().item() == 1


@pytest.mark.parametrize("function", [
    lambda x: x.var(0), lambda x: x.std(1), lambda x: x.prod(1), lambda x: x.logsumexp(0), lambda x: x.cumprod(1),
    lambda x: x.logcumsumexp(0), lambda x: x.norm(3, 1), lambda x: x.median(1)[0], lambda x: x.topk(2, 0)[0], lambda x: rl.cov(x),
    lambda x: rl.cdist(x, x + 1), lambda x: rl.trapezoid(x), lambda x: x.softmax(1), lambda x: x.log_softmax(0),
])  # fmt: skip
def test_derivatives(function):
    x = rl.tensor(np.random.default_rng(1).uniform(0.5, 2, (3, 4)), requires_grad=True)
    assert rl.autograd.gradcheck(function, (x,))
    assert rl.autograd.gradgradcheck(function, (x,))


def test_named_results():
    found = rl.tensor([3.0, 1.0, 2.0]).sort()
    assert found.values.tolist() == [1, 2, 3] and found.indices.tolist() == [1, 2, 0]
    assert repr(found).startswith("torch.return_types.sort(\nvalues=tensor([1., 2., 3.]),\n")
