"""Losses, layers and their gradients without PyTorch: known numbers and derivatives."""

import math

import numpy as np
import pytest

import rushlight as rl
import rushlight.nn.functional as F

draw = np.random.default_rng(0)


def leaf(*shape):
    return rl.tensor(draw.uniform(0.2, 0.8, shape), requires_grad=True)


def test_known_numbers():
    assert F.mse_loss(rl.tensor([1.0, 2.0]), rl.tensor([1.0, 4.0])).item() == 2
    assert F.cross_entropy(rl.zeros(2, 4), rl.tensor([0, 3])).item() == pytest.approx(math.log(4))
    assert F.nll_loss(rl.tensor([[-1.0, -2.0]]), rl.tensor([1]), rl.tensor([1.0, 5.0])).item() == 2


def test_one_label_in_four_steps():
    # All 81 sequences of four steps are equally likely; ten of them collapse to the one label.
    scores = rl.zeros(4, 1, 3).log_softmax(2)
    assert F.ctc_loss(scores, rl.tensor([[1]]), (4,), (1,)).item() == pytest.approx(-math.log(10 / 81), rel=1e-5)


FIXED, GRID = rl.tensor(draw.uniform(0.2, 0.8, (3, 4))), rl.tensor(draw.uniform(-0.9, 0.9, (1, 2, 2, 2)))
CASES = [
    (lambda x: F.mse_loss(x, FIXED), (3, 4)), (lambda x: F.huber_loss(x, FIXED, delta=0.3), (3, 4)),
    (lambda x: F.cross_entropy(x, rl.tensor([1, 0, 3])), (3, 4)), (lambda x: F.binary_cross_entropy(x, rl.ones(3, 2).double() / 3), (3, 2)),
    (lambda x: F.conv2d(x, rl.ones(2, 3, 2, 2).double().cumsum(0), padding=1), (1, 3, 4, 3)), (lambda x: F.max_pool2d(x, 2), (1, 2, 4, 4)),
    (lambda x: F.avg_pool2d(x, 3, 2, 1), (1, 2, 5, 5)), (lambda x: F.layer_norm(x, (4,)), (3, 4)), (lambda x: F.group_norm(x, 2), (2, 4, 3)),
    (lambda x: F.interpolate(x, 5, mode="bilinear"), (1, 1, 3, 3)), (lambda x: F.pad(x, (1, 2), "reflect"), (1, 2, 4)),
    (lambda x: F.grid_sample(x, GRID, align_corners=False), (1, 2, 3, 3)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CASES)))
def test_derivatives(number):
    function, shape = CASES[number]
    x = leaf(*shape)
    assert rl.autograd.gradcheck(function, (x,))
    assert rl.autograd.gradgradcheck(function, (x,))


def test_ctc_gradient_by_differences():
    x = rl.tensor(draw.standard_normal((5, 2, 4)), requires_grad=True)
    targets = rl.tensor([[1, 1], [3, 2]])
    assert rl.autograd.gradcheck(lambda x: F.ctc_loss(x.log_softmax(2), targets, (5, 4), (2, 1)), (x,))
