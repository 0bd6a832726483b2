"""The comparison of `run.py` sees what differs, and lets rounding pass."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

_spec = importlib.util.spec_from_file_location("arm_run", Path(__file__).parent / "run.py")
arm = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(arm)


def side(*arrays, kind="torch.float32"):
    return {"calls": {("rows", 0): [(kind, np.asarray(each)) for each in arrays]}}


@pytest.mark.parametrize("got", [[1.0, 2.0, np.nan], [1.0, 2.000001, np.nan]])
def test_equal_up_to_rounding(got):
    assert arm.differences(side(got), side([1.0, 2.0, np.nan])) == []


@pytest.mark.parametrize("got", [[1.0, 2.00002, np.nan], [1.0, 2.0, 3.0], [1.0, np.nan, np.nan], [1.0, 2.0]])
def test_other_numbers(got):
    assert len(arm.differences(side(got), side([1.0, 2.0, np.nan]))) == 1


def test_integers_are_equal_or_not():
    assert arm.differences(side([1 << 60], kind="torch.int64"), side([(1 << 60) + 1], kind="torch.int64"))


def test_calls_on_one_machine_alone():
    assert arm.differences({"calls": {}}, side([1.0])) and arm.differences(side([1.0], [2.0]), side([1.0]))


def test_missing_packages_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", "")
    arm.make(tmp_path / "folder")
    assert arm.compare(tmp_path / "folder") == 0
    assert "ARM was left out, packages for it could not be had: dpkg" in capsys.readouterr().out
