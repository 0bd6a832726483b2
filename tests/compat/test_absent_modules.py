"""Modules of PyTorch's that are not in this version: they can be imported and asked, and refuse where they are used."""

import importlib
import pkgutil

import pytest

import rushlight
from rushlight.base.absent import AbsentNames
from rushlight.compat import inside


def absent():
    """The tables of names of all such packages."""
    found = [rushlight.distributed._LATER, rushlight.export._LATER, rushlight.onnx._LATER]
    for info in pkgutil.iter_modules(inside.__path__):
        module = importlib.import_module(f"{inside.__name__}.{info.name}")
        found += [value for value in vars(module).values() if isinstance(value, AbsentNames)]
    return found


def test_every_name_can_be_imported_and_refuses():
    tables = absent()
    assert len(tables) > 5
    for table in tables:
        for below, names in table.names.items():
            module = importlib.import_module(f"{table.package}.{below}".rstrip("."))
            for name in names.split():
                found = getattr(module, name)
                if hasattr(type(found), "_refuse"):
                    assert not isinstance(rushlight.ones(1), found)
                    with pytest.raises(NotImplementedError, match=f"{name} is not in this version\nhint: "):
                        found(1)
            with pytest.raises(AttributeError):
                _ = module.nonsense


def test_pytorch_has_the_names():
    torch = pytest.importorskip("torch")
    missing = []
    for table in absent():
        module = importlib.import_module(table.public)
        missing += [f"{table.public}.{name}" for name in table.names[""].split() if not hasattr(module, name)]
    assert not missing
    assert torch.onnx.is_in_onnx_export() is rushlight.onnx.is_in_onnx_export() is False
