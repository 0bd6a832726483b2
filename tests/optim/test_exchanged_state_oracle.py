"""State from checkpoints, parameters and gradients exchanged behind the optimizer's back: never a crash, always PyTorch's answer."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

PROGRAMS = Path(__file__).parent / "state_cases.py"

# Where we answer otherwise: what the program's name matches, and why.
OTHERWISE = {
    r": step \w+: (too|empty|parameter itself|overlapping)": "PyTorch never reads the step of some algorithms",
    r"loaded: (text|list)$": "PyTorch's load makes a generator of an iterable",
    r"(max_exp_avg_sq|exp_inf|mu_product) set: (int64|bool)$": "PyTorch writes with out= or *=, we copy",
    r"mu_product \w+: expanded$": "as above: refused, in other words",
    r"ASGD.*: step set: number$": "PyTorch counts with a Python number there",
    r"grad_avg \w+: (parameter itself|overlapping)$|NAdam: exp_avg \w+: (param|over)": "the order of writes is another one",
    r"LBFGS.*: grad (data|t_|set_)": "PyTorch takes contiguous gradients alone",
    r"Rprop: grad data = (one|no|complex)": "PyTorch writes with a mask where we choose with where()",
    r"LBFGS.*: H_diag set: list": "the argument is told in other words",
    r"Adafactor: grad data = (int64|bool|complex)$|SGD.*: param data = complex$": "refused, in other words",
}
# What PyTorch says where it fails inside, on something that is no tensor or not there: then our error names the entry.
INSIDE = re.compile(
    "has no attribute|must be Tensor, not|unsupported operand|^'[a-z_A-Z]+'$|not iterable|concatenate|real number|multiply sequence"
    "|should be defined"
)


def outcomes(*arguments):
    """What the programs print; a crash is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAMS, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (done.returncode, rows[-1:], done.stderr[-2000:])
    return dict(rows)


def tolerance(name):
    return 4e-2 if "Muon" in name or "bfloat16" in name else 2e-3 if "float16" in name else 3e-5


def assert_same(name, mine, real):
    if "found" in mine and "found" in real:
        for (our_shape, *ours), (their_shape, *theirs) in zip(mine["found"], real["found"], strict=True):
            assert our_shape == their_shape, name
            np.testing.assert_allclose(ours, theirs, tolerance(name), tolerance(name) / 10, err_msg=name)
        return
    if "error" in mine and "error" in real and mine["error"][:2] == real["error"][:2]:
        return
    assert "error" in real, (name, mine)
    assert INSIDE.search(real["error"][1]), (name, mine, real["error"])
    entry = re.search(r": (\w+) (set|loaded): ", name)[1]
    assert "error" in mine, (name, real["error"])
    assert f"'{entry}'" in " ".join(mine["error"]), (name, mine["error"])


def compare(kind, size, nth):
    mine, real = outcomes("rushlight", kind, size, nth), outcomes("torch", kind, size, nth)
    assert mine.keys() == real.keys()
    for name, found in mine.items():
        if not any(re.search(pattern, name) for pattern in OTHERWISE):
            assert_same(name, found, real[name])


@pytest.mark.parametrize("kind", ["states", "tensors"])
def test_some_exchanges(kind):
    compare(kind, "large", 11)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["states", "tensors"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_more_exchanges(kind, size):
    """All of them where RUSHLIGHT_EXAMPLES is in the thousands."""
    compare(kind, size, max(1, 900 // int(os.environ.get("RUSHLIGHT_EXAMPLES", 300))))
