"""Every call of nested_calls.py gives what PyTorch gives, to the printed character, or raises its error."""

import pytest
from nested_calls import CALLS, outcome

import rushlight

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("subject", CALLS)
def test_calls(subject):
    wrong = []
    for code in CALLS[subject]:
        expected, found = outcome(torch, code), outcome(rushlight, code)
        if found != expected:
            wrong.append(f"{code}\n  PyTorch:   {expected}\n  Rushlight: {found}")
    assert not wrong, "\n".join(wrong)
