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
}
SILENT = {
    "T": lambda m: m.ones(2, 3).T,
    "t": lambda m: m.ones(3).t(),
    "cross": lambda m: m.cross(m.ones(3), m.ones(3), dim=0),
}


def told(module, call):
    """(kind, first part, file) of each warning of a call."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            call(module)
        except RuntimeError as error:
            assert "no dimension of size 3" in str(error)
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
    assert len(ours) == 1 and ours == told(torch, CALLS[name])


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("name", SILENT)
def test_other_forms_are_silent(name):
    assert told(rushlight, SILENT[name]) == told(torch, SILENT[name]) == []


def test_once_in_a_process(monkeypatch):
    monkeypatch.setattr(notes, "_told", set())
    assert [len(told(rushlight, CALLS["T, one dimension"])) for _ in range(3)] == [1, 0, 0]
