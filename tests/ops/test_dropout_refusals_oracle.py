"""Probabilities that dropout refuses, as PyTorch's Python says it and as its operations do."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = [
    *(f"m.{name}(x, {p}, {train})" for name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
      for p, train in ((2.0, True), (-0.5, False), (1.25, True))),
    *(f"F.{name}(x, {p})" for name in ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d") for p in (2.0, -0.5)),
    "F.scaled_dot_product_attention(x, x, x, dropout_p=2.0)", "F.scaled_dot_product_attention(x, x, x, dropout_p=-0.5)",
]  # fmt: skip


@pytest.mark.parametrize("code", CALLS)
def test_refusals(code):
    found = []
    for m in (rl, torch):
        try:
            eval(code, {"m": m, "F": m.nn.functional, "x": m.ones(2, 3, 4)})
            found.append(None)
        except (RuntimeError, ValueError) as error:
            found.append((type(error), str(error).splitlines()[0]))
    assert found[0] == found[1]
