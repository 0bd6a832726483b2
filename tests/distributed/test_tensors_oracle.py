"""DTensors and tensor parallelism in several processes: every case of `programs/tensors.py`, as PyTorch over gloo gives it."""

import pytest
from jobs import differences

pytest.importorskip("torch")

UNEVEN = "Cannot unflatten unevenly sharded tensor"  # here such a tensor is gathered


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_as_gloo(tmp_path, count):
    cases, different = differences(tmp_path, count, "tensors.py")
    assert cases > 150 and not [each for each in different if UNEVEN not in each[3]]
