"""DistributedDataParallel in several processes: every case of the programs, as PyTorch over gloo gives it."""

import pytest
from jobs import differences

pytest.importorskip("torch")

HALVES = ("hook fp16", "hook narrow", "hook narrow power", "hook_by_name")  # sums of float16 depend on their order


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_as_gloo(tmp_path, count):
    cases, different = differences(tmp_path, count, "training.py", lambda name: 2e-3 if name in HALVES else 2e-5)
    assert cases > 20 and not different


@pytest.mark.slow
def test_options_together(tmp_path):
    cases, different = differences(tmp_path, 2, "options.py", lambda name: 2e-3 if "narrow" in name else 2e-5)
    assert cases > 10 and not different
