"""Layers whose saved tensors got other memory through ``.data`` before backward: refused or computed, never a crash."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "layer_exchanges.py"


@pytest.mark.parametrize("kind", ["tensors", "parameters"])
def test_no_exchange_crashes(kind):
    command = [sys.executable, "-W", "ignore", PROGRAMS, "rushlight", kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[-1:]) == (0, ["done"]), (lines[-1:], done.stderr[-2000:])
    assert len(lines) > 700


def test_sizes_that_do_not_fit_are_refused_by_convolutions():
    command = [sys.executable, "-W", "ignore", PROGRAMS, "rushlight", "tensors"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    for line in done.stdout.splitlines():
        program, _, outcome = line.partition(": ")
        if program.startswith("conv") and program.endswith(("0 twice the rows", "1 twice the rows")):
            assert outcome.startswith("RuntimeError"), line
