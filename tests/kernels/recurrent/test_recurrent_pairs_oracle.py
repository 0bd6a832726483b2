"""Recurrent layers in bfloat16 round no more than PyTorch's do: their errors against float64 are no larger."""

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
SHAPES = [(12, 16, 32, 64), (7, 3, 5, 20), (5, 9, 3, 48)]  # steps, samples, features of the input, units


def results(module, kind, shape, dtype, state):
    """The outputs and all gradients, as float64, of a layer of one direction."""
    steps, samples, features, units = shape
    draw = np.random.default_rng(1).standard_normal
    layer = getattr(module.nn, kind)(features, units).to(dtype)
    arrays = [draw(tuple(parameter.shape)) / units**0.5 for parameter in layer.parameters()]
    arrays += [draw((steps, samples, features)), draw((steps, samples, units)), draw((1, samples, units))]

    def rounded(array):  # to bfloat16 first, that all types have the same numbers
        return module.tensor(array, dtype=module.float32).to(module.bfloat16).to(dtype)

    *weights, x, grad, first = map(rounded, arrays)
    with module.no_grad():
        for parameter, weight in zip(layer.parameters(), weights):
            parameter.copy_(weight)
    x.requires_grad_(), first.requires_grad_()
    given = () if not state else ((first, first * 0.5),) if kind == "LSTM" else (first,)
    found = layer(x, *given)[0]
    found.backward(grad)
    leaves = [*layer.parameters(), x, *([first] if state else [])]
    return [value.detach().to(module.float64).numpy() for value in (found, *(leaf.grad for leaf in leaves))]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("state", [False, True])
def test_rounding(kind, shape, state):
    exact = results(torch, kind, shape, torch.float64, state)
    theirs = results(torch, kind, shape, torch.bfloat16, state)
    ours = results(rushlight, kind, shape, rushlight.bfloat16, state)
    for right, their, our in zip(exact, theirs, ours, strict=True):
        error = np.abs(our - right).mean()
        assert error < 1.2 * np.abs(their - right).mean() + 1e-4 * np.abs(right).mean()
