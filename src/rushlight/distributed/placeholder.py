"""The program that ``mpiexec -pmi-port`` runs in place of a process that was started otherwise: see `meeting`. It imports nothing of ours."""

import json
import os
import sys
import time

PLACEHOLDER = "RUSHLIGHT_PLACEHOLDER"  # whose process has written down an environment
_WAITED = 60.0  # seconds for the process of this rank to come


def main(folder):
    """Write down the environment that MPI needs, and stay until the process that took it has ended."""
    rank = os.environ["PMI_ID"]
    told = {name: value for name, value in os.environ.items() if name.startswith(("PMI", "MPI_LOCAL"))}
    told[PLACEHOLDER] = str(os.getpid())
    path, taken = os.path.join(folder, f"rank{rank}.json"), os.path.join(folder, f"rank{rank}.taken")
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.rename(path + ".new", path)
    end, process = time.monotonic() + _WAITED, None
    while process is None and time.monotonic() < end:
        time.sleep(0.05)
        process = taker(taken)
    if process is None:
        os.unlink(path)
        return 1
    while alive(process):
        time.sleep(0.1)
    if taker(taken) == process:  # else a later job has this place
        os.unlink(taken)
    return 0


def taker(taken):
    """The id of the process that has taken this place, or None."""
    try:
        with open(taken, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    return int(text) if text.isdigit() else None


def alive(process):
    """Whether there is a process of an id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
