"""torch._higher_order_ops.associative_scan against PyTorch's: values, gradients, nests, refusals."""

import importlib

import pytest

import rushlight
from rushlight.compat.inside import _higher_order_ops

torch = pytest.importorskip("torch")
theirs = importlib.import_module("torch._higher_order_ops")
PACKAGES = ((torch, theirs), (rushlight, _higher_order_ops))


def recurrence(first, second):
    """Of states ``y = decay * y + more``."""
    return first[0] * second[0], second[0] * first[1] + second[1]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_recurrence_and_its_gradients(length, reverse):
    found = []
    for lib, room in PACKAGES:
        values = lib.linspace(0.5, 1.0, 2 * 3 * length, dtype=lib.float64).reshape(2, length, 3).requires_grad_()
        made = room.associative_scan(recurrence, (values, values.sin()), 1, reverse, "generic")
        made[1].cos().sum().backward()
        found.append([*(each.detach().numpy() for each in made), values.grad.numpy()])
    for expected, got in zip(*found, strict=True):
        assert abs(expected - got).max() < 1e-13


def test_one_tensor_and_dicts():
    found = []
    for lib, room in PACKAGES:
        numbers = lib.arange(1, 11)
        plain = room.associative_scan(lambda first, second: first * second, numbers, -1, combine_mode="generic")
        nest = room.associative_scan(
            lambda first, second: {"a": first["a"] + second["a"]}, {"a": numbers}, 0, combine_mode="generic"
        )
        found.append((plain.tolist(), nest["a"].tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "arguments",
    [
        lambda lib: (3, lib.ones(3), 0, False, "generic"),
        lambda lib: (lib.add, lib.ones(3), 0, 1, "generic"),
        lambda lib: (lib.add, lib.ones(3), 0, False, "other"),
        lambda lib: (lib.add, lib.ones(3), 0),
        lambda lib: (lib.add, lib.ones(3, 0), 1, False, "generic"),
        lambda lib: (lib.add, (lib.ones(3, 2), lib.ones(3)), 1, False, "generic"),
        lambda lib: (lib.add, lib.ones(3), 1, False, "generic"),
        lambda lib: (lib.add, [], 0, False, "generic"),
    ],
)
def test_refusals(arguments):
    found = []
    for lib, room in PACKAGES:
        with pytest.raises((ValueError, RuntimeError, IndexError)) as caught:
            room.associative_scan(*arguments(lib))
        found.append((caught.type, str(caught.value).split("\n")[0]))
    assert found[0] == found[1]
