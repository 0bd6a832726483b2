"""`fully_shard` and checkpoints in several processes: every case of `programs/sharding.py`, as PyTorch over gloo gives it."""

import pytest
from jobs import alike, stories

pytest.importorskip("torch")


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_as_gloo(tmp_path, count):
    ours, theirs = (stories(tmp_path, count, "sharding.py", library) for library in ("rushlight", "torch"))
    different = [
        (rank, name, str(mine[name])[:500], str(wanted)[:500])
        for rank, (mine, its) in enumerate(zip(ours, theirs))
        for name, wanted in its.items()
        if not alike(mine[name], wanted, 2e-5)
    ]
    assert len(ours[0]) > 12 and not different
