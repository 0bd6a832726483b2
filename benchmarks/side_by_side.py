"""What the benchmarks share: workloads timed under two modules that take turns, each in a process of its own.

A workload is a function that takes the module (``rushlight`` or ``torch``) and returns the step to be timed. The modules
alternate (A B A B ...), so that a busy machine hits both; a time is the best of all rounds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import time

NAMES = {"rushlight": "Rushlight", "torch": "PyTorch"}


def measure(step, spell=0.2):
    """The best mean time of a call, in seconds: three spells of so many seconds."""
    for _ in range(3):  # the first calls import and compile: how long one takes is told by a later one
        begin = time.perf_counter()
        step()
        once = time.perf_counter() - begin
    count = max(1, int(spell / max(once, 1e-6)))
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        best = min(best, (time.perf_counter() - begin) / count)
    return best


def with_backward(function, made, names, torch):
    """A step that computes ``function(made, *leaves)`` and gradients with respect to ``leaves``, copies of the operands of
    ``made`` called ``names``, and forgets them."""
    leaves = [getattr(made, name).clone().requires_grad_() for name in names.split()]
    gradient = torch.ones_like(function(made, *leaves)).detach()

    def step():
        function(made, *leaves).backward(gradient)
        for leaf in leaves:
            leaf.grad = None

    return step


def measure_all(module, workloads, names, spell=0.2, measure=measure):
    """In the process of one side: print each workload's time, or what it raised, as a line of JSON."""
    torch = importlib.import_module(module)
    torch.manual_seed(0)
    for name in names:
        try:
            found = measure(workloads[name](torch), spell)
        except Exception as error:  # one workload that is missing must not hide the others
            found = f"{type(error).__name__}: {error}".partition("\n")[0]
        print(json.dumps([name, found]), flush=True)


def take_turns(script, names, rounds, more=()):
    """``{(module, name): seconds}``, by running ``script --side MODULE --only NAMES`` with ``more`` arguments; errors are
    printed and left out."""
    best = {}
    for module in list(NAMES) * rounds if names else ():
        command = [sys.executable, os.path.abspath(script), "--side", module, *more, "--only", *names]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        for name, found in map(json.loads, output.splitlines()):
            if isinstance(found, str):
                print(f"{NAMES[module]}, {name}: {found}", file=sys.stderr)
            else:
                best[module, name] = min(found, best.get((module, name), found))
    return best


def arguments(description, names, rounds, size=None):
    """The options that all benchmarks have: the rows to time, how many rounds, and the side that this process is; and the
    size of the operands, where that can be chosen."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="ROW")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--side", choices=NAMES, help=argparse.SUPPRESS)
    if size is not None:
        parser.add_argument("--size", type=int, default=size)
    return parser.parse_args()


def survey(script, description, workloads, rounds=2, spell=0.2, size=None, measure=measure):
    """The main function of a benchmark with many rows: a line for each, the slowest beside PyTorch first, and a summary.

    With ``size``, that of the operands if none is given, ``workloads`` is a function of it. ``measure`` finds the time of
    what a workload returns.
    """
    options = arguments(description, list(workloads if size is None else workloads(size)), rounds, size)
    more = ()
    if size is not None:
        workloads, more = workloads(options.size), ("--size", str(options.size))
    if options.side:
        measure_all(options.side, workloads, options.only, spell, measure)
        return
    best = take_turns(script, options.only, options.rounds, more)
    rows = []
    for name in options.only:
        if all((module, name) in best for module in NAMES):
            ours, theirs = (best[module, name] for module in NAMES)
            rows.append((theirs / ours, name, ours, theirs))
    print(f"{'':32}{'Rushlight':>12}{'PyTorch':>12}  PyTorch / Rushlight")
    for ratio, name, ours, theirs in sorted(rows):
        print(f"{name:32}{time_text(ours):>12}{time_text(theirs):>12}{ratio:9.2f}")
    if rows:
        ratios = [ratio for ratio, *_ in rows]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        slower = sum(ratio < 0.9 for ratio in ratios)
        print(f"{len(rows)} rows: {mean:.2f}x on geometric average, {slower} below 0.9x")


def time_text(seconds):
    """A time with three digits, such as ``12.3 ms``."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 100 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
