"""Kernels of every family touch no byte beside their operands, results and scratch: random calls between forbidden pages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rushlight.kernels.machine.host import host

pytestmark = pytest.mark.skipif(
    host() is None or not sys.platform.startswith("linux"), reason="needs machine code, and pages as Linux has them"
)
CALLS = Path(__file__).parent / "guarded_calls.py"
COUNT = max(20, int(os.environ.get("RUSHLIGHT_EXAMPLES", 300)) // 5)
SEED = os.environ.get("RUSHLIGHT_SEED", "0")


def calls(count, side, bits="", seed=SEED):
    environment = {**os.environ, "RUSHLIGHT_KERNELS": bits}
    words = [sys.executable, str(CALLS), seed, str(count), side]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60 + count)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["after", "before"])
@pytest.mark.parametrize("bits", ["", "256", "128"])
def test_random_calls(bits, side):
    done = calls(COUNT, side, bits)
    assert done.returncode == 0, done.stderr.replace("\r", "\n")[-3000:]


@pytest.mark.parametrize("side", ["after", "before"])
def test_the_guard_sees(side):
    """A byte too far on the near side is a fault, on the far side damage that is told."""
    near, far = ("4", "-1") if side == "after" else ("-1", "4")
    program = f"""
import ctypes, os, numpy as np
from guarded_memory import guard
damages = guard("{side}")
array = np.zeros(4, np.uint8)
ctypes.memset(array.ctypes.data + {far}, 1, 1)
del array
print(damages(), flush=True)
array = np.zeros(4, np.uint8)
ctypes.memset(array.ctypes.data + {near}, 1, 1)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=CALLS.parent, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == ("1", -11)
