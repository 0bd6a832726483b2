"""The workloads of benchmarks/ run: each is made and called once."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as torch

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
MODULES = [path.stem for path in BENCHMARKS.glob("*.py")]


@pytest.fixture
def load(monkeypatch):
    """Import a file of benchmarks/, which finds its neighbours as scripts there do."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for name in MODULES:
        sys.modules.pop(name, None)


def test_small_operations(load):
    rows = load("small_operations").workloads()
    assert len(rows) > 250
    for name, make in rows.items():
        step = make(torch)
        try:
            step()
            step()
        except Exception as error:
            raise AssertionError(name) from error


@pytest.mark.slow
def test_large_operations(load):
    pytest.importorskip("ml_dtypes")
    rows = load("large_operations").workloads(4096)
    assert len(rows) > 300 and not any(name.startswith("-") for name in rows)  # they are given as arguments
    for name, make in rows.items():
        try:
            make(torch)()
        except Exception as error:
            raise AssertionError(name) from error


def test_table(load):
    for _, make in load("table").WORKLOADS.values():
        assert callable(make(torch))


@pytest.mark.slow
def test_models(load):
    models = load("models").MODELS
    assert len(models) > 50
    for name, make in models.items():
        try:
            make(torch)()
        except Exception as error:
            raise AssertionError(name) from error


@pytest.mark.slow
def test_autocast(load):
    pytest.importorskip("ml_dtypes")
    for make in load("autocast").WORKLOADS.values():
        make(torch)()


@pytest.mark.slow
def test_neighbour(load):
    for make in load("neighbour").STEPS.values():
        make(torch)()


def test_a_workload_that_fails_is_named(load, capsys):
    def fails(torch):
        raise ValueError("no such thing\nhint: none")

    rows = {"add": lambda torch: lambda: 1 + 1, "fails": fails}
    load("side_by_side").measure_all("rushlight", rows, list(rows), spell=0.001)
    (first, seconds), second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == "add" and 0 < seconds < 1 and second == ["fails", "ValueError: no such thing"]


@pytest.mark.parametrize("script, options", [("small_operations.py", []), ("large_operations.py", ["--size", "500"])])
def test_survey_beside_torch(script, options):
    pytest.importorskip("torch")
    command = [sys.executable, BENCHMARKS / script, "--rounds", "1", *options, "--only", "add", "sum"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "\nadd " in found and "\nsum " in found and "\n2 rows: " in found
