"""Gradients that PyTorch cannot differentiate again: the first is there, with and without its graph, the second is refused."""

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CALLS = {
    "hardsigmoid": lambda t, x: t.nn.functional.hardsigmoid(x),
    "multi_margin_loss": lambda t, x: t.nn.functional.multi_margin_loss(x, t.tensor([1, 0, 2])),
    "squared multi_margin_loss": lambda t, x: t.nn.functional.multi_margin_loss(x, t.tensor([1, 0, 2]), p=2),
    "multilabel_margin_loss": lambda t, x: t.nn.functional.multilabel_margin_loss(x, t.tensor([[1, 0, -1, 0]] * 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_gradients_are_refused(name):
    found = []
    for t in (rl, torch):
        x = t.linspace(-4, 4, 12).reshape(3, 4).requires_grad_()
        total = CALLS[name](t, x).square().sum()
        (plain,) = t.autograd.grad(total, x, retain_graph=True)
        (created,) = t.autograd.grad(total, x, create_graph=True)
        with pytest.raises(RuntimeError) as raised:
            t.autograd.grad(created.square().sum(), x)
        found.append((plain.tolist(), created.tolist(), created.requires_grad, str(raised.value).splitlines()[0]))
    assert found[0][2:] == found[1][2:]
    for ours, theirs in zip(found[0][:2], found[1][:2]):
        assert rl.allclose(rl.tensor(ours), rl.tensor(theirs))
