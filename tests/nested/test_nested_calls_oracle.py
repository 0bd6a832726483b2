"""Every call of nested_calls.py gives what PyTorch gives, to the printed character, or raises its error."""

import pytest
from nested_calls import CALLS, outcome

import rushlight

torch = pytest.importorskip("torch")
SHARE = 4  # of the calls on strided tensors, which PyTorch takes long to refuse, plain runs try one in so many


def compare(calls):
    wrong = []
    for code in calls:
        expected, found = outcome(torch, code), outcome(rushlight, code)
        if found != expected:
            wrong.append(f"{code}\n  PyTorch:   {expected}\n  Rushlight: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("subject", CALLS)
def test_calls(subject):
    compare(CALLS[subject][:: SHARE if subject == "strided" else 1])


@pytest.mark.slow
def test_all_calls_on_strided_tensors():
    compare(CALLS["strided"])
