"""DistributedDataParallel in n processes gives the gradients of one with the whole batch: models of the benchmarks without batch statistics."""

import os

import pytest
from jobs import finish, mpi_job

COUNT = max(2, int(os.environ.get("RUSHLIGHT_EXAMPLES", "150")) // 50)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 4])
def test_gradients_of_the_whole_batch(count):
    status, out, err = finish(mpi_job(count, "models.py", COUNT, count), 300)
    assert status == 0 and err.count("checked") == count, f"{out}\n{err}"
