"""Losses without PyTorch: values by hand, reductions, options."""

import math

import pytest

import rushlight as rl
from rushlight import nn


@pytest.mark.parametrize("reduction, expected", [("mean", 2.0), ("sum", 4.0), ("none", [0.0, 4.0])])
def test_reductions(reduction, expected):
    loss = nn.MSELoss(reduction=reduction)(rl.tensor([1.0, 2.0]), rl.tensor([1.0, 4.0]))
    assert loss.tolist() == expected


def test_cross_entropy_of_equal_scores():
    loss = nn.CrossEntropyLoss()
    scores = rl.zeros(2, 4, requires_grad=True)
    value = loss(scores, rl.tensor([1, 3]))
    value.backward()
    assert value.item() == pytest.approx(math.log(4))
    assert scores.grad[0].tolist() == pytest.approx([0.125, -0.375, 0.125, 0.125])


def test_ignored_targets_and_weights():
    scores = rl.tensor([[1.0, 2.0], [5.0, -5.0]])
    plain = nn.CrossEntropyLoss()(scores[:1], rl.tensor([0]))
    ignored = nn.CrossEntropyLoss(ignore_index=1)(scores, rl.tensor([0, 1]))
    assert ignored.item() == pytest.approx(plain.item())
    weighted = nn.CrossEntropyLoss(weight=rl.tensor([3.0, 1.0]))
    assert weighted(scores[:1], rl.tensor([0])).item() == pytest.approx(plain.item())
    assert list(weighted.state_dict()) == ["weight"]


def test_binary_losses_agree():
    scores, targets = rl.tensor([0.3, -1.2]), rl.tensor([1.0, 0.0])
    with_logits = nn.BCEWithLogitsLoss()(scores, targets).item()
    assert with_logits == pytest.approx(nn.BCELoss()(rl.sigmoid(scores), targets).item(), rel=1e-5)


def test_old_arguments_warn():
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert nn.L1Loss(size_average=False).reduction == "sum"


def test_options_are_checked():
    with pytest.raises(ValueError, match="only p == 1 and p == 2 supported"):
        nn.MultiMarginLoss(p=3)
    with pytest.raises(ValueError, match="expected margin to be greater than 0, got 0 instead"):
        nn.TripletMarginLoss(margin=0)


def test_huber_between_square_and_straight():
    loss = nn.HuberLoss(reduction="none", delta=1.0)
    assert loss(rl.tensor([0.5, 3.0]), rl.zeros(2)).tolist() == [0.125, 2.5]


def test_adaptive_softmax_probabilities_sum_to_one():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0)
    x = rl.randn(3, 8)
    probabilities = layer.log_prob(x).exp()
    assert probabilities.sum(1).tolist() == pytest.approx([1.0] * 3, abs=1e-5)
    targets = rl.tensor([0, 7, 19])
    output, loss = layer(x, targets)
    assert output.tolist() == pytest.approx(layer.log_prob(x)[[0, 1, 2], targets].tolist(), abs=1e-5)
    assert loss.item() == pytest.approx(-output.mean().item())
