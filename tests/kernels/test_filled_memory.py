"""No result depends on what memory held before: random calls of every family on memory and scratch of two patterns."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.kernels.machine.host import host

pytestmark = pytest.mark.skipif(
    host() is None or not sys.platform.startswith("linux"), reason="needs machine code, and pages as Linux has them"
)
CALLS = Path(__file__).parent / "filled_calls.py"
COUNT = int(os.environ.get("RUSHLIGHT_EXAMPLES", 150))
SEED = os.environ.get("RUSHLIGHT_SEED", "0")


def check(count, *family, bits=""):
    environment = {**os.environ, "RUSHLIGHT_KERNELS": bits}
    words = [sys.executable, str(CALLS), SEED, str(count), *family]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60 + count)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize("family", ["recurrent", "products"])
def test_a_few_calls(family):
    check(15, family)


@pytest.mark.slow
@pytest.mark.parametrize("bits", ["", "256", "128"])
def test_random_calls(bits):
    check(COUNT, bits=bits)
