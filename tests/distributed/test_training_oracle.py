"""DistributedDataParallel in several processes: every case of `programs/training.py`, as PyTorch over gloo gives it."""

import pytest
from jobs import alike, stories

pytest.importorskip("torch")


HALVES = ("hook fp16", "hook narrow", "hook narrow power", "hook_by_name")  # sums of float16 depend on their order


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
