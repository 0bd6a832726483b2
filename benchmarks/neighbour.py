"""Training steps beside another process: their median time alone, and while that keeps one core busy; and their memory.

    python benchmarks/neighbour.py

Memory is by how much ten steps raise the largest resident size of a process.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import statistics
import subprocess
import sys
import time

from networks import cnn28, labels, mlp, training
from sequence_models import lstm
from side_by_side import NAMES, time_text

SPELL = 1.5  # seconds


def mlp_step(torch):
    return training(torch, mlp(torch, 784, 512, 512, 10), torch.rand(64, 784), labels(torch, 64))


def cnn_step(torch):
    return training(torch, cnn28(torch), torch.rand(64, 1, 28, 28), labels(torch, 64))


STEPS = {"MLP": mlp_step, "CNN": cnn_step, "LSTM": lstm}


def median(step):
    """The median time of a call, in seconds."""
    times, end = [], time.perf_counter() + SPELL
    while time.perf_counter() < end:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def largest_size():
    """The largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(module, name):
    """In a process of its own: print a row of the table."""
    torch = importlib.import_module(module)
    before = largest_size()
    step = STEPS[name](torch)
    for _ in range(10):
        step()
    added, alone = largest_size() - before, median(step)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        time.sleep(0.3)
        beside = median(step)
        other.kill()
    times = f"{time_text(alone):>10}{time_text(beside):>10}{beside / alone:8.1f}x"
    print(f"{name:6}{NAMES[module]:12}{times}{added:10.0f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    row = parser.parse_args().row
    if row:
        measure(*row)
        return
    print(f"{'':18}{'alone':>10}{'beside':>10}{'ratio':>9}{'memory':>13}", flush=True)
    for name in STEPS:
        for module in NAMES:
            subprocess.run([sys.executable, __file__, "--row", module, name], check=True)


if __name__ == "__main__":
    main()
