"""What processes of one machine share: files that one holds at a time, folders of one user, and whether a process is still there.

Nobody has run the parts for Windows there yet: they follow its manuals.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from .errors import hinted

_PAUSE = 0.01  # seconds between two tries to lock a file
_FAR = 1 << 30  # the byte that is locked on Windows, where nobody can read or write what another has locked
_SYNCHRONIZE, _TIMED_OUT = 0x100000, 0x102


@contextmanager
def held(file):
    """Have an open file for oneself: other processes that ask for it wait. What was written is there for them."""
    lock = _lock_of_windows if sys.platform == "win32" else _lock
    lock(file, True)
    try:
        yield file
    finally:
        file.flush()
        lock(file, False)


def _lock(file, hold):
    fcntl = importlib.import_module("fcntl")  # there is none on Windows
    fcntl.flock(file, fcntl.LOCK_EX if hold else fcntl.LOCK_UN)


def _lock_of_windows(file, hold):
    msvcrt = importlib.import_module("msvcrt")  # it is on Windows only
    descriptor = file.fileno()
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    os.lseek(descriptor, _FAR, os.SEEK_SET)  # a lock begins where the file stands
    try:
        while not _locked(msvcrt, descriptor, hold):
            time.sleep(_PAUSE)
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)


def _locked(msvcrt, descriptor, hold):
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK if hold else msvcrt.LK_UNLCK, 1)
    except PermissionError:  # another process holds it
        return False
    return True


def alive(process):
    """Whether there is a process of an id."""
    if sys.platform == "win32":  # whose os.kill() would send it Ctrl-C
        kernel = ctypes.CDLL("kernel32")
        handle = kernel.OpenProcess(_SYNCHRONIZE, 0, process)
        if not handle:
            return False
        running = kernel.WaitForSingleObject(handle, 0) == _TIMED_OUT
        kernel.CloseHandle(handle)
        return running
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def own_folder(name):
    """A folder of this user for what processes share under a name; it is made where there is none."""
    folder = Path(tempfile.gettempdir()) / f"rushlight-{name}"
    if sys.platform == "win32":  # where the folder for passing files is the user's own
        folder.mkdir(exist_ok=True)
        return folder
    folder = folder.with_name(f"rushlight-{os.getuid()}-{name}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise RuntimeError(hinted(f"{folder} belongs to another user", "set TMPDIR to a folder of your own"))
    return folder
