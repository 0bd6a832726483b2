"""`fully_shard`, pipelines and checkpoints in several processes: every case of the programs, as PyTorch over gloo gives it."""

import pytest
from jobs import differences

pytest.importorskip("torch")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "count", "least"), [("sharding.py", 2, 20), ("sharding.py", 4, 20), ("grids.py", 4, 8)]
)
def test_as_gloo(tmp_path, program, count, least):
    cases, different = differences(tmp_path, count, program)
    assert cases >= least and not different
