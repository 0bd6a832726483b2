"""Pickled tensors: computed ones come back as leaves, as in PyTorch."""

import pickle

import pytest

import rushlight

torch = pytest.importorskip("torch")


def through_pickle(library, make):
    tensor = pickle.loads(pickle.dumps(make(library)))
    return tensor.tolist(), str(tensor.dtype), tensor.requires_grad, tensor.is_leaf


@pytest.mark.parametrize(
    "make",
    [
        lambda library: library.ones(2, requires_grad=True) * 2,
        lambda library: library.ones(2, 3, requires_grad=True),
        lambda library: library.arange(4).reshape(2, 2).t(),
        lambda library: (library.ones(2, requires_grad=True) * 2).detach(),
    ],
    ids=["computed", "leaf", "turned", "detached"],
)
def test_pickle(make):
    assert through_pickle(rushlight, make) == through_pickle(torch, make)
