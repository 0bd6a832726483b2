"""docs/compatibility.md is what its command writes, and the core has the names that PyTorch has."""

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.append(str(Path(__file__).parent.parent / "tools"))
import write_compatibility

CORE = (
    "",
    "Tensor",
    "nn",
    "nn.functional",
    "func",
    "linalg",
    "fft",
    "special",
    "distributions",
)  # of whose names 97 of 100 are there at least


@pytest.mark.slow
def test_the_page_is_true_and_the_core_is_there():
    page = write_compatibility.page()
    assert page == write_compatibility.PAGE.read_text(), "run python tools/write_compatibility.py"
    shares = dict(re.findall(r"\| `torch\.?([\w.]*)` .* ([\d.]+) % \|", page))
    short = {name: shares[name] for name in CORE if float(shares[name]) < 97}
    assert not short
