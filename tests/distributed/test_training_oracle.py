"""DistributedDataParallel in several processes: every case of `programs/training.py`, as PyTorch over gloo gives it."""

import math

import pytest
from jobs import stories

pytest.importorskip("torch")


HALVES = ("hook fp16", "hook narrow", "hook narrow power", "hook_by_name")  # sums of float16 depend on their order


def alike(mine, wanted, tolerance):
    if isinstance(wanted, list):
        return (
            isinstance(mine, list)
            and len(mine) == len(wanted)
            and all(alike(*each, tolerance) for each in zip(mine, wanted))
        )
    if isinstance(wanted, float):
        return isinstance(mine, float) and math.isclose(mine, wanted, rel_tol=10 * tolerance, abs_tol=tolerance)
    return mine == wanted


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_as_gloo(tmp_path, count):
    ours, theirs = (stories(tmp_path, count, "training.py", library) for library in ("rushlight", "torch"))
    different = [
        (rank, name, str(mine[name])[:500], str(wanted)[:500])
        for rank, (mine, its) in enumerate(zip(ours, theirs))
        for name, wanted in its.items()
        if not alike(mine[name], wanted, 2e-3 if name in HALVES else 2e-5)
    ]
    assert len(ours[0]) > 20 and not different
