"""Random testing by hand: ``python tests/differential KIND [--seed N] [--minutes M]`` prints what differs from PyTorch."""

from __future__ import annotations

import argparse
import time

from kinds import KINDS, told_of


def main():
    parser = argparse.ArgumentParser(prog="python tests/differential", description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="how long; without end if not given")
    options = parser.parse_args()
    seed, end = options.seed, time.monotonic() + 60 * options.minutes
    while time.monotonic() < end:
        told = told_of(options.kind, seed)
        if told:
            print(f"{options.kind} {seed}: {told}", flush=True)
        seed += 1


if __name__ == "__main__":
    main()
