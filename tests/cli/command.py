"""Runs the program in a process of its own."""

import os
import subprocess
import sys


def rushlight(*arguments, cwd=None, **environment):
    """``python -m rushlight arguments``; the finished process with its output as text."""
    return subprocess.run(
        [sys.executable, "-m", "rushlight", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": source_path(), "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def source_path():
    """Where rushlight was found, absolute: the process may start in another folder."""
    import rushlight

    return os.path.dirname(os.path.dirname(os.path.abspath(rushlight.__file__)))
