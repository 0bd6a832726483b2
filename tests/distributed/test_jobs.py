"""Jobs of several processes that need no PyTorch: what is exact, and how jobs end."""

import pytest
from jobs import finish, mpi_job


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_what_holds_exactly(count):
    status, out, err = finish(mpi_job(count, "exact.py"))
    assert status == 0 and err.count("held") == count, f"{out}\n{err}"
