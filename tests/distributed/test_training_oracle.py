"""DistributedDataParallel in several processes: every case of `programs/training.py`, as PyTorch over gloo gives it."""

import math

import pytest
from jobs import stories

pytest.importorskip("torch")


def alike(mine, wanted):
    if isinstance(wanted, list):
        return isinstance(mine, list) and len(mine) == len(wanted) and all(map(alike, mine, wanted))
    if isinstance(wanted, float):
        return isinstance(mine, float) and math.isclose(mine, wanted, rel_tol=2e-4, abs_tol=2e-5)
    return mine == wanted


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_as_gloo(tmp_path, count):
    ours, theirs = (stories(tmp_path, count, "training.py", library) for library in ("rushlight", "torch"))
    different = [
        (rank, name, str(mine[name])[:500], str(wanted)[:500])
        for rank, (mine, its) in enumerate(zip(ours, theirs))
        for name, wanted in its.items()
        if not alike(mine[name], wanted)
    ]
    assert len(ours[0]) > 20 and not different
