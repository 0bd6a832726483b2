"""Modules and names that are small, and that libraries import: against PyTorch's."""

import importlib

import pytest

import rushlight
from rushlight.compat.inside import functional

torch = pytest.importorskip("torch")


def test_functional():
    assert sorted(functional.__all__) == sorted(torch.functional.__all__)
    for name in functional.__all__:
        assert getattr(functional, name) is getattr(rushlight, name)
    with pytest.raises(AttributeError, match="no_such"):
        functional.no_such()


def test_common_types():
    ours, theirs = (importlib.import_module(f"{name}.nn.common_types") for name in ("rushlight", "torch"))
    names = [name for name in dir(theirs) if name.endswith("_t")]
    plain = {name: str(getattr(theirs, name)).replace("torch.Tensor", "Tensor") for name in names}
    assert {name: str(getattr(ours, name)).replace("rushlight.tensor.base.Tensor", "Tensor") for name in names} == plain


def test_types_of_numbers_that_can_be_named():
    names = [name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)]
    assert len(names) > 50
    for name in names:
        ours, theirs = getattr(rushlight, name), getattr(torch, name)
        assert isinstance(ours, rushlight.dtype)
        looks = ("itemsize", "is_floating_point", "is_complex")
        assert [str(ours), *(getattr(ours, look) for look in looks)] == [
            str(theirs),
            *(getattr(theirs, look) for look in looks),
        ]
    with pytest.raises(NotImplementedError, match="qint8 is not available"):
        rushlight.zeros(2, dtype=rushlight.qint8)


def test_remote_calls_are_not_available():
    assert rushlight.distributed.rpc.is_available() is False
