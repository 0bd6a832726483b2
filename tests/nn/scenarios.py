"""Scenarios: functions of ``torch`` that note what happens, run in Rushlight and in PyTorch and compared."""

import difflib
import re
import warnings

import rushlight as rl


class Notes:
    """What a scenario saw: printed forms, error types with their first lines, warnings."""

    def __init__(self):
        self.lines = []

    def __call__(self, label, action):
        """Run ``action`` and note what it returned, raised and warned of."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                outcome = repr(action())
            except Exception as error:
                outcome = f"!! {type(error).__name__}: {plain_message(error)}"
        self.lines.append(f"{label} -> {neutral(outcome)}")
        self.lines += [f"  warned {item.category.__name__}: {neutral(str(item.message))}" for item in caught]


def plain_message(error):
    """The message without our hint, and without PyTorch's list of signatures."""
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    return re.split(r"\nhint:|(?<=but expected one of:)\n", str(text))[0]


def neutral(text):
    """Text without what differs for good reason: package name, addresses."""
    return re.sub(r"0x[0-9a-f]+", "0x", text.replace("rushlight.", "torch.").split("\nhint:")[0])


def assert_same_story(scenario, torch):
    """Run ``scenario(torch, note)`` in both libraries; every line must be equal."""
    ours, theirs = Notes(), Notes()
    scenario(rl, ours)
    scenario(torch, theirs)
    difference = [line for line in difflib.ndiff(theirs.lines, ours.lines) if not line.startswith(("  ", "?"))]
    assert not difference, "\n" + "\n".join(difference)
