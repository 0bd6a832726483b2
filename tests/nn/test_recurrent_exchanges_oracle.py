"""Recurrent layers whose weights, biases and states were exchanged: never a crash, PyTorch's answer where that has one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

PROGRAMS = Path(__file__).parent / "recurrent_exchanges.py"

# Where we answer otherwise: what the program's name matches, and why.
OTHERWISE = {
    r"weight_\w+: (twice|half) the rows": "which of two sizes is told first",
    r"bias_hh_l0: one more dimension": "the gradient's shape",
}


def outcomes(library, size, nth, whole=True):
    """What the programs print; PyTorch itself crashes in LSTMs: then what it printed before."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAMS, library, size, str(nth)], capture_output=True, text=True, timeout=300
    )
    if whole:
        assert done.returncode == 0, (done.returncode, done.stdout.splitlines()[-1:], done.stderr[-2000:])
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.endswith("}]"))


def assert_same(name, mine, real):
    if name.startswith("LSTM") and "error" in mine:
        return  # PyTorch's oneDNN layer compares few sizes: it crashes, or reads what lies behind a weight that is too small
    if "found" not in real:
        assert mine.get("error", [])[:2] == real["error"][:2], (name, mine)
        return
    assert "found" in mine, (name, mine)
    tolerance = 3e-3 if "one element" in name else 1e-4  # a sum over everything, which cancels
    for (our_shape, *ours), (their_shape, *theirs) in zip(mine["found"], real["found"], strict=True):
        assert our_shape == their_shape, name
        scale = max(1.0, np.abs(theirs).max(initial=0))
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance * scale, err_msg=name)


def compare(size, nth):
    mine, real = outcomes("rushlight", size, nth), outcomes("torch", size, nth, whole=False)
    assert len(real) > 50
    for name, found in real.items():
        if not any(re.search(pattern, name) for pattern in OTHERWISE):
            assert_same(name, mine[name], found)


def test_some_exchanges():
    compare("large", 17)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["small", "large"])
def test_more_exchanges(size):
    """All of them where RUSHLIGHT_EXAMPLES is in the thousands."""
    compare(size, max(1, 1500 // int(os.environ.get("RUSHLIGHT_EXAMPLES", 300))))
