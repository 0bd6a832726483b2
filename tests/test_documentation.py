"""The examples in docstrings run and print what they say."""

import doctest
import importlib
import pkgutil
import warnings

import pytest

import rushlight
from rushlight.ops.table import COMPOSITES, TABLE

SKIPPED = {"rushlight.__main__"}


def modules():
    yield "rushlight"
    for info in pkgutil.walk_packages(rushlight.__path__, "rushlight."):
        if info.name not in SKIPPED and ".cli" not in info.name:
            yield info.name


@pytest.mark.parametrize("name", sorted(modules()))
def test_examples_of_modules(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name.startswith("rushlight.utils.tensorboard"):
        pytest.importorskip("tensorboard")
    module = importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert failed == 0


def test_examples_of_operations():
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    finder = doctest.DocTestParser()
    tried = 0
    for name, entry in TABLE.items():
        if entry.doc and ">>>" in entry.doc:
            runner.run(finder.get_doctest(entry.doc, {}, name, None, 0))
            tried += 1
    assert tried > 10
    assert runner.failures == 0


def test_every_public_operation_is_documented():
    for name, entry in TABLE.items():
        assert entry.doc, f"operation {name} has no docstring"
    for name, entry in COMPOSITES.items():
        assert entry.function.__doc__, f"operation {name} has no docstring"
