"""Collectives of several processes over MPI: every case of `programs/collectives.py`, as PyTorch's gloo gives it."""

import pytest
from jobs import differences

pytest.importorskip("torch")


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_as_gloo(tmp_path, count):
    cases, different = differences(tmp_path, count, "collectives.py", lambda name: 0.0)
    assert cases > 100 and not different
