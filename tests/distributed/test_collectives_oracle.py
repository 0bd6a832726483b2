"""Collectives of several processes over MPI: every case of `programs/collectives.py`, as PyTorch's gloo gives it."""

import pytest
from jobs import stories

pytest.importorskip("torch")


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_as_gloo(tmp_path, count):
    ours, theirs = (stories(tmp_path, count, "collectives.py", library) for library in ("rushlight", "torch"))
    different = [
        (rank, name, mine[name], wanted)
        for rank, (mine, its) in enumerate(zip(ours, theirs))
        for name, wanted in its.items()
        if mine[name] != wanted
    ]
    assert len(ours[0]) > 100 and not different
