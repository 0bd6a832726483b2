"""``torch.distributed.run``: what ``torchrun`` runs. `rushlight launch` understands its arguments."""

from __future__ import annotations

import os
import subprocess
import sys


def main(args=None):
    """Run ``rushlight launch`` with torchrun's arguments; ends this process where it fails.

    ``args``: default: those of the command line; this process becomes the launcher then, which signals reach.
    """
    launch(args)


def launch(args, *options):
    """`main`, with options of ``rushlight launch`` that torchrun does not have."""
    command = [sys.executable, "-m", "rushlight", "launch", *options, *(sys.argv[1:] if args is None else args)]
    if args is None:
        sys.stdout.flush()
        os.execv(sys.executable, command)
    process = subprocess.Popen(command)
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:  # Ctrl-C has reached the launcher, too
            continue
        break
    if status:
        sys.exit(status)


if __name__ == "__main__":
    main()
