"""Recurrent layers of complex numbers: results and gradients."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")


def gradients(library, kind, parameters, x, order):
    net = getattr(library.nn, kind)(2, 3, dtype=library.complex128, bidirectional=True)
    for parameter, values in zip(net.parameters(), parameters, strict=True):
        parameter.data = library.tensor(values)
    x = library.tensor(x, requires_grad=True)
    loss = net(x)[0].abs().sum()
    found = library.autograd.grad(loss, [x, *net.parameters()], create_graph=order == 2)
    if order == 2:
        total = sum(each.abs().square().sum() for each in found)
        found = library.autograd.grad(total, [x, *net.parameters()])
    return [each.numpy() for each in found]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_complex_gradients(kind, order):
    draw = np.random.default_rng(0)
    shapes = [tuple(parameter.shape) for parameter in getattr(torch.nn, kind)(2, 3, bidirectional=True).parameters()]
    parameters = [(draw.standard_normal(shape) + 1j * draw.standard_normal(shape)) / 3 for shape in shapes]
    x = draw.standard_normal((4, 2, 2)) + 1j * draw.standard_normal((4, 2, 2))
    ours, theirs = (gradients(library, kind, parameters, x, order) for library in (rushlight, torch))
    for mine, wanted in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-8, atol=1e-9)
