"""Warnings of functions and layers point to the line of the user, however many of our functions lie between."""

import warnings

import pytest

import rushlight as rl


@pytest.mark.parametrize("code", [
    "F.mse_loss(x, x[0])", "F.l1_loss(x, x[0])", "F.softmax(x)", "F.kl_div(x, x)", "rl.meshgrid(x[0], x[0])", "rl.cov(x[:1, :1])",
    "rl.nn.Softmax()(x)", "rl.nn.MSELoss()(x, x[0])", "F.dropout2d(rl.ones(1, 2))", "rl.var(x[:1, :1])", "x[:1, :1].std()",
    "F.upsample(rl.ones(1, 1, 2, 2), 2)", "F.grid_sample(rl.ones(1, 1, 2, 2), rl.zeros(1, 1, 1, 2))", "rl.add(x, x, out=rl.ones(1))",
])  # fmt: skip
def test_warnings_are_the_users(code):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(compile(code, "the user's file", "eval"), {"rl": rl, "F": rl.nn.functional, "x": rl.ones(2, 2)})
    assert [warning.filename for warning in caught] == ["the user's file"]
