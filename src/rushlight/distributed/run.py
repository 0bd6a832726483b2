"""``torch.distributed.run``: what ``torchrun`` runs. `rushlight launch` understands its arguments."""

from __future__ import annotations

import subprocess
import sys


def main(args=None):
    """Run ``rushlight launch`` with torchrun's arguments; ends this process where it fails.

    ``args``: default: those of the command line.
    """
    given = sys.argv[1:] if args is None else list(args)
    process = subprocess.Popen([sys.executable, "-m", "rushlight", "launch", *given])
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
