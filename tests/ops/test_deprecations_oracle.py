"""What PyTorch warns of once in a process: the same words from both, at the user's line, and a second time only on demand."""

import warnings

import pytest

import rushlight
from rushlight.base import notes

torch = pytest.importorskip("torch")

CALLS = {
    "cross": lambda m: m.cross(m.ones(2, 3), m.ones(2, 3)),
    "cross, method": lambda m: m.ones(3).cross(m.ones(3)),
    "cross, refused": lambda m: m.cross(m.ones(2), m.ones(2)),
    "T, no dimension": lambda m: m.tensor(1.0).T,
    "T, one dimension": lambda m: m.ones(3).T,
    "T, three dimensions": lambda m: m.ones(1, 2, 3).T,
    "mT": lambda m: m.tensor(1.0).mT,
    "H": lambda m: m.tensor(1.0).H,
    "mH": lambda m: m.tensor(1.0).mH,
    "chain_matmul": lambda m: m.chain_matmul(m.eye(2), m.eye(2)),
    "cholesky": lambda m: m.cholesky(m.eye(2)),
    "cholesky, nothing": lambda m: m.cholesky(m.ones(0, 0)),
    "qr": lambda m: m.eye(2).qr(),
    "lu": lambda m: m.eye(2).lu(),
    "lu_solve": lambda m: m.lu_solve(m.eye(2), *m.linalg.lu_factor(m.eye(2))),
    "triangular_solve": lambda m: m.triangular_solve(m.eye(2), m.eye(2)),
    "set_default_tensor_type": lambda m: m.set_default_tensor_type(m.FloatTensor),
    "searchsorted, values": lambda m: m.searchsorted(m.arange(4.0), m.ones(2, 3).t()),
    "searchsorted, rows": lambda m: m.searchsorted(m.arange(8.0)[::2], 2.0),
    "searchsorted, sorter": lambda m: m.searchsorted(m.arange(2.0), m.ones(2), sorter=m.tensor([[0, 1], [1, 0]])[:, 0]),
    "bucketize": lambda m: m.bucketize(m.ones(2, 3).t(), m.arange(4.0)),
}
SILENT = {
    "T": lambda m: m.ones(2, 3).T,
    "t": lambda m: m.ones(3).t(),
    "cross": lambda m: m.cross(m.ones(3), m.ones(3), dim=0),
    "searchsorted, no values": lambda m: m.searchsorted(m.arange(8.0)[::2], m.ones(0)),
    "triangular_solve, refused": lambda m: m.triangular_solve(m.ones(2), m.eye(2)),
}


def told(module, call):
    """(kind, first part, file) of each warning of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            call(module)
        except RuntimeError as error:
            assert "no dimension of size 3" in str(error) or "at least 2 dimensions" in str(error)
    return [(each.category, str(each.message).partition(" (Triggered")[0], each.filename) for each in found]


@pytest.fixture
def always():
    for module in (rushlight, torch):
        module.set_warn_always(True)
    yield
    for module in (rushlight, torch):
        module.set_warn_always(False)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", CALLS)
def test_the_same_words(name):
    ours = told(rushlight, CALLS[name])
    assert len(ours) == 1 and ours[0][2] == __file__  # PyTorch names its own file where a function is written in Python
    assert ours[0][:2] == told(torch, CALLS[name])[0][:2]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", SILENT)
def test_other_forms_are_silent(name):
    assert told(rushlight, SILENT[name]) == told(torch, SILENT[name]) == []


def test_once_in_a_process(monkeypatch):
    monkeypatch.setattr(notes, "_told", set())
    assert [len(told(rushlight, CALLS["T, one dimension"])) for _ in range(3)] == [1, 0, 0]
